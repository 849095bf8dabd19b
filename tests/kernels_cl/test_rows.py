"""Recipes that work row by row (resizing, windows along channels, the k largest) on the device against NumPy."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tfnb.ir.kernelcall import TensorInfo
from tfnb.ops.array.top_k import TOP_K
from tfnb.ops.image.resize_weights import OPS as RESIZING
from tfnb.ops.image.resize_weights import taps, times, weights
from tfnb.ops.nn.lrn import WINDOW_SUM
from tfnb.types import float32, float64, int32

LINES = next(op for op in RESIZING if op.name == "ResizeLines")
TABLES = next(op for op in RESIZING if op.name == "ResizeWeights")


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
    site = runner.site("ResizeLines", [x, *tables], [out], SimpleNamespace(copy=False), kind=kind)
    (got,) = runner.run_calls(LINES.opencl(site), [x, *tables], [out])
    np.testing.assert_allclose(got, want, 1e-5, 1e-5)


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
@pytest.mark.parametrize("dtype", [float32, float64])
@pytest.mark.parametrize("corners", ["align_corners", "half_pixel_centers", ""])
@pytest.mark.parametrize("method", ["bilinear", "nearest"])
def test_resizing_tables(runner: Any, kind: str, dtype: Any, corners: str, method: str) -> None:
    """Every bit of the host's tables, whatever the two sizes are, and over several groups."""
    rng = np.random.default_rng(0)
    align, half = corners == "align_corners", corners == "half_pixel_centers"
    attrs = SimpleNamespace(method=method, align_corners=align, half_pixel_centers=half)
    pairs = [
        ((1, 1), (2000, 1500)),
        *(((int(a), int(b)), (int(c), int(d))) for a, b, c, d in rng.integers(1, 90, (30, 4))),
    ]
    for rows, columns in pairs:
        sizes = np.array([*rows, *columns], np.int32)
        want = [taps(method, *pair, align, half, False).astype(dtype.np) for pair in (rows, columns)]
        outs = [TensorInfo(dtype, table.shape) for table in want]
        site = runner.site("ResizeWeights", [sizes], outs, attrs, values={0: sizes}, kind=kind)
        got = runner.run_calls(TABLES.opencl(site), [sizes], outs)
        for table, other in zip(got, want, strict=True):
            np.testing.assert_array_equal(table, other)


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
