"""Pooling recipes on the device against NumPy, NumPy against plain loops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfnb.errors import InvalidArgumentError
from tfnb.ir.kernelcall import TensorInfo
from tfnb.ops.conv_pool.conv_recipes import (
    avg_pool_calls,
    avg_pool_grad_calls,
    max_pool_calls,
    max_pool_grad_calls,
)
from tfnb.ops.conv_pool.conv_reference import (
    avg_pool_grad_host,
    avg_pool_host,
    max_pool_grad_host,
    max_pool_host,
)
from tfnb.types import as_dtype


@dataclass(frozen=True)
class Attrs:
    ksize: tuple[int, ...]
    strides: tuple[int, ...]
    padding: str
    data_format: str = "NHWC"

    @property
    def windows(self) -> tuple[Any, ...]:
        return self.ksize, self.strides, self.padding


@dataclass(frozen=True)
class Case:
    image: tuple[int, int, int, int]
    size: tuple[int, int] = (2, 2)
    stride: tuple[int, int] = (2, 2)
    padding: str = "SAME"

    @property
    def attrs(self) -> Attrs:
        return Attrs((1, *self.size, 1), (1, *self.stride, 1), self.padding)


def info(array: np.ndarray) -> TensorInfo:
    return TensorInfo(as_dtype(array.dtype), array.shape)


def pool_all_ways(runner: Any, case: Case, dtype: str, **options: Any) -> None:
    """All four ops; values are rounded so that windows hold equal maxima."""
    rng = np.random.default_rng(1)
    attrs = case.attrs
    x = np.round(rng.standard_normal(case.image)).astype(dtype)
    largest, mean = max_pool_host(x, *attrs.windows), avg_pool_host(x, *attrs.windows)
    g = rng.standard_normal(largest.shape).astype(dtype)
    sizes = np.array(x.shape, np.int32)
    for op, calls, inputs, want in (
        ("MaxPool", max_pool_calls, [x], largest),
        ("AvgPool", avg_pool_calls, [x], mean),
        (
            "MaxPoolGrad",
            max_pool_grad_calls,
            [x, largest, g],
            max_pool_grad_host(x, largest, g, *attrs.windows),
        ),
        (
            "AvgPoolGrad",
            avg_pool_grad_calls,
            [sizes, g],
            avg_pool_grad_host(x.shape, g, *attrs.windows),
        ),
    ):
        values = {0: sizes} if op == "AvgPoolGrad" else None
        site = runner.site(op, inputs, [info(want)], attrs, values=values, **options)
        (got,) = runner.run_calls(calls(site), inputs, [info(want)])
        tolerance = 1e-5 if dtype == "float32" else 1e-13
        np.testing.assert_allclose(got, want, tolerance, tolerance, err_msg=op)


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "case",
    [
        Case((2, 28, 28, 32)),
        Case((3, 7, 7, 16)),
        Case((2, 9, 8, 40), (3, 3)),
        Case((2, 9, 8, 17), (2, 2), (3, 1), "VALID"),
        Case((2, 9, 8, 20), (1, 3), (2, 4), "VALID"),
        Case((1, 5, 6, 3)),
        Case((2, 4, 4, 1), (3, 2), (1, 1)),
        Case((1, 1, 1, 33), (4, 4), (1, 1)),
        Case((0, 4, 4, 3)),
        Case((2, 2, 2, 16), (3, 3), (1, 1), "VALID"),
    ],
    ids=str,
)
def test_case(runner: Any, case: Case, dtype: str, kind: str) -> None:
    pool_all_ways(runner, case, dtype, kind=kind)


def test_naive_kernels(runner: Any) -> None:
    pool_all_ways(runner, Case((2, 9, 11, 7), (3, 2), (2, 2)), "float32")


@st.composite
def cases(draw: Any) -> Case:
    size = draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    image = (
        draw(st.integers(1, 3)),
        draw(st.integers(size[0], 18)),
        draw(st.integers(size[1], 18)),
        draw(st.sampled_from([1, 3, 16, 17, 32, 50])),
    )
    stride = draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    return Case(image, size, stride, draw(st.sampled_from(["SAME", "VALID"])))


@given(case=cases(), units=st.sampled_from([1, 2, 8]))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_any_case(runner: Any, case: Case, units: int) -> None:
    pool_all_ways(runner, case, "float32", units=units)


def test_gradient_goes_to_the_first_maximum() -> None:
    x = np.array([[1, 3, 3], [3, 2, 0]], np.float32).reshape(1, 2, 3, 1)
    windows = ((1, 2, 2, 1), (1, 1, 1, 1), "VALID")
    g = np.array([10, 1], np.float32).reshape(1, 1, 2, 1)
    got = max_pool_grad_host(x, max_pool_host(x, *windows), g, *windows)
    assert got.reshape(2, 3).tolist() == [[0, 11, 0], [0, 0, 0]]


def test_average_counts_only_pixels_inside() -> None:
    x = np.arange(1, 10, dtype=np.float64).reshape(1, 3, 3, 1)
    windows = ((1, 2, 2, 1), (1, 2, 2, 1), "SAME")
    assert avg_pool_host(x, *windows).reshape(-1).tolist() == [3, 4.5, 7.5, 9]
    spread = avg_pool_grad_host(x.shape, np.ones((1, 2, 2, 1)), *windows).reshape(3, 3)
    assert spread.tolist() == [[0.25, 0.25, 0.5], [0.25, 0.25, 0.5], [0.5, 0.5, 1]]


def test_pooling_over_batch_or_channels_is_refused(runner: Any) -> None:
    x = np.zeros((1, 4, 4, 4), np.float32)
    attrs = Attrs((1, 2, 2, 2), (1, 2, 2, 2), "SAME")
    with pytest.raises(InvalidArgumentError, match="ksize"):
        max_pool_calls(runner.site("MaxPool", [x], [info(x)], attrs))
