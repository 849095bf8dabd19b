"""Control contexts: the branch or loop to which new operations belong (white paper, section 4.4).

The inputs of an operation that is created in a context enter the context: through a Switch into a branch, through an
Enter into a loop. An operation without inputs from inside waits for the context's pivot. So it runs exactly when, and
as often as, its context does. Constants and references enter as they are. Invariant: all inputs of an operation come
from its own frame.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tfnb.errors import GraphError
from tfnb.ir.opdef import Kind, ref_inputs
from tfnb.ir.operation import Operation
from tfnb.ir.operation_keys import CONTEXT, LOOP, PIVOT, READ, loops_around
from tfnb.ir.tensor import GraphLike, Tensor, TensorLike
from tfnb.ops.array.shape_ops import IDENTITY
from tfnb.ops.control_flow.switch_merge import REF_ENTER, SWITCH

__all__ = [
    "CONTEXT",
    "LOOP",
    "PLACES",
    "READ",
    "CondContext",
    "Context",
    "Detached",
    "context_of",
    "loops_around",
    "root_variable",
]

PLACES = (Kind.CONST, Kind.VARIABLE)  # nodes of these kinds have the same value in every branch and iteration
_PRIMITIVES = (Kind.SWITCH, Kind.MERGE, Kind.ENTER, Kind.EXIT, Kind.NEXT_ITERATION, Kind.LOOP_COND)


def context_of(op: Operation) -> Any:
    """Returns the innermost context in which the operation was created, or None outside all contexts."""
    return op.extra.get(CONTEXT)


def root_variable(t: Tensor) -> Operation:
    """Returns the operation behind a reference: a VariableV2, or an argument of a function."""
    op = t.op
    while op.inputs:
        op = op.inputs[op.opdef.writes[0] if op.opdef.writes else 0].op
    return op


class Context(ABC):
    """A branch or loop during its construction.

    `pivot` is alive exactly when the context runs (in a loop: in each iteration). `outer` is the context around, or
    None.
    """

    is_loop = False
    reads_another = False  # whether it is a loop that replaces the values of another loop by those that it kept

    def __init__(self, graph: GraphLike) -> None:
        self.graph = graph
        self.pivot: Any = None
        self.outer: Any = graph.scopes.control_flow
        self.entered: dict[Tensor, Tensor] = {}  # tensor outside -> tensor inside that stands for it
        self.made_outside: set[Tensor] = set()  # tensors of ops outside that are dead exactly when the context is

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Within the block, new operations belong to this context."""
        with self._within(self):
            yield

    @contextmanager
    def _within(self, context: Context) -> Iterator[None]:
        scopes = self.graph.scopes
        previous, scopes.control_flow = scopes.control_flow, context
        try:
            yield
        finally:
            scopes.control_flow = previous

    def holds(self, op: Operation) -> bool:
        """Returns whether the operation was created in this context or in one inside it."""
        context = op.extra.get(CONTEXT)
        while context is not None and context is not self:
            context = context.outer
        return context is self

    def check_use(self, t: Tensor, op: Operation, context: Context | None) -> None:
        """Raises `GraphError` if `op`, which is made in `context`, uses `t` of this context outside of t's loop."""
        loops, around = loops_around(self), loops_around(context)
        if not loops or loops[-1] in around or Kind.EXIT in (op.opdef.kind, t.op.opdef.kind):
            return
        if op.opdef.kind is Kind.ENTER and t.op.opdef.kind in PLACES:
            return
        if any(loop.reads_another for loop in around):
            return
        if around:
            why = f"Cannot use '{op.name}' as input to '{t.op.name}' because they are in different while loops."
        else:
            why = f"Cannot use '{t.op.name}' as input to '{op.name}' because '{t.op.name}' is in a while loop."
        raise GraphError(f"{why} See info log for more details. Return the tensor as a loop variable", t.op)

    def has(self, t: Tensor) -> bool:
        """Returns whether the tensor can be used inside without entering."""
        return t in self.made_outside or (t.op.opdef.kind not in PLACES and self.holds(t.op))

    def drives(self, t: Tensor) -> bool:
        """Returns whether an operation with this input runs exactly when the context does."""
        return self.has(t)

    def is_place(self, t: Tensor) -> bool:
        """Returns whether the tensor enters unchanged.

        A constant with a gradient does not, for its gradient must leave the context by a Merge or an Exit, nor does one
        with control inputs, which are outside as it is.
        """
        if t.op.opdef.kind is Kind.CONST:
            return (not t.dtype.is_floating and not t.op.control_inputs) or self.holds(t.op)
        return t.spec.ref or t.op.opdef.kind is Kind.VARIABLE

    def enter(self, t: Tensor) -> Tensor:
        """Returns the tensor inside that stands for `t`."""
        if self.has(t):
            return t
        if self.is_place(t):
            return t if self.outer is None else self.outer.enter(t)
        inner = self.entered.get(t)
        if inner is None:
            scopes = self.graph.scopes
            with self.graph.control_dependencies(None):
                scopes.control_flow = self.outer
                inner = self.capture(t)
            if READ in t.op.extra:
                inner.op.extra[READ] = t.op.extra[READ]
            self.entered[t] = inner
            self.made_outside.add(inner)
        return inner

    def AddValue(self, val: Tensor) -> Tensor:
        """As `enter`; programs that ask a graph for its context call it by this name."""
        return self.enter(val)

    @abstractmethod
    def capture(self, t: Tensor) -> Tensor:
        """Adds the nodes through which a tensor from outside enters; called in the outer context."""

    def controls(self, ops: Sequence[Operation]) -> list[Operation]:
        """Returns the control inputs with which an operation inside waits for `ops`."""
        return list(ops) if self.outer is None else self.outer.controls(ops)

    @property
    def in_loop(self) -> bool:
        """Returns whether the context is a loop or lies in one."""
        return bool(loops_around(self))

    def add_op(self, op: Operation) -> None:
        """Replaces the inputs of a new operation by those inside; the graph calls it before it registers the
        operation.
        """
        op.inputs = tuple(self.enter(t) for t in op.inputs)
        op.control_inputs = self.controls(op.control_inputs)
        op.extra[CONTEXT] = self
        if self.pivot is not None:
            op.extra[PIVOT] = self.pivot.op
        if op.opdef.kind is Kind.CONST:
            self.graph.prevent_fetching(op)
            for t in op.outputs:
                self.graph.prevent_feeding(t)
        if op.opdef.kind in PLACES:
            return
        self._read_references(op)
        if op.opdef.kind in _PRIMITIVES and self.in_loop:
            # A primitive is in the frame of its inputs, and a constant is in none. A RefEnter returns a reference.
            refs = [a.ref for a in op.opdef.input_args]
            if not any(refs):
                op.inputs = tuple(self.inside(t) for t in op.inputs)
        if not any(self.drives(t) for t in op.inputs) and not any(self.holds(c) for c in op.control_inputs):
            op.control_inputs = [*op.control_inputs, self.pivot.op]
        self.graph.prevent_fetching(op)
        for t in op.outputs:
            self.graph.prevent_feeding(t)

    def _read_references(self, op: Operation) -> None:
        """Inserts an Identity that reads a reference which came into a loop, where the operation wants the value."""
        if op.opdef is IDENTITY or not any(t.op.opdef is REF_ENTER for t in op.inputs):
            return
        ref_positions = ref_inputs(op.opdef, op.types)
        op.inputs = tuple(
            IDENTITY(t) if t.op.opdef is REF_ENTER and k not in ref_positions else t for k, t in enumerate(op.inputs)
        )

    def inside(self, t: Tensor) -> Tensor:
        """Returns a tensor inside with the value of `t`, which may be a constant or a reference."""
        if t.spec.ref or t.op.opdef.kind in PLACES:
            with self.opened():
                return IDENTITY(t)
        return self.enter(t)


