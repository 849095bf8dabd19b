"""The static order of a plan in which nothing is decided at run time: no branches, no loops (OSDI'16, section 3.3).

Some nodes finish later than the call that starts them: a Recv, an asynchronous kernel, a host kernel that may run in
the pool. All nodes that need the outputs of the same set of such nodes form a *segment*. A segment runs from its first
node to its last without waiting, and it may run as soon as the nodes of its set have finished, in whichever order they
do. A plan without such nodes is a single segment. Invariant: every node is in exactly one segment, and every value is
dropped right after its last reader.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from operator import itemgetter
from typing import Any, NamedTuple

from tfnb.runtime.frames import Ready
from tfnb.runtime.plan import Plan, PlanKind
from tfnb.runtime.stats import StepStats
from tfnb.runtime.values import Value

__all__ = ["Run", "Segment", "Stage", "StaticOrder"]

Run = Callable[[Sequence[Value], "StepStats | None"], Sequence[Value]]
"""Runs a kernel that has its outputs when the call returns."""

_SEND, _RECV, _LAST_EXTERNAL = PlanKind.SEND, PlanKind.RECV, PlanKind.RECV


class Stage(NamedTuple):
    """One node with a kernel. `run` is None if a call of the kernel is not enough; then `Step.start` runs the node.

    `pick` selects the inputs, in order, from the list of all registers. The outputs go to the registers from `begin` to
    `end`. No later node reads the registers in `free`.
    """

    node: int
    run: Run | None
    pick: Callable[[Sequence[Any]], Sequence[Any]]
    begin: int
    end: int
    free: tuple[int, ...]


class Segment(NamedTuple):
    """Nodes that run one after the other. When the segment may run, the registers in `free` have no readers any more.

    `opens` are the segments that wait for this one.
    """

    stages: tuple[Stage, ...]
    free: tuple[int, ...]
    opens: tuple[int, ...]


class StaticOrder:
    """The segments of a plan; `later` are the nodes that finish later than the call that starts them.

    Each output of a node has a register. The registers of the feeds come first, in order; `blank` has the initial
    values of the others. `first[node]` is the register of a node's first output, and `inputs[node]` selects the inputs
    of a node from the list of all registers. `segments[0]` waits for nothing. `pending[i]` is the number of nodes in
    `later` and of segments for which segment `i` waits, and `opens[node]` are the segments that wait for a node in
    `later`. `first_recvs` are the Recvs without inputs. A run begins with them, and they are in no segment.
    """

    def __init__(self, plan: Plan, runs: Sequence[Run | None], later: Collection[int]) -> None:
        self._plan = plan
        self._later = frozenset(later)
        self._fetched = {source for source, _ in plan.fetches}
        self.first, n_registers = _number_outputs(plan)
        self.blank = (None,) * (n_registers - len(plan.feeds))
        self.pick_fetches = _picker([self.first[node] + slot for node, slot in plan.fetches])
        self.ranges = [(i, i + n.n_outputs) for i, n in zip(self.first, plan.nodes, strict=True)]
        recvs = [n for n, kind in enumerate(plan.kinds) if kind == _RECV and not self._sources(n)]
        self.first_recvs = tuple(Ready(n, (), False) for n in recvs)
        self.inputs = [_picker([self.first[source] + slot for source, slot in n.inputs]) for n in plan.nodes]
        self._needs = self._find_needs()
        self._numbers: dict[int, int] = {0: 0}  # set of nodes in `later`, as bits -> number of its segment
        for node in plan.order:
            self._numbers.setdefault(self._needs[node], len(self._numbers))
        self.segment_of = tuple(self._numbers[needs] for needs in self._needs)
        uses = self._find_last_uses()
        self._link(uses)
        self._build(runs, uses)

    def _find_needs(self) -> list[int]:
        """For each node the nodes in `later` whose outputs it needs, directly or indirectly, as the bits of an int."""
        bits = {node: 1 << i for i, node in enumerate(sorted(self._later))}
        needs = [0] * len(self._plan.nodes)
        for node in self._plan.order:
            for source in self._sources(node):
                needs[node] |= needs[source] | bits.get(source, 0)
        return needs

    def _sources(self, node: int) -> tuple[int, ...]:
        plan_node = self._plan.nodes[node]
        return (*(source for source, _ in plan_node.inputs), *plan_node.control)

    def _find_last_uses(self) -> dict[int, tuple[int, list[int]]]:
        """For each node whose outputs are read and not fetched, the segment that reads them last, and the readers.

        If it is not certain which of the readers' segments is the last, the result is the segment that needs everything
        that the readers need. This segment is added, without nodes, if it does not exist.
        """
        readers: dict[int, list[int]] = {}
        for node in self._plan.order:
            for source, _ in self._plan.nodes[node].inputs:
                readers.setdefault(source, []).append(node)
        uses = {}
        for source, nodes in readers.items():
            if source not in self._fetched:
                needs = 0
                for node in nodes:
                    needs |= self._needs[node]
                uses[source] = self._numbers.setdefault(needs, len(self._numbers)), nodes
        return uses

    def _link(self, uses: Mapping[int, tuple[int, list[int]]]) -> None:
        """Finds the nodes and segments for which each segment waits."""
        n = len(self._numbers)
        awaited_segments: list[set[int]] = [set() for _ in range(n)]  # segments
        awaited_nodes: list[set[int]] = [set() for _ in range(n)]  # nodes in `later`
        for node, segment in enumerate(self.segment_of):
            for source in self._sources(node):
                if source in self._later:
                    awaited_nodes[segment].add(source)
                else:
                    awaited_segments[segment].add(self.segment_of[source])
        for last_segment, nodes in uses.values():
            awaited_segments[last_segment].update(self.segment_of[node] for node in nodes)
        for segment in range(n):
            awaited_segments[segment].discard(segment)
        self.pending = tuple(len(awaited_segments[i]) + len(awaited_nodes[i]) for i in range(n))
        self.opens: dict[int, list[int]] = {node: [] for node in self._later}
        self._opened_by: list[list[int]] = [[] for _ in range(n)]
        for segment in range(n):
            for node in awaited_nodes[segment]:
                self.opens[node].append(segment)
            for other in awaited_segments[segment]:
                self._opened_by[other].append(segment)

    def _build(self, runs: Sequence[Run | None], uses: Mapping[int, tuple[int, list[int]]]) -> None:
        plan = self._plan
        first_recvs = {ready.node for ready in self.first_recvs}
        members: list[list[int]] = [[] for _ in self._numbers]
        for node in plan.order:
            if plan.kinds[node] <= _LAST_EXTERNAL and node not in first_recvs:
                members[self.segment_of[node]].append(node)
        free_at: dict[int, list[int]] = {}  # by the node that is the last reader
        free_before: list[list[int]] = [[] for _ in members]  # by the segment before which all readers have run
        place = {node: i for nodes in members for i, node in enumerate(nodes)}
        for source, (last_segment, readers) in uses.items():
            last_readers = [node for node in readers if self.segment_of[node] == last_segment]
            if last_readers:
                free_at.setdefault(max(last_readers, key=place.__getitem__), []).append(source)
            else:
                free_before[last_segment].append(source)
        for node in place:
            if node not in uses and node not in self._fetched and node not in self._later:
                free_at.setdefault(node, []).append(node)  # it has no readers
        self.segments = tuple(
            Segment(
                tuple(self._stage(node, runs[node], free_at.get(node, ())) for node in nodes),
                self._registers(free_before[i]),
                tuple(self._opened_by[i]),
            )
            for i, nodes in enumerate(members)
        )

    def _stage(self, node: int, run: Run | None, free: Sequence[int]) -> Stage:
        return Stage(node, run, self.inputs[node], *self.ranges[node], self._registers(free))

    def _registers(self, nodes: Sequence[int]) -> tuple[int, ...]:
        """The registers of all outputs of these nodes."""
        return tuple(self.first[node] + slot for node in nodes for slot in range(self._plan.nodes[node].n_outputs))

    @cached_property
    def _readers(self) -> list[list[int]]:
        """For each node the nodes that wait for it."""
        readers: list[list[int]] = [[] for _ in self._plan.nodes]
        for node in self._plan.order:
            for source in self._sources(node):
                readers[source].append(node)
        return readers

    def behind(self, node: int) -> set[int]:
        """The nodes that are dead if `node` is dead.

        A dead node makes its readers dead. Sends and Recvs are exceptions: their readers become dead only if a dead
        token was received.
        """
        dead: set[int] = set()
        stack = [node]
        while stack:
            for reader in self._readers[stack.pop()]:
                if reader not in dead:
                    dead.add(reader)
                    if self._plan.kinds[reader] not in (_SEND, _RECV):
                        stack.append(reader)
        return dead


def _number_outputs(plan: Plan) -> tuple[list[int], int]:
    """The register of each node's first output, and the number of registers."""
    first_registers = [0] * len(plan.nodes)
    for i, node in enumerate(plan.feeds):
        first_registers[node] = i
    n_registers = len(plan.feeds)
    for i, plan_node in enumerate(plan.nodes):
        if plan_node.kind != PlanKind.FEED:
            first_registers[i] = n_registers
            n_registers += plan_node.n_outputs
    return first_registers, n_registers


def _picker(places: Sequence[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """A function that selects the items at these places of a list, without a loop in Python."""
    if len(places) > 1:
        return itemgetter(*places)
    return itemgetter(slice(places[0], places[0] + 1) if places else slice(0))
