"""Cluster: a maximal set of nodes of one device that needs no dataflow decision inside.

Made by `passes/cluster.py`, compiled by `codegen`, run as one node of a plan. Invariant: `nodes` is in an order
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
    """`nodes`: in running order, including the Const and Variable nodes they use.

    `inputs`: edges whose values come from outside (feeds, host nodes, other clusters), dense tensors;
    `shape_values`: those of `inputs` whose *value* must be known to specialise (a fed axis, a fed shape);
    `variables`: ids of the Variable nodes in `nodes`; `random`: ids of nodes with runtime random state;
    `outputs`: edges wanted outside. A ref edge in `outputs` means the variable's value at the cluster's end.
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

    def by_id(self) -> Mapping[int, Node]:
        """The nodes by their ids."""
        return {n.id: n for n in self.nodes}

    @property
    def only_reads(self) -> bool:
        """Whether a run changes neither a variable nor the state of random numbers."""
        return not self.random and not any(n.opdef.writes for n in self.nodes)
