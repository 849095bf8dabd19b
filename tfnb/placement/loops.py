"""Loops that run on several devices (white paper, section 4.4; OSDI'16, section 3.4).

Each partition that contains a part of a loop runs a small control loop. It receives the loop's condition from the
partition that computes it, starts an iteration when the condition is true, and triggers the partition's Recvs in that
iteration. Loop invariants are sent once, outside the loop. Invariant: in all partitions of a step a frame has the same
activations and iterations, under the same tags.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tfnb.errors import InternalError
from tfnb.ir.const import CONST
from tfnb.ir.opdef import Kind, OpDef
from tfnb.ir.step_graph.graph import Edge, Graph, Node, Path
from tfnb.ops.control_flow.switch_merge import ENTER, MERGE, NEXT_ITERATION, SWITCH
from tfnb.types import TensorSpec, int32, scalar

__all__ = ["ControlLoops", "Loops", "copy_invariants", "find_loops", "unsplittable"]


@dataclass(frozen=True)
class Loops:
    """The loops of a graph, by the path of their frame.

    `cond` holds the id of the loop's LoopCond, and `enter` the id of one of its Enters.
    """

    cond: Mapping[Path, int]
    enter: Mapping[Path, int]


def find_loops(graph: Graph) -> Loops:
    """Returns the loops of a graph."""
    cond: dict[Path, int] = {}
    enter: dict[Path, int] = {}
    for i in graph.order:
        kind = graph.nodes[i].opdef.kind
        if kind is Kind.ENTER:
            enter.setdefault(graph.frames.outside[i], i)
        elif kind is Kind.LOOP_COND:
            cond[graph.frames.inside[i]] = i
    return Loops(cond, enter)


def unsplittable(graph: Graph) -> list[list[int]]:
    """Returns the nodes of loops that must stay on one device because the loop does not have exactly one LoopCond."""
    frames = graph.frames
    conds: dict[Path, int] = {}
    for i, path in frames.inside.items():
        if graph.nodes[i].opdef.kind is Kind.LOOP_COND:
            conds[path] = conds.get(path, 0) + 1
    loops = []
    for path in find_loops(graph).enter:
        if conds.get(path, 0) != 1:
            n = len(path)
            loops.append([i for i in graph.nodes if frames.inside[i][:n] == path or frames.outside[i][:n] == path])
    return loops


def copy_invariants(graph: Graph) -> Graph:
    """Gives each device that reads a constant Enter a copy of it.

    The value is then sent once, and not in each iteration.
    """
    if not any(n.opdef.kind is Kind.ENTER and n.attrs.is_constant for n in graph.nodes.values()):
        return graph
    nodes = dict(graph.nodes)
    readers: dict[int, list[int]] = {}
    for node in nodes.values():
        for e in node.inputs:
            readers.setdefault(e.id, []).append(node.id)
    next_id = max(nodes) + 1
    for i in reversed(graph.order):  # inner loops first, because their Enters read those of outer loops
        node = nodes[i]
        if node.opdef.kind is not Kind.ENTER or not node.attrs.is_constant or node.specs[0].ref:
            continue
        for device in dict.fromkeys(nodes[r].device for r in readers.get(i, ())):
            if device == node.device:
                continue
            nodes[next_id] = replace(node, id=next_id, device=device, name=f"{node.name}#{next_id}")
            for r in readers[i]:
                if nodes[r].device == device:
                    old, new = Edge(i, 0), Edge(next_id, 0)
                    nodes[r] = replace(nodes[r], inputs=tuple(new if e == old else e for e in nodes[r].inputs))
            for e in node.inputs:
                readers.setdefault(e.id, []).append(next_id)
            readers[next_id] = []
            next_id += 1
    return Graph(nodes, graph.fetches, graph.targets, graph.feeds, graph.info)


class ControlLoops:
    """Builds the control loops of one partition.

    `add(node)` adds a node to the partition, or replaces the node with the same id, and returns the id. `local(edge)`
    returns the edge of the partition that carries the value of an edge of the graph, which is received at most once.
    """

    def __init__(
        self, graph: Graph, loops: Loops, device: str, add: Callable[[Node], int], local: Callable[[Edge], Edge]
    ) -> None:
        self._graph, self._loops = graph, loops
        self._device, self._add, self._local = device, add, local
        self._merges: dict[Path, int] = {}

    def trigger(self, path: Path) -> int:
        """Returns the id of a node that fires in each iteration of the frame.

        The first call for a frame builds its control loop. Raises `InternalError` for a loop without a condition.
        """
        merge_id = self._merges.get(path)
        if merge_id is not None:
            return merge_id
        outer = (self.trigger(path[:-1]),) if len(path) > 1 else ()
        enter = self._graph.nodes[self._loops.enter[path]]
        cond = self._loops.cond.get(path)
        if cond is None:
            raise InternalError("a loop without a condition is on several devices", enter)
        token = self._node(enter, "token", CONST, (), CONST.attrs(value=np.int32(0)), {"dtype": int32}, outer)
        attrs = replace(enter.attrs, is_constant=False)
        start = self._node(enter, "enter", ENTER, (Edge(token.id, 0),), attrs)
        # The edge that closes the loop does not exist yet when the Merge is built.
        types = {"T": int32, "N": 2}
        merge = self._node(enter, "merge", MERGE, (Edge(start.id, 0),) * 2, MERGE.attrs(), types, n_outputs=2)
        self._merges[path] = merge.id
        inputs = (Edge(merge.id, 0), self._local(Edge(cond, 0)))
        switch = self._node(enter, "switch", SWITCH, inputs, SWITCH.attrs(), n_outputs=2)
        next_iteration = self._node(enter, "next", NEXT_ITERATION, (Edge(switch.id, 1),), NEXT_ITERATION.attrs())
        self._add(replace(merge, inputs=(Edge(start.id, 0), Edge(next_iteration.id, 0))))
        return merge.id

    def _node(
        self,
        enter: Node,
        what: str,
        opdef: OpDef,
        inputs: tuple[Edge, ...],
        attrs: object,
        types: Mapping[str, Any] = {"T": int32},
        control: tuple[int, ...] = (),
        n_outputs: int = 1,
    ) -> Node:
        """Adds a node of the control loop, whose loop variable is an int32 scalar."""
        specs = (TensorSpec(int32, scalar),) * n_outputs
        name = f"{enter.attrs.frame_name}/_control_{what}"
        node = Node(-1, name, opdef, inputs, control, attrs, types, specs, self._device, enter.origin)
        return replace(node, id=self._add(node))
