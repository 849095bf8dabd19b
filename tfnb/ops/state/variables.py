"""Variables and their updates (white paper, section 2 "Variables"; OSDI'16, section 3.1).

A `VariableV2` node owns a buffer and outputs a reference to it; the ops here change that buffer in place and return the
reference. Invariant: host kernels are pure: they take the values of references, and return first their new values, then
the outputs that are not references; the runtime stores the new values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, OutOfRangeError, ShapeError
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, Kind, OpDef
from tfnb.ir.record import record
from tfnb.ir.shapes import scalar_shape
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.types import ALL_AND_QUANTIZED, INDEX, NUMBERS, Shape, scalar, unknown_shape

__all__ = [
    "API",
    "ASSIGN",
    "ASSIGN_ADD",
    "ASSIGN_SUB",
    "COUNT_UP_TO",
    "IS_VARIABLE_INITIALIZED",
    "OPERATORS",
    "OPS",
    "VARIABLE",
    "VARIABLE_V2",
    "LockAttrs",
]


@record
class VariableAttrs:
    """`shape`: the static shape; `container`, `shared_name`: where the state is stored, and under which name."""

    shape: Shape = unknown_shape
    container: str = ""
    shared_name: str = ""


@record
class AssignAttrs:
    """`validate_shape`: the value must have the variable's shape; otherwise the variable takes the value's shape."""

    validate_shape: bool = True
    use_locking: bool = True


@record
class LockAttrs:
    """`use_locking`: updates of one variable exclude each other (which is always the case here)."""

    use_locking: bool = False


@record
class CountAttrs:
    """`limit`: the value at which counting ends."""

    limit: int = 0


def _variable(name: str) -> OpDef[Tensor]:
    return OpDef(
        name,
        "",
        "ref: Ref(dtype)",
        "State that survives between steps: a reference to a buffer of `dtype` and `shape`.\n\n"
        "It must be assigned before it is read; `container` and `shared_name` determine where sessions store it.",
        types={"dtype": ALL_AND_QUANTIZED},
        attrs=VariableAttrs,
        infer=lambda c: c.attrs.shape,
        grad=NOT_DIFFERENTIABLE,
        kind=Kind.VARIABLE,
        stateful=True,
    )


VARIABLE_V2 = _variable("VariableV2")
VARIABLE = _variable("Variable")


def _assigned(c: Infer) -> Shape:
    if not c.attrs.validate_shape:
        return c.shapes[1]
    return _updated(c)


def _updated(c: Infer) -> Shape:
    try:
        return c.shapes[0].merge_with(c.shapes[1])
    except ShapeError:
        raise ShapeError(f"{c.op_name}: the variable has shape {c.shapes[0]}, the value {c.shapes[1]}") from None


ASSIGN: OpDef[Tensor] = OpDef(
    "Assign",
    "ref: Ref(T), value: T",
    "output_ref: Ref(T)",
    "Sets the variable `ref` to `value` and returns the reference.\n\n"
    "The shapes must be equal unless `validate_shape` is false; in that case the variable takes the value's shape.",
    types={"T": ALL_AND_QUANTIZED},
    attrs=AssignAttrs,
    infer=_assigned,
    scalar=lambda a, ref, value: value,
    host=lambda call, ref, value: value,
    grad=NOT_DIFFERENTIABLE,
    writes=(0,),
)

ASSIGN_ADD: OpDef[Tensor] = OpDef(
    "AssignAdd",
    "ref: Ref(T), value: T",
    "output_ref: Ref(T)",
    "Adds `value`, of the variable's shape, to the variable `ref` and returns the reference.",
    types={"T": NUMBERS},
    attrs=LockAttrs,
    infer=_updated,
    scalar=lambda a, ref, value: ref + value,
    host=lambda call, ref, value: ref + value,
    grad=NOT_DIFFERENTIABLE,
    writes=(0,),
)

ASSIGN_SUB: OpDef[Tensor] = OpDef(
    "AssignSub",
    "ref: Ref(T), value: T",
    "output_ref: Ref(T)",
    "Subtracts `value`, of the variable's shape, from the variable `ref` and returns the reference.",
    types={"T": NUMBERS},
    attrs=LockAttrs,
    infer=_updated,
    scalar=lambda a, ref, value: ref - value,
    host=lambda call, ref, value: ref - value,
    grad=NOT_DIFFERENTIABLE,
    writes=(0,),
)

IS_VARIABLE_INITIALIZED: OpDef[Tensor] = OpDef(
    "IsVariableInitialized",
    "ref: Ref(dtype)",
    "is_initialized: bool",
    "True if the variable `ref` has a value; a bool scalar.\n\nIts host kernel gets None for one without a value.",
    types={"dtype": ALL_AND_QUANTIZED},
    infer=scalar_shape,
    host=lambda call, ref: np.asarray(ref is not None),
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)


def _count_shape(c: Infer) -> Shape:
    if not c.shapes[0].is_compatible_with(scalar):
        raise ShapeError(f"CountUpTo: the variable must be a scalar, got shape {c.shapes[0]}")
    return scalar


def _count(call: HostCall, ref: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns (the new value of the variable, its old value as the output)."""
    if ref >= call.attrs.limit:
        raise OutOfRangeError(f"Reached limit of {call.attrs.limit}", call.op)
    return np.asarray(ref + 1, ref.dtype), np.array(ref)


