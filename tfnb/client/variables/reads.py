"""Reads of variables: a variable is read where a program uses it as a tensor (OSDI'16, section 3.1).

The read comes after the control dependencies that hold at that place, in the conditional branch or loop iteration of
that place, like reads of TensorFlow's resource variables. One read outside of all contexts serves every place before
which nothing can have changed the variable. Invariant: a loop that changes a variable reads it in each iteration; a
weight that the loop does not change enters it once.

TensorFlow's reference variables can show a later value to a use that comes after the read, because a read shares the
memory of the variable there. Here a value that has been read stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tfnb.client.control_flow.control_context import LOOP, READ, Context, root_variable
from tfnb.ir.default import get_default_graph
from tfnb.ir.opdef import Kind
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import GraphLike, Tensor

__all__ = ["ImplicitRead", "implicit_read", "read_again", "read_here", "read_in"]

_CHANGED = "changed"  # key in Operation.extra: the variables that may have changed when the operation has run


@dataclass(frozen=True, eq=False)
class ImplicitRead:
    """The value of `variables` (VariableV2 operations); `again()` adds a node that reads it at the place of the call.

    `first` is the value that is read outside of all contexts. `other_reads` holds the other reads by their context and
    their control dependencies.
    """

    variables: frozenset[Operation]
    again: Callable[[], Tensor]
    first: Tensor
    other_reads: dict[Any, Tensor] = field(default_factory=dict)


def implicit_read(first: Tensor, variables: frozenset[Operation], again: Callable[[], Tensor]) -> Tensor:
    """Declares that `first` is the value of `variables` wherever `first` is used, and returns `first`."""
    first.op.extra[READ] = ImplicitRead(variables, again, first)
    return first


def read_here(first: Tensor) -> Tensor:
    """Returns the value at the place that the graph's scopes describe now. `first` was declared by `implicit_read`."""
    graph = first.graph
    scopes = graph.scopes
    default = get_default_graph()
    if default is not graph and default.captures:
        return first  # in the body of a function, whose calls each read the variable again
    context, control = scopes.control_flow, tuple(scopes.control_inputs())
    if context is None and not control:
        return first
    return _read(first.op.extra[READ], context, control)


def read_again(t: Tensor) -> Tensor:
    """Returns the tensor, or, for an implicit read of variables, their value at this place."""
    read = t.op.extra.get(READ)
    return t if read is None else read_here(read.first)


def _read(read: ImplicitRead, context: Any, control: tuple[Operation, ...]) -> Tensor:
    """Returns the value in a context, read after the operations `control`."""
    branches = []
    loop = context
    while loop is not None and not loop.is_loop:
        branches.append(loop)
        loop = loop.outer
    gates = [branch.pred.op for branch in branches]
    if loop is None:
        if not control and not _may_change(read, gates):
            return read.first
        return read_in(read, context, control)
    loop_ops = [op for op in control if loop.holds(op)]
    if _may_change(read, [*loop_ops, *gates]):
        return read_in(read, context, control)
    outer_ops = [op for op in control if op not in loop_ops]
    outer_ops += [e.op for e in loop.enters if _may_change(read, [e.op])]
    return _read(read, loop.outer, tuple(_outside(outer_ops)))


def _outside(ops: list[Operation]) -> Iterator[Operation]:
    """Yields the operations, and for each Enter the operations that the Enter waits for instead of the Enter."""
    for op in ops:
        if op.opdef.kind is Kind.ENTER:
            yield from (op.inputs[0].op, *op.control_inputs)
        else:
            yield op


def read_in(read: ImplicitRead, context: Context, control: tuple[Operation, ...]) -> Tensor:
    """Returns the read in exactly this context and after exactly these operations; it is created on first use."""
    key = (context, control)
    value = read.other_reads.get(key)
    if value is None:
        with _at(read.first.graph, context, control):
            value = read.other_reads[key] = read.again()
        value.op.extra[READ] = read
    return value


@contextmanager
def _at(graph: GraphLike, context: Context, control: tuple[Operation, ...]) -> Iterator[None]:
    """Within the block, new operations belong to `context` and wait for the operations `control` alone."""
    scopes = graph.scopes
    previous = scopes.control_flow, scopes.recompute
    with graph.as_default(), scopes.pushed(scopes.control, None), scopes.pushed(scopes.control, control):
        scopes.control_flow, scopes.recompute = context, None
        try:
            yield
        finally:
            scopes.control_flow, scopes.recompute = previous


def _may_change(read: ImplicitRead, ops: list[Operation]) -> bool:
    """Returns whether running the operations can change the value that one of the variables had before the step."""
    return any(not read.variables.isdisjoint(changed_by(op)) for op in ops)


def changed_by(op: Operation) -> frozenset[Operation]:
    """Returns the variables that are changed by the operation or by one that it waits for in its iteration."""
    stack = [op]
    while stack:
        at = stack[-1]
        if _CHANGED in at.extra:
            stack.pop()
            continue
        predecessors = _waited_for(at)
        unresolved = [b for b in predecessors if _CHANGED not in b.extra]
        if unresolved:
            stack.extend(unresolved)
            continue
        changed: frozenset[Operation] = frozenset(root_variable(at.inputs[k]) for k in at.opdef.writes)
        for b in predecessors:
            other_changes: frozenset[Operation] = b.extra[_CHANGED]
            if not other_changes <= changed:
                changed = other_changes if changed <= other_changes else changed | other_changes
        if at.opdef.kind is Kind.EXIT and LOOP in at.extra:
            changed |= at.extra[LOOP].changes
        at.extra[_CHANGED] = changed
    return op.extra[_CHANGED]


def _waited_for(op: Operation) -> list[Operation]:
    """Returns the operations that the operation waits for, without the edges that close loops."""
    data = [t.op for t in op.inputs if t.op.opdef.kind is not Kind.NEXT_ITERATION]
    return [*data, *op.control_inputs]
