"""The times of steps as columns and lanes: the data of the timeline (white paper, section 9.2, the EEG).

A lane is a queue of a device, a thread of the host, or transfers; events that overlap in it are in different rows.
Times may come from files, so impossible ones are left out, and a note says how many. Invariant: events are in the order
of their begin, no two of a row overlap, and the numbers of events, lanes and rows are limited.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.step_graph.graph import Graph, Node
from tfnb.notebook.protocol.timeline import KINDS, CostRow, EventCard, NodeCard
from tfnb.notebook.traces.lanes import Lane, lay_out
from tfnb.notebook.traces.trace_file import TraceFile, TraceStep
from tfnb.session.chrome_trace import times_of
from tfnb.session.config import NodeStats, RunMetadata
from tfnb.session.recording import Recording, StepAccount, StepRecord, account

__all__ = ["MOST_EVENTS", "Step", "TraceModel", "trace_model"]

MOST_EVENTS = 2_000_000
FARTHEST_US = 1e15  # a later time is impossible: this is some thirty years after the begin
_GRADIENT = re.compile(r"gradients(?:_\d+)?/(.+?)_grad/")
_Given = tuple[float, float, Sequence[NodeStats], Graph | None]


@dataclass(frozen=True)
class Step:
    """A step of the recording; `graph` is the graph that ran, or None if it is unknown."""

    begin_us: float
    wall_us: float
    graph: Graph | None
    account: StepAccount


@dataclass
class TraceModel:
    """`events[i]` began at `start[i]` and ended at `end[i]` (microseconds) in row `row[i]`.

    `label[i]` is its index in `labels`, `kind[i]` its index in KINDS. `notes` say which events are not shown.
    """

    events: list[NodeStats]
    steps: list[Step]
    lanes: list[Lane]
    labels: list[str]
    start: np.ndarray
    end: np.ndarray
    row: np.ndarray
    label: np.ndarray
    kind: np.ndarray
    step: np.ndarray
    notes: list[str]
    graph_nodes: dict[str, Node] = field(default_factory=dict)

    @property
    def span_us(self) -> float:
        """The time from the first begin to the last end."""
        return float(self.end.max()) if len(self.end) else 0.0

    @property
    def account(self) -> list[tuple[str, float]]:
        """The time of all steps in microseconds, by what it was spent on: kernels, and the gaps between them."""
        accounts = [s.account for s in self.steps]
        return [
            ("kernels", sum(a.kernels_us for a in accounts)),
            ("host kernels", sum(a.host_us for a in accounts)),
            ("launching", sum(a.launch_us for a in accounts)),
            ("other", sum(a.other_us for a in accounts)),
        ]

    def table(self) -> list[CostRow]:
        """Returns the cost of kernels and host kernels by label, the most expensive first: number of events,
        microseconds.
        """
        durations = self.end - self.start
        is_kernel = np.isin(self.kind, (KINDS.index("kernel"), KINDS.index("host")))
        total = np.bincount(self.label[is_kernel], durations[is_kernel], len(self.labels))
        count = np.bincount(self.label[is_kernel], minlength=len(self.labels))
        max_durations = np.zeros(len(self.labels))
        np.maximum.at(max_durations, self.label[is_kernel], durations[is_kernel])
        example = {int(self.label[i]): int(i) for i in np.flatnonzero(is_kernel)[::-1]}
        total_time = float(total.sum()) or 1.0
        rows: list[CostRow] = []
        for k in np.argsort(-total, kind="stable").tolist():
            if not count[k]:
                continue
            i = example[k]
            rows.append(
                {
                    "label": k,
                    "name": self.labels[k],
                    "op": self._op(i),
                    "source": self._source(i),
                    "kind": self.events[i].kind,
                    "count": int(count[k]),
                    "total_us": float(total[k]),
                    "mean_us": float(total[k] / count[k]),
                    "max_us": float(max_durations[k]),
                    "share": float(total[k] / total_time),
                }
            )
        return rows

    def _op(self, i: int) -> str:
        t = self.events[i]
        node = self.graph_nodes.get(t.name)
        return str(t.op if node is None else node.type)

    def _source(self, i: int) -> str:
        """Returns the user's line that created the operation of an event; for a gradient, the line of the forward
        operation.
        """
        node = self._forward(self.events[i].name) or self.graph_nodes.get(self.events[i].name)
        return _source_of(node)

    def _forward(self, name: str) -> Node | None:
        """Returns the node whose gradient the node of this name computes (`gradients/NAME_grad/...`); None for
        others.
        """
        match = _GRADIENT.search(name)
        return self.graph_nodes.get(match.group(1)) if match else None

    def card(self, i: int) -> EventCard:
        """Returns the details of an event: op, shapes, bytes, the user's source line."""
        t = self.events[i]
        return {
            "op": self._op(i),
            "kind": t.kind,
            "device": t.device,
            "lane": t.lane,
            "nbytes": t.nbytes,
            "detail": t.detail,
            "woken_by": t.woken_by,
            "nodes": [self._node_card(name) for name in t.nodes[:20]],
            "more": max(len(t.nodes) - 20, 0),
        }

    def _node_card(self, name: str) -> NodeCard:
        node, forward = self.graph_nodes.get(name), self._forward(name)
        return {
            "name": name,
            "op": "" if node is None else node.type,
            "source": _source_of(forward or node),
            "shapes": [] if node is None else [f"{s.dtype.name} {s.shape}" for s in node.specs],
            "gradient_of": "" if forward is None else forward.name,
        }


