"""Sum, maximum and minimum of two sparse tensors of one shape (OSDI'16, section 3.1).

The result has a value wherever one of the operands has one, so its size depends on data and the ops run on the host.
Invariant: the result's indices are in row-major order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.opdef import GRADIENT_MISSING, NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.shapes import with_rank
from tfnb.ir.tensor import Tensor
from tfnb.ops.sparse.arithmetic import places, room_for
from tfnb.types import NUMBERS, REALS, Shape

__all__ = ["OPS", "SPARSE_ADD", "any_number", "columns", "unraveled", "values_at"]

_NONE = Shape((None,))


def columns(c: Infer, indices: int, shape: int) -> int | None:
    """Returns the rank of a sparse tensor, from the static shape of its indices or of its dense shape, or None."""
    at, size = c.shapes[indices].sizes, c.shapes[shape].sizes
    width = at[1] if at is not None and len(at) == 2 else None
    return width if width is not None or not size else size[0]


def any_number(c: Infer, indices: int, shape: int) -> tuple[Shape, Shape, Shape]:
    """Returns the static shapes of the components of a sparse tensor of this rank with an unknown number of values."""
    rank = columns(c, indices, shape)
    return Shape((None, rank)), _NONE, Shape((rank,))


def unraveled(number: np.ndarray, shape: np.ndarray) -> np.ndarray:
    """Returns the index tuples of row-major numbers in a tensor of `shape`."""
    if not number.size:
        return np.zeros((0, shape.size), np.int64)
    if not shape.size:
        return np.zeros((number.size, 0), np.int64)
    return np.stack(np.unravel_index(number, tuple(shape.tolist())), 1).astype(np.int64)


# two sparse tensors of the same shape


def _same_shape(call: HostCall, a: np.ndarray, b: np.ndarray) -> None:
    if a.shape != b.shape or (a != b).any():
        raise InvalidArgumentError(f"the dense shapes {a.tolist()} and {b.tolist()} differ", call.op)


def _union(call: HostCall, inputs: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """Returns (the indices that a or b contains, in order; a's values there; b's; whether it is in both of them).

    An absent value is 0.
    """
    ai, av, ashape, bi, bv, bshape = inputs
    _same_shape(call, ashape, bshape)
    room = room_for(call, ashape, ai, bi)
    keys = np.concatenate([places(ai, room), places(bi, room)])
    union, first, at = np.unique(keys, return_index=True, return_inverse=True)
    left, right = np.zeros(union.size, av.dtype), np.zeros(union.size, bv.dtype)
    np.add.at(left, at[: av.size], av)
    np.add.at(right, at[av.size :], bv)
    is_in_both = np.isin(union, keys[: av.size]) & np.isin(union, keys[av.size :])
    return np.concatenate([ai, bi])[first], left, right, is_in_both


def _host_add(call: HostCall, *inputs: np.ndarray) -> tuple[np.ndarray, ...]:
    union, left, right, is_in_both = _union(call, inputs[:6])
    total, limit = (left + right).astype(left.dtype), inputs[6]
    keep = (np.abs(total) >= limit) | ~is_in_both
    return union[keep], total[keep], inputs[2]


def _grad_add(
    op: Operation, d_indices: Tensor, dy: Tensor, d_shape: Tensor
) -> tuple[None, Tensor, None, None, Tensor, None, None]:
    da, db = SPARSE_ADD_GRAD(dy, op.inputs[0], op.inputs[3], op.outputs[0])
    return None, da, None, None, db, None, None


_TWO = "a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, b_values: T, b_shape: int64"

SPARSE_ADD: OpDef[tuple[Tensor, Tensor, Tensor]] = OpDef(
    "SparseAdd",
    inputs=f"{_TWO}, thresh: Treal",
    outputs="sum_indices: int64, sum_values: T, sum_shape: int64",
    types={"T": NUMBERS, "Treal": REALS},
    doc="""The sum of two sparse tensors of the same shape; sums of two values that are below thresh are left out.

    Each operand: indices (n, rank), values (n,) of a number type, shape (rank,). thresh: a scalar. The sum is a sparse
    tensor. Errors: the shapes differ, or an index is negative (one beyond the shape is taken as it is). Runs on the
    host, since the size depends on the data.""",
    infer=lambda c: any_number(c, 0, 2),
    host=_host_add,
    grad=_grad_add,
    dynamic=True,
)


def values_at(values: np.ndarray, wanted: np.ndarray, present: np.ndarray) -> np.ndarray:
    """For each index in `wanted`, the value of the equal index in `present`, or 0 if there is none."""
    where = {tuple(r): i for i, r in enumerate(present.tolist())}
    at = np.asarray([where.get(tuple(r), values.size) for r in wanted.tolist()], np.int64)
    return np.append(values, values.dtype.type(0))[at]


def _host_add_grad(
    call: HostCall, dy: np.ndarray, a: np.ndarray, b: np.ndarray, total: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    return values_at(dy, a, total), values_at(dy, b, total)


SPARSE_ADD_GRAD: OpDef[tuple[Tensor, Tensor]] = OpDef(
    "SparseAddGrad",
    inputs="backprop_val_grad: T, a_indices: int64, b_indices: int64, sum_indices: int64",
    outputs="a_val_grad: T, b_val_grad: T",
    types={"T": NUMBERS},
    doc="""The gradients of SparseAdd for the values of both operands; 0 for a value whose sum was left out.

    backprop_val_grad: (sums,). The indices: (n, rank) each. a_val_grad, b_val_grad: (n,). Runs on the host.""",
    infer=lambda c: tuple(Shape((with_rank(c, i, 2).sizes[0],)) for i in (1, 2)),  # type: ignore[index]
    host=_host_add_grad,
    grad=NOT_DIFFERENTIABLE,
)


def _extreme(name: str, what: str, ufunc: Callable[..., Any]) -> OpDef[tuple[Tensor, Tensor]]:
    def kernel(call: HostCall, *inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        union, left, right, _ = _union(call, inputs)
        return union, ufunc(left, right)

    return OpDef(
        name,
        inputs=_TWO,
        outputs="output_indices: int64, output_values: T",
        types={"T": REALS},
        doc=f"""The {what} of two sparse tensors of the same shape, elementwise; absent elements count as 0.

        Each operand: indices (n, rank), values (n,) of a number type, shape (rank,). The result has a value wherever
        one of them has one. Errors: the shapes differ, or an index is negative (one beyond the shape is taken as it
        is). Runs on the host, since the size depends on the data.""",
        infer=lambda c: any_number(c, 0, 2)[:2],
        host=kernel,
        grad=GRADIENT_MISSING,
        dynamic=True,
    )


SPARSE_SPARSE_MAXIMUM = _extreme("SparseSparseMaximum", "larger", np.maximum)
SPARSE_SPARSE_MINIMUM = _extreme("SparseSparseMinimum", "smaller", np.minimum)

OPS: tuple[OpDef, ...] = (SPARSE_ADD, SPARSE_ADD_GRAD, SPARSE_SPARSE_MAXIMUM, SPARSE_SPARSE_MINIMUM)
API: dict[str, Any] = {}
