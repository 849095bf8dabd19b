"""The matrices of image resizing: the weight of pixel i of a line in pixel o of the resized line.

Resizing is separable and linear, so each method is a pair of matrices, and its gradient is given by the transposed
matrices. Devices get tables of the nonzero weights (`kernels_cl/image/resize.cl`), except for the two methods whose
weights take a few operations. Coordinates are computed in float32 as in TensorFlow. Invariant: a row holds the weights
of one output pixel, whose sum is 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.kernelcall import F32, I32, Arg, In, KernelCall, KernelSite, Out, Temp, TensorInfo, integers
from tfnb.ir.opdef import GRADIENT_MISSING, NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.record import record
from tfnb.ir.shapes import with_rank
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.pack import PACK
from tfnb.ops.array.shape_ops import SHAPE
from tfnb.sizes import derived, largest, smallest
from tfnb.types import REALS, Shape, float32, float64

__all__ = [
    "OPS",
    "applied",
    "bilinear_calls",
    "line_scale",
    "nearest_calls",
    "nearest_index",
    "size_pair",
    "times",
    "weights",
]

_TABLE = 1024  # bicubic weights are tabulated at multiples of 1/1024
_FILE = "image/resize.cl"
_LINE_SLACK = 64  # elements after a line that vector loads may read
_MOST_TAPS = {"bilinear": 2, "nearest": 1, "bicubic": 4}  # input pixels of an output pixel, whatever the sizes are
METHODS = (*_MOST_TAPS, "area")


def line_scale(n_out: int, n_in: int, align: bool) -> Any:
    """Returns the number of input pixels per output pixel."""
    if align and n_out > 1:
        return np.float32(n_in - 1) / np.float32(n_out - 1)
    return np.float32(n_in) / np.float32(max(n_out, 1))


def _positions(n_out: int, n_in: int, align: bool, half: bool) -> Any:
    at, scale = np.arange(n_out, dtype=np.float32), line_scale(n_out, n_in, align)
    return (at + np.float32(0.5)) * scale - np.float32(0.5) if half else at * scale


def nearest_index(n_out: int, n_in: int, align: bool, half: bool) -> np.ndarray:
    """Returns the index of the nearest input pixel for each output pixel."""
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
    """Keys' cubic kernel at distances 0 <= x <= 2."""
    inner = ((a + 2) * x - (a + 3)) * x * x + 1
    outer = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.asarray(np.where(x <= 1, inner, outer), np.float32)


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
    if not scale:  # aligned corners of a single pixel: only this pixel has a weight
        return [(begin, np.ones_like(begin))]
    end = np.arange(1, n_out + 1, dtype=np.float32) * scale
    taps = []
    for k in range(int(np.ceil(scale)) + 1):
        i = np.floor(begin) + k
        overlap = np.minimum(i + 1, end) - np.maximum(i, begin)
        taps.append((i, np.where(i < np.ceil(end), overlap, 0) / scale))
    return taps


def _lines(method: str, n_out: int, n_in: int, align: bool, half: bool) -> Any:
    """Pairs of (input pixel, weight) for all output pixels; pixels outside are replaced by the nearest one inside."""
    if method == "nearest":
        return [(nearest_index(n_out, n_in, align, half), np.ones(n_out))]
    make = {"bilinear": _bilinear, "bicubic": _bicubic, "area": _area}[method]
    return make(n_out, n_in, align, half)


def weights(method: str, n_out: int, n_in: int, align: bool, half: bool) -> np.ndarray:
    """Returns the matrix (n_out, n_in) of a method, in float64."""
    matrix = np.zeros((n_out, n_in))
    if not n_in or not n_out:
        return matrix
    for index, weight in _lines(method, n_out, n_in, align, half):
        at = np.clip(index, 0, n_in - 1).astype(np.int64)
        np.add.at(matrix, (np.arange(n_out), at), weight)
    return matrix


def taps(method: str, n_out: int, n_in: int, align: bool, half: bool, back: bool) -> np.ndarray:
    """Returns the matrix of a method as a table of (the first column, the number of columns, their weights) per row.

    With `back` it is the transposed matrix. Shape (rows, 2 + n), float64; n is the largest count, or the largest that
    the method can have at any sizes, so that images of all sizes have tables of one width. Zeros at the ends of a row
    are not counted, so the pixels that they would multiply are not read.
    """
    n_targets, n_sources = (n_in, n_out) if back else (n_out, n_in)
    most = 0 if back else _MOST_TAPS.get(method, 0)
    if not n_in or not n_out:
        return np.zeros((n_targets, 2 + most))
    lines = [(i, np.asarray(w, np.float64)) for i, w in _lines(method, n_out, n_in, align, half)]
    target = np.tile(np.arange(n_out), len(lines))
    index = np.concatenate([np.clip(i, 0, n_in - 1).astype(np.int64) for i, _ in lines])
    weight = np.concatenate([w for _, w in lines])
    target, index, weight = (v[weight != 0] for v in (target, index, weight))
    if back:
        target, index = index, target
    first, last = np.full(n_targets, n_sources), np.full(n_targets, -1)
    np.minimum.at(first, target, index)
    np.maximum.at(last, target, index)
    count = np.maximum(last - first + 1, 0)
    table = np.zeros((n_targets, 2 + max(most, int(count.max()))))
    table[:, 0] = np.where(count > 0, first, 0)
    table[:, 1] = count
    np.add.at(table, (target, 2 + index - first[target]), weight)
    return table


