"""`tf.contrib.summary`: summaries that a step writes itself, into the event files of a writer that is in the graph.

A function such as `scalar` returns a bool scalar, whether the value is written, which writes it when it is computed. It
does nothing without a default writer, or where summaries are not to be recorded. Invariant: a writer has a file from
its initializer on until it is closed.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tfnb.client.control_flow.cond import smart_cond
from tfnb.client.graph.default_graph import add_to_collection, control_dependencies, get_collection, name_scope
from tfnb.client.logging.summaries import summary_scope
from tfnb.errors import DTypeError, GraphError, NoSessionError, NotFoundError
from tfnb.ir.default import get_default_graph
from tfnb.ir.operation import Operation
from tfnb.ir.protos import proto
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import constant, convert_to_tensor
from tfnb.ops.array.placeholder import placeholder
from tfnb.ops.control_flow.python_function import py_func
from tfnb.ops.control_flow.switch_merge import NO_OP
from tfnb.ops.logging.summary import (
    AUDIO_SUMMARY_V2,
    HISTOGRAM_SUMMARY,
    IMAGE_SUMMARY,
    SCALAR_SUMMARY,
    TENSOR_SUMMARY_V2,
)
from tfnb.ops.math.binary import FLOOR_MOD
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import EQUAL
from tfnb.session.default import get_default_session
from tfnb.session.session import Session
from tfnb.summary.writer import FileWriter
from tfnb.train.optimizers.global_step import get_or_create_global_step
from tfnb.types import float32, int64, string

__all__ = [
    "SummaryWriter",
    "all_summary_ops",
    "always_record_summaries",
    "audio",
    "create_file_writer",
    "eval_dir",
    "flush",
    "generic",
    "graph",
    "histogram",
    "image",
    "import_event",
    "initialize",
    "never_record_summaries",
    "record_summaries_every_n_global_steps",
    "scalar",
    "should_record_summaries",
    "summary_writer_initializer_op",
    "writer_flush_ops",
]

# Names of collections.
_OPERATIONS, _INITIALIZERS, _FLUSHES = "_SUMMARY_V2", "_SUMMARY_WRITER_V2", "_SUMMARY_WRITER_FLUSH"


class NoWriterError(GraphError, RuntimeError):
    """There is no default writer of summaries."""


class SummaryWriter:
    """A writer of event files whose methods are operations; `create_file_writer` makes it. Without a folder it is none.

    logdir: the folder, a text or a string scalar. The other arguments are those of `tf.summary.FileWriter`.
    """

    def __init__(
        self, logdir: TensorLike | None = None, max_queue: int = 10, flush_secs: float = 120, suffix: str = ".v2"
    ) -> None:
        self._options: dict[str, Any] = {
            "max_queue": max_queue,
            "flush_secs": flush_secs,
            "filename_suffix": suffix,
        }
        self._file: FileWriter | None = None
        self._lock = threading.RLock()
        self._initializer: Any = None
        self._flush: Any = None
        if logdir is not None:
            self._initializer = py_func(self._open, [convert_to_tensor(logdir, string)], [], name="open")
            self._flush = py_func(self._flush_file, [], [], name="flush")
            add_to_collection(_INITIALIZERS, self._initializer)
            add_to_collection(_FLUSHES, self._flush)

    @property
    def is_none(self) -> bool:
        """Whether the writer has no folder, so that its operations do nothing."""
        return self._initializer is None

    def init(self) -> Operation:
        """Returns the operation that opens the event file, if it isn't open."""
        return _nothing() if self._initializer is None else self._initializer

    def flush(self) -> Operation:
        """Returns the operation that waits until all summaries are in the file."""
        return _nothing() if self._flush is None else self._flush

    def close(self) -> Operation:
        """Returns the operation that writes all summaries and closes the file, if it is open."""
        return _nothing() if self.is_none else py_func(self._close, [], [], name="close")

    def set_as_default(self) -> None:
        """Makes the writer the one of the operations that are built from now on."""
        _writer.set(self)

    @contextmanager
    def as_default(self) -> Iterator[SummaryWriter]:
        """A context manager: the writer is the one of the operations that are built inside.

        When the block ends, a file that is open has all summaries that were written.
        """
        token = _writer.set(self)
        try:
            yield self
            self._flush_file()
        finally:
            _writer.reset(token)

    def _open(self, logdir: bytes) -> None:
        with self._lock:
            if self._file is None:
                self._file = FileWriter(logdir, **self._options)

    def _flush_file(self) -> None:
        file = self._file
        if file is not None:
            file.flush()

    def _opened(self) -> FileWriter:
        if self._file is None:
            raise NotFoundError(
                "the writer of summaries is not initialized: run tf.contrib.summary.initialize() or "
                "summary_writer_initializer_op() first"
            )
        return self._file

    def _close(self) -> None:
        with self._lock:
            file, self._file = self._file, None
        if file is not None:
            file.close()

    def add_summary(self, summary: bytes, step: int) -> None:
        """Adds a serialized Summary for the step `step`. Raises `NotFoundError` before the writer is initialized."""
        self._opened().add_summary(summary, step)

    def add_event(self, event: bytes) -> None:
        """Adds a serialized Event. Raises as `add_summary` does."""
        self._opened().add_event(proto("event").Event.FromString(event))

    def add_graph(self, graph_def: bytes, step: int) -> None:
        """Adds a serialized GraphDef for the step `step`. Raises as `add_summary` does."""
        event = proto("event").Event(wall_time=time.time(), step=int(step), graph_def=graph_def)
        self._opened().add_event(event)


