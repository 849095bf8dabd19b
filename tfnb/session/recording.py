"""A recording: the times of every step that a session runs inside a block (white paper, section 9.2, the EEG).

Steps store tuples, which are converted to NodeStats when they are read. Invariant: kernels of one queue do not overlap,
because a queue runs them one after the other, so kernels and the gaps between them add up to the duration of the step.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tfnb.ir.step_graph.graph import Graph
from tfnb.placement.costs import CostModel
from tfnb.runtime.stats import HOST, KERNEL, StepStats
from tfnb.session.config import NodeStats, RunMetadata, RunOptions, StepTimes

__all__ = ["Recording", "StepAccount", "StepRecord", "Trace", "account", "step_times", "traced"]


def step_times(stats: StepStats, graph: Graph) -> StepTimes:
    """The times that the recorder of a step has noted, with the names of the nodes in `graph`."""
    nodes = graph.nodes
    free: dict[tuple[str, str], float] = {}  # the time from which each queue is free
    times = StepTimes()
    for t in stats.in_order():
        known_nodes = [nodes[i] for i in t.nodes if i in nodes]
        start, end = t.start_us, t.end_us
        if t.kind == KERNEL:
            # The clocks of host and device are aligned once for each cluster, to one or two microseconds.
            start = max(start, free.get((t.device, t.lane), 0.0))
            end = free[t.device, t.lane] = max(end, start)
        op = known_nodes[-1].type if known_nodes else ""
        names = tuple(n.name for n in known_nodes)
        times.append(
            NodeStats(t.label, op, t.device, start, end, t.nbytes, names, t.kind, t.lane, t.detail, t.woken_by)
        )
    return times


@dataclass(frozen=True)
class StepAccount:
    """How a step spent its time, in microseconds: `kernels_us` while a queue ran a kernel, `gaps_us` otherwise.

    `wall_us` is their sum, up to the alignment of clocks. The gaps consist of `host_us` for host kernels, `launch_us`
    for binding, enqueuing and compiling, and `other_us` for the rest (the executor, waiting, Python).
    """

    wall_us: float
    kernels_us: float
    gaps_us: float
    host_us: float
    launch_us: float

    @property
    def other_us(self) -> float:
        """The microseconds of the gaps that neither host kernels nor launches explain, at least 0."""
        return max(self.gaps_us - self.host_us - self.launch_us, 0.0)


def account(times: Iterable[NodeStats], wall_us: float) -> StepAccount:
    """The account of one step."""
    events = list(times)
    kernels = _merged((t.start_us, t.end_us) for t in events if t.kind == KERNEL)
    gaps, gap_start = [], 0.0
    for start, end in kernels:
        gaps.append((gap_start, start))
        gap_start = end
    gaps.append((gap_start, wall_us))
    gaps = [(a, b) for a, b in gaps if b > a]
    host = _merged((t.start_us, t.end_us) for t in events if t.kind == "host")
    launch = _merged((t.start_us, t.end_us) for t in events if t.kind in ("launch", "compile"))
    busy = sum(b - a for a, b in kernels)
    return StepAccount(wall_us, busy, sum(b - a for a, b in gaps), _shared(gaps, host), _shared(gaps, launch))


def _merged(intervals: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """The union of intervals, as a sorted list of disjoint ones."""
    merged: list[tuple[float, float]] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((start, end))
    return merged


def _shared(a: list[tuple[float, float]], b: list[tuple[float, float]]) -> float:
    """The length of the intersection of two sorted lists of disjoint intervals."""
    i = j = 0
    total = 0.0
    while i < len(a) and j < len(b):
        total += max(min(a[i][1], b[j][1]) - max(a[i][0], b[j][0]), 0.0)
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return total


class StepRecord:
    """One recorded step of `graph`. It began `begin_us` microseconds after the recording and took `wall_us`
    microseconds."""

    def __init__(self, number: int, begin_us: float, stats: StepStats, graph: Graph) -> None:
        self.number = number
        self.begin_us = begin_us
        self.wall_us = stats.wall_us
        self.graph = graph
        self._stats = stats

    @property
    def n_events(self) -> int:
        """The number of elements of `times`, without computing them."""
        return len(self._stats.times)

    @cached_property
    def times(self) -> StepTimes:
        """The events of the step."""
        return step_times(self._stats, self.graph)

    @property
    def account(self) -> StepAccount:
        """How the step spent its time."""
        return account(self.times, self.wall_us)


class Recording:
    """The steps that a session ran during a recording, in the order of their begin; see `tf.profile`.

    It keeps about `limit` events at most; `dropped` counts the steps after that.
    """

    def __init__(self, limit: int = 1_000_000) -> None:
        self.limit = limit
        self.dropped = 0
        self._recorded: list[tuple[StepStats, Any]] = []
        self._events = 0

    @property
    def takes_more(self) -> bool:
        """Whether the next step will be recorded. Each access after the limit counts one dropped step."""
        if self._events < self.limit:
            return True
        self.dropped += 1
        return False

    def add(self, stats: StepStats, graph: Graph) -> None:
        """Adds a step that has ended."""
        self._events += len(stats.times)
        self._recorded.append((stats, graph))

    @property
    def steps(self) -> list[StepRecord]:
        """The steps that have ended so far."""
        records = self._records
        if len(records) < len(self._recorded):
            self._recorded.sort(key=lambda f: f[0].begin)
            zero = self._recorded[0][0].begin
            records[:] = [
                StepRecord(i, (s.begin - zero) * 1e6, s, graph) for i, (s, graph) in enumerate(self._recorded)
            ]
        return list(records)

    @cached_property
    def _records(self) -> list[StepRecord]:
        return []

    @property
    def notes(self) -> list[str]:
        """A sentence for each thing that the recording does not contain."""
        return [f"{self.dropped:,} later steps were not recorded (limit of tf.profile)"] if self.dropped else []

    def __len__(self) -> int:
        return len(self._recorded)

    def __repr__(self) -> str:
        steps = self.steps
        if not steps:
            return "<Recording: no steps yet>"
        accounts = [s.account for s in steps[-100:]]
        wall = sum(a.wall_us for a in accounts) or 1.0
        kernels = sum(a.kernels_us for a in accounts)
        lost = f", {self.dropped:,} more were dropped" if self.dropped else ""
        return (
            f"<Recording: {len(steps):,} steps of {wall / len(accounts) / 1e3:.3f} ms, "
            f"{self._events:,} events, kernels ran {kernels / wall:.0%} of the time{lost}>"
        )


class Trace:
    """The recorder of one step, and the objects that receive its times.

    These are the metadata of the run, the recording of the session, or both. None stands for an unused one.
    """

    def __init__(self, metadata: RunMetadata | None, recording: Recording | None) -> None:
        self.recorder = StepStats()
        self._metadata, self._recording = metadata, recording

    def keep(self, graph: Graph, costs: CostModel) -> None:
        """Stores the times of a step of `graph` that has ended. With metadata of a run, `costs` is updated too."""
        recorder, metadata = self.recorder, self._metadata
        recorder.close()
        if self._recording is not None:
            self._recording.add(recorder, graph)
        if metadata is not None:
            costs.learn(graph, ((t.nodes, t.end_us - t.start_us) for t in recorder.in_order(KERNEL, HOST)))
            metadata.step_stats = step_times(recorder, graph)
            metadata.wall_us, metadata.graph = recorder.wall_us, graph


def traced(options: RunOptions | None, metadata: RunMetadata | None, recording: Recording | None) -> Trace | None:
    """The trace of a step, or None if neither its options nor a recording of the session require one."""
    step_metadata = metadata if options is not None and options.trace_level > 0 else None
    active_recording = recording if recording is not None and recording.takes_more else None
    return None if step_metadata is None and active_recording is None else Trace(step_metadata, active_recording)
