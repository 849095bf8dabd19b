"""The event that each event of a trace waited for, and the critical path: the chain of such waits that ends a step.

An event waited for the one that ended last among those it needs: the producers of its inputs, the event before it on
its queue or thread, the launch that enqueued it, or the thread that woke it. Invariant: an event ends after the event
that it waited for, so every chain ends.
"""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from tfnb.notebook.traces.lanes import host_beside, is_host, is_sent, lane_to, task_of
from tfnb.notebook.traces.model import TraceModel
from tfnb.session.config import NodeStats

__all__ = ["MOST", "causes", "critical_path"]

MOST = 100_000  # the number of events whose causes are computed; later events of a long recording have none
_SLACK = 3.0  # microseconds, since two lanes may have two clocks


def causes(model: TraceModel) -> np.ndarray:
    """Returns, for each event, the index of the event that it waited for, or -1."""
    return _Causes(model).all()


def critical_path(model: TraceModel, cause: np.ndarray) -> np.ndarray:
    """Returns an array that is True for the events on the critical path of their step."""
    critical = np.zeros(len(model.events), bool)
    last: dict[int, int] = {}
    for i in range(min(len(model.events), MOST)):
        n = int(model.step[i])
        # Waits and launches are left out, because they enclose the events that they belong to.
        if model.events[i].kind not in ("wait", "launch") and (n not in last or model.end[i] >= model.end[last[n]]):
            last[n] = i
    for n, at in last.items():
        i = at
        while i >= 0 and model.step[i] == n and not critical[i]:
            critical[i] = True
            i = int(cause[i])
    return critical


class _Causes:
    def __init__(self, model: TraceModel) -> None:
        self.model = model
        self.start: list[float] = model.start.tolist()
        self.end: list[float] = model.end.tolist()
        self.step: list[int] = model.step.tolist()
        self.lanes: dict[tuple[str, str], list[int]] = {}  # events so far, in the order of their start
        self.named: dict[tuple[int, str], int] = {}  # (step, node) -> the last event that computed it
        self.launches: dict[tuple[int, str], list[int]] = {}  # (step, host) -> launches
        self.carried: dict[tuple[int, str, str], int] = {}  # (step, lane, node) -> the last transfer of its tensor
        self.sent: dict[tuple[int, str], list[int]] = {}  # (step, lane) -> transfers to a task, by start
        self.hosts = frozenset(t.device for t in model.events if is_host(t.device))
        self.producers: dict[tuple[int, tuple[str, ...]], tuple[str, ...]] = {}

    def all(self) -> np.ndarray:
        events = self.model.events
        cause = np.full(len(events), -1, np.int32)
        deferred = []
        for i, t in enumerate(events[:MOST]):
            if t.kind == "wait":
                deferred.append(i)
            else:
                cause[i] = self._latest(i, self._before(i, t))
            self.lanes.setdefault((t.device, t.lane), []).append(i)
            if t.kind == "launch":
                self.launches.setdefault((self.step[i], t.device), []).append(i)
            for name in t.nodes:
                self.named[self.step[i], name] = i
            if is_sent(t):
                self.carried[self.step[i], t.lane, _node_of(t.name)] = i
                self.sent.setdefault((self.step[i], t.lane), []).append(i)
        for i in deferred:
            cause[i] = self._latest(i, self._ended(i, events[i]))
        return cause

    def _latest(self, i: int, candidates: list[int]) -> int:
        earlier = [c for c in candidates if c != i and self.end[c] < self.end[i]]
        return max(earlier, key=lambda c: self.end[c], default=-1)

    def _before(self, i: int, t: NodeStats) -> list[int]:
        """Returns the events that a kernel or a host operation may have waited for."""
        step = self.step[i]
        lane_events = self.lanes.get((t.device, t.lane), ())
        candidates = [c for c in lane_events[-1:] if self.step[c] == step and self.end[c] <= self.start[i] + _SLACK]
        names, lane = self._producers(i, t), lane_to(task_of(t.device))
        if is_sent(t):  # other tensors may be transferred at the same time
            candidates, names, lane = [], (_node_of(t.name),), ""
        for name in names:
            for c in (self.named.get((step, name)), self.carried.get((step, lane, name))):
                if c is not None and self.end[c] <= self.start[i] + _SLACK:
                    candidates.append(c)
        if not candidates:
            launches = self.launches.get((step, host_beside(t.device, self.hosts)), ())
            begun_launches = [c for c in launches if self.start[c] <= self.start[i] + _SLACK]
            if t.kind == "kernel" and begun_launches:
                return self._launch(begun_launches[-1], i)
            candidates = [c for c in reversed(lane_events) if self.end[c] <= self.start[i]][:1]
        return candidates

    def _launch(self, launch: int, i: int) -> list[int]:
        """Returns the launch that enqueued a kernel, if it ended before the kernel; otherwise the event before that
        launch.
        """
        if self.end[launch] < self.end[i]:
            return [launch]
        t = self.model.events[launch]
        return [c for c in self.lanes[t.device, t.lane] if self.end[c] <= self.start[i] and c != launch][-1:]

    def _producers(self, i: int, t: NodeStats) -> tuple[str, ...]:
        """Returns the names of the nodes whose values the nodes of an event read, except for the nodes of the event."""
        graph = self.model.steps[self.step[i]].graph
        if graph is None or not t.nodes:
            return ()
        producer_names = self.producers.get((id(graph), t.nodes))
        if producer_names is None:
            members = set(t.nodes)
            nodes = [self.model.graph_nodes[n] for n in t.nodes if n in self.model.graph_nodes]
            ids = {e.id for node in nodes for e in node.inputs} | {c for node in nodes for c in node.control}
            names = (graph.nodes[k].name for k in sorted(ids) if k in graph.nodes)
            producer_names = self.producers[id(graph), t.nodes] = tuple(n for n in names if n not in members)
        return producer_names

    def _ended(self, i: int, t: NodeStats) -> list[int]:
        """Returns the events that may have ended a wait."""
        if t.woken_by:
            lane = self.lanes.get((host_beside(t.device, self.hosts), t.woken_by), [])
            at = bisect_right(lane, self.end[i], key=lambda c: self.start[c])
            host_events = [c for c in lane[max(at - 8, 0) : at] if self.model.events[c].kind in ("host", "launch")]
            return host_events[-1:] or self._arrived(i, t)
        label = t.name.removeprefix("wait for ")
        for (device, _), lane in self.lanes.items():
            if device.endswith(f"device:{label}") and task_of(t.device) in ("", task_of(device)):
                at = bisect_right(lane, self.end[i], key=lambda c: self.start[c])
                candidates = [c for c in lane[max(at - 4, 0) : at] if self.end[c] <= self.end[i]]
                if candidates:
                    return candidates[-1:]
        c = self.named.get((self.step[i], label))
        return [] if c is None else [c]

    def _arrived(self, i: int, t: NodeStats) -> list[int]:
        """Returns a list of one event, the tensor from another task that arrived last before the end of a wait, or an
        empty list.
        """
        lane = self.sent.get((self.step[i], lane_to(task_of(t.device))), [])
        at = bisect_right(lane, self.end[i], key=lambda c: self.start[c])
        arrivals = [c for c in lane[max(at - 32, 0) : at] if self.end[c] <= self.end[i]]
        return [max(arrivals, key=lambda c: self.end[c])] if arrivals else []


def _node_of(tensor: str) -> str:
    """Returns the name of the node of a tensor: `w` for `w:0`, and also for `^w`, the message that w has run."""
    name, colon, _ = tensor.rpartition(":")
    return name if colon else tensor.removeprefix("^")
