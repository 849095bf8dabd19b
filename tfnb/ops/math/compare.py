"""Comparisons, logic, and selection of values by a condition.

Invariant: every comparison with NaN except `NotEqual` is false. Comparisons have no gradient; a selection passes the
gradient to the values that it selected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir import scalar as s
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, LowerSite, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.scalar import Expr
from tfnb.ir.shapes import broadcast, unchanged
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import ZEROS_LIKE
from tfnb.types import ALL, REALS, DType, Shape

__all__ = [
    "API",
    "EQUAL",
    "GREATER",
    "GREATER_EQUAL",
    "LESS",
    "LESS_EQUAL",
    "LOGICAL_AND",
    "LOGICAL_NOT",
    "LOGICAL_OR",
    "NOT_EQUAL",
    "OPS",
    "SELECT",
]


def _comparison(
    name: str,
    sign: str,
    fn: Callable[[Expr, Expr], Expr],
    api: str,
    types: tuple[DType, ...] = REALS,
    **more: Any,
) -> OpDef[Tensor]:
    return OpDef(
        name,
        inputs="x: T, y: T",
        outputs="z: bool",
        types={"T": types},
        doc=f"""Elementwise `x {sign} y`, broadcasting.

        x, y: the same dtype; their shapes must broadcast together. z: bool, the broadcast shape. Errors: the shapes
        do not broadcast.""",
        infer=broadcast,
        scalar=lambda attrs, x, y: fn(x, y),
        grad=NOT_DIFFERENTIABLE,
        api=api,
        **more,
    )


_STRICT = {"incompatible_shape_error": True}
LESS = _comparison("Less", "<", s.lt, "less")
LESS_EQUAL = _comparison("LessEqual", "<=", s.le, "less_equal")
GREATER = _comparison("Greater", ">", s.gt, "greater")
GREATER_EQUAL = _comparison("GreaterEqual", ">=", s.ge, "greater_equal")
EQUAL = _comparison("Equal", "==", s.eq, "equal", ALL, defaults=_STRICT)
NOT_EQUAL = _comparison("NotEqual", "!=", s.ne, "not_equal", ALL, defaults=_STRICT)


def _logical(name: str, word: str, fn: Callable[[Expr, Expr], Expr], api: str) -> OpDef[Tensor]:
    return OpDef(
        name,
        inputs="x: bool, y: bool",
        outputs="z: bool",
        doc=f"""Elementwise `x {word} y` of truth values, broadcasting.

        x, y: bool; their shapes must broadcast together. z: bool, the broadcast shape. Errors: the shapes do not
        broadcast.""",
        infer=broadcast,
        scalar=lambda attrs, x, y: fn(x, y),
        grad=NOT_DIFFERENTIABLE,
        api=api,
    )


LOGICAL_AND = _logical("LogicalAnd", "and", s.and_, "logical_and")
LOGICAL_OR = _logical("LogicalOr", "or", s.or_, "logical_or")
LOGICAL_NOT: OpDef[Tensor] = OpDef(
    "LogicalNot",
    inputs="x: bool",
    outputs="y: bool",
    doc="""Elementwise `not x`. x, y: bool, any shape.""",
    infer=unchanged,
    scalar=lambda attrs, x: s.not_(x),
    grad=NOT_DIFFERENTIABLE,
    api="logical_not",
)


def logical_xor(x: TensorLike, y: TensorLike, name: str = "LogicalXor") -> Tensor:
    """Returns the exclusive or of two bool tensors, elementwise, whose shapes broadcast together.

    Raises `InvalidArgumentError` for tensors of another dtype.
    """
    z = NOT_EQUAL(x, y, name=name)
    if not z.op.inputs[0].dtype.is_bool:
        raise InvalidArgumentError(f"logical_xor takes bool, got {z.op.inputs[0].dtype.name}")
    return z


def _selected(c: Infer) -> Shape:
    condition = c.shapes[0]
    out = c.shapes[1].merge_with(c.shapes[2])
    if condition.sizes is None or out.sizes is None or not condition.sizes:
        return out
    if len(condition.sizes) == 1 and len(out.sizes) > 1:
        rows = Shape(condition.sizes).merge_with(out[:1]).sizes
        return Shape((rows[0], *out.sizes[1:])) if rows else out
    if not condition.is_compatible_with(out):
        raise ShapeError(f"Select: the condition's shape {condition} does not fit the values' {out}")
    return out.merge_with(condition)


def _condition_like(condition: np.ndarray, rank: int) -> np.ndarray:
    if condition.ndim == 1 and rank > 1:
        return condition.reshape((-1,) + (1,) * (rank - 1))
    return condition


def _host_select(call: HostCall, condition: np.ndarray, t: np.ndarray, e: np.ndarray) -> np.ndarray:
    if t.shape != e.shape:
        raise InvalidArgumentError(f"Select: values of shapes {t.shape} and {e.shape} differ", call.op)
    return np.where(_condition_like(condition, t.ndim), t, e)


def _lower_select(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    rank = len(site.inputs[0].shape)
    condition = site.load(0, idx[:rank] if rank < len(idx) else idx)
    return s.where(condition, site.load(1, idx), site.load(2, idx))


def _grad_select(op: Operation, dy: Tensor) -> tuple[None, Tensor, Tensor]:
    zeros = ZEROS_LIKE(dy)
    return None, SELECT(op.inputs[0], dy, zeros), SELECT(op.inputs[0], zeros, dy)


SELECT: OpDef[Tensor] = OpDef(
    "Select",
    inputs="condition: bool, t: T, e: T",
    outputs="output: T",
    types={"T": ALL},
    doc="""Selects elements of `t` where the condition is true, and elements of `e` where it is false.

    condition: bool; it has the shape of t, or is a scalar, or is a vector that selects whole rows. t, e: the same
    dtype and shape. output: dtype and shape of t. Errors: the shapes do not match.""",
    infer=_selected,
    host=_host_select,
    lower=_lower_select,
    grad=_grad_select,
    api="select",
)

OPS: tuple[OpDef, ...] = (
    LESS,
    LESS_EQUAL,
    GREATER,
    GREATER_EQUAL,
    EQUAL,
    NOT_EQUAL,
    LOGICAL_AND,
    LOGICAL_OR,
    LOGICAL_NOT,
    SELECT,
)
API: dict[str, Any] = {"logical_xor": logical_xor}
