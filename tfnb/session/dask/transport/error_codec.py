"""Errors as messages: the name of the class, the text, and the node that failed with its line of the user's program.

Invariant: a decoded error is always an `OpError`; a class that this process does not know becomes `UnknownError`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np

from tfnb import errors
from tfnb.errors import BlamedNode, InvalidArgumentError, OpError, Origin, UnknownError

__all__ = ["decode_error", "encode_error", "error_from_json", "error_to_json"]

_LONGEST_NAME = 80  # characters


def error_to_json(error: BaseException, task: str) -> dict[str, object]:
    """A dict that describes an error at `task`: "class", "message", "task", and "node" if the error names a node.

    "node" is a list of the name, the type, and the list [file, line, function] of the user's program, or None.
    """
    op = getattr(error, "op", None)
    kind = type(error).__name__ if isinstance(error, OpError) else "UnknownError"
    text = error.message if isinstance(error, OpError) else f"{type(error).__name__}: {error}"
    fields: dict[str, object] = {"class": kind, "message": text, "task": task}
    if op is not None:
        origin = getattr(op, "origin", None)
        fields["node"] = [op.name, op.type, None if origin is None else [str(part) for part in origin]]
    return fields


def error_from_json(described: Mapping[str, object]) -> OpError:
    """The error that another task has described.

    Raises `InvalidArgumentError` if the description of its node is malformed.
    """
    kind = getattr(errors, str(described.get("class"))[:_LONGEST_NAME], None)
    error_class = kind if isinstance(kind, type) and issubclass(kind, OpError) else UnknownError
    node = described.get("node")
    text = f"{described.get('message')} (at {described.get('task')})"
    return error_class(text, None if node is None else _decode_node(node))


def _decode_node(node: object) -> BlamedNode:
    try:
        if not isinstance(node, list | tuple):
            raise TypeError(f"{type(node).__name__} instead of a list")
        name, type_, origin = node
        if origin is None:
            return BlamedNode(str(name), str(type_), None)
        filename, line, function = origin
        return BlamedNode(str(name), str(type_), Origin(str(filename), int(line), str(function)))
    except (TypeError, ValueError, OverflowError) as e:
        raise InvalidArgumentError(f"a message describes a node in an unknown form: {e}") from None


def encode_error(error: BaseException, task: str) -> np.ndarray:
    """The value of a message that describes an error at `task`: JSON as an array of uint8."""
    return np.frombuffer(json.dumps(error_to_json(error, task)).encode(), np.uint8)


def decode_error(value: np.ndarray) -> OpError | None:
    """The error that the value of a message describes, or None for an empty value, which means success.

    Raises `InvalidArgumentError` for an array that `encode_error` cannot have returned.
    """
    if not value.size:
        return None
    try:
        fields = json.loads(value.tobytes()) if value.dtype == np.uint8 else None
    except (ValueError, RecursionError) as e:
        raise InvalidArgumentError(f"a message describes an error in no valid JSON: {e}") from e
    if not isinstance(fields, dict):
        raise InvalidArgumentError(f"a message describes an error in an unknown form: {str(fields)[:80]}")
    return error_from_json(fields)
