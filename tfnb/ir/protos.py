"""TensorFlow's protobuf messages, from the `tensorboard` package, loaded when they are first needed.

Files, graphs and summaries are exchanged in them. Where a file names a message's type, it is "tensorflow.NAME", and
"tensorboard.NAME" in files of earlier versions of tfnb. Invariant: importing tfnb loads no protobuf; this is the one
place that knows where the messages come from.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tfnb.caches import remembered

if TYPE_CHECKING:
    from tfnb.ir.graphdef.message_types import AnyMessage, Message

__all__ = ["packed", "proto", "text_of_message", "text_parsed", "unpacked"]

_THEIRS, _OURS = "tensorflow.", "tensorboard."  # packages of the same messages, in files and in this process
_URL = "type.googleapis.com/"


@remembered("modules of messages", 64)
def proto(name: str) -> ModuleType:
    """Returns the module of messages of `name`.proto: `proto("summary").Summary`."""
    if name == "saved_model":
        return _module_of_saved_model()
    return importlib.import_module(f"tensorboard.compat.proto.{name}_pb2")


def _module_of_saved_model() -> ModuleType:
    """Returns a module with TensorFlow's SavedModel message, which `tensorboard` lacks: a version and MetaGraphDefs."""
    descriptors = importlib.import_module("google.protobuf.descriptor_pb2")
    pool = importlib.import_module("google.protobuf.descriptor_pool").Default()
    inner = proto("meta_graph").MetaGraphDef.DESCRIPTOR
    file = descriptors.FileDescriptorProto(
        name="tfnb/saved_model.proto", package="tfnb", syntax="proto3", dependency=[inner.file.name]
    )
    message, field = file.message_type.add(name="SavedModel"), descriptors.FieldDescriptorProto
    message.field.add(name="saved_model_schema_version", number=1, type=field.TYPE_INT64, label=field.LABEL_OPTIONAL)
    message.field.add(
        name="meta_graphs",
        number=2,
        type=field.TYPE_MESSAGE,
        type_name=f".{inner.full_name}",
        label=field.LABEL_REPEATED,
    )
    pool.AddSerializedFile(file.SerializeToString())
    factory = importlib.import_module("google.protobuf.message_factory")
    module = ModuleType("saved_model_pb2")
    module.__dict__["SavedModel"] = factory.GetMessageClass(pool.FindMessageTypeByName("tfnb.SavedModel"))
    return module


# ---- messages within messages, which name their type ---------------------------------------------


class _Pool:
    """Finds messages by the names that they have in TensorFlow."""

    def __init__(self) -> None:
        self._default: Any = importlib.import_module("google.protobuf.descriptor_pool").Default()

    def FindMessageTypeByName(self, name: str) -> Any:
        return self._default.FindMessageTypeByName(_name_here(name))

    def FindExtensionByName(self, name: str) -> Any:
        return self._default.FindExtensionByName(name)


def _name_here(name: str) -> str:
    return _OURS + name.removeprefix(_THEIRS) if name.startswith(_THEIRS) else name


def packed(message: Message) -> Any:
    """Returns the message `Any` that holds a message under the name of its type in TensorFlow."""
    name = message.DESCRIPTOR.full_name
    name = _THEIRS + name.removeprefix(_OURS) if name.startswith(_OURS) else name
    holder = importlib.import_module("google.protobuf.any_pb2")
    return holder.Any(type_url=_URL + name, value=message.SerializeToString())


def unpacked(holder: AnyMessage, message: Message) -> bool:
    """Reads what an `Any` holds into `message`. Returns False if it is of another type, by either package's name."""
    name = holder.type_url.rpartition("/")[2]
    if _name_here(name) != message.DESCRIPTOR.full_name:
        return False
    message.ParseFromString(holder.value)
    return True


def text_parsed(text: str, message: Message) -> Any:
    """Reads protobuf's text format into `message`, which is returned. Raises protobuf's `ParseError`."""
    return importlib.import_module("google.protobuf.text_format").Parse(text, message, descriptor_pool=_Pool())


def text_of_message(message: Message) -> str:
    """Returns a message in protobuf's text format, with TensorFlow's names of types."""
    return str(importlib.import_module("google.protobuf.text_format").MessageToString(message, descriptor_pool=_Pool()))
