"""The data that the graph view draws: the tree of boxes with bundled edges, groups of equal structure, and statistics.

Everything is sent to the browser at once, as compressed columns, so that navigating needs no kernel; only the
attributes and values of a selected node are requested one by one. Invariant: the nodes, parameters, time and memory of
a box are the sums over the nodes inside it.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.notebook.graph.edge_bundles import Bundles, EdgeEnds, border, bundles, edge_ends
from tfnb.notebook.graph.extracted_nodes import ATTACHED, INPUTS, extract_nodes, extract_unconnected
from tfnb.notebook.graph.structure import groups, structure
from tfnb.notebook.graph.table import GraphTable, graph_table, is_variable
from tfnb.notebook.graph.tree import Tree, draft, fold, number
from tfnb.notebook.protocol.graph import (
    KINDS,
    FloatColumn,
    FloatLengths,
    GraphCard,
    GraphHead,
    IntColumn,
)
from tfnb.session.chrome_trace import times_of

__all__ = ["KINDS", "GraphModel", "graph_model"]

_FLOW = frozenset(
    {
        "Switch",
        "Merge",
        "Enter",
        "Exit",
        "NextIteration",
        "LoopCond",
        "RefSwitch",
        "RefEnter",
        "RefMerge",
    }
)
LONGEST_LABEL = 200


@dataclass
class GraphModel:
    """Columns over boxes (see `Tree`), and the bundles of edges between them.

    `kind`: one of KINDS. `nodes`: how many are inside. `parameters`: how many the variables inside have (-1: unknown).
    `extracted`: see extracted_nodes.py. `group`: the group of boxes with equal structure, or -1. `inlet` and `outlet`:
    the numbers of drawn data edges through the border. `time_us` and `nbytes` are of a traced step, or None.
    """

    table: GraphTable
    tree: Tree
    bundles: Bundles
    kind: np.ndarray
    nodes: np.ndarray
    parameters: np.ndarray
    extracted: np.ndarray
    group: np.ndarray
    inlet: np.ndarray
    outlet: np.ndarray
    time_us: np.ndarray | None = None
    nbytes: np.ndarray | None = None

    def box(self, path: str) -> int:
        """Returns the number of the box with this path. Raises `InvalidArgumentError` if there is none."""
        box = self._boxes.get(path)
        if box is None:
            raise InvalidArgumentError(f"the graph has no scope or node {path!r}")
        return box

    @cached_property
    def _boxes(self) -> Mapping[str, int]:
        paths: dict[str, int] = {}
        for b in range(len(self.tree.parent)):
            paths.setdefault(self.tree.path(b), b)
        return paths

    def card(self, box: int) -> GraphCard:
        """Details of a box that its columns do not contain: `rows` of texts, and `code` that can be unfolded."""
        if not 0 <= box < len(self.tree.parent):
            raise InvalidArgumentError(f"needed a box from 0 to {len(self.tree.parent) - 1}, got {box}")
        rows: list[tuple[str, str]] = []
        code: list[tuple[str, str]] = []
        node = int(self.tree.node[box])
        if node >= 0:
            for label, text in self.table.details(node):
                (code if "\n" in text and label != "source" else rows).append((label, text))
        path = self.tree.path(box)
        for scope, notes in self.table.notes.items():
            if path == scope or path.startswith(f"{scope}/"):
                code += notes
        return {"box": box, "rows": rows, "code": code}

    def to_bytes(self) -> bytes:
        """Returns the message for the browser (see tfnb/notebook/protocol/graph.py), compressed by deflate."""
        labels, label = _interned(_cut(text) for text in self.tree.label)
        types, kind = _interned(self.table.types)
        devices, device = _interned(_cut(d) for d in self.table.devices)
        outputs = np.array([o[0] if o else -1 for o in self.table.outputs], np.int32)
        leaf, t, b = self.tree.leaf, self.table, self.bundles
        columns: dict[IntColumn, np.ndarray] = {
            "parent": self.tree.parent,
            "label": label,
            "kind": self.kind,
            "main": self.tree.main,
            "type": _of_boxes(self.tree, kind),
            "device": _of_boxes(self.tree, device),
            "spec": _of_boxes(self.tree, outputs),
            "nodes": self.nodes,
            "extracted": self.extracted,
            "group": self.group,
            "inlet": self.inlet,
            "outlet": self.outlet,
            "start": b.start,
            "stop": b.stop,
            "tensors": b.tensors,
            "controls": b.controls,
            "carried": b.spec,
            "source": leaf[t.source],
            "target": leaf[t.target],
            "before": leaf[t.before],
            "after": leaf[t.after],
        }
        float_columns: dict[FloatColumn, np.ndarray | None] = {
            "parameters": self.parameters,
            "time": self.time_us,
            "bytes": self.nbytes,
        }
        lengths: FloatLengths = {}
        for name, column in float_columns.items():
            if column is not None:
                lengths[name] = len(column)
        head: GraphHead = {
            "version": 1,
            "labels": labels,
            "types": types,
            "devices": devices,
            "specs": t.specs,
            "kinds": list(KINDS),
            "missing": t.missing,
            "ints": {k: len(v) for k, v in columns.items()},
            "floats": lengths,
        }
        text = json.dumps(head, ensure_ascii=True).encode()
        text += b" " * (-(len(text) + 4) % 8)
        ints = b"".join(np.ascontiguousarray(v, "<i4").tobytes() for v in columns.values())
        ints += bytes(-len(ints) % 8)
        floats = b"".join(np.ascontiguousarray(v, "<f8").tobytes() for v in float_columns.values() if v is not None)
        return zlib.compress(struct.pack("<I", len(text)) + text + ints + floats, 1)


def graph_model(graph: object, run_metadata: object = None) -> GraphModel:
    """Returns the model of a `tf.Graph`, a GraphDef (or its bytes), a stage of the compiler, or a table of nodes.

    `run_metadata`: the times and memory of a traced step (`tf.RunMetadata`, its `step_stats`, or TensorFlow's message).
    Raises `DTypeError` if `graph` is not a graph.
    """
    table = graph if isinstance(graph, GraphTable) else graph_table(graph)
    tree, structures = _folded(table)
    data, control = _edge_ends(tree, table)
    joined = bundles(tree, data, *_carried(table), control)
    nodes = _sums(tree, np.ones(len(table.names)))
    reasons = extract_nodes(tree, table.types, joined, nodes, border(tree, tree.leaf[table.source], data.start))
    inlet, outlet = _borders(tree, table, data, reasons)
    extract_unconnected(tree, table.types, joined, reasons, inlet + outlet)
    inlet, outlet = _borders(tree, table, data, reasons)
    known_size = _sums(tree, np.maximum(table.sizes, 0))
    unknown = _sums(tree, (table.sizes < 0).astype(np.float64))
    model = GraphModel(
        table,
        tree,
        joined,
        _kinds(tree, table.types),
        nodes.astype(np.int64),
        np.where(unknown > 0, -1, known_size),
        reasons,
        groups(tree, structures, nodes),
        inlet,
        outlet,
    )
    if run_metadata is not None:
        _measure(model, run_metadata)
    return model


def _folded(table: GraphTable) -> tuple[Tree, np.ndarray]:
    """Returns the tree with its series folded into single boxes, and the structure of each box."""
    plan = draft(table.names, _own_constants(table))
    tree, new = number(plan)
    data, control = _edge_ends(tree, table)
    joined = bundles(tree, data, *_carried(table), control)
    outlets = border(tree, tree.leaf[table.source], data.start)
    reasons = extract_nodes(tree, table.types, joined, _sums(tree, np.ones(len(table.names))), outlets)
    hashes = structure(tree, table.types, joined, reasons == ATTACHED)
    box_structures: list[int] = [int(hashes[b]) if b >= 0 else 0 for b in new.tolist()]
    draft_boxes = np.flatnonzero(new >= 0)
    draft_boxes = draft_boxes[np.argsort(new[draft_boxes])]
    readers: list[list[int]] = [[] for _ in plan.parent]
    is_drawn = (reasons[joined.start] == 0) & (reasons[joined.stop] == 0)
    for a, b in zip(
        draft_boxes[joined.start[is_drawn]].tolist(), draft_boxes[joined.stop[is_drawn]].tolist(), strict=True
    ):
        readers[a].append(b)
    fold(plan, box_structures, readers)
    folded_tree, renumbered = number(plan)
    structures = np.zeros(len(folded_tree.parent), np.uint64)
    surviving = np.flatnonzero(renumbered >= 0)
    structures[renumbered[surviving]] = [box_structures[b] % (1 << 64) for b in surviving.tolist()]
    return folded_tree, structures


def _own_constants(table: GraphTable) -> frozenset[int]:
    """Returns the constants that only the node reads after which they are named: `add/y` is an input of `add`.

    Those of a node that is a scope of other nodes too are not among them.
    """
    rows = {name: i for i, name in enumerate(table.names)}
    own = {
        i: rows.get(name.rpartition("/")[0], -1)
        for i, (name, kind) in enumerate(zip(table.names, table.types, strict=True))
        if kind == "Const" and "/" in name
    }
    read = set()
    for source, target in zip(table.source.tolist(), table.target.tolist(), strict=True):
        if own.get(source, target) != target:
            own[source] = -1
        read.add(source)
    own = {i: reader for i, reader in own.items() if reader >= 0 and i in read}
    scopes: set[str] = set()
    for i, name in enumerate(table.names):
        scope = "" if i in own else name.rpartition("/")[0]
        while scope and scope not in scopes:
            scopes.add(scope)
            scope = scope.rpartition("/")[0]
    return frozenset(i for i, reader in own.items() if table.names[reader] not in scopes)


def _edge_ends(tree: Tree, table: GraphTable) -> tuple[EdgeEnds, EdgeEnds]:
    leaf = tree.leaf
    return edge_ends(tree, leaf[table.source], leaf[table.target]), edge_ends(
        tree, leaf[table.before], leaf[table.after]
    )


def _carried(table: GraphTable) -> tuple[np.ndarray, np.ndarray]:
    """Returns two arrays with one item for each data edge: the number of its tensor, and the number of the tensor's
    spec (-1: unknown).
    """
    width = int(table.port.max(initial=0)) + 1
    specs = np.full(len(table.source), -1, np.int64)
    for i, (source, port) in enumerate(zip(table.source.tolist(), table.port.tolist(), strict=True)):
        outputs = table.outputs[source]
        if port < len(outputs):
            specs[i] = outputs[port]
    return table.source * width + table.port, specs


def _borders(tree: Tree, table: GraphTable, data: EdgeEnds, why: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the numbers of drawn data edges into and out of each box. An edge that ends in a stub is not drawn."""
    is_drawn = (why[data.start] == 0) & (why[data.stop] == 0)
    outlet = border(tree, tree.leaf[table.source[is_drawn]], data.start[is_drawn])
    inlet = border(tree, tree.leaf[table.target[is_drawn]], data.stop[is_drawn])
    return inlet, outlet


def _sums(tree: Tree, of_nodes: np.ndarray) -> np.ndarray:
    """Returns, for each box, the sum of a column of nodes over the nodes inside it."""
    column = np.zeros(len(tree.parent) + 1)
    np.add.at(column, tree.leaf + 1, of_nodes)
    total = np.cumsum(column)
    sums: np.ndarray = total[tree.end] - total[np.arange(len(tree.parent))]
    return sums


def _kinds(tree: Tree, types: Sequence[str]) -> np.ndarray:
    kind_of = {name: KINDS.index(_kind(name)) for name in set(types)}
    of_node = np.array([kind_of[name] for name in types] or [0], np.int64)
    scope = np.where(tree.series, KINDS.index("series"), KINDS.index("scope"))
    return np.where(tree.node >= 0, of_node[tree.node], scope)


def _kind(name: str) -> str:
    if is_variable(name):
        return "variable"
    if name in INPUTS:
        return "input"
    if name in _FLOW:
        return "flow"
    return "constant" if name in ("Const", "HostConst") else "operation"


def _of_boxes(tree: Tree, of_nodes: np.ndarray) -> np.ndarray:
    if not len(of_nodes):
        return np.full(len(tree.parent), -1, np.int32)
    return np.where(tree.node >= 0, of_nodes[tree.node], -1)


def _interned(texts: Iterable[str]) -> tuple[list[str], np.ndarray]:
    index: dict[str, int] = {}
    numbers = np.array([index.setdefault(text, len(index)) for text in texts], np.int32)
    return list(index), numbers


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_LABEL else f"{text[:LONGEST_LABEL]}…"


def _measure(model: GraphModel, run_metadata: object) -> None:
    """Adds the time and memory of a step to the boxes.

    The cost of a kernel that computes several nodes is divided equally among them; the cost of a node that the compiler
    added goes to the scope that contains it.
    """
    tree = model.tree
    leaf = {name: int(tree.leaf[i]) for i, name in enumerate(model.table.names)}
    time, memory = np.zeros(len(tree.parent) + 1), np.zeros(len(tree.parent) + 1)
    for event in times_of(run_metadata):
        if event.kind not in ("kernel", "host"):
            continue
        names = event.nodes or (event.name,)
        for name in names:
            box = _nearest(model, leaf, name)
            time[box + 1] += event.took_us / len(names)
            memory[box + 1] += event.nbytes / len(names)
    starts = np.arange(len(tree.parent))
    model.time_us, model.nbytes = (np.cumsum(column)[tree.end] - np.cumsum(column)[starts] for column in (time, memory))


def _nearest(model: GraphModel, leaf: Mapping[str, int], name: str) -> int:
    while name:
        box = leaf.get(name)
        if box is None:
            box = model._boxes.get(name)
        if box is not None:
            return box
        name = name.rpartition("/")[0]
    return 0
