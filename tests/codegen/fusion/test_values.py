"""Generated kernels compute what the host kernels compute."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tfnb as tf

pytestmark = pytest.mark.opencl
RNG = np.random.default_rng(0)


def f(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


def positive(*shape):
    return np.abs(f(*shape)) + 0.1


def ints(low, high, dtype, *shape):
    return RNG.integers(low, high, shape).astype(dtype)


BROADCASTS = [((5, 7), (7,)), ((3, 4, 5), (3, 1, 5)), ((3, 4, 5), (4, 1)), ((33,), ()), ((1, 1), (17, 1)), ((), ())]


@pytest.mark.parametrize("shapes", BROADCASTS)
def test_broadcasting(check, shapes):
    check(lambda a, b: [a + b, a * b - 2.0 * a, tf.maximum(a, b)], f(*shapes[0]), f(*shapes[1]))


@pytest.mark.parametrize("n", [1, 15, 16, 17, 1000, 100_003])
def test_lengths(check, n):
    check(lambda a: [tf.tanh(a * 1.1 + 0.1), tf.reduce_sum(a * a), tf.reduce_max(a)], f(n), tolerance=1e-4)


SHAPES = [(7, 13, 19), (100, 10), (1000, 333), (3, 70_000), (64, 1, 5), (2, 3, 4, 5)]


@pytest.mark.parametrize("shape", SHAPES)
def test_reductions_over_all_axes(check, shape):
    axes = [[0], [1], [0, 1], list(range(len(shape)))] + ([[0, 2], [1, 2]] if len(shape) > 2 else [])

    def build(a):
        sums = [tf.reduce_sum(a, x) for x in axes]
        return sums + [tf.reduce_max(a, x, keepdims=True) for x in axes] + [tf.reduce_mean(a, x) for x in axes]

    check(build, f(*shape), tolerance=2e-4)


def test_reductions_of_booleans(check):
    def build(a):
        return [
            tf.reduce_any(a > 2.5, 1),
            tf.reduce_all(a > -2.5, 1),
            tf.reduce_any(a > 2.0, 0),
            tf.reduce_all(a > 9.0),
        ]

    check(build, f(40, 33))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.uint8, np.int16])
def test_argmax_takes_the_first_of_equals(check, dtype):
    x = ints(0, 5, dtype, 23, 37)
    check(lambda a: [tf.argmax(a, 1), tf.argmax(a, 0), tf.argmin(a, 1), tf.argmin(a, 0)], x)


def test_argmax_of_minus_infinity_is_the_first(check):
    check(lambda a: [tf.argmax(a, 1), tf.argmax(a, 0)], np.full((5, 20), -np.inf, np.float32))


@pytest.mark.parametrize("shape", [(64, 10), (33, 1000), (2, 3, 4), (1, 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_softmax_family(check, shape, dtype):
    def build(a, b):
        labels = tf.nn.softmax(b)
        loss = tf.nn.softmax_cross_entropy_with_logits(logits=a, labels=labels)
        return [tf.nn.softmax(a), tf.nn.log_softmax(a), loss, tf.gradients(loss, a)[0]]

    check(build, f(*shape, dtype=dtype), f(*shape, dtype=dtype))


@pytest.mark.parametrize("axes", [[0], [0, 1], [0, 1, 2], [1, 2]])
def test_moments(check, axes):
    check(lambda a: tf.nn.moments(a, axes), f(9, 8, 7, 21), tolerance=1e-4)


def test_array_movement(check):
    def build(a, b):
        return [
            tf.transpose(a),
            tf.transpose(a + 1.0),
            tf.concat([a, b], 1),
            tf.concat([a, b], 0),
            a[1:3, 2:5],
            a[::2, ::-1],
            tf.pad(a, [[1, 2], [0, 3]]),
            tf.tile(a, [2, 3]),
            tf.stack([a, b], 1),
            tf.unstack(a)[2],
            tf.reshape(tf.tanh(tf.reshape(a, [7, 35])), [49, 5]) + 1.0,
        ]

    check(build, f(35, 7), f(35, 7))


@pytest.mark.parametrize("order", [[0, 2, 1], [2, 0, 1], [1, 0, 2], [2, 1, 0]])
def test_transposes(check, order):
    check(lambda a: tf.transpose(a, order), f(18, 33, 20))


def test_many_operands(check):
    xs = [f(5, 33) for _ in range(100)]
    check(lambda *a: [tf.add_n(list(a)), tf.reduce_sum(tf.add_n(list(a)), 1)], *xs, tolerance=1e-4)


def test_concatenation_of_many(check):
    xs = [f(5, 33) for _ in range(20)]
    check(lambda *a: [tf.concat(list(a), 0), tf.concat(list(a), 1), tf.stack(list(a), 1) * 2.0], *xs)


def test_sum_of_padded_steps(check):
    xs = [f(5, 1, 33) for _ in range(20)]
    check(lambda *a: tf.add_n([tf.pad(x, [[0, 0], [t, 19 - t], [0, 0]]) for t, x in enumerate(a)]), *xs)


def test_tiles_and_big_concatenation(check):
    check(lambda a, b: [tf.tile(a, [1, 4]), tf.tile(b, [3, 9]), tf.concat([a, b], 0)], f(300, 333), f(20, 333))


def test_reshape_between_broadcasts(check):
    check(lambda a, b: tf.reshape(tf.reshape(a, [12, 5]) + b, [3, 20]) * 2.0, f(60), f(5))


def test_gather_and_one_hot(check):
    check(lambda a, i: [tf.gather(a, i), tf.one_hot(i, 12)], f(12, 9), ints(0, 12, np.int32, 33))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64])
def test_integers(check, dtype):
    def build(a, b):
        return [
            a + b,
            a * b,
            a - b,
            a // b,
            a % b,
            tf.maximum(a, b),
            tf.reduce_sum(a, 1),
            tf.reduce_max(b, 0),
            tf.cast(a, tf.float32),
            a < b,
            tf.equal(a, b),
        ]

    check(build, ints(0, 120, dtype, 20, 33), ints(1, 7, dtype, 20, 33))


def test_signed_division_rounds_down(check):
    check(lambda a, b: [a // b, a % b], ints(-9, 9, np.int32, 50, 3), ints(1, 5, np.int32, 50, 3) * -1)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_small_floats_are_storage(check, name):
    x = tf.as_dtype(name).as_numpy_dtype
    # a fused chain may keep what separate kernels would round
    check(
        lambda a, b: [a + b, a * b, tf.reduce_sum(a, 1), tf.cast(a, tf.float32)],
        f(20, 33).astype(x),
        f(33).astype(x),
        tolerance=3e-2,
    )


def test_casts(check):
    targets = [tf.int32, tf.int64, tf.float64, tf.bool, tf.uint8, tf.float16]
    check(lambda a: [tf.cast(a, d) for d in targets] + [tf.cast(tf.cast(a, tf.bool), tf.float32)], positive(100) * 10)


def test_selection(check):
    def build(a, b):
        return [
            tf.where(a > b, a, b),
            tf.logical_and(a > 0.0, b > 0.0),
            tf.logical_not(a > b),
            tf.logical_xor(a > 0.0, b > 0.0),
        ]

    check(build, f(20, 33), f(20, 33))


UNARY = (
    "exp log sqrt rsqrt sigmoid tanh abs sign floor ceil sin cos square erf log1p expm1 lgamma digamma atan "
    "reciprocal negative rint"
).split()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_functions(check, dtype):
    x = positive(37).astype(dtype)
    check(lambda a: [getattr(tf, name)(a) for name in UNARY], x)
    check(lambda a: [tf.acos(a), tf.asin(a), tf.tan(a)], (x / 10).astype(dtype))


@pytest.mark.parametrize("count", [1, 2, 3, 37])
def test_lgamma_reaches_the_end_of_its_range(device, count):
    """The results of large doubles are finite up to the largest number; C's function may say inf before."""
    from runner import run_graph

    x = np.linspace(2.5e305, 2.5599e305, count)[::-1]
    with tf.Graph().as_default() as graph:
        a = tf.placeholder(tf.float64, x.shape)
        fetches = [tf.lgamma(a), tf.lgamma(a * 2.0), tf.lgamma(a / 1e6)]
    (near, beyond, below), _ = run_graph(device, graph, {a: x}, fetches)
    np.testing.assert_allclose(near, [math.lgamma(value) for value in x], rtol=1e-15)
    np.testing.assert_allclose(below, [math.lgamma(value / 1e6) for value in x], rtol=1e-15)
    assert np.isposinf(beyond).all()


