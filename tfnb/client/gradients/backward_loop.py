"""The backward pass of a loop is a loop (white paper, section 4.1: gradients through control flow).

The forward loop counts its iterations and saves, in each iteration, the tensors that the gradients read; the backward
loop counts down and restores them. Loop invariants are read again instead of saved; where only the shape of a tensor is
needed, the shape is saved; in a branch the condition is saved, and the branch is taken again. Invariant: iteration k of
the backward loop belongs to iteration n - 1 - k of the forward loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfnb.client.control_flow.control_context import PLACES, Detached, context_of
from tfnb.client.control_flow.tensor_array import TensorArray
from tfnb.client.control_flow.while_context import WhileContext
from tfnb.client.gradients.liveness import Condition, Conditions, conditions_of
from tfnb.client.gradients.loop_sums import total
from tfnb.errors import UnimplementedError
from tfnb.ir.builder import redefine
from tfnb.ir.opdef import Kind
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import GraphLike, Tensor
from tfnb.ops.array.constants import FILL, ZEROS_LIKE, zeros_like
from tfnb.ops.array.shape_ops import IDENTITY, SHAPE
from tfnb.ops.control_flow.loop_stack import LOOP_STACK, LOOP_STACK_POP, LOOP_STACK_PUSH
from tfnb.ops.control_flow.switch_merge import CONTROL_TRIGGER, MERGE, SWITCH
from tfnb.ops.math.binary import ADD
from tfnb.ops.state.tensor_array import TENSOR_ARRAY_READ
from tfnb.types import Shape, int32, variant

__all__ = ["SAVED", "BackwardLoop", "Saved", "differentiate", "has_gradient", "unswitched"]

SAVED = "saved"  # key in Operation.extra of a LoopStackPush and its LoopStackPop: their `Saved`


@dataclass(frozen=True, eq=False)
class Saved:
    """A tensor of a forward loop that its backward loop reads: saved by `push`, read by `pop`.

    `conditions` say in which iterations of the forward loop the tensor is computed at all.
    """

    loop: BackwardLoop
    conditions: tuple[Condition, ...]
    push: Operation
    pop: Operation


class BackwardLoop(WhileContext):
    """The loop that computes the gradients of the loop `forward`. `index` is the number of the forward iteration."""

    reads_another = True

    def __init__(self, graph: GraphLike, forward: WhileContext) -> None:
        super().__init__(graph, forward.parallel_iterations, name=f"{forward.name.rpartition('/')[2]}_grad")
        self.forward = forward
        self.index: Any = None
        self._number: Any = None  # the number of the forward iteration, in the forward loop
        self._kept: Any = None  # the operation that waits for the saved tensors
        self._slots = 0
        self._read: dict[Tensor, Tensor] = {}  # tensor of the forward loop -> its value here
        self._saved: list[Saved] = []
        self._closed = False
        self._known: Conditions = {}
        with self._building_forward():
            self._handle: Tensor = LOOP_STACK(name="stack", graph=graph)
            self.count = self._count_iterations()

    def resume(self, forward: WhileContext, stack: Tensor, kept: Operation, push: Operation, pop: Operation) -> None:
        """Registers a saved tensor of a graph that was read from a file: `pop` reads here what `push` saved."""
        if not hasattr(self, "forward"):
            self.forward, self._handle, self._kept = forward, stack, kept
            self._number, self.index = unswitched(push.inputs[1]), unswitched(pop.inputs[1])
            self._slots, self._saved, self._closed, self._read, self._known = 0, [], True, {}, {}
        self._slots = max(self._slots, push.attrs.slot + 1)
        saved = Saved(self, conditions_of(push.inputs[2], forward, self._known), push, pop)
        push.extra[SAVED] = pop.extra[SAVED] = saved
        self._read[push.inputs[2]] = pop.y

    def _building_forward(self) -> Detached:
        return Detached(self.graph, self.forward.outer)

    def _count_iterations(self) -> Tensor:
        """Adds a counter to the forward loop and returns its last value. It waits for the saved tensors."""
        loop = self.forward
        with loop._within(loop.outer):
            zero = self.graph.constant(np.int32(0))
            loop.add_variable(zero)
        with loop.opened():
            self._number = loop.take(loop.merges[-1])
            self._kept = CONTROL_TRIGGER(name="kept", graph=self.graph)
            with self.graph.control_dependencies([self._kept]):
                next_number: Any = ADD(self._number, 1)
            loop.close(len(loop.merges) - 1, next_number)
        return loop.exits[-1]

    # tensors of the forward loop

    def is_forward(self, t: Tensor) -> bool:
        """Returns whether the tensor was computed in the forward loop."""
        return self.forward.holds(t.op) or t in self.forward.made_outside

    def enter(self, t: Tensor) -> Tensor:
        if self.has(t) or not self.is_forward(t):
            return super().enter(t)
        is_controlled = t.op.opdef.kind is Kind.CONST and t.op.control_inputs  # in the iteration of the forward loop
        if t.spec.ref or (t.op.opdef.kind in PLACES and not is_controlled):
            return t
        inner = self._read.get(t)
        if inner is None:
            inner = self._read[t] = self._again(t)
        return inner

    def _again(self, t: Tensor) -> Tensor:
        """Returns the value that `t` had in the forward iteration."""
        if t in self.forward.made_outside:  # a constant Enter
            return self.enter(t.op.inputs[0])
        with Detached(self.graph, self):
            if t.op.opdef.kind is Kind.CONST:
                return self.graph.constant(t.op.attrs.value)
            if t.op.opdef is SWITCH and t.op.inputs[1] != self.forward.pred:
                # This Switch leads into a branch, whose condition is needed in any case.
                data, pred = (self.enter(x) for x in t.op.inputs)
                output: Tensor = SWITCH(self.inside(data), self.inside(pred))[t.index]
                return output
            return self._keep(t)

    def _keep(self, t: Tensor) -> Tensor:
        """Makes the forward loop save `t`, and restores it in this loop."""
        slot, self._slots = self._slots, self._slots + 1
        with self.forward._within(context_of(t.op)):
            push_tensor = LOOP_STACK_PUSH(
                self._handle, self._number, t, slot=slot, swap_memory=self.forward.swap_memory
            )
        conditions = conditions_of(t, self.forward, self._known)
        at = self.under(conditions, self.index)
        value: Tensor = LOOP_STACK_POP(self._handle, at, T=t.dtype, slot=slot)
        value.set_shape(t.shape)
        saved = Saved(self, conditions, push_tensor.op, value.op)
        push_tensor.op.extra[SAVED] = value.op.extra[SAVED] = saved
        if self._closed:
            self._wait_for([saved])
        else:
            self._saved.append(saved)
        return value

    def under(self, conditions: Sequence[Condition], t: Tensor) -> Tensor:
        """Returns the tensor `t` of this loop where the conditions were true in the forward iteration, else a dead
        tensor.
        """
        for pred, branch in conditions:
            t = SWITCH(t, self.enter(pred))[branch]
        return t

    def keep_what_is_read(self) -> None:
        """Makes the forward loop wait for, and so run, the saving of the tensors that the finished backward loop
        reads.
        """
        live_ops: set[Operation] = set()
        stack = [self.pred.op, *(t.op for t in self.results.values())]
        while stack:
            op = stack.pop()
            if op not in live_ops and self.holds(op):
                live_ops.add(op)
                stack += [*(t.op for t in op.inputs), *op.control_inputs]
        self._wait_for([saved for saved in self._saved if saved.pop in live_ops])
        self._closed = True

    def _wait_for(self, saved: Sequence[Saved]) -> None:
        self._kept.control_inputs = [*self._kept.control_inputs, *(x.push for x in saved)]

    def let_gradients_pass(self, saved: Saved) -> None:
        """Moves a saved tensor from the stack to a TensorArray.

        The forward loop writes the array and this loop reads it. The flow of the array is an ordinary loop variable of
        the forward loop and an ordinary input of this one, so gradients pass from each read to its write.
        """
        push, pop, loop = saved.push, saved.pop, self.forward
        t = push.inputs[2]
        with self._building_forward():
            array = TensorArray(t.dtype, size=0, dynamic_size=True, infer_shape=False, element_shape=t.shape)
            loop.add_variable(array.flow)
        k = len(loop.merges) - 1
        with Detached(self.graph, loop):
            flow = loop.take(loop.merges[k])
            loop.close(k, _written(array.with_flow(flow), self._number, t, saved.conditions).flow)
        with Detached(self.graph, self):
            flow = self.under(saved.conditions, self.enter(loop.exits[k]))
        self._kept.control_inputs = [op for op in self._kept.control_inputs if op is not push]
        redefine(
            pop,
            TENSOR_ARRAY_READ,
            (self.enter(array.handle), pop.inputs[1], flow),
            TENSOR_ARRAY_READ.attrs(),
            {"dtype": t.dtype},
        )
        del pop.extra[SAVED]

    def add_op(self, op: Operation) -> None:
        self._want_shape_only(op)
        super().add_op(op)

    def _want_shape_only(self, op: Operation) -> None:
        """Makes the forward loop save only the shape of a tensor where the operation needs nothing else."""
        if op.opdef not in (SHAPE, ZEROS_LIKE) or not self.is_forward(op.inputs[0]):
            return
        t = op.inputs[0]
        if t.op.opdef.kind in PLACES or t in self.forward.made_outside or t.op.opdef is SWITCH:
            return
        out_type = op.types["out_type"] if op.opdef is SHAPE else int32
        with Detached(self.graph, context_of(t.op)):
            shape: Tensor = SHAPE(t, out_type=out_type)
        if op.opdef is SHAPE:
            op.opdef, op.inputs = IDENTITY, (shape,)
            op.attrs, op.types = IDENTITY.attrs(), {"T": out_type}
        else:
            zero = self.graph.constant(np.zeros((), t.dtype.np))
            op.opdef, op.inputs = FILL, (shape, zero)
            op.attrs, op.types = FILL.attrs(), {"T": t.dtype, "index_type": int32}


def unswitched(t: Tensor) -> Tensor:
    """Returns the tensor that entered the branches in which `t` represents it."""
    while t.op.opdef is SWITCH:
        t = t.op.inputs[0]
    return t


def _written(array: TensorArray, index: Tensor, value: Tensor, conditions: Sequence[Condition]) -> TensorArray:
    """Returns the array with `value` as an element where all conditions are true, and else unchanged."""
    flow, switch_outputs = array.flow, []
    for pred, branch in conditions:
        switch = SWITCH(flow, pred)
        switch_outputs.append((switch[1 - branch], branch))
        flow = switch[branch]
    flow = array.with_flow(flow).write(index, value).flow
    for output, branch in reversed(switch_outputs):
        flow = MERGE([flow, output] if branch == 0 else [output, flow])[0]
        flow.op.extra["pred"] = output.op.inputs[1]
    return array.with_flow(flow)


def differentiate(
    graph: GraphLike, loop: WhileContext, arrived: Sequence[Any], between: set[Operation], walk: Callable[..., Any]
) -> list[tuple[Tensor, Any]]:
    """Returns the gradients of a loop by the tensors that enter it: pairs of a tensor outside and its gradient.

    `arrived[k]` is the gradient of exit k or None; `between` are the operations on a path from an x to a y; `walk(loop,
    xs, ys, dys)` returns the gradients of ys by xs within one iteration. A loop with `back_prop=False` has no
    gradients.
    """
    if not loop.back_prop:
        return []
    lists = [m for m, g in zip(loop.merges, arrived, strict=True) if g is not None and m.dtype is variant]
    if lists:
        raise UnimplementedError(f"gradients do not pass through lists of tensors in a loop ({loop.name})", lists[0].op)
    variables = [k for k, m in enumerate(loop.merges) if m.op in between and has_gradient(m)]
    captured = [
        (inner.op.inputs[0], inner)
        for inner in list(loop.entered.values())
        if inner.op in between and has_gradient(inner)
    ]
    if not variables and not captured:
        return []
    live = _with_gradients(loop, variables, arrived)
    idle = [k for k in variables if k not in live]
    variables = [k for k in variables if k in live]
    backward = BackwardLoop(graph, loop)
    begin = [_dense(arrived[k], loop.exits[k]) for k in variables]
    xs = [loop.inputs[k] for k in variables] + [inner for _, inner in captured]
    ys = [loop.results[k] for k in variables]
    totals: list[Any] = []

    def body(taken: list[Any]) -> list[Tensor]:
        backward.index = taken[0] - 1
        grads = walk(loop, xs, ys, taken[1:])
        next_grads = [_dense(g, loop.inputs[k]) for k, g in zip(variables, grads, strict=False)]
        totals.extend(total(backward, t, g) for (t, _), g in zip(captured, grads[len(variables) :], strict=True))
        return [backward.index, *next_grads]

    shapes: list[Shape | None] = [Shape(()), *(loop.merges[k].shape for k in variables)]
    exits = backward.build([backward.count, *begin], shapes, _positive, body)
    backward.keep_what_is_read()
    result: list[tuple[Tensor, Any]] = [
        (loop.enters[k].op.inputs[0], x) for k, x in zip(variables, exits[1:], strict=False)
    ]
    result += [(loop.enters[k].op.inputs[0], zeros_like(loop.enters[k].op.inputs[0])) for k in idle]
    for (t, _), finish in zip(captured, totals, strict=True):
        grad = finish()
        result.append((t, zeros_like(t) if grad is None and idle else grad))
    return result


def _with_gradients(loop: WhileContext, variables: Sequence[int], arrived: Sequence[Any]) -> set[int]:
    """Returns the loop variables that get a gradient: at their exit, or in an iteration from one that gets one.

    A step that wants gradients need not run what computes the others.
    """
    by_input = {loop.inputs[k]: k for k in variables} | {loop.merges[k]: k for k in variables}
    live: set[int] = set()
    pending = [k for k in variables if arrived[k] is not None]
    while pending:
        k = pending.pop()
        if k in live:
            continue
        live.add(k)
        seen, stack = set(), [loop.results[k]]
        while stack:
            t = stack.pop()
            if t in by_input:
                pending.append(by_input[t])
            elif t.op not in seen and loop.holds(t.op):
                seen.add(t.op)
                stack.extend(t.op.inputs)
    return live


def has_gradient(t: Tensor) -> bool:
    """Returns whether tensors of this dtype have gradients."""
    return t.dtype.is_floating or t.dtype.is_complex


def _positive(taken: list[Any]) -> Any:
    return taken[0] > 0


def _dense(grad: Tensor, like: Tensor) -> Tensor:
    """Returns a gradient as a tensor; zeros where there is none."""
    if grad is None:
        zeros: Tensor = zeros_like(like)
        return zeros
    dense: Tensor = like.graph.to_tensor(grad)
    return dense
