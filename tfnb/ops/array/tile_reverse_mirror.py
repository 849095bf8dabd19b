"""Repetition, reversal, and margins that mirror the tensor (white paper, Table 1, array operations).

Invariant: every load is in bounds; the gradient of an element is the sum over all its copies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir import scalar as s
from tfnb.ir.bind import flatten
from tfnb.ir.const import constant_value
from tfnb.ir.opdef import HostCall, Infer, LowerSite, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.scalar import Expr
from tfnb.ir.shapes import normalize_axes, with_rank
from tfnb.ir.tensor import Tensor, TensorLike, is_tensor_like
from tfnb.ops.array.constants import RANGE
from tfnb.ops.array.pack import PACK
from tfnb.ops.array.shape_ops import RANK, RESHAPE, SHAPE, shape_of
from tfnb.ops.array.transpose_pad_tile import PAD, PAD_DOC, PAD_V2, SLICE, margin_pairs, padded
from tfnb.ops.math.reduce_sum import SUM
from tfnb.sizes import integer
from tfnb.types import ALL, ALL_AND_QUANTIZED, INDEX, NUMBERS, DType, Shape, int32, unknown_shape

__all__ = ["API", "MIRROR_PAD", "OPS", "REVERSE", "REVERSE_V2", "TILE"]


@record
class MirrorPadAttrs:
    """`mode`: "REFLECT" mirrors without repeating the border element, "SYMMETRIC" repeats it."""

    mode: str = "REFLECT"


def _mirrored(c: Infer) -> Shape:
    shape, value = padded(c), c.value(1)
    if c.attrs.mode not in ("REFLECT", "SYMMETRIC"):
        raise InvalidArgumentError(f"Unknown padding mode, needed REFLECT or SYMMETRIC, got {c.attrs.mode!r}")
    if c.in_step and value is not None and c.shapes[0].sizes is not None:
        _check_margins(c.attrs.mode, c.shapes[0].sizes, value)
    return shape


def _too_wide(mode: str, sizes: Sequence[int | None], paddings: np.ndarray) -> Iterator[tuple[int, list[int]]]:
    """The dimensions that are too small for their margins, with these."""
    least_margin = 1 if mode == "REFLECT" else 0
    for d, pair in zip(sizes, paddings.tolist(), strict=True):
        if d is not None and max(pair) > max(d - least_margin, 0):
            yield d, pair


def _check_margins(mode: str, sizes: Sequence[int | None], paddings: np.ndarray) -> None:
    for d, pair in _too_wide(mode, sizes, paddings):
        raise ShapeError(f"MirrorPad: margins {pair} are too wide for a dimension of {d} ({mode})")


def _host_mirror(call: HostCall[MirrorPadAttrs], x: np.ndarray, paddings: np.ndarray) -> np.ndarray:
    margins = margin_pairs(paddings, x.ndim)
    _check_margins(call.attrs.mode, x.shape, paddings)
    return np.pad(x, margins, call.attrs.mode.lower())  # type: ignore[call-overload]


def _lower_mirror(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    skip = 1 if site.attrs.mode == "REFLECT" else 0
    source = []
    for i, d, (before, after) in zip(idx, site.inputs[0].shape, margin_pairs(site.value(1), len(idx)), strict=True):
        at = s.sub(i, before)
        if before:
            at = s.where(s.lt(at, 0), s.sub(skip - 1, at), at)
        if after:
            at = s.where(s.ge(at, d), s.sub(2 * d - 1 - skip, at), at)
        source.append(at)
    return site.load(0, source)


def _grad_mirror(op: Operation, dy: Tensor) -> tuple[Tensor, None]:
    """Adds the gradients of the mirrored margins to the elements they were copied from, axis by axis."""
    value, sizes = constant_value(op.inputs[1]), op.x.shape.sizes
    if value is None or sizes is None or any(_too_wide(op.attrs.mode, sizes, value)):
        return MIRROR_PAD_GRAD(dy, op.inputs[1], mode=op.attrs.mode), None
    skip = 1 if op.attrs.mode == "REFLECT" else 0
    for axis, (before, after) in enumerate(margin_pairs(value, len(sizes))):
        if before or after:
            dy = _fold_axis(dy, axis, before, after, skip, op)
    return dy, None


def _fold_axis(dy: Tensor, axis: int, before: int, after: int, skip: int, op: Any) -> Any:
    n, rank = op.x.shape.sizes[axis], op.x.shape.ndims
    if n is None:
        n = SHAPE(op.x, out_type=int32)[axis]

    def along(value: int | Tensor | list[Any], other: int | list[int]) -> Any:
        return dy.graph.to_tensor([value if a == axis else other for a in range(rank)])

    def part(start: int, count: int | Tensor) -> Tensor:
        return SLICE(dy, along(start, 0), along(count, -1))

    def mirrored(start: int, count: int, at: int | Tensor) -> Tensor:
        margins = along([at, n - at - count], [0, 0])
        return PAD(REVERSE_V2(part(start, count), np.asarray([axis], np.int32)), margins)

    total = part(before, n)
    if before:
        total = total + mirrored(0, before, skip)
    if after:
        total = total + mirrored(before + n, after, n - after - skip)
    return total


MIRROR_PAD: OpDef[Tensor] = OpDef(
    "MirrorPad",
    inputs="input: T, paddings: Tpaddings",
    outputs="output: T",
    types={"T": ALL, "Tpaddings": INDEX},
    defaults={"Tpaddings": int32},
    attrs=MirrorPadAttrs,
    doc=PAD_DOC.format(fill="that mirror the tensor", first="input")
    + " A margin is larger than the tensor (less one element for REFLECT), when the step runs.",
    infer=_mirrored,
    host=_host_mirror,
    lower=_lower_mirror,
    grad=_grad_mirror,
    shape_inputs=(1,),
)


def _without_margins(c: Infer) -> Shape:
    x, value = c.shapes[0], c.value(1)
    if c.attrs.mode not in ("REFLECT", "SYMMETRIC"):
        raise InvalidArgumentError(f"Unknown padding mode, needed REFLECT or SYMMETRIC, got {c.attrs.mode!r}")
    if x.sizes is None:
        return unknown_shape
    if value is None:
        return Shape((None,) * len(x.sizes))
    pairs = margin_pairs(value, len(x.sizes))
    sizes = tuple(None if d is None else d - before - after for d, (before, after) in zip(x.sizes, pairs, strict=True))
    if any(n is not None and n < 0 for n in sizes):
        raise ShapeError(f"MirrorPadGrad: the margins {pairs} are wider than shape {x}")
    return Shape(sizes)


def _fold(call: HostCall, x: np.ndarray, paddings: np.ndarray) -> np.ndarray:
    skip = 1 if call.attrs.mode == "REFLECT" else 0
    for axis, (before, after) in enumerate(margin_pairs(paddings, x.ndim)):
        rows = np.moveaxis(x, axis, 0)
        n = len(rows) - before - after
        if max(before, after) > max(n - skip, 0):
            raise InvalidArgumentError(f"MirrorPadGrad: margins {before, after} of a dimension of {n}", call.op)
        total = rows[before : before + n].copy()
        total[skip : skip + before] += rows[:before][::-1]
        total[n - skip - after : n - skip] += rows[before + n :][::-1]
        x = np.moveaxis(total, 0, axis)
    return x


def _grad_fold(op: Operation, dy: Tensor) -> tuple[Tensor, None]:
    return MIRROR_PAD(dy, op.inputs[1], mode=op.attrs.mode), None


MIRROR_PAD_GRAD: OpDef[Tensor] = OpDef(
    "MirrorPadGrad",
    "input: T, paddings: Tpaddings",
    "output: T",
    """The gradient of MirrorPad: margins are added to the elements that they mirror, and left out.

    input: a number type, rank n. paddings: shape (n, 2), the widths of the margins. output: without them. Errors: the
    margins do not fit.""",
    types={"T": NUMBERS, "Tpaddings": INDEX},
    attrs=MirrorPadAttrs,
    infer=_without_margins,
    host=_fold,
    grad=_grad_fold,
    shape_inputs=(1,),
)


def pad(
    tensor: TensorLike,
    paddings: TensorLike,
    mode: str = "CONSTANT",
    name: str | None = None,
    constant_values: int = 0,
) -> Tensor:
    """Adds margins around a tensor.

    paddings: shape (rank, 2), the number of elements before and after along each axis. mode: "CONSTANT" (filled with
    `constant_values`), "REFLECT" or "SYMMETRIC". Errors: the mode is unknown, or the paddings do not match the rank.
    """
    kind = mode.upper()
    if kind != "CONSTANT":
        result = MIRROR_PAD(tensor, paddings, mode=kind, name=name)
    elif isinstance(constant_values, (int, float)) and constant_values == 0:
        result = PAD(tensor, paddings, name=name)
    else:
        result = PAD_V2(tensor, paddings, constant_values, name=name)
    _refine_padded(result)
    return result


def _refine_padded(result: Tensor) -> None:
    """Adds the sizes of those axes whose paddings are constant, where the paddings are packed from a row for each."""
    x, paddings = result.op.inputs[:2]
    if x.shape.sizes is None or paddings.op.type != "Pack" or paddings.op.attrs.axis != 0:
        return
    rows = [constant_value(row) for row in paddings.op.inputs]
    if len(rows) == len(x.shape.sizes):
        pairs = zip(x.shape.sizes, rows, strict=True)
        result.set_shape([None if d is None or row is None else d + int(row.sum()) for d, row in pairs])


def _tiled(c: Infer) -> Shape:
    with_rank(c, 1, 1, "Expected multiples to be 1-D")
    x, value = c.shapes[0], c.value(1)
    if x.sizes is None:
        multiples = c.as_shape(1).sizes
        return unknown_shape if multiples is None else Shape((None,) * len(multiples))
    if value is None:
        counts = c.as_shape(1).with_rank(len(x.sizes)).as_list()
        return Shape(tuple(None if d is None or m is None else d * m for d, m in zip(x.sizes, counts, strict=True)))
    if value.shape != (len(x.sizes),) or (c.in_step and (value < 0).any()):
        raise ShapeError(f"Tile: needs a number >= 0 for each axis of shape {x}, got {value.tolist()}")
    return Shape(tuple(None if d is None or m < 0 else d * integer(m) for d, m in zip(x.sizes, value, strict=True)))


def _host_tile(call: HostCall, x: np.ndarray, multiples: np.ndarray) -> np.ndarray:
    if (multiples < 0).any():
        raise InvalidArgumentError(f"Tile: needs numbers >= 0, got {multiples.tolist()}", call.op)
    return np.tile(x, tuple(multiples.tolist()))


def _lower_tile(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    dims, out = site.inputs[0].shape, site.outputs[0].shape
    return site.load(
        0,
        tuple(i if d == n else s.floormod(i, max(d, 1)) for i, d, n in zip(idx, dims, out, strict=True)),
    )


def _grad_tile(op: Operation, dy: Tensor) -> tuple[Tensor, None]:
    x, multiples = op.inputs
    value = constant_value(multiples)
    if value is not None and x.shape.is_fully_defined():
        parts: Any = np.stack([value, np.asarray(x.shape.known())], 1).reshape(-1).astype(np.int32)
        axes: Any = np.arange(0, 2 * len(value), 2, dtype=np.int32)
    else:
        parts = RESHAPE(PACK([multiples, SHAPE(x, out_type=multiples.dtype)], axis=1), [-1])
        rank = x.shape.ndims
        axes = (
            RANGE(np.int32(0), 2 * RANK(x), np.int32(2)) if rank is None else np.arange(0, 2 * rank, 2, dtype=np.int32)
        )
    return RESHAPE(SUM(RESHAPE(dy, parts), axes), shape_of(x)), None


TILE: OpDef[Tensor] = OpDef(
    "Tile",
    inputs="input: T, multiples: Tmultiples",
    outputs="output: T",
    types={"T": ALL_AND_QUANTIZED, "Tmultiples": INDEX},
    defaults={"Tmultiples": int32},
    doc="""Repeats a tensor `multiples[i]` times along each axis i.

    input: any dtype, rank n. multiples: an integer vector of n numbers >= 0. output: the size along axis i is
    multiplied by multiples[i]. Errors: multiples has another length; a negative number, when the step runs.""",
    infer=_tiled,
    host=_host_tile,
    lower=_lower_tile,
    grad=_grad_tile,
    shape_inputs=(1,),
    api="tile",
)


def _reversal(name: str, second: str, doc: str, axes: Callable[[np.ndarray, int], Sequence[int]]) -> OpDef[Tensor]:
    def host(call: HostCall, x: np.ndarray, which: np.ndarray) -> np.ndarray:
        return np.flip(x, tuple(axes(which, x.ndim)))

    def lower(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
        flipped = axes(site.value(1), len(idx))
        dims = site.inputs[0].shape
        return site.load(
            0,
            tuple(s.sub(d - 1, i) if k in flipped else i for k, (i, d) in enumerate(zip(idx, dims, strict=True))),
        )

    def infer(c: Infer) -> Shape:
        rank = c.shapes[1].as_list()[0] if "Tidx" not in second and c.shapes[1].ndims == 1 else None
        if rank is not None:  # there is one bool for each axis
            if c.shapes[0].ndims not in (None, rank):
                raise ShapeError(f"{name}: Shape must be rank {rank} but is rank {c.shapes[0].ndims}: {c.shapes[0]}")
            if c.shapes[0].ndims is None:
                return Shape((None,) * rank)
        if c.shapes[0].sizes is not None and c.value(1) is not None:
            axes(c.value(1), len(c.shapes[0].sizes))
        return c.shapes[0]

    types: dict[str, tuple[DType, ...]] = {"T": ALL} | ({"Tidx": INDEX} if "Tidx" in second else {})
    return OpDef(
        name,
        f"tensor: T, {second}",
        "output: T",
        doc,
        types,
        infer=infer,
        host=host,
        lower=lower,
        grad=lambda op, dy: (op.opdef(dy, op.inputs[1]), None),
        shape_inputs=(1,),
        defaults={"Tidx": int32} if "Tidx" in second else {},
    )


def _flagged(flags: np.ndarray, rank: int) -> list[int]:
    if flags.shape != (rank,):
        raise InvalidArgumentError(f"Reverse: needs a bool for each of {rank} axes, got {flags.tolist()}")
    return [int(i) for i in np.flatnonzero(flags)]


REVERSE = _reversal(
    "Reverse",
    "dims: bool",
    """Reverses the order of elements along some axes.

    tensor: any dtype, rank n. dims: n truth values, which axes. output: dtype and shape of tensor. Errors: dims
    of another length.""",
    _flagged,
)
REVERSE_V2 = _reversal(
    "ReverseV2",
    "axis: Tidx",
    """Reverses the order of elements along some axes.

    tensor: any dtype. axis: an integer vector of axes (negative from the end). output: dtype and shape of
    tensor. Errors: an axis is out of range.""",
    normalize_axes,
)


def reverse(
    tensor: TensorLike, axis: TensorLike | None = None, name: str | None = None, dims: TensorLike | None = None
) -> Tensor:
    """Reverses the order of the elements of a tensor along some of its axes.

    axis: a list of axes, or in 0.x (`dims`) a list of one bool per axis. The result has the dtype and shape of the
    tensor. Errors: an axis is out of range.
    """
    axes: Any = dims if axis is None else axis
    if is_tensor_like(axes):
        is_bool = axes.dtype.base_dtype.is_bool
    else:
        is_bool = any(
            isinstance(a, (bool, np.bool_)) for a in flatten(axes.tolist() if hasattr(axes, "tolist") else axes)
        )
    return (REVERSE if is_bool else REVERSE_V2)(tensor, axes, name=name)


OPS: tuple[OpDef, ...] = (MIRROR_PAD, MIRROR_PAD_GRAD, TILE, REVERSE, REVERSE_V2)
API: dict[str, Any] = {"pad": pad, "reverse": reverse}
