"""`tf.add_check_numerics_ops`: checks for NaN and infinities, also in branches and loops (white paper, section 6).

A check is in the frame and branch of the tensor that it checks: in a branch it runs where the branch is taken, in a
loop once in each iteration. The checks of a loop end in an additional loop variable, so that operations after them wait
for all iterations. Invariant: a step that does not run the check operation runs none of these nodes.
"""

from __future__ import annotations

from typing import Any

from tfnb.errors import UnimplementedError
from tfnb.ir.builder import GraphBuilder, replace_input
from tfnb.ir.default import get_default_graph
from tfnb.ir.opdef import Kind, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.step_graph.contexts import Context, contexts
from tfnb.ir.step_graph.graph import graph_from_operations
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.shape_ops import IDENTITY
from tfnb.ops.control_flow.switch_merge import (
    CONTROL_TRIGGER,
    ENTER,
    EXIT,
    MERGE,
    NEXT_ITERATION,
    NO_OP,
    SWITCH,
)
from tfnb.ops.logging.print_assert import CHECK_NUMERICS

__all__ = ["API", "add_check_numerics_ops"]

_PASSING = (
    Kind.SWITCH,
    Kind.MERGE,
    Kind.ENTER,
    Kind.EXIT,
    Kind.NEXT_ITERATION,
)  # the outputs of these nodes equal inputs that were checked before
_Item = tuple[Tensor | str, Context]


def add_check_numerics_ops() -> Operation:
    """Returns an operation that checks each float tensor of the default graph for NaN and infinities, in the graph's
    order.

    Tensors of a branch are checked where the branch is taken, those of a loop in each iteration. The checks run one
    after the other, so the error names the first tensor that is not finite, and the program's line that created it.
    References are not checked, only the tensors that read them, so that the check assigns no variable.
    """
    graph = get_default_graph()
    with graph.control_dependencies(None), graph.name_scope("check_numerics"), graph.scopes.written_by_node():
        last, context = _Checks(graph).chain(None, None)
        if context:
            last = _after(CONTROL_TRIGGER, graph, last)
        return _after(NO_OP, graph, last)


class _Checks:
    """The checks of a graph's tensors, frame by frame."""

    def __init__(self, graph: GraphBuilder) -> None:
        self.graph = graph
        operations = {op.id: op for op in graph.get_operations()}
        nodes = graph_from_operations(operations.values())
        context = contexts(nodes)
        self._depth: dict[str, int] = {}
        self._enters: dict[str, list[Operation]] = {}
        for i, op in operations.items():
            if op.opdef.kind is Kind.ENTER:
                self._enters.setdefault(op.attrs.frame_name, []).append(op)
                self._depth[op.attrs.frame_name] = sum(kind == "frame" for kind, *_ in context[i])
        self._conditions: dict[str | None, Tensor] = {}
        self._items: dict[str | None, dict[Tensor | str, Context]] = {}  # frame -> tensors, and loops by their frames
        for i in nodes.order:
            op = operations[i]
            items = self._items.setdefault(self._frame(context[i]), {})
            if op.opdef.kind is Kind.EXIT and nodes.frames.inside[i]:
                items.setdefault(nodes.frames.inside[i][-1], context[i])
            elif op.opdef.kind is Kind.LOOP_COND:
                self._conditions[self._frame(context[i])] = op.outputs[0]
            elif op.opdef.kind not in _PASSING and op.opdef is not CHECK_NUMERICS:
                items.update({t: context[i] for t in op.outputs if t.dtype.is_floating and not t.spec.ref})

    def _frame(self, context: Context) -> str | None:
        frames = [name for kind, name, *_ in context if kind == "frame"]
        return max(frames, key=lambda name: self._depth[name], default=None)

    def _has_any(self, frame: str | None) -> bool:
        return any(not isinstance(item, str) or self._has_any(item) for item in self._items.get(frame, {}))

    def chain(self, frame: str | None, last: Operation | None) -> tuple[Operation | None, Context]:
        """Adds the checks of a frame, one after the other, the first after `last`, which is always alive there.

        Returns the last check, and the branch in which it is alive. Where a check may be dead when the next one is
        alive, a ControlTrigger stands between them.
        """
        alive: Context = frozenset()
        for item, context in self._items.get(frame, {}).items():
            if isinstance(item, str):
                if self._has_any(item):
                    last, alive = _after(CONTROL_TRIGGER, self.graph, last, self._of_loop(item)), frozenset()
                continue
            if not alive <= context:
                last = _after(CONTROL_TRIGGER, self.graph, last)
            with self.graph.control_dependencies([] if last is None else [last]):
                last = CHECK_NUMERICS(item, message=item.name).op
            last.origin, alive = item.op.origin, context
        return last, alive

    def _of_loop(self, frame: str) -> Operation:
        """Adds a loop variable to a loop and returns its Exit.

        The variable waits for the checks of each iteration, and these wait for the checks of the previous iteration.
        """
        enters = [op for op in self._enters[frame] if not op.attrs.is_constant and not op.inputs[0].spec.ref]
        if frame not in self._conditions or not enters:
            raise UnimplementedError(
                f"add_check_numerics_ops: {frame!r} is no loop as tf.while_loop builds them", self._enters[frame][0]
            )
        first = min(
            enters, key=lambda op: op.inputs[0].shape.sizes != ()
        )  # the smallest tensor is the cheapest to pass on
        enter = ENTER(
            first.inputs[0], frame_name=frame, parallel_iterations=first.attrs.parallel_iterations, graph=self.graph
        )
        merge = MERGE([enter, enter])[0]
        last, _ = self.chain(frame, merge.op)
        exit_value, body_value = SWITCH(merge, self._conditions[frame])
        with self.graph.control_dependencies([_after(CONTROL_TRIGGER, self.graph, last)]):
            next_value = NEXT_ITERATION(IDENTITY(body_value))
        replace_input(merge.op, 1, next_value)
        return EXIT(exit_value).op


def _after(opdef: OpDef, graph: GraphBuilder, *operations: Operation | None) -> Operation:
    """Returns an operation without inputs that waits for the others."""
    with graph.control_dependencies([op for op in operations if op is not None]):
        operation: Operation = opdef(graph=graph)
    return operation


API: dict[str, Any] = {"add_check_numerics_ops": add_check_numerics_ops}
