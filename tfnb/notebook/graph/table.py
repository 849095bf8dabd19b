"""Graphs of every kind as one table: the user's graph, a stage of the compiler, a GraphDef of tfnb or of TensorFlow.

Invariant: `source`, `port` and `target` list the data edges, `before` and `after` the control edges, all as rows of the
table. An input that a file names but does not contain is counted in `missing`, and nothing in a file is run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, cast

import numpy as np

from tfnb.caches import remembered
from tfnb.errors import DTypeError, OpError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.graphdef.message import as_message
from tfnb.ir.graphdef.message_types import GraphDef, NodeDef, TensorProto
from tfnb.ir.graphdef.tensor_proto import decode_array, decode_dtype, decode_shape
from tfnb.ir.operation import Operation
from tfnb.ir.step_graph.graph import Graph, Node
from tfnb.types import Shape

__all__ = ["UPDATES", "GraphTable", "graph_table", "is_variable", "shape_text", "table_of_nodes"]

# The card shows values of at most this many elements, and texts of at most this many characters.
SMALL_VALUE = 64
LONGEST = 600
UPDATES = ("Apply", "SparseApply", "ResourceApply", "ResourceSparseApply")
# Attributes in files that repeat the table, or mean nothing to a reader.
_SILENT = frozenset({"_output_shapes", "value", "_class"})


@dataclass
class GraphTable:
    """The nodes of a graph as columns, and its edges.

    `specs` are texts such as "float32 ?×784"; `outputs[i]` are the indices in `specs` of the outputs of node i.
    `sizes[i]` is the number of elements of variable i (-1: unknown), and 0 for other nodes and for slots of an
    optimizer. `details(i)` returns the attributes, the value and the source line of a node: [(label, text)].
    """

    names: list[str]
    types: list[str]
    devices: list[str]
    specs: list[str]
    outputs: list[tuple[int, ...]]
    sizes: np.ndarray
    source: np.ndarray
    port: np.ndarray
    target: np.ndarray
    before: np.ndarray
    after: np.ndarray
    details: Callable[[int], list[tuple[str, str]]]
    missing: int = 0
    notes: dict[str, list[tuple[str, str]]] = field(default_factory=dict)  # texts for scopes, by path


def graph_table(graph: object) -> GraphTable:
    """Returns the table of a `tf.Graph`, a stage of the compiler, operations, a GraphDef or its bytes. Raises
    `DTypeError`.
    """
    if isinstance(graph, GraphBuilder):
        return _of_operations(graph.get_operations())
    if isinstance(graph, Graph):
        return _of_stage(graph)
    if isinstance(graph, (list, tuple)) and all(hasattr(op, "control_inputs") for op in graph):
        return _of_operations(graph)
    if hasattr(graph, "graph_def") and hasattr(graph, "SerializeToString"):  # a MetaGraphDef
        graph = graph.graph_def
    if not (isinstance(graph, (bytes, bytearray)) or hasattr(graph, "SerializeToString")):
        raise DTypeError(f"needed a tf.Graph, a GraphDef or a compiler stage, got {type(graph).__name__}")
    return _of_message(as_message("graph", "GraphDef", graph))


def shape_text(shape: Shape) -> str:
    """Returns the text of a shape: `?×784`, `scalar`, or an empty text where the rank is unknown."""
    if shape.sizes is None:
        return ""
    return "×".join("?" if d is None else str(d) for d in shape.sizes) if shape.sizes else "scalar"


class _Specs:
    """Texts of dtypes and shapes, each stored once."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}
        self.of_files: dict[Any, tuple[int, ...]] = {}
        self._known: dict[Any, int] = {}

    def number(self, dtype: str, shape: Shape) -> int:
        key = (dtype, shape.sizes)
        index = self._known.get(key)
        if index is None:
            text = f"{dtype} {shape_text(shape)}".strip()
            index = self._known[key] = self.texts.setdefault(text, len(self.texts))
        return index


def _of_operations(ops: Sequence[Operation]) -> GraphTable:
    row = {op: i for i, op in enumerate(ops)}
    edges = [(row[t.op], t.index, i) for i, op in enumerate(ops) for t in op.inputs if t.op in row]
    control = [(row[c], i) for i, op in enumerate(ops) for c in op.control_inputs if c in row]
    return table_of_nodes(ops, edges, control)


