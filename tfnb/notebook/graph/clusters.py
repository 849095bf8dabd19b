"""The last stage of a compiled step as a graph: a scope for each device and cluster, with the OpenCL generated for it.

A constant or variable that several clusters use appears in each of them, as it does in their programs. Invariant: every
edge of the step is in the graph; an edge between devices goes through its Send and Recv.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tfnb.ir.step_graph.graph import Node
from tfnb.notebook.graph.table import GraphTable, table_of_nodes
from tfnb.passes.cluster import Clustered

__all__ = ["clusters_table"]

Note = tuple[str, str]


def clusters_table(parts: Sequence[Clustered], notes: Mapping[tuple[str, str], Sequence[Note]]) -> GraphTable:
    """Returns the table of the partitions of a step; `notes` are texts for the card of a cluster, by its device and
    name.
    """
    nodes: list[Node] = []
    names: list[str] = []
    edges: list[tuple[int, int, int]] = []
    control: list[tuple[int, int]] = []
    texts: dict[str, list[Note]] = {}
    for part in parts:
        begin = len(nodes)
        scope = f"{_short(part.clusters[0].device)}/" if len(parts) > 1 and part.clusters else ""
        rows: dict[tuple[int, int], int] = {}  # (cluster or -1, node) -> row
        first_row: dict[int, int] = {}
        groups = [(k, f"{scope}{c.name}/", c.nodes) for k, c in enumerate(part.clusters)]
        groups.append((-1, scope, tuple(part.graph.nodes[i] for i in part.singles)))
        for k, prefix, members in groups:
            if k >= 0:
                c = part.clusters[k]
                texts[prefix[:-1]] = list(notes.get((c.device, c.name), ()))
            for node in members:
                rows[k, node.id] = len(nodes)
                first_row.setdefault(node.id, len(nodes))
                nodes.append(node)
                names.append(prefix + node.name)
        for (k, _), row in list(rows.items()):
            sources = [(rows.get((k, e.id), first_row.get(e.id)), e.port) for e in nodes[row].inputs]
            edges += [(source, port, row) for source, port in sources if source is not None]
            control_rows = [rows.get((k, c), first_row.get(c)) for c in nodes[row].control]
            control += [(source, row) for source in control_rows if source is not None]
        assert len(nodes) - begin == len(rows)
    return table_of_nodes(nodes, edges + _sent(nodes), control, names, texts)


def _short(device: str) -> str:
    return device.rpartition("device:")[2] or device or "device"


def _sent(nodes: Sequence[Node]) -> list[tuple[int, int, int]]:
    """Returns the edges from each Send to its Recv."""
    keys = [(node.type, _key(node.attrs)) for node in nodes]
    sends = {key: i for i, (kind, key) in enumerate(keys) if kind in ("_Send", "_HostSend")}
    return [(sends[key], 0, i) for i, (kind, key) in enumerate(keys) if kind in ("_Recv", "_HostRecv") and key in sends]


def _key(attrs: object) -> tuple[Any, ...]:
    return tuple(getattr(attrs, name, "") for name in ("tensor_name", "send_device", "recv_device"))
