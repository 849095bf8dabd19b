"""Where a viewer's runs come from: a folder that grows, a FileWriter of this kernel, a graph, a table.

Each source is polled by the one thread of its view. Invariant: a source holds a bounded number of points and items,
however long the training is.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tensorboard.util.tensor_util import make_ndarray

from tfnb.errors import InvalidArgumentError, OpError
from tfnb.ir.builder import GraphBuilder
from tfnb.summary.frame import EventTable
from tfnb.summary.reader import LogReader, Run, Series, kind_of
from tfnb.summary.writer import FileWriter

__all__ = ["FolderSource", "GraphSource", "HeldItem", "Source", "TableSource", "WriterSource", "sources_of"]

MAX_POINTS, MAX_ITEMS = 5_000, 64
# Events that wait for the view's thread; a writer faster than that for long loses the oldest in the view only.
MAX_WAITING = 200_000


class HeldItem(NamedTuple):
    """What `summary.reader.Item` is for files, for an event that is still in memory."""

    tag: str
    kind: str
    step: int
    wall_time: float
    path: str
    offset: int
    event: Any

    def load(self) -> Any:
        """The Event message."""
        return self.event

    def value(self) -> Any:
        """The Summary.Value of its tag."""
        return next(v for v in self.event.summary.value if self.tag in (v.tag, v.node_name))


class Source:
    """Runs by name, and how often it is worth asking for news."""

    seconds = 0.5
    asleep = False  # nobody looks

    def __init__(self) -> None:
        self.runs: dict[str, Run] = {}
        self.trouble = ""

    def poll(self) -> bool:
        """Takes in what is new; was there anything?"""
        return False

    def close(self) -> None:
        """Ends what the source has started."""


class FolderSource(Source):
    """The event files below a folder, which another process may be writing."""

    def __init__(self, folder: Any, prefix: str = "") -> None:
        super().__init__()
        self._reader = LogReader(folder, MAX_POINTS, MAX_ITEMS)
        self._prefix = prefix
        self.poll()

    def poll(self) -> bool:
        try:
            changed = self._reader.poll()
            self.trouble = ""
        except OpError as fault:  # the folder went away, or a file may not be read: say so, go on
            self.trouble = str(fault)
            return False
        for name, run in self._reader.runs.items():
            self.runs.setdefault(_joined(self._prefix, name), run)
        return changed


class WriterSource(Source):
    """A FileWriter of this kernel: what its files hold already, and each event from now on."""

    seconds = 0.15

    def __init__(self, writer: FileWriter, name: str = "") -> None:
        super().__init__()
        self._waiting: deque[Any] = deque(maxlen=MAX_WAITING)
        self._number = 0
        self._stop = writer.listen(self._waiting.append)
        writer.flush()
        reader = LogReader(writer.get_logdir(), MAX_POINTS, MAX_ITEMS)
        reader.poll()
        folder = writer.get_logdir()
        self._run = reader.runs.get(".") or Run(".", folder)
        self.runs[name or Path(folder).resolve().name] = self._run
        # What was added meanwhile may be in the file already.
        self._known = max(
            [float(s.wall_time[-1]) for s in self._run.scalars.values() if len(s)]
            + [items[-1].wall_time for items in self._run.items.values() if items],
            default=float("-inf"),
        )

    def poll(self) -> bool:
        points: dict[str, list[tuple[int, float, float]]] = {}
        seen = 0
        while self._waiting:
            event = self._waiting.popleft()
            if event.wall_time > self._known:
                self._take(event, points)
            seen += 1
        self._add(points)
        return seen > 0

    def close(self) -> None:
        self._stop()

    def _take(self, event: Any, points: dict[str, list[tuple[int, float, float]]]) -> None:
        step, wall = event.step, event.wall_time
        what = event.WhichOneof("what")
        if what == "summary":
            for value in event.summary.value:
                number = _scalar(value)
                tag = value.tag or value.node_name
                if number is not None:
                    points.setdefault(tag, []).append((step, wall, number))
                elif kind_of(value):
                    self._hold(tag, kind_of(value), event)
        elif what == "session_log" and event.session_log.status == event.session_log.START:
            self._add(points)
            points.clear()
            for series in self._run.scalars.values():
                series.purge(step)
            for tag, items in self._run.items.items():
                self._run.items[tag] = [i for i in items if i.step < step]
        elif what == "graph_def":
            self._hold("", "graph", event)

    def _add(self, points: dict[str, list[tuple[int, float, float]]]) -> None:
        for tag, found in points.items():
            step, wall, value = zip(*found, strict=True)
            series = self._run.scalars.setdefault(tag, Series(MAX_POINTS))
            series.add(np.array(step, np.int64), np.array(wall), np.array(value))

    def _hold(self, tag: str, kind: str, event: Any) -> None:
        items: list[Any] = self._run.items.setdefault(tag, [])
        self._number += 1
        items.append(HeldItem(tag, kind, event.step, event.wall_time, "", self._number, event))
        if len(items) > 2 * MAX_ITEMS:
            chosen = np.linspace(0, len(items) - 1, MAX_ITEMS).astype(int)
            self._run.items[tag] = [items[i] for i in chosen]


class TableSource(Source):
    """Runs that were read before, by `tf.read_events`."""

    def __init__(self, table: EventTable, prefix: str = "") -> None:
        super().__init__()
        self.runs = {_joined(prefix, name): run for name, run in table.runs.items()}


class GraphSource(Source):
    """A graph, for its parameters."""

    def __init__(self, graph: GraphBuilder, name: str = "graph") -> None:
        super().__init__()
        self.graph = graph
        self._size = -1
        self.name = name

    def poll(self) -> bool:
        size, self._size = self._size, len(self.graph.get_operations())
        return size != self._size


def sources_of(what: Any, name: str = "") -> list[Source]:
    """The sources that `tf.view` was given. Raises `InvalidArgumentError` for anything it cannot show."""
    if isinstance(what, (str, os.PathLike)):
        return [FolderSource(what, name)]
    if isinstance(what, FileWriter):
        return [WriterSource(what, name)]
    if isinstance(what, EventTable):
        return [TableSource(what, name)]
    if isinstance(what, GraphBuilder):
        return [GraphSource(what, name or "graph")]
    if isinstance(getattr(what, "graph", None), GraphBuilder):  # a session
        return [GraphSource(what.graph, name or "session")]
    if isinstance(what, Mapping):
        return [s for key, value in what.items() for s in sources_of(value, str(key))]
    if isinstance(what, (list, tuple)):
        return [s for value in what for s in sources_of(value, name or _own_name(value, len(what)))]
    raise InvalidArgumentError(
        "view: needed a folder of event files, a FileWriter, a session, a graph, what read_events gave, or a list or "
        f"dict of these; got {type(what).__name__}"
    )


def _joined(prefix: str, name: str) -> str:
    if not prefix:
        return name
    return prefix if name == "." else f"{prefix}/{name}"


def _own_name(what: Any, count: int) -> str:
    """Folders seen side by side go by their last name."""
    if count > 1 and isinstance(what, (str, os.PathLike)):
        return Path(os.fsdecode(what)).resolve().name
    return ""


def _scalar(value: Any) -> float | None:
    if value.HasField("simple_value"):
        return float(value.simple_value)
    if kind_of(value) != "scalars":
        return None
    array = make_ndarray(value.tensor)
    return float(array) if array.size == 1 else None
