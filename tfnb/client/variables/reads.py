"""When a variable is read: where its name is used as a tensor (OSDI'16, section 3.1: state and its readers).

A variable that is used as a tensor is read after the control dependencies that hold at that place, in the branch or
loop iteration of that place, as TensorFlow's resource variables are. One read outside of all contexts serves every
place at which nothing before it can have changed the variable. Invariant: a loop that changes a variable reads it in
each iteration; weights that a loop does not change enter it once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tfnb.client.control_flow.control_context import LOOP, READ, root_variable
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.default import get_default_graph
from tfnb.ir.opdef import Kind
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor

__all__ = ["ImplicitRead", "implicit_read", "read_again", "read_here", "read_in"]

_CHANGED = "changed"  # key in Operation.extra: the variables that may have changed when the operation has run


@dataclass(frozen=True, eq=False)
class ImplicitRead:
    """The value of `variables` (VariableV2 operations) as `again()` reads it in the place where it is called.

    `first` is the value that is read outside of all contexts; `made` holds the other reads by their context and
    control dependencies.
    """

    variables: frozenset[Operation]
    again: Callable[[], Tensor]
    first: Tensor
    made: dict[Any, Tensor] = field(default_factory=dict)


def implicit_read(first: Tensor, variables: frozenset[Operation], again: Callable[[], Tensor]) -> Tensor:
    """Declares that `first` is the value of `variables` wherever it is used; gives it back."""
    first.op.extra[READ] = ImplicitRead(variables, again, first)
    return first


def read_here(first: Tensor) -> Tensor:
    """The value at the place that the graph's scopes describe now. `first` was given to `implicit_read`."""
    graph = first.graph
    scopes = graph.scopes
    default = get_default_graph()
    if default is not graph and default.captures:
        return first  # the body of a function; each call of the function reads anew
    context, control = scopes.control_flow, tuple(scopes.control_inputs())
    if context is None and not control:
        return first
    return _read(first.op.extra[READ], context, control)


def read_again(t: Tensor) -> Tensor:
    """The tensor, or for an implicit read of variables their value at this place."""
    read = t.op.extra.get(READ)
    return t if read is None else read_here(read.first)


def _read(read: ImplicitRead, context: Any, control: tuple[Operation, ...]) -> Tensor:
    """The value in a context, after the operations `control`."""
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
    inside = [op for op in control if loop.holds(op)]
    if _may_change(read, [*inside, *gates]):
        return read_in(read, context, control)
    before = [op for op in control if op not in inside]
    before += [e.op for e in loop.enters if _may_change(read, [e.op])]
    return _read(read, loop.outer, tuple(_outside(before)))


def _outside(ops: list[Operation]) -> Iterator[Operation]:
    """The operations, with what an Enter waits for in place of the Enter."""
    for op in ops:
        if op.opdef.kind is Kind.ENTER:
            yield from (op.inputs[0].op, *op.control_inputs)
        else:
            yield op


def read_in(read: ImplicitRead, context: Any, control: tuple[Operation, ...]) -> Tensor:
    """The read in exactly this context and after exactly these operations, made when it is first wanted."""
    key = (context, control)
    found = read.made.get(key)
    if found is None:
        with _at(read.first.graph, context, control):
            found = read.made[key] = read.again()
        found.op.extra[READ] = read
    return found


@contextmanager
def _at(graph: GraphBuilder, context: Any, control: tuple[Operation, ...]) -> Iterator[None]:
    """Operations made inside belong to `context`, and wait for `control` alone."""
    scopes = graph.scopes
    before = scopes.control_flow, scopes.recompute
    with graph.as_default(), scopes.pushed(scopes.control, None), scopes.pushed(scopes.control, control):
        scopes.control_flow, scopes.recompute = context, None
        try:
            yield
        finally:
            scopes.control_flow, scopes.recompute = before


def _may_change(read: ImplicitRead, ops: list[Operation]) -> bool:
    """Can one of the variables have another value when the operations have run than it had before the step?"""
    return any(not read.variables.isdisjoint(changed_by(op)) for op in ops)


def changed_by(op: Operation) -> frozenset[Operation]:
    """The variables that the operation changes, or one that it waits for within its iteration."""
    stack = [op]
    while stack:
        at = stack[-1]
        if _CHANGED in at.extra:
            stack.pop()
            continue
        before = _waited_for(at)
        missing = [b for b in before if _CHANGED not in b.extra]
        if missing:
            stack.extend(missing)
            continue
        found: frozenset[Operation] = frozenset(root_variable(at.inputs[k]) for k in at.opdef.writes)
        for b in before:
            others: frozenset[Operation] = b.extra[_CHANGED]
            if not others <= found:
                found = others if found <= others else found | others
        if at.opdef.kind is Kind.EXIT and LOOP in at.extra:
            found |= at.extra[LOOP].changes
        at.extra[_CHANGED] = found
    return op.extra[_CHANGED]


def _waited_for(op: Operation) -> list[Operation]:
    """What the operation waits for, without the edges that close loops."""
    data = [t.op for t in op.inputs if t.op.opdef.kind is not Kind.NEXT_ITERATION]
    return [*data, *op.control_inputs]
