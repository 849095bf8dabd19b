"""Convolution recipes on the device against NumPy, NumPy against plain loops."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfnb.errors import InvalidArgumentError, UnimplementedError
from tfnb.ir.kernelcall import KernelSite, TensorInfo
from tfnb.ops.conv_pool import conv_recipes
from tfnb.ops.conv_pool.conv_recipes import (
    conv2d_backprop_filter_calls,
    conv2d_backprop_input_calls,
    conv2d_calls,
)
from tfnb.ops.conv_pool.conv_reference import (
    conv2d_backprop_filter_host,
    conv2d_backprop_input_host,
    conv2d_host,
)
from tfnb.types import as_dtype

ACTIVATIONS = {
    "none": lambda v: v,
    "relu": lambda v: np.maximum(v, 0),
    "tanh": np.tanh,
    "sigmoid": lambda v: 1 / (1 + np.exp(-v)),
}


@dataclass(frozen=True)
class Attrs:
    strides: tuple[int, ...]
    padding: str
    dilations: tuple[int, ...]
    data_format: str = "NHWC"


@dataclass(frozen=True)
class Case:
    image: tuple[int, int, int, int]
    filters: tuple[int, int, int]  # kh, kw, cout
    stride: tuple[int, int] = (1, 1)
    padding: str = "SAME"
    dilation: tuple[int, int] = (1, 1)
    dtype: str = "float32"

    @property
    def attrs(self) -> Attrs:
        return Attrs((1, *self.stride, 1), self.padding, (1, *self.dilation, 1))

    @property
    def windows(self) -> tuple[Any, ...]:
        return self.attrs.strides, self.padding, self.attrs.dilations

    def data(self, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Image, filters, and the gradient of the output."""
        rng = np.random.default_rng(seed)
        kh, kw, co = self.filters
        x = rng.standard_normal(self.image).astype(self.dtype)
        f = rng.standard_normal((kh, kw, self.image[3], co)).astype(self.dtype)
        out = conv2d_host(x, f, *self.windows)
        return x, f, rng.standard_normal(out.shape).astype(self.dtype)


def info(shape: tuple[int, ...], dtype: Any) -> TensorInfo:
    return TensorInfo(as_dtype(dtype), tuple(shape))


def assert_close(got: np.ndarray, want: np.ndarray) -> None:
    assert got.shape == want.shape and got.dtype == want.dtype
    if want.size:
        tolerance = 2e-5 if want.dtype == np.float32 else 1e-12
        assert np.abs(got - want).max() <= tolerance * max(np.abs(want).max(), 1)


def forward(runner: Any, case: Case, activation: str = "none", bias: bool = False, **options: Any) -> None:
    x, f, g = case.data()
    b = np.linspace(-1, 1, f.shape[3]).astype(case.dtype) if bias else None
    want = conv2d_host(x, f, *case.windows)
    want = ACTIVATIONS[activation](want if b is None else want + b).astype(case.dtype)
    out = info(g.shape, g.dtype)
    site = runner.site("Conv2D", [x, f], [out], case.attrs, bias=b, activation=activation, **options)
    (got,) = runner.run_calls(conv2d_calls(site), [x, f], [out], b)
    assert_close(got, want)


def gradients(runner: Any, case: Case, **options: Any) -> None:
    x, f, g = case.data()
    sizes, out = np.array(x.shape, np.int32), info(x.shape, x.dtype)
    inputs = [sizes, f, g]
    site = runner.site("Conv2DBackpropInput", inputs, [out], case.attrs, values={0: sizes}, **options)
    (got,) = runner.run_calls(conv2d_backprop_input_calls(site), inputs, [out])
    assert_close(got, conv2d_backprop_input_host(x.shape, f, g, *case.windows))
    sizes, out = np.array(f.shape, np.int32), info(f.shape, f.dtype)
    inputs = [x, sizes, g]
    site = runner.site("Conv2DBackpropFilter", inputs, [out], case.attrs, values={1: sizes}, **options)
    (got,) = runner.run_calls(conv2d_backprop_filter_calls(site), inputs, [out])
    assert_close(got, conv2d_backprop_filter_host(x, f.shape, g, *case.windows))


