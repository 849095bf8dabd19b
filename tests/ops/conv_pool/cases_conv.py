"""Cases of convolution and pooling."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from cases import Case, arr

# image, filter (kh, kw, out), attributes
_CONV: tuple[tuple[tuple[int, int, int, int], tuple[int, int, int], dict[str, object]], ...] = (
    ((2, 5, 6, 3), (3, 2, 4), {"strides": [1, 1, 1, 1], "padding": "SAME"}),
    ((2, 5, 6, 3), (3, 2, 4), {"strides": [1, 2, 1, 1], "padding": "VALID"}),
    ((1, 7, 7, 1), (3, 3, 2), {"strides": [1, 2, 2, 1], "padding": "SAME"}),
    ((2, 4, 4, 2), (1, 1, 3), {"strides": [1, 1, 1, 1], "padding": "VALID"}),
    ((1, 4, 5, 2), (5, 5, 2), {"strides": [1, 1, 1, 1], "padding": "SAME"}),
    # filters as wide as the image
    ((2, 9, 6, 3), (2, 6, 4), {"strides": [1, 1, 1, 1], "padding": "VALID"}),
    ((2, 9, 6, 1), (3, 6, 5), {"strides": [1, 2, 3, 1], "padding": "VALID"}),
    ((3, 5, 4, 2), (5, 4, 3), {"strides": [1, 1, 1, 1], "padding": "VALID"}),
    ((2, 8, 1, 3), (3, 1, 4), {"strides": [1, 1, 1, 1], "padding": "SAME"}),
    ((2, 8, 4, 2), (3, 4, 2), {"strides": [1, 2, 4, 1], "padding": "SAME"}),
    ((1, 9, 4, 2), (2, 4, 2), {"strides": [1, 1, 1, 1], "padding": "VALID", "dilations": [1, 3, 1, 1]}),
    (
        (1, 7, 8, 2),
        (3, 2, 2),
        {"strides": [1, 1, 1, 1], "padding": "SAME", "dilations": [1, 2, 3, 1]},
    ),
)


def _out_size(limit: int, size: int, stride: int, dilation: int, padding: object) -> int:
    reach = (size - 1) * dilation + 1
    return -(-limit // stride) if padding == "SAME" else -(-(limit - reach + 1) // stride)


def _conv(image: tuple[int, int, int, int], taps: tuple[int, int, int], attrs: dict[str, object]) -> list[Case]:
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


def _depthwise(image: tuple[int, int, int, int], taps: tuple[int, int, int], attrs: dict[str, object]) -> list[Case]:
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
    x = np.random.default_rng(h * w).permutation(n * h * w * c).reshape(image).astype(np.float32) / 10
    y = arr(n, _out_size(h, ky, sy, 1, attrs["padding"]), _out_size(w, kx, sx, 1, attrs["padding"]), c)
    return [
        Case("MaxPool", (x,), attrs),
        Case("AvgPool", (x,), attrs),
        Case("MaxPoolGrad", (x, np.zeros_like(y), y), attrs, oracle=False),
        Case("MaxPoolGradGrad", (x, np.zeros_like(y), arr(*image)), attrs, oracle=False),
        Case("AvgPoolGrad", (np.array(image, np.int32), y), attrs),
    ]


def _first(case: Case, images: tuple[int, ...], sizes: tuple[int, ...] = ()) -> Case:
    """The case with its images' channels first."""
    rank = len(case.attrs["strides"])
    order = [0, rank - 1, *range(1, rank - 1)]
    inputs = [
        np.moveaxis(x, -1, 1) if i in images else x[order] if i in sizes else x for i, x in enumerate(case.inputs)
    ]
    moved = {k: [v[i] for i in order] for k, v in case.attrs.items() if k in ("strides", "ksize", "dilations")}
    attrs = case.attrs | moved | {"data_format": "NCHW" if rank == 4 else "NCDHW"}
    # TensorFlow has kernels for this layout on GPUs only
    return replace(case, inputs=tuple(inputs), attrs=attrs, oracle=False)


def _layouts(parts: list[Case]) -> list[Case]:
    """The three ops of a convolution on images with their channels first."""
    forward, by_input, by_filter = parts
    return [
        _first(forward, (0,)),
        _first(by_input, (2,), (0,)),
        _first(by_filter, (0, 2)),
    ]


