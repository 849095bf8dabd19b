"""Random sizes, strides and paddings of windows against TensorFlow: values and gradients in both floats."""

from __future__ import annotations

import numpy as np
import pytest
from cases import Case

pytest.importorskip("tensorflow", exc_type=ImportError)
against = pytest.importorskip("against")

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]


def _array(rng, *shape):
    return rng.uniform(-1, 1, shape).astype(np.float32)


def _windows(rng, axes, even=False):
    """Image sides, window sides, strides and padding for which at least one window exists."""
    size = rng.integers(1, 4, axes)
    side = size + rng.integers(0, 7, axes)
    step = rng.integers(1, 4, axes)
    step = np.full(axes, step[0]) if even else step
    return side, size, [1, *map(int, step), 1], str(rng.choice(["SAME", "VALID"]))


def _conv(rng, axes):
    side, size, strides, padding = _windows(rng, axes)
    ci, co, n = (int(v) for v in rng.integers(1, 5, 3))
    x, w = _array(rng, n, *side, ci), _array(rng, *size, ci, co)
    return Case(f"Conv{axes}D", (x, w), {"strides": strides, "padding": padding}, rtol=1e-4, atol=1e-4)


def _depthwise(rng):
    side, size, strides, padding = _windows(rng, 2, even=True)
    c, m, n = (int(v) for v in rng.integers(1, 4, 3))
    x, w = _array(rng, n, *side, c), _array(rng, *size, c, m)
    return Case("DepthwiseConv2dNative", (x, w), {"strides": strides, "padding": padding}, rtol=1e-4, atol=1e-4)


def _pool(rng, op, axes):
    side, size, strides, padding = _windows(rng, axes)
    shape = (int(rng.integers(1, 3)), *map(int, side), int(rng.integers(1, 5)))
    x = rng.permutation(int(np.prod(shape))).reshape(shape).astype(np.float32) / 7
    attrs = {"ksize": [1, *map(int, size), 1], "strides": strides, "padding": padding}
    if op == "MaxPoolWithArgmax":
        attrs |= {"Targmax": "int64", "include_batch_in_index": bool(rng.random() < 0.5)}
    return Case(op, (x,), attrs, float32_only=axes == 3, rtol=1e-4, atol=1e-4)


def _dilation(rng):
    side, size, strides, padding = _windows(rng, 2)
    c = int(rng.integers(1, 4))
    x, w = _array(rng, 2, *side, c), _array(rng, *size, c)
    return Case("Dilation2D", (x, w), {"strides": strides, "rates": [1, 1, 1, 1], "padding": padding})


MAKERS = {
    "Conv2D": lambda rng: _conv(rng, 2),
    "Conv3D": lambda rng: _conv(rng, 3),
    "DepthwiseConv2dNative": _depthwise,
    "Dilation2D": _dilation,
    **{
        op: lambda rng, op=op, axes=axes: _pool(rng, op, axes)
        for op, axes in (
            ("MaxPool", 2),
            ("AvgPool", 2),
            ("MaxPoolWithArgmax", 2),
            ("MaxPool3D", 3),
            ("AvgPool3D", 3),
        )
    },
}


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_equals_tensorflow(name):
    rng = np.random.default_rng(len(name))
    against.check([c for _ in range(15) for c in MAKERS[name](rng).both_floats()])
