"""A partition on its way to the task that will run it: its graph as a GraphDef, the rest as JSON (white paper, 3.3).

Which nodes may share a cluster is decided where the whole step is seen, so it goes along. Invariant: what comes out
makes the same plan as what went in.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tfnb.errors import InvalidArgumentError, NotFoundError
from tfnb.ir.graph import Edge, Graph
from tfnb.ir.graphdef.message import as_message
from tfnb.ir.graphdef.step import decode_step_graph, encode_step_graph
from tfnb.ir.opdef import OpDef
from tfnb.ops import CATALOG
from tfnb.ops.sendrecv import RECV, SEND
from tfnb.passes.cluster import Grouping
from tfnb.passes.prune import FEED
from tfnb.placement.partition import Partition

__all__ = ["decode_part", "encode_part"]

_OWN = {op.name: op for op in (SEND, RECV, FEED)}  # which stand outside the catalogue


def _find(name: str) -> OpDef:
    try:
        return _OWN.get(name) or CATALOG[name]
    except NotFoundError as e:
        raise NotFoundError(f"{e.message}: an operation of the user's own must be registered at each task") from None


def encode_part(part: Partition, known: Grouping) -> tuple[bytes, bytes]:
    """(a GraphDef, JSON). Raises `UnimplementedError` for a node that lives in this process only."""
    graph = part.graph
    described = {
        "device": part.device,
        "numbers": [list(part.feeds), list(part.fetches)],
        "feeds": [list(e) for e in graph.feeds],
        "fetches": [list(e) for e in graph.fetches],
        "targets": list(graph.targets),
        "counters": [i for i in graph.nodes if i in known.counters],
        "levels": _numbered({i: known.level[i] for i in graph.nodes if i in known.level}, ordered=True),
        "contexts": _numbered({i: known.context[i] for i in graph.nodes if i in known.context}),
        "parts": _numbered({i: known.parts[i] for i in graph.nodes if i in known.parts}),
    }
    return bytes(encode_step_graph(graph).SerializeToString()), json.dumps(described).encode()


def _numbered(values: Mapping[int, Any], ordered: bool = False) -> list[list[int]]:
    """Pairs (node, number): equal values have equal numbers, and theirs is the order where there is one."""
    distinct = sorted(set(values.values())) if ordered else list(dict.fromkeys(values.values()))
    number = {v: k for k, v in enumerate(distinct)}
    return [[i, number[v]] for i, v in values.items()]


def decode_part(graph: bytes, described: bytes) -> tuple[Partition, Grouping]:
    """What `encode_part` made. Raises `InvalidArgumentError` for anything else."""
    nodes = decode_step_graph(as_message("graph", "GraphDef", graph), _find)
    try:
        said = json.loads(described)
        edges = {k: tuple(Edge(int(i), int(p)) for i, p in said[k]) for k in ("feeds", "fetches")}
        targets = tuple(int(t) for t in said["targets"])
        feeds, fetches = (tuple(int(n) for n in numbers) for numbers in said["numbers"])
        tables = [{int(i): int(n) for i, n in said[k]} for k in ("levels", "contexts", "parts")]
        device, counters = str(said["device"]), frozenset(int(i) for i in said["counters"])
    except (ValueError, TypeError, KeyError) as e:
        raise InvalidArgumentError(f"the description of a partition is malformed: {e!r}") from e
    named = {*targets, *(e.id for es in edges.values() for e in es)}
    if not named <= nodes.nodes.keys() or len(feeds) != len(edges["feeds"]) or len(fetches) != len(edges["fetches"]):
        raise InvalidArgumentError("the description of a partition does not fit its graph")
    made = replace(nodes, feeds=edges["feeds"], fetches=edges["fetches"], targets=targets)
    levels, contexts, fed = tables
    return Partition(device, made, feeds, fetches), Grouping(levels, contexts, counters, _fed(fed, made))


def _fed(parts: Mapping[int, int], graph: Graph) -> dict[int, Any]:
    return {i: frozenset((n,)) for i, n in parts.items() if i in graph.nodes}
