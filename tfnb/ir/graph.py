"""The step-side graph: an immutable map id -> Node that compiler passes rewrite (Graph -> Graph).

Identity is by id, since dataflow graphs have names, state, control edges and cycles (NextIteration -> Merge).
Invariant: every input and control edge names a node of the graph; `verify.py` checks the rest.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from tfnb.errors import GraphError, Origin
from tfnb.ir.opdef import Kind, OpDef
from tfnb.types import TensorSpec

__all__ = ["Edge", "Graph", "Node", "graph_from_operations"]


class Edge(NamedTuple):
    """Output `port` of node `id`."""

    id: int
    port: int


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A node of a step's graph. Ids of user nodes are the ids of their operations; passes add larger ones."""

    id: int
    name: str
    opdef: OpDef
    inputs: tuple[Edge, ...]
    control: tuple[int, ...]
    attrs: Any
    types: Mapping[str, Any]
    specs: tuple[TensorSpec, ...]
    device: str = ""
    origin: Origin | None = None
    colocation: tuple[str, ...] = ()

    @property
    def type(self) -> str:
        return self.opdef.name

    def __repr__(self) -> str:
        return f"<Node {self.id} {self.name} = {self.type}{tuple(f'{e.id}:{e.port}' for e in self.inputs)}>"


@dataclass(frozen=True, eq=False)
class Graph:
    """`fetches` are the edges a step wants, `targets` the nodes it must run, `feeds` the edges it is given."""

    nodes: Mapping[int, Node]
    fetches: tuple[Edge, ...] = ()
    targets: tuple[int, ...] = ()
    feeds: tuple[Edge, ...] = ()
    info: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def consumers(self) -> Mapping[Edge, tuple[int, ...]]:
        """Edge -> ids of the nodes that read it."""
        found: dict[Edge, list[int]] = {}
        for node in self.nodes.values():
            for e in node.inputs:
                found.setdefault(e, []).append(node.id)
        return {e: tuple(ids) for e, ids in found.items()}

    @cached_property
    def order(self) -> tuple[int, ...]:
        """A topological order by data and control edges; edges out of NextIteration nodes do not count.

        Stable: among ready nodes the smaller id comes first. Raises `GraphError` naming a cycle.
        """
        return _topological(self.nodes)

    def spec(self, e: Edge) -> TensorSpec:
        return self.nodes[e.id].specs[e.port]


def _topological(nodes: Mapping[int, Node]) -> tuple[int, ...]:
    ready: list[int] = []
    pending: dict[int, int] = {}
    out: dict[int, list[int]] = {}
    for node in nodes.values():
        before = {e.id for e in node.inputs} | set(node.control)
        before = {b for b in before if nodes[b].opdef.kind is not Kind.NEXT_ITERATION}
        pending[node.id] = len(before)
        for b in before:
            out.setdefault(b, []).append(node.id)
        if not before:
            ready.append(node.id)
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        i = heapq.heappop(ready)
        order.append(i)
        for j in out.get(i, ()):
            pending[j] -= 1
            if pending[j] == 0:
                heapq.heappush(ready, j)
    if len(order) < len(nodes):
        stuck = {i for i, n in pending.items() if n > 0}
        raise GraphError("the graph has a cycle: " + " -> ".join(nodes[i].name for i in find_cycle(nodes, stuck)))
    return tuple(order)


def find_cycle(nodes: Mapping[int, Node], stuck: set[int]) -> list[int]:
    """One cycle among nodes that all have a predecessor in `stuck`."""
    path: list[int] = []
    at: dict[int, int] = {}
    i = min(stuck)
    while i not in at:
        at[i] = len(path)
        path.append(i)
        before = [e.id for e in nodes[i].inputs] + list(nodes[i].control)
        i = next(b for b in before if b in stuck and nodes[b].opdef.kind is not Kind.NEXT_ITERATION)
    return [*path[at[i] :], i][::-1]


def node_of(op: Any) -> Node:
    """The step-side node of a user's operation."""
    return Node(
        op.id, op.name, op.opdef, tuple(Edge(t.op.id, t.index) for t in op.inputs),
        tuple(c.id for c in op.control_inputs), op.attrs, op.types, tuple(op.specs),
        op.device, op.origin, op.colocation,
    )  # fmt: skip


def graph_from_operations(
    ops: Iterable[Any], fetches: Iterable[Any] = (), targets: Iterable[Any] = (), feeds: Iterable[Any] = ()
) -> Graph:
    """The step-side graph of some operations; fetches and feeds are tensors, targets operations."""
    return Graph(
        {op.id: node_of(op) for op in ops},
        tuple(Edge(t.op.id, t.index) for t in fetches),
        tuple(op.id for op in targets),
        tuple(Edge(t.op.id, t.index) for t in feeds),
    )
