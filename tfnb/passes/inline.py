"""Inline: calls of functions become the functions' bodies.

It runs before the other passes, so that they see plain nodes only. A node that waited for a call waits for the call's
results and effects. Invariant: afterwards no operation has a body, and no node is dead that the call had kept alive.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from tfnb.errors import GraphError
from tfnb.ir.function import MAX_NODES, Function, copy_into, in_order
from tfnb.ir.opdef import Kind
from tfnb.ir.operation import Operation
from tfnb.ir.step_graph.contexts import contexts
from tfnb.ir.step_graph.edit import EditNode, GraphEdit
from tfnb.ir.step_graph.graph import Edge, Graph, graph_from_operations
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.shape_ops import IDENTITY
from tfnb.ops.control_flow.switch_merge import REF_ENTER

__all__ = ["inline"]

_PLACES = (Kind.CONST, Kind.VARIABLE)


def inline(graph: Graph) -> Graph:
    """Returns the graph in which bodies replace all calls. Raises `GraphError` if it would have too many nodes."""
    if not any(n.opdef.body is not None for n in graph.nodes.values()):
        return graph
    edit = GraphEdit(graph)
    inlining = _Inlining(edit)
    calls = [n for n in edit.nodes.values() if n.opdef.body is not None]
    while calls:
        calls.extend(inlining.put_in_place(calls.pop()))
        if len(edit.nodes) > MAX_NODES:
            raise GraphError(f"with its functions put in place the step has more than {MAX_NODES} nodes")
    edit.at(None)
    inlining.finish()
    return edit.freeze()


class _Inlining:
    """The edit of one graph. `table` maps the outputs of calls to the edges that replace them; `done` maps a call to
    the nodes that have run when the call has finished."""

    def __init__(self, edit: GraphEdit) -> None:
        self.edit = edit
        self.table: dict[Edge, Edge] = {}
        self.done: dict[int, tuple[int, ...]] = {}
        self._numbers: dict[int, int] = {}  # of calls inside other calls; by their names, so that steps agree on them
        self._can_be_dead = _decides(edit.nodes.values())

    def put_in_place(self, call: EditNode) -> list[EditNode]:
        """Copies the body of one call; returns the calls inside it."""
        edit, function = self.edit, call.opdef.body
        edit.at(call)
        args, gate = self._arguments(call)
        first = edit.next_id
        number = self._numbers.get(call.id) or _number(call.name)
        copies = copy_into(function, edit, args, call.name, number)
        nodes = [edit.nodes[i] for i in range(first, edit.next_id)]
        inner = [(op, node) for op, node in zip(_plain(function), nodes, strict=True) if op.opdef.body is not None]
        self._numbers.update({node.id: _number(f"{number}/{op.name}") for op, node in inner})
        self._can_be_dead = self._can_be_dead or _decides(nodes)
        for node in nodes:
            if not gate or node.control or node.opdef.kind in _PLACES or self._fed(node):
                continue
            if node.opdef.kind is Kind.ENTER and node.opdef is not REF_ENTER:
                # The constants of a loop are outside the loop, where the call is.
                t = IDENTITY(node.inputs[0], name="argument", graph=edit)
                edit.nodes[t.op.id].control = gate
                node.replace_input(0, t)
            else:
                node.control = gate
        effects = self._effects(function, nodes)
        results = []
        for t in function.results:
            result = copies[t]
            if t in function.args or effects or (gate and result.op.opdef.kind in _PLACES):
                result = IDENTITY(result, graph=edit)
                edit.nodes[result.op.id].control = tuple(dict.fromkeys((*effects, *gate)))
            results.append(Edge(result.op.id, result.index))
        self.table.update({Edge(call.id, port): e for port, e in enumerate(results)})
        self.done[call.id] = tuple(dict.fromkeys((*(e.id for e in results), *effects))) or gate
        return [n for n in nodes if n.opdef.body is not None]

    def _arguments(self, call: EditNode) -> tuple[list[Tensor], tuple[int, ...]]:
        """Returns the inputs of the call, and nodes that are alive exactly when the call is.

        These nodes run after the control inputs of the call.

        There are no such nodes where the call has no control inputs and cannot be dead.
        """
        is_plain = not call.control and not self._can_be_dead
        args: list[Tensor] = []
        gate: list[int] = list(call.control)
        for t, arg in zip(call.inputs, call.opdef.body.args, strict=True):
            if arg.spec.ref:  # the body may change this variable
                args.append(t)
                continue
            if t.spec.ref or not (is_plain or t.op.opdef.kind in _PLACES):
                t = IDENTITY(t, name="argument", graph=self.edit)
                self.edit.nodes[t.op.id].control = call.control
                gate.append(t.op.id)
            args.append(t)
        return args, () if is_plain else tuple(gate)

    def _fed(self, node: EditNode) -> bool:
        """Returns whether the node reads a value, which can be dead.

        A reference cannot be dead, and RefEnter passes it on.
        """
        sources = (self.edit.nodes[e.id].opdef for e in node.refs)
        return any(opdef.kind not in _PLACES and opdef is not REF_ENTER for opdef in sources)

    @staticmethod
    def _effects(function: Function, copied_nodes: list[EditNode]) -> tuple[int, ...]:
        """Returns the copies of the nodes for whose effects the body runs.

        Nodes inside the body's own branches and loops are not among them.
        """
        effects = function.effects
        if not effects:
            return ()
        context = contexts(graph_from_operations(function.body.get_operations()))
        copies = dict(zip(_plain(function), copied_nodes, strict=True))
        return tuple(copies[op].id for op in effects if not context[op.id])

    def finish(self) -> None:
        """Redirects the readers and the control outputs of all calls, and removes the calls."""
        edit = self.edit
        for node in edit.nodes.values():
            if any(c in self.done for c in node.control):
                node.control = self._through(node.control)
        edit.targets = list(self._through(tuple(edit.targets)))
        edit.redirect_all(self.table)
        edit.remove([i for i in self.done if i in edit.nodes])

    def _through(self, ids: tuple[int, ...]) -> tuple[int, ...]:
        node_ids: dict[int, None] = {}
        stack = list(reversed(ids))
        while stack:
            i = stack.pop()
            if i in self.done:
                stack.extend(reversed(self.done[i]))
            else:
                node_ids[i] = None
        return tuple(node_ids)


def _number(name: str) -> int:
    """Returns the number of a call, by which its random numbers differ from those of other calls of the function."""
    return zlib.crc32(name.encode()) & 0x3FFFFFFF


def _decides(nodes: Iterable[EditNode]) -> bool:
    """Returns whether there are branches or loops among the nodes."""
    return any(n.opdef.kind in (Kind.SWITCH, Kind.ENTER) for n in nodes)


def _plain(function: Function) -> list[Operation]:
    """Returns the body's operations in the order in which they are copied."""
    args = {t.op for t in function.args}
    return [op for op in in_order(function.body.get_operations()) if op not in args]
