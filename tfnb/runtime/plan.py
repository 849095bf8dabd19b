"""The plan of a step: the tables with which the executor runs it, as immutable tuples of small integers.

This is the static half of the dataflow executor of OSDI'16 section 3.4 (white paper 4.4): pending counts,
out-edges, the table of frames. A plan is built once per compiled step, and all runs share it. Invariant,
verified by `build_plan` before it creates a plan: every node of a frame fires exactly once in every iteration
of the frame, live or dead, so every iteration and every step ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from tfnb.errors import GraphError
from tfnb.ir.step_graph.order import Path, find_cycle, find_paths, topological

ROOT = 0  # index of the root frame, which has all nodes outside of loops
CONTROL = -1  # output slot of an edge that carries no value


class PlanKind(IntEnum):
    """How a node of a plan is executed.

    The executor runs the nodes of kinds up to `RECV`; the propagator executes all others by itself.
    `SEND` and `RECV` run even when they are dead, because the other side waits for the token.
    """

    CLUSTER = 0  # enqueue kernels of a compiled cluster
    HOST = 1  # a host kernel, which runs in the thread of the step or in the pool
    LOOP = 2  # a whole loop whose nodes all finish at once (`runtime/loops`)
    ASYNC = 3  # a kernel that finishes later and then calls a continuation (queues, blocking reads)
    SEND = 4
    RECV = 5
    FEED = 6  # no inputs, one output: a value given to `Propagator.start`
    NO_OP = 7  # control edges only
    SWITCH = 8  # (data, predicate) -> (when false, when true)
    MERGE = 9  # n inputs -> (value, value_index)
    ENTER = 10
    EXIT = 11
    NEXT_ITERATION = 12
    LOOP_COND = 13
    CONTROL_TRIGGER = 14  # as NO_OP, but live even when its inputs are dead


LAST_EXTERNAL = PlanKind.RECV

# The numbers of inputs and outputs of each kind; None means any number.
_ARITY: dict[PlanKind, tuple[int | None, int | None]] = {
    PlanKind.FEED: (0, 1),
    PlanKind.NO_OP: (0, 0),
    PlanKind.SWITCH: (2, 2),
    PlanKind.MERGE: (None, 2),
    PlanKind.ENTER: (1, 1),
    PlanKind.EXIT: (1, 1),
    PlanKind.NEXT_ITERATION: (1, 1),
    PlanKind.LOOP_COND: (1, 1),
    PlanKind.CONTROL_TRIGGER: (0, 0),
}


class PlanError(GraphError):
    """The nodes do not form a valid plan. `node` is the index of the node that caused the error."""

    def __init__(self, message: str, node: int) -> None:
        super().__init__(message)
        self.node = node


@dataclass(frozen=True, slots=True)
class PlanNode:
    """The description of one node. Nodes refer to each other by their index in the sequence of nodes.

    `inputs` has a pair (node, output slot) for each data input, and `control` has the nodes of the control edges.
    `frame`, `parallel_iterations` and `is_constant` are used by Enter only.
    """

    kind: PlanKind
    n_outputs: int = 1
    inputs: tuple[tuple[int, int], ...] = ()
    control: tuple[int, ...] = ()
    name: str = ""
    frame: str = ""
    parallel_iterations: int = 10
    is_constant: bool = False


@dataclass(frozen=True, slots=True)
class FrameTable:
    """The tables of one static frame. In the comments below, n is the *local* index of a node, its index in `nodes`.

    An edge has the local index of its target in the frame where the token arrives. That is the child frame
    for an Enter, the parent frame for an Exit, and this frame for all other nodes.
    """

    index: int
    name: str
    parent: int  # index of the enclosing frame, -1 for the root
    parallel_iterations: int
    n_enters: int
    n_children: int
    nodes: tuple[int, ...]  # n -> index of the node in the plan
    kinds: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]  # n -> begin and end of its inputs among the slots of an iteration
    n_slots: int
    first_counts: tuple[int, ...]  # pending inputs of each node, then expected inputs of each Merge, in iteration 0
    next_counts: tuple[int, ...]  # the same for every later iteration
    arrivals: tuple[int, ...]  # n -> index of a Merge's expected inputs among the counts, -1 for other nodes
    data_out: tuple[tuple[tuple[int, int, int], ...], ...]  # n -> (source slot, target, input slot)
    control_out: tuple[tuple[int, ...], ...]  # n -> targets
    merge_out: tuple[tuple[tuple[int, int, int], ...], ...]  # n -> (source slot, Merge, its input)
    fetch_out: tuple[tuple[tuple[int, int], ...], ...]  # n -> (source slot, number of the fetch)
    n_outputs: tuple[int, ...]
    child: tuple[int, ...]  # n -> frame that an Enter opens, -1 for other nodes
    is_constant: tuple[bool, ...]  # n -> whether it is a constant Enter
    index_used: tuple[bool, ...]  # n -> whether it is a Merge whose value_index has a reader
    exits: tuple[int, ...]  # local indices of the Exits
    roots: tuple[int, ...]  # local indices of nodes without inputs, except feeds


@dataclass(frozen=True, slots=True)
class Plan:
    """A verified plan. `frames[0]` is the root frame.

    `place[node]` is the (frame, local index) of a node, and `out_frame[node]` is the frame of its outputs. `order` is
    a topological order, except for the edges that close loops. `feeds` are the FEED nodes in the order in which
    `Propagator.start` takes their values. `fetches` are pairs (node, output slot).
    """

    nodes: tuple[PlanNode, ...]
    kinds: tuple[int, ...]
    order: tuple[int, ...]
    frames: tuple[FrameTable, ...]
    place: tuple[tuple[int, int], ...]
    out_frame: tuple[int, ...]
    feeds: tuple[int, ...]
    fetches: tuple[tuple[int, int], ...]
    is_single_cluster: bool
    is_static: bool  # whether it has no branches and no loops, so nothing is decided at run time
    starts_work: bool  # whether it has kernels that other threads may finish or that run Python code

    def name(self, node: int) -> str:
        """The name of a node for messages, for example "#3" if it has none."""
        return self.nodes[node].name or f"#{node}"

    @property
    def cluster(self) -> int:
        """The one cluster of a plan with `is_single_cluster`."""
        return next(i for i, n in enumerate(self.nodes) if n.kind == PlanKind.CLUSTER)


def build_plan(nodes: Iterable[PlanNode], fetches: Sequence[tuple[int, int]] = ()) -> Plan:
    """Verifies the nodes, finds their frames and creates the plan.

    Raises `PlanError` for inputs from nodes or outputs that do not exist, wrong numbers of inputs or
    outputs, inputs from different frames, loops that no NextIteration -> Merge closes, other cycles, and
    fetches inside a loop.
    """
    plan_nodes = tuple(nodes)
    for index in range(len(plan_nodes)):
        _check_node(plan_nodes, index)
    sources = {index: _forward_sources(plan_nodes, index) for index in range(len(plan_nodes))}
    order = _forward_order(plan_nodes, sources)
    frames = _find_frames(plan_nodes, order, sources)
    _check_edges(plan_nodes)
    for index in range(len(plan_nodes)):
        if plan_nodes[index].kind == PlanKind.MERGE:
            _check_merge(plan_nodes, frames, index)
    for node, slot in fetches:
        _check_fetch(plan_nodes, frames, node, slot)
    return _lay_out(plan_nodes, order, frames, tuple((node, slot) for node, slot in fetches))


# ---- verification ------------------------------------------------------------------------------


def _say(nodes: Sequence[PlanNode], node: int) -> str:
    return f"{nodes[node].kind.name} '{nodes[node].name or f'#{node}'}'"


def _check_node(nodes: Sequence[PlanNode], index: int) -> None:
    node = nodes[index]
    n_inputs, n_outputs = _ARITY.get(node.kind, (None, None))
    for label, count, needed in (
        ("inputs", len(node.inputs), n_inputs),
        ("outputs", node.n_outputs, n_outputs),
    ):
        if needed is not None and count != needed:
            raise PlanError(f"{_say(nodes, index)} has {count} {label}, it needs {needed}", index)
    if node.kind == PlanKind.FEED and node.control:
        raise PlanError(f"{_say(nodes, index)} has control inputs; a feed waits for nothing", index)
    if node.kind == PlanKind.ENTER and (not node.frame or node.parallel_iterations < 1):
        raise PlanError(
            f"{_say(nodes, index)} needs the name of a frame and parallel_iterations >= 1, "
            f"it has frame '{node.frame}' and parallel_iterations {node.parallel_iterations}",
            index,
        )
    for source, slot in [*node.inputs, *((source, CONTROL) for source in node.control)]:
        if 0 <= source < len(nodes) and CONTROL <= slot < nodes[source].n_outputs:
            continue
        label = f"output {slot} of" if slot != CONTROL else "a control edge from"
        raise PlanError(f"{_say(nodes, index)} waits for {label} node {source}: not there", index)
    if node.kind == PlanKind.MERGE and all(_is_back_edge(nodes, s, index) for s, _ in node.inputs):
        raise PlanError(f"{_say(nodes, index)} has no input but NextIterations, if any", index)


def _is_back_edge(nodes: Sequence[PlanNode], source: int, target: int) -> bool:
    return nodes[source].kind == PlanKind.NEXT_ITERATION and nodes[target].kind == PlanKind.MERGE


def _is_loop_source(nodes: Sequence[PlanNode], source: int) -> bool:
    """Returns whether the value of `source` exists in some iterations only.

    The value of an Enter that is not constant exists in iteration 0 only, that of a NextIteration in later ones only.
    """
    node = nodes[source]
    if node.kind == PlanKind.ENTER:
        return not node.is_constant
    return node.kind == PlanKind.NEXT_ITERATION


def _forward_sources(nodes: Sequence[PlanNode], target: int) -> list[int]:
    """The sources of a node within an iteration: the sources of all its edges except the back edges of loops."""
    node = nodes[target]
    data = [source for source, _ in node.inputs if not _is_back_edge(nodes, source, target)]
    return data + list(node.control)


def _forward_order(nodes: Sequence[PlanNode], sources: Mapping[int, Sequence[int]]) -> list[int]:
    """A topological order without the back edges. Raises `PlanError`, which names the nodes, for any other cycle."""
    order, stuck = topological(sources)
    if stuck:
        cycle = find_cycle(sources, stuck)
        arrows = " -> ".join(_say(nodes, n) for n in [*cycle, cycle[0]])
        raise PlanError(f"the graph has a cycle that no NextIteration -> Merge closes: {arrows}", cycle[0])
    return order


@dataclass(slots=True)
class _Frames:
    """The results of the frame search. Node i fires in frame `inside[i]`, and its outputs go to frame `outside[i]`.

    `names`, `parents` and `limits` have the name, the parent and the parallel iterations of each frame.
    """

    names: list[str]
    parents: list[int]
    limits: list[int]
    inside: list[int]
    outside: list[int]

    def say(self, frame: int) -> str:
        """The name of a frame for messages."""
        return "the root frame" if frame == ROOT else f"frame '{self.names[frame]}'"


def _find_frames(nodes: Sequence[PlanNode], order: Sequence[int], sources: Mapping[int, Sequence[int]]) -> _Frames:
    """Numbers the frames in the order in which they are entered. Raises `PlanError` for edges between frames."""
    enters = {i: n.frame for i, n in enumerate(nodes) if n.kind == PlanKind.ENTER}
    exits = {i for i, n in enumerate(nodes) if n.kind == PlanKind.EXIT}
    inside, outside = find_paths(order, sources, enters, exits)
    frames = _Frames(["root"], [-1], [1], [ROOT] * len(nodes), [ROOT] * len(nodes))
    numbers: dict[Path, int] = {(): ROOT}
    for index in order:
        node = nodes[index]
        if node.kind == PlanKind.ENTER and outside[index] not in numbers:
            numbers[outside[index]] = len(frames.names)
            frames.names.append(node.frame)
            frames.parents.append(numbers[inside[index]])
            frames.limits.append(node.parallel_iterations)
        frames.inside[index], frames.outside[index] = numbers[inside[index]], numbers[outside[index]]
        _check_frame(nodes, frames, index, sources[index])
    return frames


def _check_frame(nodes: Sequence[PlanNode], frames: _Frames, index: int, sources: Sequence[int]) -> None:
    node = nodes[index]
    for source in sources:
        if frames.outside[source] != frames.outside[sources[0]]:
            raise PlanError(
                f"{_say(nodes, index)} has inputs from different frames: "
                f"{_say(nodes, sources[0])} is in {frames.say(frames.outside[sources[0]])}, {_say(nodes, source)} "
                f"is in {frames.say(frames.outside[source])}; "
                "a value comes into a loop by Enter and leaves it by Exit",
                index,
            )
    if node.kind in (PlanKind.EXIT, PlanKind.NEXT_ITERATION) and frames.inside[index] == ROOT:
        raise PlanError(f"{_say(nodes, index)} is in no loop: no Enter comes before it", index)
    limit = frames.limits[frames.outside[index]]
    if node.kind == PlanKind.ENTER and limit != node.parallel_iterations:
        raise PlanError(
            f"{_say(nodes, index)} wants parallel_iterations {node.parallel_iterations}, another "
            f"Enter of frame '{node.frame}' wants {limit}; they must agree",
            index,
        )


def _check_edges(nodes: Sequence[PlanNode]) -> None:
    """Raises `PlanError` if a node other than a Merge has an input that exists in some iterations only."""
    for index, node in enumerate(nodes):
        data = [] if node.kind == PlanKind.MERGE else [source for source, _ in node.inputs]
        for source in [*data, *node.control]:
            if _is_loop_source(nodes, source):
                raise PlanError(
                    f"{_say(nodes, source)} feeds {_say(nodes, index)}; a NextIteration and an "
                    "Enter that is not constant may feed only data inputs of Merges",
                    source,
                )


def _check_merge(nodes: Sequence[PlanNode], frames: _Frames, merge: int) -> None:
    """Checks the inputs of a Merge: either none is a loop source, or all are Enters and NextIterations of one loop.

    Raises `PlanError` for a Merge that mixes them, or whose loop is not closed within its frame.
    """
    sources = [source for source, _ in nodes[merge].inputs]
    loop_sources = [source for source in sources if _is_loop_source(nodes, source)]
    if not loop_sources:
        return
    if len(loop_sources) < len(sources):
        other = next(source for source in sources if source not in loop_sources)
        raise PlanError(
            f"{_say(nodes, merge)} heads a loop, so its inputs are Enters that are not constant "
            f"and NextIterations; {_say(nodes, other)} is neither",
            merge,
        )
    next_iterations = [source for source in sources if _is_back_edge(nodes, source, merge)]
    if not next_iterations:
        raise PlanError(f"{_say(nodes, merge)} heads a loop, but no NextIteration closes it", merge)
    for source in next_iterations:
        if frames.inside[source] != frames.inside[merge]:
            raise PlanError(
                f"{_say(nodes, source)} in {frames.say(frames.inside[source])} feeds "
                f"{_say(nodes, merge)} in {frames.say(frames.inside[merge])}; "
                "a loop is closed within its frame",
                source,
            )


def _check_fetch(nodes: Sequence[PlanNode], frames: _Frames, node: int, slot: int) -> None:
    if not 0 <= node < len(nodes) or not 0 <= slot < nodes[node].n_outputs:
        raise PlanError(f"fetch of output {slot} of node {node}: not there", node)
    if frames.outside[node] != ROOT:
        raise PlanError(
            f"fetch of {_say(nodes, node)} in {frames.say(frames.outside[node])}: it has a value "
            "per iteration; fetch what leaves the loop by Exit",
            node,
        )


# ---- layout ------------------------------------------------------------------------------------


def _lay_out(
    nodes: tuple[PlanNode, ...], order: Sequence[int], frames: _Frames, fetches: tuple[tuple[int, int], ...]
) -> Plan:
    members: list[list[int]] = [[] for _ in frames.names]
    place: list[tuple[int, int]] = []
    for index, frame in enumerate(frames.inside):
        place.append((frame, len(members[frame])))
        members[frame].append(index)
    spans, n_slots = _spans(nodes, frames)
    edges = _Edges(nodes, place, spans, fetches)
    tables = tuple(
        _frame_table(nodes, frames, frame, members[frame], spans, n_slots[frame], edges)
        for frame in range(len(members))
    )
    working = [n for n in nodes if n.kind not in (PlanKind.FEED, PlanKind.NO_OP)]
    return Plan(
        nodes=nodes,
        kinds=tuple(int(n.kind) for n in nodes),
        order=tuple(order),
        frames=tables,
        place=tuple(place),
        out_frame=tuple(frames.outside),
        feeds=tuple(i for i, n in enumerate(nodes) if n.kind == PlanKind.FEED),
        fetches=fetches,
        is_single_cluster=len(working) == 1 and working[0].kind == PlanKind.CLUSTER,
        is_static=all(n.kind <= PlanKind.NO_OP for n in nodes),
        starts_work=any(PlanKind.HOST <= n.kind <= PlanKind.RECV for n in nodes),
    )


def _spans(nodes: Sequence[PlanNode], frames: _Frames) -> tuple[list[tuple[int, int]], list[int]]:
    """The span of each node's inputs among the slots of its frame, and the number of slots of each frame.

    A Merge has one slot, for the input that decides it.
    """
    used = [0] * len(frames.names)
    spans = []
    for index, node in enumerate(nodes):
        frame = frames.inside[index]
        width = 1 if node.kind == PlanKind.MERGE else len(node.inputs)
        spans.append((used[frame], used[frame] + width))
        used[frame] += width
    return spans, used


class _Edges:
    """The out-edges of every node, with the local indices of their targets; see `FrameTable`."""

    def __init__(
        self,
        nodes: Sequence[PlanNode],
        place: Sequence[tuple[int, int]],
        spans: Sequence[tuple[int, int]],
        fetches: Sequence[tuple[int, int]],
    ) -> None:
        self.data: list[list[tuple[int, int, int]]] = [[] for _ in nodes]
        self.control: list[list[int]] = [[] for _ in nodes]
        self.merge: list[list[tuple[int, int, int]]] = [[] for _ in nodes]
        self.fetch: list[list[tuple[int, int]]] = [[] for _ in nodes]
        for target, node in enumerate(nodes):
            local = place[target][1]
            for position, (source, slot) in enumerate(node.inputs):
                if node.kind == PlanKind.MERGE:
                    self.merge[source].append((slot, local, position))
                else:
                    self.data[source].append((slot, local, spans[target][0] + position))
            for source in node.control:
                self.control[source].append(local)
        for position, (source, slot) in enumerate(fetches):
            self.fetch[source].append((slot, position))

    def uses_slot(self, node: int, slot: int) -> bool:
        """Returns whether an edge or a fetch reads this output of a node."""
        edges = [*self.data[node], *self.merge[node], *self.fetch[node]]
        return any(edge[0] == slot for edge in edges)


def _frame_table(
    nodes: Sequence[PlanNode],
    frames: _Frames,
    frame: int,
    members: list[int],
    spans: Sequence[tuple[int, int]],
    n_slots: int,
    edges: _Edges,
) -> FrameTable:
    def per_node(what: Callable[[int], int]) -> tuple[int, ...]:
        return tuple(what(index) for index in members)

    merges = [local for local, i in enumerate(members) if nodes[i].kind == PlanKind.MERGE]
    arrivals = [-1] * len(members)
    for rank, local in enumerate(merges):
        arrivals[local] = len(members) + rank
    pending = per_node(lambda i: _pending(nodes[i]))
    expected = [_expected(nodes, members[local]) for local in merges]
    return FrameTable(
        index=frame,
        name=frames.names[frame],
        parent=frames.parents[frame],
        parallel_iterations=frames.limits[frame],
        n_enters=sum(node.kind == PlanKind.ENTER and frames.outside[i] == frame for i, node in enumerate(nodes)),
        n_children=frames.parents.count(frame),
        nodes=tuple(members),
        kinds=per_node(lambda i: int(nodes[i].kind)),
        spans=tuple(spans[i] for i in members),
        n_slots=n_slots,
        first_counts=pending + tuple(n_first for n_first, _ in expected),
        next_counts=pending + tuple(n_later for _, n_later in expected),
        arrivals=tuple(arrivals),
        data_out=tuple(tuple(edges.data[i]) for i in members),
        control_out=tuple(tuple(edges.control[i]) for i in members),
        merge_out=tuple(tuple(edges.merge[i]) for i in members),
        fetch_out=tuple(tuple(edges.fetch[i]) for i in members),
        n_outputs=per_node(lambda i: nodes[i].n_outputs),
        child=per_node(lambda i: frames.outside[i] if nodes[i].kind == PlanKind.ENTER else -1),
        is_constant=tuple(nodes[i].is_constant for i in members),
        index_used=tuple(nodes[i].kind == PlanKind.MERGE and edges.uses_slot(i, 1) for i in members),
        exits=tuple(n for n, i in enumerate(members) if nodes[i].kind == PlanKind.EXIT),
        roots=tuple(n for n, i in enumerate(members) if _pending(nodes[i]) == 0 and nodes[i].kind != PlanKind.FEED),
    )


def _pending(node: PlanNode) -> int:
    """The number of inputs for which a node waits. All data inputs of a Merge count as one, because one decides it."""
    return (1 if node.kind == PlanKind.MERGE else len(node.inputs)) + len(node.control)


def _expected(nodes: Sequence[PlanNode], merge: int) -> tuple[int, int]:
    """The numbers of data inputs that reach a Merge in iteration 0 and in each later iteration."""
    sources = [source for source, _ in nodes[merge].inputs]
    n_back = sum(_is_back_edge(nodes, source, merge) for source in sources)
    return (len(sources) - n_back, n_back) if n_back else (len(sources), len(sources))
