"""Reading a folder of event files: runs, growing files, restarts and damaged records (white paper, section 9.1).

A run is a folder with event files. `LogReader.poll` reads what was written since its previous call. When a program is
restarted at a step, its session log has that step; as in TensorBoard, earlier points from this step on are dropped.
Invariant: memory holds at most about `max_points` points of each scalar tag and the bare values of `MOST_VALUES` ones,
and of other tags only file positions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from tfnb.errors import InvalidArgumentError, NotFoundError, OpError
from tfnb.ir.graphdef.message import as_message
from tfnb.ir.graphdef.message_types import Message, TensorProto
from tfnb.ir.graphdef.tensor_proto import decode_array
from tfnb.summary.item import Item
from tfnb.summary.sampling import thinned
from tfnb.summary.scan import Points, ScanResult, scan, scan_events
from tfnb.system.files import os_errors

__all__ = ["MOST_VALUES", "Item", "LogReader", "Run", "Series", "compact"]

_PIECE = 8 << 20  # bytes read at a time, unless a record is larger
MOST_VALUES = 500_000  # bare values of a scalar tag that are kept for averages over all points
_KINDS = (np.int64, np.float64, np.float64)
_MOST_LOOSE, _MOST_PARTS = 16, 64
_FLOATS = frozenset((1, 2, 14, 19))  # the numbers of float32, float64, bfloat16 and float16 in a TensorProto
Columns = tuple[np.ndarray, np.ndarray, np.ndarray]  # step, wall time, value
Point = tuple[int, float, float]


_NO_PLACES = np.empty(0, np.int64)  # one for all series, of which a file may have very many


class Series:
    """The points of one scalar tag: arrays `step`, `wall_time` and `value` in the order of the files.

    total: the number of points, including those that were removed by downsampling. purges: how often points were
    dropped because of a restart. Downsampling leaves the bare values of removed points in `every`, since an average
    over the remaining points is another curve.
    """

    __slots__ = ("_every", "_held", "_kept", "_loose", "_max", "_parts", "_whole_from", "purges", "total")

    def __init__(self, max_points: int | None) -> None:
        self._max = max_points
        self._parts: tuple[Columns, ...] = ()
        # The latest points that came one by one. A file may have a tag for every point, so one must take little memory.
        self._loose: tuple[Point, ...] = ()
        self._held = self.total = self.purges = 0
        self._whole_from = 0  # all points from this number on are in memory
        self._every: list[np.ndarray] | None = None  # all values in parts; None as long as none was removed
        self._kept = _NO_PLACES  # the places in `every` of the points that the last downsampling kept

    def add_one(self, point: Point) -> None:
        """Appends a point."""
        self._loose = (*self._loose, point)
        self._held += 1
        self.total += 1
        if len(self._loose) >= _MOST_LOOSE:
            self._gather()

    def _gather(self) -> None:
        """Makes arrays of the points that came one by one."""
        if self._loose:
            columns = zip(*self._loose, strict=True)
            arrays = tuple(np.array(c, kind) for c, kind in zip(columns, _KINDS, strict=True))
            self._loose = ()
            count = len(arrays[0])
            self._held -= count
            self.total -= count
            self.add(*arrays)

    def add(self, step: np.ndarray, wall_time: np.ndarray, value: np.ndarray) -> None:
        """Appends points, and downsamples older ones when there are more than twice `max_points`."""
        self._gather()
        self._parts = (*self._parts, (step, wall_time, value))
        if len(self._parts) >= _MOST_PARTS:
            self._column(0)
        self._held += len(step)
        self.total += len(step)
        if self._every is not None:
            self._every.append(value)
        if self._max is not None and self._held > 2 * self._max:
            recent_count = self._max // 4  # these are not downsampled, so that `since` can return them
            thinned_older = thinned(self.value[: self._held - recent_count], max(self._max - recent_count, 4))
            self._thin(np.concatenate([thinned_older, np.arange(self._held - recent_count, self._held)]))
            self._whole_from = self.total - recent_count

    def purge(self, step: int) -> None:
        """Drops the points whose step is `step` or larger."""
        old_count = self._held
        index = np.flatnonzero(self.step < step)
        if self._every is not None:
            # Of the values between the last point that stays and the first one that goes, no step is known any more.
            every, self._kept = self.every, self.kept[index]
            self._every = [every[: self._kept[-1] + 1 if len(index) else 0]]
        self._keep(index)
        self.total -= old_count - self._held
        self._whole_from = min(self._whole_from, self.total)
        self.purges += 1

    def since(self, total: int) -> Columns | None:
        """Returns the arrays (step, wall_time, value) of the points after the first `total`, or None if some were
        removed.
        """
        self._gather()
        if total < self._whole_from:
            return None
        parts: list[Columns] = []
        remaining = self.total - total
        for part in reversed(self._parts):
            if remaining <= 0:
                break
            first = max(len(part[0]) - remaining, 0)
            parts.append((part[0][first:], part[1][first:], part[2][first:]))
            remaining -= len(part[0])
        if not parts:
            return tuple(np.empty(0, kind) for kind in _KINDS)  # type: ignore[return-value]
        return tuple(np.concatenate(c) for c in zip(*reversed(parts), strict=True))  # type: ignore[return-value]

    def _thin(self, index: np.ndarray) -> None:
        every, kept = self.every, self.kept[index]
        if len(every) > MOST_VALUES:  # of the older half only the values of the points remain
            half = len(every) // 2
            older = kept[kept < half]
            every = np.concatenate([every[older], every[half:]])
            kept = np.concatenate([np.arange(len(older)), kept[len(older) :] - half + len(older)])
        self._every, self._kept = [compact(every)], kept
        self._keep(index)

    def _keep(self, index: np.ndarray) -> None:
        self._parts = ((self.step[index], self.wall_time[index], self.value[index]),)
        self._held = len(index)

    def _column(self, k: int) -> np.ndarray:
        self._gather()
        if len(self._parts) > 1:
            columns = list(zip(*self._parts, strict=True))
            self._parts = (tuple(np.concatenate(c) for c in columns),)  # type: ignore[assignment]
        return self._parts[0][k] if self._parts else np.empty(0, _KINDS[k])

    @property
    def step(self) -> np.ndarray:
        """The steps, int64[n]."""
        return self._column(0)

    @property
    def wall_time(self) -> np.ndarray:
        """The times in seconds since 1970, float64[n]."""
        return self._column(1)

    @property
    def value(self) -> np.ndarray:
        """The values, float64[n]."""
        return self._column(2)

    @property
    def every(self) -> np.ndarray:
        """All values in order, also those of removed points."""
        if self._every is None:
            return self.value
        if len(self._every) > 1:
            self._every = [compact(np.concatenate(self._every))]
        return self._every[0]

    @property
    def kept(self) -> np.ndarray:
        """The places of the points in `every`, int64[n]."""
        added = self._held - len(self._kept)
        return np.append(self._kept, np.arange(added) + (len(self.every) - added))

    def __len__(self) -> int:
        return self._held


def compact(values: np.ndarray) -> np.ndarray:
    """Returns the values as float32 if these are the same numbers, as those of most summaries are."""
    with np.errstate(over="ignore", invalid="ignore"):
        single = values.astype(np.float32)
    return single if np.array_equal(single, values, equal_nan=True) else values


@dataclass
class Run:
    """The contents of the event files of one folder.

    scalars: tag -> Series. items: tag -> other contents, the latest last ("" for graphs and the like). skipped: the
    number of damaged records. records: the number of good ones.
    """

    name: str
    path: str
    scalars: dict[str, Series] = field(default_factory=dict)
    items: dict[str, list[Item]] = field(default_factory=dict)
    records: int = 0
    skipped: int = 0
    seen: dict[str, int] = field(default_factory=dict)  # tag -> number of items, including removed ones
    offsets: dict[str, int] = field(default_factory=dict)  # file name -> bytes read so far
    # tag -> TensorBoard's plugin for its tensors; writers tell it with the first value of a tag only
    plugins: dict[str, str] = field(default_factory=dict)
    # the version of the format of the last file that tells it; before 2 a restart shows by a step that goes back alone
    version: float = 2.0

    def tags(self, kind: str) -> list[str]:
        """Returns the sorted tags of a kind ("scalar", "image", ...)."""
        if kind == "scalar":
            return sorted(self.scalars)
        return sorted(t for t, tag_items in self.items.items() if any(i.kind == kind for i in tag_items))


class _Restarts:
    """The restarts in a piece of a file: pairs of record number and step.

    All are applied at once, since a file may have as many restarts as tags.
    """

    def __init__(self, result: list[tuple[int, int]]) -> None:
        self._numbers = np.array([number for number, _ in result], np.int64)  # increasing
        steps = np.array([step for _, step in result], np.int64)
        # For each restart, the smallest step of this restart and of all later ones.
        self._least = np.minimum.accumulate(steps[::-1])[::-1]

    @classmethod
    def of_steps(cls, steps: np.ndarray, before: int | None) -> _Restarts:
        """The restarts that show by a step that is smaller than the one before it; `before` precedes the first."""
        former = np.concatenate([steps[:1] if before is None else [before], steps[:-1]])
        places = np.flatnonzero(steps < former)
        return cls([(int(k), int(steps[k])) for k in places])

    def __bool__(self) -> bool:
        return bool(self._numbers.size)

    def keeps(self, number: int, step: int) -> bool:
        """Returns whether no later restart drops a content, from its record number and its step."""
        return not self or bool(self.keep(np.array([number]), np.array([step]))[0])

    def keep(self, numbers: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Returns a mask of the points that no later restart drops, from their record numbers and their steps."""
        next_restart = np.searchsorted(self._numbers, numbers, "right")
        mask = np.ones(len(steps), bool)
        has_restart = next_restart < len(self._numbers)
        mask[has_restart] = steps[has_restart] < self._least[next_restart[has_restart]]
        return mask

    def purge_series(self, series: Series) -> None:
        """Drops the earlier points of one tag from the first restarted step on."""
        if self:
            series.purge(int(self._least[0]))

    def purge(self, run: Run) -> None:
        """Drops the earlier contents of the run from the first restarted step on."""
        if not self:
            return
        first = int(self._least[0])
        for series in run.scalars.values():
            series.purge(first)
        for tag, items in run.items.items():
            run.items[tag] = [item for item in items if item.step < first]


