"""Colocation groups: which operations must share a device (white paper, section 4.3).

Union-find over the names of operations. State joins whoever holds a reference or handle of it; `colocate_with` joins;
a loop variable's Enter, Merge and NextIteration join. Invariant: the groups of state are those of the whole graph, so
that every step of a session finds a variable where the step before left it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from tfnb.ir.device_spec import DeviceSpec
from tfnb.ir.opdef import Kind, ref_inputs
from tfnb.ir.operation import Operation
from tfnb.ir.step_graph.graph import Edge, Graph, Node
from tfnb.types import TensorSpec, resource, variant

__all__ = ["StateGroups", "Union", "is_state", "join_graph", "makes_state", "state_groups"]

_PASSING = (Kind.SWITCH, Kind.MERGE, Kind.ENTER, Kind.EXIT, Kind.NEXT_ITERATION)


H = TypeVar("H", bound=Hashable)


class Union(Generic[H]):
    """Disjoint sets of hashable things."""

    def __init__(self) -> None:
        self._parent: dict[H, H] = {}

    def find(self, x: H) -> H:
        """Stands for the set that `x` is in."""
        parent = self._parent
        root = x
        while (above := parent.get(root, root)) != root:
            root = above
        while x != root:
            parent[x], x = root, parent.get(x, x)
        return root

    def join(self, a: H, b: H) -> None:
        """What stood for the set of `a` stands for both."""
        self._parent[self.find(b)] = self.find(a)


def is_handle(spec: TensorSpec) -> bool:
    """A value that stands for state of the device it was made on."""
    return spec.dtype in (resource, variant)


def is_state(spec: TensorSpec) -> bool:
    """A value that whoever reads it must be beside."""
    return spec.ref or is_handle(spec)


def makes_state(node: Operation | Node) -> bool:
    """Does an operation (or node) make the state that its outputs stand for?"""
    return any(is_state(s) for s in node.specs) and not node.inputs


def _joined(node: Operation | Node, sources: Sequence[tuple[str, TensorSpec]]) -> Iterator[str]:
    """Names of what `node` must stand beside. `sources`: the maker of each input, and what it gives."""
    yield from (c.removeprefix("loc:@") for c in node.colocation)
    refs: frozenset[int] | None = None
    for k, (name, spec) in enumerate(sources):
        if is_handle(spec):
            yield name
        elif spec.ref:
            if refs is None:
                refs = ref_inputs(node.opdef, node.types)
            if k in refs or node.opdef.kind in _PASSING or any(s.ref for s in node.specs):
                yield name


def join_graph(graph: Graph, union: Union[str]) -> None:
    """Joins the names of a step's nodes that must share a device.

    Who only reads a variable, and asks for nothing, stands beside it too: beside the first, when it reads several.
    """
    nodes = graph.nodes
    for node in nodes.values():
        sources = [(nodes[e.id].name, graph.spec(e)) for e in node.inputs]
        for name in _joined(node, sources):
            union.join(name, node.name)
        kind = node.opdef.kind
        if kind is Kind.NEXT_ITERATION or (kind is Kind.ENTER and not node.attrs.is_constant):
            for reader in graph.consumers.get(Edge(node.id, 0), ()):
                union.join(nodes[reader].name, node.name)
    joined = {union.find(n.name) for n in nodes.values() if union.find(n.name) != n.name}
    for node in nodes.values():
        free = not node.device and union.find(node.name) == node.name and node.name not in joined
        read = next((e for e in node.inputs if graph.spec(e).ref), None) if free else None
        if read is not None:
            union.join(nodes[read.id].name, node.name)


@dataclass(frozen=True)
class StateGroups:
    """The groups of a whole user graph that hold state or were colocated.

    `of` maps the names of their members to the name that stands for the group, `wish` that name to what its members
    ask for and by whom, `makers` to the members that make state.
    """

    of: dict[str, str] = field(default_factory=dict)
    wish: dict[str, tuple[DeviceSpec, str]] = field(default_factory=dict)
    makers: dict[str, tuple[str, ...]] = field(default_factory=dict)


def state_groups(operations: Iterable[Operation]) -> StateGroups:
    """From the operations of a user's graph."""
    union = Union[str]()
    joined: set[str] = set()
    shared: dict[tuple[str, str], str] = {}
    for op in operations:
        found = list(_joined(op, [(t.op.name, t.op.specs[t.index]) for t in op.inputs]))
        name = getattr(op.attrs, "shared_name", "") if makes_state(op) else ""
        if name:
            found.append(shared.setdefault((getattr(op.attrs, "container", ""), name), op.name))
        for other in found:
            union.join(other, op.name)
            joined.update((other, op.name))
    groups = StateGroups()
    makers: dict[str, list[str]] = {}
    for op in operations:
        if op.name not in joined and not makes_state(op):
            continue
        root = groups.of[op.name] = union.find(op.name)
        if makes_state(op):
            makers.setdefault(root, []).append(op.name)
        if op.device:
            mine = DeviceSpec.from_string(op.device)
            spec, who = groups.wish.get(root, (mine, op.name))
            groups.wish[root] = spec.merged(mine), who
    groups.makers.update({root: tuple(names) for root, names in makers.items()})
    return groups
