"""The errors of tfnb: one class for each kind of failure, with TensorFlow's error codes.

Invariant: the message of every error that reaches a user says which value was given and which was needed. Where a node
causes the error, the message also names the line of the user's code that created the node. Errors of construction are
subclasses of Python's `ValueError` and `TypeError` too, so programs written for TensorFlow catch them as before.
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
    "AddressInUseError",
    "AlreadyExistsError",
    "Blamed",
    "BlamedNode",
    "CancelledError",
    "ClosedSessionError",
    "DTypeError",
    "DataLossError",
    "DeadlineExceededError",
    "DeviceNotFoundError",
    "EmptyGraphError",
    "ExportExistsError",
    "ExportOrderError",
    "FailedPreconditionError",
    "FinalizedGraphError",
    "GraphError",
    "IncompleteStateError",
    "InitOpExistsError",
    "InternalError",
    "InvalidArgumentError",
    "InvalidFetchError",
    "KernelBuildError",
    "MissingFileError",
    "NestingError",
    "NotFoundError",
    "OpError",
    "Origin",
    "OutOfRangeError",
    "PermissionDeniedError",
    "ReentryError",
    "ResourceExhaustedError",
    "ShapeError",
    "SignatureError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
    "UnknownError",
    "UnknownNameError",
    "UnknownTagsError",
    "UnreadableFileError",
    "error_class_of",
    "error_code_from_exception_type",
    "exception_type_from_error_code",
    "refuse_given",
]


class Origin(NamedTuple):
    """The line of the user's program that created a node. `filename` is the name under which Python compiled the
    line."""

    filename: str
    lineno: int
    function: str

    @property
    def code(self) -> str:
        return linecache.getline(self.filename, self.lineno).strip()

    @property
    def cell(self) -> str | None:
        """The notebook cell that contains the line, as `cell [2]`; None if the line is in a file."""
        return None if _cell_of is None else _cell_of(self.filename)

    def __str__(self) -> str:
        cell = self.cell
        if cell is None:
            location = f"{self.filename}:{self.lineno}, in {self.function}"
            return f"{location}\n    {self.code}" if self.code else location
        location = f"{cell}, line {self.lineno}"
        if self.function != "<module>":
            location += f", in {self.function}"
        return f"{location}: {self.code}" if self.code else location


_cell_of: Callable[[str], str | None] | None = None


def name_cells(cell_of: Callable[[str], str | None]) -> None:
    """Sets how errors name notebook cells.

    `cell_of` takes the file name under which a cell was compiled and returns the name that the notebook shows, such as
    `cell [2]`, or None if the file is no cell. IPython compiles each cell under the name of a temporary file, which the
    reader of a notebook does not know.
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
    """The name, type and source line of a node that is not in this process, no longer exists, or is in no graph."""

    name: str
    type: str
    origin: Origin | None


