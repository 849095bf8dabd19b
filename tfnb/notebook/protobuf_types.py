"""The fields of TensorFlow's protobuf messages that the views read, as protocols for the type checker.

The classes of the messages are built at run time (`tfnb/ir/protos.py`), so a type checker cannot see their fields.
Invariant: a protocol here lists a part of the fields that the `.proto` file of that name declares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

__all__ = ["AttrValue", "GraphDef", "Message", "NodeDef", "SummaryValue", "TensorProto", "TensorShapeProto"]


class Message(Protocol):
    """Any message: the methods that all of them have."""

    def HasField(self, field_name: str) -> bool: ...

    def SerializeToString(self) -> bytes: ...

    def WhichOneof(self, oneof_group: str) -> str | None: ...


class _Dim(Protocol):
    size: int


class TensorShapeProto(Message, Protocol):
    dim: Sequence[_Dim]
    unknown_rank: bool


class TensorProto(Message, Protocol):
    tensor_shape: TensorShapeProto
    tensor_content: bytes
    string_val: Sequence[bytes]


class _ListValue(Protocol):
    s: Sequence[bytes]
    shape: Sequence[TensorShapeProto]


class AttrValue(Message, Protocol):
    s: bytes
    type: int
    shape: TensorShapeProto
    tensor: TensorProto
    list: _ListValue


class NodeDef(Message, Protocol):
    name: str
    op: str
    device: str
    input: Sequence[str]
    attr: Mapping[str, AttrValue]


class GraphDef(Message, Protocol):
    node: Sequence[NodeDef]


class _Histogram(Protocol):
    min: float
    max: float
    bucket_limit: Sequence[float]
    bucket: Sequence[float]


class _Image(Protocol):
    encoded_image_string: bytes


class _Audio(Protocol):
    encoded_audio_string: bytes


class SummaryValue(Message, Protocol):
    """`Summary.Value`: one value of a summary."""

    histo: _Histogram
    image: _Image
    audio: _Audio
    tensor: TensorProto
