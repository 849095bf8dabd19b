"""One class per failure (the canonical codes of the TensorFlow papers' implementation).

Every error that reaches a user says what came, what was needed and, where a node is to blame, which line
of the user's own code made it. Construction errors are also Python's `ValueError`/`TypeError`, so programs
written for TensorFlow catch them as before.
"""

from __future__ import annotations

import linecache
from typing import Any, NamedTuple

__all__ = [
    "AbortedError",
    "AlreadyExistsError",
    "CancelledError",
    "ClosedSessionError",
    "DTypeError",
    "DataLossError",
    "DeadlineExceededError",
    "DeviceNotFoundError",
    "FailedPreconditionError",
    "GraphError",
    "InternalError",
    "InvalidArgumentError",
    "InvalidFetchError",
    "KernelBuildError",
    "NotFoundError",
    "OpError",
    "Origin",
    "OutOfRangeError",
    "PermissionDeniedError",
    "ResourceExhaustedError",
    "ShapeError",
    "UnavailableError",
    "UnimplementedError",
    "UnknownError",
    "refuse_given",
]


class Origin(NamedTuple):
    """The user's line that made a node."""

    filename: str
    lineno: int
    function: str

    @property
    def code(self) -> str:
        return linecache.getline(self.filename, self.lineno).strip()

    def __str__(self) -> str:
        where = f"{self.filename}:{self.lineno}, in {self.function}"
        return f"{where}\n    {self.code}" if self.code else where


class OpError(Exception):
    """Base of all errors of tfnb.

    `op` is the user's `Operation` (or a step's `Node`) to blame, or None; `message` the bare text.
    """

    code = 2

    def __init__(self, message: str, op: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.op = op

    @property
    def node_name(self) -> str | None:
        return None if self.op is None else str(self.op.name)

    @property
    def error_code(self) -> int:
        return self.code

    def with_op(self, op: Any) -> OpError:
        """This error, blamed on `op` unless a node is blamed already."""
        if self.op is None:
            self.op = op
        return self

    def __str__(self) -> str:
        if self.op is None:
            return self.message
        lines = [self.message, f"  [node {self.op.name} = {self.op.type}]"]
        origin = self.op.origin
        if origin is not None:
            lines.append(f"  made at {origin}")
        return "\n".join(lines)


class CancelledError(OpError):
    """The step was cancelled: session closed, or another node of the step failed."""

    code = 1


class UnknownError(OpError):
    """A kernel raised an exception that is not ours; it is the `__cause__`."""

    code = 2


class InvalidArgumentError(OpError, ValueError):
    """A value, shape or attribute is not what the operation needs."""

    code = 3


class ShapeError(InvalidArgumentError):
    """Shapes do not fit together."""


class DTypeError(InvalidArgumentError, TypeError):
    """A dtype is not what the operation needs, or a value cannot be held in it."""


class GraphError(InvalidArgumentError):
    """The graph itself is malformed: a cycle, a foreign tensor, a duplicate name, a finalized graph."""


class InvalidFetchError(InvalidArgumentError, TypeError):
    """A fetch or feed is not an element of the session's graph, or cannot be fed or fetched."""


class DeadlineExceededError(OpError):
    """The step ran past its timeout; the message says what was waiting for what."""

    code = 4


class NotFoundError(OpError, LookupError):
    """Something named was not found."""

    code = 5


class DeviceNotFoundError(NotFoundError):
    """No OpenCL platform or device fits; the message says how to get one."""


class AlreadyExistsError(OpError):
    """Something with that name exists already."""

    code = 6


class PermissionDeniedError(OpError):
    """Not allowed."""

    code = 7


class ResourceExhaustedError(OpError, MemoryError):
    """A device or the host has not enough memory."""

    code = 8


class FailedPreconditionError(OpError):
    """The system is not in the state the operation needs, for example an uninitialised variable."""

    code = 9


class ClosedSessionError(FailedPreconditionError, RuntimeError):
    """The session was closed."""


class AbortedError(OpError):
    """The operation was aborted and can be tried again."""

    code = 10


class OutOfRangeError(OpError):
    """The end of the input was reached: a closed, empty queue or a finished epoch."""

    code = 11


class UnimplementedError(OpError):
    """No kernel serves this operation on this device with these types."""

    code = 12


class InternalError(OpError):
    """An invariant of tfnb broke: please report it."""

    code = 13


class KernelBuildError(InternalError):
    """An OpenCL program failed to build.

    `log` is the compiler's text, `source_path` the file the source was kept in, `nodes` the ids of the graph nodes
    that the program computes, if known.
    """

    nodes: tuple[int, ...] = ()

    def __init__(self, message: str, op: Any = None, log: str = "", source_path: str = "") -> None:
        super().__init__(message, op)
        self.log = log
        self.source_path = source_path


class UnavailableError(OpError):
    """A task or device cannot be reached."""

    code = 14


class DataLossError(OpError):
    """Stored data is corrupt or truncated; the message gives file and offset."""

    code = 15


def refuse_given(who: str, why: str, **given: object) -> None:
    """Raises `InvalidArgumentError` for the first of these parameters that is neither None nor False.

    For parameters of TensorFlow's that would change a result or a file, and that tfnb does not have: what is asked
    for is refused, never ignored. `why` says what to do instead.
    """
    for name, value in given.items():
        if value is not None and value is not False:
            raise InvalidArgumentError(f"{who}: {name}={value!r} is not supported: {why}")