@record
class TapAttrs:
    """`method`: bilinear, nearest, bicubic or area; `align_corners`, `half_pixel_centers`: those of the resizing op;
    `back`: the transposed matrix, for gradients."""

    method: str = "bilinear"
    align_corners: bool = False
    half_pixel_centers: bool = False
    back: bool = False

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InvalidArgumentError(f"method must be one of {METHODS}, got {self.method!r}")


def _table(attrs: TapAttrs, sizes: np.ndarray) -> np.ndarray:
    a, (n_out, n_in) = attrs, (int(n) for n in sizes)
    return taps(a.method, n_out, n_in, a.align_corners, a.half_pixel_centers, a.back)


def _infer_taps(c: Infer) -> Shape:
    sizes, a = c.value(0), c.attrs
    if sizes is not None:
        return Shape(_table(a, sizes).shape)
    return Shape((None, None if a.back or a.method not in _MOST_TAPS else 2 + _MOST_TAPS[a.method]))


def _host_taps(call: HostCall, sizes: np.ndarray) -> np.ndarray:
    return _table(call.attrs, sizes).astype(call.types["dtype"].np)


RESIZE_TAPS: OpDef[Tensor] = OpDef(
    "ResizeTaps",
    "sizes: int32",
    "taps: dtype",
    """The table of weights that resizes one line of an image.

    Devices resize images by means of this op. sizes: (output pixels, input pixels). taps: float32 or float64; for each
    output pixel a row (first input pixel, number of input pixels, their weights, zeros). The table is a constant
    wherever the sizes are known. Runs on the host.""",
    types={"dtype": (float32, float64)},
    attrs=TapAttrs,
    infer=_infer_taps,
    host=_host_taps,
    grad=NOT_DIFFERENTIABLE,
    shape_inputs=(0,),
)


def _infer_lines(c: Infer) -> Shape:
    n, _, _, channels = with_rank(c, 0, 4).sizes or (None,) * 4
    if c.dtypes[0] != c.dtypes[1]:
        raise InvalidArgumentError(f"{c.op_name}: {c.dtypes[0]} images, {c.dtypes[1]} weights")
    rows, columns = ((with_rank(c, i, 2).sizes or (None, None))[0] for i in (1, 2))
    return Shape((n, rows, columns, channels))


def _matrix(table: np.ndarray, n_in: int) -> np.ndarray:
    matrix = np.zeros((len(table), n_in))
    for line, (first, count, *weight) in zip(matrix, table.astype(np.float64), strict=True):
        line[int(first) : int(first + count)] = weight[: int(count)]
    return matrix


