"""Values passed on: many at once, checked, summed, clipped, joined (white paper, Table 1).

Ops that TensorFlow's graphs hold beside the plain ones, mostly under a second name. Invariant: an element that
comes out is one that went in, or a sum of some.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir import scalar as s
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import GRADIENT_MISSING, NOT_DIFFERENTIABLE, HostCall, Infer, LowerSite, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.scalar import Expr
from tfnb.ir.shapes import broadcast_shapes, with_rank
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import CONCAT
from tfnb.ops.array.constants import ZEROS_LIKE
from tfnb.ops.array.shape_ops import EXPAND_DIMS, IDENTITY, RESHAPE, SHAPE, constant_lookup
from tfnb.ops.array.v1_late_ops import BROADCAST_ARGS, SHAPE_N
from tfnb.ops.array.where_partition import DYNAMIC_STITCH
from tfnb.ops.math.binary import ADD_N
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.compare import GREATER, LESS, LESS_EQUAL, LOGICAL_OR, SELECT
from tfnb.ops.math.reduce_sum import SUM, unbroadcast
from tfnb.types import (
    ALL,
    INDEX,
    REALS,
    DTypeLike,
    Shape,
    as_dtype,
    as_shape,
    int32,
    scalar,
    unknown_shape,
)

__all__ = ["API", "OPS"]

IDENTITY_N = OpDef(
    "IdentityN",
    inputs="input: [T]",
    outputs="output: [T]",
    types={"T": ALL},
    doc="""The inputs, unchanged; a gradient override or a name can stand for all of them.

    input: any number of tensors of any dtypes. output: the same.""",
    infer=lambda c: c.shapes,
    host=lambda call, *xs: xs,
    expand=lambda op, *xs: tuple(IDENTITY(x) for x in xs),
    grad=lambda op, *dys: dys,
)


def _passed(name: str, doc: str) -> OpDef:
    return OpDef(
        name,
        inputs="input: T",
        outputs="output: T",
        types={"T": ALL},
        doc=f"{doc}\n\ninput: any dtype and shape. output: the same.",
        infer=lambda c: c.shapes[0],
        host=lambda call, x: x,
        alias=0,
        grad=lambda op, dy: dy,
    )


SNAPSHOT = _passed("Snapshot", "The input's value of now; here every value is one.")
GUARANTEE_CONST = _passed(
    "GuaranteeConst", "The input, promised never to change; the promise is not used."
)


@record
class ShapeAttrs:
    """`shape`: the static shape, unknown dimensions allowed."""

    shape: Shape = unknown_shape


def _ensured(c: Infer) -> Shape:
    try:
        return c.shapes[0].merge_with(c.attrs.shape)
    except ShapeError:
        raise ShapeError(f"EnsureShape: got shape {c.shapes[0]}, needed {c.attrs.shape}") from None


def _host_ensure(call: HostCall, x: np.ndarray) -> np.ndarray:
    if not call.attrs.shape.is_compatible_with(Shape(x.shape)):
        raise ShapeError(f"EnsureShape: got shape {x.shape}, needed {call.attrs.shape}", call.op)
    return x


ENSURE_SHAPE = OpDef(
    "EnsureShape",
    inputs="input: T",
    outputs="output: T",
    types={"T": ALL},
    attrs=ShapeAttrs,
    doc="""The input, checked to have a shape compatible with `shape`, when built and when run.

    input: any dtype. output: the same. Errors: another shape.""",
    infer=_ensured,
    host=_host_ensure,
    alias=0,
    grad=lambda op, dy: dy,
)

ACCUMULATE_N_V2 = OpDef(
    "AccumulateNV2",
    inputs="inputs: N*T",
    outputs="sum: T",
    types={"T": REALS},
    attrs=ShapeAttrs,
    doc="""The elementwise sum of tensors of one shape, as `AddN`.

    inputs: at least one tensor, of one number type and shape. sum: that dtype and shape. Errors: the shapes
    differ.""",
    infer=ADD_N.infer,
    scalar=ADD_N.scalar,
    grad=lambda op, dy: (dy,) * len(op.inputs),
)

PARALLEL_DYNAMIC_STITCH = replace(
    DYNAMIC_STITCH,
    name="ParallelDynamicStitch",
    doc=DYNAMIC_STITCH.doc.replace(
        "a later one wins", "of two for one place, here the later one wins"
    ),
    api="",
)


def _joined_rows(c: Infer) -> Shape:
    rows = c.shapes[0]
    for x in c.shapes[1:]:
        rows = rows.merge_with(x)
    if rows.dims is not None and (not rows.dims or rows.dims[0] not in (1, None)):
        raise ShapeError(f"ParallelConcat: each input must be one row, got shape {rows}")
    found = unknown_shape if rows.dims is None else Shape((len(c.shapes), *rows.dims[1:]))
    return found.merge_with(c.attrs.shape)


PARALLEL_CONCAT = OpDef(
    "ParallelConcat",
    inputs="values: N*T",
    outputs="output: T",
    types={"T": ALL},
    attrs=ShapeAttrs,
    doc="""Rows joined into one tensor: output[i] = values[i][0].

    values: tensors of one dtype and shape (1, ...). output: shape (N, ...). Errors: the shapes differ.""",
    infer=_joined_rows,
    host=lambda call, *xs: np.concatenate(xs, 0),
    expand=lambda op, *xs: CONCAT(np.int32(0), list(xs)),
    grad=GRADIENT_MISSING,
)


def _grad_clip(op: Operation, dy: Tensor) -> Any:
    t, low, high = op.inputs
    below, above, none = LESS(t, low), GREATER(t, high), ZEROS_LIKE(dy)
    inside = SELECT(LOGICAL_OR(below, above), none, dy)
    d_low = unbroadcast(t, low, None, SELECT(below, dy, none))[1]
    return inside, d_low, unbroadcast(t, high, None, SELECT(above, dy, none))[1]


def _clip(attrs: Any, t: Expr, low: Expr, high: Expr) -> Expr:
    """A limit that is NaN is none, as TensorFlow compares."""
    lowered = s.where(t > high, high, t)
    return s.where(lowered < low, low, lowered)


def _clip_shape(c: Infer) -> Shape:
    found = c.shapes[0]
    for limit in c.shapes[1:]:
        if not (limit.is_compatible_with(found) or limit.is_compatible_with(scalar)):
            raise ShapeError(
                f"{c.op_name}: a limit must be a scalar or have the shape {found}, got {limit}"
            )
    return found


CLIP_BY_VALUE = OpDef(
    "ClipByValue",
    inputs="t: T, clip_value_min: T, clip_value_max: T",
    outputs="output: T",
    types={"T": REALS},
    doc="""Elementwise: t, but at least clip_value_min and at most clip_value_max.

    t: a number type. clip_value_min, clip_value_max: scalars, or of the shape of t. output: dtype and shape of
    t. Errors: limits of another shape.""",
    infer=_clip_shape,
    scalar=_clip,
    grad=_grad_clip,
)


def _bound_shape(c: Infer) -> Shape:
    rows, values = with_rank(c, 0, 2), with_rank(c, 1, 2)
    Shape(rows.dims[:1]).merge_with(Shape(values.dims[:1]))  # type: ignore[index]
    return values


def _bound(name: str, side: str, what: str, op: OpDef) -> OpDef:
    def host(call: HostCall, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
        found = [np.searchsorted(r, v, side) for r, v in zip(rows, values, strict=True)]  # type: ignore[call-overload]
        return np.asarray(found, call.types["out_type"].np).reshape(values.shape)

    def expand(node: Any, rows: Any, values: Tensor) -> Any:
        before = op(EXPAND_DIMS(rows, np.int32(1)), EXPAND_DIMS(values, np.int32(2)))
        return SUM(cast_to(before, node.types["out_type"]), np.asarray([2], np.int32))

    return OpDef(
        name,
        inputs="sorted_inputs: T, values: T",
        outputs="output: out_type",
        types={"T": REALS, "out_type": INDEX},
        doc=f"""How many elements of each sorted row are {what} each value: where it would be put in.

        sorted_inputs: a number type, shape (batch, n), rows that do not fall. values: (batch, m). output:
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
    return Shape((with_rank(c, 1, 1).dims[0],)).concatenate(c.shapes[0])  # type: ignore[index]


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


