"""The state of a viewer: the catalogue of runs and tags, the wanted content, and which of it has changed since it was
sent.

It has no widget and no thread: `View` calls it and sends. Invariant: a run keeps its number, so the browser's content
stays valid when runs are added.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.notebook.protocol.viewer import (
    KINDS,
    Catalogue,
    Content,
    HyperParameters,
    Kind,
    ParameterTable,
)
from tfnb.notebook.viewer.content import content_of, scalars_of
from tfnb.notebook.viewer.parameters import (
    NOT_OF_THE_MODEL,
    hyper_parameters,
    model_and_others,
    parameter_rows,
    variables_of_graph,
    variables_of_run,
)
from tfnb.notebook.viewer.sources import GraphSource, Source
from tfnb.summary.frame import EventTable
from tfnb.summary.item import LoadedEvent
from tfnb.summary.reader import Run
from tfnb.summary.sampling import thinned

__all__ = ["AppendedPoints", "ViewState", "Wanted"]

# The runs that are shown until the user selects others, and the charts on the first page.
FIRST_RUNS, FIRST_TAGS = 40, 12
MOST_TAGS, MOST_NAME = 48, 400
MOST_METRICS = 8  # the number of columns of newest values beside hyper-parameters
# The numbers of points in one message, and the least and the largest number per curve.
POINTS, FEWEST, MOST = 24_000, 40, 1_000
# A curve of which the browser has more points is sent as a whole again, which downsamples it.
MOST_HELD = 2 * MOST
# New points are downsampled to the resolution of a chart: this many over its whole width.
ACROSS, FEWEST_NEW = 800, 5
# Kinds that are shown elsewhere, or mean nothing to a reader.
NOT_LISTED = frozenset({*KINDS, "graph", "meta_graph", "run_metadata", "session_log", "message", "hparams", "scalars"})


@dataclass(frozen=True)
class Wanted:
    """The content that the browser shows: tags of one kind, and the numbers of the runs (None: the first ones)."""

    kind: Kind = "scalar"
    tags: tuple[str, ...] | None = None
    runs: frozenset[int] | None = None

    @staticmethod
    def from_message(message: object) -> Wanted:
        """Returns the content that a message of the browser asks for; malformed fields count as absent."""
        fields = message if isinstance(message, dict) else {}
        kind: Kind = next((kind for kind in KINDS if kind == fields.get("kind")), "scalar")
        tags, runs = fields.get("tags"), fields.get("runs")
        return Wanted(
            kind,
            tuple(str(t) for t in tags[:MOST_TAGS]) if isinstance(tags, list) else None,
            frozenset(r for r in runs if isinstance(r, int)) if isinstance(runs, list) else None,
        )


@dataclass(frozen=True)
class AppendedPoints:
    """New points of curves whose earlier points the browser has.

    `tags`: their tags. `curves`: for each curve the index of its tag, its run, the total that the browser has, the new
    total, and the number of new points that are drawn. `numbers`: for each curve steps, times, values of these
    (float64). `every`: for each curve all new values, for smoothing, and the places of the drawn ones among them.
    """

    tags: list[str]
    curves: list[tuple[int, int, int, int, int]]
    numbers: bytes
    every: bytes


@dataclass(frozen=True, slots=True)
class _Held:
    """The browser's points of a curve: the number of purges, of all points before downsampling, and of points."""

    purges: int
    total: int
    points: int