class LogReader:
    """Reads the event files below a folder, repeatedly as they grow.

    max_points: the number of points that are kept per scalar tag; None keeps all. max_items: the number of items that
    are kept per other tag, evenly chosen. admits: a function of the path of a file; a file for which it is false is
    skipped. Only one thread may use a reader at a time. Raises `NotFoundError` when the folder does not exist, and
    `InvalidArgumentError` for limits that are too small.
    """

    def __init__(
        self,
        logdir: str | bytes | os.PathLike[str],
        max_points: int | None = None,
        max_items: int | None = None,
        admits: Callable[[str], bool] | None = None,
    ) -> None:
        self.logdir = os.path.expanduser(os.fsdecode(logdir))
        if not os.path.exists(self.logdir):
            raise NotFoundError(f"there is no folder {self.logdir}")
        for option, limit, minimum in (("max_points", max_points, 4), ("max_items", max_items, 2)):
            if limit is not None and limit < minimum:
                raise InvalidArgumentError(f"{option} must be at least {minimum}, got {limit}")
        self._max_points, self._max_items = max_points, max_items
        self._admits = admits
        self.runs: dict[str, Run] = {}

    def poll(self) -> bool:
        """Reads what was written since the previous call. Returns True if there was anything.

        Raises `PermissionDeniedError` or another `OpError` for a file that cannot be read, after all others were read.
        """
        changed, trouble = self.poll_all()
        if trouble is not None:
            raise trouble
        return changed

    def poll_all(self) -> tuple[bool, OpError | None]:
        """As `poll`, but returns the error of the first file that cannot be read, or None."""
        changed, trouble = False, None
        for name, folder, files in _runs(self.logdir):
            run = self.runs.get(name)
            if run is None:
                run = self.runs[name] = Run(name, folder)
            for file in files:
                try:
                    changed |= self._read(run, file)
                except OpError as e:
                    trouble = trouble or e
        return changed, trouble

    def feed(self, name: str, events: Sequence[bytes]) -> None:
        """Adds serialized events to the run `name` that do not come from its files."""
        run = self.runs.setdefault(name, Run(name, self.logdir))
        scan_result, data = scan_events(events)
        self._take(run, scan_result, data, None, 0)

    def _read(self, run: Run, name: str) -> bool:
        path = os.path.join(run.path, name)
        start = run.offsets.get(name, 0)
        if self._admits is not None and not self._admits(path):
            return False
        try:
            with os_errors(path):
                size = os.path.getsize(path)
        except NotFoundError:  # removed since the folder was listed
            return False
        if size < start:  # a new file with the same name
            start = 0
        if size <= start:
            return False
        changed = False
        with os_errors(path), open(path, "rb") as file:
            piece_size = _PIECE
            while start < size:
                file.seek(start)
                data = file.read(piece_size)
                scan_result = scan(data)
                if (
                    scan_result.end == 0 and len(data) < scan_result.wanted <= size - start
                ):  # the record is larger than a piece
                    piece_size = scan_result.wanted
                    continue
                if scan_result.end == 0:  # the record is incomplete, or still being written
                    break
                self._take(run, scan_result, data, path, start)
                changed = True
                start += scan_result.end
                piece_size = _PIECE
        run.offsets[name] = start
        return changed

    def _take(self, run: Run, result: ScanResult, data: bytes, path: str | None, base: int) -> None:
        run.records += result.records
        run.skipped += result.skipped
        loose: dict[str, list[tuple[int, Point]]] = {}  # tag -> record numbers and points
        restarts: list[tuple[int, int]] = []  # record number, step
        items: list[tuple[int, Item]] = []
        for number, offset, length in result.others:
            record = data[offset : offset + length]
            try:
                event = as_message("event", "Event", record)
            except OpError:  # the checksum is right, but the data is not an Event or would need too much memory
                run.records -= 1
                run.skipped += 1
                continue
            log = event.session_log
            if event.HasField("session_log") and log.status == log.START:
                restarts.append((number, event.step))
            if event.HasField("file_version"):
                run.version = _version(event.file_version)
            location = path or run.path, base + offset, length, record if path is None else None
            step, wall_time = event.step, event.wall_time
            for tag, kind, value in _contents(event, run.plugins):
                if value is not None:
                    loose.setdefault(tag, []).append((number, (step, wall_time, value)))
                if kind:
                    items.append((number, Item(tag, kind, step, wall_time, *location)))
        later_restarts = _Restarts(restarts)
        later_restarts.purge(run)
        for number, item in items:
            if later_restarts.keeps(number, item.step):
                self._add_item(run, item)
        self._add_all(run, result.points, loose, later_restarts)

    def _add_all(
        self, run: Run, points: list[Points], loose: dict[str, list[tuple[int, Point]]], restarts: _Restarts
    ) -> None:
        """Adds the points of a piece of a file: those in arrays, and those that were read one by one."""
        parts: dict[str, list[Points]] = {}
        for p in points:
            parts.setdefault(p.tag, []).append(p)
        for tag, rows in loose.items():
            if tag not in parts and len(rows) == 1 and not restarts and run.version >= 2:
                self._series(run, tag).add_one(rows[0][1])
            else:
                numbers, values = zip(*rows, strict=True)
                columns = (np.array(c, kind) for c, kind in zip(zip(*values, strict=True), _KINDS, strict=True))
                parts.setdefault(tag, []).append(Points(tag, np.array(numbers), *columns))
        for tag, of_tag in parts.items():
            self._add_points(run, tag, of_tag, restarts)

    def _series(self, run: Run, tag: str) -> Series:
        series = run.scalars.get(tag)
        if series is None:
            series = run.scalars[tag] = Series(self._max_points)
        return series

    def _add_points(self, run: Run, tag: str, parts: list[Points], restarts: _Restarts) -> None:
        series, first = self._series(run, tag), parts[0]
        is_old = run.version < 2
        if len(parts) == len(first.step) == 1 and not restarts and not is_old:
            series.add_one((int(first.step[0]), float(first.wall_time[0]), float(first.value[0])))
            return
        columns = [(p.record, p.step, p.wall_time, p.value) for p in parts]
        record, step, wall, value = columns[0]
        if len(parts) > 1:
            record, step, wall, value = (np.concatenate(c) for c in zip(*columns, strict=True))
            order = np.argsort(record, kind="stable")
            record, step, wall, value = record[order], step[order], wall[order], value[order]
        if is_old:
            record = np.arange(len(step))
            restarts = _Restarts.of_steps(step, int(series.step[-1]) if len(series) else None)
            restarts.purge_series(series)
        mask = restarts.keep(record, step)
        if mask.all():
            series.add(step, wall, value)
        else:
            series.add(step[mask], wall[mask], value[mask])

    def _add_item(self, run: Run, item: Item) -> None:
        items = run.items.setdefault(item.tag, [])
        if run.version < 2 and items and item.step < items[-1].step:
            items[:] = [former for former in items if former.step < item.step]
        items.append(item)
        run.seen[item.tag] = run.seen.get(item.tag, 0) + 1
        if self._max_items is not None and len(items) > 2 * self._max_items:
            indices = np.linspace(0, len(items) - 1, self._max_items).astype(int)
            run.items[item.tag] = [items[i] for i in indices]