UNRAVEL_INDEX = OpDef(
    "UnravelIndex",
    inputs="indices: Tidx, dims: Tidx",
    outputs="output: Tidx",
    types={"Tidx": INDEX},
    doc="""Row-major places as index tuples: output[k, ...] is the k-th number of each.

    indices: integers, a scalar or a vector. dims: a vector of integers, the shape. output: shape (size of dims,
    ...). Errors: an index outside (on the host).""",
    infer=_unraveled_shape,
    host=_host_unravel,
    lower=_lower_unravel,
    grad=NOT_DIFFERENTIABLE,
    shape_inputs=(1,),
    api="unravel_index",
)


def identity_n(input: Any, name: str | None = None) -> list[Any]:
    """The tensors, unchanged."""
    graph = graph_of(input)
    found = IDENTITY_N([graph.to_tensor(x) for x in input], name=name, graph=graph)
    return list(found) if isinstance(found, (list, tuple)) else [found]


def ensure_shape(x: TensorLike, shape: TensorLike, name: str | None = None) -> Any:
    """`x`, checked to have a compatible shape, when built and when run. Raises `ShapeError`."""
    return ENSURE_SHAPE(x, shape=as_shape(shape), name=name)


def parallel_stack(values: Any, name: str = "parallel_stack") -> Any:
    """Tensors of one known shape joined along a new first dimension."""
    graph = graph_of(values)
    with graph.as_default(), graph.name_scope(name):
        given = [graph.to_tensor(v) for v in values]
        shape = Shape((len(given), *given[0].shape.known()))
        return PARALLEL_CONCAT([EXPAND_DIMS(v, np.int32(0)) for v in given], shape=shape)


