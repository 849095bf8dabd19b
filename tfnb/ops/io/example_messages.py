"""The messages of tf.Example: features by name, each a list of bytes, floats or integers.

Field names, numbers and the package are those of TensorFlow's `example.proto` and `feature.proto`, so files are
compatible. Invariant: the descriptors are in their own pool, so real TensorFlow can be used in the same process.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Protocol

from tfnb.ir.graphdef.message_types import Repeated
from tfnb.ops.lazy_library import library

__all__ = ["MESSAGES", "message"]

# message -> its fields (name, number, type), in the notation of .proto files
MESSAGES: dict[str, tuple[tuple[str, int, str], ...]] = {
    "BytesList": (("value", 1, "repeated bytes"),),
    "FloatList": (("value", 1, "packed float"),),
    "Int64List": (("value", 1, "packed int64"),),
    "Feature": (
        ("bytes_list", 1, "kind BytesList"),
        ("float_list", 2, "kind FloatList"),
        ("int64_list", 3, "kind Int64List"),
    ),
    "Features": (("feature", 1, "map Feature"),),
    "FeatureList": (("feature", 1, "repeated Feature"),),
    "FeatureLists": (("feature_list", 1, "map FeatureList"),),
    "Example": (("features", 1, "one Features"),),
    "SequenceExample": (("context", 1, "one Features"), ("feature_lists", 2, "one FeatureLists")),
}
_TYPES = {"bytes": 12, "float": 2, "int64": 3, "string": 9}  # type numbers of FieldDescriptorProto
_MESSAGE, _OPTIONAL, _REPEATED = 11, 1, 3


class DescriptorProto(Protocol):
    """The description of a kind of message."""

    name: str
    field: Repeated[Any]
    nested_type: Repeated[Any]


def _describe(holder: DescriptorProto, name: str, number: int, label: str, kind: str) -> None:
    """Adds one field to a message's descriptor."""
    field = holder.field.add(name=name, number=number)
    field.label = _REPEATED if label in ("repeated", "packed", "map") else _OPTIONAL
    if kind in _TYPES:
        field.type = _TYPES[kind]
        field.options.packed = label == "packed"
        if label != "packed":
            field.ClearField("options")
        return
    field.type, field.type_name = _MESSAGE, f".tensorflow.{kind}"
    if label == "kind":
        field.oneof_index = 0
    elif label == "map":
        entry = "".join(part.capitalize() for part in name.split("_")) + "Entry"
        nested = holder.nested_type.add(name=entry)
        nested.options.map_entry = True
        _describe(nested, "key", 1, "one", "string")
        _describe(nested, "value", 2, "one", kind)
        field.type_name = f".tensorflow.{holder.name}.{entry}"


@cache
def _classes() -> dict[str, Any]:
    purpose = "tf.Example"
    file = library("google.protobuf.descriptor_pb2", "protobuf", purpose).FileDescriptorProto(
        name="tfnb/example.proto", package="tensorflow", syntax="proto3"
    )
    for name, fields in MESSAGES.items():
        holder = file.message_type.add(name=name)
        if name == "Feature":
            holder.oneof_decl.add(name="kind")
        for field, number, text in fields:
            _describe(holder, field, number, *text.split())
    pool = library("google.protobuf.descriptor_pool", "protobuf", purpose).DescriptorPool()
    pool.Add(file)
    make = library("google.protobuf.message_factory", "protobuf", purpose).GetMessageClass
    return {name: make(pool.FindMessageTypeByName(f"tensorflow.{name}")) for name in MESSAGES}


def message(name: str) -> Any:
    """Returns the class of a message: "Example", "Feature", ..."""
    return _classes()[name]