class OpError(Exception):
    """Base of all errors of tfnb.

    `op` is the user's `Operation` or the step's `Node` that caused the error, or None. `message` is the text without
    the operation, `node_def` the NodeDef of the operation or None, and `error_code` one of the constants of
    `tf.errors`.

    There are two forms of the constructor. Code of tfnb writes `SomeError(message, op)`. Programs for TensorFlow write
    `SomeError(node_def, op, message)` or `OpError(node_def, op, message, error_code)`; the constructor recognises this
    form by three or more arguments, or by `message` as a keyword. Raises `TypeError` for other arguments.
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
        fields: dict[str, Any] = {"node_def": node_def, "op": op, "message": message, "error_code": error_code}
        fields.update(zip(names, args, strict=False))
        if fields["message"] is None:
            raise TypeError(f"{type(self).__name__}() needs a message: (message, op) or (node_def, op, message)")
        self.message = str(fields["message"])
        super().__init__(self.message)
        self.op: Any = fields["op"]
        self._node_def = fields["node_def"]
        self._error_code = fields["error_code"]

    @property
    def node_name(self) -> str | None:
        """The name of the operation that failed, or None."""
        return None if self.op is None else str(self.op.name)

    @property
    def error_code(self) -> int:
        """The error's code, one of the constants such as `tf.errors.INVALID_ARGUMENT`."""
        return self.code if self._error_code is None else int(self._error_code)

    @property
    def node_def(self) -> Any:
        """The NodeDef of the operation that caused the error, or None."""
        return self._node_def if self._node_def is not None else getattr(self.op, "node_def", None)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles and copies the error without the graph; the name, type and line of the operation are kept."""
        op, state = self.op, dict(self.__dict__)
        if op is not None:
            state["op"] = BlamedNode(str(op.name), str(op.type), getattr(op, "origin", None))
        return type(self), (self.message,), state

    def with_op(self, op: Blamed | None) -> OpError:
        """Sets `op` unless the error has one already; returns the error."""
        if self.op is None:
            self.op = op
        return self

    def prefix(self, text: str) -> None:
        """Puts `text` in front of the message."""
        self.message = text + self.message
        self.args = (self.message,)

    def __str__(self) -> str:
        if self.op is None:
            return self.message
        name, number, _ = self.op.name.rpartition("#")
        # A pass names a node PLACE/TYPE#NUMBER after the operation of the user's at PLACE that it is a part of.
        blamed = name.rpartition("/")[0] or name if number else f"{self.op.name} = {self.op.type}"
        node = f"{self.message}\n  [node {blamed}]"
        origin = self.op.origin
        if origin is None:
            return node
        # A notebook also shows the code around the failing line, so there the node and its source are on one line.
        separator = ", " if origin.cell else "\n  "
        return f"{node}{separator}source: {origin}"


_TENSORFLOW = ("node_def", "op", "message", "error_code")


class CancelledError(OpError):
    """The step was cancelled: session closed, or another node of the step failed."""

    code = 1


class UnknownError(OpError):
    """A kernel raised an exception that is not of tfnb; that exception is the `__cause__`."""

    code = 2


class AddressInUseError(UnknownError, OSError):
    """A server cannot listen at its address."""


class InvalidArgumentError(OpError, ValueError):
    """A value, shape or attribute is not what the operation needs."""

    code = 3


class ShapeError(InvalidArgumentError):
    """Shapes do not fit together."""


class DTypeError(InvalidArgumentError, TypeError):
    """A dtype is not what the operation needs, or it cannot represent a value."""


class SlicedAssignmentError(InvalidArgumentError, AttributeError):
    """A tensor that is no slice of a variable has no `assign`."""


class GraphError(InvalidArgumentError):
    """The graph itself is malformed: a cycle, a foreign tensor, a duplicate name, a finalized graph."""


class FinalizedGraphError(GraphError, RuntimeError):
    """The graph is finalized, so no node can be added."""


class InvalidFetchError(InvalidArgumentError, TypeError):
    """A fetch or feed is not an element of the session's graph, or cannot be fed or fetched."""


class DeadlineExceededError(OpError):
    """The step ran past its timeout; the message says what was waiting for what."""

    code = 4


class NotFoundError(OpError, KeyError):
    """Something that was requested by name was not found."""

    code = 5


class UnknownTagsError(NotFoundError, RuntimeError):
    """A SavedModel has no graph with the tags that the program gives."""


class UnknownNameError(NotFoundError, ValueError):
    """There is nothing of a name that the program gives, such as a task or a variable."""


class MissingFileError(NotFoundError, OSError):
    """There is no file of the path that the program gives."""


class DeviceNotFoundError(NotFoundError):
    """No OpenCL platform or device fits; the message says how to get one."""


class AlreadyExistsError(OpError, KeyError):
    """Something with the requested name exists already; a `KeyError`, as registries of the time raise that class."""

    code = 6