CASES = [
    Case((3, 28, 28, 1), (5, 5, 32)),
    Case((3, 14, 14, 32), (5, 5, 64)),
    Case((1, 20, 23, 64), (3, 3, 64)),
    Case((2, 7, 9, 5), (1, 1, 3)),
    Case((2, 13, 11, 17), (3, 2, 40), padding="VALID"),
    Case((2, 15, 16, 3), (3, 3, 33), stride=(2, 2)),
    Case((2, 12, 13, 4), (4, 5, 6), stride=(3, 2), padding="VALID"),
    Case((1, 16, 19, 8), (3, 3, 32), dilation=(2, 3)),
    Case((2, 9, 9, 2), (2, 2, 7), stride=(4, 3)),
    Case((1, 1, 1, 1), (1, 1, 1)),
    Case((1, 3, 200, 2), (3, 7, 5)),
    Case((1, 4, 4, 3), (9, 9, 20)),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(runner: Any, case: Case, dtype: str) -> None:
    case = Case(case.image, case.filters, case.stride, case.padding, case.dilation, dtype)
    forward(runner, case)
    gradients(runner, case)


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
@pytest.mark.parametrize("bias", [False, True])
def test_epilogue(runner: Any, activation: str, bias: bool, kind: str) -> None:
    forward(runner, Case((2, 10, 17, 3), (3, 3, 38)), activation, bias, kind=kind)
    forward(runner, Case((1, 5, 5, 2), (3, 3, 6), dtype="float64"), activation, bias, kind=kind)


@pytest.mark.parametrize("case", CASES[3:9], ids=str)
def test_naive_kernels(runner: Any, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conv_recipes, "_cut", lambda *_: None)  # as for rows that are too large for local memory
    forward(runner, case)
    gradients(runner, case)


@pytest.mark.parametrize("units", [1, 132])
@pytest.mark.parametrize("case", [c for c in CASES if c.image[1] * c.filters[2] < 500], ids=str)
def test_tiles_of_a_gpu(runner: Any, case: Case, units: int) -> None:
    forward(runner, case, "relu", True, kind="gpu", units=units)
    gradients(runner, case, kind="gpu", units=units)


def test_parts_of_the_depth_are_added_on_a_gpu(runner: Any) -> None:
    case = Case((2, 6, 7, 70), (3, 3, 5), dtype="float64")
    x, f, g = case.data()
    out = info(g.shape, g.dtype)
    calls = conv2d_calls(runner.site("Conv2D", [x, f], [out], case.attrs, kind="gpu", units=132))
    assert [c.entry for c in calls] == ["conv2d_tiles", "matmul_tiles_sum"]
    forward(runner, case, "tanh", True, kind="gpu", units=132)
    gradients(runner, case, kind="gpu", units=132)


def test_rows_too_large_for_local_memory_go_to_the_naive_kernels(runner: Any) -> None:
    case = Case((1, 3, 3, 2600), (3, 3, 2))
    x, f, g = case.data()
    out = info(g.shape, g.dtype)
    calls = conv2d_calls(runner.site("Conv2D", [x, f], [out], case.attrs))
    assert [c.entry for c in calls] == ["conv2d_naive"]
    forward(runner, case)
    gradients(runner, case)


@pytest.mark.parametrize("units", [1, 2, 16])
def test_images_are_cut_to_feed_all_units(runner: Any, units: int) -> None:
    case = Case((1, 33, 300, 40), (3, 3, 16))
    forward(runner, case, units=units)
    gradients(runner, case, units=units)


@pytest.mark.parametrize("image", [(0, 5, 5, 2), (2, 2, 5, 2), (2, 2, 2, 3)])
def test_nothing_in_nothing_out(runner: Any, image: tuple[int, int, int, int]) -> None:
    case = Case(image, (3, 3, 4), padding="VALID")
    forward(runner, case)
    gradients(runner, case)


def test_a_filter_that_is_far_too_large_is_refused(runner: Any) -> None:
    with pytest.raises(
        InvalidArgumentError, match="Negative dimension size caused by subtracting 3 from 0: such a window does not fit"
    ):
        forward(runner, Case((2, 0, 5, 2), (3, 3, 4), padding="VALID"))


def test_wrong_shapes_and_formats_are_refused(runner: Any) -> None:
    case = Case((1, 5, 5, 2), (3, 3, 4))
    x, f, _ = case.data()
    out = info((1, 5, 5, 3), x.dtype)
    with pytest.raises(InvalidArgumentError, match=r"\(1, 5, 5, 4\)"):
        conv2d_calls(runner.site("Conv2D", [x, f], [out], case.attrs))
    nchw = Attrs((1, 1, 1, 1), "SAME", (1, 1, 1, 1), "NCHW")
    with pytest.raises(UnimplementedError, match="NCHW"):
        conv2d_calls(runner.site("Conv2D", [x, f], [out], nchw))


@st.composite
def cases(draw: Any) -> Case:
    kernel = draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
    dilation = draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    stride = draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    least = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    image = (
        draw(st.integers(1, 4)),
        draw(st.integers(least[0], 24)),
        draw(st.integers(least[1], 36)),
        draw(st.sampled_from([1, 2, 3, 8, 17, 33])),
    )
    cout = draw(st.sampled_from([1, 4, 16, 31, 32, 33, 64, 70]))
    return Case(image, (*kernel, cout), stride, draw(st.sampled_from(["SAME", "VALID"])), dilation)


@given(case=cases(), units=st.sampled_from([1, 2, 8]))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_any_case(runner: Any, case: Case, units: int) -> None:
    forward(runner, case, "relu", True, units=units)
    gradients(runner, case, units=units)


def test_host_reference_is_the_definition() -> None:
    case = Case((2, 6, 7, 2), (3, 2, 3), (2, 1), "SAME", (1, 2), "float64")
    x, f, g = case.data()
    out, din, dfilter = np.zeros_like(g), np.zeros_like(x), np.zeros_like(f)
    # 3 windows of rows, 1 row of padding, none of it before; 7 of columns, 1 column before.
    for y, u, ky, kx in product(range(3), range(7), range(3), range(2)):
        iy, ix = 2 * y + ky, u + 2 * kx - 1
        if 0 <= iy < 6 and 0 <= ix < 7:
            out[:, y, u] += x[:, iy, ix] @ f[ky, kx]
            din[:, iy, ix] += g[:, y, u] @ f[ky, kx].T
            dfilter[ky, kx] += x[:, iy, ix].T @ g[:, y, u]
    np.testing.assert_allclose(conv2d_host(x, f, *case.windows), out, atol=1e-12)
    got = conv2d_backprop_input_host(x.shape, f, g, *case.windows)
    np.testing.assert_allclose(got, din, atol=1e-12)
    got = conv2d_backprop_filter_host(x, f.shape, g, *case.windows)
    np.testing.assert_allclose(got, dfilter, atol=1e-12)


def test_recipes_depend_on_the_site_alone(runner: Any) -> None:
    case = Case((2, 6, 7, 2), (3, 2, 3))
    x, f, g = case.data()

    def site() -> KernelSite:
        return runner.site("Conv2D", [x, f], [info(g.shape, g.dtype)], case.attrs)

    assert conv2d_calls(site()) == conv2d_calls(site())
