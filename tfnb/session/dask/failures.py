"""Errors on their way between tasks: the class by name, the message, and the node to blame with the user's line.

Invariant: an error that arrives is one of ours; a class that is not known here becomes `UnknownError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tfnb import errors
from tfnb.errors import OpError, Origin, UnknownError

__all__ = ["decode_error", "encode_error"]


class _RemoteNode(NamedTuple):
    """The node of another task that an error names."""

    name: str
    type: str
    origin: Origin | None


def encode_error(error: BaseException, task: str) -> dict[str, Any]:
    """What JSON can hold of an error that happened at `task`."""
    op = getattr(error, "op", None)
    kind = type(error).__name__ if isinstance(error, OpError) else "UnknownError"
    text = error.message if isinstance(error, OpError) else f"{type(error).__name__}: {error}"
    found: dict[str, Any] = {"class": kind, "message": text, "task": task}
    if op is not None:
        origin = getattr(op, "origin", None)
        found["node"] = [op.name, op.type, None if origin is None else [str(part) for part in origin]]
    return found


def decode_error(given: Mapping[str, Any]) -> OpError:
    """The error that another task told of."""
    kind = getattr(errors, str(given.get("class")), None)
    made = kind if isinstance(kind, type) and issubclass(kind, OpError) else UnknownError
    node = given.get("node")
    op = None
    if node:
        name, type_, where = node
        op = _RemoteNode(name, type_, None if where is None else Origin(where[0], int(where[1]), where[2]))
    return made(f"{given.get('message')} (at {given.get('task')})", op)