COUNT_UP_TO: OpDef[Tensor] = OpDef(
    "CountUpTo",
    "ref: Ref(T)",
    "output: T",
    "Returns the value of the integer scalar variable `ref`, then adds one to the variable.\n\n"
    "Errors: OutOfRangeError when the variable has reached `limit`.",
    types={"T": INDEX},
    attrs=CountAttrs,
    infer=_count_shape,
    host=_count,
    grad=NOT_DIFFERENTIABLE,
    writes=(0,),
    stateful=True,
)


def assign(
    ref: TensorLike,
    value: TensorLike,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Any:
    """Sets the variable `ref` to `value`; returns the reference, through which the new value is read.

    ref: a Variable, a reference tensor, or a slice of a variable. value: of the variable's dtype and, unless
    `validate_shape` is False, of its shape. Raises `ShapeError` when the shapes differ, `DTypeError` when `ref` is not
    a variable.
    """
    if isinstance(ref, Tensor) and not ref.spec.ref and hasattr(ref, "assign"):  # a slice of a variable
        return ref.assign(value, name=name)
    validate = True if validate_shape is None else bool(validate_shape)
    return ASSIGN(ref, value, validate_shape=validate, use_locking=use_locking is not False, name=name)


def assign_add(ref: TensorLike, value: TensorLike, use_locking: bool | None = None, name: str | None = None) -> Tensor:
    """Adds `value` (of the variable's dtype and shape) to the variable `ref`; returns the reference."""
    return ASSIGN_ADD(ref, value, use_locking=bool(use_locking), name=name)


def assign_sub(ref: TensorLike, value: TensorLike, use_locking: bool | None = None, name: str | None = None) -> Tensor:
    """Subtracts `value` (of the variable's dtype and shape) from the variable `ref`; returns the reference."""
    return ASSIGN_SUB(ref, value, use_locking=bool(use_locking), name=name)


def count_up_to(ref: TensorLike, limit: int, name: str | None = None) -> Tensor:
    """Returns the value of the integer scalar variable `ref`, and then adds one to the variable.

    Raises `InvalidArgumentError` when `limit` is not an integer. A step raises `OutOfRangeError` when the variable has
    reached the limit.
    """
    if not isinstance(limit, (int, np.integer)):
        raise InvalidArgumentError(f"count_up_to: limit must be an integer, got {limit!r}")
    return COUNT_UP_TO(ref, limit=int(limit), name=name)


def is_variable_initialized(variable: TensorLike, name: str | None = None) -> Tensor:
    """Returns a scalar bool that is true if the variable has a value."""
    return IS_VARIABLE_INITIALIZED(variable, name=name)


OPS: tuple[OpDef, ...] = (
    VARIABLE_V2,
    VARIABLE,
    ASSIGN,
    ASSIGN_ADD,
    ASSIGN_SUB,
    IS_VARIABLE_INITIALIZED,
    COUNT_UP_TO,
)
API: dict[str, Any] = {
    "assign": assign,
    "assign_add": assign_add,
    "assign_sub": assign_sub,
    "count_up_to": count_up_to,
    "is_variable_initialized": is_variable_initialized,
}
OPERATORS: dict[str, Any] = {"count_up_to": count_up_to}
