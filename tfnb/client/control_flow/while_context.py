"""WhileContext: one loop of the graph (white paper, section 4.4; OSDI'16, section 3.4).

A loop variable is Enter -> Merge -> Switch; the Switch leads to the body, and from there by NextIteration back to the
Merge, or to Exit. A tensor from outside that the body reads comes in by a constant Enter and is the same in all
iterations. Invariant: the lists `enters`, `merges`, `inputs`, `results` and `exits` are in the same order, one entry
for each loop variable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from tfnb.client.control_flow.control_context import (
    LOOP,
    READ,
    Context,
    Detached,
    context_of,
    root_variable,
)
from tfnb.client.variables.reads import ImplicitRead, read_in
from tfnb.errors import DTypeError, ShapeError
from tfnb.ir.builder import replace_input
from tfnb.ir.opdef import Kind
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import GraphLike, Tensor, TensorLike
from tfnb.ops.array.shape_ops import IDENTITY
from tfnb.ops.control_flow.switch_merge import (
    ENTER,
    EXIT,
    LOOP_COND,
    MERGE,
    NEXT_ITERATION,
    REF_ENTER,
    SWITCH,
)
from tfnb.types import Shape, TensorSpec, scalar

__all__ = ["LOOP", "WhileContext"]


class WhileContext(Context):
    """A loop during its construction, with what gradients need to know of it afterwards.

    `inputs` are the loop variables at the beginning of the body, `results` those at its end, and `exits` the values
    after the loop.
    """

    is_loop = True

    def __init__(
        self,
        graph: GraphLike,
        parallel_iterations: int = 10,
        back_prop: bool = True,
        swap_memory: bool = False,
        name: str = "while_context",
    ) -> None:
        super().__init__(graph)
        self.name: str = graph.unique_name(name)
        self.parallel_iterations = parallel_iterations
        self.back_prop = back_prop
        self.swap_memory = swap_memory
        self.enters: list[Tensor] = []
        self.merges: list[Tensor] = []
        self.inputs: list[Tensor] = []
        self.results: dict[int, Tensor] = {}
        self.exits: list[Tensor] = []
        self.pred: Any = None  # the output of the LoopCond
        self._constants: set[Tensor] = set()  # outputs of constant Enters

    # tensors that enter

    def drives(self, t: Tensor) -> bool:
        return self.has(t) and t not in self._constants

    def is_place(self, t: Tensor) -> bool:
        """Returns whether the tensor enters unchanged.

        A reference from outside does not: it enters by RefEnter, so that all operations in the loop are in its frame.
        """
        return t.op.opdef.kind is Kind.CONST and super().is_place(t)

    def capture(self, t: Tensor) -> Tensor:
        entered = self._enter(t, constant=True)
        self._constants.add(entered)
        return entered

    def _enter(self, t: Tensor, constant: bool) -> Tensor:
        entered: Tensor = (REF_ENTER if constant and t.spec.ref else ENTER)(
            t,
            frame_name=self.name,
            is_constant=constant,
            parallel_iterations=self.parallel_iterations,
            name="Enter",
        )
        entered.op.extra[LOOP] = self
        self.graph.prevent_feeding(entered)
        return entered

    def controls(self, ops: Sequence[Operation]) -> list[Operation]:
        """Returns the control inputs inside; for operations outside the loop waits once, before it begins."""
        loop_ops = []
        for op in ops:
            if self.holds(op):
                loop_ops.append(op)
            else:
                self._begin_after(op)
        return loop_ops

    def _begin_after(self, op: Operation) -> None:
        outer: Sequence[Operation] = [op] if self.outer is None else self.outer.controls([op])
        first = self.enters[0].op
        first.control_inputs = list(dict.fromkeys([*first.control_inputs, *outer]))

    # building

    def add_variable(self, value: Tensor, shape: Shape | None = None) -> Tensor:
        """Adds Enter and Merge of a loop variable that begins as `value`; called in the outer context."""
        enter = self._enter(value, constant=False)
        self.enters.append(enter)
        self.made_outside.add(enter)
        with self.opened():
            merge: Tensor = MERGE([enter, enter], name="Merge")[0]
            if shape is not None:
                merge.op.set_spec(0, TensorSpec(merge.dtype, shape))
        if self.pivot is None:
            self.pivot = merge
        self.merges.append(merge)
        return merge

    def decide(self, pred: TensorLike) -> None:
        """Makes the loop continue while `pred` is true. The builder calls this method inside the loop, before the
        body.
        """
        pred = self.graph.to_tensor(pred)
        if not pred.dtype.is_bool:
            raise DTypeError(f"while_loop: cond must return a bool, got {pred.dtype.name}", pred.op)
        if not pred.shape.is_compatible_with(scalar):
            raise ShapeError(f"while_loop: cond must return a scalar, got shape {pred.shape}", pred.op)
        self.pred = LOOP_COND(self.inside(pred), name="LoopCond")

    def take(self, merge: Tensor) -> Tensor:
        """Returns the loop variable for the body, and creates its Exit. Called inside."""
        exit_value, body_value = SWITCH(merge, self.pred, name="Switch")
        value: Tensor = IDENTITY(body_value, name="Identity")
        self.inputs.append(value)
        with Detached(self.graph, self.outer):
            self.exits.append(EXIT(exit_value, name="Exit"))
        self.exits[-1].op.extra[LOOP] = self
        return value

    def close(self, k: int, result: Tensor) -> None:
        """Makes `result` the value of loop variable `k` in the next iteration. Called inside."""
        merge = self.merges[k]
        if result.dtype is not merge.dtype:
            raise DTypeError(
                f"while_loop: loop variable {k} ({merge.name}) is {merge.dtype.name}, the body made it "
                f"{result.dtype.name} ({result.name})",
                result.op,
            )
        result = self.inside(result)
        next_value: Tensor = NEXT_ITERATION(result, name="NextIteration")
        _check_invariant(self.enters[k], merge, next_value)
        replace_input(merge.op, 1, next_value)
        self.results[k] = result

    def build(
        self,
        values: Sequence[Tensor],
        shapes: Sequence[Shape | None],
        cond: Callable[[list[Tensor]], Any],
        body: Callable[[list[Tensor]], Sequence[Tensor]],
    ) -> list[Tensor]:
        """Builds the whole loop over `values` and returns the exits. The caller is in the outer context."""
        for value, shape in zip(values, shapes, strict=True):
            self.add_variable(value, shape)
        with self.opened():
            self.decide(cond(list(self.merges)))
            variables = [self.take(merge) for merge in self.merges]
            self.pivot = variables[0]
            for k, result in enumerate(body(variables)):
                self.close(k, result)
        self.read_in_iterations()
        return list(self.exits)

    # variables

    @cached_property
    def changes(self) -> frozenset[Operation]:
        """The variables that an operation in the finished loop changes."""
        return frozenset(variable for op in self._changing for variable in _changed(op))

    @cached_property
    def _changing(self) -> list[Operation]:
        """Returns the operations in the finished loop that change variables."""
        new_ops = self.graph.get_operations()[self.enters[0].op.id :]
        return [op for op in new_ops if op.opdef.writes and self.holds(op)]

    def read_in_iterations(self) -> None:
        """Lets the finished loop read the variables that it changes in each iteration, not once before it begins.

        Such a read waits for all values that the previous iteration computed for the loop variables, and an operation
        that changes the variable in the same iteration waits for the read.
        """
        for outside, inner in list(self.entered.items()):
            read: ImplicitRead | None = outside.op.extra.get(READ)
            if read is None or read.variables.isdisjoint(self.changes):
                continue
            for op in inner.consumers():
                value = self._begin_with(read, in_condition=op.id <= self.pred.op.id)
                for k, t in enumerate(op.inputs):
                    if t == inner:
                        replace_input(op, k, value)
            for k, t in self.results.items():
                if t == inner:
                    self.results[k] = self._begin_with(read, in_condition=False)
            del self.entered[outside]

    def _begin_with(self, read: ImplicitRead, in_condition: bool) -> Tensor:
        """Returns the variables' value at the beginning of each iteration: of its condition or of its body."""
        control = tuple(t.op for t in (self.merges if in_condition else self.inputs))
        is_cached = (self, control) in read.other_reads
        value = read_in(read, self, control)
        if not is_cached:
            for op in self._changing:
                if not read.variables.isdisjoint(_changed(op)) and (in_condition or op.id > self.pred.op.id):
                    op.control_inputs = [*op.control_inputs, *context_of(op).controls([value.op])]
        return value


def _changed(op: Operation) -> frozenset[Operation]:
    """Returns the variables that the operation itself changes."""
    return frozenset(root_variable(op.inputs[k]) for k in op.opdef.writes)


def _check_invariant(enter: Tensor, merge: Tensor, following: Tensor) -> None:
    """Raises `ShapeError` if the shape of a loop variable is more specific than the shape of each iteration's value."""
    invariant, dims = merge.shape.sizes, following.shape.sizes
    if invariant is None:
        return
    is_compatible = dims is not None and len(dims) == len(invariant)
    if is_compatible and all(w is None or w == g for w, g in zip(invariant, dims or (), strict=True)):
        return
    raise ShapeError(
        f"The shape for {merge.name} is not an invariant for the loop. It enters the loop with shape "
        f"{enter.shape}, but has shape {following.shape} after one iteration. Provide shape invariants using either "
        "the `shape_invariants` argument of tf.while_loop or set_shape() on the loop variables. "
        f"The loop takes {merge.shape}",
        merge.op,
    )
