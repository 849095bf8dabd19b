"""Control-flow primitives (white paper, section 4.4; OSDI'16, section 3.4).

Switch and Merge form branches, and together with Enter, Exit and NextIteration loops. The executor implements them by
their `Kind`; this module defines their signatures, shapes and gradients. Invariant: a dead input makes the output of
every op but Merge dead, so exactly the values of the taken path arrive.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfnb.errors import ShapeError
from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, GradFn, GradientMissing, HostCall, Infer, Kind, NotDifferentiable, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.shapes import no_outputs, unchanged, with_rank
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.constants import zeros_like
from tfnb.ops.array.shape_ops import shape_of
from tfnb.ops.math.cast import alike_indices
from tfnb.types import ANY, Shape, scalar, unknown_shape

__all__ = [
    "API",
    "CONTROL_TRIGGER",
    "ENTER",
    "EXIT",
    "LOOP_COND",
    "MERGE",
    "NEXT_ITERATION",
    "NO_OP",
    "OPS",
    "REF_ENTER",
    "REF_EXIT",
    "REF_MERGE",
    "REF_NEXT_ITERATION",
    "REF_SWITCH",
    "SWITCH",
]


@record
class EnterAttrs:
    """`frame_name`: the frame of the loop; `is_constant`: the value is the same in all its iterations."""

    frame_name: str = ""
    is_constant: bool = False
    parallel_iterations: int = 10


def _pass(call: HostCall, x: np.ndarray) -> np.ndarray:
    return x


def _scalar_input(c: Infer, i: int, what: str) -> None:
    if not c.shapes[i].is_compatible_with(scalar):
        raise ShapeError(f"{c.op_name}: {what} must be a scalar, got shape {c.shapes[i]}")


def _switch_shapes(c: Infer) -> tuple[Shape, Shape]:
    _scalar_input(c, 1, "pred")
    return c.shapes[0], c.shapes[0]


def _switch_host(call: HostCall, data: np.ndarray, pred: np.ndarray) -> tuple[Any, Any]:
    """Returns (data, None) or (None, data): the output that is not taken is dead."""
    return (None, data) if bool(pred) else (data, None)


def _common(shapes: Sequence[Shape]) -> Shape:
    """The static shape that all the shapes have in common."""
    if any(s.sizes is None for s in shapes) or len({s.ndims for s in shapes}) != 1:
        return unknown_shape
    columns = zip(*(s.as_list() for s in shapes), strict=True)
    return Shape(tuple(ds[0] if len(set(ds)) == 1 else None for ds in columns))


def _merge_shapes(c: Infer) -> tuple[Shape, Shape]:
    return _common(c.shapes), scalar


def _merge_host(call: HostCall, *inputs: np.ndarray) -> tuple[Any, Any]:
    """The input that is not dead (None), and its index."""
    i = next((i for i, x in enumerate(inputs) if x is not None), -1)
    return (None if i < 0 else inputs[i]), np.asarray(i, np.int32)


def _loop_cond_shape(c: Infer) -> Shape:
    with_rank(c, 0, 0)
    return scalar


def _grad_switch(op: Operation, when_false: Tensor, when_true: Tensor) -> Any:
    """The gradient of the taken branch, with zeros for an unused output (None).

    Each side passes through a Switch again, since a gradient that does not depend on a branch would always be live.
    """
    data, pred = op.inputs
    sides = [when_false, when_true]
    if any(isinstance(g, IndexedSlices) for g in sides):
        rows = [_rows(g, data) for g in sides]
        if all(r is not None for r in rows):
            slices = [r for r in rows if r is not None]
            values = _chosen([r.values for r in slices], pred)
            indices = _chosen(alike_indices([r.indices for r in slices]), pred)
            return IndexedSlices(values, indices, shape_of(data)), None
    return _chosen([zeros_like(data) if g is None else g for g in sides], pred), None


def _chosen(sides: Sequence[Any], pred: Tensor) -> Tensor:
    """Selects the tensor of the taken branch by a Merge that records the condition for its own gradient."""
    switches = [SWITCH(side, pred) for side in sides]
    merged = MERGE([switch[k] for k, switch in enumerate(switches)])[0]
    merged.op.extra["pred"] = switches[0][0].op.inputs[1]
    return merged


def _rows(grad: Tensor, data: Tensor) -> IndexedSlices | None:
    """A gradient as indexed slices, without rows for zeros; None if it is dense or the shape of rows is not known."""
    if grad is not None:
        return grad if isinstance(grad, IndexedSlices) else None
    if not data.shape.is_fully_defined():
        return None
    none = np.zeros((0, *data.shape.known()[1:]), data.dtype.np)
    return IndexedSlices(data.graph.constant(none), data.graph.constant(np.zeros(0, np.int32)))


def _grad_merge(op: Operation, dy: Tensor, dindex: Tensor) -> Any:
    """Sends the gradient back along the input that was taken.

    The Merge of a conditional knows its condition; otherwise, with N inputs, a chain of switches separates them.
    """
    pred = op.extra.get("pred")
    if pred is not None and isinstance(dy, IndexedSlices):
        values, indices = SWITCH(dy.values, pred), SWITCH(dy.indices, pred)
        return tuple(IndexedSlices(values[k], indices[k], dy.dense_shape) for k in range(len(op.inputs)))
    if pred is not None:
        return tuple(SWITCH(dy, pred))
    grads = []
    rest = dy
    index = op.outputs[1]
    for i in range(len(op.inputs) - 1):
        rest_or_this = SWITCH(rest, index > i)
        grads.append(rest_or_this[0])
        rest = rest_or_this[1]
    return (*grads, rest)


NO_OP: OpDef[Operation] = OpDef(
    "NoOp",
    doc="Does nothing; it serves as an end of control edges.\n\nNo inputs, no outputs.",
    infer=no_outputs,
    host=lambda call: (),
    grad=NOT_DIFFERENTIABLE,
    kind=Kind.NO_OP,
    api="no_op",
)

CONTROL_TRIGGER: OpDef[Operation] = OpDef(
    "ControlTrigger",
    doc="Like NoOp, but runs even if some of its control inputs are dead.",
    infer=no_outputs,
    host=lambda call: (),
    grad=NOT_DIFFERENTIABLE,
    kind=Kind.CONTROL_TRIGGER,
)

_SWITCH_DOC = """Sends `data` to output_true where the scalar bool `pred` is true, else to output_false.