class ViewState:
    """Some sources, which are polled together. One thread at a time may use it."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = list(sources)
        self.names: list[str] = []
        self._numbers: dict[tuple[int, str], int] = {}
        self.runs: list[Run] = []
        self.tags: dict[Kind, list[str]] = {kind: [] for kind in KINDS}
        self._catalogue: Catalogue | None = None
        self._form: Any = None
        self._others: list[str] = []  # kinds that have no tab
        self._sent: dict[tuple[str, str], Any] = {}
        self._held: dict[tuple[str, int], _Held] = {}  # by tag and run
        self.poll()

    def poll(self) -> bool:
        """Polls each source, and returns whether any of them has changed."""
        changed = (
            sum(source.poll() for source in self.sources) > 0
        )  # the sum polls every source, `any` would stop early
        for k, source in enumerate(self.sources):
            for name, run in source.runs.items():
                if (k, name) not in self._numbers:
                    self._numbers[k, name] = len(self.runs)
                    self.runs.append(run)
                    self.names.append(_another(name[:MOST_NAME], self.names))
        return changed

    # ---- catalogue -------------------------------------------------------------------------------

    def catalogue(self) -> Catalogue:
        """Returns the names of runs and tags, parameters and notes; the same object as before if nothing has
        changed.
        """
        form = self._form_now()
        if form != self._form or self._catalogue is None:
            self._form = form
            tags_of: dict[Kind, set[str]] = {kind: set() for kind in KINDS}
            for run in self.runs:
                tags_of["scalar"].update(run.scalars)
                for tag, items in run.items.items():
                    for kind in {i.kind for i in items}:
                        if kind in tags_of:
                            tags_of[kind].add(tag)
            self.tags = {kind: sorted(tags) for kind, tags in tags_of.items()}
            kinds = {i.kind for run in self.runs for items in run.items.values() for i in items}
            self._others = sorted(kinds - NOT_LISTED)
            self._catalogue = {
                "runs": list(self.names),
                "tags": self.tags,
                "first_runs": FIRST_RUNS,
                "parameters": self._parameters(),
                "hparams": self._hyper_parameters(),
                "notes": self._notes(),
            }
        return self._catalogue

    def _form_now(self) -> tuple[tuple[tuple[int, int, int], ...], tuple[int, ...], list[str]]:
        sizes = tuple((len(r.scalars), len(r.items), len(r.items.get("", ()))) for r in self.runs)
        graphs = tuple(len(s.graph.get_operations()) for s in self.sources if isinstance(s, GraphSource))
        return sizes, graphs, self._notes()

    def _notes(self) -> list[str]:
        notes = [s.trouble[:MOST_NAME] for s in self.sources if s.trouble]
        skipped = sum(run.skipped for run in self.runs)
        if skipped:
            notes.append(f"{skipped:,} damaged records were skipped")
        if self._others:
            notes.append(f"not shown here: {', '.join(self._others)[:MOST_NAME]}")
        return notes

    def _parameters(self) -> list[ParameterTable]:
        found = [(s.name, variables_of_graph(s.graph)) for s in self.sources if isinstance(s, GraphSource)]
        for name, run in zip(self.names[:FIRST_RUNS], self.runs[:FIRST_RUNS], strict=True):
            found.append((name, variables_of_run(run)))
        tables: list[ParameterTable] = []
        for name, variables in found:
            model, others = model_and_others(variables)
            if model:
                tables.append({"name": name, "rows": parameter_rows(model)})
            if others:
                tables.append({"name": f"{name}: {NOT_OF_THE_MODEL}", "rows": parameter_rows(others)})
        return tables

    def _hyper_parameters(self) -> list[HyperParameters]:
        out: list[HyperParameters] = []
        for name, run in zip(self.names, self.runs, strict=True):
            values = hyper_parameters(run)
            if values:
                out.append({"run": name, "values": values, "metrics": self._newest(run)})
        return out

    def _newest(self, run: Run) -> dict[str, str]:
        return {
            tag: f"{run.scalars[tag].value[-1]:.6g}"
            for tag in self.tags["scalar"][:MOST_METRICS]
            if tag in run.scalars and len(run.scalars[tag])
        }

    # ---- content ---------------------------------------------------------------------------------

    def shown(self, wanted: Wanted) -> list[tuple[int, Run]]:
        """Returns the chosen runs with their numbers."""
        if wanted.runs is None:
            return list(enumerate(self.runs[:FIRST_RUNS]))
        return [(n, run) for n, run in enumerate(self.runs) if n in wanted.runs]

    def contents(self, wanted: Wanted, all_of_them: bool, most: int = MOST) -> list[Content]:
        """Returns the content of the wanted tags: all of it, or only what has changed since the last call.

        most: the largest number of points of a curve.
        """
        shown_runs, tags = self.shown(wanted), self._tags(wanted)
        if wanted.kind == "scalar":
            curves = sum(t in run.scalars for t in tags for _, run in shown_runs)
            most = min(max(POINTS // max(curves, 1), FEWEST), most)
        out: list[Content] = []
        event = LoadedEvent()
        for tag in tags:
            version = self._version(wanted.kind, tag, shown_runs)
            if all_of_them or self._sent.get((wanted.kind, tag)) != version:
                self._sent[wanted.kind, tag] = version
                if wanted.kind == "scalar":
                    out.append(scalars_of(tag, shown_runs, most))
                    for n, run in shown_runs:
                        if (series := run.scalars.get(tag)) is not None:
                            self._held[tag, n] = _Held(series.purges, series.total, min(len(series), most))
                else:
                    out.append(content_of(wanted.kind, tag, shown_runs, event))
        return out

    def _tags(self, wanted: Wanted) -> list[str]:
        all_tags = self.tags[wanted.kind]
        tag_set = set(all_tags)
        return [t for t in (all_tags[:FIRST_TAGS] if wanted.tags is None else wanted.tags) if t in tag_set]

    def appended_points(self, wanted: Wanted) -> AppendedPoints | None:
        """Returns the points added to the wanted scalars since they were sent; None if `contents` must send them as a
        whole.
        """
        if wanted.kind != "scalar":
            return None
        shown_runs, tags = self.shown(wanted), self._tags(wanted)
        curves: list[tuple[int, int, int, int, int]] = []
        numbers: list[np.ndarray] = []
        every: list[np.ndarray] = []
        updated: dict[tuple[str, int], _Held] = {}
        for k, tag in enumerate(tags):
            for n, run in shown_runs:
                series = run.scalars.get(tag)
                if series is None:
                    continue
                previous = self._held.get((tag, n))
                if previous is None or previous.purges != series.purges:
                    return None
                if previous.total == series.total:
                    continue
                new = series.since(previous.total)
                if new is None:
                    return None
                indices = thinned(new[2], max(ACROSS * len(new[0]) // series.total, FEWEST_NEW))
                if previous.points + len(indices) > MOST_HELD:
                    return None
                numbers += [column[indices] for column in new]
                every += [new[2], indices]
                curves.append((k, n, previous.total, series.total, len(indices)))
                updated[tag, n] = _Held(previous.purges, series.total, previous.points + len(indices))
        self._held.update(updated)
        for tag in {tag for tag, _ in updated}:
            self._sent["scalar", tag] = self._version("scalar", tag, shown_runs)
        return AppendedPoints(tags, curves, _packed(numbers), _packed(every))

    def _version(self, kind: str, tag: str, shown: Iterable[tuple[int, Run]]) -> Any:
        if kind == "scalar":
            return tuple((n, s.total, len(s)) for n, r in shown if (s := r.scalars.get(tag)) is not None)
        return tuple((n, len(i), i[-1].step, i[-1].wall_time) for n, r in shown if (i := r.items.get(tag)))

    def table(self, numbers: Iterable[int] | None = None) -> EventTable:
        """Returns the scalars of all runs, or of those with these numbers, under the names of the viewer.

        Raises `InvalidArgumentError` for an unknown number.
        """
        run_numbers = range(len(self.runs)) if numbers is None else sorted(numbers)
        unknown = [n for n in run_numbers if not 0 <= n < len(self.runs)]
        if unknown:
            raise InvalidArgumentError(f"there is no run of the number {unknown[0]}, only 0 to {len(self.runs) - 1}")
        renamed_runs = {}
        for n in run_numbers:
            run = self.runs[n]
            renamed_runs[self.names[n]] = Run(self.names[n], run.path, run.scalars, run.items)
        return EventTable(renamed_runs)

    def sentence(self) -> str:
        """Returns one line: the numbers of runs, tags and points."""
        points = sum(s.total for r in self.runs for s in r.scalars.values())
        counts = [_counted(len(self.tags[k]), f"{k} tag") for k in KINDS if self.tags[k]]
        tags = ", ".join(counts) or "no tags yet"
        return f"{_counted(len(self.runs), 'run')}, {tags}, {_counted(points, 'point')}"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _packed(columns: Sequence[np.ndarray]) -> bytes:
    return np.concatenate(columns, dtype=np.float64).tobytes() if columns else b""


def _another(name: str, taken: Sequence[str]) -> str:
    """Returns the name, with a number appended if a run of that name exists."""
    if name not in taken:
        return name
    return next(f"{name} ({k})" for k in range(2, len(taken) + 3) if f"{name} ({k})" not in taken)
