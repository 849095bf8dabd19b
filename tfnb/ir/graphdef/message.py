"""Messages from callers: objects of our own classes, of another package's classes of the same name, or bytes.

Invariant: all other code gets messages of the classes of `tfnb.ir.protos`.
"""

from __future__ import annotations

from typing import Any

from tfnb.errors import DTypeError
from tfnb.ir.graphdef.wire import read_message
from tfnb.ir.protos import proto

__all__ = ["as_message"]


def as_message(file: str, name: str, value: object) -> Any:
    """Returns the message `name` of `file`.proto for `value`.

    `value` is such a message, a message of the same name of another package (TensorFlow), or bytes. Raises `DTypeError`
    for anything else, `DataLossError` for bytes that are not such a message, `ResourceExhaustedError` for bytes that
    would take too much memory.
    """
    message_class = getattr(proto(file), name)
    if isinstance(value, message_class):
        return value
    descriptor = getattr(value, "DESCRIPTOR", None)
    if isinstance(value, (bytes, bytearray)):
        content = bytes(value)
    elif descriptor is not None and descriptor.name == name and hasattr(value, "SerializeToString"):
        content = value.SerializeToString()
    else:
        raise DTypeError(f"needed a {name}, got {type(value).__name__} {str(value)[:80]!r}")
    message = message_class()
    read_message(message, content)
    return message
