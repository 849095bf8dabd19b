"""Rearrangement of spatial blocks into the depth or the batch, and back (white paper, Table 1, array operations).

Dilated convolutions and sub-pixel layers are built from these ops. Invariant: each op is the inverse of its partner,
apart from padding and cropping, and the partner is its gradient.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir import scalar as s
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import HostCall, Infer, LowerSite, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.scalar import Expr
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.pack import PACK
from tfnb.types import ALL, ALL_AND_QUANTIZED, FIXED_SIZE, INDEX, Shape, int32, unknown_shape

__all__ = ["API", "BATCH_TO_SPACE_ND", "OPS", "SPACE_TO_BATCH_ND"]


@record
class DepthAttrs:
    """`block_size`: the edge length of a block, at least 2; `data_format`: NHWC or NCHW."""

    block_size: int
    data_format: str = "NHWC"


def _depth_axes(attrs: DepthAttrs, name: str) -> tuple[int, int, int]:
    """The height, width and channel axes. Raises `InvalidArgumentError` for invalid attributes."""
    if attrs.block_size < 2:
        raise InvalidArgumentError(f"{name}: block_size must be at least 2, got {attrs.block_size}")
    if attrs.data_format not in ("NHWC", "NCHW"):
        raise InvalidArgumentError(f"{name}: data_format {attrs.data_format!r}; needed NHWC or NCHW")
    return (1, 2, 3) if attrs.data_format == "NHWC" else (2, 3, 1)


def _depth_shape(c: Infer, deeper: bool) -> Shape:
    axes = _depth_axes(c.attrs, c.op_name)
    x, n = c.shapes[0], c.attrs.block_size
    if x.sizes is None:
        return Shape((None,) * 4)
    if len(x.sizes) != 4:
        raise ShapeError(f"{c.op_name}: needs a tensor of rank 4, got shape {x}")
    dims = list(x.sizes)
    for axis, factor in zip(axes, (n, n, n * n), strict=True):
        d = dims[axis]
        if d is None:
            continue
        divide = deeper == (axis != axes[2])
        if divide and d % factor:
            raise ShapeError(f"{c.op_name}: dimension {axis} of shape {x} is not a multiple of {factor}")
        dims[axis] = d // factor if divide else d * factor
    return Shape(tuple(dims))


def _host_space_to_depth(call: HostCall, x: np.ndarray) -> np.ndarray:
    n, last = call.attrs.block_size, call.attrs.data_format == "NHWC"
    v = x if last else np.moveaxis(x, 1, 3)
    b, h, w, c = v.shape
    v = v.reshape(b, h // n, n, w // n, n, c).transpose(0, 1, 3, 2, 4, 5).reshape(b, h // n, w // n, n * n * c)
    return np.ascontiguousarray(v if last else np.moveaxis(v, 3, 1))


def _host_depth_to_space(call: HostCall, x: np.ndarray) -> np.ndarray:
    n, last = call.attrs.block_size, call.attrs.data_format == "NHWC"
    v = x if last else np.moveaxis(x, 1, 3)
    b, h, w, c = v.shape
    v = v.reshape(b, h, w, n, n, c // n // n).transpose(0, 1, 3, 2, 4, 5).reshape(b, h * n, w * n, c // n // n)
    return np.ascontiguousarray(v if last else np.moveaxis(v, 3, 1))


def _lower_space_to_depth(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    n, (h, w, c) = site.attrs.block_size, _depth_axes(site.attrs, "SpaceToDepth")
    depth = site.inputs[0].shape[c]
    source, block = list(idx), s.floordiv(idx[c], depth)
    source[h] = idx[h] * n + s.floordiv(block, n)
    source[w] = idx[w] * n + s.floormod(block, n)
    source[c] = s.floormod(idx[c], depth)
    return site.load(0, source)


def _lower_depth_to_space(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    n, (h, w, c) = site.attrs.block_size, _depth_axes(site.attrs, "DepthToSpace")
    source = list(idx)
    source[h], source[w] = s.floordiv(idx[h], n), s.floordiv(idx[w], n)
    block = s.floormod(idx[h], n) * n + s.floormod(idx[w], n)
    source[c] = block * site.outputs[0].shape[c] + idx[c]
    return site.load(0, source)


def _same(op: Operation) -> dict[str, Any]:
    return {"block_size": op.attrs.block_size, "data_format": op.attrs.data_format}


SPACE_TO_DEPTH: OpDef[Tensor] = OpDef(
    "SpaceToDepth",
    inputs="input: T",
    outputs="output: T",
    types={"T": ALL_AND_QUANTIZED},
    attrs=DepthAttrs,
    doc="""Moves the elements of each block of block_size x block_size pixels into the channels, block row by block row.

    input: any dtype, shape (batch, height, width, channels), or (batch, channels, height, width) for NCHW.
    output: height and width divided by block_size, channels multiplied by its square. Errors: block_size < 2, or
    height or width is not a multiple of it.""",
    infer=lambda c: _depth_shape(c, True),
    host=_host_space_to_depth,
    lower=_lower_space_to_depth,
    grad=lambda op, dy: DEPTH_TO_SPACE(dy, **_same(op)),
)

DEPTH_TO_SPACE: OpDef[Tensor] = OpDef(
    "DepthToSpace",
    inputs="input: T",
    outputs="output: T",
    types={"T": ALL},
    attrs=DepthAttrs,
    doc="""Moves the channels of each pixel into a block of block_size x block_size pixels: the inverse of SpaceToDepth.

    input: any dtype, shape (batch, height, width, channels), or (batch, channels, height, width) for NCHW.
    output: height and width multiplied by block_size, channels divided by its square. Errors: block_size < 2, or the
    number of channels is not a multiple of its square.""",
    infer=lambda c: _depth_shape(c, False),
    host=_host_depth_to_space,
    lower=_lower_depth_to_space,
    grad=lambda op, dy: SPACE_TO_DEPTH(dy, **_same(op)),
)


def _margins(name: str, block: np.ndarray, pairs: np.ndarray) -> tuple[list[int], list[list[int]]]:
    """The edge lengths of the block and their (before, after) margins. Raises when they do not match or are invalid."""
    sizes, margins = [int(b) for b in block], [[int(a), int(b)] for a, b in pairs.reshape(-1, 2)]
    if len(sizes) != len(margins) or pairs.ndim != 2:
        raise ShapeError(f"{name}: {len(sizes)} block sizes need as many pairs of margins, got shape {pairs.shape}")
    if any(b < 1 for b in sizes) or any(m < 0 for pair in margins for m in pair):
        raise InvalidArgumentError(f"{name}: block sizes must be >= 1 and margins >= 0, got {sizes}, {margins}")
    return sizes, margins


def _batched(
    name: str, x: Sequence[int | None], block: Sequence[int], pairs: Sequence[Sequence[int]], into: bool
) -> tuple[Any, ...]:
    """The dimensions of the output of SpaceToBatchND (`into` is true) or BatchToSpaceND."""
    m, count = len(block), math.prod(block)
    if len(x) < m + 1:
        raise ShapeError(f"{name}: {m} block sizes need a tensor of rank >= {m + 1}, got shape {tuple(x)}")
    dims = list(x)
    if dims[0] is not None:
        if not into and dims[0] % count:
            raise ShapeError(f"{name}: the batch of {dims[0]} is not a multiple of the block's {count} elements")
        dims[0] = dims[0] * count if into else dims[0] // count
    for i, (b, (before, after)) in enumerate(zip(block, pairs, strict=True), 1):
        d = dims[i]
        if d is None:
            continue
        if into and (d + before + after) % b:
            raise ShapeError(f"{name}: padded dimension {i} of {d + before + after} is not a multiple of {b}")
        dims[i] = (d + before + after) // b if into else d * b - before - after
        if dims[i] < 0:  # type: ignore[operator]
            raise InvalidArgumentError(f"{name}: cropping {before} + {after} of {d * b} elements")
    return tuple(dims)


def _nd_shape(c: Infer, into: bool) -> Shape:
    x, block, pairs = c.shapes[0], c.value(1), c.value(2)
    if x.sizes is None:
        return unknown_shape
    if block is None or pairs is None:
        sizes = c.shapes[1].sizes
        if sizes is None or sizes[0] is None:
            return Shape((None,) * len(x.sizes))
        batch, rest = x.sizes[0], x.sizes[sizes[0] + 1 :]  # the dimensions after the blocks stay
        if block is None or batch is None:
            return Shape((None,) * (sizes[0] + 1) + rest)
        count = math.prod(int(b) for b in block)
        if count < 1 or (not into and batch % count):
            raise ShapeError(f"{c.op_name}: a batch of {batch} cannot be divided by the blocks {block.tolist()}")
        return Shape((batch * count if into else batch // count, *(None,) * sizes[0], *rest))
    return Shape(_batched(c.op_name, x.sizes, *_margins(c.op_name, block, pairs), into))


def _host_into_batch(call: HostCall, x: np.ndarray, block: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    sizes, margins = _margins("SpaceToBatchND", block, pairs)
    out = _batched("SpaceToBatchND", x.shape, sizes, margins, True)
    m, rest = len(sizes), x.ndim - len(sizes) - 1
    padded = np.pad(x, [(0, 0), *margins, *[(0, 0)] * rest])
    split = [padded.shape[0]]
    for d, b in zip(padded.shape[1 : m + 1], sizes, strict=True):
        split += [d // b, b]
    v = padded.reshape(*split, *padded.shape[m + 1 :])
    order = [*range(2, 2 * m + 1, 2), 0, *range(1, 2 * m, 2), *range(2 * m + 1, v.ndim)]
    return np.ascontiguousarray(v.transpose(order).reshape(out))


def _host_into_space(call: HostCall, x: np.ndarray, block: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    sizes, margins = _margins("BatchToSpaceND", block, pairs)
    out = _batched("BatchToSpaceND", x.shape, sizes, margins, False)
    m = len(sizes)
    v = x.reshape(*sizes, out[0], *x.shape[1:])
    order = [m]
    for i in range(m):
        order += [m + 1 + i, i]
    v = v.transpose([*order, *range(2 * m + 1, v.ndim)])
    v = v.reshape(out[0], *(d * b for d, b in zip(x.shape[1 : m + 1], sizes, strict=True)), *x.shape[m + 1 :])
    crop = tuple(slice(before, before + n) for (before, _), n in zip(margins, out[1 : m + 1], strict=True))
    cropped: Any = (slice(None), *crop)
    return np.ascontiguousarray(v[cropped])


def _lower_into_batch(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    sizes, margins = _margins("SpaceToBatchND", site.value(1), site.value(2))
    x, zero = site.inputs[0].shape, s.const(0, site.outputs[0].dtype)
    if 0 in x:
        return zero
    source, offset = list(idx), s.floordiv(idx[0], x[0])
    source[0] = s.floormod(idx[0], x[0])
    inside: Expr | None = None
    for i in reversed(range(len(sizes))):
        at = idx[i + 1] * sizes[i] + s.floormod(offset, sizes[i]) - margins[i][0]
        offset = s.floordiv(offset, sizes[i])
        if margins[i] != [0, 0]:
            test = s.and_(s.ge(at, 0), s.lt(at, x[i + 1]))
            inside = test if inside is None else s.and_(inside, test)
            at = s.minimum(s.maximum(at, 0), x[i + 1] - 1)
        source[i + 1] = at
    element = site.load(0, source)
    return element if inside is None else s.where(inside, element, zero)


def _lower_into_space(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    sizes, margins = _margins("BatchToSpaceND", site.value(1), site.value(2))
    source, offset = list(idx), s.const(0, idx[0].dtype)
    for i, (b, (before, _)) in enumerate(zip(sizes, margins, strict=True)):
        at = idx[i + 1] + before
        source[i + 1] = s.floordiv(at, b)
        offset = offset * b + s.floormod(at, b)
    source[0] = offset * site.outputs[0].shape[0] + idx[0]
    return site.load(0, source)


SPACE_TO_BATCH_ND: OpDef[Tensor] = OpDef(
    "SpaceToBatchND",
    inputs="input: T, block_shape: Tblock_shape, paddings: Tpaddings",
    outputs="output: T",
    types={"T": FIXED_SIZE, "Tblock_shape": INDEX, "Tpaddings": INDEX},
    defaults={"Tblock_shape": int32, "Tpaddings": int32},
    doc="""Moves the elements of each block of the spatial dimensions 1..m into the batch, after padding with zeros.

    input: a number type, shape (batch, m spatial dimensions, ...). block_shape: m integers >= 1. paddings: (m,
    2) integers >= 0. output: the batch size is multiplied by the number of elements of a block; each spatial dimension
    is padded and then divided by the block's. Element o of a block of batch entry b becomes entry o * batch + b.
    Errors: a padded dimension is not a multiple of the block's.""",
    infer=lambda c: _nd_shape(c, True),
    host=_host_into_batch,
    lower=_lower_into_batch,
    grad=lambda op, dy: (BATCH_TO_SPACE_ND(dy, op.inputs[1], op.inputs[2]), None, None),
    shape_inputs=(1, 2),
    api="space_to_batch_nd",
)

