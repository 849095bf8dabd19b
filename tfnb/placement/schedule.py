"""When Recvs begin: as soon as possible, or as late as the step allows (white paper, section 5.2).

A value that arrives long before it is read occupies memory of its device. A simulation of the step shows when each
received value is first needed; the Recv then waits for a node of its own device that ends shortly before that.
Invariant: a Recv waits only for nodes on a lower level than all of its readers, so no cycle arises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tfnb.ir.opdef import Kind
from tfnb.ir.step_graph.graph import Edge, Graph, Node
from tfnb.placement.costs import CostModel
from tfnb.placement.partition import Partition
from tfnb.placement.simulate import Simulation

__all__ = ["delay_recvs"]

_NO_STEP = (Kind.CONST, Kind.PLACEHOLDER, Kind.VARIABLE, Kind.SEND, Kind.RECV)


def delay_recvs(
    parts: Sequence[Partition],
    played: Simulation,
    level: Mapping[int, int],
    context: Mapping[int, Any],
    costs: CostModel,
) -> list[Partition]:
    """Returns the partitions with Recvs as late as possible.

    `played` is the simulation of the whole step. `level` and `context` map its nodes to their level (see
    `tfnb/passes/cluster.py`) and to the frames and branches that contain them. A Recv inside a loop is not changed,
    because the iteration triggers it.
    """
    return [replace(p, graph=_delay(p.graph, played, level, context, costs)) for p in parts]


def _delay(
    graph: Graph, played: Simulation, level: Mapping[int, int], context: Mapping[int, Any], costs: CostModel
) -> Graph:
    played_nodes = [n for n in graph.nodes.values() if n.id in played.end and n.opdef.kind not in _NO_STEP]
    unconditional = sorted((n for n in played_nodes if not context[n.id]), key=lambda n: played.end[n.id])
    nodes = dict(graph.nodes)
    recvs: list[Node] = [n for n in nodes.values() if n.opdef.kind is Kind.RECV and not n.control]
    for recv in recvs:
        readers = [r for r in graph.consumers.get(Edge(recv.id, 0), ()) if r in played.begin]
        if not readers:
            continue
        latest = min(played.begin[r] for r in readers) - costs.transfer_us(recv.specs[0])
        lowest = min(level[r] for r in readers)
        early_enough = [n for n in unconditional if played.end[n.id] <= latest and level[n.id] < lowest]
        if early_enough:
            nodes[recv.id] = replace(recv, control=(early_enough[-1].id,))
    return Graph(nodes, graph.fetches, graph.targets, graph.feeds, graph.info)
