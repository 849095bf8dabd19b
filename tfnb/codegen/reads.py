"""Programs that only read variables, described as data (OSDI'16, section 4.2: a parameter server's part of a step).

A device may answer such a program without launching kernels. Invariant: the description has the effect of the
program's steps.
"""

from __future__ import annotations

from collections.abc import Mapping

from tfnb.codegen.fusion.size_values import has_sizes
from tfnb.codegen.fusion.specialize import Specialized
from tfnb.codegen.program import Read
from tfnb.ir.step_graph.cluster import Cluster
from tfnb.ir.step_graph.graph import Edge, Node

__all__ = ["reads_of"]


def reads_of(cluster: Cluster, specialized: Specialized) -> tuple[Read, ...]:
    """Returns the read that each output is; empty if the cluster does more than read variables."""
    if not cluster.only_reads:
        return ()
    nodes = cluster.by_id()
    reads = [_read(e, cluster, specialized, nodes) for e in cluster.outputs]
    return tuple(r for r in reads if r is not None) if None not in reads else ()


def _read(e: Edge, cluster: Cluster, specialized: Specialized, nodes: Mapping[int, Node]) -> Read | None:
    if e in cluster.inputs:
        return None
    variable = specialized.variable_of.get(e)
    if variable is not None:
        return Read(cluster.variables.index(variable))
    node = nodes[e.id]
    opdef = node.opdef
    if opdef.alias is not None:
        return _read(node.inputs[opdef.alias], cluster, specialized, nodes)
    if not opdef.takes_rows or any(specialized.values[axis].any() for axis in node.inputs[2:]):
        return None
    table = _read(node.inputs[0], cluster, specialized, nodes)
    if table is None or table.rows is not None:
        return None
    if specialized.inputs[node.id][0].shape != specialized.variables[cluster.variables[table.variable]].shape:
        return None  # these are rows of a view of another shape, not of the variable
    numbers = node.inputs[1]
    if numbers in specialized.values:
        if has_sizes(specialized.values[numbers]):
            return None
        return Read(table.variable, specialized.values[numbers])
    return Read(table.variable, cluster.inputs.index(numbers)) if numbers in cluster.inputs else None
