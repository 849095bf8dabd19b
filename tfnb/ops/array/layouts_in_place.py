"""Seldom used ops that move, copy or update elements: layouts of images, gradients of margins and of repetition.

Invariant: an op that changes a tensor "in place" changes a copy, because values are never overwritten here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.opdef import GRADIENT_MISSING, NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.record import record
from tfnb.ir.shapes import unchanged
from tfnb.ir.tensor import Tensor
from tfnb.sizes import integer
from tfnb.types import ALL, ALL_AND_QUANTIZED, INDEX, NUMBERS, Shape, unknown_shape

__all__ = ["OPS"]


@record
class LayoutAttrs:
    """`src_format`, `dst_format`: two orders of the letters of an image's dimensions."""

    src_format: str = "NHWC"
    dst_format: str = "NCHW"

    def __post_init__(self) -> None:
        for name in ("src_format", "dst_format"):
            value = getattr(self, name)
            object.__setattr__(self, name, value.decode() if isinstance(value, bytes) else str(value))
        if sorted(self.src_format) != sorted(self.dst_format) or len(set(self.src_format)) != len(self.src_format):
            raise InvalidArgumentError(
                f"src_format and dst_format must be two orders of the same letters, got {self.src_format!r} and "
                f"{self.dst_format!r}"
            )


def _map_dims(call: HostCall, x: np.ndarray) -> np.ndarray:
    a, rank = call.attrs, len(call.attrs.src_format)
    if x.size and (x.min() < -rank or x.max() >= rank):
        raise InvalidArgumentError(
            f"DataFormatDimMap: dimensions must be in [{-rank}, {rank}), got {x.tolist()}", call.op
        )
    places = np.array([a.dst_format.index(letter) for letter in a.src_format], x.dtype)
    return np.asarray(places[np.mod(x, rank)], x.dtype)


def _permute(call: HostCall, x: np.ndarray) -> np.ndarray:
    a, rank = call.attrs, len(call.attrs.src_format)
    spatial = [letter for letter in a.src_format if letter not in "NC"]
    source, target = list(a.src_format), list(a.dst_format)
    if x.ndim and x.shape[0] == len(spatial) and len(spatial) < rank:
        source, target = spatial, [letter for letter in target if letter in spatial]
    if x.ndim not in (1, 2) or x.shape[0] != len(source) or (x.ndim == 2 and x.shape[1] != 2):
        raise InvalidArgumentError(
            f"DataFormatVecPermute: needed {rank} or {len(spatial)} numbers, or as many pairs, got shape {x.shape}",
            call.op,
        )
    return x[[source.index(letter) for letter in target]]


DATA_FORMAT_DIM_MAP: OpDef[Tensor] = OpDef(
    "DataFormatDimMap",
    "x: T",
    "y: T",
    """The places that dimensions of one image layout have in another one.

    x: dimensions, each in [-n, n) for n letters; any shape, which y has too. Errors: there is no such dimension.""",
    types={"T": INDEX},
    attrs=LayoutAttrs,
    infer=unchanged,
    host=_map_dims,
    grad=NOT_DIFFERENTIABLE,
)
DATA_FORMAT_VEC_PERMUTE: OpDef[Tensor] = OpDef(
    "DataFormatVecPermute",
    "x: T",
    "y: T",
    """Numbers for each dimension of an image, in the order of another layout.

    x: a vector with a number for each letter of the layout or for each one but N and C, or a matrix with a row of two
    for each. y: its shape. Errors: another number of rows.""",
    types={"T": INDEX},
    attrs=LayoutAttrs,
    infer=unchanged,
    host=_permute,
    grad=NOT_DIFFERENTIABLE,
)
DEEP_COPY: OpDef[Tensor] = OpDef(
    "DeepCopy",
    "x: T",
    "y: T",
    "A copy of `x`, with memory of its own.",
    types={"T": ALL_AND_QUANTIZED},
    infer=unchanged,
    host=lambda call, x: x.copy(),
    grad=GRADIENT_MISSING,
    stateful=True,
)


@record
class EmptyAttrs:
    """`init`: the elements must be zero; here they are in any case."""

    init: bool = False


EMPTY: OpDef[Tensor] = OpDef(
    "Empty",
    "shape: int32",
    "output: dtype",
    "A tensor of a shape; its elements are zeros, or empty strings.\n\n"
    "shape: a vector of sizes. Errors: a negative one.",
    types={"dtype": ALL},
    attrs=EmptyAttrs,
    infer=lambda c: c.as_shape(0),
    host=lambda call, shape: np.full(
        [int(n) for n in shape], b"" if call.types["dtype"].is_string else 0, call.types["dtype"].np
    ),
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
    shape_inputs=(0,),
)