_CONV3D: tuple[tuple[tuple[int, ...], tuple[int, ...], dict[str, object]], ...] = (
    ((2, 4, 3, 5, 2), (2, 3, 2, 3), {"strides": [1, 1, 1, 1, 1], "padding": "SAME"}),
    ((1, 5, 4, 4, 3), (3, 2, 2, 2), {"strides": [1, 2, 1, 2, 1], "padding": "VALID"}),
    ((2, 3, 4, 4, 1), (1, 2, 2, 2), {"strides": [1, 1, 1, 1, 1], "padding": "VALID"}),
    (
        (1, 6, 5, 6, 1),
        (2, 2, 2, 2),
        {"strides": [1, 1, 1, 1, 1], "padding": "SAME", "dilations": [1, 3, 2, 1, 1]},
    ),
)


def _conv3d(image: tuple[int, ...], taps: tuple[int, ...], attrs: dict[str, object]) -> list[Case]:
    strides: list[int] = attrs["strides"]  # type: ignore[assignment]
    rates: list[int] = attrs.get("dilations", [1] * 5)  # type: ignore[assignment]
    counts = [_out_size(image[i], taps[i - 1], strides[i], rates[i], attrs["padding"]) for i in (1, 2, 3)]
    x, filters = arr(*image), arr(*taps[:3], image[4], taps[3])
    grad = arr(image[0], *counts, taps[3])
    sizes, filter_sizes = np.array(x.shape, np.int32), np.array(filters.shape, np.int32)
    # TensorFlow's kernels for CPUs have no dilation
    same = {"oracle": "dilations" not in attrs, "rtol": 2e-5, "atol": 2e-5}
    more = {} if attrs["padding"] == "SAME" else same | {"oracle": False}
    return [
        *(
            Case(op, (x, filters, grad), attrs, **more)  # type: ignore[arg-type]
            for op in ("Conv3DBackpropInput", "Conv3DBackpropFilter")
            if more
        ),
        Case("Conv3D", (x, filters), attrs, **same),  # type: ignore[arg-type]
        Case("Conv3DBackpropInputV2", (sizes, filters, grad), attrs, **same),  # type: ignore[arg-type]
        Case("Conv3DBackpropFilterV2", (x, filter_sizes, grad), attrs, **same),  # type: ignore[arg-type]
    ]


_POOL3D: tuple[tuple[tuple[int, ...], dict[str, object]], ...] = (
    (
        (1, 3, 4, 5, 2),
        {"ksize": [1, 2, 2, 2, 1], "strides": [1, 1, 2, 2, 1], "padding": "SAME"},
    ),
    (
        (2, 4, 3, 3, 1),
        {"ksize": [1, 2, 3, 1, 1], "strides": [1, 2, 1, 1, 1], "padding": "VALID"},
    ),
)


def _pool3d(image: tuple[int, ...], attrs: dict[str, object]) -> list[Case]:
    size: list[int] = attrs["ksize"]  # type: ignore[assignment]
    strides: list[int] = attrs["strides"]  # type: ignore[assignment]
    count = int(np.prod(image))
    x = np.random.default_rng(count).permutation(count).reshape(image).astype(np.float32) / 10
    y = arr(
        image[0],
        *(_out_size(image[i], size[i], strides[i], 1, attrs["padding"]) for i in (1, 2, 3)),
        image[4],
    )
    # an output that equals some of the voxels, which is all that the gradients look for
    made = np.broadcast_to(x[:, :1, :1, :1], y.shape).copy()
    found = [
        Case("MaxPool3D", (x,), attrs),
        Case("AvgPool3D", (x,), attrs),
        Case("MaxPool3DGrad", (x, made, y), attrs, grad=False),
        Case("AvgPool3DGrad", (np.array(image, np.int32), y), attrs),
    ]
    # TensorFlow's kernels take no float64 here
    theirs = [replace(c, float32_only=True, device=False) for c in found]
    return [
        *theirs,
        *(replace(c, oracle=False) for c in found),
        Case("MaxPool3DGradGrad", (x, made, arr(*image)), attrs, grad=False, oracle=False),
    ]


def _argmax(image: tuple[int, ...], attrs: dict[str, object], **more: object) -> list[Case]:
    """As in _pool, with an argmax that names the windows' first pixels."""
    x, y = _pool(image, attrs)[0].inputs[0], _pool(image, attrs)[2].inputs[2]  # type: ignore[arg-type]
    size = int(np.prod(image[1:]))
    at = np.random.default_rng(3).integers(0, size, y.shape)
    # TensorFlow's gradients of gradients want GPUs, and its gradient refuses places outside their windows
    return [
        Case("MaxPoolWithArgmax", (x,), {"Targmax": "int64"} | attrs | more),
        Case("MaxPoolGradWithArgmax", (x, y, at), attrs, oracle=False),
        Case("MaxPoolGradGradWithArgmax", (x, arr(*image), at), attrs, oracle=False),
    ]


