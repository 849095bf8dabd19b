"""Types of TensorFlow's protobuf messages: which fields the codec reads and writes.

The message classes come without types, and importing tfnb loads no protobuf (`tfnb/ir/protos.py`); these protocols
declare what the codec uses of them. Invariant: the names and types of fields are those of TensorFlow's .proto files.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, MutableSequence, Sequence
from typing import Any, Protocol, TypeVar

__all__ = [
    "AnyMessage",
    "AttrList",
    "AttrValue",
    "CollectionDef",
    "Descriptor",
    "FunctionDef",
    "FunctionDefLibrary",
    "GraphDef",
    "Message",
    "MetaGraphDef",
    "NodeDef",
    "OpSignature",
    "Repeated",
    "SaveSliceInfoDef",
    "SaverDef",
    "SignatureDef",
    "TensorInfo",
    "TensorProto",
    "TensorShapeProto",
    "VariableDef",
]

M = TypeVar("M", covariant=True)


class Repeated(Protocol[M]):
    """A repeated field of messages: `add` appends an empty one, with some fields set, and returns it."""

    def add(self, **fields: object) -> M: ...
    def append(self, message: object, /) -> None: ...
    def __iter__(self) -> Iterator[M]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> M: ...


class FieldDescriptor(Protocol):
    """The description of one field of a kind of message."""

    TYPE_STRING: int
    TYPE_BYTES: int
    name: str
    number: int
    type: int
    message_type: Descriptor | None
    containing_oneof: Any


class Descriptor(Protocol):
    """The description of a kind of message."""

    name: str
    fields: Sequence[FieldDescriptor]


class Message(Protocol):
    """The fields and methods of all messages."""

    DESCRIPTOR: Any

    def HasField(self, name: str, /) -> bool: ...
    def CopyFrom(self, other: object, /) -> None: ...
    def MergeFrom(self, other: object, /) -> None: ...
    def MergeFromString(self, content: bytes, /) -> Any: ...
    def ListFields(self) -> Sequence[tuple[Any, Any]]: ...
    def ParseFromString(self, content: bytes, /) -> Any: ...
    def SerializeToString(self) -> bytes: ...
    def SetInParent(self) -> None: ...
    def WhichOneof(self, group: str, /) -> str | None: ...


class AnyMessage(Message, Protocol):
    """A message of any kind, as bytes; the last part of `type_url` is the name of the kind."""

    type_url: str
    value: bytes


class Dim(Protocol):
    """One dimension of a TensorShapeProto; -1 if it is unknown."""

    size: int


class TensorShapeProto(Message, Protocol):
    """A static shape."""

    unknown_rank: bool
    dim: Repeated[Dim]


class TensorProto(Message, Protocol):
    """The value of a tensor: its elements as bytes, or in the field that belongs to its dtype."""

    dtype: int
    tensor_shape: TensorShapeProto
    tensor_content: bytes
    string_val: MutableSequence[bytes]


class FunctionName(Protocol):
    """The name of a function, as the value of an attribute."""

    name: str


class AttrList(Message, Protocol):
    """A list as the value of an attribute; all elements stand in one of the fields."""

    s: Sequence[bytes]
    b: Sequence[bool]
    type: Sequence[int]
    shape: Sequence[TensorShapeProto]
    func: Sequence[FunctionName]


class AttrValue(Message, Protocol):
    """The value of an attribute, in one of the fields."""

    s: bytes
    i: int
    f: float
    b: bool
    type: int
    shape: TensorShapeProto
    tensor: TensorProto
    func: FunctionName
    list: AttrList


class OpDefMessage(Message, Protocol):
    """The definition of an op."""

    name: str
    is_stateful: bool
    input_arg: Any
    output_arg: Any
    attr: Any


class NodeDef(Message, Protocol):
    """A node of a graph or of a function's body."""

    name: str
    op: str
    device: str
    input: MutableSequence[str]
    attr: MutableMapping[str, AttrValue]


class ArgDef(Protocol):
    """An argument or a result of a function."""

    name: str
    type: int
    type_attr: str
    type_list_attr: str
    number_attr: str
    is_ref: bool


class OpSignature(Protocol):
    """The signature of a function: the message OpDef."""

    name: str
    description: str
    is_stateful: bool
    input_arg: Repeated[ArgDef]
    output_arg: Repeated[ArgDef]


class FunctionDef(Message, Protocol):
    """A function: its signature, the nodes of its body, and the tensor of the body that each result is."""

    signature: OpSignature
    attr: MutableMapping[str, AttrValue]
    node_def: Repeated[NodeDef]
    ret: MutableMapping[str, str]


class GradientDef(Protocol):
    """The statement that the function `gradient_func` is the gradient of the function `function_name`."""

    function_name: str
    gradient_func: str


class FunctionDefLibrary(Message, Protocol):
    """The functions that a graph calls."""

    function: Repeated[FunctionDef]
    gradient: Repeated[GradientDef]


class Versions(Message, Protocol):
    """The version of the GraphDef format."""

    producer: int


class GraphDef(Message, Protocol):
    """A graph."""

    node: Repeated[NodeDef]
    library: FunctionDefLibrary
    versions: Versions


class SaverDef(Message, Protocol):
    """How to save and restore the variables of a graph: the names of its nodes, and how many checkpoints to keep."""

    filename_tensor_name: str
    save_tensor_name: str
    restore_op_name: str
    max_to_keep: int
    sharded: bool
    keep_checkpoint_every_n_hours: float


class SaveSliceInfoDef(Message, Protocol):
    """The place of a part in a partitioned variable."""

    full_name: str
    full_shape: MutableSequence[int]
    var_offset: MutableSequence[int]
    var_shape: MutableSequence[int]


class VariableDef(Message, Protocol):
    """A variable: the names of its nodes."""

    variable_name: str
    initial_value_name: str
    initializer_name: str
    snapshot_name: str
    trainable: bool
    save_slice_info_def: SaveSliceInfoDef


class CollectionDef(Message, Protocol):
    """The members of a collection, in the one of the fields that can hold them."""

    node_list: Any
    bytes_list: Any
    int64_list: Any
    float_list: Any
    any_list: Any


class TensorInfo(Message, Protocol):
    """A tensor of a signature: its name, or those of the parts of a sparse tensor, its dtype and shape."""

    name: str
    coo_sparse: Any
    dtype: int
    tensor_shape: TensorShapeProto


class SignatureDef(Message, Protocol):
    """The inputs and outputs of a function that a model serves."""

    inputs: MutableMapping[str, TensorInfo]
    outputs: MutableMapping[str, TensorInfo]
    method_name: str


class MetaGraphDef(Message, Protocol):
    """A graph with its collections, and what a SavedModel adds."""

    meta_info_def: Any
    graph_def: GraphDef
    saver_def: SaverDef
    collection_def: MutableMapping[str, CollectionDef]
    signature_def: MutableMapping[str, SignatureDef]
    asset_file_def: Repeated[Any]