def _source_of(node: Node | None) -> str:
    return "" if node is None or node.origin is None else str(node.origin)


def trace_model(recording: object) -> TraceModel:
    """Returns the model of a Recording, a trace file, a RunMetadata, its step statistics, or TensorFlow's messages.

    Raises `InvalidArgumentError` for anything else, and if there is no event to show.
    """
    step_data: list[_Given]
    notes: list[str] = []
    if isinstance(recording, Recording | TraceFile):
        steps = _first_steps(recording.steps)
        step_data = [(s.begin_us, s.wall_us, s.times, s.graph) for s in steps]
        if rest := recording.steps[len(steps) :]:
            count = sum(s.n_events for s in rest)
            notes = [f"{count:,} events of {len(rest):,} later steps are left out (the limit is {MOST_EVENTS:,})"]
    else:
        times = times_of(recording)
        wall = recording.wall_us if isinstance(recording, RunMetadata) else 0.0
        wall = wall or max((t.end_us for t in times), default=0.0)
        step_data = [(0.0, wall, times, getattr(recording, "graph", None))] if times else []
    model = _model(step_data)
    if not model.events:
        raise InvalidArgumentError("nothing was recorded: there is no step to show")
    model.notes[:0] = recording.notes if isinstance(recording, Recording | TraceFile) else []
    model.notes += notes
    return model


def _first_steps(steps: Sequence[StepRecord | TraceStep]) -> Sequence[StepRecord | TraceStep]:
    """Returns the steps from the first one on, up to and including the step that reaches MOST_EVENTS events.

    The times of later steps are not computed, which would take minutes.
    """
    remaining = MOST_EVENTS
    for k, step in enumerate(steps):
        if remaining <= 0:
            return steps[:k]
        remaining -= step.n_events
    return steps


def _model(given: list[_Given]) -> TraceModel:
    all_events = [t for _, _, times, _ in given for t in times]
    sizes = [len(times) for _, _, times, _ in given]
    begin = np.repeat(np.array([b for b, _, _, _ in given], np.float64), sizes)
    step = np.repeat(np.arange(len(given), dtype=np.int32), sizes)
    start = begin + np.fromiter((_number(t.start_us) for t in all_events), np.float64, len(all_events))
    end = begin + np.fromiter((_number(t.end_us) for t in all_events), np.float64, len(all_events))
    possible = (np.abs(start) <= FARTHEST_US) & (np.abs(end) <= FARTHEST_US)  # is false for NaN
    end = np.maximum(end, start)
    order = np.lexsort((-end, start))
    order = order[possible[order]]
    notes = []
    if n_impossible := len(all_events) - len(order):
        notes.append(f"{n_impossible:,} events with impossible times are left out")
    if len(order) > MOST_EVENTS:
        notes.append(f"{len(order) - MOST_EVENTS:,} later events are left out (the limit is {MOST_EVENTS:,})")
        order = order[:MOST_EVENTS]
    events = [all_events[i] for i in order]
    zero = min(float(start[order[0]]), 0.0) if len(order) else 0.0
    start, end = start[order] - zero, end[order] - zero
    lanes, row, hidden = lay_out(events, start, end)
    if hidden:
        notes.append(f"{hidden:,} events overlap too much to be drawn, or are in one of too many lanes")
        valid = np.flatnonzero(row >= 0)
        events = [events[i] for i in valid]
        start, end, row, order = start[valid], end[valid], row[valid], order[valid]
    names: dict[str, int] = {}
    label = np.fromiter((names.setdefault(_label(t), len(names)) for t in events), np.int32, len(events))
    kinds = {kind: k for k, kind in enumerate(KINDS)}
    kind = np.fromiter((kinds.get(t.kind, kinds["host"]) for t in events), np.uint8, len(events))
    steps = [_step(b - zero, wall, times, graph, bool(n_impossible)) for b, wall, times, graph in given]
    nodes: dict[str, Node] = {}
    for graph in {id(g): g for _, _, _, g in given if g is not None}.values():
        nodes.update((n.name, n) for n in graph.nodes.values())
    return TraceModel(events, steps, lanes, list(names), start, end, row, label, kind, step[order], notes, nodes)


def _step(begin: float, wall: float, times: Sequence[NodeStats], graph: Graph | None, hostile: bool) -> Step:
    if hostile:
        times = [t for t in times if abs(_number(t.start_us)) <= FARTHEST_US and abs(_number(t.end_us)) <= FARTHEST_US]
        begin, wall = (v if abs(v) <= FARTHEST_US else 0.0 for v in (begin, wall))
    return Step(begin, wall, graph, account(times, wall))


def _number(value: float) -> float:
    """Returns a time as float; NaN if the value from a file is not a number."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _label(t: NodeStats) -> str:
    """Returns the label of an event: a kernel's main node, and how many other nodes it computes."""
    return t.name + (f" +{len(t.nodes) - 1}" if t.kind == "kernel" and len(t.nodes) > 1 else "")
