"""The plan: what the executor walks, as immutable tuples of small integers.

The static half of the dataflow executor of OSDI'16 section 3.4 (white paper 4.4): pending counts,
out-edges, the table of frames. Built once per compiled step and shared by all its runs.
Invariant, proven by `build_plan` before a plan exists: every node of a frame fires exactly once in
every iteration of it, live or dead, so a step ends and an iteration knows when it is over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from tfnb.errors import GraphError
from tfnb.ir.step_graph.order import Path, find_cycle, find_paths, topological

ROOT = 0  # index of the frame that holds all that is in no loop
CONTROL = -1  # output slot of an edge that carries no value


class PlanKind(IntEnum):
    """How a node of a plan is executed.

    Kinds up to `RECV` are handed to the executor; the rest the propagator executes by itself.
    `SEND` and `RECV` are handed out even when dead, because the other side waits for the token.
    """

    CLUSTER = 0  # enqueue kernels of a compiled cluster
    HOST = 1  # a host kernel, inline or in a pool
    LOOP = 2  # a whole loop whose nodes all finish at once (`runtime/loops`)
    ASYNC = 3  # finishes later by a continuation (queues, blocking reads)
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

# (inputs, outputs); None: any number.
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
    """The nodes make no plan; `node` is the place of the one to blame."""

    def __init__(self, message: str, node: int) -> None:
        super().__init__(message)
        self.node = node


@dataclass(frozen=True, slots=True)
class PlanNode:
    """Plain description of one node; nodes refer to each other by their place in the sequence.

    `inputs` holds (node, output slot) per data input, `control` the nodes of the control edges.
    `frame`, `parallel_iterations` and `is_constant` belong to Enter alone.
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
    """One static frame; `n` below is a node's *local* index, its place in `nodes`.

    Edges hold the local index of their target in the frame where the token arrives: the child's for
    an Enter, the parent's for an Exit, this frame's otherwise.
    """

    index: int
    name: str
    parent: int  # index of the enclosing frame, -1 for the root
    parallel_iterations: int
    n_enters: int
    n_children: int
    nodes: tuple[int, ...]  # local -> node of the plan
    kinds: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]  # n -> begin, end of its inputs among an iteration's slots
    n_slots: int
    first_counts: tuple[int, ...]  # pending per node, then arrivals per Merge: iteration 0
    next_counts: tuple[int, ...]  # the same for every later iteration
    arrivals: tuple[int, ...]  # n -> where a Merge counts its expected inputs, else -1
    data_out: tuple[tuple[tuple[int, int, int], ...], ...]  # n -> (source slot, target, input slot)
    control_out: tuple[tuple[int, ...], ...]  # n -> targets
    merge_out: tuple[tuple[tuple[int, int, int], ...], ...]  # n -> (source slot, Merge, its input)
    fetch_out: tuple[tuple[tuple[int, int], ...], ...]  # n -> (source slot, place among fetches)
    n_outputs: tuple[int, ...]
    child: tuple[int, ...]  # n -> frame an Enter opens, else -1
    is_constant: tuple[bool, ...]  # n -> a constant Enter
    index_used: tuple[bool, ...]  # n -> somebody reads a Merge's value_index
    exits: tuple[int, ...]  # local indices of the Exits
    roots: tuple[int, ...]  # nodes that wait for nothing and are no feeds


