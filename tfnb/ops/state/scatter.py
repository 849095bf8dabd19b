"""Updates of single rows of a variable, selected by an index tensor (white paper, Table 1; OSDI'16, section 4.2).

`ref[indices[i...], ...] = ref[...] OP updates[i..., ...]`, in the order of the indices, so a row that occurs twice is
updated twice. Invariant: rows whose index does not occur keep their values.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.bounds import Bound
from tfnb.ir.opdef import (
    GRADIENT_MISSING,
    NOT_DIFFERENTIABLE,
    GradFn,
    GradientMissing,
    HostCall,
    Infer,
    NotDifferentiable,
    OpDef,
)
from tfnb.ir.record import record
from tfnb.ir.tensor import Tensor
from tfnb.ops.state.scatter_recipes import scatter_calls
from tfnb.ops.state.variables import LockAttrs
from tfnb.types import ALL, INDEX, NUMBERS, REALS, DType, Shape

__all__ = [
    "API",
    "OPERATORS",
    "OPS",
    "SCATTER_ADD",
    "SCATTER_SUB",
    "SCATTER_UPDATE",
    "check_indices",
    "rows_shape",
]


def check_indices(call: HostCall, indices: np.ndarray, rows: int) -> None:
    """Raises `InvalidArgumentError` when an index is not in [0, rows)."""
    bad = (indices < 0) | (indices >= rows)
    if bad.any():
        where = int(np.argmax(bad.reshape(-1)))
        raise InvalidArgumentError(
            f"indices[{where}] = {int(indices.reshape(-1)[where])} is not in [0, {rows})", call.op
        )


def rows_shape(c: Infer, ref: Shape, indices: int, updates: int) -> Shape:
    """Returns the shape of `ref`.

    Raises an error unless the updates' shape is the indices' shape followed by the shape of a row.
    """
    if ref.sizes is not None and len(ref.sizes) == 0:
        raise ShapeError(f"{c.op_name}: the variable must have rows, got a scalar")
    at = c.shapes[indices]
    if ref.sizes is None or at.sizes is None:
        return ref
    expected = Shape((*at.sizes, *ref.sizes[1:]))
    if not expected.is_compatible_with(c.shapes[updates]):
        raise ShapeError(
            f"{c.op_name}: for indices of shape {at} and a variable of shape {ref} the updates must have shape "
            f"{expected}, got {c.shapes[updates]}"
        )
    return ref


def _infer(c: Infer) -> Shape:
    if c.shapes[2].ndims == 0 and c.shapes[1].ndims != 0:
        raise ShapeError(f"{c.op_name}: updates must have rows, got a scalar for indices of shape {c.shapes[1]}")
    return rows_shape(c, c.shapes[0], 1, 2)


def _host(
    update: Callable[[np.ndarray, np.ndarray, np.ndarray], None],
) -> Callable[..., np.ndarray]:
    def kernel(call: HostCall, ref: np.ndarray, indices: np.ndarray, updates: np.ndarray) -> np.ndarray:
        check_indices(call, indices, ref.shape[0])
        result = np.array(ref)
        update(result, indices.reshape(-1), updates.reshape(indices.size, *ref.shape[1:]))
        return result

    return kernel


def _replace(new: np.ndarray, at: np.ndarray, updates: np.ndarray) -> None:
    last = {int(r): i for i, r in enumerate(at)}
    new[list(last)] = updates[list(last.values())]


def _divide(new: np.ndarray, at: np.ndarray, updates: np.ndarray) -> None:
    """Divides the rows one after the other, with C's division for integers."""
    for r, u in zip(at, updates, strict=True):
        new[r] = new[r] / u if new.dtype.kind in "fcV" else np.trunc(np.divide(new[r], u)).astype(new.dtype)


@record
class UpdateAttrs:
    """`use_locking`: that of `LockAttrs`; TensorFlow's default differs for this op."""

    use_locking: bool = True


def _scatter(
    name: str,
    entry: str,
    update: Callable[..., None],
    does: str,
    types: tuple[DType, ...],
    attrs: type = LockAttrs,
    grad: GradFn | NotDifferentiable | GradientMissing = GRADIENT_MISSING,
) -> OpDef[Tensor]:
    return OpDef(
        name,
        "ref: Ref(T), indices: Tindices, updates: T",
        "output_ref: Ref(T)",
        f"{does} the rows of the variable `ref` at `indices`; returns the reference.\n\n"
        "ref: shape (rows, ...). indices: integers of any shape, each in [0, rows). updates: shape indices.shape + "
        "ref.shape[1:]. A row that occurs twice is updated twice, in order.\n"
        "Errors: an index is outside [0, rows); a device skips an index that it computed itself.",
        types={"T": types, "Tindices": INDEX},
        attrs=attrs,
        infer=_infer,
        host=_host(update),
        opencl=partial(scatter_calls, entry=entry),
        bounds=lambda c: [Bound(1, c.shapes[0].known()[0])],
        grad=grad,
        writes=(0,),
    )


SCATTER_UPDATE = _scatter("ScatterUpdate", "scatter_update", _replace, "Replaces", ALL, attrs=UpdateAttrs)
SCATTER_ADD = _scatter("ScatterAdd", "scatter_add", np.add.at, "Adds `updates` to", NUMBERS, grad=NOT_DIFFERENTIABLE)
SCATTER_SUB = _scatter(
    "ScatterSub", "scatter_sub", np.subtract.at, "Subtracts `updates` from", NUMBERS, grad=NOT_DIFFERENTIABLE
)
SCATTER_MUL = _scatter(
    "ScatterMul", "scatter_mul", np.multiply.at, "Multiplies by `updates`", NUMBERS, grad=NOT_DIFFERENTIABLE
)
SCATTER_DIV = _scatter("ScatterDiv", "scatter_div", _divide, "Divides by `updates`", NUMBERS, grad=NOT_DIFFERENTIABLE)
SCATTER_MIN = _scatter("ScatterMin", "scatter_min", np.minimum.at, "Takes the smaller of `updates` and", REALS)
SCATTER_MAX = _scatter("ScatterMax", "scatter_max", np.maximum.at, "Takes the larger of `updates` and", REALS)


def _function(op: OpDef) -> Callable[..., Any]:
    def call(ref: Tensor, indices: Tensor, updates: Tensor, use_locking: bool = False, name: str | None = None) -> Any:
        return op(ref, indices, updates, use_locking=use_locking, name=name)

    call.__doc__ = op.doc
    call.__name__ = "scatter_" + op.name.removeprefix("Scatter").lower()
    return call


OPS: tuple[OpDef, ...] = (
    SCATTER_UPDATE,
    SCATTER_ADD,
    SCATTER_SUB,
    SCATTER_MUL,
    SCATTER_DIV,
    SCATTER_MIN,
    SCATTER_MAX,
)
API: dict[str, Any] = {f"scatter_{op.name.removeprefix('Scatter').lower()}": _function(op) for op in OPS}
OPERATORS: dict[str, Any] = {"scatter_sub": API["scatter_sub"]}
