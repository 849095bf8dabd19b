"""Positions of values in sorted rows, and conversion of flat indices to index tuples (white paper, Table 1).

Invariant: a position is an exact integer, and has no gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir import scalar as s
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, LowerSite, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.scalar import Expr
from tfnb.ir.shapes import with_rank
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.shape_ops import EXPAND_DIMS, RESHAPE, SHAPE, constant_lookup
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.compare import LESS, LESS_EQUAL
from tfnb.ops.math.reduce_sum import SUM
from tfnb.types import (
    INDEX,
    REALS,
    DTypeLike,
    Shape,
    as_dtype,
    int32,
)

__all__ = ["API", "OPS", "UPPER_BOUND"]


def _bound_shape(c: Infer) -> Shape:
    rows, values = with_rank(c, 0, 2), with_rank(c, 1, 2)
    Shape(rows.sizes[:1]).merge_with(Shape(values.sizes[:1]))  # type: ignore[index]
    return values


def _bound(name: str, side: str, what: str, op: OpDef) -> OpDef[Tensor]:
    def host(call: HostCall, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
        positions = [np.searchsorted(r, v, side) for r, v in zip(rows, values, strict=True)]  # type: ignore[call-overload]
        return np.asarray(positions, call.types["out_type"].np).reshape(values.shape)

    def expand(node: Operation, rows: Tensor, values: Tensor) -> Tensor:
        before = op(EXPAND_DIMS(rows, np.int32(1)), EXPAND_DIMS(values, np.int32(2)))
        return SUM(cast_to(before, node.types["out_type"]), np.asarray([2], np.int32))

    return OpDef(
        name,
        inputs="sorted_inputs: T, values: T",
        outputs="output: out_type",
        types={"T": REALS, "out_type": INDEX},
        doc=f"""Counts the elements of each sorted row that are {what} each value: the position at which to insert it.

        sorted_inputs: a number type, shape (batch, n), rows in ascending order. values: (batch, m). output:
        (batch, m).""",
        infer=_bound_shape,
        host=host,
        expand=expand,
        grad=NOT_DIFFERENTIABLE,
        defaults={"out_type": int32},
    )


LOWER_BOUND = _bound("LowerBound", "left", "less than", LESS)


UPPER_BOUND = _bound("UpperBound", "right", "not more than", LESS_EQUAL)


def _unraveled_shape(c: Infer) -> Shape:
    return Shape((with_rank(c, 1, 1).sizes[0],)).concatenate(c.shapes[0])  # type: ignore[index]


def _host_unravel(call: HostCall, indices: np.ndarray, dims: np.ndarray) -> np.ndarray:
    size = int(np.prod(dims, dtype=np.int64))
    if indices.size and (indices.min() < 0 or indices.max() >= size):
        raise InvalidArgumentError(f"an index is not inside shape {dims.tolist()}", call.op)
    return np.stack(np.unravel_index(indices, tuple(dims.tolist()))).astype(indices.dtype)


def _lower_unravel(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    dims, dtype = site.value(1).tolist(), site.outputs[0].dtype
    strides = [int(np.prod(dims[k + 1 :], dtype=np.int64)) for k in range(len(dims))]
    step, size = (constant_lookup(v, idx[0], dtype) for v in (strides, dims))
    return s.floormod(s.floordiv(site.load(0, idx[1:]), step), size)


UNRAVEL_INDEX: OpDef[Tensor] = OpDef(
    "UnravelIndex",
    inputs="indices: Tidx, dims: Tidx",
    outputs="output: Tidx",
    types={"Tidx": INDEX},
    defaults={"Tidx": int32},
    doc="""Converts flat row-major indices to index tuples: output[k, ...] is the k-th number of each tuple.

    indices: integers, a scalar or a vector. dims: a vector of integers, the shape that is indexed. output: shape (size
    of dims, ...). Errors: an index is outside the shape (on the host).""",
    infer=_unraveled_shape,
    host=_host_unravel,
    lower=_lower_unravel,
    grad=NOT_DIFFERENTIABLE,
    shape_inputs=(1,),
    api="unravel_index",
)


def searchsorted(
    sorted_sequence: TensorLike,
    values: TensorLike,
    side: str = "left",
    out_type: DTypeLike = int32,
    name: str | None = None,
) -> Tensor:
    """Returns the position at which to insert each value into its sorted row.

    sorted_sequence: shape (..., n), rows in ascending order. values: shape (..., m), of the same dtype. side: "left"
    inserts before equal elements, "right" after them. The result has `out_type` and the shape of values.
    """
    if side not in ("left", "right"):
        raise InvalidArgumentError(f"searchsorted: side {side!r}; needed 'left' or 'right'")
    graph = graph_of((sorted_sequence, values))
    with graph.as_default(), graph.name_scope(name or "searchsorted"):
        rows = graph.to_tensor(sorted_sequence)
        targets = graph.to_tensor(values, None if hasattr(values, "dtype") else rows.dtype)
        size, count = (SHAPE(x, out_type=int32)[-1] for x in (rows, targets))
        flat, flat_targets = (RESHAPE(x, [np.int32(-1), n]) for x, n in ((rows, size), (targets, count)))
        op = LOWER_BOUND if side == "left" else UPPER_BOUND
        return RESHAPE(op(flat, flat_targets, out_type=as_dtype(out_type)), SHAPE(targets, out_type=int32))


OPS: tuple[OpDef, ...] = (LOWER_BOUND, UPPER_BOUND, UNRAVEL_INDEX)
API: dict[str, Any] = {"searchsorted": searchsorted}
