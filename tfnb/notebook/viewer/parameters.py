"""The number of parameters in each name scope of a graph, and the hyper-parameters of runs.

Invariant: a variable is counted once in each scope that contains it.
"""

from __future__ import annotations

import math

from tensorboard.plugins.hparams import plugin_data_pb2

from tfnb.errors import OpError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.graphdef.message import as_message
from tfnb.summary.reader import Run

__all__ = ["ParameterRow", "hyper_parameters", "parameter_rows", "parameters_of_run"]

VARIABLES = frozenset({"Variable", "VariableV2", "VarHandleOp"})
MOST_ROWS = 500
ParameterRow = tuple[str, int, str, int]


def parameter_rows(shapes: dict[str, tuple[int, ...] | None]) -> list[ParameterRow]:
    """Returns rows (scope or variable, depth, shape, parameters) in the order of the names. The count of a scope
    includes all variables inside.

    A variable of unknown shape counts as 0, and its shape is "unknown".
    """
    counts: dict[str, int] = {}
    for name, shape in shapes.items():
        size = 0 if shape is None else math.prod(shape)
        parts = name.split("/")
        for k in range(len(parts) + 1):
            scope = "/".join(parts[:k])
            counts[scope] = counts.get(scope, 0) + size
    rows = []
    for scope in sorted(counts, key=lambda s: s.split("/") if s else []):
        shape = shapes.get(scope)
        shape_text = "" if scope not in shapes else "unknown" if shape is None else str(list(shape))
        rows.append((scope or "(all)", scope.count("/") + 1 if scope else 0, shape_text, counts[scope]))
    return rows[:MOST_ROWS]


def shapes_of_graph(graph: GraphBuilder) -> dict[str, tuple[int, ...] | None]:
    """Returns the variables of a graph and their shapes; None for an unknown shape."""
    shapes: dict[str, tuple[int, ...] | None] = {}
    for op in graph.get_operations():
        if op.type in VARIABLES:
            shape = op.get_attr("shape")
            dims = getattr(shape, "sizes", None)
            shapes[op.name] = None if dims is None or None in dims else tuple(map(int, dims))
    return shapes


def parameters_of_run(run: Run) -> list[ParameterRow]:
    """Returns the rows of the newest graph in a run's files; empty if there is none or if it cannot be read."""
    graphs = [i for i in run.items.get("", ()) if i.kind == "graph"]
    if not graphs:
        return []
    try:
        graph = as_message("graph", "GraphDef", graphs[-1].load().graph_def)
    except OpError:
        return []
    shapes: dict[str, tuple[int, ...] | None] = {}
    for node in graph.node:
        if node.op in VARIABLES:
            shape = node.attr["shape"].shape
            dims = tuple(d.size for d in shape.dim)
            shapes[node.name] = None if shape.unknown_rank or min(dims, default=0) < 0 else dims
    return parameter_rows(shapes)


def hyper_parameters(run: Run) -> dict[str, str]:
    """Returns the hyper-parameters in the hparams plugin's record of a run, as a dict from names to texts."""
    out: dict[str, str] = {}
    for items in run.items.values():
        for item in items:
            if item.kind != "hparams":
                continue
            try:
                content = item.value().metadata.plugin_data.content
                start = plugin_data_pb2.HParamsPluginData.FromString(content).session_start_info
            except Exception:  # damaged or deleted: the table has no row for it
                continue
            for name, value in start.hparams.items():
                kind = value.WhichOneof("kind")
                out[name] = str(getattr(value, kind)) if kind else ""
    return out
