"""`tensorflow.tools.graph_transforms.TransformGraph`: rewrites of a frozen graph before it is used elsewhere.

Transforms are texts such as "fold_constants(ignore_errors=true)". Those for which tfnb has a pass or which are about
names alone are there; the others are refused by name. Invariant: the given GraphDef is not changed, and the values of
the outputs stay what they were.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tfnb.client.graph.graph_def import import_graph_def
from tfnb.client.graph.graph_util import extract_sub_graph
from tfnb.errors import InvalidArgumentError, OpError, UnimplementedError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.graphdef.message import as_message
from tfnb.ir.graphdef.message_types import GraphDef, Message, NodeDef
from tfnb.ir.graphdef.tensor_proto import make_tensor_proto
from tfnb.ops import CATALOG
from tfnb.session.session import Session
from tfnb.types import as_dtype

__all__ = ["TransformGraph"]

_CALL = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:\(([^()]*)\))?")
_PAIR = re.compile(r"""\s*([A-Za-z_]\w*)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^,"']*?))\s*(?:,|$)""")
_MOST_FOLDED = 10 << 20  # bytes of one constant that folding may make of smaller ones

Values = Mapping[str, Sequence[str]]


def _node_name(text: str) -> str:
    return text.lstrip("^").partition(":")[0]


def _parsed(text: str) -> list[tuple[str, dict[str, list[str]]]]:
    """Returns the transforms of a text, each with its parameters, which may be given several times."""
    found, at = [], 0
    while text[at:].strip():
        call = _CALL.match(text, at)
        if call is None:
            raise InvalidArgumentError(f"TransformGraph: needed a transform such as name(key=value), got {text[at:]!r}")
        values: dict[str, list[str]] = {}
        rest = call[2] or ""
        while rest.strip():
            pair = _PAIR.match(rest)
            if pair is None:
                raise InvalidArgumentError(f"TransformGraph: {call[1]} needs parameters key=value, got {rest!r}")
            values.setdefault(pair[1], []).append(next((v for v in pair.groups()[1:] if v is not None), ""))
            rest = rest[pair.end() :]
        found.append((call[1], values))
        at = call.end()
    return found


def _kept(graph: Any, nodes: Iterable[Any]) -> GraphDef:
    """Returns the graph with these nodes only."""
    result = type(graph)()
    result.versions.CopyFrom(graph.versions)
    result.library.CopyFrom(graph.library)
    result.node.extend(nodes)
    return result


def _named(graph: GraphDef, names: Iterable[str]) -> list[str]:
    """Returns the names; raises `InvalidArgumentError` for one that no node has."""
    there, wanted = {node.name for node in graph.node}, [_node_name(name) for name in names]
    missing = [name for name in wanted if name not in there]
    if missing:
        raise InvalidArgumentError(f"TransformGraph: the graph has no node {missing[0]!r}")
    return wanted


def _strip_unused(graph: GraphDef, inputs: list[str], outputs: list[str], values: Values) -> GraphDef:
    result = _kept(graph, graph.node)
    dtypes = dict(zip(values.get("name", ()), values.get("type_for_name", ()), strict=False))
    for node in result.node:
        if node.name in inputs and node.op != "Placeholder":
            default = "float32" if "dtype" not in node.attr else as_dtype(node.attr["dtype"].type).name
            kind = (dtypes.get(node.name) or (values.get("type") or [default])[0]).removeprefix("DT_").lower()
            kind = {"float": "float32", "double": "float64", "half": "float16"}.get(kind, kind)
            if "T" in node.attr and not values:
                kind = as_dtype(node.attr["T"].type).name
            node.op = "Placeholder"
            del node.input[:]
            node.attr.clear()
            node.attr["dtype"].type = as_dtype(kind).enum
    return extract_sub_graph(result, _named(result, outputs))


def _remove_nodes(graph: GraphDef, inputs: list[str], outputs: list[str], values: Values) -> GraphDef:
    ops = set(values.get("op", ()))
    if not ops:
        raise InvalidArgumentError("TransformGraph: remove_nodes needs the parameter op, such as op=Identity")
    needed = {_node_name(text) for node in graph.node for text in node.input if text.startswith("^")}
    instead = {
        node.name: node.input[0]
        for node in graph.node
        if node.op in ops and len(node.input) == 1 and node.name not in {*inputs, *outputs, *needed}
    }

    def source(text: str) -> str:
        while text.removesuffix(":0") in instead:
            text = instead[text.removesuffix(":0")]
        return text

    result = _kept(graph, (node for node in graph.node if node.name not in instead))
    for node in result.node:
        node.input[:] = [source(text) for text in node.input]
    return result


