"""Cases of convolution and pooling."""

from __future__ import annotations

import numpy as np
from cases import Case, arr

# image, filter (kh, kw, out), attributes
_CONV: tuple[tuple[tuple[int, int, int, int], tuple[int, int, int], dict[str, object]], ...] = (
    ((2, 5, 6, 3), (3, 2, 4), {"strides": [1, 1, 1, 1], "padding": "SAME"}),
    ((2, 5, 6, 3), (3, 2, 4), {"strides": [1, 2, 1, 1], "padding": "VALID"}),
    ((1, 7, 7, 1), (3, 3, 2), {"strides": [1, 2, 2, 1], "padding": "SAME"}),
    ((2, 4, 4, 2), (1, 1, 3), {"strides": [1, 1, 1, 1], "padding": "VALID"}),
    ((1, 4, 5, 2), (5, 5, 2), {"strides": [1, 1, 1, 1], "padding": "SAME"}),
    (
        (1, 7, 8, 2),
        (3, 2, 2),
        {"strides": [1, 1, 1, 1], "padding": "SAME", "dilations": [1, 2, 3, 1]},
    ),
)


def _out_size(limit: int, size: int, stride: int, dilation: int, padding: object) -> int:
    reach = (size - 1) * dilation + 1
    return -(-limit // stride) if padding == "SAME" else -(-(limit - reach + 1) // stride)


def _conv(
    image: tuple[int, int, int, int], taps: tuple[int, int, int], attrs: dict[str, object]
) -> list[Case]:
    n, h, w, ci = image
    kh, kw, co = taps
    _, sy, sx, _ = attrs["strides"]  # type: ignore[misc]
    _, dy, dx, _ = attrs.get("dilations", (1, 1, 1, 1))  # type: ignore[misc]
    grad = arr(
        n,
        _out_size(h, kh, sy, dy, attrs["padding"]),
        _out_size(w, kw, sx, dx, attrs["padding"]),
        co,
    )
    x, filters = arr(*image), arr(kh, kw, ci, co)
    sizes, filter_sizes = np.array(x.shape, np.int32), np.array(filters.shape, np.int32)
    # TensorFlow's gradient kernels for CPUs have no dilation
    same = {"oracle": "dilations" not in attrs, "rtol": 2e-5, "atol": 2e-5}
    return [
        Case("Conv2D", (x, filters), attrs, **same),  # type: ignore[arg-type]
        Case("Conv2DBackpropInput", (sizes, filters, grad), attrs, **same),  # type: ignore[arg-type]
        Case("Conv2DBackpropFilter", (x, filter_sizes, grad), attrs, **same),  # type: ignore[arg-type]
    ]


def _depthwise(
    image: tuple[int, int, int, int], taps: tuple[int, int, int], attrs: dict[str, object]
) -> list[Case]:
    n, h, w, c = image
    kh, kw, m = taps
    _, sy, sx, _ = attrs["strides"]  # type: ignore[misc]
    _, dy, dx, _ = attrs.get("dilations", (1, 1, 1, 1))  # type: ignore[misc]
    grad = arr(
        n,
        _out_size(h, kh, sy, dy, attrs["padding"]),
        _out_size(w, kw, sx, dx, attrs["padding"]),
        c * m,
    )
    x, filters = arr(*image), arr(kh, kw, c, m)
    sizes, filter_sizes = np.array(x.shape, np.int32), np.array(filters.shape, np.int32)
    # TensorFlow's kernels want equal strides and no dilation
    same = {"oracle": sy == sx and "dilations" not in attrs, "rtol": 2e-5, "atol": 2e-5}
    return [
        Case("DepthwiseConv2dNative", (x, filters), attrs, **same),  # type: ignore[arg-type]
        Case("DepthwiseConv2dNativeBackpropInput", (sizes, filters, grad), attrs, **same),  # type: ignore[arg-type]
        Case("DepthwiseConv2dNativeBackpropFilter", (x, filter_sizes, grad), attrs, **same),  # type: ignore[arg-type]
    ]


_POOL: tuple[tuple[tuple[int, int, int, int], dict[str, object]], ...] = (
    ((2, 4, 6, 3), {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}),
    ((1, 5, 5, 2), {"ksize": [1, 3, 2, 1], "strides": [1, 1, 2, 1], "padding": "SAME"}),
    ((1, 5, 6, 2), {"ksize": [1, 3, 2, 1], "strides": [1, 2, 1, 1], "padding": "VALID"}),
    ((1, 3, 3, 17), {"ksize": [1, 1, 1, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}),
)


def _pool(image: tuple[int, int, int, int], attrs: dict[str, object]) -> list[Case]:
    n, h, w, c = image
    _, ky, kx, _ = attrs["ksize"]  # type: ignore[misc]
    _, sy, sx, _ = attrs["strides"]  # type: ignore[misc]
    x = (
        np.random.default_rng(h * w).permutation(n * h * w * c).reshape(image).astype(np.float32)
        / 10
    )
    y = arr(
        n, _out_size(h, ky, sy, 1, attrs["padding"]), _out_size(w, kx, sx, 1, attrs["padding"]), c
    )
    return [
        Case("MaxPool", (x,), attrs),
        Case("AvgPool", (x,), attrs),
        Case("MaxPoolGrad", (x, np.zeros_like(y), y), attrs, oracle=False),
        Case("MaxPoolGradGrad", (x, np.zeros_like(y), arr(*image)), attrs, oracle=False),
        Case("AvgPoolGrad", (np.array(image, np.int32), y), attrs),
    ]


CASES: tuple[Case, ...] = (
    *(case for parts in _CONV for case in _conv(*parts)),
    *(
        case
        for (n, h, w, c), (kh, kw, m), attrs in _CONV
        for case in _depthwise((n, h, w, c), (kh, kw, m // 2), attrs)
    ),
    *(case for parts in _POOL for case in _pool(*parts)),
    Case(
        "Conv2D", (arr(0, 5, 6, 3), arr(3, 2, 3, 4)), {"strides": [1, 1, 1, 1], "padding": "SAME"}
    ),
)
