"""Partitions as bytes, for the task that will run them: the graph as a GraphDef, the rest as JSON (white paper, 3.3).

Only the master sees the whole step, so it decides which nodes may share a cluster, and sends that along. Invariant: the
decoded partition compiles to the same plan as the encoded one.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from dataclasses import replace

from tfnb.errors import InvalidArgumentError, NotFoundError
from tfnb.ir.graphdef.message import as_message
from tfnb.ir.graphdef.step import decode_step_graph, encode_step_graph
from tfnb.ir.opdef import OpDef
from tfnb.ir.step_graph.graph import Edge, Graph
from tfnb.ops import CATALOG
from tfnb.ops.control_flow.send_recv import RECV, SEND
from tfnb.passes.cluster import Grouping
from tfnb.passes.prune import FEED
from tfnb.placement.partition import Partition

__all__ = ["decode_partition", "encode_partition"]

_INTERNAL = {op.name: op for op in (SEND, RECV, FEED)}  # operations that are not in the catalogue


def _find_op(name: str) -> OpDef:
    """The definition of an operation. Raises `NotFoundError` for one that is not registered in this process."""
    try:
        return _INTERNAL.get(name) or CATALOG[name]
    except NotFoundError as e:
        raise NotFoundError(f"{e.message}: an operation of the user's own must be registered at each task") from None


def encode_partition(part: Partition, known: Grouping) -> tuple[bytes, bytes]:
    """Encodes `part`, whose nodes are grouped by `known`, as a pair (GraphDef, JSON).

    Raises `UnimplementedError` for a node that cannot leave this process.
    """
    graph = part.graph
    fields = {
        "device": part.device,
        "numbers": [list(part.feeds), list(part.fetches)],
        "feeds": [list(e) for e in graph.feeds],
        "fetches": [list(e) for e in graph.fetches],
        "targets": list(graph.targets),
        "counters": [i for i in graph.nodes if i in known.counters],
        "levels": _ranked({i: known.level[i] for i in graph.nodes if i in known.level}),
        "contexts": _numbered({i: known.context[i] for i in graph.nodes if i in known.context}),
        "parts": _numbered({i: known.parts[i] for i in graph.nodes if i in known.parts}),
    }
    return bytes(encode_step_graph(graph).SerializeToString()), json.dumps(fields).encode()


def _numbered(values: Mapping[int, Hashable]) -> list[list[int]]:
    """Pairs (node, number) in which nodes with equal values have equal numbers."""
    number = {v: k for k, v in enumerate(dict.fromkeys(values.values()))}
    return [[i, number[v]] for i, v in values.items()]


def _ranked(values: Mapping[int, int]) -> list[list[int]]:
    """Pairs (node, rank). The ranks have the order of the values, without gaps."""
    rank = {v: k for k, v in enumerate(sorted(set(values.values())))}
    return [[i, rank[v]] for i, v in values.items()]


def decode_partition(graph: bytes, described: bytes) -> tuple[Partition, Grouping]:
    """Decodes the result of `encode_partition`: the partition, and the grouping of its nodes into clusters.

    Raises `InvalidArgumentError` for other bytes, `NotFoundError` for an operation that is not registered here.
    """
    nodes = decode_step_graph(as_message("graph", "GraphDef", graph), _find_op)
    try:
        fields = json.loads(described)
        edges = {k: tuple(Edge(int(i), int(p)) for i, p in fields[k]) for k in ("feeds", "fetches")}
        targets = tuple(int(t) for t in fields["targets"])
        feeds, fetches = (tuple(int(n) for n in numbers) for numbers in fields["numbers"])
        tables = [{int(i): int(n) for i, n in fields[k]} for k in ("levels", "contexts", "parts")]
        device, counters = str(fields["device"]), frozenset(int(i) for i in fields["counters"])
    except (ValueError, TypeError, KeyError) as e:
        raise InvalidArgumentError(f"the description of a partition is malformed: {e!r}") from e
    used_nodes = {*targets, *(e.id for es in edges.values() for e in es)}
    if (
        not used_nodes <= nodes.nodes.keys()
        or len(feeds) != len(edges["feeds"])
        or len(fetches) != len(edges["fetches"])
    ):
        raise InvalidArgumentError("the description of a partition does not fit its graph")
    complete = replace(nodes, feeds=edges["feeds"], fetches=edges["fetches"], targets=targets)
    levels, contexts, numbers = tables
    grouping = Grouping(levels, contexts, counters, _part_sets(numbers, complete))
    return Partition(device, complete, feeds, fetches), grouping


def _part_sets(parts: Mapping[int, int], graph: Graph) -> dict[int, frozenset[int]]:
    """For each node a set. The sets of two nodes are equal exactly if the nodes have the same number."""
    return {i: frozenset((n,)) for i, n in parts.items() if i in graph.nodes}