BATCH_TO_SPACE_ND: OpDef[Tensor] = OpDef(
    "BatchToSpaceND",
    inputs="input: T, block_shape: Tblock_shape, crops: Tcrops",
    outputs="output: T",
    types={"T": FIXED_SIZE, "Tblock_shape": INDEX, "Tcrops": INDEX},
    defaults={"Tblock_shape": int32, "Tcrops": int32},
    doc="""Moves parts of the batch into blocks of the spatial dimensions 1..m, then crops: SpaceToBatchND's inverse.

    input: a number type, shape (batch, m spatial dimensions, ...). block_shape: m integers >= 1. crops: (m, 2)
    integers >= 0. output: the batch size is divided by the number of elements of a block; each spatial dimension is
    multiplied by the block's, less the crops. Errors: the batch size is not a multiple of the number of elements of a
    block, or the crops are too large.""",
    infer=lambda c: _nd_shape(c, False),
    host=_host_into_space,
    lower=_lower_into_space,
    grad=lambda op, dy: (SPACE_TO_BATCH_ND(dy, op.inputs[1], op.inputs[2]), None, None),
    shape_inputs=(1, 2),
    api="batch_to_space_nd",
)


@record
class BlockAttrs:
    """`block_size`: the edge length of the square block, at least 2."""

    block_size: int


