"""Operations along the dimensions of a sparse tensor: softmax of rows, sums and maxima (OSDI'16, section 3.1).

Groups of values are numbered by the remaining dimensions, so a reduction is one over segments. Invariant: absent
elements are 0 in a sum, and are ignored in a maximum or a softmax.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.const import constant_value
from tfnb.ir.opdef import GRADIENT_MISSING, GradFn, GradientMissing, HostCall, Infer, NotDifferentiable, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.shapes import normalize_axis
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.constants import ONES_LIKE, ZEROS_LIKE
from tfnb.ops.array.gather import GATHER, UNSORTED_SEGMENT_SUM
from tfnb.ops.array.shape_ops import RESHAPE, SIZE
from tfnb.ops.linalg.diag import ONE_HOT
from tfnb.ops.math.binary import FLOOR_MOD, MINIMUM
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.compare import GREATER, SELECT
from tfnb.ops.math.reduce import PROD
from tfnb.ops.math.reduce_sum import SUM
from tfnb.ops.math.scan import CUMPROD
from tfnb.ops.math.segment import UNSORTED_SEGMENT_MAX
from tfnb.ops.math.unary import EXP
from tfnb.ops.sparse.arithmetic import check_places, places, rank_of
from tfnb.types import NUMBERS, REALS, Shape, float16, float32, float64, int32, unknown_shape

__all__ = ["OPS", "SPARSE_REDUCE_SUM", "ReduceAttrs", "reduce_groups"]

_FIRST = np.asarray([0], np.int32)
_LAST = np.asarray([-1], np.int32)
_ONE, _ZERO = np.int64(1), np.int64(0)


def _row_numbers(indices: Tensor, shape: Tensor, axes: list[int]) -> tuple[Any, Any]:
    """Returns (the row-major number of each index in these axes, the number of possible numbers)."""
    number: Any = None
    for a in axes:
        column = indices[:, a]
        number = column if number is None else number * shape[a] + column
    if number is None:
        return indices[:, 0] * 0, np.int64(1)
    return number, PROD(GATHER(shape, np.asarray(axes, np.int32)), _FIRST)


def _row_numbers_of_any_rank(indices: Tensor, shape: Tensor, reduced: Tensor) -> tuple[Any, Any]:
    """Returns the same where neither the rank nor the axes are known before the step.

    reduced: int64, (rank,), 1 for each axis that is not part of a row's number, 0 for the others.
    """
    sizes = SELECT(GREATER(reduced, 0), ONES_LIKE(shape), shape)
    steps = CUMPROD(sizes, 0, exclusive=True, reverse=True) * (1 - reduced)
    return SUM(indices * steps, _LAST), PROD(sizes, _FIRST)


def _rank(shape: Tensor) -> Tensor:
    return SIZE(shape, out_type=int32)


def _reduced_mask(shape: Tensor, axes: Tensor) -> Tensor:
    """Returns 1 for each axis in `axes` and 0 for the others."""
    rank = _rank(shape)
    return MINIMUM(SUM(ONE_HOT(FLOOR_MOD(RESHAPE(axes, _LAST), rank), rank, _ONE, _ZERO), _FIRST), 1)


def _host_softmax(call: HostCall, indices: np.ndarray, values: np.ndarray, shape: np.ndarray) -> np.ndarray:
    if shape.size < 2:
        raise InvalidArgumentError(f"needs rank >= 2, got {shape.tolist()}", call.op)
    check_places(call, indices, shape)
    wide_values = values.astype(np.float32) if values.dtype == np.float16 else values
    _, row = np.unique(places(indices[:, :-1], shape[:-1]), return_inverse=True)
    top = np.full(values.size, -np.inf, wide_values.dtype)
    np.maximum.at(top, row, wide_values)
    e = np.exp(wide_values - top[row])
    total = np.zeros(values.size, wide_values.dtype)
    np.add.at(total, row, e)
    return (e / total[row]).astype(values.dtype)


def _expand_softmax(op: Operation, indices: Tensor, values: Tensor, shape: Tensor) -> Tensor | None:
    rank = rank_of(shape)
    if rank is None:
        return None
    row, count = _row_numbers(indices, shape, list(range(rank - 1)))
    e = EXP(values - GATHER(UNSORTED_SEGMENT_MAX(values, row, count), row))
    return e / GATHER(UNSORTED_SEGMENT_SUM(e, row, count), row)


def _grad_softmax(op: Operation, dy: Tensor) -> tuple[None, Tensor, None]:
    indices, _, shape = op.inputs
    rank = rank_of(shape)
    if rank is None:
        row, count = _row_numbers_of_any_rank(indices, shape, ONE_HOT(_rank(shape) - 1, _rank(shape), _ONE, _ZERO))
    else:
        row, count = _row_numbers(indices, shape, list(range(rank - 1)))
    total = UNSORTED_SEGMENT_SUM(dy * op.outputs[0], row, count)
    return None, (dy - GATHER(total, row)) * op.outputs[0], None


SPARSE_SOFTMAX: OpDef[Tensor] = OpDef(
    "SparseSoftmax",
    inputs="sp_indices: int64, sp_values: T, sp_shape: int64",
    outputs="output: T",
    types={"T": (float16, float32, float64)},
    doc="""The softmax of the values in each row; absent elements are ignored, as if they were -infinity.

    sp_indices (n, rank), sp_values (n,), sp_shape (rank,), rank >= 2: a sparse tensor whose rows lie along the
    last dimension. output: (n,), the new values. Errors: rank < 2, or, on the host, an index is outside the shape.""",
    infer=lambda c: c.shapes[1],
    host=_host_softmax,
    expand=_expand_softmax,
    grad=_grad_softmax,
    shape_inputs=(2,),
)


@record
class ReduceAttrs:
    """`keep_dims`: keep reduced dimensions with size 1."""

    keep_dims: bool = False


def _split_axes(axes: np.ndarray, rank: int) -> tuple[list[int], list[int]]:
    """Returns (remaining axes, reduced axes); an empty list of axes means all."""
    reduced = {normalize_axis(int(a), rank, "Invalid reduction dimension") for a in axes.reshape(-1)}
    return [a for a in range(rank) if a not in reduced], sorted(reduced)


def _reduced_dims(shape: list[Any], axes: np.ndarray, keep: bool) -> list[Any]:
    remaining, _ = _split_axes(axes, len(shape))
    return [d if a in remaining else 1 for a, d in enumerate(shape) if keep or a in remaining]


def _reduced_shape(c: Infer) -> Shape:
    dims, axes = c.as_shape(2).sizes, c.value(3)
    if dims is None or axes is None:
        return unknown_shape
    return Shape(tuple(_reduced_dims(list(dims), axes, c.attrs.keep_dims)))


def reduce_groups(
    call: HostCall,
    indices: np.ndarray,
    values: np.ndarray,
    shape: np.ndarray,
    axes: np.ndarray,
    ufunc: np.ufunc,
) -> tuple[np.ndarray, np.ndarray]:
    """Returns (index in the remaining dimensions, reduced value) of each group that has a value."""
    check_places(call, indices, shape)
    remaining, _ = _split_axes(axes, shape.size)
    number = places(indices[:, remaining], shape[remaining])
    groups, first, at = np.unique(number, return_index=True, return_inverse=True)
    out = values[first].copy()
    rest = np.setdiff1d(np.arange(values.size), first)
    with np.errstate(all="ignore"):
        ufunc.at(out, at[rest], values[rest])
    group_indices = np.zeros((groups.size, shape.size), np.int64)
    group_indices[:, remaining] = indices[first][:, remaining]
    return group_indices if call.attrs.keep_dims else group_indices[:, remaining], out


def _host_reduce(ufunc: np.ufunc) -> Callable[..., np.ndarray]:
    def kernel(call: HostCall, *inputs: np.ndarray) -> np.ndarray:
        indices, values, shape, axes = inputs
        at, totals = reduce_groups(call, indices, values, shape, axes, ufunc)
        out = np.zeros(_reduced_dims(shape.tolist(), axes, call.attrs.keep_dims), values.dtype)
        out[tuple(at.T)] = totals if out.ndim else totals.sum()
        return out

    return kernel


def _expand_reduce(highest: bool) -> Callable[..., Any]:
    def expand(op: Operation, indices: Tensor, values: Tensor, shape: Tensor, axes: Tensor) -> Tensor | None:
        static_axes, rank = constant_value(axes), rank_of(shape)
        if static_axes is None or rank is None:
            return None
        remaining, _ = _split_axes(static_axes, rank)
        number, count = _row_numbers(indices, shape, remaining)
        if highest:
            reduced = UNSORTED_SEGMENT_MAX(values, number, count)
            counts = UNSORTED_SEGMENT_SUM(cast_to(ONES_LIKE(number), int32), number, count)
            reduced = SELECT(GREATER(counts, 0), reduced, ZEROS_LIKE(reduced))
        else:
            reduced = UNSORTED_SEGMENT_SUM(values, number, count)
        return RESHAPE(reduced, _kept_shape(shape, remaining, rank, op.attrs.keep_dims))

    return expand


def _kept_shape(shape: Tensor, stay: list[int], rank: int, keep: bool) -> Any:
    if not keep:
        return GATHER(shape, np.asarray(stay, np.int32)) if stay else np.zeros(0, np.int64)
    mask = np.asarray([a in stay for a in range(rank)], np.int64)
    return shape * mask + (1 - mask)


def _grad_reduce(op: Operation, dy: Tensor) -> tuple[None, Tensor, None, None]:
    indices, _, shape, axes = op.inputs
    static_axes, rank = constant_value(axes), rank_of(shape)
    if static_axes is None or rank is None:
        number, _ = _row_numbers_of_any_rank(indices, shape, _reduced_mask(shape, axes))
    else:
        number, _ = _row_numbers(indices, shape, _split_axes(static_axes, rank)[0])
    return None, GATHER(RESHAPE(dy, _LAST), number), None, None


_REDUCE_INPUTS = "input_indices: int64, input_values: T, input_shape: int64, reduction_axes: int32"


def _reduction(
    name: str, what: str, ufunc: np.ufunc, highest: bool, grad: GradFn | NotDifferentiable | GradientMissing
) -> OpDef[Tensor]:
    return OpDef(
        name,
        inputs=_REDUCE_INPUTS,
        outputs="output: T",
        types={"T": REALS if highest else NUMBERS},
        attrs=ReduceAttrs,
        doc=f"""The {what} along dimensions of a sparse tensor, as a dense tensor.

        input_indices (n, rank), input_values (n,), input_shape (rank,): the sparse tensor. reduction_axes:
        integers, a negative one counts from the end. output: dense, without those dimensions (with size 1 if
        keep_dims); 0 where there is no value{"; absent elements are ignored" if highest else ""}. Errors: an
        axis or an index is out of range.""",
        infer=_reduced_shape,
        host=_host_reduce(ufunc),
        expand=_expand_reduce(highest),
        grad=grad,
        shape_inputs=(2, 3),
    )


SPARSE_REDUCE_SUM = _reduction("SparseReduceSum", "sum", np.add, False, _grad_reduce)
SPARSE_REDUCE_MAX = _reduction("SparseReduceMax", "maximum", np.maximum, True, GRADIENT_MISSING)

OPS: tuple[OpDef, ...] = (SPARSE_SOFTMAX, SPARSE_REDUCE_SUM, SPARSE_REDUCE_MAX)
API: dict[str, Any] = {}
