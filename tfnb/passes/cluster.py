"""Clustering: which nodes run together as one straight-line device program.

Each node has a level: a device node is one level above every host or control-flow node for which it waits, so a path
that leaves a cluster never returns to it. Nodes with the same level, device and control context (the frames and
branches that contain them) form a cluster. Invariant: apart from loops, clusters and single nodes form an acyclic
graph.

What is in a cluster needs no decisions while it runs: no control flow, nothing asynchronous, no shapes that only a run
can tell. A variable that several clusters read one after the other would be copied, so its readers come together in the
last of these clusters where that is possible. What the host needs and can compute itself is left to the host
(`host_indices.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tfnb.errors import GraphError
from tfnb.ir.const import foldable
from tfnb.ir.opdef import Kind
from tfnb.ir.scalar.host import host_kernel
from tfnb.ir.step_graph.cluster import Cluster
from tfnb.ir.step_graph.contexts import contexts
from tfnb.ir.step_graph.graph import Edge, Graph, Node
from tfnb.passes.counters import counters
from tfnb.passes.host_indices import host_indices
from tfnb.passes.partial import fed_parts

__all__ = ["Clustered", "Grouping", "cluster", "grouping", "root_variable"]

_FREE = (Kind.CONST, Kind.PLACEHOLDER, Kind.VARIABLE)
_MOST_DERIVED = 4096  # elements of a value that is computed when a cluster is specialised
_MOST_ROUNDS = 4  # a bound for large graphs; what moves in one round can have other readers follow in the next


@dataclass(frozen=True, eq=False)
class Clustered:
    """A graph with its `clusters`, and the ids of its `singles` (host, async and control-flow nodes).

    `member` maps the id of a device node to the index of its cluster. `waits` holds, for each cluster, the ids of the
    nodes outside from which its members have control edges or whose reference they use. `counters` are the singles
    that compute scalars of loops or indices on the host although a device could compute them.
    """

    graph: Graph
    clusters: tuple[Cluster, ...]
    singles: tuple[int, ...]
    member: Mapping[int, int]
    waits: tuple[tuple[int, ...], ...]
    counters: frozenset[int] = frozenset()


def root_variable(graph: Graph, e: Edge) -> int:
    """Returns the Variable node whose memory a reference edge names."""
    node = graph.nodes[e.id]
    while node.opdef.kind is not Kind.VARIABLE:
        e = node.inputs[node.opdef.writes[0] if node.opdef.writes else 0]
        node = graph.nodes[e.id]
    return node.id


def waited_for(graph: Graph, node: Node) -> tuple[int, ...]:
    """Returns the ids of the nodes for which a node waits without reading them.

    A constant is part of its readers, so each reader, and what waits for it, waits for what the constant waits for.
    """
    constants = [e.id for e in node.inputs if graph.nodes[e.id].opdef.kind is Kind.CONST]
    ids = dict.fromkeys(node.control)
    pending = [*constants, *ids]
    while pending:
        source = graph.nodes[pending.pop()]
        if source.opdef.kind is Kind.CONST:
            pending += [c for c in source.control if c not in ids]
            ids.update(dict.fromkeys(source.control))
    return tuple(ids)


@dataclass(frozen=True, eq=False)
class Grouping:
    """The properties of nodes that decide which may share a cluster, derived from a step before it is partitioned.

    By node id: `level`, control `context`, and in `parts` the partial feeds that a node needs; `counters` are the ids
    of the nodes that compute scalars of loops and indices on the host.
    """

    level: Mapping[int, int]
    context: Mapping[int, Any]
    counters: frozenset[int]
    parts: Mapping[int, frozenset[int]]


def grouping(graph: Graph) -> Grouping:
    """Returns the grouping of a whole step.

    One partition alone does not show through which other devices its nodes depend on each other.
    """
    levels = _Levels(graph)
    return Grouping(_delayed(graph, levels), levels.context, levels.counters, fed_parts(graph))


def cluster(graph: Graph, known: Grouping | None = None) -> Clustered:
    """Groups the device nodes of a pruned, expanded graph, or of a partition of it, into clusters.

    For a partition, `known` is the grouping of the whole step.
    """
    known = known or grouping(graph)
    groups: dict[Any, list[int]] = {}
    for i in graph.order:
        node = graph.nodes[i]
        if i not in known.counters and _on_device(graph, node):
            key = (known.level[i], node.device, known.context[i], known.parts.get(i))
            groups.setdefault(key, []).append(i)
    _add_fetched_variables(graph, groups)
    keys = sorted(groups, key=lambda k: (k[0], groups[k][0]))
    member = {i: c for c, k in enumerate(keys) for i in groups[k] if graph.nodes[i].opdef.kind is not Kind.VARIABLE}
    results = [_make(graph, c, groups[k], member) for c, k in enumerate(keys)]
    singles = tuple(i for i in graph.order if i not in member and graph.nodes[i].opdef.kind not in _FREE)
    clusters, waits = tuple(c for c, _ in results), tuple(w for _, w in results)
    return Clustered(graph, clusters, singles, member, waits, known.counters & frozenset(singles))


def _on_device(graph: Graph, node: Node) -> bool:
    """Returns whether the node is computed on its device, in a cluster."""
    op = node.opdef
    if op.kind is not Kind.COMPUTE or not op.has_kernel or op.dynamic:
        return False
    dtypes = [s.dtype for s in node.specs] + [graph.spec(e).dtype for e in node.inputs]
    return all(d.cl and d not in op.host_dtypes for d in dtypes)


class _Levels:
    """The level and control context of each node, and whether a device computes it."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.level: dict[int, int] = {}
        self.context = contexts(graph)
        self.counters = counters(graph, self.context)
        self._on_device = {i: _on_device(graph, node) for i, node in graph.nodes.items()}
        self.counters |= host_indices(graph, lambda node: self.on_device(node.id))
        self._derivable: dict[int, bool] = {}
        self._frames: dict[str, int] = {}  # the highest level of a loop's Enters
        rounds = 0
        while True:
            rounds += 1
            if rounds > 2 * len(self._frames) + 4:  # each round determines the levels of at least one loop
                latest_frame = max(self._frames, key=lambda name: self._frames[name])
                raise GraphError(f"something enters the loop {latest_frame!r} that waits for what leaves it")
            frames = dict(self._frames)
            self.level.clear()
            for i in graph.order:
                self.level[i] = self._find(graph.nodes[i])
            if self._frames == frames:
                break

    def on_device(self, i: int) -> bool:
        return self._on_device[i] and i not in self.counters

    def _find(self, node: Node) -> int:
        return self._exit_level(node, self.least(node, self.level))

    def least(self, node: Node, levels: Mapping[int, int]) -> int:
        """Returns the lowest level that the node may have when the nodes for which it waits have these `levels`."""
        if node.opdef.kind in _FREE:
            return 0
        device = self.on_device(node.id)
        level = 0
        for n, e in enumerate(node.inputs):
            source = self.graph.nodes[e.id]
            if source.opdef.kind is Kind.NEXT_ITERATION:
                continue  # the edge that closes a loop
            is_cut = device and n in node.opdef.shape_inputs and not self.derivable(source.id)
            level = max(level, self._after(source, node, device, is_cut, levels))
        for c in waited_for(self.graph, node):
            if c in levels:
                level = max(level, self._after(self.graph.nodes[c], node, device, False, levels))
        return level

    def _exit_level(self, node: Node, level: int) -> int:
        """Returns the level of an Exit, which depends on every Enter of its loop."""
        if node.opdef.kind is Kind.ENTER:
            name = node.attrs.frame_name
            self._frames[name] = max(level, self._frames.get(name, 0))
        elif node.opdef.kind is Kind.EXIT and (path := self.graph.frames.inside[node.id]):
            level = max(level, self._frames.get(path[-1], 0))
        return level

    def _after(self, before: Node, node: Node, device: bool, cut: bool, levels: Mapping[int, int]) -> int:
        level = levels[before.id]
        if before.opdef.kind in _FREE:
            return 1 if cut else 0
        if not device:
            return level
        return level + 1 if cut or self._is_apart(before, node) else level

    def needed(self, node: Node, level: int) -> Iterator[tuple[int, int]]:
        """The nodes for which a node on `level` waits, each with the highest level that it may have."""
        device = self.on_device(node.id)
        for n, e in enumerate(node.inputs):
            source = self.graph.nodes[e.id]
            is_cut = n in node.opdef.shape_inputs and not self.derivable(e.id)
            yield e.id, level - (device and (is_cut or self._is_apart(source, node)))
        for c in waited_for(self.graph, node):
            yield c, level - (device and self._is_apart(self.graph.nodes[c], node))

    def _is_apart(self, before: Node, node: Node) -> bool:
        """Returns whether `before` cannot be in the cluster of a node that a device computes."""
        return not self.on_device(before.id) or before.device != node.device

    def derivable(self, i: int) -> bool:
        """Returns whether the value of the node is known when the cluster that contains it is specialised."""
        if i not in self._derivable:
            self._derivable[i] = self._is_derivable(self.graph.nodes[i])
        return self._derivable[i]

    def _is_derivable(self, node: Node) -> bool:
        op = node.opdef
        if op.kind in (Kind.CONST, Kind.PLACEHOLDER) or op.shape_only:
            return True
        if op.kind is Kind.VARIABLE or any(s.ref for s in node.specs):
            return False
        if not self.on_device(node.id):
            return True  # computed earlier, on the host
        if not foldable(op) or host_kernel(op) is None:
            return False
        if any((n := s.shape.num_elements()) is not None and n > _MOST_DERIVED for s in node.specs):
            return False  # data rather than sizes: a cluster for each of its values would be compiled
        return all(self.derivable(e.id) for e in node.inputs)