def _block(attrs: BlockAttrs) -> np.ndarray:
    if attrs.block_size < 2:
        raise InvalidArgumentError(f"block_size must be at least 2, got {attrs.block_size}")
    return np.asarray([attrs.block_size] * 2, np.int32)


def _square_shape(c: Infer, into: bool) -> Shape:
    x, block, pairs = c.shapes[0].with_rank(4), _block(c.attrs), c.value(1)
    if pairs is None or x.sizes is None:
        return Shape((None,) * 4)
    return Shape(_batched(c.op_name, x.sizes, *_margins(c.op_name, block, pairs), into))


SPACE_TO_BATCH: OpDef[Tensor] = OpDef(
    "SpaceToBatch",
    inputs="input: T, paddings: Tpaddings",
    outputs="output: T",
    types={"T": FIXED_SIZE, "Tpaddings": INDEX},
    defaults={"Tpaddings": int32},
    attrs=BlockAttrs,
    doc="""SpaceToBatchND with a square block: input (batch, height, width, depth), paddings (2, 2) integers.

    Errors: block_size < 2, or a padded dimension is not a multiple of it.""",
    infer=lambda c: _square_shape(c, True),
    host=lambda call, x, pairs: _host_into_batch(call, x, _block(call.attrs), pairs),
    expand=lambda op, x, pairs: SPACE_TO_BATCH_ND(x, _block(op.attrs), pairs),
    grad=lambda op, dy: (BATCH_TO_SPACE(dy, op.inputs[1], block_size=op.attrs.block_size), None),
    shape_inputs=(1,),
)