_writer: ContextVar[SummaryWriter | None] = ContextVar("writer", default=None)
# What says whether summaries are recorded, a bool or a bool scalar, or a function that returns one.
_recorded: ContextVar[Any] = ContextVar("recorded", default=False)


def create_file_writer(
    logdir: TensorLike | None,
    max_queue: int | None = None,
    flush_millis: float | None = None,
    filename_suffix: str | None = None,
    name: str | None = None,
) -> SummaryWriter:
    """Returns a writer of the event files in the folder `logdir`, a text or a string scalar; None makes one of none.

    max_queue: how many events may wait to be written, by default 10. flush_millis: how long they may wait, by default
    two minutes. filename_suffix: the end of the names of the files, by default ".v2". name: of its operations.
    """
    with name_scope(name or "create_file_writer"):
        return SummaryWriter(
            logdir,
            10 if max_queue is None else max_queue,
            120 if flush_millis is None else flush_millis / 1000,
            ".v2" if filename_suffix is None else filename_suffix,
        )


# ---- whether summaries are recorded ------------------------------------------------------------------


def should_record_summaries() -> bool | Tensor:
    """Returns whether summaries that are built here are recorded: a bool, or a bool scalar. By default they aren't."""
    condition = _recorded.get()
    return condition() if callable(condition) else condition


@contextmanager
def _recording(condition: object) -> Iterator[None]:
    token = _recorded.set(condition)
    try:
        yield
    finally:
        _recorded.reset(token)


def always_record_summaries() -> AbstractContextManager[None]:
    """Returns a context manager: summaries that are built inside are recorded in each step that runs them."""
    return _recording(True)


def never_record_summaries() -> AbstractContextManager[None]:
    """Returns a context manager: summaries that are built inside are not recorded."""
    return _recording(False)


def record_summaries_every_n_global_steps(
    n: int, global_step: TensorLike | None = None
) -> AbstractContextManager[None]:
    """Returns a context manager: summaries that are built inside are recorded when `n` divides the global step."""
    step = get_or_create_global_step() if global_step is None else global_step
    return _recording(lambda: EQUAL(FLOOR_MOD(_step(step), constant(n, int64)), constant(0, int64)))


# ---- summaries ---------------------------------------------------------------------------------------


def _nothing() -> Operation:
    return NO_OP()


def _step(step: TensorLike | None) -> Tensor:
    """Returns the step as an int64 scalar; None is the global step."""
    value = convert_to_tensor(get_or_create_global_step() if step is None else step)
    return value if value.dtype is int64 else cast(value, int64)


def _written(
    name: str, values: list[Any], family: str | None, step: TensorLike | None, make: Callable[[str, str], Tensor]
) -> Tensor | Operation:
    """Returns whether a summary is written, a bool scalar that writes it; `make` makes it from its tag and scope."""
    writer = _writer.get()
    if writer is None or writer.is_none:
        return _nothing()
    outer = get_default_graph().scopes.name
    at = _step(step)

    def record() -> Tensor:
        inside = name_scope(f"{outer}/" if outer else None)  # the tag has nothing of the branch's scope
        with inside, summary_scope(name, family, values) as (tag, scope):
            written = py_func(writer.add_summary, [make(tag, scope), at], [], name="write")
            with control_dependencies([written]):
                return constant(True)

    is_written = smart_cond(should_record_summaries(), record, lambda: constant(False), name="summary_cond")
    add_to_collection(_OPERATIONS, is_written)
    return is_written


def scalar(
    name: str, tensor: TensorLike, family: str | None = None, step: TensorLike | None = None
) -> Tensor | Operation:
    """Returns a bool scalar that writes one real number under a tag, `name` in the scope and the `family`.

    step: an integer scalar, by default the global step. Without a default writer it is an operation that does nothing.
    """
    value = convert_to_tensor(tensor)
    return _written(name, [value], family, step, lambda tag, scope: SCALAR_SUMMARY(tag, value, name=scope))


def histogram(
    name: str, tensor: TensorLike, family: str | None = None, step: TensorLike | None = None
) -> Tensor | Operation:
    """Returns a bool scalar that writes the distribution of real numbers; the arguments are those of `scalar`."""
    value = convert_to_tensor(tensor)
    return _written(name, [value], family, step, lambda tag, scope: HISTOGRAM_SUMMARY(tag, value, name=scope))