def _delayed(graph: Graph, levels: _Levels) -> dict[int, int]:
    """Returns the levels, in which a node that depends on variables alone has the level of its first reader.

    Without this, the weights of a model whose input comes from a queue would be read in an earlier cluster of their
    own, and all of them would be copied. Rows of a variable and views move too, since a cluster of nothing else takes
    longer to start than to run. The read of a variable is never moved behind a write that does not wait for it.
    """
    of_variables: set[int] = set()
    for i in graph.order:
        if _needs_only_variables(graph, levels, i, of_variables):
            of_variables.add(i)
    first_write: dict[int, int] = {}
    for i in graph.order:
        if graph.nodes[i].opdef.writes:
            for root in _roots(graph, graph.nodes[i]):
                first_write[root] = min(levels.level[i], first_write.get(root, levels.level[i]))
    delayed = _read_together(graph, levels, of_variables, first_write)
    sizes: set[int] = set()
    for i in graph.order:
        if _is_size(graph, levels, i, sizes):
            sizes.add(i)
    movable = of_variables | sizes | {i for i in graph.order if _is_light(graph, levels, i, of_variables)}
    requested = {e.id for e in graph.fetches} | set(graph.targets)
    latest: dict[int, int] = {}
    for i in reversed(graph.order):
        node = graph.nodes[i]
        if i in movable and i not in requested and i in latest:
            roots = [first_write.get(v, latest[i]) for v in _roots(graph, node)]
            delayed[i] = max(delayed[i], min(latest[i], *roots) if roots else latest[i])
        for source, level in levels.needed(node, delayed[i]):
            if source in movable:
                latest[source] = min(level, latest.get(source, level))
    return delayed


