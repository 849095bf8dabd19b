"""TensorFlow's protobuf messages, from the `tensorboard` package, loaded when they are first needed.

Files, graphs and summaries are exchanged in them. Invariant: importing tfnb loads no protobuf; this is the one place
that knows where the messages come from.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from tfnb.caches import remembered

__all__ = ["proto"]


@remembered("modules of messages", 64)
def proto(name: str) -> Any:
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
