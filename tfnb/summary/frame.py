"""The scalars of all runs below a folder as one table.

Invariant: all columns have one length; rows are sorted by run and tag, and then by their order in the files.
"""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from tfnb.errors import DataLossError, NotFoundError
from tfnb.ir.graphdef.message import as_message
from tfnb.summary.reader import LogReader, Run
from tfnb.summary.scan import records
from tfnb.system.files import os_errors

__all__ = ["API", "EventTable", "read_events", "summary_iterator"]

_COLUMNS = ("run", "tag", "step", "wall_time", "value")


class EventTable:
    """The scalars of several runs, with the columns run, tag (str), step (int64), wall_time and value (float64).

    `table["value"]` is a column as a NumPy array, `table.series(run, tag)` one curve, `table.to_pandas()` a DataFrame.
    `table.runs[name].items` has the contents of a run that are not scalars.
    """

    columns = _COLUMNS

    def __init__(self, runs: dict[str, Run]) -> None:
        self.runs = runs
        curves = [(r.name, tag, s) for r in runs.values() for tag, s in sorted(r.scalars.items())]
        curves.sort(key=lambda c: c[:2])
        sizes = np.array([len(s) for _, _, s in curves], np.int64)
        self._names = [np.array([c[k] for c in curves], object) for k in (0, 1)]
        self._which = np.repeat(np.arange(len(curves)), sizes)
        self._numbers = {
            name: np.concatenate([getattr(s, name) for _, _, s in curves]) if curves else np.empty(0, kind)
            for name, kind in (("step", np.int64), ("wall_time", np.float64), ("value", np.float64))
        }

    def __getitem__(self, column: str) -> np.ndarray:
        if column in self._numbers:
            return self._numbers[column]
        if column not in _COLUMNS:
            raise NotFoundError(f"no column is named {column!r}; there are {', '.join(_COLUMNS)}")
        names = self._names[_COLUMNS.index(column)]
        return names[self._which] if len(names) else np.empty(0, object)

    def __len__(self) -> int:
        return len(self._which)

    @property
    def tags(self) -> list[str]:
        """The sorted tags of all scalars."""
        return sorted({t for r in self.runs.values() for t in r.scalars})

    @property
    def skipped(self) -> int:
        """The number of damaged records that were skipped."""
        return sum(r.skipped for r in self.runs.values())

    def series(self, run: str, tag: str) -> dict[str, np.ndarray]:
        """Returns the arrays "step", "wall_time" and "value" of one curve as a dict. Raises `NotFoundError` for an
        unknown run or tag.
        """
        run_table = self.runs.get(run)
        if run_table is None or tag not in run_table.scalars:
            raise NotFoundError(f"there is no scalar {tag!r} in a run {run!r}")
        s = run_table.scalars[tag]
        return {"step": s.step, "wall_time": s.wall_time, "value": s.value}

    def to_pandas(self) -> Any:
        """Returns the table as a DataFrame with categorical runs and tags."""
        pandas = importlib.import_module("pandas")  # which takes longer to import than tfnb itself
        frame = pandas.DataFrame({c: self._numbers[c] for c in _COLUMNS[2:]})
        for k, name in enumerate(_COLUMNS[:2]):
            values, codes = np.unique(self._names[k].astype(str), return_inverse=True)
            column = pandas.Categorical.from_codes(codes[self._which], list(values))
            frame.insert(k, name, column)
        return frame

    def __repr__(self) -> str:
        skipped_text = f", {self.skipped} damaged records skipped" if self.skipped else ""
        return f"<EventTable: {len(self)} points of {len(self.tags)} tags in {len(self.runs)} runs{skipped_text}>"


def read_events(logdir: str | bytes | os.PathLike[str], max_points: int | None = None) -> EventTable:
    """Returns the scalars of one event file, or of all event files below a folder. TensorFlow, PyTorch, Keras or tfnb
    may have written them.

    max_points: the approximate number of points that are kept per curve, extremes among them. Damaged records are
    skipped and counted in `table.skipped`. Raises `NotFoundError` when there is no such folder.
    """
    reader = LogReader(logdir, max_points)
    reader.poll()
    return EventTable(reader.runs)


def summary_iterator(path: str | bytes | os.PathLike[str]) -> Iterator[Any]:
    """Yields the Event messages of one file, in order; damaged records are skipped. Raises `NotFoundError`."""
    with os_errors(path), open(path, "rb") as file:
        data = file.read()
    for offset, length in records(data):
        with contextlib.suppress(DataLossError):  # the checksum is right, but the data is not an Event
            yield as_message("event", "Event", data[offset : offset + length])


API: dict[str, Any] = {"read_events": read_events, "train.summary_iterator": summary_iterator}