def _read_together(graph: Graph, levels: _Levels, movable: set[int], first_write: Mapping[int, int]) -> dict[int, int]:
    """Returns the levels, in which the readers of a variable have the same level where they can.

    A value that clusters of several levels read must be copied as a whole, even if each of them reads a few rows of
    it. So a reader moves to the level of the last reader before the variable is written, together with what depends
    on it, unless something that stays where it is needs its result earlier. `movable` are the nodes that depend on
    variables alone.
    """
    level = dict(levels.level)
    latest = _latest(graph, levels)
    roots: dict[int, set[int]] = {}
    for i in graph.order:
        if i in movable:
            node = graph.nodes[i]
            roots[i] = {*_roots(graph, node)}.union(*(roots.get(e.id, ()) for e in node.inputs))
    for _ in range(_MOST_ROUNDS):
        last: dict[int, int] = {}
        for i in graph.order:
            if i not in movable and levels.on_device(i):
                for source in {e.id for e in graph.nodes[i].inputs} & movable:
                    last[source] = max(level[i], last.get(source, 0))
        last = {i: min([n, *(first_write.get(v, n) for v in roots[i])]) for i, n in last.items()}
        changed = False
        for i in graph.order:
            if latest[i] <= level[i] or i in movable:
                continue
            together = [last.get(e.id, 0) for e in graph.nodes[i].inputs]
            least = max([levels.least(graph.nodes[i], level), *(n for n in together if n <= latest[i])])
            changed |= least > level[i]
            level[i] = max(level[i], least)
        if not changed:
            break
    return level