BATCH_TO_SPACE: OpDef[Tensor] = OpDef(
    "BatchToSpace",
    inputs="input: T, crops: Tidx",
    outputs="output: T",
    types={"T": FIXED_SIZE, "Tidx": INDEX},
    defaults={"Tidx": int32},
    attrs=BlockAttrs,
    doc="""BatchToSpaceND with a square block: input (batch, height, width, depth), crops (2, 2) integers.

    Errors: block_size < 2, the batch size is not a multiple of its square, or the crops are too large.""",
    infer=lambda c: _square_shape(c, False),
    host=lambda call, x, crops: _host_into_space(call, x, _block(call.attrs), crops),
    expand=lambda op, x, crops: BATCH_TO_SPACE_ND(x, _block(op.attrs), crops),
    grad=lambda op, dy: (SPACE_TO_BATCH(dy, op.inputs[1], block_size=op.attrs.block_size), None),
    shape_inputs=(1,),
)


def space_to_depth(input: TensorLike, block_size: int, name: str | None = None, data_format: str = "NHWC") -> Tensor:
    """Moves each block of block_size x block_size pixels into the channels of one pixel.

    input: (batch, height, width, channels), or channels second for `data_format="NCHW"`.
    """
    return SPACE_TO_DEPTH(input, block_size=block_size, data_format=data_format, name=name)


