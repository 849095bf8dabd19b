"""NumPy reference implementations of convolution and pooling, which define the results of the OpenCL kernels.

Layouts are TensorFlow's: images NHWC, filters (kh, kw, cin, cout). Each function takes its windows as one strided view
of the padded input and contracts it by einsum, or adds to that view tap by tap. Invariant: pixels outside an image are
zeros for a convolution, and are ignored by a pooling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.sizes import integer

__all__ = [
    "Axis",
    "avg_pool_grad_host",
    "avg_pool_host",
    "conv2d_backprop_filter_host",
    "conv2d_backprop_input_host",
    "conv2d_host",
    "lowest",
    "max_pool_grad_host",
    "max_pool_host",
    "pool_axes",
    "window_axes",
]

Array = np.ndarray[Any, Any]
# a padding rule for both axes, or for each axis a rule or the pixels before and after
Padding = str | tuple[Any, Any]


@dataclass(slots=True, unsafe_hash=True)  # nobody changes one, but a frozen one takes three times as long to make
class Axis:
    """The windows along one spatial axis: `count` windows of `size` taps, the first begins `before` pixels outside."""

    limit: int
    size: int
    stride: int
    dilation: int
    count: int
    before: int

    @staticmethod
    def of(limit: int, size: int, stride: int, dilation: int, padding: str | tuple[int, int]) -> Axis:
        """Returns the windows over an axis of length `limit` by TensorFlow's rule for `padding`.

        padding: "SAME", "VALID" or (before, after).
        """
        if size < 1 or stride < 1 or dilation < 1:
            raise InvalidArgumentError(
                f"window size {size}, stride {stride}, dilation {dilation}: each must be at least 1"
            )
        reach = (size - 1) * dilation + 1
        if padding == "SAME":
            count = -(-limit // stride)
            return Axis(
                limit,
                size,
                stride,
                dilation,
                count,
                max((count - 1) * stride + reach - limit, 0) // 2,
            )
        if padding == "VALID":
            padding = (0, 0)
        if isinstance(padding, tuple):
            room = limit + sum(padding) - reach + 1
            if room - 1 <= -2 * stride:
                raise InvalidArgumentError(
                    f"Negative dimension size caused by subtracting {reach} from {limit + sum(padding)}: such a "
                    f"window does not fit along that axis, padding included, with stride {stride}"
                )
            return Axis(limit, size, stride, dilation, max(-(-room // stride), 0), padding[0])
        raise InvalidArgumentError(f'padding is {padding!r}, must be "SAME" or "VALID"')

    @property
    def padded(self) -> int:
        """Returns the length of the padded axis, which holds every window and the whole input."""
        reach = (self.count - 1) * self.stride + (self.size - 1) * self.dilation + 1
        return max(reach, self.limit + self.before)

    def inside(self) -> Array:
        """Returns the number of taps of each window that lie inside the input, shape (count,)."""
        taps = np.arange(self.count)[:, None] * self.stride + np.arange(self.size) * self.dilation - self.before
        return ((taps >= 0) & (taps < self.limit)).sum(axis=1)


def _spatial(values: Sequence[int], what: str) -> tuple[int, int]:
    if len(values) != 4 or values[0] != 1 or values[3] != 1:
        raise InvalidArgumentError(f"{what} is {list(values)}, must be [1, height, width, 1] (NHWC)")
    return values[1], values[2]


def window_axes(
    height: int,
    width: int,
    size: tuple[int, int],
    strides: Sequence[int],
    padding: Padding,
    dilations: Sequence[int] = (1, 1, 1, 1),
) -> tuple[Axis, Axis]:
    """Returns the vertical and horizontal windows over an image of `height` x `width`."""
    sy, sx = _spatial(strides, "strides")
    dy, dx = _spatial(dilations, "dilations")
    py, px = (padding, padding) if isinstance(padding, str) else padding
    return Axis.of(height, size[0], sy, dy, py), Axis.of(width, size[1], sx, dx, px)


def _pad(x: Array, ay: Axis, ax: Axis, fill: float) -> Array:
    shape = (x.shape[0], ay.padded, ax.padded, x.shape[3])
    padded = np.full(shape, fill, x.dtype)
    padded[:, ay.before : ay.before + ay.limit, ax.before : ax.before + ax.limit] = x
    return padded


def _windows(padded: Array, ay: Axis, ax: Axis) -> Array:
    """A view (n, rows, columns, channels, kh, kw) of the windows of the padded image."""
    n, _, _, c = padded.shape
    sn, sy, sx, sc = padded.strides
    return np.lib.stride_tricks.as_strided(
        padded,
        (n, ay.count, ax.count, c, ay.size, ax.size),
        (sn, sy * ay.stride, sx * ax.stride, sc, sy * ay.dilation, sx * ax.dilation),
        writeable=False,
    )


def _tap(padded: Array, ay: Axis, ax: Axis, ky: int, kx: int) -> Array:
    """A writeable view (n, rows, columns, channels) of the pixels that tap (ky, kx) of all windows covers."""
    y, x = ky * ay.dilation, kx * ax.dilation
    return padded[
        :,
        y : y + (ay.count - 1) * ay.stride + 1 : ay.stride,
        x : x + (ax.count - 1) * ax.stride + 1 : ax.stride,
    ]


def _crop(padded: Array, ay: Axis, ax: Axis) -> Array:
    return padded[:, ay.before : ay.before + ay.limit, ax.before : ax.before + ax.limit].copy()


def conv2d_host(
    x: Array,
    filters: Array,
    strides: Sequence[int],
    padding: Padding,
    dilations: Sequence[int] = (1, 1, 1, 1),
) -> Array:
    """Conv2D: x (n, h, w, cin), filters (kh, kw, cin, cout) -> (n, oh, ow, cout)."""
    ay, ax = window_axes(x.shape[1], x.shape[2], filters.shape[:2], strides, padding, dilations)
    if 0 in (x.size, filters.size, ay.count, ax.count):
        return np.zeros((x.shape[0], ay.count, ax.count, filters.shape[3]), x.dtype)
    windows = _windows(_pad(x, ay, ax, 0), ay, ax)
    result = np.einsum("nyxckl,klco->nyxo", windows, filters, optimize=True)
    return np.ascontiguousarray(result, x.dtype)


def conv2d_backprop_input_host(
    input_sizes: Sequence[int],
    filters: Array,
    grad: Array,
    strides: Sequence[int],
    padding: Padding,
    dilations: Sequence[int] = (1, 1, 1, 1),
) -> Array:
    """Conv2DBackpropInput: grad (n, oh, ow, cout) -> shape `input_sizes`."""
    n, h, w, c = (int(d) for d in input_sizes)
    ay, ax = window_axes(h, w, filters.shape[:2], strides, padding, dilations)
    padded = np.zeros((n, ay.padded, ax.padded, c), grad.dtype)
    if grad.size:
        for ky in range(ay.size):
            for kx in range(ax.size):
                _tap(padded, ay, ax, ky, kx)[...] += grad @ filters[ky, kx].T
    return _crop(padded, ay, ax)


def conv2d_backprop_filter_host(
    x: Array,
    filter_sizes: Sequence[int],
    grad: Array,
    strides: Sequence[int],
    padding: Padding,
    dilations: Sequence[int] = (1, 1, 1, 1),
) -> Array:
    """Conv2DBackpropFilter: x (n, h, w, cin), grad (n, oh, ow, cout) -> shape `filter_sizes`."""
    kh, kw, ci, co = (int(d) for d in filter_sizes)
    if not x.size or not grad.size:
        return np.zeros((kh, kw, ci, co), x.dtype)
    ay, ax = window_axes(x.shape[1], x.shape[2], (kh, kw), strides, padding, dilations)
    windows = _windows(_pad(x, ay, ax, 0), ay, ax)
    result = np.einsum("nyxckl,nyxo->klco", windows, grad, optimize=True)
    return np.ascontiguousarray(result, x.dtype)


def pool_axes(
    shape: Sequence[int], ksize: Sequence[int], strides: Sequence[int], padding: Padding
) -> tuple[Axis, Axis]:
    """Returns the vertical and horizontal windows of a pooling of images (n, h, w, c)."""
    return window_axes(integer(shape[1]), integer(shape[2]), _spatial(ksize, "ksize"), strides, padding)


def lowest(dtype: np.dtype[Any]) -> float:
    """Returns the number that every pixel of the dtype exceeds or equals."""
    return np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


def max_pool_host(x: Array, ksize: Sequence[int], strides: Sequence[int], padding: Padding) -> Array:
    """MaxPool: x (n, h, w, c) -> (n, oh, ow, c)."""
    ay, ax = pool_axes(x.shape, ksize, strides, padding)
    if 0 in (x.size, ay.count, ax.count):
        return np.zeros((x.shape[0], ay.count, ax.count, x.shape[3]), x.dtype)
    result: Array = _windows(_pad(x, ay, ax, lowest(x.dtype)), ay, ax).max(axis=(4, 5))
    return result


def max_pool_grad_host(
    x: Array, out: Array, grad: Array, ksize: Sequence[int], strides: Sequence[int], padding: Padding
) -> Array:
    """MaxPoolGrad: adds each of grad (n, oh, ow, c) to the first maximum of its window; the result has x's shape."""
    ay, ax = pool_axes(x.shape, ksize, strides, padding)
    padded = _pad(x, ay, ax, lowest(x.dtype))
    result = np.zeros_like(padded)
    if not grad.size:
        return _crop(result, ay, ax)
    windows = _windows(padded, ay, ax)
    first = windows.reshape(*windows.shape[:4], ay.size * ax.size).argmax(axis=4)
    for ky in range(ay.size):
        for kx in range(ax.size):
            _tap(result, ay, ax, ky, kx)[...] += np.where(first == ky * ax.size + kx, grad, 0)
    return _crop(result, ay, ax)


