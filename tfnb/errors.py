"""One class per failure (the canonical codes of the TensorFlow papers' implementation).

Every error that reaches a user says what came, what was needed and, where a node is to blame, which line
of the user's own code made it. Construction errors are also Python's `ValueError`/`TypeError`, so programs
written for TensorFlow catch them as before.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

__all__ = [
    "ABORTED",
    "ALREADY_EXISTS",
    "CANCELLED",
    "DATA_LOSS",
    "DEADLINE_EXCEEDED",
    "FAILED_PRECONDITION",
    "INTERNAL",
    "INVALID_ARGUMENT",
    "NOT_FOUND",
    "OK",
    "OUT_OF_RANGE",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "UNAUTHENTICATED",
    "UNAVAILABLE",
    "UNIMPLEMENTED",
    "UNKNOWN",
    "AbortedError",
    "AlreadyExistsError",
    "BlamedNode",
    "CancelledError",
    "ClosedSessionError",
    "DTypeError",
    "DataLossError",
    "DeadlineExceededError",
    "DeviceNotFoundError",
    "FailedPreconditionError",
    "FinalizedGraphError",
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
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
    "UnknownError",
    "error_code_from_exception_type",
    "exception_type_from_error_code",
    "refuse_given",
]


class Origin(NamedTuple):
    """The user's line that made a node. `filename` is the one that Python compiled the line under."""

    filename: str
    lineno: int
    function: str

    @property
    def code(self) -> str:
        return linecache.getline(self.filename, self.lineno).strip()

    @property
    def cell(self) -> str | None:
        """The notebook cell that the line stands in, as `cell [2]`, or None where the line is in a file."""
        return None if _cell_of is None else _cell_of(self.filename)

    def __str__(self) -> str:
        cell = self.cell
        if cell is None:
            where = f"{self.filename}:{self.lineno}, in {self.function}"
            return f"{where}\n    {self.code}" if self.code else where
        where = f"{cell}, line {self.lineno}"
        if self.function != "<module>":
            where += f", in {self.function}"
        return f"{where}: {self.code}" if self.code else where


_cell_of: Callable[[str], str | None] | None = None


def name_cells(cell_of: Callable[[str], str | None]) -> None:
    """Sets how errors name notebook cells.

    `cell_of` is given the file name that a cell was compiled under, and returns the name its user knows it by, such as
    `cell [2]`, or None for what is no cell. IPython compiles each cell under the name of a temporary file, which says
    nothing to the reader of a notebook.
    """
    global _cell_of
    _cell_of = cell_of


class Blamed(Protocol):
    """What an error uses of the operation or node that it names."""

    @property
    def name(self) -> str: ...

    @property
    def type(self) -> str: ...

    @property
    def origin(self) -> Origin | None: ...


class BlamedNode(NamedTuple):
    """What an error says of a node that is not in this process, or no longer: its name, type and line."""

    name: str
    type: str
    origin: Origin | None


