"""Colocation groups: which operations must share a device (white paper, section 4.3).

Union-find over the names of operations. An operation that creates state shares a group with all that hold a reference
or handle of it; so do operations that `colocate_with` names, and Enter, Merge and NextIteration of a loop variable.
Invariant: groups with state are derived from the whole graph, so a variable is on the same device in every step.
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
    """Disjoint sets (union-find) of hashable elements."""

    def __init__(self) -> None:
        self._parent: dict[H, H] = {}

    def find(self, x: H) -> H:
        """Returns the representative of the set that contains `x`."""
        parent = self._parent
        root = x
        while (next_parent := parent.get(root, root)) != root:
            root = next_parent
        while x != root:
            parent[x], x = root, parent.get(x, x)
        return root

    def join(self, a: H, b: H) -> None:
        """Unites the sets of `a` and `b`; the representative of the set of `a` becomes that of the union."""
        self._parent[self.find(b)] = self.find(a)


def is_handle(spec: TensorSpec) -> bool:
    """Returns whether a value is a handle of state that is on one device."""
    return spec.dtype in (resource, variant)


def is_state(spec: TensorSpec) -> bool:
    """Returns whether a value is a reference or handle, whose readers must be on its device."""
    return spec.ref or is_handle(spec)


def makes_state(node: Operation | Node) -> bool:
    """Returns whether an operation or node creates the state that its outputs refer to."""
    return any(is_state(s) for s in node.specs) and not node.inputs


def _joined(node: Operation | Node, sources: Sequence[tuple[str, TensorSpec]]) -> Iterator[str]:
    """Returns the names of the operations that must be on the device of `node`.

    `sources` holds, for each input, the name of the operation that produces it, and its dtype and shape.
    """
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

    A node that only reads variables and has no device of its own is joined too, with the first variable that it reads.
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
    joined_names = {union.find(n.name) for n in nodes.values() if union.find(n.name) != n.name}
    for node in nodes.values():
        is_free = not node.device and union.find(node.name) == node.name and node.name not in joined_names
        reference = next((e for e in node.inputs if graph.spec(e).ref), None) if is_free else None
        if reference is not None:
            union.join(nodes[reference.id].name, node.name)


@dataclass(frozen=True)
class StateGroups:
    """The groups of a whole user graph that hold state or were colocated by the user.

    `of` maps the name of each member to the name that represents its group. `wish` maps a representative to the device
    that its members request and the name of the member that requests it, `makers` to the members that create state.
    """

    of: dict[str, str] = field(default_factory=dict)
    wish: dict[str, tuple[DeviceSpec, str]] = field(default_factory=dict)
    makers: dict[str, tuple[str, ...]] = field(default_factory=dict)


def state_groups(operations: Iterable[Operation]) -> StateGroups:
    """Returns the groups of the operations of a user's graph."""
    union = Union[str]()
    joined_names: set[str] = set()
    first_sharer: dict[tuple[str, str], str] = {}
    for op in operations:
        related = list(_joined(op, [(t.op.name, t.op.specs[t.index]) for t in op.inputs]))
        shared_name = getattr(op.attrs, "shared_name", "") if makes_state(op) else ""
        if shared_name:
            related.append(first_sharer.setdefault((getattr(op.attrs, "container", ""), shared_name), op.name))
        for name in related:
            union.join(name, op.name)
            joined_names.update((name, op.name))
    groups = StateGroups()
    makers: dict[str, list[str]] = {}
    for op in operations:
        if op.name not in joined_names and not makes_state(op):
            continue
        root = groups.of[op.name] = union.find(op.name)
        if makes_state(op):
            makers.setdefault(root, []).append(op.name)
        if op.device:
            spec = DeviceSpec.from_string(op.device)
            wish, requester = groups.wish.get(root, (spec, op.name))
            groups.wish[root] = wish.merged(spec), requester
    groups.makers.update({root: tuple(names) for root, names in makers.items()})
    return groups