def searchsorted(
    sorted_sequence: Any,
    values: TensorLike,
    side: str = "left",
    out_type: DTypeLike = int32,
    name: str | None = None,
) -> Any:
    """Where each of `values` would be put into the sorted rows: before equal ones ("left"), or behind ("right")."""
    if side not in ("left", "right"):
        raise InvalidArgumentError(f"searchsorted: side {side!r}; needed 'left' or 'right'")
    graph = graph_of((sorted_sequence, values))
    with graph.as_default(), graph.name_scope(name or "searchsorted"):
        rows = graph.to_tensor(sorted_sequence)
        wanted = graph.to_tensor(values, None if hasattr(values, "dtype") else rows.dtype)
        size, count = (SHAPE(x, out_type=int32)[-1] for x in (rows, wanted))
        flat, asked = (RESHAPE(x, [np.int32(-1), n]) for x, n in ((rows, size), (wanted, count)))
        op = LOWER_BOUND if side == "left" else UPPER_BOUND
        return RESHAPE(op(flat, asked, out_type=as_dtype(out_type)), SHAPE(wanted, out_type=int32))


def broadcast_static_shape(shape_x: Any, shape_y: Any) -> Shape:
    """The static shape of two that broadcast together. Raises `ShapeError`."""
    return broadcast_shapes(as_shape(shape_x), as_shape(shape_y))


def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Any:
    """The shape, a vector, of two tensors' shapes that broadcast together."""
    graph = graph_of((shape_x, shape_y))
    x, y = graph.to_tensor(shape_x), graph.to_tensor(shape_y)
    return BROADCAST_ARGS(x, y)


def shape_n(input: Any, out_type: Any = int32, name: str | None = None) -> list[Any]:
    """The shapes of several tensors of one dtype, as vectors."""
    return list(SHAPE_N(list(input), out_type=as_dtype(out_type), name=name))


def guarantee_const(input: TensorLike, name: str | None = None) -> Any:
    """The input, promised never to change."""
    return GUARANTEE_CONST(input, name=name)


OPS: tuple[OpDef, ...] = (
    IDENTITY_N, SNAPSHOT, GUARANTEE_CONST, ENSURE_SHAPE, ACCUMULATE_N_V2, PARALLEL_DYNAMIC_STITCH, PARALLEL_CONCAT,
    CLIP_BY_VALUE, LOWER_BOUND, UPPER_BOUND, UNRAVEL_INDEX,
)  # fmt: skip
API: dict[str, Any] = {
    "identity_n": identity_n,
    "ensure_shape": ensure_shape,
    "parallel_stack": parallel_stack,
    "searchsorted": searchsorted,
    "broadcast_static_shape": broadcast_static_shape,
    "broadcast_dynamic_shape": broadcast_dynamic_shape,
    "guarantee_const": guarantee_const,
    "shape_n": shape_n,
}