The other output is dead. Both have the dtype and shape of `data`. Errors: `pred` is not a scalar."""

SWITCH: OpDef[tuple[Tensor, Tensor]] = OpDef(
    "Switch",
    "data: T, pred: bool",
    "output_false: T, output_true: T",
    _SWITCH_DOC,
    types={"T": ANY},
    infer=_switch_shapes,
    host=_switch_host,
    grad=_grad_switch,
    kind=Kind.SWITCH,
)

REF_SWITCH: OpDef[tuple[Tensor, Tensor]] = OpDef(
    "RefSwitch",
    "data: Ref(T), pred: bool",
    "output_false: Ref(T), output_true: Ref(T)",
    "Switch for references: the taken output refers to the same variable as `data`.",
    types={"T": ANY},
    infer=_switch_shapes,
    host=_switch_host,
    grad=_grad_switch,
    kind=Kind.SWITCH,
)

_MERGE_DOC = """Returns the one of N `inputs` that is not dead, as soon as it arrives, and its index.

inputs: N tensors of the same dtype. output: that dtype; its static shape is what the inputs' shapes have in common.
value_index: an int32 scalar."""

MERGE: OpDef[tuple[Tensor, Tensor]] = OpDef(
    "Merge",
    "inputs: N*T",
    "output: T, value_index: int32",
    _MERGE_DOC,
    types={"T": ANY},
    infer=_merge_shapes,
    host=_merge_host,
    grad=_grad_merge,
    kind=Kind.MERGE,
)

REF_MERGE: OpDef[tuple[Tensor, Tensor]] = OpDef(
    "RefMerge",
    "inputs: N*Ref(T)",
    "output: Ref(T), value_index: int32",
    "Merge for references: the output refers to the variable of the taken input.",
    types={"T": ANY},
    infer=_merge_shapes,
    host=_merge_host,
    grad=_grad_merge,
    kind=Kind.MERGE,
)


def _pass_back(op: Operation, dy: Tensor) -> Tensor:
    """The gradient when it is taken inside the loop; gradients through a loop are computed by
    `client/gradients/backward_loop.py`."""
    return dy


def _loop_op(
    name: str,
    kind: Kind,
    grad: GradFn | NotDifferentiable | GradientMissing | None,
    doc: str,
    ref: bool = False,
    attrs: Any = None,
) -> OpDef[Tensor]:
    of = "Ref(T)" if ref else "T"
    keywords = {} if attrs is None else {"attrs": attrs}
    return OpDef(
        name,
        f"data: {of}",
        f"output: {of}",
        doc,
        types={"T": ANY},
        infer=unchanged,
        host=_pass,
        grad=grad,
        kind=kind,
        **keywords,
    )


ENTER = _loop_op(
    "Enter",
    Kind.ENTER,
    _pass_back,
    attrs=EnterAttrs,
    doc="Makes `data` available in the frame `frame_name`: in its first iteration, or in all if `is_constant`.",
)
REF_ENTER = _loop_op(
    "RefEnter",
    Kind.ENTER,
    _pass_back,
    ref=True,
    attrs=EnterAttrs,
    doc="Enter for references: the output refers to the same variable inside the frame.",
)
EXIT = _loop_op("Exit", Kind.EXIT, _pass_back, "Passes `data` of a loop's last iteration to the enclosing frame.")
REF_EXIT = _loop_op("RefExit", Kind.EXIT, _pass_back, "Exit for references.", ref=True)
NEXT_ITERATION = _loop_op(
    "NextIteration",
    Kind.NEXT_ITERATION,
    _pass_back,
    "Passes `data` to the next iteration of its loop; only a Merge may read the output.",
)
REF_NEXT_ITERATION = _loop_op(
    "RefNextIteration",
    Kind.NEXT_ITERATION,
    _pass_back,
    "NextIteration for references.",
    ref=True,
)

LOOP_COND: OpDef[Tensor] = OpDef(
    "LoopCond",
    "input: bool",
    "output: bool",
    "Marks the scalar bool that decides whether a loop goes on; the loop's switches read its output.",
    infer=_loop_cond_shape,
    host=_pass,
    grad=NOT_DIFFERENTIABLE,
    kind=Kind.LOOP_COND,
)

OPS: tuple[OpDef, ...] = (
    NO_OP,
    CONTROL_TRIGGER,
    SWITCH,
    REF_SWITCH,
    MERGE,
    REF_MERGE,
    ENTER,
    REF_ENTER,
    EXIT,
    REF_EXIT,
    NEXT_ITERATION,
    REF_NEXT_ITERATION,
    LOOP_COND,
)
API: dict[str, Any] = {}