def test_no_elements(check):
    check(lambda a: [a + 1.0, tf.reduce_sum(a, 0), tf.reduce_sum(a, 1), tf.reduce_max(a, 0), tf.transpose(a)], f(0, 5))


def test_random_numbers_are_those_of_the_host(check):
    def build(a):
        return [
            a + tf.random_uniform([1001], seed=1),
            tf.random_normal([33, 7], seed=2),
            tf.random_uniform([50], 0, 9, tf.int32),
        ]

    check(build, f(1001))


def test_mean_of_a_million(device):
    from runner import run_graph

    x = RNG.random(1_000_003).astype(np.float32) + 1.0
    with tf.Graph().as_default() as graph:
        a = tf.placeholder(tf.float32, x.shape)
        columns = tf.reduce_mean(tf.reshape(a, [1_000_003, 1]) * tf.ones([1, 3]), 0)
        fetches = [tf.reduce_mean(a), columns]
    got, _ = run_graph(device, graph, {a: x}, fetches)
    exact = x.astype(np.float64).mean()
    for value in got:
        np.testing.assert_allclose(value.astype(np.float64), exact, rtol=1e-6)


@pytest.mark.parametrize("optimize", [True, False])
def test_without_fusion_too(check, optimize):
    def build(a, b, c):
        h = tf.nn.relu(tf.matmul(a, b) + c)
        return [h, tf.nn.softmax(h * 0.1), tf.reduce_sum(h)]

    check(build, f(20, 30), f(30, 40), f(40), tolerance=1e-3, optimize=optimize)


def test_indices_beyond_an_int(check, monkeypatch):
    from tfnb.codegen.fusion import nest

    monkeypatch.setattr(nest, "LONG_FROM", 0)

    def build(a, b, i):
        return [
            tf.tanh(a) + b,
            tf.reduce_sum(a),
            tf.reduce_sum(a, 1),
            tf.reduce_max(a, 0),
            tf.nn.softmax(a),
            tf.argmax(a, 1),
            tf.argmax(a, 0),
            tf.transpose(a) * 2.0,
            tf.concat([a, a], 1),
            a[:, ::-1],
            tf.gather(a, i),
            tf.one_hot(i, 50),
            tf.random_uniform([40, 5], seed=3),
        ]

    check(build, f(50, 33), f(33), ints(0, 50, np.int32, 9), tolerance=1e-4)
