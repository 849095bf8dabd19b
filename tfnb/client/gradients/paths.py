"""The operations through which gradients pass on the way from ys to xs (white paper, section 4.1).

No edge of the graph leads from a tensor that a forward loop saves to its backward loop. Where such a tensor is on the
way, it is first moved to a TensorArray, through which gradients can pass. Invariant: only ops on a path from an x to a
y are returned.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfnb.client.gradients.backward_loop import SAVED, has_gradient
from tfnb.client.gradients.loop_sums import add_one_by_one
from tfnb.errors import GraphError
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.shape_ops import STOP_GRADIENT
from tfnb.ops.control_flow.loop_products import LOOP_PRODUCTS_SUM
from tfnb.ops.control_flow.loop_stack import LOOP_STACK_POP, LOOP_STACK_PUSH
from tfnb.ops.state import stacks

__all__ = ["open_paths", "operations_between"]

_PUSHES = (LOOP_STACK_PUSH, stacks.PUSH)
_POPS = (LOOP_STACK_POP, stacks.POP)
_INDIRECT = frozenset((*_PUSHES, *_POPS, LOOP_PRODUCTS_SUM))


def operations_between(
    xs: Sequence[Tensor], ys: Sequence[Tensor], stops: set[Tensor], past_stops: bool = True
) -> list[Operation]:
    """Returns the ops on some path from an x to a y: those that xs reach, searched backwards from ys.

    A StopGradient is on a path too, since gradients of a loop that has one are zeros, unless not `past_stops`.
    """
    reached = _reached(xs, past_stops)
    between: dict[Operation, None] = {}
    pending = [y.op for y in ys]
    while pending:
        op = pending.pop()
        if op in reached and op not in between:
            between[op] = None
            if not any(t in stops for t in op.outputs):
                pending.extend(t.op for t in op.inputs)
                if SAVED in op.extra:
                    pending.append(op.extra[SAVED].push)
    return list(between)


def _stops(op: Operation) -> bool:
    return op.opdef is STOP_GRADIENT and not op.gradient_type


def _reached(xs: Sequence[Tensor], past_stops: bool = True) -> set[Operation]:
    """Returns the operations that an x reaches, without a StopGradient and what only it reaches if not `past_stops`."""
    result: set[Operation] = set()
    stack = [x.op for x in xs]
    while stack:
        op = stack.pop()
        if op not in result:
            result.add(op)
            stack.extend(c for t in op.outputs for c in t.consumers() if past_stops or not _stops(c))
            if SAVED in op.extra:
                stack.append(op.extra[SAVED].pop)
    return result


def open_paths(xs: Sequence[Tensor], ys: Sequence[Tensor], stops: set[Tensor]) -> None:
    """Lets gradients pass through the tensors that backward loops on the way read, and through the sums that they
    compute.

    Raises `GraphError` where these are not known: in a graph of a file whose backward loops could not be restored.
    """
    if not ys or not any(op.opdef in _INDIRECT for op in ys[0].graph.get_operations()):
        return
    _refuse_strange_stacks(xs, ys)
    while True:
        ops = operations_between(xs, ys, stops, past_stops=False)
        saved = [op for op in ops if op.opdef is LOOP_STACK_POP and SAVED in op.extra and has_gradient(op.y)]
        sums = [op for op in ops if op.opdef is LOOP_PRODUCTS_SUM]
        if not saved and not sums:
            return
        for op in saved:
            op.extra[SAVED].loop.let_gradients_pass(op.extra[SAVED])
        for op in sums:
            add_one_by_one(op)


def _refuse_strange_stacks(xs: Sequence[Tensor], ys: Sequence[Tensor]) -> None:
    """Raises `GraphError` for a stack on the way whose reads are not known, because gradients would lack terms."""
    pushes = {op for op in _reached(xs) if op.opdef in _PUSHES and SAVED not in op.extra and has_gradient(op.y)}
    if not pushes:
        return
    visited: set[Operation] = set()
    stack = [y.op for y in ys]
    while stack:
        op = stack.pop()
        if op in visited:
            continue
        visited.add(op)
        stack.extend(t.op for t in op.inputs)
        if op.opdef in _POPS and SAVED not in op.extra and has_gradient(op.y):
            raise GraphError(
                f"gradients: {op.name} takes from a stack what a loop of an imported graph saved for its gradient, and "
                "gradients do not pass such stacks. Differentiate in the program that builds the loop, or import the "
                "loop without its gradient and differentiate it here",
                op,
            )