def avg_pool_host(x: Array, ksize: Sequence[int], strides: Sequence[int], padding: Padding) -> Array:
    """AvgPool: x (n, h, w, c) -> (n, oh, ow, c), the means over the pixels inside the image."""
    ay, ax = pool_axes(x.shape, ksize, strides, padding)
    if 0 in (x.size, ay.count, ax.count):
        return np.zeros((x.shape[0], ay.count, ax.count, x.shape[3]), x.dtype)
    counts = (ay.inside()[:, None] * ax.inside())[:, :, None].astype(x.dtype)
    result: Array = _windows(_pad(x, ay, ax, 0), ay, ax).sum(axis=(4, 5)) / counts
    return result


def avg_pool_grad_host(
    input_shape: Sequence[int],
    grad: Array,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: Padding,
) -> Array:
    """AvgPoolGrad: distributes grad (n, oh, ow, c) over the pixels of each window -> shape `input_shape`."""
    n, h, w, c = (int(d) for d in input_shape)
    ay, ax = pool_axes((n, h, w, c), ksize, strides, padding)
    result = np.zeros((n, ay.padded, ax.padded, c), grad.dtype)
    if grad.size:
        share = grad / (ay.inside()[:, None] * ax.inside())[:, :, None].astype(grad.dtype)
        for ky in range(ay.size):
            for kx in range(ax.size):
                _tap(result, ay, ax, ky, kx)[...] += share
    return _crop(result, ay, ax)
