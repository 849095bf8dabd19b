"""TensorFlow's ServerDef message, which is not in the `tensorboard` package: a cluster, and which of its tasks one is.

Invariant: fields and numbers are those of TensorFlow, so the bytes are too.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

from tfnb.ir.protos import proto

__all__ = ["server_def_class"]

_STRING, _INT32, _MESSAGE = 9, 5, 11  # types of FieldDescriptorProto


@cache
def server_def_class() -> Any:
    """Returns the message class ServerDef."""
    pool = importlib.import_module("google.protobuf.descriptor_pool").Default()
    file = importlib.import_module("google.protobuf.descriptor_pb2").FileDescriptorProto(
        name="tfnb/tensorflow_server.proto", package="tfnb", syntax="proto3"
    )
    types = {"cluster": proto("cluster").ClusterDef, "default_session_config": proto("config").ConfigProto}
    message = file.message_type.add(name="ServerDef")
    names = ("cluster", "job_name", "task_index", "default_session_config", "protocol")
    for number, name in enumerate(names, 1):
        kind = _MESSAGE if name in types else _INT32 if name == "task_index" else _STRING
        field = message.field.add(name=name, number=number, type=kind, label=1)
        if name in types:
            field.type_name = "." + types[name].DESCRIPTOR.full_name
            file.dependency.append(types[name].DESCRIPTOR.file.name)
    pool.Add(file)
    found = pool.FindMessageTypeByName("tfnb.ServerDef")
    return importlib.import_module("google.protobuf.message_factory").GetMessageClass(found)
