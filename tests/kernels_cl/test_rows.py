"""Recipes that work row by row (resizing, windows along channels, the k largest) on the device against NumPy."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tfnb.ir.kernelcall import TensorInfo
from tfnb.ops.array.top_k import TOP_K
from tfnb.ops.image.resize import RESIZE_BILINEAR, RESIZE_NEAREST_NEIGHBOR
from tfnb.ops.image.resize_weights import OPS as RESIZING
from tfnb.ops.image.resize_weights import taps, times, weights
from tfnb.ops.nn.lrn import WINDOW_SUM
from tfnb.types import float32, int32

LINES = next(op for op in RESIZING if op.name == "ResizeLines")
SIMPLE = {"bilinear": RESIZE_BILINEAR, "nearest": RESIZE_NEAREST_NEIGHBOR}


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
@pytest.mark.parametrize("channels", [1, 2, 4, 7, 16, 21])
@pytest.mark.parametrize(("method", "back"), [("bicubic", False), ("area", True)])
def test_resizing(runner: Any, kind: str, channels: int, method: str, back: bool) -> None:
    """Over several groups; an axis that shrinks and one that grows."""
    sizes = ((50, 40), (9, 23))
    shape = (3, *(pair[not back] for pair in sizes), channels)
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    tables = [taps(method, *pair, False, False, back).astype(np.float32) for pair in sizes]
    full = [weights(method, *pair, False, False) for pair in sizes]
    want = times(x, *(m.T if back else m for m in full))
    out = TensorInfo(float32, want.shape)
    site = runner.site("ResizeLines", [x, *tables], [out], None, kind=kind)
    (got,) = runner.run_calls(LINES.opencl(site), [x, *tables], [out])
    np.testing.assert_allclose(got, want, 1e-5, 1e-5)


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
@pytest.mark.parametrize("channels", [1, 3, 8, 21])
@pytest.mark.parametrize("corners", ["align_corners", "half_pixel_centers", ""])
@pytest.mark.parametrize("method", ["bilinear", "nearest"])
def test_simple_resizing(runner: Any, kind: str, channels: int, corners: str, method: str) -> None:
    """Kernels without tables have every bit of those with the tables of the host, and over several groups."""
    rng = np.random.default_rng(0)
    align, half = corners == "align_corners", corners == "half_pixel_centers"
    attrs = SimpleNamespace(align_corners=align, half_pixel_centers=half)
    op = SIMPLE[method]
    for rows, columns in [((70, 50), (60, 90)), *rng.integers(1, 90, (8, 2, 2)).tolist()]:
        x = rng.standard_normal((2, rows[1], columns[1], channels)).astype(np.float32)
        tables = [taps(method, *pair, align, half, False).astype(np.float32) for pair in (rows, columns)]
        out = TensorInfo(float32, (2, rows[0], columns[0], channels))
        site = runner.site("ResizeLines", [x, *tables], [out], None, kind=kind)
        (want,) = runner.run_calls(LINES.opencl(site), [x, *tables], [out])
        size = np.array([rows[0], columns[0]], np.int32)
        site = runner.site(op.name, [x, size], [out], attrs, values={1: size}, kind=kind)
        (got,) = runner.run_calls(op.opencl(site), [x, size], [out])
        if kind == "cpu" or method == "nearest":
            np.testing.assert_array_equal(got, want)
        else:
            np.testing.assert_allclose(got, want, 1e-5, 1e-5)


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
@pytest.mark.parametrize(("shape", "radius"), [((700, 19), 4), ((40, 5000), 3), ((2, 3), 0)])
def test_window_sum(runner: Any, kind: str, shape: tuple[int, ...], radius: int) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    padded = np.pad(x.astype(np.float64), ((0, 0), (radius, radius)))
    want = sum(padded[:, d : d + shape[1]] for d in range(2 * radius + 1))
    out = TensorInfo(float32, shape)
    site = runner.site("WindowSum", [x], [out], SimpleNamespace(radius=radius), kind=kind)
    (got,) = runner.run_calls(WINDOW_SUM.opencl(site), [x], [out])
    np.testing.assert_allclose(got, want, 1e-5, 1e-5)


@pytest.mark.parametrize("k", [1, 5, 64, 300])
def test_top_k(runner: Any, k: int) -> None:
    """Rising, falling and random rows, with ties."""
    rng = np.random.default_rng(0)
    x = np.concatenate([np.arange(300)[None], -np.arange(300)[None], rng.integers(0, 40, (60, 300))])
    x = x.astype(np.float32)
    order = np.argsort(-x, axis=1, kind="stable")[:, :k].astype(np.int32)
    outs = [TensorInfo(float32, order.shape), TensorInfo(int32, order.shape)]
    site = runner.site("TopK", [x], outs, SimpleNamespace(k=k))
    values, places = runner.run_calls(TOP_K.opencl(site), [x], outs)
    np.testing.assert_array_equal(places, order)
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))