def depth_to_space(input: TensorLike, block_size: int, name: str | None = None, data_format: str = "NHWC") -> Tensor:
    """Moves the channels of each pixel into a block of block_size x block_size pixels.

    input: (batch, height, width, channels), or channels second for `data_format="NCHW"`.
    """
    return DEPTH_TO_SPACE(input, block_size=block_size, data_format=data_format, name=name)


def space_to_batch(
    input: TensorLike,
    paddings: TensorLike | None = None,
    block_size: int | None = None,
    name: str | None = None,
    block_shape: TensorLike | None = None,
) -> Tensor:
    """Pads the spatial dimensions, then moves their blocks into the batch.

    input: (batch, spatial dimensions..., rest...). paddings: integers (m, 2), the margins before and after each of the
    m spatial dimensions. block_shape: the m edge lengths of a block; or `block_size`, the edge length of square blocks
    of images.
    """
    if block_shape is not None:
        return SPACE_TO_BATCH_ND(input, block_shape, paddings, name=name)
    return SPACE_TO_BATCH(input, paddings, block_size=block_size, name=name)


def batch_to_space(
    input: TensorLike,
    crops: TensorLike | None = None,
    block_size: int | None = None,
    name: str | None = None,
    block_shape: TensorLike | None = None,
) -> Tensor:
    """Moves parts of the batch into blocks of the spatial dimensions, then crops these dimensions.

    input: (batch, spatial dimensions..., rest...). crops: integers (m, 2), the numbers of elements to remove before and
    after in each of the m spatial dimensions. block_shape, block_size: those of `space_to_batch`.
    """
    if block_shape is not None:
        return BATCH_TO_SPACE_ND(input, block_shape, crops, name=name)
    return BATCH_TO_SPACE(input, crops, block_size=block_size, name=name)


def required_space_to_batch_paddings(
    input_shape: TensorLike, block_shape: TensorLike, base_paddings: TensorLike | None = None, name: str | None = None
) -> tuple[Any, Any]:
    """Returns (paddings, crops): the margins that SpaceToBatchND needs, and the crops that undo the added ones.

    input_shape: the m sizes of the spatial dimensions. block_shape: m edge lengths, of a known number. base_paddings:
    (m, 2), the margins to extend at their ends, by default zeros. Both results are int32, of shape (m, 2); arguments
    that are no tensors may be any integers that fit, and tensors must be int32.
    """
    graph = graph_of((input_shape, block_shape, base_paddings))
    with graph.as_default(), graph.name_scope(name or "required_space_to_batch_paddings"):
        size, block = graph.to_tensor(input_shape, int32), graph.to_tensor(block_shape, int32)
        count = block.shape.known()[0]
        base = graph.to_tensor(np.zeros((count, 2), np.int32) if base_paddings is None else base_paddings, int32)
        start, end = base[:, 0], base[:, 1]
        extra = (block - (size + start + end) % block) % block
        zero = extra * 0
        return PACK([start, end + extra], axis=1), PACK([zero, extra], axis=1)


OPS: tuple[OpDef, ...] = (
    SPACE_TO_DEPTH,
    DEPTH_TO_SPACE,
    SPACE_TO_BATCH_ND,
    BATCH_TO_SPACE_ND,
    SPACE_TO_BATCH,
    BATCH_TO_SPACE,
)
API: dict[str, Any] = {
    "space_to_depth": space_to_depth,
    "depth_to_space": depth_to_space,
    "nn.space_to_depth": space_to_depth,
    "nn.depth_to_space": depth_to_space,
    "space_to_batch": space_to_batch,
    "nn.space_to_batch": space_to_batch,
    "batch_to_space": batch_to_space,
    "nn.batch_to_space": batch_to_space,
    "required_space_to_batch_paddings": required_space_to_batch_paddings,
}
