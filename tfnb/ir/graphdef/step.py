"""A step's graph, or a partition of it, as a GraphDef for the task that will run it (white paper, section 3.3).

The names of nodes are their ids, and the shapes that were inferred are written, since passes may have made any of the
nodes. Invariant: decoding gives the graph that was encoded; a node that holds an object of its process is refused.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from tfnb.errors import InvalidArgumentError, Origin, UnimplementedError
from tfnb.ir.graphdef.attrs import (
    decode_attrs,
    encode_attrs,
    encode_value,
    is_sendable,
    numbers_of,
    type_lists_of,
)
from tfnb.ir.graphdef.message_types import GraphDef, NodeDef
from tfnb.ir.graphdef.tensor_proto import decode_dtype, decode_shape
from tfnb.ir.opdef import OpDef
from tfnb.ir.protos import proto
from tfnb.ir.step_graph.graph import Edge, Graph, Node
from tfnb.types import TensorSpec

__all__ = ["decode_step_graph", "encode_step_graph"]


def encode_step_graph(graph: Graph) -> GraphDef:
    """Returns the GraphDef of a step's graph, which does not contain fetches, feeds and targets.

    Raises `UnimplementedError` with the name of a node that holds an object of this process.
    """
    message: GraphDef = proto("graph").GraphDef()
    for i in graph.order:
        _encode(graph.nodes[i], message.node.add())
    return message


def _encode(node: Node, into: NodeDef) -> None:
    if not is_sendable(node.attrs):
        raise UnimplementedError(f"{node.type} holds an object of this process and cannot run on another task", node)
    into.name, into.op, into.device = str(node.id), node.type, node.device
    into.input.extend(f"{e.id}:{e.port}" for e in node.inputs)
    into.input.extend(f"^{c}" for c in node.control)
    encode_attrs(node.opdef, node.types, node.attrs, into.attr)
    encode_value("s", False, node.name, into.attr["_name"])
    encode_value("type", True, [s.dtype for s in node.specs], into.attr["_dtypes"])
    encode_value("shape", True, [s.shape for s in node.specs], into.attr["_shapes"])
    encode_value("b", True, [s.ref for s in node.specs], into.attr["_refs"])
    if node.origin is not None:
        encode_value("s", True, [str(part) for part in node.origin], into.attr["_origin"])


def decode_step_graph(message: GraphDef, find: Callable[[str], OpDef]) -> Graph:
    """Returns the graph of a GraphDef that `encode_step_graph` made; `find` returns the op of a name.

    Raises `InvalidArgumentError` for a message that is not the encoding of a step's graph.
    """
    nodes: dict[int, Node] = {}
    for node_def in message.node:
        node = _decode(node_def, find)
        if node.id in nodes:
            raise InvalidArgumentError(f"two nodes of a step's graph have the id {node.id}")
        nodes[node.id] = node
    for node in nodes.values():
        for e in node.inputs:
            if e.id not in nodes or not 0 <= e.port < len(nodes[e.id].specs):
                raise InvalidArgumentError(f"an input is {e.id}:{e.port}, which is not in the graph", node)
        if not nodes.keys() >= set(node.control):
            raise InvalidArgumentError(f"it waits for nodes {node.control}, which are not in the graph", node)
    graph = Graph(nodes)
    graph.order  # noqa: B018  computing the order raises an error for cycles
    return graph


def _decode(given: NodeDef, find: Callable[[str], OpDef]) -> Node:
    try:
        opdef, attr = find(given.op), given.attr
        types, attrs = _split(opdef, decode_attrs(opdef, attr))
        inputs = tuple(Edge(*map(int, t.split(":"))) for t in given.input if not t.startswith("^"))
        control = tuple(int(t[1:]) for t in given.input if t.startswith("^"))
        specs = tuple(
            TensorSpec(decode_dtype(t), decode_shape(s), r)
            for t, s, r in zip(attr["_dtypes"].list.type, attr["_shapes"].list.shape, attr["_refs"].list.b, strict=True)
        )
        origin_parts = [s.decode() for s in attr["_origin"].list.s] if "_origin" in attr else None
        origin = None if origin_parts is None else Origin(origin_parts[0], int(origin_parts[1]), origin_parts[2])
        name = attr["_name"].s.decode()
        return Node(int(given.name), name, opdef, inputs, control, attrs, types, specs, given.device, origin)
    except (ValueError, TypeError, IndexError) as e:
        raise InvalidArgumentError(f"node {given.name[:40]!r} of a step's graph is malformed: {e}") from e


def _split(opdef: OpDef, values: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    """Splits decoded attributes into type variables with numbers, and an object of the op's attrs class."""
    kinds = {*opdef.types, *numbers_of(opdef), *type_lists_of(opdef)}
    types = {name: v for name, v in values.items() if name in kinds}
    fields = {f.name for f in dataclasses.fields(opdef.attrs)}
    return types, opdef.attrs(
        **{name: v for name, v in values.items() if name in fields}
    )  # the length of an argument may also be a field of the attrs class
