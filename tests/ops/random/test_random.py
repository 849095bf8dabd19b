"""Random ops: equal on host and device, distributed as promised, repeatable by seeds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.opdef import HostCall
from tfnb.ir.scalar.host_philox import philox_4x32
from tfnb.ops.random import gamma_poisson

pytestmark = pytest.mark.opencl


def run(make: Any, seed: int | None = 1, times: int = 1) -> Any:
    """The values of `times` runs of `make()` in a new graph and session."""
    with tf.Graph().as_default():
        tf.set_random_seed(seed)
        fetch = make()
        with tf.Session() as session:
            found = [session.run(fetch) for _ in range(times)]
    return found[0] if times == 1 else found


def test_philox_known_answers() -> None:
    """Vectors of the reference implementation (Random123), for counters whose upper half is zero."""
    assert [int(w) for w in philox_4x32(0, 0, 0, 0)] == [
        0x6627E8D5,
        0xE169C58D,
        0xBC57AC4C,
        0x9B00DBD8,
    ]


TOLERANCE = {"float64": 1e-10, "float32": 1e-4, "float16": 2e-3, "bfloat16": 1.6e-2}


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", ["random_uniform", "random_normal", "truncated_normal"])
@pytest.mark.parametrize("shape", [(), (7,), (3, 5), (0, 2), (4, 33, 9)])
def test_device_equals_host(name: str, dtype: str, shape: tuple[int, ...]) -> None:
    with tf.Graph().as_default():
        made = getattr(tf, name)(shape, dtype=dtype, seed=5)
        with tf.Session() as session:
            runs = [session.run(made), session.run(made)]
        op = made.op
        for number, got in enumerate(runs):
            key = np.array([op.attrs.seed, op.attrs.seed2, number, 0], np.uint32)
            call = HostCall(op.attrs, op.types, op.specs, op, rng=lambda key=key: key)
            wanted = op.opdef.host(call, np.asarray(shape, np.int32))
            assert got.dtype == wanted.dtype and got.shape == wanted.shape
            rtol = TOLERANCE[dtype]
            np.testing.assert_allclose(got.astype("f8"), wanted.astype("f8"), rtol=rtol, atol=rtol / 50)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers_equal_the_host(dtype: str) -> None:
    low, high = (-(2**31), 2**31 - 1) if dtype == "int32" else (-(2**62), 2**62)
    with tf.Graph().as_default():
        made = tf.random_uniform([1000], low, high, dtype=dtype, seed=5)
        with tf.Session() as session:
            got = session.run(made)
        op = made.op
        key = np.array([op.attrs.seed, op.attrs.seed2, 0, 0], np.uint32)
        call = HostCall(op.attrs, op.types, op.specs, op, rng=lambda: key)
        bounds = np.asarray(low, dtype), np.asarray(high, dtype)
        np.testing.assert_array_equal(got, op.opdef.host(call, np.asarray([1000], np.int32), *bounds))
    assert got.min() < low * 0.9 and got.max() > high * 0.9


N = 200_000


def test_uniform_statistics() -> None:
    x = run(lambda: tf.random_uniform([N], -2.0, 6.0))
    assert x.min() >= -2 and x.max() < 6
    counts, _ = np.histogram(x, 40, (-2, 6))
    expected = N / 40
    assert ((counts - expected) ** 2 / expected).sum() < 39 + 5 * math.sqrt(2 * 39)
    assert abs(np.corrcoef(x[:-1], x[1:])[0, 1]) < 5 / math.sqrt(N)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_uniform_is_never_one(dtype: str) -> None:
    x = run(lambda: tf.random_uniform([N], dtype=dtype)).astype(np.float32)
    assert x.max() < 1
    assert x.min() == 0 or dtype == "float32"
    assert abs(x.mean() - 0.5) < 3e-3


def test_normal_statistics() -> None:
    x = run(lambda: tf.random_normal([N], 3.0, 2.0)).astype(np.float64)
    z = (x - 3) / 2
    for power, moment, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs((z**power).mean() - moment) < 5 * math.sqrt(variance / N)
    assert np.isfinite(z).all() and np.abs(z).max() > 3.5


def test_truncated_statistics() -> None:
    z = run(lambda: tf.truncated_normal([N])).astype(np.float64)
    assert np.abs(z).max() <= 2.0
    assert abs(z.mean()) < 5 * 0.88 / math.sqrt(N)
    assert abs(z.std() - 0.8796) < 0.01
    inside = (np.abs(z) < 1).mean()
    assert abs(inside - 0.6827 / 0.9545) < 5 * 0.5 / math.sqrt(N)


def test_integer_statistics() -> None:
    x = run(lambda: tf.random_uniform([N], 0, 10, dtype=tf.int32))
    counts = np.bincount(x, minlength=10)
    assert counts.size == 10
    assert ((counts - N / 10) ** 2 / (N / 10)).sum() < 9 + 5 * math.sqrt(18)


def test_shuffle_keeps_rows() -> None:
    rows = np.arange(40).reshape(20, 2)
    a, b = run(lambda: tf.random_shuffle(rows), times=2)
    assert not np.array_equal(a, b)
    for x in (a, b):
        assert not np.array_equal(x, rows)
        np.testing.assert_array_equal(np.sort(x[:, 0]), rows[:, 0])
        np.testing.assert_array_equal(x[:, 1], x[:, 0] + 1)


def test_multinomial_statistics() -> None:
    p = np.array([[0.1, 0.2, 0.7], [1.0, 0.0, 0.0]])
    with np.errstate(divide="ignore"):
        logits = np.log(p).astype(np.float32) + 5
    x = run(lambda: tf.multinomial(logits, 20_000))
    assert x.dtype == np.int64 and x.shape == (2, 20_000)
    np.testing.assert_allclose(np.bincount(x[0], minlength=3) / 20_000, p[0], atol=0.02)
    assert (x[1] == 0).all()
    drawn = run(lambda: tf.random.categorical(logits, 5, dtype=tf.int32))
    assert drawn.dtype == np.int32 and drawn.shape == (2, 5) and (drawn[1] == 0).all()


def test_seeds() -> None:
    def both() -> Any:
        return tf.random_uniform([5]), tf.random_uniform([5])

    a, b = run(both, 1)
    assert not np.array_equal(a, b), "ops of one graph seed differ"
    np.testing.assert_array_equal(run(both, 1), [a, b])
    assert not np.array_equal(run(both, 2)[0], a)
    assert not np.array_equal(run(both, None)[0], run(both, None)[0]), "no seed: other numbers each time"
    fixed = run(lambda: tf.random_uniform([5], seed=3), None)
    np.testing.assert_array_equal(run(lambda: tf.random_uniform([5], seed=3), None), fixed)
    first, second = run(lambda: tf.random_uniform([5]), 1, times=2)
    assert not np.array_equal(first, second), "each run draws anew"


def test_get_seed() -> None:
    with tf.Graph().as_default() as graph:
        assert tf.get_seed(None) == (None, None)
        assert tf.get_seed(4) == (87654321, 4)
        tf.set_random_seed(9)
        assert tf.get_seed(4) == (9, 4)
        assert tf.get_seed(None) == (9, graph.version)
        tf.set_random_seed(0)
        assert tf.get_seed(0) == (0, 2**31 - 1)
        tf.set_random_seed(2**31 - 1)
        assert tf.get_seed(0) == (0, 2**31 - 1) and tf.get_seed(2**31 + 4) == (0, 5)


def test_a_fed_shape_and_tensor_bounds() -> None:
    with tf.Graph().as_default():
        shape = tf.placeholder(tf.int32, [2])
        low = tf.placeholder(tf.float32, [])
        x = tf.random_uniform(shape, low, low + 1.0, seed=1)
        assert x.shape.as_list() == [None, None]
        with tf.Session() as session:
            for dims in ((2, 3), (4, 1)):
                got = session.run(x, {shape: dims, low: 10.0})
                assert got.shape == dims and got.min() >= 10 and got.max() <= 11


def test_random_crop_of_a_size_with_tensors() -> None:
    """Images and their masks are joined and cropped at once: the number of channels is then a tensor."""
    image = np.arange(60).reshape(4, 5, 3).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(tf.float32, [None, None, 3])
        crop = tf.random_crop(fed, [2, tf.shape(fed)[1] - 1, tf.shape(fed)[-1]])
        assert crop.shape.as_list()[0] == 2
        assert session.run(crop, {fed: image}).shape == (2, 4, 3)
        assert session.run(tf.image.random_crop(image, tf.stack([1, tf.constant(2), 3]))).shape == (1, 2, 3)


def test_random_crop() -> None:
    image = np.arange(5 * 6).reshape(5, 6)
    seen = set()
    for x in run(lambda: tf.random_crop(image, [2, 3]), times=20):
        np.testing.assert_array_equal(x - x[0, 0], [[0, 1, 2], [6, 7, 8]])
        seen.add(int(x[0, 0]))
    assert len(seen) > 3


def test_bad_arguments() -> None:
    with tf.Graph().as_default():
        with pytest.raises(InvalidArgumentError, match="maxval"):
            tf.random_uniform([2], dtype=tf.int32)
        with pytest.raises(ShapeError):
            tf.random_crop(np.zeros((2, 2)), [3, 1])
        with pytest.raises(ShapeError):
            tf.random_uniform([None, 2])
        with pytest.raises(InvalidArgumentError):
            tf.random_normal([2], dtype=tf.int32)


def test_gamma_and_poisson_statistics() -> None:
    """Means and variances within five standard errors; a gamma sample moves with its parameter as its mean does."""
    n = 20_000
    with tf.Graph().as_default(), tf.Session() as session:
        alpha = tf.constant([0.3, 4.0])
        gamma = tf.random_gamma([n], alpha, beta=2.0, seed=1)
        slope = tf.gradients(tf.reduce_mean(gamma, 0), alpha)[0]
        poisson = tf.random_poisson([0.0, 0.4, 30.0], [n], dtype=tf.int32, seed=2)
        g, d, p = session.run([gamma, slope, poisson])
    for found, mean, variance in (
        (g, np.array([0.15, 2.0]), np.array([0.075, 1.0])),
        (p, np.array([0, 0.4, 30]), np.array([0, 0.4, 30])),
    ):
        assert (np.abs(found.mean(0) - mean) <= 5 * np.sqrt(variance / n)).all()
        assert (np.abs(found.var(0) - variance) <= 0.1 * variance).all()
    assert p.dtype == np.int32 and g.min() > 0
    np.testing.assert_allclose(d, 0.5, rtol=0.1)  # the mean is alpha / beta


def test_bounded_normal_statistics() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        draw = tf.parameterized_truncated_normal([2, 20_000], [0.0, 1.0], 1.0, [-1.0, 9.0], [1.0, 10.0], seed=3)
        found = session.run(draw)
        with pytest.raises(tf.errors.InvalidArgumentError, match="minvals"):
            session.run(tf.parameterized_truncated_normal([3], minvals=2.0, maxvals=1.0))
    assert found[0].min() >= -1 and found[0].max() <= 1 and abs(found[0].mean()) < 0.02
    assert abs(found[0].var() - 0.2912) < 0.01  # 1 - 2 phi(1) / (2 Phi(1) - 1)
    assert found[1].min() >= 9 and found[1].max() <= 10 and abs(found[1].mean() - 9.12) < 0.01


def test_an_empty_range_of_integers_is_an_error_of_the_step_that_draws_from_it() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        n = tf.size(tf.zeros([0]))
        chosen = tf.cond(n > 0, lambda: tf.random_uniform([], maxval=n, dtype=tf.int32), lambda: tf.constant(-1))
        assert session.run(chosen) == -1
        assert session.run(tf.random_uniform([0], maxval=0, dtype=tf.int32)).shape == (0,)
        for shape in ([], [2]):
            drawn = tf.random_uniform(shape, maxval=0, dtype=tf.int32)
            with pytest.raises(tf.errors.InvalidArgumentError, match="Need minval < maxval, got 0 >= 0"):
                session.run(drawn)


def test_a_shape_may_hold_tensors():
    with tf.Graph().as_default(), tf.Session() as session:
        n = tf.placeholder(tf.int32, [])
        drawn = [tf.random_gamma([n, 2], 1.0), tf.random_poisson(2.0, [n])]
        assert [x.shape for x in session.run(drawn, {n: 3})] == [(3, 2), (3,)]


def test_poisson_samples_are_looked_up_in_tables_of_the_distribution(rng):
    special = pytest.importorskip("scipy.special")
    u, rate = rng.random((200, 3)), np.array([0.0, 0.5, 40.0])
    found = gamma_poisson._inverse_poisson(special, rate, u)  # a table for each rate
    few = [gamma_poisson._inverse_poisson(special, rate, row) for row in u]
    assert (found == few).all()


def test_a_gamma_distribution_of_an_array_has_the_given_dtype() -> None:
    with tf.Graph().as_default():
        assert tf.random_gamma(np.array([2]), np.float64(2.0)).dtype == tf.float32
        assert tf.random_gamma([2], np.ones(2), np.ones(2)).dtype == tf.float32
        assert tf.random_gamma([2], np.ones(2, np.float32), dtype=tf.float64).dtype == tf.float64
