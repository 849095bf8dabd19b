"""The matrices of image resizing: how much pixel i of a line counts for pixel o of the resized line.

Resizing is separable and linear, so each method is a pair of matrices, and its gradient is theirs transposed.
Coordinates are float32 arithmetic as in TensorFlow. Invariant: a row holds the weights of one output pixel, which add
up to 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ops.matmul import MAT_MUL
from tfnb.ops.move import TRANSPOSE
from tfnb.ops.pack import PACK
from tfnb.ops.shaping import RESHAPE, SHAPE
from tfnb.types import Shape, float32, float64

__all__ = ["OPS", "applied", "line_scale", "nearest_index", "size_pair", "weights"]

_TABLE = 1024  # bicubic weights are looked up at multiples of 1/1024
METHODS = ("bilinear", "nearest", "bicubic", "area")


def line_scale(n_out: int, n_in: int, align: bool) -> Any:
    """Input pixels per output pixel."""
    if align and n_out > 1:
        return np.float32(n_in - 1) / np.float32(n_out - 1)
    return np.float32(n_in) / np.float32(max(n_out, 1))


def _positions(n_out: int, n_in: int, align: bool, half: bool) -> Any:
    at, scale = np.arange(n_out, dtype=np.float32), line_scale(n_out, n_in, align)
    return (at + np.float32(0.5)) * scale - np.float32(0.5) if half else at * scale


def nearest_index(n_out: int, n_in: int, align: bool, half: bool) -> np.ndarray:
    """The input pixel for each output pixel."""
    at, scale = np.arange(n_out, dtype=np.float32), line_scale(n_out, n_in, align)
    position = (at + np.float32(0.5)) * scale if half else at * scale
    index = np.floor(position + np.float32(0.5)) if align else np.floor(position)
    return np.asarray(np.clip(index.astype(np.int64), 0, max(n_in - 1, 0)))


def _bilinear(n_out: int, n_in: int, align: bool, half: bool) -> Any:
    position = _positions(n_out, n_in, align, half)
    low = np.floor(position)
    part = position - low
    return (low, 1 - part), (np.ceil(position), part)


def _cubic(x: np.ndarray, a: float) -> np.ndarray:
    """Keys' kernel at distances 0 <= x <= 2."""
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.asarray(np.where(x <= 1, near, far), np.float32)


def _bicubic(n_out: int, n_in: int, align: bool, half: bool) -> Any:
    position = _positions(n_out, n_in, align, half)
    low = np.floor(position)
    part = np.rint((position - low) * _TABLE).astype(np.float64) / _TABLE
    a = -0.5 if half else -0.75
    taps = [(low + k, _cubic(np.abs(k - part), a)) for k in (-1, 0, 1, 2)]
    if not half:
        return taps
    inside = [(i, np.where((i >= 0) & (i < n_in), w, 0)) for i, w in taps]
    total = sum(w for _, w in inside)
    return [(i, w / np.where(np.abs(total) > 1e-30, total, 1)) for i, w in inside]


def _area(n_out: int, n_in: int, align: bool, half: bool) -> Any:
    scale = line_scale(n_out, n_in, align)
    begin = np.arange(n_out, dtype=np.float32) * scale
    end = np.arange(1, n_out + 1, dtype=np.float32) * scale
    taps = []
    for k in range(int(np.ceil(scale)) + 1):
        i = np.floor(begin) + k
        covered = np.minimum(i + 1, end) - np.maximum(i, begin)
        taps.append((i, np.where(i < np.ceil(end), covered, 0) / scale))
    return taps


def weights(method: str, n_out: int, n_in: int, align: bool, half: bool) -> np.ndarray:
    """The matrix (n_out, n_in) of a method, float64."""
    matrix = np.zeros((n_out, n_in))
    if not n_in or not n_out:
        return matrix
    rows = np.arange(n_out)
    if method == "nearest":
        matrix[rows, nearest_index(n_out, n_in, align, half)] = 1
        return matrix
    make = {"bilinear": _bilinear, "bicubic": _bicubic, "area": _area}[method]
    for index, weight in make(n_out, n_in, align, half):
        np.add.at(matrix, (rows, np.clip(index, 0, n_in - 1).astype(np.int64)), weight)
    return matrix


