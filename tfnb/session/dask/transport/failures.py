"""Errors on their way between tasks: the class by name, the message, and the node to blame with the user's line.

And what is done with messages that are none. Invariant: an error that arrives is one of ours; a class that is not
known here becomes `UnknownError`.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from tfnb import errors
from tfnb.errors import BlamedNode, InvalidArgumentError, OpError, Origin, UnknownError

__all__ = ["Refusals", "decode_error", "encode_error", "heard", "told"]

_LONGEST_NAME = 80  # characters
_QUIET = 10.0  # seconds between two lines about refused messages
_log = logging.getLogger("tfnb")


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
    """The error that another task told of. Raises `InvalidArgumentError` where that has another form."""
    kind = getattr(errors, str(given.get("class"))[:_LONGEST_NAME], None)
    made = kind if isinstance(kind, type) and issubclass(kind, OpError) else UnknownError
    node = given.get("node")
    return made(f"{given.get('message')} (at {given.get('task')})", None if node is None else _decode_node(node))


def _decode_node(given: Any) -> BlamedNode:
    try:
        name, type_, where = given
        if where is None:
            return BlamedNode(str(name), str(type_), None)
        filename, line, function = where
        return BlamedNode(str(name), str(type_), Origin(str(filename), int(line), str(function)))
    except (TypeError, ValueError, OverflowError) as e:
        raise InvalidArgumentError(f"a message tells of a node in another form than ours: {e}") from None


class Refusals:
    """Counts the messages that a task refused, and says why in the log: at once, then every ten seconds at most."""

    def __init__(self, task: str) -> None:
        self._task = task
        self._lock = threading.Lock()
        self._said = -_QUIET
        self.count = 0
        self.last = ""

    def add(self, error: OpError) -> None:
        now = time.monotonic()
        with self._lock:
            self.count += 1
            self.last = error.message
            quiet = now - self._said < _QUIET
            if not quiet:
                self._said = now
        if not quiet:
            _log.warning("%s refused a message, %d in all: %s", self._task, self.count, error.message)


def told(error: BaseException, task: str) -> np.ndarray:
    """An error as a message's value."""
    return np.frombuffer(json.dumps(encode_error(error, task)).encode(), np.uint8)


def heard(value: np.ndarray) -> OpError | None:
    """The error that a message's value tells of, if any."""
    if not value.size:
        return None
    try:
        given = json.loads(value.tobytes()) if value.dtype == np.uint8 else None
    except (ValueError, RecursionError) as e:
        raise InvalidArgumentError(f"a message tells of an error in no JSON: {e}") from e
    if not isinstance(given, dict):
        raise InvalidArgumentError(f"a message tells of an error in another form than ours: {str(given)[:80]}")
    return decode_error(given)