def _latest(graph: Graph, levels: _Levels) -> dict[int, int]:
    """Returns the highest level that each node may have, so that the nodes that cannot move may keep theirs.

    These are nodes with an effect or a state, nodes of control flow and in loops, what the caller requests, and
    readers of references.
    """
    requested = {e.id for e in graph.fetches} | set(graph.targets)
    latest: dict[int, int] = {}
    for i in reversed(graph.order):
        node, op = graph.nodes[i], graph.nodes[i].opdef
        is_fixed = op.kind is not Kind.COMPUTE or op.stateful or op.writes or op.start is not None
        if is_fixed or i in requested or graph.frames.inside[i] or any(graph.spec(e).ref for e in node.inputs):
            latest[i] = levels.level[i]
        else:
            latest[i] = max(levels.level[i], latest.get(i, 0))
        for source, level in levels.needed(node, latest[i]):
            latest[source] = min(level, latest.get(source, level))
    return latest


def _needs_only_variables(graph: Graph, levels: _Levels, i: int, others: set[int]) -> bool:
    """Returns whether a node depends on variables and constants alone, so that it may run at any time.

    `others` are the earlier nodes for which that is true.
    """
    node = graph.nodes[i]
    if levels.level[i] or node.opdef.writes or node.opdef.stateful or any(s.ref for s in node.specs):
        return False
    if not node.inputs or waited_for(graph, node) or not levels.on_device(i):
        return False
    sources = (graph.nodes[e.id] for e in node.inputs)
    return all(n.id in others or n.opdef.kind in (Kind.VARIABLE, Kind.CONST) for n in sources)


def _is_light(graph: Graph, levels: _Levels, i: int, of_variables: set[int]) -> bool:
    """Returns whether a node is a view, or takes rows of what depends on variables alone."""
    node, op = graph.nodes[i], graph.nodes[i].opdef
    if not levels.on_device(i) or op.stateful or op.writes or graph.frames.inside[i]:
        return False
    if any(s.ref for s in node.specs) or any(graph.spec(e).ref for e in node.inputs):
        return False
    return op.alias is not None or (op.takes_rows and node.inputs[0].id in of_variables)


def _is_size(graph: Graph, levels: _Levels, i: int, sizes: set[int]) -> bool:
    """Returns whether a node is the shape of a value of the host, or computed from such shapes, the earlier `sizes`."""
    node = graph.nodes[i]
    if not levels.on_device(i) or graph.frames.inside[i] or not foldable(node.opdef):
        return False
    if node.opdef.shape_only:
        return bool(node.inputs) and not levels.on_device(node.inputs[0].id) and not graph.spec(node.inputs[0]).ref
    others = {e.id for e in node.inputs if graph.nodes[e.id].opdef.kind is not Kind.CONST}
    return bool(others) and others <= sizes


def _add_fetched_variables(graph: Graph, groups: dict[Any, list[int]]) -> None:
    """Adds each fetched Variable to the last group whose nodes use it, or else to a group of its own."""
    variables = dict.fromkeys(e.id for e in graph.fetches if graph.nodes[e.id].opdef.kind is Kind.VARIABLE)
    for v in variables:
        users = [k for k, ids in groups.items() if any(v in _roots(graph, graph.nodes[i]) for i in ids)]
        key = max(users, key=lambda k: k[0]) if users else (0, graph.nodes[v].device, frozenset(), None)
        groups.setdefault(key, []).append(v)


