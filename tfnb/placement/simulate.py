"""Greedy placement by simulation (white paper, section 3.2.1).

The simulation runs nodes in the order in which their inputs are ready. At the first node of a group it compares the
feasible devices: the node begins when the device is free and its inputs have arrived, and its cost gives its end. The
device with the earliest end takes the group. Invariant: a tensor is sent to a device once, however many nodes read it.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence

from tfnb.errors import ResourceExhaustedError
from tfnb.ir.opdef import Kind
from tfnb.ir.step_graph.graph import Edge, Graph, Node
from tfnb.placement.costs import CostModel, nbytes
from tfnb.placement.place import Choice, Group

__all__ = ["Greedy", "Simulation", "simulate"]

_FREE = (Kind.CONST, Kind.PLACEHOLDER)  # they are copied to each reader


class Simulation:
    """The state of a simulated step. Times are microseconds since the step began."""

    def __init__(self, graph: Graph, costs: CostModel) -> None:
        self.graph = graph
        self.costs = costs
        self.begin: dict[int, float] = {}
        self.end: dict[int, float] = {}
        self.device: dict[int, str] = {}
        self.free: dict[str, float] = {}  # when each device is free
        self._there: dict[tuple[Edge, str], float] = {}  # when each tensor has arrived on each device

    def would_begin(self, node: Node, device: str) -> float:
        """Returns the time at which a node could begin on a device."""
        ready = [self._arrival(e, device) for e in node.inputs if e.id in self.end]
        ready += [self.end[c] for c in node.control if c in self.end]
        return max([self.free.get(device, 0.0), *ready])

    def _arrival(self, e: Edge, device: str) -> float:
        source = self.graph.nodes[e.id]
        if source.opdef.kind in _FREE or self.device[e.id] == device:
            return self.end[e.id]
        arrival = self._there.get((e, device))
        return arrival if arrival is not None else self.end[e.id] + self.costs.transfer_us(self.graph.spec(e))

    def run(self, node: Node, device: str) -> None:
        """Runs a node on a device."""
        begin = self.would_begin(node, device)
        for e in node.inputs:
            if e.id in self.end and self.device[e.id] != device and self.graph.nodes[e.id].opdef.kind not in _FREE:
                self._there.setdefault((e, device), self._arrival(e, device))
        cost = self.costs.node_us(self.graph, node)
        self.begin[node.id], self.end[node.id] = begin, begin + cost
        self.device[node.id] = device
        if cost:
            self.free[device] = begin + cost

    @property
    def transfers(self) -> list[tuple[Edge, str]]:
        """The tensors that were sent, each with its destination."""
        return list(self._there)

    @property
    def bytes_sent(self) -> int:
        return sum(nbytes(self.graph.spec(e)) for e, _ in self._there)

    @property
    def total(self) -> float:
        """The duration of the step in microseconds."""
        return max(self.end.values(), default=0.0)


def play(simulation: Simulation, device_of: Callable[[int], str]) -> None:
    """Runs all nodes in the order in which their inputs are ready. Each loop runs one iteration.

    `device_of(node)` is called when the node is about to run.
    """
    graph, end = simulation.graph, simulation.end
    readers: dict[int, list[int]] = {}
    n_missing: dict[int, int] = {}
    ready: list[tuple[float, int]] = []
    for node in graph.nodes.values():
        predecessors = {*(e.id for e in node.inputs), *node.control}
        predecessors = {b for b in predecessors if graph.nodes[b].opdef.kind is not Kind.NEXT_ITERATION}
        for b in predecessors:
            readers.setdefault(b, []).append(node.id)
        n_missing[node.id] = len(predecessors)
        if not predecessors:
            ready.append((0.0, node.id))
    heapq.heapify(ready)
    ready_at = dict.fromkeys(graph.nodes, 0.0)
    while ready:
        _, i = heapq.heappop(ready)
        simulation.run(graph.nodes[i], device_of(i))
        for r in readers.get(i, ()):
            n_missing[r] -= 1
            ready_at[r] = max(ready_at[r], end[i])
            if not n_missing[r]:
                heapq.heappush(ready, (ready_at[r], r))


def simulate(graph: Graph, device_of: Mapping[int, str], costs: CostModel) -> Simulation:
    """Simulates a placed step."""
    simulation = Simulation(graph, costs)
    play(simulation, device_of.__getitem__)
    return simulation


class _Memory:
    """The bytes of variables on each device, and the limits; a limit of 0 means that there is none."""

    def __init__(self, limits: Mapping[str, int]) -> None:
        self.limits = limits
        self.used: dict[str, int] = {}

    def fits(self, device: str, size: int) -> bool:
        limit = self.limits.get(device, 0)
        return not (size and limit and self.used.get(device, 0) + size > limit)


class Greedy:
    """The policy that places each group on the device on which its first node would end first.

    `limits` holds the bytes of memory of each device; 0, or no entry, means that there is no limit.
    """

    def __init__(self, costs: CostModel, limits: Mapping[str, int] | None = None) -> None:
        self.costs = costs
        self.limits = limits or {}

    def __call__(self, graph: Graph, groups: Sequence[Group], devices: Sequence[str]) -> list[Choice]:
        """Chooses a device for each group.

        Raises `ResourceExhaustedError` if the variables of a group fit on no device.
        """
        group_of = {n.id: k for k, g in enumerate(groups) for n in g.nodes}
        choices: dict[int, Choice] = {}
        simulation, memory = Simulation(graph, self.costs), _Memory(self.limits)

        def device_of(i: int) -> str:
            k = group_of[i]
            if k not in choices:
                choices[k] = self._choose(graph.nodes[i], groups[k], simulation, memory)
            return choices[k].device

        play(simulation, device_of)
        return [choices[k] for k in range(len(groups))]

    def _choose(self, node: Node, group: Group, simulation: Simulation, memory: _Memory) -> Choice:
        size = sum(nbytes(n.specs[0]) for n in group.nodes if n.opdef.kind is Kind.VARIABLE)
        feasible = (group.pinned,) if group.pinned else group.feasible
        candidates = [d for d in feasible if group.pinned or memory.fits(d, size)]
        if not candidates:
            raise ResourceExhaustedError(
                f"{size:,} bytes of variables fit on none of {list(feasible)}: "
                f"{ {d: memory.limits.get(d, 0) - memory.used.get(d, 0) for d in feasible} } bytes are left",
                node,
            )
        cost = self.costs.node_us(simulation.graph, node)
        ends = {d: simulation.would_begin(node, d) + cost for d in candidates}
        # If ends are equal, as for a variable, which costs nothing, the device with the least memory in use is taken.
        best = min(candidates, key=lambda d: (ends[d], memory.used.get(d, 0) if size else 0, candidates.index(d)))
        memory.used[best] = memory.used.get(best, 0) + size
        other_ends = ", ".join(f"{_short(d)} {ends[d]:.0f}" for d in candidates if d != best)
        reason = f"{node.name} would end there at {ends[best]:.0f} us" + (f" ({other_ends})" if other_ends else "")
        full_devices = [_short(d) for d in feasible if d not in candidates]
        if full_devices:
            reason += f"; {', '.join(full_devices)} has no room for {size:,} bytes"
        return Choice(best, reason)


def _short(device: str) -> str:
    return device.rpartition("device:")[2]
