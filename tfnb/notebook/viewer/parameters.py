"""The number of parameters in each name scope of a graph, and the hyper-parameters of runs.

Invariant: a variable is counted once in each scope that contains it, and the state of an optimizer never as a parameter
of the model.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from tensorboard.plugins.hparams import plugin_data_pb2

from tfnb.errors import OpError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.graphdef.message import as_message
from tfnb.summary.item import LoadedEvent
from tfnb.summary.reader import Run
from tfnb.types import int8, int16, int32, int64, uint8, uint16

__all__ = [
    "NOT_OF_THE_MODEL",
    "ParameterRow",
    "VariableInfo",
    "hyper_parameters",
    "model_and_others",
    "parameter_rows",
    "variables_of_graph",
    "variables_of_run",
]

NOT_OF_THE_MODEL = "slots of optimizers, moving averages and counters"
# Scalars of optimizers that are no integers: TensorFlow's and Keras' names.
COUNTERS = re.compile(r"(beta\d*_power|beta_\d|global_step|iter|iterations|lr|learning_rate|decay|rho|momentum)(_\d+)?")
INTEGERS = frozenset(t.as_datatype_enum for t in (int8, int16, int32, int64, uint8, uint16))
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


@dataclass(frozen=True, slots=True)
class VariableInfo:
    """A variable of a graph. shape: None if it is unknown. trained: None where the graph does not tell."""

    shape: tuple[int, ...] | None
    is_integer: bool
    trained: bool | None = None


def model_and_others(
    variables: Mapping[str, VariableInfo],
) -> tuple[dict[str, tuple[int, ...] | None], dict[str, tuple[int, ...] | None]]:
    """Returns the shapes of the variables of the model, and of the others: slots of optimizers, moving averages of
    variables, and counters.

    A slot has the name of its variable and one more part, perhaps in a scope of the optimizer, and its shape.
    """
    model: dict[str, tuple[int, ...] | None] = {}
    others: dict[str, tuple[int, ...] | None] = {}
    for name, variable in variables.items():
        is_other = not variable.trained and (_is_counter(name, variable) or _is_slot(name, variables))
        (others if is_other else model)[name] = variable.shape
    return model, others


def _is_counter(name: str, variable: VariableInfo) -> bool:
    return variable.shape == () and (variable.is_integer or COUNTERS.fullmatch(name.split("/")[-1]) is not None)


def _is_slot(name: str, variables: Mapping[str, VariableInfo]) -> bool:
    owner, shape = name.split("/")[:-1], variables[name].shape
    owners = ("/".join(owner[k:]) for k in range(len(owner)))
    return any(o in variables and variables[o].shape == shape for o in owners)


def variables_of_graph(graph: GraphBuilder) -> dict[str, VariableInfo]:
    """Returns the variables of a graph by name."""
    trained = {v.op.name for v in graph.get_collection("trainable_variables")}
    variables: dict[str, VariableInfo] = {}
    for op in graph.get_operations():
        if op.type in VARIABLES:
            dims = getattr(op.get_attr("shape"), "sizes", None)
            shape = None if dims is None or None in dims else tuple(map(int, dims))
            variables[op.name] = VariableInfo(shape, op.get_attr("dtype").is_integer, op.name in trained)
    return variables


def variables_of_run(run: Run) -> dict[str, VariableInfo]:
    """Returns the variables of the newest graph in a run's files; empty if there is none or if it cannot be read."""
    graphs = [i for i in run.items.get("", ()) if i.kind == "graph"]
    if not graphs:
        return {}
    try:
        graph = as_message("graph", "GraphDef", graphs[-1].load().graph_def)
    except OpError:
        return {}
    variables: dict[str, VariableInfo] = {}
    for node in graph.node:
        if node.op in VARIABLES:
            shape = node.attr["shape"].shape
            dims = tuple(d.size for d in shape.dim)
            known = None if shape.unknown_rank or min(dims, default=0) < 0 else dims
            variables[node.name] = VariableInfo(known, node.attr["dtype"].type in INTEGERS)
    return variables


def hyper_parameters(run: Run) -> dict[str, str]:
    """Returns the hyper-parameters in the hparams plugin's record of a run, as a dict from names to texts."""
    out: dict[str, str] = {}
    event = LoadedEvent()
    for items in run.items.values():
        for item in items:
            if item.kind != "hparams":
                continue
            try:
                content = event.value(item).metadata.plugin_data.content
                start = plugin_data_pb2.HParamsPluginData.FromString(content).session_start_info
            except Exception:  # damaged or deleted: the table has no row for it
                continue
            for name, value in start.hparams.items():
                kind = value.WhichOneof("kind")
                out[name] = _text(getattr(value, kind)) if kind else ""
    return out


def _text(value: str | float | bool) -> str:
    """Returns the text of a hyper-parameter; the record has all numbers as floats."""
    return f"{value:.12g}" if isinstance(value, float) else str(value)
