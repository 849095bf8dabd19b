"""QueueRunnerDef: the message by which a MetaGraph stores a queue runner, as names of nodes (white paper, section 4.6).

The packages from which tfnb takes TensorFlow's messages lack this one, so its fields are defined here. Invariant: the
serialized message has TensorFlow's format.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

__all__ = ["queue_runner_def"]

_STRING, _INT32 = 9, 5  # types of FieldDescriptorProto; an enum is encoded like an int32
_ONE, _MANY = 1, 3
_FIELDS = (
    ("queue_name", _STRING, _ONE),
    ("enqueue_op_name", _STRING, _MANY),
    ("close_op_name", _STRING, _ONE),
    ("cancel_op_name", _STRING, _ONE),
    ("queue_closed_exception_types", _INT32, _MANY),
)


@cache
def queue_runner_def() -> Any:
    """Returns the class of the QueueRunnerDef message."""
    descriptors = importlib.import_module("google.protobuf.descriptor_pb2")
    pool = importlib.import_module("google.protobuf.descriptor_pool").DescriptorPool()
    file = descriptors.FileDescriptorProto(name="tfnb/queue_runner.proto", package="tfnb", syntax="proto3")
    message = file.message_type.add(name="QueueRunnerDef")
    for number, (name, kind, label) in enumerate(_FIELDS, 1):
        message.field.add(name=name, number=number, type=kind, label=label)
    pool.Add(file)
    factory = importlib.import_module("google.protobuf.message_factory")
    return factory.GetMessageClass(pool.FindMessageTypeByName("tfnb.QueueRunnerDef"))
