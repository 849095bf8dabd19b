"""The fields of a summary's values that the views read, as protocols for the type checker.

The classes of the messages are built at run time (`tfnb/ir/protos.py`), so a type checker cannot see their fields.
Invariant: a protocol here lists a part of the fields that the `.proto` file of that name declares.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tfnb.ir.graphdef.message_types import Message, TensorProto

__all__ = ["SummaryValue"]


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