def times(x: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Returns the matrices rows and columns (out, in) applied to images (n, h, w, c), in float64."""
    resized_rows = np.tensordot(rows, x.astype(np.float64), (1, 1))  # shape (h', n, w, c)
    return np.asarray(np.tensordot(columns, resized_rows, (1, 2)).transpose(2, 1, 0, 3))  # from shape (w', h', n, c)


def _host_lines(call: HostCall, x: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    return times(x, _matrix(rows, x.shape[1]), _matrix(columns, x.shape[2])).astype(x.dtype)


def _line_calls(site: KernelSite) -> tuple[KernelCall, ...]:
    x, rows, columns = site.inputs
    out = site.outputs[0]
    if out.size == 0:
        return ()
    n, h, w, c = x.shape
    sizes = integers(n, h, w, *out.shape[1:], rows.shape[1], columns.shape[1])
    args: tuple[Arg, ...] = (In(0), In(1), In(2), Out(0), *sizes)
    defines = () if x.dtype == float32 else (("T", x.dtype.cl),)
    if site.kind == "gpu":
        return (KernelCall(_FILE, "resize_naive", args, (_gpu_groups(out), 1, 1), (64, 1, 1), defines=defines),)
    groups = _groups(site)
    line = w * c + _LINE_SLACK
    lines = Temp("lines", groups * line * x.dtype.size)
    return (KernelCall(_FILE, "resize", (*args, lines, I32(line)), (groups, 1, 1), defines=defines),)


def _gpu_groups(out: TensorInfo) -> int:
    return min(-(-out.size // 64), 65535)


def _groups(site: KernelSite) -> int:
    n, height, _, _ = site.outputs[0].shape
    return largest(1, smallest(4 * site.units, n * height, site.outputs[0].size // 4096))


def _simple_args(site: KernelSite) -> tuple[Arg, ...]:
    a = site.attrs
    n, h, w, c = site.inputs[0].shape
    _, rows, columns, _ = site.outputs[0].shape
    scales = [F32(derived(_scale, out, size, a.align_corners)) for out, size in ((rows, h), (columns, w))]
    flags = integers(int(a.align_corners), int(a.half_pixel_centers))
    return (In(0), Out(0), *integers(n, h, w, rows, columns, c), *scales, *flags)


def _scale(n_out: int, n_in: int, align: bool) -> float:
    return float(line_scale(n_out, n_in, align))


def bilinear_calls(site: KernelSite) -> tuple[KernelCall, ...]:
    """The launch of a bilinear resizing of float32 images that have pixels."""
    out = site.outputs[0]
    if 0 in out.shape:
        return ()
    args = _simple_args(site)
    if site.kind == "gpu":
        return (KernelCall(_FILE, "bilinear_naive", args, (_gpu_groups(out), 1, 1), (64, 1, 1)),)
    groups = _groups(site)
    _, _, w, c = site.inputs[0].shape
    part = 4 * (out.shape[2] + 1) + -(-(w * c + _LINE_SLACK) // 4) * 4
    own = Temp("own", 4 * groups * part)
    return (KernelCall(_FILE, "bilinear", (*args, own, I32(part)), (groups, 1, 1)),)


def nearest_calls(site: KernelSite) -> tuple[KernelCall, ...]:
    """The launch that resizes images of any type, which have pixels, by copies of the nearest ones."""
    out = site.outputs[0]
    if 0 in out.shape:
        return ()
    unsigned = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong"}[out.dtype.size]
    defines, args = (("T", unsigned), ("TABLE", "float")), _simple_args(site)
    if site.kind == "gpu":
        return (KernelCall(_FILE, "pick_naive", args, (_gpu_groups(out), 1, 1), (64, 1, 1), defines=defines),)
    groups = _groups(site)
    part = 4 * (out.shape[2] + 1)
    own = Temp("own", 4 * groups * part)
    return (KernelCall(_FILE, "pick", (*args, own, I32(part)), (groups, 1, 1), defines=defines),)


RESIZE_LINES: OpDef[Tensor] = OpDef(
    "ResizeLines",
    "images: T, rows: dtype, columns: dtype",
    "resized_images: T",
    """Resizes images: each output row and column is a weighted sum of input rows and columns.

    Devices resize images by means of this op. images: (n, height, width, channels), of the tables' dtype.
    rows, columns: tables from ResizeTaps. resized_images: (n, rows of the table rows, rows of the table columns,
    channels).""",
    types={"T": REALS, "dtype": (float32, float64)},
    infer=_infer_lines,
    host=_host_lines,
    opencl=_line_calls,
    grad=GRADIENT_MISSING,
)


def size_pair(x: Tensor) -> Tensor | np.ndarray:
    """Returns (height, width) of images: a NumPy vector when it is known statically, else a tensor."""
    dims = x.shape.sizes
    if dims is not None and None not in dims[1:3]:
        return np.asarray(dims[1:3], np.int32)
    return SHAPE(x, out_type=np.int32)[1:3]


def applied(
    x: Tensor,
    method: str,
    attrs: TapAttrs,
    sizes_out: Tensor | np.ndarray,
    sizes_in: Tensor | np.ndarray,
    back: bool = False,
) -> Tensor:
    """Resizes images (n, h, w, c) of float32 or float64, or with `back` applies the transpose.

    sizes_out, sizes_in: the (height, width) of the result and of x, as NumPy vectors or tensors.
    """

    def table(k: int) -> Tensor:
        return RESIZE_TAPS(
            _both(sizes_out[k], sizes_in[k]),
            method=method,
            align_corners=attrs.align_corners,
            half_pixel_centers=getattr(attrs, "half_pixel_centers", False),
            back=back,
            dtype=x.dtype,
            graph=x.graph,
        )

    return RESIZE_LINES(x, table(0), table(1))


def _both(a: object, b: object) -> Any:
    if isinstance(a, (int, np.integer)) and isinstance(b, (int, np.integer)):
        return np.asarray([a, b], np.int32)
    return PACK([a, b])


OPS: tuple[OpDef, ...] = (RESIZE_TAPS, RESIZE_LINES)