class OpError(Exception):
    """Base of all errors of tfnb.

    `op` is the user's `Operation` (or a step's `Node`) to blame, or None; `message` the bare text; `node_def` the
    NodeDef of the operation, or None; `error_code` one of the constants of `tf.errors`.

    There are two ways to make one. Code of tfnb writes `SomeError(message, op)`. Programs for TensorFlow write
    `SomeError(node_def, op, message)`, and `OpError(node_def, op, message, error_code)`: three or more arguments, or
    `message` by its name.
    """

    code = 2

    def __init__(
        self,
        *args: object,
        node_def: object = None,
        op: Blamed | None = None,
        message: str | None = None,
        error_code: int | None = None,
    ) -> None:
        names = ("message", "op") if len(args) <= 2 and message is None else _TENSORFLOW
        if len(args) > len(names):
            raise TypeError(f"{type(self).__name__}() takes at most {len(names)} arguments, got {len(args)}")
        given: dict[str, Any] = {"node_def": node_def, "op": op, "message": message, "error_code": error_code}
        given.update(zip(names, args, strict=False))
        if given["message"] is None:
            raise TypeError(f"{type(self).__name__}() needs a message: (message, op) or (node_def, op, message)")
        self.message = str(given["message"])
        super().__init__(self.message)
        self.op: Any = given["op"]
        self._node_def = given["node_def"]
        self._error_code = given["error_code"]

    @property
    def node_name(self) -> str | None:
        return None if self.op is None else str(self.op.name)

    @property
    def error_code(self) -> int:
        """The number of the error's kind: `tf.errors.INVALID_ARGUMENT` and the like."""
        return self.code if self._error_code is None else int(self._error_code)

    @property
    def node_def(self) -> Any:
        """The NodeDef of the operation to blame, or None."""
        return self._node_def if self._node_def is not None else getattr(self.op, "node_def", None)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled and copied without the graph: of the operation its name, type and line are kept."""
        op, state = self.op, dict(self.__dict__)
        if op is not None:
            state["op"] = BlamedNode(str(op.name), str(op.type), getattr(op, "origin", None))
        return type(self), (self.message,), state

    def with_op(self, op: Blamed | None) -> OpError:
        """This error, blamed on `op` unless a node is blamed already."""
        if self.op is None:
            self.op = op
        return self

    def __str__(self) -> str:
        if self.op is None:
            return self.message
        node = f"{self.message}\n  [node {self.op.name} = {self.op.type}]"
        origin = self.op.origin
        if origin is None:
            return node
        # A notebook shows the code around the failing line as well, so the node and its line share one line there.
        between = ", " if origin.cell else "\n  "
        return f"{node}{between}made at {origin}"


_TENSORFLOW = ("node_def", "op", "message", "error_code")


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


class FinalizedGraphError(GraphError, RuntimeError):
    """The graph is finalized and takes no more nodes."""


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

    def __init__(
        self,
        *args: object,
        log: str = "",
        source_path: str = "",
        node_def: object = None,
        op: Blamed | None = None,
        message: str | None = None,
        error_code: int | None = None,
    ) -> None:
        super().__init__(*args, node_def=node_def, op=op, message=message, error_code=error_code)
        self.log = log
        self.source_path = source_path


class UnavailableError(OpError):
    """A task or device cannot be reached."""

    code = 14


class DataLossError(OpError):
    """Stored data is corrupt or truncated; the message gives file and offset."""

    code = 15


class UnauthenticatedError(OpError):
    """The request does not say who makes it."""

    code = 16


OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16

_BY_CODE: dict[int, type[OpError]] = {
    kind.code: kind
    for kind in (
        CancelledError,
        UnknownError,
        InvalidArgumentError,
        DeadlineExceededError,
        NotFoundError,
        AlreadyExistsError,
        PermissionDeniedError,
        ResourceExhaustedError,
        FailedPreconditionError,
        AbortedError,
        OutOfRangeError,
        UnimplementedError,
        InternalError,
        UnavailableError,
        DataLossError,
        UnauthenticatedError,
    )
}


def exception_type_from_error_code(error_code: int) -> type[OpError]:
    """The class of errors of a kind. Raises `KeyError` for an unknown number."""
    return _BY_CODE[error_code]


def error_code_from_exception_type(cls: type[OpError]) -> int:
    """The number of a class of errors; of a class that is finer than TensorFlow's, that of its kind."""
    return cls.code


def refuse_given(who: str, why: str, **given: object) -> None:
    """Raises `InvalidArgumentError` for the first of these parameters that is neither None nor False.

    For parameters of TensorFlow's that would change a result or a file, and that tfnb does not have: what is asked
    for is refused, never ignored. `why` says what to do instead.
    """
    for name, value in given.items():
        if value is not None and value is not False:
            raise InvalidArgumentError(f"{who}: {name}={value!r} is not supported: {why}")
