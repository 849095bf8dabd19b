"""The iterations of a loop in which a tensor of its body is computed (white paper, section 4.4).

Inside a loop, a branch of a conditional is alive in some iterations and dead in others. A backward loop needs to know
in which iterations a tensor that it reads was alive. Invariant: a condition comes after the conditions that it depends
on.
"""

from __future__ import annotations

from collections.abc import Iterable

from tfnb.client.control_flow.control_context import context_of
from tfnb.client.control_flow.while_context import LOOP, WhileContext
from tfnb.errors import InternalError
from tfnb.ir.opdef import Kind
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor

__all__ = ["Condition", "Conditions", "conditions_of"]

Condition = tuple[Tensor, int]  # a condition, and its value as 0 or 1
Conditions = dict[Operation, tuple[Condition, ...]]


def conditions_of(t: Tensor, loop: WhileContext, known: Conditions) -> tuple[Condition, ...]:
    """Returns the conditions that are all true in exactly those iterations of `loop` in which `t` is computed.

    `t` belongs to the body of the loop and to no inner loop. `known` caches the conditions of operations. Raises
    `InternalError` for a tensor of an inner loop.
    """
    stack = [t.op]
    while stack:
        op = stack[-1]
        if op in known:
            stack.pop()
            continue
        unknown = [producer for producer in _before(op, loop) if producer not in known]
        if unknown:
            stack.extend(unknown)
        else:
            known[op] = _of_operation(op, loop, known)
            stack.pop()
    return _of_tensor(t, loop, known)


def _before(op: Operation, loop: WhileContext) -> list[Operation]:
    """Returns the operations of the body from whose conditions the conditions of `op` are computed."""
    ops = [pred.op for pred, _ in _branches(op, loop)]
    ops += [t.op for t in _data(op, loop)]
    if op.opdef.kind not in (Kind.CONTROL_TRIGGER, Kind.MERGE):
        ops += op.control_inputs
    return [producer for producer in ops if loop.holds(producer) and producer.opdef.kind is not Kind.CONST]


def _data(op: Operation, loop: WhileContext) -> Iterable[Tensor]:
    """Returns the tensors of the body that an operation reads; for an inner loop, those that enter it."""
    if op.opdef.kind is Kind.EXIT:
        return [enter.op.inputs[0] for enter in op.extra[LOOP].enters]
    if op.opdef.kind is Kind.MERGE and any(t.op is op for t in loop.merges):
        return []
    return op.inputs


def _branches(op: Operation, loop: WhileContext) -> list[Condition]:
    """Returns the branches of conditionals between an operation and the loop around them, outermost first."""
    conditions, context = [], context_of(op)
    while context is not loop:
        if context is None or context.is_loop:
            raise InternalError("a gradient reads a tensor of an inner loop directly", op)
        conditions.append((context.pred, context.branch))
        context = context.outer
    return conditions[::-1]


def _of_operation(op: Operation, loop: WhileContext, known: Conditions) -> tuple[Condition, ...]:
    conditions: dict[Condition, None] = {}
    for pred, branch in _branches(op, loop):
        conditions.update(dict.fromkeys(_of_tensor(pred, loop, known)))
        conditions[pred, branch] = None
    groups = [_of_tensor(t, loop, known) for t in _data(op, loop)]
    if op.opdef.kind is Kind.MERGE:  # alive when any input is
        groups = [tuple(c for c in groups[0] if all(c in g for g in groups))] if groups else []
    elif op.opdef.kind is not Kind.CONTROL_TRIGGER:
        groups += [known.get(control_op, ()) for control_op in op.control_inputs]
    for group in groups:
        conditions.update(dict.fromkeys(group))
    return tuple(conditions)


def _of_tensor(t: Tensor, loop: WhileContext, known: Conditions) -> tuple[Condition, ...]:
    conditions = known.get(t.op, ())
    if t.op.opdef.kind is Kind.SWITCH and t.op in known and t.op.inputs[1] != loop.pred:
        return tuple(dict.fromkeys([*conditions, (t.op.inputs[1], t.index)]))
    return conditions
