"""The matrix product's kernels against NumPy: shapes, transposes, types, epilogues, cuts."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

from tfnb.errors import InternalError, ShapeError, UnimplementedError
from tfnb.ir.kernelcall import TensorInfo
from tfnb.ops.linalg.matmul_recipes import matmul_calls
from tfnb.types import as_dtype, float32

pytestmark = pytest.mark.opencl

ACTIVATIONS = {
    "none": lambda x: x,
    "relu": lambda x: np.where(x < 0, 0, x),
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}


def random(rng, dtype, *shape):
    if np.issubdtype(dtype, np.integer):
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    return rng.standard_normal(shape).astype(dtype)


def product(runner, a, b, ta=False, tb=False, defines=(), **options):
    """op(a) op(b) by the recipe's calls; a and b as they lie in memory, `defines` added to the build."""
    shape = (*a.shape[:-2], a.shape[-1 if ta else -2], b.shape[-2 if tb else -1])
    out = TensorInfo(as_dtype(a.dtype), shape)
    if a.ndim == 2:
        op, attrs = "MatMul", SimpleNamespace(transpose_a=ta, transpose_b=tb)
    else:
        op, attrs = "BatchMatMul", SimpleNamespace(adj_x=ta, adj_y=tb)
    calls = matmul_calls(runner.site(op, (a, b), (out,), attrs, **options))
    calls = tuple(replace(c, defines=(*c.defines, *defines)) for c in calls)
    (result,) = runner.run_calls(calls, (a, b), (out,), options.get("bias"))
    return result, calls


def expected(a, b, ta=False, tb=False, bias=None, activation="none"):
    wide = a.dtype if np.issubdtype(a.dtype, np.integer) else np.float64
    a, b = a.astype(wide), b.astype(wide)
    with np.errstate(all="ignore"):
        c = (a.swapaxes(-1, -2) if ta else a) @ (b.swapaxes(-1, -2) if tb else b)
        return ACTIVATIONS[activation](c if bias is None else c + bias.astype(wide))


def close(got, want, k, rtol):
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * max(1, k) ** 0.5)


SHAPES = [
    (1, 1, 1),
    (1, 17, 5),
    (5, 1, 9),
    (6, 16, 8),
    (7, 17, 9),
    (12, 32, 256),
    (13, 33, 257),
    (20, 40, 300),
    (23, 129, 3),
    (64, 10, 100),
    (100, 100, 784),
    (37, 300, 520),
    (3, 600, 31),
    (200, 2, 40),
    (100, 1, 1031),
    (1, 100, 1031),
]