def _runs(logdir: str) -> Iterator[tuple[str, str, list[str]]]:
    """Yields the name, the folder and the event files (in order) of each run below a folder. A single file is a run by
    itself.
    """
    if os.path.isfile(logdir):
        yield ".", os.path.dirname(logdir), [os.path.basename(logdir)]
        return
    for folder, folders, files in os.walk(logdir):
        folders[:] = sorted(f for f in folders if f != ".ipynb_checkpoints")  # folders with Jupyter's copies of files
        events = sorted(f for f in files if "tfevents" in f)
        if events:
            yield Path(folder).relative_to(logdir).as_posix(), folder, events


def _is_float(tensor: TensorProto) -> bool:
    """Is it a float of any width without dimensions? Such tensors are points of a curve, whoever has written them."""
    return tensor.dtype in _FLOATS and not tensor.tensor_shape.dim


def _number(tensor: TensorProto) -> float | None:
    """Returns the value of a TensorProto with one element of a numeric dtype; None for any other tensor."""
    if any(dim.size != 1 for dim in tensor.tensor_shape.dim):
        return None
    try:
        return float(decode_array(tensor).item())
    except (OpError, TypeError, ValueError):  # the tensor is malformed or has strings
        return None


def _version(text: str) -> float:
    """The version of a format such as "brain.Event:2"; that of today where it cannot be read."""
    number = text.rpartition(":")[2]
    return float(number) if number.isascii() and number.isdigit() else 2.0


