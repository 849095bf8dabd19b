"""Operations on GraphDefs without a graph: `tf.graph_util` (parts of a graph, frozen graphs).

Invariant: the arguments never change; the results are new messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tfnb.errors import DTypeError, GraphError, NotFoundError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.graphdef.attrs import encode_value
from tfnb.ir.graphdef.message import as_message
from tfnb.ir.graphdef.message_types import Message, NodeDef
from tfnb.ir.graphdef.tensor_proto import encode_array
from tfnb.ir.protos import proto
from tfnb.ir.tensor import Runner
from tfnb.types import Shape, as_dtype

__all__ = ["API"]

_VARIABLES = ("Variable", "VariableV2", "VarHandleOp")


def _source(text: str) -> str:
    """Returns the name of the node in the name of an input."""
    return text.removeprefix("^").partition(":")[0]


def _taken(graph_def: Message | bytes, dest_nodes: Sequence[str]) -> tuple[Any, dict[str, Any]]:
    message = as_message("graph", "GraphDef", graph_def)
    if isinstance(dest_nodes, str):
        raise DTypeError(f"dest_nodes must be a list of node names, got the text {dest_nodes!r}")
    nodes = {n.name: n for n in message.node}
    for name in dest_nodes:
        if name not in nodes:
            raise NotFoundError(f"the GraphDef has no node {name!r}")
    return message, nodes


def extract_sub_graph(graph_def: Message | bytes, dest_nodes: Sequence[str]) -> Any:
    """Returns the GraphDef of the nodes `dest_nodes` (names) and all that they need, in the order of `graph_def`.

    Raises `NotFoundError` for a name without a node, and `GraphError` for an input that is not a node.
    """
    message, nodes = _taken(graph_def, dest_nodes)
    node_names: set[str] = set()
    stack = list(dest_nodes)
    while stack:
        name = stack.pop()
        if name in node_names:
            continue
        node_names.add(name)
        for text in nodes[name].input:
            if _source(text) not in nodes:
                raise GraphError(f"GraphDef node {name!r}: its input {text!r} is not in the graph")
            stack.append(_source(text))
    result = _like(message)
    result.node.extend(n for n in message.node if n.name in node_names)
    return result


def _like(message: Message) -> Any:
    """Returns a GraphDef without nodes, with the version and the functions of another."""
    result = proto("graph").GraphDef()
    for part in ("library", "versions"):
        if message.HasField(part):
            getattr(result, part).CopyFrom(getattr(message, part))
    return result


def remove_training_nodes(input_graph: Message | bytes, protected_nodes: Iterable[str] | None = None) -> Any:
    """Returns the GraphDef `input_graph` without CheckNumerics and Identity nodes; their readers read their inputs.

    Nodes in `protected_nodes` stay, and so do Identity nodes at either end of a control edge, except for edges of
    CheckNumerics nodes, which go with them.
    """
    message = as_message("graph", "GraphDef", input_graph)
    kept = set(protected_nodes or ())
    checks = {n.name: n.input[0] for n in message.node if n.op == "CheckNumerics" and n.name not in kept}
    inputs = {n.name: [t for t in n.input if not (t.startswith("^") and _source(t) in checks)] for n in message.node}
    kept |= {_source(t) for texts in inputs.values() for t in texts if t.startswith("^")}
    nodes = {n.name: n for n in message.node}
    source_of = dict(checks)
    for n in message.node:
        if n.op == "Identity" and n.name not in kept and len(inputs[n.name]) == 1:
            source = nodes.get(_source(n.input[0]))
            if source is not None and not n.input[0].startswith("^") and source.op not in _VARIABLES:
                source_of[n.name] = n.input[0]
    result = _like(message)
    for n in message.node:
        if n.name not in source_of:
            copy = result.node.add()
            copy.CopyFrom(n)
            copy.input[:] = [_followed(t, source_of) for t in inputs[n.name]]
    return result


def _followed(text: str, through: dict[str, str]) -> str:
    visited: set[str] = set()
    while not text.startswith("^") and _source(text) in through and text not in visited:
        visited.add(text)
        text = through[_source(text)]
    return text


def convert_variables_to_constants(
    sess: Runner,
    input_graph_def: Message | bytes,
    output_node_names: Sequence[str],
    variable_names_whitelist: Iterable[str] | None = None,
    variable_names_blacklist: Iterable[str] | None = None,
) -> Any:
    """Returns a frozen graph: the nodes that `output_node_names` need, with constants in place of variables.

    The constants have the values of the session. variable_names_whitelist: only these variables;
    variable_names_blacklist: all but these. Raises `NotFoundError` for a name without a node, and
    `FailedPreconditionError` for a variable without a value.
    """
    part = extract_sub_graph(input_graph_def, output_node_names)
    allowed = None if variable_names_whitelist is None else set(variable_names_whitelist)
    excluded = set(variable_names_blacklist or ())
    names = [
        n.name
        for n in part.node
        if n.op in _VARIABLES and (allowed is None or n.name in allowed) and n.name not in excluded
    ]
    values = dict(zip(names, sess.run([f"{n}:0" for n in names]), strict=True)) if names else {}
    result = _like(part)
    nodes = {n.name: n for n in part.node}
    for n in part.node:
        copy = result.node.add()
        if n.name in values:
            _freeze(copy, n.name, values[n.name])
        elif n.op == "ReadVariableOp" and _source(n.input[0]) in values:
            copy.name, copy.op, copy.device = n.name, "Identity", n.device
            copy.input.extend(n.input)
            copy.attr["T"].CopyFrom(n.attr["dtype"])
        else:
            copy.CopyFrom(n)
            if n.op in ("RefEnter", "RefSwitch") and _referred(n, nodes) in values:
                copy.op = n.op.removeprefix("Ref")
    return result


def _referred(node: NodeDef, nodes: Mapping[str, Any]) -> str:
    """Returns the variable whose reference reaches the node through RefEnter and RefSwitch nodes."""
    for _ in nodes:
        if node.op not in ("RefEnter", "RefSwitch"):
            break
        node = nodes[_source(node.input[0])]
    return str(node.name)


def _freeze(node: NodeDef, name: str, value: np.ndarray | np.generic) -> None:
    message = encode_array(value)
    node.name, node.op = name, "Const"
    node.attr["dtype"].CopyFrom(encode_value("type", False, as_dtype(value.dtype)))
    node.attr["value"].tensor.CopyFrom(message)


def tensor_shape_from_node_def_name(graph: GraphBuilder, input_name: str) -> Shape:
    """Returns the static shape of a tensor, which `input_name` names as in a NodeDef ("x" or "x:1")."""
    return graph.get_tensor_by_name(input_name if ":" in input_name else f"{input_name}:0").shape


API: dict[str, Any] = {
    "graph_util.extract_sub_graph": extract_sub_graph,
    "graph_util.remove_training_nodes": remove_training_nodes,
    "graph_util.convert_variables_to_constants": convert_variables_to_constants,
    "graph_util.tensor_shape_from_node_def_name": tensor_shape_from_node_def_name,
}