@pytest.mark.parametrize("m, n, k", SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shapes_and_transposes(runner, m, n, k, dtype):
    rng = np.random.default_rng(m * 1000 + n)
    for ta in (False, True):
        for tb in (False, True):
            a = random(rng, dtype, *((k, m) if ta else (m, k)))
            b = random(rng, dtype, *((n, k) if tb else (k, n)))
            got, _ = product(runner, a, b, ta, tb)
            close(got, expected(a, b, ta, tb), k, 1e-5 if dtype == np.float32 else 1e-13)


@pytest.mark.parametrize("ta, tb", [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tiles_of_a_gpu(runner, dtype, ta, tb):
    """Both sizes of tiles, edges in all directions, parts of the depth, and bias and activation after them."""
    rng = np.random.default_rng(9)
    sides, splits = set(), set()
    for units in (1, 132):
        for m, n, k in ((1, 1, 1), (130, 67, 35), (64, 128, 16), (200, 5, 1300), (3, 150, 0)):
            a = random(rng, dtype, *((k, m) if ta else (m, k)))
            b = random(rng, dtype, *((n, k) if tb else (k, n)))
            bias = random(rng, dtype, n)
            got, calls = product(runner, a, b, ta, tb, kind="gpu", units=units, bias=bias, activation="relu")
            close(got, expected(a, b, ta, tb, bias, "relu"), k, 1e-5 if dtype == np.float32 else 1e-13)
            sides.add(dict(calls[0].defines)["TILE"])
            splits.add(len(calls))
    a, b = (
        random(rng, dtype, *((3, 600, 9) if ta else (3, 9, 600))),
        random(rng, dtype, *((3, 7, 600) if tb else (3, 600, 7))),
    )
    got, calls = product(runner, a, b, ta, tb, kind="gpu", units=132)
    close(got, expected(a, b, ta, tb), 600, 1e-5)
    assert sides == {"4", "8"} and splits == {1, 2} and len(calls) == 2


@pytest.mark.filterwarnings("ignore::pyopencl.CompilerWarning")  # 512-bit vectors may be foreign
@pytest.mark.parametrize("wide", ["0", "1"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_register_tiles_and_blocks(runner, wide, dtype):
    """Both register tiles, every height of them, and edges of blocks in all three directions."""
    rng = np.random.default_rng(5)
    defines = (("GEMM_WIDE", wide), ("KC", "16"), ("NC", "64"), ("DIRECT_ROWS", "20"))
    for m in (*range(1, 32), 64):
        for n, k, ta, tb in ((150, 35, False, False), (128, 16, True, True), (2100, 9, False, True)):
            a = random(rng, dtype, *((k, m) if ta else (m, k)))
            b = random(rng, dtype, *((n, k) if tb else (k, n)))
            got, _ = product(runner, a, b, ta, tb, defines=defines)
            close(got, expected(a, b, ta, tb), k, 1e-5 if dtype == np.float32 else 1e-13)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["cpu", "gpu"])
def test_epilogue(runner, activation, with_bias, dtype, kind):
    rng = np.random.default_rng(0)
    for m, n, k in ((13, 35, 20), (12, 32, 300), (12, 3, 0), (37, 1, 30), (1, 37, 30)):
        a, b = random(rng, dtype, m, k), random(rng, dtype, k, n)
        bias = random(rng, dtype, n) if with_bias else None
        got, _ = product(runner, a, b, bias=bias, activation=activation, kind=kind)
        want = expected(a, b, bias=bias, activation=activation)
        close(got, want, k, 2e-6 if dtype == np.float32 else 1e-13)


@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
def test_activation_accuracy(runner, activation):
    """The float functions over their whole range, relative to the exact value."""
    x = np.concatenate([np.linspace(-20, 20, 4001), np.geomspace(1e-30, 1, 200)]).astype(np.float32)
    one = np.ones((1, 1), np.float32)
    got, _ = product(runner, x[:, None], one, activation=activation)
    want = expected(x[:, None], one, activation=activation)
    assert (np.abs(got - want) <= 4e-7 * np.abs(want)).all()
    ends = np.array([[-np.inf], [np.inf], [-1e30], [1e30], [np.nan]], np.float32)
    got, _ = product(runner, ends, one, activation=activation)
    low = -1 if activation == "tanh" else 0
    np.testing.assert_allclose(got[:, 0], [low, 1, low, 1, np.nan], atol=1e-37)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8, np.int16])
def test_integers_wrap(runner, dtype):
    rng = np.random.default_rng(1)
    a, b = random(rng, dtype, 9, 14), random(rng, dtype, 70, 14)
    got, _ = product(runner, a, b, tb=True)
    np.testing.assert_array_equal(got, expected(a, b, tb=True))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_sixteen_bit_floats_add_up_in_float32(runner, dtype):
    rng = np.random.default_rng(2)
    a, b = (rng.standard_normal(s).astype(dtype) for s in ((9, 300), (300, 20)))
    bias = rng.standard_normal(20).astype(dtype)
    got, _ = product(runner, a, b, bias=bias)
    want = a.astype(np.float32) @ b.astype(np.float32) + bias.astype(np.float32)
    np.testing.assert_allclose(got.astype(np.float32), want, rtol=8e-3, atol=2e-2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("ta, tb", [(False, False), (True, True)])
def test_batches(runner, dtype, ta, tb):
    rng = np.random.default_rng(3)
    a = random(rng, dtype, 2, 3, *((19, 11) if ta else (11, 19)))
    b = random(rng, dtype, 2, 3, *((21, 19) if tb else (19, 21)))
    got, _ = product(runner, a, b, ta, tb)
    close(got, expected(a, b, ta, tb), 19, 1e-5)


@pytest.mark.parametrize("units", [1, 3, 16, 64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_number_of_units(runner, units, dtype):
    """Cuts for other devices, those with a split depth among them, are right as well."""
    rng = np.random.default_rng(4)
    for m, n, k in ((10, 10, 60000), (100, 10, 300), (150, 200, 1030)):
        a, b, bias = random(rng, dtype, m, k), random(rng, dtype, k, n), random(rng, dtype, n)
        got, calls = product(runner, a, b, units=units, bias=bias, activation="relu")
        close(got, expected(a, b, bias=bias, activation="relu"), k, 1e-5)
        if units in (1, 16):
            assert len(calls) == 1 + (k == 60000 and units == 16)


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
def test_not_a_number_and_infinity_propagate(runner, kind):
    a, b = np.ones((7, 20), np.float32), np.ones((20, 18), np.float32)
    a[2, 3], a[4, 5], a[6, 6], b[5, 7] = np.nan, np.inf, -np.inf, 0
    for activation in ("none", "relu"):
        got, _ = product(runner, a, b, activation=activation, kind=kind)
        np.testing.assert_array_equal(got, expected(a, b, activation=activation))


def test_empty(runner):
    for m, n, k in ((0, 4, 5), (4, 0, 5), (0, 0, 0)):
        a, b = np.ones((m, k), np.float32), np.ones((k, n), np.float32)
        got, calls = product(runner, a, b)
        assert calls == () and got.shape == (m, n)
    got, _ = product(runner, np.ones((2, 5, 0), np.float32), np.ones((2, 0, 3), np.float32))
    np.testing.assert_array_equal(got, np.zeros((2, 5, 3)))


def test_recipe_is_pure_and_says_what_is_wrong(runner):
    a, b = np.ones((4, 5), np.float32), np.ones((6, 7), np.float32)
    out = TensorInfo(float32, (4, 7))
    attrs = SimpleNamespace(transpose_a=False, transpose_b=False)
    with pytest.raises(ShapeError, match="5 and 6"):
        matmul_calls(runner.site("MatMul", (a, b), (out,), attrs))
    with pytest.raises(UnimplementedError, match="complex64"):
        product(runner, a.astype(np.complex64), a.T.astype(np.complex64))
    with pytest.raises(InternalError, match="Relu"):
        matmul_calls(runner.site("Relu", (a, a), (out,), attrs))
    site = runner.site("MatMul", (a, a.T), (out,), attrs)
    assert matmul_calls(site) == matmul_calls(site)
    hash(matmul_calls(site))