class Event(Message, Protocol):
    """An event of a log, which has one of the fields and some others."""

    summary: Any
    tagged_run_metadata: Any


def _contents(event: Event, plugins: dict[str, str]) -> Iterator[tuple[str, str, float | None]]:
    """Yields (tag, kind, value) for the contents of an event: a value for a scalar, a kind for what is no plain scalar.

    plugins: TensorBoard's plugin of each tag, to which those that the event tells are added.
    """
    field_name = event.WhichOneof("what")
    if field_name == "summary":
        for value in event.summary.value:
            tag = value.tag or value.node_name
            if value.HasField("metadata") and (name := value.metadata.plugin_data.plugin_name):
                plugins[tag] = name
            if value.HasField("simple_value"):
                yield tag, "", value.simple_value
                continue
            plugin = plugins.get(tag, "")
            is_plain = value.HasField("tensor") and not plugin and _is_float(value.tensor)
            is_scalar = is_plain or (plugin == "scalars" and value.HasField("tensor"))
            number = _number(value.tensor) if is_scalar else None
            kind = "" if is_plain and number is not None else _kind(value, plugin)
            if kind or number is not None:
                yield tag, kind, number
    elif field_name == "tagged_run_metadata":
        yield event.tagged_run_metadata.tag, "run_metadata", None
    elif field_name in ("graph_def", "meta_graph_def", "session_log", "log_message"):
        yield "", field_name.removesuffix("_def").replace("log_message", "message"), None


def _kind(value: Message, plugin: str) -> str:
    """Returns the kind of a summary value, such as "image" or "histogram"; empty for a scalar.

    plugin: TensorBoard's plugin for the tensors of the tag; empty for none.
    """
    field_name = value.WhichOneof("value")
    if field_name == "tensor":
        return {"images": "image", "histograms": "histogram"}.get(plugin, plugin) or "tensor"
    return {"histo": "histogram", "simple_value": ""}.get(field_name or "", field_name or "")
