"""Times of steps as columns and lanes, for drawing: what the timeline shows (white paper, section 9.2, the EEG).

A lane is a queue of a device or a thread of the host; what overlaps in it goes to rows below each other. Invariant:
events are in the order of their begin, and within a row no two overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.notebook.trace_file import TraceFile
from tfnb.session.chrome_trace import times_of
from tfnb.session.config import NodeStats, RunMetadata
from tfnb.session.recording import Recording, StepAccount, account

__all__ = ["KINDS", "Lane", "Step", "TraceModel", "trace_model"]

KINDS = ("kernel", "host", "launch", "compile", "transfer", "schedule", "wait")
_RANK = {"queue": 0, "inline": 1}


@dataclass(frozen=True)
class Lane:
    """`rows` rows from `row` on; `device` and `name` say of what."""

    device: str
    name: str
    row: int
    rows: int


@dataclass(frozen=True)
class Step:
    """A step of the recording; `first` is its first event, `graph` what ran (or None)."""

    begin_us: float
    wall_us: float
    first: int
    count: int
    graph: Any
    account: StepAccount


@dataclass
class TraceModel:
    """`events[i]` began at `start[i]` and ended at `end[i]` (microseconds) in row `row[i]`; `label[i]` is its place in
    `labels`, `kind[i]` in KINDS."""

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
    dropped: int = 0
    graph_nodes: dict[str, Any] = field(default_factory=dict)

    @property
    def span_us(self) -> float:
        """From the first begin to the last end."""
        return float(self.end.max()) if len(self.end) else 0.0

    def table(self) -> list[dict[str, Any]]:
        """What kernels and host kernels cost, the most expensive first: per label, how often, and microseconds."""
        took = self.end - self.start
        own = np.isin(self.kind, (KINDS.index("kernel"), KINDS.index("host")))
        total = np.bincount(self.label[own], took[own], len(self.labels))
        count = np.bincount(self.label[own], minlength=len(self.labels))
        longest = np.zeros(len(self.labels))
        np.maximum.at(longest, self.label[own], took[own])
        example = {int(self.label[i]): int(i) for i in np.flatnonzero(own)[::-1]}
        every = float(total.sum()) or 1.0
        return [
            {"label": int(k), "name": self.labels[k], "op": self._op(example[int(k)]),
             "kind": self.events[example[int(k)]].kind, "count": int(count[k]), "total_us": float(total[k]),
             "mean_us": float(total[k] / count[k]), "max_us": float(longest[k]), "share": float(total[k] / every)}
            for k in np.argsort(-total, kind="stable") if count[k]
        ]  # fmt: skip

    def _op(self, i: int) -> str:
        t = self.events[i]
        node = self.graph_nodes.get(t.name)
        return str(t.op if node is None else node.type)

    def card(self, i: int) -> dict[str, Any]:
        """What is known of an event: op, shapes, bytes, the user's line."""
        t = self.events[i]
        nodes = []
        for name in t.nodes[:20]:
            node = self.graph_nodes.get(name)
            specs = [] if node is None else [f"{s.dtype.name} {s.shape}" for s in node.specs]
            origin = "" if node is None or node.origin is None else str(node.origin)
            nodes.append({"name": name, "op": "" if node is None else node.type, "shapes": specs, "origin": origin})
        return {
            "name": self.labels[self.label[i]], "op": self._op(i), "kind": t.kind, "device": t.device,
            "lane": t.lane, "nbytes": t.nbytes, "detail": t.detail, "woken_by": t.woken_by, "step": int(self.step[i]),
            "nodes": nodes, "more": max(len(t.nodes) - 20, 0), "start_us": float(self.start[i]),
            "took_us": float(t.took_us),
        }  # fmt: skip


def trace_model(found: Any) -> TraceModel:
    """Of a Recording, a TraceFile, a RunMetadata, its step statistics, or TensorFlow's messages.

    Raises `InvalidArgumentError` when there is nothing to show.
    """
    given: list[tuple[float, float, Sequence[NodeStats], Any]]
    if isinstance(found, (Recording, TraceFile)):
        given = [(s.begin_us, s.wall_us, s.times, s.graph) for s in found.steps]
    else:
        times = times_of(found)
        wall = found.wall_us if isinstance(found, RunMetadata) else 0.0
        wall = wall or max((t.end_us for t in times), default=0.0)
        given = [(0.0, wall, times, getattr(found, "graph", None))] if times else []
    if not given:
        raise InvalidArgumentError("nothing was recorded: there is no step to show")
    return _model(given, getattr(found, "dropped", 0))


def _model(given: list[tuple[float, float, Sequence[NodeStats], Any]], dropped: int) -> TraceModel:
    every = [(begin + t.start_us, begin + t.end_us, n, t)
             for n, (begin, _, times, _) in enumerate(given) for t in times]  # fmt: skip
    every.sort(key=lambda e: (e[0], -e[1]))
    events = [e[3] for e in every]
    start = np.array([e[0] for e in every], np.float64)
    end = np.array([e[1] for e in every], np.float64)
    step = np.array([e[2] for e in every], np.int32)
    names: dict[str, int] = {}
    label = np.array([names.setdefault(_label(t), len(names)) for t in events], np.int32)
    kind = np.array([KINDS.index(t.kind) if t.kind in KINDS else 0 for t in events], np.uint8)
    lanes, row = _lay_out(events, start, end)
    first = np.searchsorted(step, np.arange(len(given))) if (np.diff(step) >= 0).all() else None
    steps = [
        Step(begin, wall, int(first[n]) if first is not None else int(np.argmax(step == n)),
             len(times), graph, account(times, wall))
        for n, (begin, wall, times, graph) in enumerate(given)
    ]  # fmt: skip
    nodes: dict[str, Any] = {}
    for graph in {id(g): g for _, _, _, g in given if g is not None}.values():
        nodes.update((n.name, n) for n in graph.nodes.values())
    return TraceModel(events, steps, lanes, list(names), start, end, row, label, kind, step, dropped, nodes)


def _label(t: NodeStats) -> str:
    """What an event is called: a kernel's main node, and how many others it computes with it."""
    return t.name + (f" +{len(t.nodes) - 1}" if t.kind == "kernel" and len(t.nodes) > 1 else "")


def _lay_out(events: Sequence[NodeStats], start: np.ndarray, end: np.ndarray) -> tuple[list[Lane], np.ndarray]:
    members: dict[tuple[str, str], list[int]] = {}
    for i, t in enumerate(events):
        members.setdefault((t.device, t.lane), []).append(i)

    def place(key: tuple[str, str]) -> tuple[Any, ...]:
        device, lane = key
        return device == "host", device, _RANK.get(lane, 2), lane != "MainThread", lane

    row = np.zeros(len(events), np.int32)
    lanes = []
    top = 0
    for key in sorted(members, key=place):
        mine = np.array(members[key])
        rows = _stack(start[mine], end[mine])
        row[mine] = rows + top
        lanes.append(Lane(*key, top, int(rows.max()) + 1))
        top += lanes[-1].rows
    return lanes, row


def _stack(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The row of each interval, given by start: the first in which it overlaps nothing."""
    if (start[1:] >= end[:-1]).all():
        return np.zeros(len(start), np.int32)
    free: list[float] = []
    rows = np.zeros(len(start), np.int32)
    for i, (a, b) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        k = next((k for k, until in enumerate(free) if until <= a), len(free))
        if k == len(free):
            free.append(b)
        else:
            free[k] = b
        rows[i] = k
    return rows