def image(
    name: str,
    tensor: TensorLike,
    bad_color: ArrayLike | None = None,
    max_images: int = 3,
    family: str | None = None,
    step: TensorLike | None = None,
) -> Tensor | Operation:
    """Returns a bool scalar that writes up to `max_images` images of [batch, height, width, channels].

    bad_color: four uint8 numbers, the colour of pixels that are not finite, by default red. The other arguments are
    those of `scalar`.
    """
    value = convert_to_tensor(tensor)
    color = {} if bad_color is None else {"bad_color": np.asarray(bad_color, np.uint8)}

    def make(tag: str, scope: str) -> Tensor:
        made: Tensor = IMAGE_SUMMARY(tag, value, max_images=max_images, name=scope, **color)
        return made

    return _written(name, [value], family, step, make)


def audio(
    name: str,
    tensor: TensorLike,
    sample_rate: TensorLike,
    max_outputs: int,
    family: str | None = None,
    step: TensorLike | None = None,
) -> Tensor | Operation:
    """Returns a bool scalar that writes up to `max_outputs` sounds of [batch, frames, channels] at `sample_rate` hertz.

    The other arguments are those of `scalar`.
    """
    value, rate = convert_to_tensor(tensor), convert_to_tensor(sample_rate, float32)

    def make(tag: str, scope: str) -> Tensor:
        made: Tensor = AUDIO_SUMMARY_V2(tag, value, rate, max_outputs=max_outputs, name=scope)
        return made

    return _written(name, [value], family, step, make)


def generic(
    name: str, tensor: TensorLike, metadata: Any = None, family: str | None = None, step: TensorLike | None = None
) -> Tensor | Operation:
    """Returns a bool scalar that writes a whole tensor; the other arguments are those of `scalar`.

    metadata: a `tf.SummaryMetadata`, its bytes, or a string scalar of them.
    """
    value = convert_to_tensor(tensor)
    data = metadata.SerializeToString() if hasattr(metadata, "SerializeToString") else metadata or b""

    def make(tag: str, scope: str) -> Tensor:
        made: Tensor = TENSOR_SUMMARY_V2(tag, value, data, name=scope)
        return made

    return _written(name, [value], family, step, make)


def _default_writer() -> SummaryWriter:
    writer = _writer.get()
    if writer is None:
        raise NoWriterError("No default tf.contrib.summary.SummaryWriter found")
    return writer


def import_event(tensor: TensorLike, name: str | None = None) -> Operation:
    """Returns the operation that writes a serialized Event, a string scalar, with the default writer."""
    return py_func(_default_writer().add_event, [convert_to_tensor(tensor, string)], [], name=name or "import_event")


def graph(param: Tensor, step: TensorLike | None = None, name: str | None = None) -> Operation:
    """Returns the operation that writes a serialized GraphDef, a string scalar, with the default writer.

    Raises `DTypeError` for anything but a tensor.
    """
    if not isinstance(param, Tensor):
        raise DTypeError("graph() needs a tf.Tensor (e.g. tf.placeholder) when eager execution is disabled.")
    writer = _writer.get()
    if writer is None or writer.is_none:
        return _nothing()
    return py_func(writer.add_graph, [param, _step(step)], [], name=name or "graph")


# ---- operations of the whole graph -------------------------------------------------------------------


def all_summary_ops() -> list[Any]:
    """Returns the bool scalars of the default graph that write summaries when they are computed."""
    return get_collection(_OPERATIONS)


def summary_writer_initializer_op() -> list[Any]:
    """Returns the operations that open the files of the writers of the default graph."""
    return get_collection(_INITIALIZERS)


def writer_flush_ops() -> list[Any]:
    """Returns the operations that wait until all summaries of the default graph's writers are in their files."""
    return get_collection(_FLUSHES)


def initialize(graph: Any = None, session: Session | None = None) -> None:
    """Opens the files of all writers of the default graph, and writes `graph`, a `tf.Graph` or GraphDef, if given.

    session: by default the default session. Without a default writer it does nothing. Raises `NoSessionError` without
    a session.
    """
    if _writer.get() is None:
        return
    runner = session or get_default_session()
    if runner is None:
        raise NoSessionError("Argument `session` must be passed if no default session exists")
    runner.run(summary_writer_initializer_op())
    if graph is not None:
        definition = graph.as_graph_def(add_shapes=True) if hasattr(graph, "as_graph_def") else graph
        data = placeholder(string, [])
        runner.run(write_graph(data, 0), {data: definition.SerializeToString()})


def flush(writer: SummaryWriter | None = None, name: str | None = None) -> Operation:
    """Returns the operation that waits until all summaries of `writer`, by default the default one, are in its file."""
    flushed = _writer.get() if writer is None else writer
    if flushed is None:
        return _nothing()
    with name_scope(name or "flush"):
        return flushed.flush()


def eval_dir(model_dir: str, name: str | None = None) -> str:
    """Returns the folder of the summaries of an evaluation, below the one of the model."""
    return os.path.join(model_dir, "eval" if not name else f"eval_{name}")


write_graph = graph  # the function, for those that have a parameter of this name