def _of_stage(graph: Graph) -> GraphTable:
    nodes = [graph.nodes[i] for i in graph.order]
    row = {node.id: i for i, node in enumerate(nodes)}
    edges = [(row[e.id], e.port, i) for i, node in enumerate(nodes) for e in node.inputs]
    control = [(row[c], i) for i, node in enumerate(nodes) for c in node.control]
    return table_of_nodes(nodes, edges, control)


def table_of_nodes(
    nodes: Sequence[Operation] | Sequence[Node],
    edges: Sequence[tuple[int, int, int]],
    control: Sequence[tuple[int, int]],
    names: list[str] | None = None,
    notes: dict[str, list[tuple[str, str]]] | None = None,
) -> GraphTable:
    """Returns the table of operations or of nodes of a step. `edges` are (row, port, row), and `names` are the nodes'
    names in the table.
    """
    specs = _Specs()
    outputs = [tuple(specs.number(s.dtype.name, s.shape) for s in node.specs) for node in nodes]
    sizes = [_size(node.specs[0].shape) if is_variable(node.type) and node.specs else 0 for node in nodes]
    table = _table(
        names or [n.name for n in nodes],
        [n.type for n in nodes],
        [n.device or "" for n in nodes],
        list(specs.texts),
        outputs,
        sizes,
        edges,
        control,
        lambda i: _details(nodes[i]),
    )
    table.notes.update(notes or {})
    return table


def _table(
    names: list[str],
    types: list[str],
    devices: list[str],
    specs: list[str],
    outputs: list[tuple[int, ...]],
    sizes: Iterable[int],
    edges: Sequence[tuple[int, int, int]],
    control: Sequence[tuple[int, int]],
    details: Callable[[int], list[tuple[str, str]]],
    missing: int = 0,
) -> GraphTable:
    data = np.array(edges, np.int64).reshape(-1, 3)
    order = np.array(control, np.int64).reshape(-1, 2)
    size_array = np.array(list(sizes), np.float64)
    size_array[_slots(types, edges)] = 0
    return GraphTable(
        names,
        types,
        devices,
        specs,
        outputs,
        size_array,
        data[:, 0],
        data[:, 1],
        data[:, 2],
        order[:, 0],
        order[:, 1],
        details,
        missing,
    )


def _slots(types: Sequence[str], edges: Iterable[tuple[int, int, int]]) -> list[int]:
    """Returns the variables that updates read in addition to the updated variable, which is their first input."""
    seen_updates: set[int] = set()
    slots = []
    for source, _, target in edges:
        if types[target].startswith(UPDATES):
            if target in seen_updates and is_variable(types[source]):
                slots.append(source)
            seen_updates.add(target)
    return slots


def is_variable(kind: str) -> bool:
    """Returns whether nodes of this type hold trainable state."""
    return kind in ("Variable", "VariableV2", "VarHandleOp")


def _size(shape: Shape) -> int:
    count = shape.num_elements()
    return -1 if count is None else count


def _details(node: Operation | Node) -> list[tuple[str, str]]:
    """Returns the attributes, the value and the source line of an operation or of a node of a step."""
    rows = [(key, getattr(t, "name", str(t))) for key, t in node.types.items()]
    value = None
    if is_dataclass(node.attrs):
        for f in fields(node.attrs):
            attr = getattr(node.attrs, f.name)
            if f.name == "value" and isinstance(attr, np.ndarray):
                value = attr
            else:
                rows.append((f.name, _short(getattr(attr, "name", attr))))
    if value is not None:
        rows.append(("value", _value_text(value)))
    if node.colocation:
        rows.append(("colocated with", ", ".join(str(c) for c in node.colocation)[:LONGEST]))
    if node.origin is not None:
        rows.append(("source", str(node.origin)))
    return rows


