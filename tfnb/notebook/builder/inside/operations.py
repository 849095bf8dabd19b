"""What is inside of a node: the operations that its statement has made, and references to single ones of them.

A layer, a call of a function, an optimizer and an imported graph are opened in this way. Invariant: what is drawn are
operations of the built graph, or, before a large file has been imported, the nodes of the file.
"""

from __future__ import annotations

import ast
import base64
import re
import threading
from collections.abc import Sequence

from tfnb.errors import InvalidArgumentError, OpError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.graphdef.message_types import GraphDef
from tfnb.ir.operation import Operation
from tfnb.notebook.builder.building import MOST_AT_ONCE, Built, plain_message
from tfnb.notebook.builder.drawing import output_values, tensor_of
from tfnb.notebook.builder.edits import base_name
from tfnb.notebook.builder.inside.function_bodies import called_function, nodes_inside
from tfnb.notebook.builder.state import Change, State
from tfnb.notebook.builder.statements import Program, Statement
from tfnb.notebook.builder.writing import free_name, insertion, names_in_use, spliced
from tfnb.notebook.graph.model import graph_model
from tfnb.notebook.protocol.builder import BuilderNode
from tfnb.notebook.protocol.builder_details import Gradient, Inside, InsideRequest, PickTensor
from tfnb.system.collector import collector_paused

__all__ = ["Drawings", "columns_of", "forward_of", "inside", "maker_of", "pick_tensor"]

_MOST_GRADIENTS = 5_000


class Drawings:
    """Drawings of graphs, of which the last large one is kept: it takes a second, and several threads ask for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._graph: object = None
        self._columns = ""

    def columns(self, graph: GraphDef | tuple[Operation, ...]) -> str:
        """Returns the drawing of a GraphDef or of operations, as `columns_of` does."""
        if isinstance(graph, tuple) and len(graph) <= MOST_AT_ONCE:
            return columns_of(graph) if graph else ""
        with self._lock:
            if self._graph is not graph:
                with collector_paused():
                    self._columns = columns_of(graph)
                self._graph = graph
            return self._columns


def inside(state: State, request: InsideRequest, drawings: Drawings, original: GraphDef | None = None) -> Inside:
    """Returns what is inside of a node. `original` is drawn for an import of which only a part has been made."""
    statement = state.statement(request["node"])
    outcome = state.built.outcomes[statement.index]
    operations: tuple[Operation, ...] = () if outcome.is_partial else outcome.operations
    graph: GraphDef | tuple[Operation, ...] = operations
    count = len(operations)
    if outcome.is_partial and original is not None:
        graph, count = original, len(original.node)
    function = called_function(state.program, statement)
    code, nodes, parameters, calls = "", list[BuilderNode](), list[str](), list[str]()
    if function is not None:
        assert isinstance(function.tree, ast.FunctionDef)
        code = function.text
        parameters = [a.arg for a in (*function.tree.args.posonlyargs, *function.tree.args.args)]
        nodes = nodes_inside(state, statement)
        calls = [s.id for s in state.program.statements if called_function(state.program, s) is function]
    return {
        "type": "inside",
        "request": request["request"],
        "node": statement.id,
        "code": code,
        "parameters": parameters,
        "nodes": nodes,
        "calls": calls,
        "count": count,
        "columns": drawings.columns(graph),
        "gradients": _gradients(state, operations),
    }


def columns_of(graph: object) -> str:
    """Returns the drawing of a graph as base64 of the bytes that tfnb/notebook/protocol/graph.py describes."""
    return base64.b64encode(graph_model(graph).to_bytes()).decode("ascii")


def maker_of(program: Program, built: Built, operation: Operation) -> Statement | None:
    """Returns the statement that has made an operation, or None."""
    for statement, outcome in zip(program.statements, built.outcomes, strict=True):
        made = outcome.operations
        if made and made[0].id <= operation.id <= made[-1].id and made[0].graph is operation.graph:
            return statement
    return None


def forward_of(name: str, graph: GraphBuilder) -> str:
    """Returns the operation whose gradient an operation computes, from the scope that `tf.gradients` gave it; or ""."""
    m = re.match(r"(?:.*?/)?gradients(?:_\d+)?/(.+)", name)
    if m is None:
        return ""
    path = m.group(1)
    for end in reversed([e.start() for e in re.finditer(r"_grad(?:_\d+)?/", path)]):
        if path[:end] in graph._by_name:
            return path[:end]
    return ""


def _gradients(state: State, operations: Sequence[Operation]) -> list[Gradient]:
    graph = state.built.graph
    makers: dict[str, str] = {}
    found: list[Gradient] = []
    for op in operations:
        if len(found) == _MOST_GRADIENTS:
            break
        forward = forward_of(op.name, graph) if "_grad" in op.name else ""
        if not forward:
            continue
        if forward not in makers:
            maker = maker_of(state.program, state.built, graph.get_operation_by_name(forward))
            makers[forward] = maker.id if maker is not None else ""
        found.append({"operation": op.name, "forward": forward, "node": makers[forward]})
    return found


def pick_tensor(state: State, edit: PickTensor) -> Change:
    """Adds a statement that refers to an output of an operation, unless a name refers to it already."""
    name, output = edit["operation"], int(edit["output"])
    try:
        op = state.built.graph.get_operation_by_name(name)
    except OpError as e:
        raise InvalidArgumentError(plain_message(e)) from None
    if op.outputs and not 0 <= output < len(op.outputs):
        raise InvalidArgumentError(f"{name} has {len(op.outputs)} outputs, and no output {output}")
    program, target = state.program, op.outputs[output] if op.outputs else op
    for s, outcome in zip(program.statements, state.built.outcomes, strict=True):
        for text, value in output_values(s, outcome):
            if text and (value is target or (tensor_of(value) is target and not hasattr(value, "assign"))):
                return Change(program.source, selected=[s.id], message=f"{text} is {name}")
    variable = free_name(base_name(name.rpartition("/")[2]), names_in_use(program))
    look_up = f"get_tensor_by_name('{name}:{output}')" if op.outputs else f"get_operation_by_name({name!r})"
    maker = maker_of(program, state.built, op)
    if maker is None:
        raise InvalidArgumentError(f"no statement of the code has made {name}")
    lines = [f"{variable} = tf.get_default_graph().{look_up}"]
    source = spliced(program.source, insertion(program, lines, maker))
    return Change(source, selected=[variable], message=f"{variable} is {name}")
