"""Convolution and pooling of volumes on the device against NumPy, for random sizes, strides and dilations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfnb.ir.kernelcall import TensorInfo
from tfnb.ir.opdef import HostCall, OpDef
from tfnb.ops.conv_pool.conv3d import (
    CONV3D,
    CONV3D_BACKPROP_FILTER_V2,
    CONV3D_BACKPROP_INPUT_V2,
    Conv3DAttrs,
)
from tfnb.ops.conv_pool.pool3d import (
    AVG_POOL_3D,
    AVG_POOL_3D_GRAD,
    MAX_POOL_3D,
    MAX_POOL_3D_GRAD,
    Pool3DAttrs,
)
from tfnb.types import Shape, TensorSpec, as_dtype


def on_both(runner: Any, op: OpDef, attrs: Any, *inputs: np.ndarray, **options: Any) -> np.ndarray:
    """The host's value, which the device's is compared with."""
    dtype = as_dtype(inputs[-1].dtype)
    call = HostCall(attrs, {"T": dtype}, (TensorSpec(dtype, Shape(None)),), None)
    want = np.ascontiguousarray(op.host(call, *inputs))  # type: ignore[misc]
    out = TensorInfo(dtype, want.shape)
    site = runner.site(op.name, list(inputs), [out], attrs, values={}, **options)
    (got,) = runner.run_calls(op.opencl(site), list(inputs), [out])  # type: ignore[misc]
    tolerance = 1e-4 if dtype.size == 4 else 1e-11
    np.testing.assert_allclose(got, want, tolerance, tolerance, err_msg=op.name)
    return want


@dataclass(frozen=True)
class Volume:
    image: tuple[int, ...]
    size: tuple[int, ...]
    stride: tuple[int, ...] = (1, 1, 1)
    dilation: tuple[int, ...] = (1, 1, 1)
    padding: str = "SAME"
    channels: int = 4


def convolve(runner: Any, v: Volume, dtype: str, **options: Any) -> None:
    rng = np.random.default_rng(1)
    attrs = Conv3DAttrs((1, *v.stride, 1), v.padding, dilations=(1, *v.dilation, 1))
    x = rng.standard_normal(v.image).astype(dtype)
    w = rng.standard_normal((*v.size, v.image[-1], v.channels)).astype(dtype)
    y = on_both(runner, CONV3D, attrs, x, w, **options)
    g = rng.standard_normal(y.shape).astype(dtype)
    sizes, taps = (np.array(a.shape, np.int32) for a in (x, w))
    on_both(runner, CONV3D_BACKPROP_INPUT_V2, attrs, sizes, w, g, **options)
    on_both(runner, CONV3D_BACKPROP_FILTER_V2, attrs, x, taps, g, **options)


def pool(runner: Any, v: Volume, dtype: str) -> None:
    rng = np.random.default_rng(2)
    attrs = Pool3DAttrs((1, *v.size, 1), (1, *v.stride, 1), v.padding)
    x = np.round(rng.standard_normal(v.image)).astype(dtype)
    y = on_both(runner, MAX_POOL_3D, attrs, x)
    on_both(runner, AVG_POOL_3D, attrs, x)
    g = rng.standard_normal(y.shape).astype(dtype)
    on_both(runner, MAX_POOL_3D_GRAD, attrs, x, y, g)
    on_both(runner, AVG_POOL_3D_GRAD, attrs, np.array(x.shape, np.int32), g)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "volume",
    [
        Volume((2, 4, 5, 6, 3), (3, 3, 3)),
        Volume((1, 5, 9, 20, 16), (2, 3, 3), (2, 1, 2), padding="VALID", channels=40),
        Volume((2, 3, 6, 6, 2), (1, 2, 2)),
        Volume((1, 2, 4, 4, 2), (3, 2, 2), padding="VALID"),
        Volume((0, 3, 4, 4, 2), (2, 2, 2)),
    ],
    ids=str,
)
def test_volume(runner: Any, volume: Volume, dtype: str) -> None:
    convolve(runner, volume, dtype)
    pool(runner, volume, dtype)


def test_naive_kernels(runner: Any) -> None:
    convolve(runner, Volume((2, 4, 5, 6, 3), (2, 3, 2), (2, 1, 1)), "float32", kind="gpu")


@st.composite
def volumes(draw: Any) -> Volume:
    def three(low: int, high: int) -> tuple[int, ...]:
        return tuple(draw(st.integers(low, high)) for _ in range(3))

    size = three(1, 3)
    sides = [n + draw(st.integers(0, 5)) for n in size]
    image = (draw(st.integers(1, 2)), *sides, draw(st.sampled_from([1, 3, 17])))
    padding = draw(st.sampled_from(["SAME", "VALID"]))
    return Volume(image, size, three(1, 3), three(1, 2), padding, draw(st.sampled_from([1, 5, 33])))


@given(volume=volumes())
@settings(max_examples=25, deadline=None, derandomize=True)
def test_any_volume(runner: Any, volume: Volume) -> None:
    convolve(runner, volume, "float32")
    pool(runner, volume, "float32")