class CondContext(Context):
    """One branch of a conditional: `branch` is the output, 0 or 1, that it takes of the Switches on `pred`."""

    def __init__(self, pred: Tensor, pivot: Tensor, branch: int) -> None:
        super().__init__(pivot.graph)
        self.pred = pred
        self.pivot = pivot
        self.branch = branch
        self.made_outside.add(pivot)

    def capture(self, t: Tensor) -> Tensor:
        with self.graph.colocate_with(t.op):
            output: Tensor = SWITCH(t, self.pred, name="Switch")[self.branch]
        self.graph.prevent_fetching(output.op)
        return output

    def result(self, value: TensorLike) -> Tensor:
        """Returns the tensor that the branch passes to its Merge for one of the values that its function returned."""
        if isinstance(value, Operation):
            with self.graph.control_dependencies([value]):
                return IDENTITY(self.pivot)
        return self.inside(self.graph.to_tensor(value))


class Detached:
    """Within the block, new operations belong to `context`, without the program's control dependencies and devices."""

    def __init__(self, graph: GraphLike, context: Context | None) -> None:
        self._graph = graph
        self._context = context
        self._before: Any = None

    def __enter__(self) -> None:
        scopes = self._graph.scopes
        self._before = scopes.control_flow, len(scopes.control)
        scopes.control.append(None)
        scopes.control_flow = self._context

    def __exit__(self, *error: object) -> None:
        scopes = self._graph.scopes
        scopes.control_flow, length = self._before
        del scopes.control[length:]