def _fold(graph: Any, inputs: list[str], outputs: list[str], values: Values) -> GraphDef:
    """Replaces what constants alone determine, and that other nodes or the outputs read, by its value."""
    graph = extract_sub_graph(graph, _named(graph, outputs))
    constant: set[str] = set()
    by_name = {node.name: node for node in graph.node}
    for name in _ordered(graph):
        node = by_name[name]
        op = CATALOG.get(node.op)
        pure = op is not None and not op.stateful and len(op.output_args) == 1 and not op.writes
        sources = [_node_name(text) for text in node.input]
        if node.op == "Const" or (sources and pure and constant.issuperset(sources)):
            constant.add(name)
    constant -= {*inputs}
    read = {_node_name(t) for node in graph.node if node.name not in constant for t in node.input} | {*outputs}
    folded = [n for n in sorted(constant & read) if by_name[n].op != "Const"]
    builder = GraphBuilder()
    with builder.as_default():
        import_graph_def(_kept(graph, (n for n in graph.node if n.name in constant)), name="")
    with Session(graph=builder) as session:
        for name in folded:
            try:
                value = session.run(f"{name}:0")
            except OpError:
                if (values.get("ignore_errors") or ["false"])[0] != "true":
                    raise
                continue
            if value.nbytes > _MOST_FOLDED:
                continue
            node = by_name[name]
            device = node.device
            node.Clear()
            node.name, node.op, node.device = name, "Const", device
            node.attr["value"].tensor.CopyFrom(make_tensor_proto(value))
            node.attr["dtype"].type = node.attr["value"].tensor.dtype
    return extract_sub_graph(graph, outputs)


def _ordered(graph: GraphDef) -> list[str]:
    """Returns the names of the nodes, each after its inputs; nodes of loops keep their places."""
    by_name = {node.name: node for node in graph.node}
    done: dict[str, None] = {}
    started: set[str] = set()
    for first in by_name:
        stack = [(first, False)]
        while stack:
            name, ready = stack.pop()
            if ready:
                done.setdefault(name)
            elif name in by_name and name not in started:
                started.add(name)
                stack.append((name, True))
                stack.extend((_node_name(text), False) for text in reversed(by_name[name].input))
    return list(done)


def _sort(graph: GraphDef) -> GraphDef:
    by_name = {node.name: node for node in graph.node}
    return _kept(graph, (by_name[name] for name in _ordered(graph)))


def _merge(graph: Any, kept: set[str]) -> GraphDef:
    """Makes equal nodes one, until there are no more."""
    while True:
        seen: dict[bytes, str] = {}
        instead: dict[str, str] = {}
        for node in graph.node:
            op = CATALOG.get(node.op)
            if op is None or op.stateful or node.name in kept:
                continue
            plain = type(node)()
            plain.CopyFrom(node)
            plain.name = ""
            other = seen.setdefault(plain.SerializeToString(deterministic=True), node.name)
            if other != node.name:
                instead[node.name] = other
        if not instead:
            return graph
        graph = _kept(graph, (node for node in graph.node if node.name not in instead))
        for node in graph.node:
            for i, text in enumerate(node.input):
                name = _node_name(text)
                if name in instead:
                    node.input[i] = text.replace(name, instead[name], 1)


def _each(change: Callable[[Any, Values], None]) -> Callable[..., Any]:
    def apply(graph: GraphDef, _inputs: list[str], _outputs: list[str], values: Values) -> GraphDef:
        result = _kept(graph, graph.node)
        for node in result.node:
            change(node, values)
        return result

    return apply


def _with_device(node: NodeDef, values: Values) -> None:
    """Sets the device of a node, or removes it."""
    if (values.get("if_default") or ["false"])[0] != "true" or not node.device:
        node.device = (values.get("device") or [""])[0]


def _without_attribute(node: NodeDef, values: Values) -> None:
    if (values.get("op_name") or ["*"])[0] in ("*", node.op):
        for name in values.get("attribute_name", ()):
            node.attr.pop(name, None)


def _without_control(graph: GraphDef) -> GraphDef:
    result = _kept(graph, graph.node)
    for node in result.node:
        node.input[:] = [text for text in node.input if not text.startswith("^")]
    return result


def _with_op(node: NodeDef, values: Values) -> None:
    if node.op == (values.get("old_op_name") or [""])[0]:
        node.op = (values.get("new_op_name") or [""])[0]


_TRANSFORMS: Mapping[str, Callable[..., Any]] = {
    "fold_constants": _fold,
    "merge_duplicate_nodes": lambda graph, inputs, outputs, _: _merge(graph, {*inputs, *outputs}),
    "remove_attribute": _each(_without_attribute),
    "remove_control_dependencies": lambda graph, *_: _without_control(graph),
    "remove_device": lambda graph, inputs, outputs, _: _each(_with_device)(graph, inputs, outputs, {}),
    "remove_nodes": _remove_nodes,
    "rename_op": _each(_with_op),
    "set_device": _each(_with_device),
    "sort_by_execution_order": lambda graph, *_: _sort(graph),
    "strip_unused_nodes": _strip_unused,
}


def TransformGraph(
    input_graph_def: Message | bytes, inputs: Sequence[str], outputs: Sequence[str], transforms: Sequence[str]
) -> GraphDef:
    """Returns a GraphDef to which the transforms were applied in turn.

    input_graph_def: a GraphDef. inputs, outputs: names of nodes. transforms: texts with names and parameters, as
    "strip_unused_nodes(type=float)". Raises `UnimplementedError` for a transform that tfnb lacks, and
    `InvalidArgumentError` for names that the graph does not have.
    """
    given = as_message("graph", "GraphDef", input_graph_def)
    graph = _kept(given, given.node)
    of_inputs, of_outputs = [_node_name(n) for n in inputs], _named(graph, outputs)
    for name, values in _parsed(" ".join(transforms)):
        if name not in _TRANSFORMS:
            raise UnimplementedError(
                f"TransformGraph: the transform {name!r} is not there, only {', '.join(sorted(_TRANSFORMS))}"
            )
        graph = _TRANSFORMS[name](graph, of_inputs, of_outputs, values)
    return graph