class PermissionDeniedError(OpError):
    """The caller is not allowed to do this."""

    code = 7


class ResourceExhaustedError(OpError, MemoryError):
    """A device or the host does not have enough memory or disk space."""

    code = 8


class FailedPreconditionError(OpError):
    """The system is not in the state the operation needs, for example an uninitialised variable."""

    code = 9


class NoSessionError(FailedPreconditionError, ValueError):
    """A tensor or operation was to be run, and there is no session that can run it."""


class NestingError(FailedPreconditionError, AssertionError):
    """A block of a default session ended before a block inside it."""


class ReentryError(FailedPreconditionError, RuntimeError):
    """A session's `with` block was entered again inside itself."""


class NotReadyError(FailedPreconditionError, RuntimeError):
    """A session or a service was to be started, and its model or this process is not ready for it."""


class ClosedSessionError(FailedPreconditionError, RuntimeError):
    """The session was closed."""


class ExportExistsError(AlreadyExistsError, AssertionError):
    """A SavedModel is to be written to a folder that exists."""


class InitOpExistsError(ExportExistsError, ValueError):
    """A graph of a SavedModel would have two operations that run after loading."""


class ExportOrderError(FailedPreconditionError, AssertionError):
    """The parts of a SavedModel are added in another order than its first graph with variables, then others."""


class SignatureError(InvalidArgumentError, AssertionError):
    """A tensor of a signature of a SavedModel has no name or no dtype."""


class EmptyGraphError(FailedPreconditionError, RuntimeError):
    """A session is asked to run something, and its graph has no operations."""


class AbortedError(OpError):
    """The operation was aborted and can be tried again."""

    code = 10


class OutOfRangeError(OpError):
    """The end of the input was reached: a closed, empty queue or a finished epoch."""

    code = 11


class UnimplementedError(OpError, NotImplementedError):
    """There is no kernel for this operation on this device with these types."""

    code = 12


class InternalError(OpError):
    """An invariant of tfnb was violated. This is a bug; please report it."""

    code = 13


class KernelBuildError(InternalError):
    """An OpenCL program failed to build.

    `log` is the output of the compiler, `source_path` the file in which the source was kept, and `nodes` the ids of the
    graph nodes that the program computes, if they are known.
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


class IncompleteStateError(DataLossError, ValueError):
    """The pointer file of a folder names no checkpoint."""


class UnreadableFileError(DataLossError, OSError):
    """A file is not of the kind that the program says."""


class UnauthenticatedError(OpError):
    """The request does not prove the identity of the caller."""

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

_OF_PYTHON: tuple[tuple[type[Exception], type[OpError]], ...] = (
    (MemoryError, ResourceExhaustedError),
    (NotImplementedError, UnimplementedError),
    (StopIteration, OutOfRangeError),
    (TypeError, InvalidArgumentError),
    (ValueError, InvalidArgumentError),
)


def error_class_of(error: BaseException) -> type[OpError]:
    """Returns the class of the error that a step raises when a kernel or a function of Python raised `error`."""
    return next((ours for theirs, ours in _OF_PYTHON if isinstance(error, theirs)), UnknownError)


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
    """Returns the class of errors with this code. Raises `KeyError` for an unknown code."""
    return _BY_CODE[error_code]


def error_code_from_exception_type(cls: type[OpError]) -> int:
    """Returns the code of a class of errors. A class that TensorFlow lacks has the code of its base class."""
    return cls.code


def refuse_given(who: str, why: str, **given: object) -> None:
    """Raises `InvalidArgumentError` for the first of these parameters that is neither None nor False.

    It is for parameters that TensorFlow has, that change a result or a file, and that tfnb does not implement. They are
    refused and never ignored. `why` says what to do instead.
    """
    for name, value in given.items():
        if value is not None and value is not False:
            raise InvalidArgumentError(f"{who}: {name}={value!r} is not supported: {why}")