def _roots(graph: Graph, node: Node) -> list[int]:
    return [root_variable(graph, e) for e in node.inputs if graph.spec(e).ref]


def _make(graph: Graph, index: int, ids: list[int], member: Mapping[int, int]) -> tuple[Cluster, tuple[int, ...]]:
    inside = set(ids)
    nodes: dict[int, Node] = {}
    inputs: dict[Edge, None] = {}
    waits: dict[int, None] = {}
    variables: dict[int, None] = {}
    for i in ids:
        node = graph.nodes[i]
        if node.opdef.kind is Kind.VARIABLE:
            variables[i] = None
            continue
        refs = []
        for e in node.inputs:
            e, wait = _resolve(graph, e, inside)
            source = graph.nodes[e.id]
            if wait is not None:
                waits[wait] = None
            if source.opdef.kind is Kind.VARIABLE:
                variables[e.id] = None
            elif source.opdef.kind is Kind.CONST:
                nodes[e.id] = replace(source, control=())
            elif e.id not in inside:
                inputs[e] = None
            refs.append(e)
        waited_ids = waited_for(graph, node)
        waits.update(dict.fromkeys(c for c in waited_ids if c not in inside))
        control = tuple(c for c in waited_ids if c in inside)
        nodes[i] = replace(node, inputs=tuple(refs), control=control)
    for v in variables:
        nodes[v] = replace(graph.nodes[v], control=())
    free = [n for i, n in nodes.items() if i not in inside or n.opdef.kind is Kind.VARIABLE]
    ordered = tuple(free + [nodes[i] for i in ids if nodes[i].opdef.kind is not Kind.VARIABLE])
    result = Cluster(
        index,
        _name(graph, ids),
        ordered,
        tuple(inputs),
        _shape_values(nodes, inside),
        tuple(variables),
        tuple(i for i in ids if _is_random(graph.nodes[i])),
        _outputs(graph, ids, inside, member, index),
        graph.nodes[ids[0]].device,
        tuple(graph.spec(e).shape.sizes or () for e in inputs),
    )
    return result, tuple(waits)


def _resolve(graph: Graph, e: Edge, inside: set[int]) -> tuple[Edge, int | None]:
    """Replaces a reference that a node outside the cluster outputs by the variable itself.

    Also returns the id of that node, after which the variable must be read, or None for any other edge.
    """
    if graph.spec(e).ref and e.id not in inside and graph.nodes[e.id].opdef.kind is not Kind.VARIABLE:
        return Edge(root_variable(graph, e), 0), e.id
    return e, None


def _is_random(node: Node) -> bool:
    return node.opdef.stateful and node.opdef.lower is not None


def _name(graph: Graph, ids: Iterable[int]) -> str:
    first = next(iter(ids))
    return f"cluster_{graph.nodes[first].name}"


def _shape_values(nodes: Mapping[int, Node], inside: set[int]) -> tuple[Edge, ...]:
    """Returns the inputs of the cluster whose values determine shapes.

    They are found by walking back from the shape inputs of its nodes.
    """
    edges: dict[Edge, None] = {}
    stack = [n.inputs[k] for n in nodes.values() if n.id in inside for k in n.opdef.shape_inputs if k < len(n.inputs)]
    seen: set[Edge] = set()
    while stack:
        e = stack.pop()
        if e in seen:
            continue
        seen.add(e)
        if e.id not in nodes:
            edges[e] = None
        elif not nodes[e.id].opdef.shape_only:
            stack.extend(nodes[e.id].inputs)
    return tuple(edges)


def _outputs(graph: Graph, ids: list[int], inside: set[int], member: Mapping[int, int], index: int) -> tuple[Edge, ...]:
    fetched_edges = set(graph.fetches)
    outputs: list[Edge] = []
    for i in ids:
        node = graph.nodes[i]
        for port, spec in enumerate(node.specs):
            e = Edge(i, port)
            is_read_outside = any(member.get(c) != index for c in graph.consumers.get(e, ()))
            variable = node.opdef.kind is Kind.VARIABLE
            if e in fetched_edges or variable or (is_read_outside and not spec.ref):
                outputs.append(e)
    return tuple(outputs)