_MORPH: tuple[tuple[tuple[int, ...], tuple[int, ...], dict[str, object]], ...] = (
    ((2, 5, 4, 3), (2, 3), {"strides": [1, 2, 1, 1], "rates": [1, 1, 1, 1], "padding": "SAME"}),
    ((1, 6, 7, 2), (3, 2), {"strides": [1, 1, 2, 1], "rates": [1, 2, 3, 1], "padding": "VALID"}),
)


def _morphology(image: tuple[int, ...], taps: tuple[int, ...], attrs: dict[str, object]) -> list[Case]:
    steps, rates = attrs["strides"], attrs["rates"]
    x, w = arr(*image), arr(*taps, image[3])
    y = arr(
        image[0],
        *(
            _out_size(image[i], taps[i - 1], steps[i], rates[i], attrs["padding"])  # type: ignore[index]
            for i in (1, 2)
        ),
        image[3],
    )
    return [
        Case("Dilation2D", (x, w), attrs),
        Case("Dilation2DBackpropInput", (x, w, y), attrs),
        Case("Dilation2DBackpropFilter", (x, w, y), attrs),
    ]


_EXPLICIT = {
    "strides": [1, 2, 1, 1],
    "padding": "EXPLICIT",
    "explicit_paddings": [0, 0, 3, 0, 1, 2, 0, 0],
}

CASES: tuple[Case, ...] = (
    *_layouts(_conv(*_CONV[1])),
    *_layouts(_depthwise((2, 5, 6, 3), (3, 2, 2), _CONV[1][2])),
    *_layouts(_conv3d(*_CONV3D[1])[-3:]),
    *(case for parts in _CONV3D for case in _conv3d(*parts)),
    *(case for parts in _POOL3D for case in _pool3d(*parts)),
    *_argmax(*_POOL[0]),
    *_argmax(*_POOL[1], include_batch_in_index=True)[:1],
    *(case for parts in _MORPH for case in _morphology(*parts)),
    _first(_pool3d(*_POOL3D[0])[4], (0,)),
    _first(_pool(*_POOL[1])[0], (0,)),
    _first(_pool(*_POOL[1])[2], (0, 1, 2)),
    _first(_pool(*_POOL[1])[3], (0, 1, 2)),
    _first(_pool(*_POOL[1])[4], (1,), (0,)),
    Case("Conv2D", (arr(1, 4, 5, 2), arr(2, 3, 2, 3)), _EXPLICIT, rtol=2e-5, atol=2e-5),
    Case(
        "Conv2DBackpropInput",
        (np.array([1, 4, 5, 2], np.int32), arr(2, 3, 2, 3), arr(1, 3, 6, 3)),
        _EXPLICIT,
        oracle=False,
        rtol=2e-5,
        atol=2e-5,
    ),
    Case("DepthwiseConv2dNative", (arr(1, 4, 5, 2), arr(2, 3, 2, 1)), _EXPLICIT, oracle=False),
    Case("DepthwiseConv2dNative", (arr(1, 4, 5, 21), arr(2, 3, 21, 1)), _EXPLICIT, oracle=False, grad=False),
    Case(
        "Conv2D",
        (arr(1, 4, 5, 2, dtype=np.float16), arr(2, 3, 2, 3, dtype=np.float16)),
        {"padding": "SAME", "strides": [1, 1, 1, 1]},
        oracle=False,
        rtol=2e-3,
        atol=2e-3,
    ),
    Case(
        "MaxPool",
        (arr(1, 4, 5, 2),),
        {
            "ksize": [1, 3, 2, 1],
            "strides": [1, 2, 1, 1],
            "padding": "EXPLICIT",
            "explicit_paddings": [0, 0, 2, 1, 0, 1, 0, 0],
        },
        grad=False,
    ),
    Case(
        "MaxPool",
        (arr(1, 4, 5, 2, dtype=np.float16),),
        {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"},
    ),
    *(case for parts in _CONV for case in _conv(*parts)),
    *(case for (n, h, w, c), (kh, kw, m), attrs in _CONV for case in _depthwise((n, h, w, c), (kh, kw, m // 2), attrs)),
    *(case for parts in _POOL for case in _pool(*parts)),
    Case("Conv2D", (arr(0, 5, 6, 3), arr(3, 2, 3, 4)), {"strides": [1, 1, 1, 1], "padding": "SAME"}),
)
