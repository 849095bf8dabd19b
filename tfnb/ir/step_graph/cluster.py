"""Cluster: a maximal set of nodes of one device that needs no dataflow decision inside.

It is made by `passes/cluster.py`, compiled by `codegen`, run as one node of a plan. Invariant: `nodes` is in an order
in which they may run one after the other; every edge into the cluster is in `inputs`, every edge that
something outside needs is in `outputs`; shapes become known from the inputs' shapes and `shape_values` alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tfnb.ir.step_graph.graph import Edge, Node

__all__ = ["Cluster"]


@dataclass(frozen=True, eq=False)
class Cluster:
    """Nodes that are compiled together.

    `nodes` are in running order and include the Const and Variable nodes that the others use. `inputs` are the edges
    whose values, dense tensors, come from outside (feeds, host nodes, other clusters). `shape_values` are the inputs
    whose values must be known when the cluster is specialised, such as a fed axis or shape. `variables` are the ids of
    the Variable nodes in `nodes`, `random` the ids of nodes with a random state of the runtime. `outputs` are the edges
    that are read outside; a reference among them stands for the variable's value at the end of the cluster.
    `known_shapes` are the shapes of the inputs as far as the graph fixes them.
    """

    id: int
    name: str
    nodes: tuple[Node, ...]
    inputs: tuple[Edge, ...]
    shape_values: tuple[Edge, ...]
    variables: tuple[int, ...]
    random: tuple[int, ...]
    outputs: tuple[Edge, ...]
    device: str = ""
    known_shapes: tuple[tuple[int | None, ...], ...] = ()

    def by_id(self) -> Mapping[int, Node]:
        """Returns the nodes by their ids."""
        return {n.id: n for n in self.nodes}

    @property
    def only_reads(self) -> bool:
        """Whether a run changes neither a variable nor the state of random numbers."""
        return not self.random and not any(n.opdef.writes for n in self.nodes)
