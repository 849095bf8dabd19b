"""The sources of a viewer's runs: a folder that grows, a FileWriter of this kernel, a graph, a table.

The thread of a view polls its sources. Invariant: a source keeps a bounded number of points and items, however long the
training is.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from tfnb.errors import InvalidArgumentError, OpError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.protos import proto
from tfnb.summary.frame import EventTable
from tfnb.summary.reader import LogReader, Run
from tfnb.summary.writer import FileWriter

__all__ = ["FolderSource", "GraphSource", "Source", "TableSource", "WriterSource", "sources_of"]

MAX_POINTS, MAX_ITEMS = 5_000, 64
# The number of events that can wait for the view's thread; if a writer adds more, the view loses the oldest.
MAX_WAITING = 200_000


class Source:
    """Runs by name. `seconds`: the interval at which polling is worthwhile. `trouble`: the last error, or ""."""

    seconds = 0.5

    def __init__(self) -> None:
        self.runs: dict[str, Run] = {}
        self.trouble = ""

    def poll(self) -> bool:
        """Reads new events, and returns whether there were any."""
        return False

    def close(self) -> None:
        """Releases what the source has opened or registered."""


class FolderSource(Source):
    """The event files below a folder, which another process may be writing; only paths that `admits` accepts.

    waits: a folder that does not exist yet is waited for, as by TensorBoard.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        prefix: str = "",
        admits: Callable[[str], bool] | None = None,
        waits: bool = False,
    ) -> None:
        super().__init__()
        self._open = partial(LogReader, folder, MAX_POINTS, MAX_ITEMS, admits)
        self._reader: LogReader | None = None
        self._prefix = prefix
        self._waits = waits
        self.poll()

    def poll(self) -> bool:
        try:
            if self._reader is None:
                self._reader = self._open()
            changed, fault = self._reader.poll_all()
        except OpError as e:  # the folder was deleted
            if self._reader is None:
                if not self._waits:
                    raise
                self.trouble = f"{e}; the view waits for it"
                return False
            changed, fault = False, e
        self.trouble = "" if fault is None else str(fault)  # of a file that cannot be read; all others were
        for name, run in self._reader.runs.items():
            _add_run(self.runs, self._prefix, name, run)
        return changed


class WriterSource(Source):
    """A FileWriter of this kernel: the events in its files, and each event from now on."""

    seconds = 0.188

    def __init__(self, writer: FileWriter, name: str = "") -> None:
        super().__init__()
        self._waiting: deque[bytes] = deque(maxlen=MAX_WAITING)
        folder = writer.get_logdir()
        self._reader = LogReader(folder, MAX_POINTS, MAX_ITEMS)
        self._stop = writer.listen(self._waiting.append)
        writer.flush()
        self._reader.poll()
        run = self._reader.runs.setdefault(".", Run(".", folder))
        self.runs[name or Path(folder).resolve().name] = run
        # An event that was added meanwhile may be both in the file and in `_waiting`.
        newest_time = max(
            [float(s.wall_time[-1]) for s in run.scalars.values() if len(s)]
            + [items[-1].wall_time for items in run.items.values() if items],
            default=float("-inf"),
        )
        event = proto("event").Event
        self._take([data for data in self._drained() if event.FromString(data).wall_time > newest_time])

    def _drained(self) -> list[bytes]:
        return [self._waiting.popleft() for _ in range(len(self._waiting))]

    def _take(self, events: list[bytes]) -> bool:
        if events:
            self._reader.feed(".", events)
        return bool(events)

    def poll(self) -> bool:
        return self._take(self._drained())

    def close(self) -> None:
        self._stop()


class TableSource(Source):
    """Runs that `tf.read_events` has read."""

    def __init__(self, table: EventTable, prefix: str = "") -> None:
        super().__init__()
        for name, run in table.runs.items():
            _add_run(self.runs, prefix, name, run)


class GraphSource(Source):
    """A graph, whose parameters are shown."""

    def __init__(self, graph: GraphBuilder, name: str = "graph") -> None:
        super().__init__()
        self.graph = graph
        self._size = -1
        self.name = name

    def poll(self) -> bool:
        size, self._size = self._size, len(self.graph.get_operations())
        return size != self._size


def sources_of(what: object, name: str = "", waits: bool = False) -> list[Source]:
    """Returns the sources for the argument of `tf.view`. Raises `InvalidArgumentError` for anything that cannot be
    shown, and `NotFoundError` for a folder that does not exist, unless the view `waits` for it.
    """
    if isinstance(what, (str, os.PathLike)):
        return [FolderSource(what, name, waits=waits)]
    if isinstance(what, FileWriter):
        return [WriterSource(what, name)]
    if isinstance(what, EventTable):
        return [TableSource(what, name)]
    if isinstance(what, GraphBuilder):
        return [GraphSource(what, name or "graph")]
    graph = getattr(what, "graph", None)
    if isinstance(graph, GraphBuilder):  # `what` is a session
        return [GraphSource(graph, name or "session")]
    if isinstance(what, Mapping):
        return [s for key, value in what.items() for s in sources_of(value, str(key), waits)]
    if isinstance(what, (list, tuple)):
        return [s for value in what for s in sources_of(value, name or _own_name(value, len(what)), waits)]
    raise InvalidArgumentError(
        "view: needed a folder of event files, a FileWriter, a session, a graph, what read_events gave, or a list or "
        f"dict of these; got {type(what).__name__}"
    )


def _add_run(runs: dict[str, Run], prefix: str, name: str, run: Run) -> None:
    """Adds a run if it is not there. Files directly in a log folder are a run with the name of the folder."""
    joined = f"{prefix}/{name}" if prefix else name
    if name == ".":
        joined = prefix or Path(run.path).resolve().name or "."
    if runs.setdefault(joined, run) is not run:  # a folder in a folder of the same name
        runs.setdefault(f"./{joined}", run)


def _own_name(what: object, count: int) -> str:
    """Returns the name of one of several folders: the last part of its path."""
    if count > 1 and isinstance(what, (str, os.PathLike)):
        return Path(os.fsdecode(what)).resolve().name
    return ""