def _short(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _value_text(value: np.ndarray) -> str:
    if value.size > SMALL_VALUE:
        head = np.array2string(value.ravel()[:4], separator=", ")
        return f"{head[:-1]}, …] ({value.size:,} values)"
    return _short(np.array2string(value, separator=", "))


# ---- files -------------------------------------------------------------------------------------------


def _of_message(message: GraphDef) -> GraphTable:
    nodes = list(message.node)
    row: dict[str, int] = {}
    for i, node in enumerate(nodes):
        row.setdefault(node.name, i)
    edges, control, missing = [], [], 0
    for i, node in enumerate(nodes):
        for link in node.input:
            is_control = link.startswith("^")
            name, _, port = link[is_control:].partition(":")
            source = row.get(name)
            if source is None:
                missing += 1
            elif is_control:
                control.append((source, i))
            else:
                edges.append((source, int(port) if port.isdecimal() and len(port) < 6 else 0, i))
    specs = _Specs()
    outputs = [_outputs(node, specs) for node in nodes]
    sizes = [_size(_declared(node)) if is_variable(node.op) else 0 for node in nodes]
    return _table(
        [n.name for n in nodes],
        [n.op for n in nodes],
        [n.device for n in nodes],
        list(specs.texts),
        outputs,
        sizes,
        edges,
        control,
        lambda i: _details_in_file(nodes[i]),
        missing,
    )


def _outputs(node: NodeDef, specs: _Specs) -> tuple[int, ...]:
    """Returns the specs of a node's outputs according to the file: all shapes, or the one that the node's attributes
    give.
    """
    attr = node.attr
    enum = next((attr[k].type for k in ("dtype", "T", "DstT", "SrcT") if k in attr), 0)
    if "_output_shapes" not in attr:
        return (specs.number(_dtype(enum), _declared(node)),)
    shape_attr = attr["_output_shapes"]
    key = (enum, shape_attr.SerializeToString())
    numbers = specs.of_files.get(key)
    if numbers is None:
        try:
            numbers = tuple(specs.number(_dtype(enum), decode_shape(s)) for s in shape_attr.list.shape)
        except (OpError, ValueError):
            numbers = ()
        specs.of_files[key] = numbers
    return numbers


def _dtype(enum: int) -> str:
    return _dtype_name(enum % 100)


@remembered("names of dtypes", 256)
def _dtype_name(enum: int) -> str:
    try:
        return decode_dtype(enum).name
    except (OpError, KeyError, ValueError):
        return ""


def _declared(node: NodeDef) -> Shape:
    try:
        if node.op == "Const" and "value" in node.attr:
            return decode_shape(node.attr["value"].tensor.tensor_shape)
        if "shape" in node.attr:
            return decode_shape(node.attr["shape"].shape)
        shape_list = node.attr["_output_shapes"].list.shape if "_output_shapes" in node.attr else ()
        return decode_shape(shape_list[0]) if shape_list else Shape(None)
    except (OpError, ValueError):
        return Shape(None)


def _details_in_file(node: NodeDef) -> list[tuple[str, str]]:
    rows = []
    for key in sorted(node.attr):
        if key in _SILENT:
            continue
        attr = node.attr[key]
        kind = attr.WhichOneof("value")
        if kind == "list":
            items = (_item_text(field.name, v) for field, values in attr.list.ListFields() for v in values)
            rows.append((key, _short(f"[{', '.join(items)}]")))
        elif kind is not None:
            rows.append((key, _short(_item_text(kind, getattr(attr, kind)))))
    if "value" in node.attr and node.attr["value"].WhichOneof("value") == "tensor":
        rows.append(("value", _tensor_text(node.attr["value"].tensor)))
    if "_class" in node.attr:
        rows.append(("colocated with", _short(b", ".join(node.attr["_class"].list.s).decode("utf-8", "replace"))))
    return rows


def _item_text(kind: str, value: object) -> str:
    """Returns the text of a value of an attribute, or of an element of a list, by the name of its field."""
    if kind == "type":
        return _dtype(cast(int, value)) or str(value)
    if kind == "s":
        return cast(bytes, value).decode("utf-8", "replace")
    if kind == "shape":
        return str(decode_shape(cast(Any, value)))
    if kind == "tensor":
        return _tensor_text(cast(Any, value))
    if kind == "func":
        return str(cast(Any, value).name)
    return str(value)


def _tensor_text(message: TensorProto) -> str:
    try:
        count = decode_shape(message.tensor_shape).num_elements()
        if count is None or count > SMALL_VALUE:  # not decoded, because a file may claim any size
            return f"{count:,} values" if count is not None else "unknown size"
        return _value_text(decode_array(message))
    except (OpError, ValueError, TypeError) as error:
        return f"cannot be read: {error}"[:LONGEST]
