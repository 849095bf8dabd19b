"""`tf.summary.FileWriter`: summaries, graphs and run metadata go into event files (white paper, section 9.1).

Files are TensorBoard's, record by record. Invariant: adding to a writer never waits for the disk unless its queue is
full.
"""

from __future__ import annotations

import os
import threading
import time
import warnings
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Any, ClassVar

from tfnb.errors import InvalidArgumentError
from tfnb.ir.protos import proto
from tfnb.summary.event_file import EventFile
from tfnb.summary.run_metadata import serialized_run_metadata

__all__ = ["FileWriter", "FileWriterCache"]


class FileWriter:
    """Writes event files in the folder `logdir`, which is made if need be.

    graph: a `tf.Graph` (or a GraphDef) to add at once; `graph_def` is its 0.x name. max_queue: how many events may
    wait. flush_secs: the longest that an event stays in memory. filename_suffix: the end of the files' names.
    max_file_bytes: start another file once one is larger. A context manager, which closes at the end. Raises
    `PermissionDeniedError` and the like when the folder cannot be written.
    """

    def __init__(
        self,
        logdir: Any,
        graph: Any = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
        session: Any = None,
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
        self._file = EventFile(self._logdir, *self._options)
        self._finalizer = weakref.finalize(self, _close_quietly, self._file)

    def get_logdir(self) -> str:
        """The folder."""
        return self._logdir

    @property
    def path(self) -> str:
        """The file that is being written."""
        return self._file.path

    def listen(self, listener: Callable[[bytes], None]) -> Callable[[], None]:
        """Calls `listener` with every serialized Event that is added from now on, in the adding thread and before it
        goes to the file; gives a function that ends it.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    # ---- adding ----------------------------------------------------------------------------------

    def add_event(self, event: Any) -> None:
        """Adds an `Event`. On a closed writer that warns and does nothing, as in TensorFlow."""
        if self._closed:
            warnings.warn("the FileWriter is closed; what is added is dropped until reopen()", stacklevel=3)
            return
        data = event.SerializeToString()
        for listener in tuple(self._listeners):
            listener(data)
        self._file.add(data)

    def _add(self, global_step: Any, **content: Any) -> None:
        step = None if global_step is None else int(global_step)
        self.add_event(proto("event").Event(wall_time=time.time(), step=step, **content))

    def add_summary(self, summary: Any, global_step: Any = None) -> None:
        """Adds what a summary op gave (bytes), or a `tf.Summary`, at a step."""
        if isinstance(summary, (bytes, bytearray)):
            message = proto("summary").Summary()
            try:
                message.ParseFromString(bytes(summary))
            except Exception as e:  # protobuf's DecodeError
                raise InvalidArgumentError(f"add_summary: the bytes are no Summary: {e}") from None
            summary = message
        elif not hasattr(summary, "value"):
            raise InvalidArgumentError(
                f"add_summary needs the value of a summary op (bytes) or a tf.Summary, got {type(summary).__name__}"
            )
        self._add(global_step, summary=summary)

    def add_session_log(self, session_log: Any, global_step: Any = None) -> None:
        """Adds a `tf.SessionLog` at a step."""
        self._add(global_step, session_log=session_log)

    def add_graph(self, graph: Any, global_step: Any = None, graph_def: Any = None) -> None:
        """Adds a `tf.Graph`, or a GraphDef."""
        given = graph if graph is not None else graph_def
        if hasattr(given, "as_graph_def"):
            given = given.as_graph_def(add_shapes=True)
        if not hasattr(given, "SerializeToString"):
            raise InvalidArgumentError(f"add_graph needs a graph, got {type(given).__name__}")
        self._add(global_step, graph_def=given.SerializeToString())

    def add_meta_graph(self, meta_graph_def: Any, global_step: Any = None) -> None:
        """Adds a MetaGraphDef."""
        if not hasattr(meta_graph_def, "SerializeToString"):
            raise InvalidArgumentError(f"add_meta_graph needs a MetaGraphDef, got {type(meta_graph_def).__name__}")
        self._add(global_step, meta_graph_def=meta_graph_def.SerializeToString())

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: Any = None) -> None:
        """Adds the `tf.RunMetadata` of a step under a tag. Raises `InvalidArgumentError` when the tag was used."""
        if tag in self._tags:
            raise InvalidArgumentError(f"add_run_metadata: the tag {tag!r} was already used")
        self._tags.add(tag)
        tagged = proto("event").TaggedRunMetadata(tag=tag, run_metadata=serialized_run_metadata(run_metadata))
        self._add(global_step, tagged_run_metadata=tagged)

    # ---- life ------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Returns when all that was added is in the file. Raises what the disk refused."""
        if not self._closed:
            self._file.flush()

    def close(self) -> None:
        """Writes all that was added and closes the file. Raises what the disk refused."""
        if not self._closed:
            self._closed = True
            self._finalizer.detach()
            self._file.close()

    def reopen(self) -> None:
        """After `close`: goes on in a new file."""
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
    """One writer per folder, for code that cannot pass it along."""

    _writers: ClassVar[dict[str, FileWriter]] = {}
    _lock: ClassVar[Any] = threading.RLock()

    @staticmethod
    def get(logdir: Any) -> FileWriter:
        """The writer of that folder, made when there is none."""
        with FileWriterCache._lock:
            name = os.fsdecode(logdir)
            if name not in FileWriterCache._writers:
                FileWriterCache._writers[name] = FileWriter(name)
            return FileWriterCache._writers[name]

    @staticmethod
    def clear() -> None:
        """Closes and forgets all of them."""
        with FileWriterCache._lock:
            for writer in FileWriterCache._writers.values():
                writer.close()
            FileWriterCache._writers.clear()
