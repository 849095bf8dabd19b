"""Float functions: units in the last place, infinities and NaN."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

import tfnb as tf

pytestmark = pytest.mark.opencl
FUNCTIONS = {
    "exp": (np.exp, (-87.0, 88.7)),
    "expm1": (np.expm1, (-20.0, 88.0)),
    "log": (np.log, (1e-30, 1e30)),
    "log1p": (np.log1p, (-0.999, 1e4)),
    "tanh": (np.tanh, (-12.0, 12.0)),
    "sigmoid": (special.expit, (-80.0, 80.0)),
    "sin": (np.sin, (-3.0, 3.0)),
    "cos": (np.cos, (-1.5, 1.5)),
    "tan": (np.tan, (-1.5, 1.5)),
    "erf": (special.erf, (-5.0, 5.0)),
    "rsqrt": (lambda x: 1 / np.sqrt(x), (1e-30, 1e30)),
}
EDGES = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 100.0, -110.0, 1e-40, 3e38, -3e38], np.float32)


def run(device, name, x):
    from runner import run_graph

    with tf.Graph().as_default() as graph:
        a = tf.placeholder(tf.float32, x.shape)
        y = getattr(tf, name)(a)
    return run_graph(device, graph, {a: x}, [y])[0][0]


def samples(low, high):
    rng = np.random.default_rng(1)
    if low > 0:
        return np.exp(rng.uniform(np.log(low), np.log(high), 200_000)).astype(np.float32)
    spread = rng.uniform(low, high, 100_000)
    near_zero = np.clip(rng.standard_normal(100_000) * np.exp(rng.uniform(-20, 1, 100_000)), low, high)
    return np.concatenate([spread, near_zero]).astype(np.float32)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_within_four_units_in_the_last_place(device, name):
    exact, (low, high) = FUNCTIONS[name]
    x = samples(low, high)
    want = exact(x.astype(np.float64))
    unit = np.spacing(np.abs(want.astype(np.float32))).astype(np.float64)
    error = np.abs(run(device, name, x).astype(np.float64) - want) / unit
    normal = np.abs(want) > 1.2e-38
    assert error[normal].max() <= 4, (error[normal].max(), x[normal][error[normal].argmax()])


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
@pytest.mark.parametrize("n", [12, 1])
def test_edges_are_exact(device, name, n):
    """Also for one element, which scalar code computes. A subnormal number is zero."""
    known = np.where(np.abs(EDGES) < np.finfo(np.float32).tiny, np.copysign(0, EDGES), EDGES)
    with np.errstate(all="ignore"):
        want = FUNCTIONS[name][0](known.astype(np.float64)).astype(np.float32)
    got = run(device, name, EDGES) if n == 12 else np.array([run(device, name, EDGES[i]) for i in range(12)])
    for x, a, b in zip(EDGES, got, want, strict=True):
        assert (
            (np.isnan(a) and np.isnan(b))
            or a == b
            or abs(a - b) <= 4 * np.spacing(abs(b))
            or (abs(b) < 1.2e-38 and abs(a) < 1.2e-38)
        ), (name, x, a, b)


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
@pytest.mark.parametrize("high", [100.0, 8000.0, 1e5, 1e30])
def test_large_angles(device, name, high):
    x = np.random.default_rng(4).uniform(-high, high, 5000).astype(np.float32)
    want = getattr(np, name)(x.astype(np.float64))
    got = run(device, name, x)
    assert np.all(np.abs(got - want) <= 2e-6 * np.maximum(1, want**2))


def test_inverse_error_function(device):
    from runner import run_graph

    from tfnb.ir import scalar
    from tfnb.ir.opdef import OpDef
    from tfnb.ir.shapes import unchanged
    from tfnb.types import float32

    inverse = OpDef(
        "TestErfinv",
        "x: T",
        "y: T",
        "",
        types={"T": (float32,)},
        infer=unchanged,
        scalar=lambda attrs, x: scalar.erfinv(x),
    )
    x = np.concatenate([np.linspace(-1, 1, 20_001), [1 - 6e-8, 1e-10, 2.0]]).astype(np.float32)
    with tf.Graph().as_default() as graph:
        a = tf.placeholder(tf.float32, x.shape)
        y = inverse(a)
    got = run_graph(device, graph, {a: x}, [y])[0][0]
    want = special.erfinv(x.astype(np.float64))
    inside = np.abs(x) < 1
    np.testing.assert_allclose(got[inside], want[inside], rtol=6e-7)
    np.testing.assert_array_equal(got[~inside], want[~inside].astype(np.float32))


def test_nan_wins_in_max_and_min(device):
    from runner import run_graph

    x = np.ones((4, 40), np.float32)
    x[1, 37] = x[3, 0] = np.nan
    with tf.Graph().as_default() as graph:
        a = tf.placeholder(tf.float32, x.shape)
        fetches = [
            tf.reduce_max(a, 1),
            tf.reduce_min(a, 1),
            tf.reduce_max(a, 0),
            tf.maximum(a, 2.0),
            tf.maximum(2.0 * a[0], a[1]),
            tf.nn.relu(a),
            tf.reduce_max(a),
        ]
    found, _ = run_graph(device, graph, {a: x}, fetches)
    assert np.isnan(found[0]).tolist() == [False, True, False, True]
    assert np.isnan(found[1]).tolist() == [False, True, False, True]
    assert np.flatnonzero(np.isnan(found[2])).tolist() == [0, 37]
    assert np.isnan(found[3]).sum() == 2
    assert np.flatnonzero(np.isnan(found[4])).tolist() == [37]
    assert np.isnan(found[5]).sum() == 2
    assert np.isnan(found[6])


def test_digamma(device):
    x = np.concatenate([samples(1e-6, 1e6), samples(-20.0, 20.0)])
    want = special.psi(x.astype(np.float64))
    error = np.abs(run(device, "digamma", x) - want)
    assert (error / (1 + np.abs(want)))[x > 0].max() <= 1.5e-6
    away = np.abs(x - np.rint(x)) > 0.01  # near a pole the argument's own rounding shows
    assert (error / (1 + np.abs(want)))[(x < 0) & away].max() <= 1e-4
    edges = run(device, "digamma", np.resize(np.array([0, -0.0, -1, -2, -np.inf, np.nan, -1e9], np.float32), 35))
    assert np.isnan(edges).all()
    assert np.isposinf(run(device, "digamma", np.full(20, np.inf, np.float32))).all()


@pytest.mark.parametrize("function", [tf.sin, tf.cos, tf.tan], ids=["sin", "cos", "tan"])
def test_an_element_does_not_depend_on_those_beside_it(function):
    """Nor on the memory behind the last one, which is read with it: one far from 0 is computed in another way."""
    values = np.linspace(-8, 8, 1024, dtype=np.float32)
    beside_far = values.copy()
    beside_far[::16] = 1e6
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [1024])
        y = function(x)
        found, wanted = session.run(y, {x: beside_far}), session.run(y, {x: values})
    near = np.arange(1024) % 16 > 0
    np.testing.assert_array_equal(found[near], wanted[near])
