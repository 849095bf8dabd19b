"""Ops that move elements: transpose, slice and padding (white paper, Table 1, array operations).

Each op is defined by the input element that an output element comes from, so it fuses with its neighbours. Invariant:
every load is in bounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir import scalar as s
from tfnb.ir.bounds import Bound
from tfnb.ir.const import constant_shape, constant_value
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, LowerSite, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.scalar import Expr
from tfnb.ir.shapes import unchanged, with_rank
from tfnb.ir.tensor import Tensor, TensorLike, is_tensor_like
from tfnb.ops.array.constants import RANGE
from tfnb.ops.array.pack import PACK
from tfnb.ops.array.shape_ops import RANK, RESHAPE, SHAPE, SIZE, shape_of
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.complex_numbers import conj
from tfnb.sizes import integer, same
from tfnb.types import ALL, ALL_AND_QUANTIZED, INDEX, Shape, int32, int64, unknown_shape

__all__ = [
    "API",
    "OPS",
    "PAD",
    "PAD_DOC",
    "grad_transpose",
    "PAD_V2",
    "SLICE",
    "TRANSPOSE",
    "margin_pairs",
    "padded",
    "slice_",
    "transpose",
]


def _permutation(op: str, value: np.ndarray, rank: int, lowest: int = 0) -> list[int]:
    """The axes in their new order, checked to be a permutation; those from `lowest` on may count from the end."""
    perm = [int(p) for p in value.reshape(-1)]
    axes = [p + rank if lowest <= p < 0 else p for p in perm]
    if sorted(axes) != list(range(rank)):
        missing = next((a for a in range(rank) if a not in axes), None)
        words = f"{perm} is" if missing is None else f"{missing} is missing from {perm}, which is"
        raise InvalidArgumentError(f"{op}: {words} not a permutation of the axes of a tensor of rank {rank}")
    return axes


def _axes_of(perm: np.ndarray, rank: int) -> list[int]:
    return _permutation("Transpose", perm, rank, -rank)


def _transposed(c: Infer) -> Shape:
    x, perm = c.shapes[0], c.value(1)
    if perm is None:
        rank = x.ndims if x.sizes is not None else c.as_shape(1).ndims
        return unknown_shape if rank is None else Shape((None,) * rank)
    if x.sizes is None:
        return Shape((None,) * len(perm))
    return Shape(tuple(x.sizes[p] for p in _axes_of(perm, len(x.sizes))))


def _lower_transpose(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    perm = _axes_of(site.value(1), len(idx))
    return site.load(0, tuple(idx[perm.index(a)] for a in range(len(idx))))


def grad_transpose(op: Any, dy: Tensor) -> tuple[Tensor, None]:
    """Permutes the gradient by the inverse permutation."""
    perm = constant_value(op.inputs[1])
    if perm is None:
        perm = op.inputs[1]
        return TRANSPOSE(dy, INVERT_PERMUTATION(perm % SIZE(perm, out_type=perm.dtype))), None
    return TRANSPOSE(dy, np.argsort(_axes_of(perm, perm.size)).astype(np.int32)), None


TRANSPOSE: OpDef[Tensor] = OpDef(
    "Transpose",
    inputs="x: T, perm: Tperm",
    outputs="y: T",
    types={"T": ALL, "Tperm": INDEX},
    defaults={"Tperm": int32},
    doc="""Reorders the axes: dimension i of y is dimension perm[i] of x.

    x: any dtype. perm: an integer vector, a permutation of x's axes (negative: counted from the end). Errors: perm is
    not a permutation.""",
    infer=_transposed,
    host=lambda call, x, perm: np.transpose(x, _axes_of(perm, x.ndim)),
    lower=_lower_transpose,
    grad=grad_transpose,
    shape_inputs=(1,),
)


def _host_invert(call: HostCall, x: np.ndarray) -> np.ndarray:
    return np.argsort(_permutation("InvertPermutation", x, x.size)).astype(x.dtype)


INVERT_PERMUTATION: OpDef[Tensor] = OpDef(
    "InvertPermutation",
    inputs="x: T",
    outputs="y: T",
    types={"T": INDEX},
    defaults={"T": int32},
    doc="""The inverse of a permutation: y[x[i]] = i.

    x: an integer vector, a permutation of 0 .. n-1. y: dtype and shape of x. Errors: x is not a permutation. Runs on
    the host.""",
    infer=unchanged,
    host=_host_invert,
    grad=NOT_DIFFERENTIABLE,
    api="invert_permutation",
)


def _sliced(c: Infer) -> Shape:
    for i in (1, 2):
        with_rank(c, i, 1, "Expected begin and size arguments to be 1-D tensors")
    x, begin, size = c.shapes[0], c.value(1), c.value(2)
    target = c.as_shape(2)
    if size is None:
        return target if target.sizes is not None or x.sizes is None else Shape((None,) * len(x.sizes))
    if x.sizes is None:
        return target
    if len(x.sizes) != len(size) or (begin is not None and len(begin) != len(size)):
        raise ShapeError(f"Slice: begin and size need one number per axis of shape {x}, got {size.tolist()}")
    dims: list[int | None] = []
    for i, (d, n) in enumerate(zip(x.sizes, size.tolist(), strict=True)):
        b = None if begin is None else integer(begin[i])
        if n == -1:
            n = None if d is None or b is None else d - b
        start = 0 if b is None else b
        outside = start < 0 or (d is not None and n is not None and start + n > d)
        if (n is not None and n < 0) or (c.in_step and outside):
            raise ShapeError(f"Slice: {n} elements from {b} on do not lie inside axis {i} of shape {x}")
        dims.append(n)
    return Shape(tuple(dims))


def _host_slice(call: HostCall, x: np.ndarray, begin: np.ndarray, size: np.ndarray) -> np.ndarray:
    parts = []
    for d, b, n in zip(x.shape, begin.tolist(), size.tolist(), strict=True):
        n = d - b if n == -1 else n
        if b < 0 or n < 0 or b + n > d:
            raise InvalidArgumentError(
                f"Slice: begin {begin.tolist()}, size {size.tolist()} do not lie inside shape {x.shape}",
                call.op,
            )
        parts.append(slice(b, b + n))
    return x[tuple(parts)]


def _lower_slice(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    begin, dims, out = site.value(1), site.inputs[0].shape, site.outputs[0].shape
    if begin is not None:
        return site.load(0, tuple(s.add(i, integer(b)) for i, b in zip(idx, begin, strict=True)))
    starts = [s.position(site.load(1, (k,)), d) for k, d in enumerate(dims)]  # known only when the step runs
    begins = (s.minimum(s.maximum(b, 0), d - n) for b, d, n in zip(starts, dims, out, strict=True))
    return site.load(0, tuple(s.add(i, b) for i, b in zip(idx, begins, strict=True)))


def _slice_bounds(c: Infer) -> list[Bound]:
    if c.value(1) is not None:
        return []  # the shape function has checked it
    size = (integer(n) for n in c.value(2))
    return [Bound(1, tuple(d - n + 1 for d, n in zip(c.shapes[0].known(), size, strict=True)), what="begin")]


def _grad_slice(op: Operation, dy: Tensor) -> tuple[Tensor, None, None]:
    x, begin, _ = op.inputs
    start, before = constant_value(begin), begin
    if start is not None and x.shape.is_fully_defined() and dy.shape.is_fully_defined():
        after = np.asarray(x.shape.known()) - start - np.asarray(dy.shape.known())
        return PAD(dy, np.stack([start, after], 1).astype(np.int32)), None, None
    rest = SHAPE(x, out_type=begin.dtype) - before - SHAPE(dy, out_type=begin.dtype)
    return PAD(dy, PACK([before, rest], axis=1)), None, None


SLICE: OpDef[Tensor] = OpDef(
    "Slice",
    inputs="input: T, begin: Index, size: Index",
    outputs="output: T",
    types={"T": ALL_AND_QUANTIZED, "Index": INDEX},
    doc="""A slice of a tensor: `size[i]` elements from `begin[i]` on along every axis i.

    input: any dtype, rank n. begin, size: integer vectors of n numbers; a size of -1 takes all remaining elements.
    output: shape size. Errors: a negative size; when the step runs, a slice that does not lie inside the tensor. A
    device takes the nearest valid slice for a start that it computed itself.""",
    infer=_sliced,
    host=_host_slice,
    lower=_lower_slice,
    bounds=_slice_bounds,
    grad=_grad_slice,
    shape_inputs=(2,),
)


def slice_(input_: TensorLike, begin: TensorLike, size: TensorLike, name: str | None = None) -> Any:
    """Returns a slice of `size` elements from `begin` on along every axis; a size of -1 takes all remaining elements.

    begin, size: integer vectors with one element per axis. Errors: the slice does not lie inside the tensor.
    """
    graph = graph_of((input_, begin, size))
    x = graph.to_tensor(input_)
    with graph.name_scope(name or "Slice") as scope:
        start, count = graph.to_tensor(begin, name="begin"), graph.to_tensor(size, name="size")
        if start.dtype is not count.dtype and not (is_tensor_like(begin) and is_tensor_like(size)):
            start, count = cast_to(start, int64), cast_to(count, int64)  # numbers are of the type that fits both
        return _slice(x, start, count, scope)


def _has_rest(count: Tensor) -> bool:
    """Whether a part of a size that is packed or joined is -1."""
    if count.op.type not in ("Pack", "ConcatV2"):
        return False
    parts = (constant_value(part) for part in count.op.inputs)
    return any(part is not None and (part == -1).any() for part in parts)


def _slice(x: Tensor, start: Tensor, count: Tensor, name: str) -> Tensor:
    static_start, counts = constant_value(start), constant_value(count)
    if (
        static_start is None and counts is not None and (counts == -1).any()
    ):  # the size is known only when the step runs
        left = SHAPE(x, out_type=start.dtype) - start
        mask = (counts == -1).astype(counts.dtype)
        count = left * mask + counts * (1 - mask)
        result = SLICE(x, start, count, name=name)
        result.set_shape([None if n == -1 else n for n in counts.tolist()])
        return result
    if counts is None and static_start is None and (start.op is count.op or _has_rest(count)):
        # the box of sample_distorted_bounding_box, whose depth is -1, or lists of tensors and numbers
        is_rest = (abs(count) - count) // 2  # 1 where the size is -1, otherwise 0
        result = SLICE(x, start, count + (SHAPE(x, out_type=start.dtype) - start + 1) * is_rest, name=name)
        result.set_shape(constant_shape(count))
        return result
    return SLICE(x, start, count, name=name)


def margin_pairs(value: np.ndarray, rank: int) -> list[tuple[int, int]]:
    """Returns the (before, after) margins of each axis.

    Raises `InvalidArgumentError` for a wrong shape or negative numbers.
    """
    if value.shape != (rank, 2):
        raise InvalidArgumentError(
            f"Pad: The first dimension of paddings must be the rank of inputs, {rank}, the second 2, got the shape "
            f"{value.shape}"
        )
    if (value < 0).any():
        raise InvalidArgumentError(f"Pad: Paddings must be non-negative, got {value.tolist()}")
    return [(integer(b), integer(a)) for b, a in value]


def padded(c: Infer) -> Shape:
    """Returns the static shape of input 0 with the margins of input 1."""
    x, value = c.shapes[0], c.value(1)
    if x.sizes is None:
        rows = c.shapes[1].sizes
        return unknown_shape if not rows or rows[0] is None else Shape((None,) * rows[0])
    if value is None:
        return Shape((None,) * len(x.sizes))
    margins = margin_pairs(value, len(x.sizes))
    return Shape(tuple(None if d is None else b + d + a for d, (b, a) in zip(x.sizes, margins, strict=True)))


def _host_pad(call: HostCall, x: np.ndarray, paddings: np.ndarray, value: np.ndarray | None = None) -> np.ndarray:
    margins = margin_pairs(paddings, x.ndim)
    fill = (b"" if x.dtype == object else 0) if value is None else value.reshape(())
    out = np.full([b + d + a for d, (b, a) in zip(x.shape, margins, strict=True)], fill, x.dtype)
    out[tuple(slice(b, b + d) for d, (b, _) in zip(x.shape, margins, strict=True))] = x
    return out


def _lower_pad(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    dims, margins = site.inputs[0].shape, margin_pairs(site.value(1), len(idx))
    fill = s.const(0, site.outputs[0].dtype) if len(site.inputs) == 2 else site.load(2, ())
    if 0 in dims:
        return fill
    source, inside = [], None
    for i, d, (before, after) in zip(idx, dims, margins, strict=True):
        at = s.sub(i, before)
        for padding, test in ((before, s.ge(at, 0)), (after, s.lt(at, d))):
            if not same(padding, 0):
                inside = test if inside is None else s.and_(inside, test)
        source.append(s.minimum(s.maximum(at, 0), d - 1) if not (same(before, 0) and same(after, 0)) else at)
    element = site.load(0, source)
    return element if inside is None else s.where(inside, element, fill)


def _grad_pad(op: Operation, dy: Tensor) -> Any:
    x, paddings = op.inputs[:2]
    value = constant_value(paddings)
    if value is not None:
        begin: Any = value[:, 0]
    else:
        begin = RESHAPE(SLICE(paddings, [0, 0], [-1, 1]), [-1])
    size = shape_of(x)
    if begin.dtype != size.dtype:
        size = size.astype(begin.dtype) if isinstance(size, np.ndarray) else SHAPE(x, out_type=begin.dtype)
    return (SLICE(dy, begin, size), *(None,) * (len(op.inputs) - 1))


PAD_DOC = """Adds margins {fill} around a tensor.

    {first}: any dtype, rank n. paddings: integers of shape (n, 2): the number of elements to add before and after
    along each axis. output: the size along each axis is before + size + after. Errors: the paddings have another
    shape or are negative."""

PAD: OpDef[Tensor] = OpDef(
    "Pad",
    inputs="input: T, paddings: Tpaddings",
    outputs="output: T",
    types={"T": ALL, "Tpaddings": INDEX},
    defaults={"Tpaddings": int32},
    doc=PAD_DOC.format(fill="of zeros", first="input"),
    infer=padded,
    host=_host_pad,
    lower=_lower_pad,
    grad=_grad_pad,
    shape_inputs=(1,),
)

PAD_V2: OpDef[Tensor] = OpDef(
    "PadV2",
    inputs="input: T, paddings: Tpaddings, constant_values: T",
    outputs="output: T",
    types={"T": ALL, "Tpaddings": INDEX},
    defaults={"Tpaddings": int32},
    doc=PAD_DOC.format(fill="of one value (`constant_values`, a scalar)", first="input"),
    infer=padded,
    host=_host_pad,
    lower=_lower_pad,
    grad=_grad_pad,
    shape_inputs=(1,),
)


def transpose(
    a: TensorLike, perm: TensorLike | None = None, name: str | None = "transpose", conjugate: bool = False
) -> Tensor:
    """Reorders the axes of a tensor; without `perm` their order is reversed.

    perm: a permutation of the axes; axis perm[i] of `a` becomes axis i. conjugate: takes the complex conjugate too.
    Errors: perm is not a permutation.
    """
    x = graph_of((a, perm)).to_tensor(a)
    if perm is None:
        rank = x.shape.ndims
        perm = (
            RANK(x) - 1 - RANGE(np.int32(0), RANK(x), np.int32(1))
            if rank is None
            else np.arange(rank, dtype=np.int32)[::-1]
        )
    return TRANSPOSE(conj(x) if conjugate else x, perm, name=name)


OPS: tuple[OpDef, ...] = (TRANSPOSE, INVERT_PERMUTATION, SLICE, PAD, PAD_V2)
API: dict[str, Any] = {
    "slice": slice_,
    "transpose": transpose,
}