@dataclass(frozen=True, slots=True)
class Plan:
    """A verified plan. `frames[0]` is the root; `place[node]` is its (frame, local index), `out_frame[node]` the frame
    of its outputs. `order` is topological but for the edges that close loops.

    `feeds` are the FEED nodes in the order in which `Propagator.start` takes their values.
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
    is_static: bool  # nothing is decided at run time: it has no branches and no loops
    starts_work: bool  # has it kernels that other threads may finish, or that run Python code?

    def name(self, node: int) -> str:
        """Name of a node for messages."""
        return self.nodes[node].name or f"#{node}"

    @property
    def cluster(self) -> int:
        """The one cluster of a plan with `is_single_cluster`."""
        return next(i for i, n in enumerate(self.nodes) if n.kind == PlanKind.CLUSTER)


def build_plan(nodes: Iterable[PlanNode], fetches: Sequence[tuple[int, int]] = ()) -> Plan:
    """Verify the nodes, find their frames and lay out the tables.

    Raises `PlanError` for edges to nowhere, wrong numbers of inputs or outputs, inputs from
    different frames, loops not closed by NextIteration -> Merge, cycles, fetches inside a loop.
    """
    described = tuple(nodes)
    for index in range(len(described)):
        _check_node(described, index)
    sources = {index: _forward_sources(described, index) for index in range(len(described))}
    order = _forward_order(described, sources)
    frames = _find_frames(described, order, sources)
    _check_edges(described)
    for index in range(len(described)):
        if described[index].kind == PlanKind.MERGE:
            _check_merge(described, frames, index)
    for node, slot in fetches:
        _check_fetch(described, frames, node, slot)
    return _lay_out(described, order, frames, tuple((node, slot) for node, slot in fetches))


# ---- verification ------------------------------------------------------------------------------


def _say(nodes: Sequence[PlanNode], node: int) -> str:
    return f"{nodes[node].kind.name} '{nodes[node].name or f'#{node}'}'"


def _check_node(nodes: Sequence[PlanNode], index: int) -> None:
    node = nodes[index]
    wanted_inputs, wanted_outputs = _ARITY.get(node.kind, (None, None))
    for what, came, wanted in (
        ("inputs", len(node.inputs), wanted_inputs),
        ("outputs", node.n_outputs, wanted_outputs),
    ):
        if wanted is not None and came != wanted:
            raise PlanError(f"{_say(nodes, index)} has {came} {what}, it needs {wanted}", index)
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
        what = f"output {slot} of" if slot != CONTROL else "a control edge from"
        raise PlanError(f"{_say(nodes, index)} waits for {what} node {source}: not there", index)
    if node.kind == PlanKind.MERGE and all(_is_back_edge(nodes, s, index) for s, _ in node.inputs):
        raise PlanError(f"{_say(nodes, index)} has no input but NextIterations, if any", index)


def _is_back_edge(nodes: Sequence[PlanNode], source: int, target: int) -> bool:
    return nodes[source].kind == PlanKind.NEXT_ITERATION and nodes[target].kind == PlanKind.MERGE


def _is_loop_source(nodes: Sequence[PlanNode], source: int) -> bool:
    """An Enter's value exists in iteration 0 only, a NextIteration's in the next one."""
    node = nodes[source]
    if node.kind == PlanKind.ENTER:
        return not node.is_constant
    return node.kind == PlanKind.NEXT_ITERATION


def _forward_sources(nodes: Sequence[PlanNode], target: int) -> list[int]:
    """What a node waits for within an iteration: all but the back edges of loops."""
    node = nodes[target]
    data = [source for source, _ in node.inputs if not _is_back_edge(nodes, source, target)]
    return data + list(node.control)


def _forward_order(nodes: Sequence[PlanNode], sources: Mapping[int, Sequence[int]]) -> list[int]:
    """Topological order without the back edges; refuses any other cycle and names its nodes."""
    order, stuck = topological(sources)
    if stuck:
        cycle = find_cycle(sources, stuck)
        arrows = " -> ".join(_say(nodes, n) for n in [*cycle, cycle[0]])
        raise PlanError(f"the graph has a cycle that no NextIteration -> Merge closes: {arrows}", cycle[0])
    return order


@dataclass(slots=True)
class _Frames:
    """Work sheet of the frame search; a node fires `inside` a frame, its output goes `outside`."""

    names: list[str]
    parents: list[int]
    limits: list[int]
    inside: list[int]
    outside: list[int]

    def say(self, frame: int) -> str:
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
    """Only a Merge can take a value that comes in some iterations and not in others."""
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
    """A Merge joins branches or heads a loop; then Enters and NextIterations are all it has."""
    sources = [source for source, _ in nodes[merge].inputs]
    of_loop = [source for source in sources if _is_loop_source(nodes, source)]
    if not of_loop:
        return
    if len(of_loop) < len(sources):
        other = next(source for source in sources if source not in of_loop)
        raise PlanError(
            f"{_say(nodes, merge)} heads a loop, so its inputs are Enters that are not constant "
            f"and NextIterations; {_say(nodes, other)} is neither",
            merge,
        )
    back = [source for source in sources if _is_back_edge(nodes, source, merge)]
    if not back:
        raise PlanError(f"{_say(nodes, merge)} heads a loop, but no NextIteration closes it", merge)
    for source in back:
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
    busy = [n for n in nodes if n.kind not in (PlanKind.FEED, PlanKind.NO_OP)]
    return Plan(
        nodes=nodes,
        kinds=tuple(int(n.kind) for n in nodes),
        order=tuple(order),
        frames=tables,
        place=tuple(place),
        out_frame=tuple(frames.outside),
        feeds=tuple(i for i, n in enumerate(nodes) if n.kind == PlanKind.FEED),
        fetches=fetches,
        is_single_cluster=len(busy) == 1 and busy[0].kind == PlanKind.CLUSTER,
        is_static=all(n.kind <= PlanKind.NO_OP for n in nodes),
        starts_work=any(PlanKind.HOST <= n.kind <= PlanKind.RECV for n in nodes),
    )


def _spans(nodes: Sequence[PlanNode], frames: _Frames) -> tuple[list[tuple[int, int]], list[int]]:
    """Where each node's inputs lie among the slots of its frame. A Merge keeps one: its choice."""
    used = [0] * len(frames.names)
    spans = []
    for index, node in enumerate(nodes):
        frame = frames.inside[index]
        width = 1 if node.kind == PlanKind.MERGE else len(node.inputs)
        spans.append((used[frame], used[frame] + width))
        used[frame] += width
    return spans, used


class _Edges:
    """Out-edges of every node, with local indices of the frame in which they arrive."""

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
        mine = [*self.data[node], *self.merge[node], *self.fetch[node]]
        return any(edge[0] == slot for edge in mine)


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
        first_counts=pending + tuple(first for first, _ in expected),
        next_counts=pending + tuple(later for _, later in expected),
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
    """What a node waits for; all data inputs of a Merge count as one, its decision."""
    return (1 if node.kind == PlanKind.MERGE else len(node.inputs)) + len(node.control)


def _expected(nodes: Sequence[PlanNode], merge: int) -> tuple[int, int]:
    """How many data inputs reach a Merge in iteration 0 and in each later one."""
    sources = [source for source, _ in nodes[merge].inputs]
    back = sum(_is_back_edge(nodes, source, merge) for source in sources)
    return (len(sources) - back, back) if back else (len(sources), len(sources))
