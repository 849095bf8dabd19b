"""`tf.summary.FileWriter` writes summaries, graphs and run metadata to event files (white paper, section 9.1).

The files have the format of TensorBoard. Invariant: a method that adds an event waits for the disk only if the queue
of events is full.
"""

from __future__ import annotations

import os
import threading
import time
import warnings
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Any, ClassVar, Protocol, SupportsInt, TypeAlias

from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.protos import proto
from tfnb.summary.event_file import EventFile
from tfnb.summary.run_metadata import SupportsRunMetadata, serialized_run_metadata

__all__ = ["FileWriter", "FileWriterCache", "Message"]

FilePath: TypeAlias = str | bytes | os.PathLike[str]


class Message(Protocol):
    """A protocol buffer message."""

    def SerializeToString(self) -> bytes: ...


class Summary(Protocol):
    """A message of values, each with the metadata of its tag."""

    value: Any

    def CopyFrom(self, other: object, /) -> None: ...


class SupportsGraphDef(Protocol):
    """A `tf.Graph`, which can be exported as a GraphDef."""

    def as_graph_def(self, *, add_shapes: bool) -> Any: ...


Step: TypeAlias = SupportsInt | None


class FileWriter:
    """Writes event files to the folder `logdir`, which is created if it does not exist.

    graph: a `tf.Graph` or GraphDef to add at once; `graph_def` is the 0.x name of this argument. max_queue: the number
    of events that may wait to be written. flush_secs: how long, in seconds, an event may stay in memory.
    filename_suffix: the end of the names of the files. session: accepted as in TensorFlow and not used.
    max_file_bytes: the size after which another file is started. As a context manager it closes itself at the end.
    Raises `InvalidArgumentError` for an empty name, `PermissionDeniedError` when the folder cannot be written.
    """

    def __init__(
        self,
        logdir: FilePath,
        graph: SupportsGraphDef | Message | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: Message | None = None,
        filename_suffix: str | None = None,
        session: object = None,
        max_file_bytes: int | None = None,
    ) -> None:
        self._logdir = os.path.expanduser(os.fsdecode(logdir))
        if not self._logdir:
            raise InvalidArgumentError("FileWriter: the folder's name is empty")
        self._options = (max_queue, flush_secs, filename_suffix or "", max_file_bytes)
        self._tags: set[str] = set()
        self._listeners: list[Callable[[bytes], None]] = []
        self._closed = False
        self._open()
        if graph is not None or graph_def is not None:
            self.add_graph(graph, graph_def=graph_def)

    def _open(self) -> None:
        self._described: set[str] = set()  # tags whose metadata is in the file
        self._file = EventFile(self._logdir, *self._options)
        self._finalizer = weakref.finalize(self, _close_quietly, self._file)

    def get_logdir(self) -> str:
        """Returns the name of the folder of the event files."""
        return self._logdir

    @property
    def path(self) -> str:
        """The name of the event file that is being written."""
        return self._file.path

    def listen(self, listener: Callable[[bytes], None]) -> Callable[[], None]:
        """Calls `listener` with every serialized Event that is added from now on; returns a function that ends this.

        It is called in the thread that adds the event, before the event is written.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    # ---- adding ----------------------------------------------------------------------------------

    def add_event(self, event: Message) -> None:
        """Adds an `Event` message. A closed writer issues a warning and drops the event, as in TensorFlow."""
        if self._closed:
            warnings.warn("the FileWriter is closed; what is added is dropped until reopen()", stacklevel=3)
            return
        data = event.SerializeToString()
        for listener in tuple(self._listeners):
            listener(data)
        self._file.add(data)

    def _add(self, global_step: Step, **content: object) -> None:
        step = None if global_step is None else int(global_step)
        self.add_event(proto("event").Event(wall_time=time.time(), step=step, **content))

    def add_summary(self, summary: bytes | Message, global_step: Step = None) -> None:
        """Adds the value of a summary op (bytes), or a `tf.Summary`, for the step `global_step`.

        The metadata of a value, such as its plugin, is written with the first value of its tag only, as TensorFlow
        does. Raises `InvalidArgumentError` for any other value and for damaged bytes.
        """
        message: Any = summary
        if isinstance(summary, (bytes, bytearray)):
            message = proto("summary").Summary()
            try:
                message.ParseFromString(bytes(summary))
            except Exception as e:  # protobuf's DecodeError
                raise InvalidArgumentError(f"add_summary: the bytes are no Summary: {e}") from None
        elif not hasattr(summary, "value"):
            raise InvalidArgumentError(
                f"add_summary needs the value of a summary op (bytes) or a tf.Summary, got {type(summary).__name__}"
            )
        described = {value.tag for value in message.value if value.HasField("metadata")}
        if not described.isdisjoint(self._described):
            message = self._without_known_metadata(message)
        self._add(global_step, summary=message)
        self._described |= described  # afterwards, so that no other thread writes a value without it before

    def _without_known_metadata(self, summary: Summary) -> Any:
        """Returns a copy of the summary without the metadata of tags whose metadata is in the file already."""
        shorter = type(summary)()
        shorter.CopyFrom(summary)
        for value in shorter.value:
            if value.tag in self._described:
                value.ClearField("metadata")
        return shorter

    def add_session_log(self, session_log: Message, global_step: Step = None) -> None:
        """Adds a `tf.SessionLog` for the step `global_step`."""
        self._add(global_step, session_log=session_log)

    def add_graph(
        self,
        graph: SupportsGraphDef | Message | None,
        global_step: Step = None,
        graph_def: Message | None = None,
    ) -> None:
        """Adds a `tf.Graph` or a GraphDef, which may be given as `graph_def`.

        Raises `DTypeError` for anything else, and `InvalidArgumentError` for both.
        """
        if graph is not None and graph_def is not None:
            raise InvalidArgumentError("add_graph: give graph or graph_def, not both")
        graph_message: Any = graph if graph is not None else graph_def
        if hasattr(graph_message, "as_graph_def"):
            graph_message = graph_message.as_graph_def(add_shapes=True)
        if not hasattr(graph_message, "SerializeToString"):
            raise DTypeError(f"add_graph needs a graph, got {type(graph_message).__name__}")
        self._add(global_step, graph_def=graph_message.SerializeToString())

    def add_meta_graph(self, meta_graph_def: Message, global_step: Step = None) -> None:
        """Adds the MetaGraphDef `meta_graph_def`. Raises `InvalidArgumentError` for anything else."""
        if not hasattr(meta_graph_def, "SerializeToString"):
            raise InvalidArgumentError(f"add_meta_graph needs a MetaGraphDef, got {type(meta_graph_def).__name__}")
        self._add(global_step, meta_graph_def=meta_graph_def.SerializeToString())

    def add_run_metadata(self, run_metadata: SupportsRunMetadata, tag: str, global_step: Step = None) -> None:
        """Adds the `tf.RunMetadata` of a step under a tag. Raises `InvalidArgumentError` for a tag that was used."""
        if tag in self._tags:
            raise InvalidArgumentError(f"add_run_metadata: the tag {tag!r} was already used")
        self._tags.add(tag)
        tagged = proto("event").TaggedRunMetadata(tag=tag, run_metadata=serialized_run_metadata(run_metadata))
        self._add(global_step, tagged_run_metadata=tagged)

    # ---- life ------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Waits until all added events are in the file. Raises the error of a failed write."""
        if not self._closed:
            self._file.flush()

    def close(self) -> None:
        """Writes all added events and closes the file. Raises the error of a failed write."""
        if not self._closed:
            self._closed = True
            self._finalizer.detach()
            self._file.close()

    def reopen(self) -> None:
        """Opens a new event file after `close`, so that events can be added again."""
        if self._closed:
            self._open()
            self._closed = False

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _close_quietly(file: EventFile) -> None:
    try:
        file.close()
    except Exception as e:
        warnings.warn(f"events were lost: {e}", stacklevel=2)


class FileWriterCache:
    """A cache of file writers with one for each folder, for code that does not pass a writer along."""

    _writers: ClassVar[dict[str, FileWriter]] = {}
    _lock: ClassVar[Any] = threading.RLock()

    @staticmethod
    def get(logdir: FilePath) -> FileWriter:
        """Returns the writer for the folder `logdir`, which is created at the first call."""
        with FileWriterCache._lock:
            name = os.fsdecode(logdir)
            if name not in FileWriterCache._writers:
                FileWriterCache._writers[name] = FileWriter(name)
            return FileWriterCache._writers[name]

    @staticmethod
    def clear() -> None:
        """Closes all writers and removes them from the cache."""
        with FileWriterCache._lock:
            for writer in FileWriterCache._writers.values():
                writer.close()
            FileWriterCache._writers.clear()