def _in_place(name: str, doc: str, update: Callable[[np.ndarray, Any, np.ndarray], None]) -> OpDef[Tensor]:
    def host(call: HostCall, x: np.ndarray, i: np.ndarray, v: np.ndarray) -> np.ndarray:
        if i.ndim > 1 or not x.ndim or v.shape != (i.size, *x.shape[1:]):
            raise InvalidArgumentError(f"{name}: rows {i.shape} of x {x.shape} and v {v.shape} do not fit", call.op)
        if i.size and not len(x):
            raise InvalidArgumentError(f"{name}: x {x.shape} has no row {i.reshape(-1)[0]}", call.op)
        rows, out = np.mod(i.reshape(-1), max(len(x), 1)), x.copy()
        update(out, rows, v)
        return out

    return OpDef(
        name,
        "x: T, i: int32, v: T",
        "y: T",
        f"""A copy of `x` {doc}.

        x: shape (n, ...). i: a vector of k row numbers, which count modulo n. v: shape (k, ...). y: x's shape. Errors:
        the shapes do not fit.""",
        types={"T": ALL_AND_QUANTIZED if update is _replace else NUMBERS},
        infer=unchanged,
        host=host,
        grad=GRADIENT_MISSING,
    )


def _replace(x: np.ndarray, rows: np.ndarray, v: np.ndarray) -> None:
    x[rows] = v


INPLACE_UPDATE = _in_place("InplaceUpdate", "whose rows `i` are the rows of `v`", _replace)
INPLACE_ADD = _in_place("InplaceAdd", "with the rows of `v` added to its rows `i`", np.add.at)
INPLACE_SUB = _in_place("InplaceSub", "with the rows of `v` subtracted from its rows `i`", np.subtract.at)


def _untiled(c: Infer) -> Shape:
    x, value = c.shapes[0], c.value(1)
    if x.sizes is None or value is None:
        return unknown_shape if x.sizes is None else Shape((None,) * len(x.sizes))
    if value.shape != (len(x.sizes),) or (value < 1).any():
        raise ShapeError(f"TileGrad: needs a number >= 1 for each axis of shape {x}, got {value.tolist()}")
    return Shape(tuple(None if d is None else d // integer(m) for d, m in zip(x.sizes, value, strict=True)))


def _sum_tiles(call: HostCall, x: np.ndarray, multiples: np.ndarray) -> np.ndarray:
    counts = multiples.tolist()
    if len(counts) != x.ndim or any(n < 1 or d % n for n, d in zip(counts, x.shape, strict=True)):
        raise InvalidArgumentError(f"TileGrad: {counts} do not divide shape {x.shape}", call.op)
    parts = [size for n, d in zip(counts, x.shape, strict=True) for size in (n, d // n)]
    return np.asarray(x.reshape(parts).sum(tuple(range(0, 2 * x.ndim, 2)), dtype=x.dtype))


TILE_GRAD: OpDef[Tensor] = OpDef(
    "TileGrad",
    "input: T, multiples: int32",
    "output: T",
    """The gradient of Tile: the sum of all repetitions.

    input: a number type, rank n. multiples: n numbers >= 1 that divide its sizes. output: the sizes divided by them.
    Errors: they do not divide the sizes.""",
    types={"T": NUMBERS},
    infer=_untiled,
    host=_sum_tiles,
    grad=GRADIENT_MISSING,
    shape_inputs=(1,),
)
DEBUG_GRADIENT_IDENTITY: OpDef[Tensor] = OpDef(
    "DebugGradientIdentity",
    "input: T",
    "output: T",
    "The value of `input`: the place in a gradient at which a debugger looks.",
    types={"T": ALL_AND_QUANTIZED},
    infer=unchanged,
    host=lambda call, x: x,
    alias=0,
    grad=lambda op, dy: dy,
    stateful=True,
)

OPS: tuple[OpDef, ...] = (
    DATA_FORMAT_DIM_MAP,
    DATA_FORMAT_VEC_PERMUTE,
    DEEP_COPY,
    EMPTY,
    INPLACE_UPDATE,
    INPLACE_ADD,
    INPLACE_SUB,
    TILE_GRAD,
    DEBUG_GRADIENT_IDENTITY,
)