@dataclass(frozen=True, slots=True)
class WeightAttrs:
    """`method`: bilinear, nearest, bicubic or area; `align_corners`, `half_pixel_centers`: as in the resizing op."""

    method: str = "bilinear"
    align_corners: bool = False
    half_pixel_centers: bool = False

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InvalidArgumentError(f"method must be one of {METHODS}, got {self.method!r}")


def _infer_weights(c: Infer) -> Shape:
    known = c.value(0)
    return Shape((None, None)) if known is None else Shape(tuple(int(n) for n in known))


def _host_weights(call: HostCall, sizes: np.ndarray) -> np.ndarray:
    a = call.attrs
    n_out, n_in = (int(n) for n in sizes)
    found = weights(a.method, n_out, n_in, a.align_corners, a.half_pixel_centers)
    return found.astype(call.types["dtype"].np)


RESIZE_WEIGHTS = OpDef(
    "ResizeWeights",
    "sizes: int32",
    "weights: dtype",
    """The matrix that resizes one line of an image.

    Part of resizing as devices compute it. sizes: (output pixels, input pixels). weights: that shape, float32 or
    float64. A constant wherever the sizes are known. Runs on the host.""",
    types={"dtype": (float32, float64)},
    attrs=WeightAttrs,
    infer=_infer_weights,
    host=_host_weights,
    grad=NOT_DIFFERENTIABLE,
    shape_inputs=(0,),
)


def size_pair(x: Any) -> Any:
    """(height, width) of images: a NumPy vector when it is known, else a tensor."""
    dims = x.shape.dims
    if dims is not None and None not in dims[1:3]:
        return np.asarray(dims[1:3], np.int32)
    return SHAPE(x, out_type=np.int32)[1:3]


def _along(matrix: Any, x: Any, back: bool) -> Any:
    """The matrix (or its transpose) times the lines of (h, w, n, c) images along the first axis."""
    shape = SHAPE(x, out_type=np.int32)
    flat = RESHAPE(x, PACK([shape[0], np.int32(-1)]))
    rows = MAT_MUL(matrix, flat, transpose_a=back)
    count = SHAPE(matrix, out_type=np.int32)[1 if back else 0]
    return RESHAPE(rows, PACK([count, shape[1], shape[2], shape[3]]))


def applied(
    x: Any, method: str, attrs: Any, sizes_out: Any, sizes_in: Any, back: bool = False
) -> Any:
    """Images (n, h, w, c) of float32 or float64 resized, or the transpose of that when `back`.

    sizes_out, sizes_in: (height, width) pairs that the matrices lead to and from, NumPy vectors or tensors.
    """
    how = {
        "method": method,
        "align_corners": attrs.align_corners,
        "half_pixel_centers": getattr(attrs, "half_pixel_centers", False),
        "dtype": x.dtype,
        "graph": x.graph,
    }

    def matrix(k: int) -> Any:
        return RESIZE_WEIGHTS(_both(sizes_out[k], sizes_in[k]), **how)

    def permuted(value: Any, perm: Sequence[int]) -> Any:
        return TRANSPOSE(value, np.asarray(perm, np.int32))

    rows = _along(matrix(0), permuted(x, (1, 2, 0, 3)), back)  # (h, w, n, c)
    lines = _along(matrix(1), permuted(rows, (1, 0, 2, 3)), back)  # (w, h, n, c)
    return permuted(lines, (2, 1, 0, 3))


def _both(a: Any, b: Any) -> Any:
    if isinstance(a, (int, np.integer)) and isinstance(b, (int, np.integer)):
        return np.asarray([a, b], np.int32)
    return PACK([a, b])


OPS: tuple[OpDef, ...] = (RESIZE_WEIGHTS,)
