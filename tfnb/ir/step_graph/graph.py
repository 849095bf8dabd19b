"""The step-side graph: an immutable map id -> Node that compiler passes rewrite (Graph -> Graph).

Identity is by id, since dataflow graphs have names, state, control edges and cycles (NextIteration -> Merge).
Invariant: every input and control edge names a node of the graph; `verify.py` checks the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from tfnb.errors import GraphError, Origin
from tfnb.ir.opdef import Kind, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.step_graph.order import Path, find_cycle, find_paths, topological
from tfnb.ir.tensor import Tensor
from tfnb.types import TensorSpec

__all__ = ["Edge", "Frames", "Graph", "Node", "Path", "graph_from_operations"]


class Edge(NamedTuple):
    """The data edges that start at output `port` of the node `id`."""

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
        """The name of the op."""
        return self.opdef.name

    def __repr__(self) -> str:
        return f"<Node {self.id} {self.name} = {self.type}{tuple(f'{e.id}:{e.port}' for e in self.inputs)}>"


class Frames(NamedTuple):
    """The frames of each node.

    `inside[i]` is the path of the frame in which node i fires, `outside[i]` the path of its outputs' frame; the two
    differ for Enter and Exit. A node that waits for nothing is in the root frame, but constants can be read in any
    frame.
    """

    inside: Mapping[int, Path]
    outside: Mapping[int, Path]


@dataclass(frozen=True, eq=False)
class Graph:
    """A step's graph: `fetches` are the edges whose values it returns, `targets` the nodes that it must run, `feeds`
    the edges whose values it is given."""

    nodes: Mapping[int, Node]
    fetches: tuple[Edge, ...] = ()
    targets: tuple[int, ...] = ()
    feeds: tuple[Edge, ...] = ()
    info: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def consumers(self) -> Mapping[Edge, tuple[int, ...]]:
        """The ids of the nodes that read each edge, by the edge."""
        readers: dict[Edge, list[int]] = {}
        for node in self.nodes.values():
            for e in node.inputs:
                readers.setdefault(e, []).append(node.id)
        return {e: tuple(ids) for e, ids in readers.items()}

    @cached_property
    def order(self) -> tuple[int, ...]:
        """A topological order by data and control edges; edges out of NextIteration nodes do not count.

        Stable: among ready nodes the smaller id comes first. Raises `GraphError` naming a cycle.
        """
        sources = self._sources()
        order, cyclic = topological(sources)
        if cyclic:
            cycle = find_cycle(sources, cyclic)
            names = " -> ".join(self.nodes[i].name for i in (cycle[-1], *cycle))
            raise GraphError(f"the graph has a cycle: {names}")
        return tuple(order)

    @cached_property
    def frames(self) -> Frames:
        """The frames of the nodes."""
        enters = {n.id: str(n.attrs.frame_name) for n in self.nodes.values() if n.opdef.kind is Kind.ENTER}
        if not enters:
            root: Mapping[int, Path] = dict.fromkeys(self.nodes, ())
            return Frames(root, root)
        exits = {n.id for n in self.nodes.values() if n.opdef.kind is Kind.EXIT}
        return Frames(*find_paths(self.order, self._sources(), enters, exits))

    def _sources(self) -> Mapping[int, Collection[int]]:
        """Returns for each node the nodes for which it waits within an iteration: its inputs, except NextIterations."""
        next_iterations = {n.id for n in self.nodes.values() if n.opdef.kind is Kind.NEXT_ITERATION}
        return {n.id: {e.id for e in n.inputs}.union(n.control) - next_iterations for n in self.nodes.values()}

    def spec(self, e: Edge) -> TensorSpec:
        """Returns the dtype and static shape of an edge."""
        return self.nodes[e.id].specs[e.port]


def node_of(op: Operation) -> Node:
    """Returns the step-side node of a user's operation."""
    return Node(
        op.id,
        op.name,
        op.opdef,
        tuple(Edge(t.op.id, t.index) for t in op.inputs),
        tuple(c.id for c in op.control_inputs),
        op.attrs,
        op.types,
        tuple(op.specs),
        op.device,
        op.origin,
        op.colocation,
    )


def graph_from_operations(
    ops: Iterable[Operation],
    fetches: Iterable[Tensor] = (),
    targets: Iterable[Operation] = (),
    feeds: Iterable[Tensor] = (),
) -> Graph:
    """Returns the step-side graph of some operations; fetches and feeds are tensors, targets operations."""
    return Graph(
        {op.id: node_of(op) for op in ops},
        tuple(Edge(t.op.id, t.index) for t in fetches),
        tuple(op.id for op in targets),
        tuple(Edge(t.op.id, t.index) for t in feeds),
    )
