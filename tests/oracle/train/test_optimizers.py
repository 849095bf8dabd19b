"""Optimizers, schedules and moving averages against TensorFlow: the same numbers after several steps."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfnb as tf

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tensorflow = pytest.importorskip("tensorflow")
tf1 = tensorflow.compat.v1

STEPS = 10
OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda t: t.GradientDescentOptimizer(0.1),
    "momentum": lambda t: t.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda t: t.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adagrad": lambda t: t.AdagradOptimizer(0.1),
    "adadelta": lambda t: t.AdadeltaOptimizer(1.0, rho=0.9, epsilon=1e-6),
    "rmsprop": lambda t: t.RMSPropOptimizer(0.01),
    "rmsprop with momentum": lambda t: t.RMSPropOptimizer(0.01, 0.8, 0.5, 1e-3),
    "rmsprop centered": lambda t: t.RMSPropOptimizer(0.01, 0.8, 0.5, 1e-3, centered=True),
    "adam": lambda t: t.AdamOptimizer(0.05),
    "adam, other moments": lambda t: t.AdamOptimizer(0.05, beta1=0.5, beta2=0.9, epsilon=1e-3),
    "ftrl": lambda t: t.FtrlOptimizer(0.1),
    "ftrl l1 l2": lambda t: t.FtrlOptimizer(
        0.1, -0.5, 0.1, l1_regularization_strength=0.05, l2_regularization_strength=0.1
    ),
    "ftrl power": lambda t: t.FtrlOptimizer(0.1, -0.3, 0.2),
    "proximal sgd": lambda t: t.ProximalGradientDescentOptimizer(0.1, 0.01, 0.02),
    "proximal adagrad": lambda t: t.ProximalAdagradOptimizer(0.1, 0.1, 0.01, 0.02),
}


def _trained(
    tf: Any,
    optimizer: Callable[[Any], Any],
    dtype: type,
    sparse: bool,
    check: Callable[[Any], None] | None = None,
) -> list[np.ndarray]:
    """The weights after each of some steps of a small regression; `sparse` reads rows of a table."""
    rng = np.random.default_rng(3)
    table, bias = rng.normal(size=(6, 3)).astype(dtype), rng.normal(size=3).astype(dtype)
    data = rng.normal(size=(STEPS, 4, 6)).astype(dtype)
    ids = np.array([[1, 4, 1, 0], [5, 5, 5, 2]] * (STEPS // 2), np.int32)
    goal = rng.normal(size=(STEPS, 4, 3)).astype(dtype)
    graph = tf.Graph()
    with graph.as_default():
        w, b = tf.Variable(table, name="w"), tf.Variable(bias, name="b")
        x, i = tf.placeholder(dtype, [4, 6]), tf.placeholder(np.int32, [4])
        y = tf.placeholder(dtype, [4, 3])
        found = tf.nn.embedding_lookup(w, i) if sparse else tf.matmul(x, w)
        loss = tf.reduce_mean(tf.square(found + b - y))
        step = tf.Variable(0, trainable=False, name="step")
        opt = optimizer(tf.train)
        train = opt.minimize(loss, global_step=step)
        init = tf.global_variables_initializer()
    if check is not None:
        check(graph)
    with tf.Session(graph=graph) as session:
        session.run(init)
        weights = []
        for k in range(STEPS):
            session.run(train, {x: data[k], i: ids[k], y: goal[k]})
            weights += session.run([w, b])
        slots = [opt.get_slot(w, name) for name in opt.get_slot_names()]
        weights += [session.run(s) for s in slots]
        assert session.run(step) == STEPS
    return weights


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps(name: str, dtype: type, sparse: bool) -> None:
    if dtype is np.float64 and name.startswith("proximal"):
        pytest.skip("TensorFlow's takes float32 only")
    ours = _trained(tf, OPTIMIZERS[name], dtype, sparse)
    theirs = _trained(tf1, OPTIMIZERS[name], dtype, sparse)
    assert len(ours) == len(theirs)
    tolerance = 3e-5 if dtype is np.float32 else 1e-9
    for k, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, err_msg=f"{name}, value {k}")


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_variables_of_slots_have_the_same_names(name: str) -> None:
    def names(tf: Any) -> dict[str, tuple[Any, ...]]:
        with tf.Graph().as_default():
            w, b = (
                tf.Variable(np.zeros((2, 3), "f"), name="a/w"),
                tf.Variable(np.zeros(3, "f"), name="b"),
            )
            opt = OPTIMIZERS[name](tf.train)
            opt.minimize(tf.reduce_sum(w * b))
            return {v.name: tuple(v.get_shape().as_list()) for v in tf.global_variables()}

    assert names(tf) == names(tf1)


SCHEDULES: dict[str, Callable[[Any, Any], Any]] = {
    "exponential": lambda t, s: t.exponential_decay(0.1, s, 7, 0.5),
    "exponential staircase": lambda t, s: t.exponential_decay(0.1, s, 7, 0.5, staircase=True),
    "natural exp": lambda t, s: t.natural_exp_decay(0.1, s, 7, 0.5),
    "natural exp staircase": lambda t, s: t.natural_exp_decay(0.1, s, 7, 0.5, True),
    "inverse time": lambda t, s: t.inverse_time_decay(0.1, s, 7, 0.5),
    "inverse time staircase": lambda t, s: t.inverse_time_decay(0.1, s, 7, 0.5, True),
    "polynomial": lambda t, s: t.polynomial_decay(0.1, s, 10, 0.01, 2.0),
    "polynomial cycle": lambda t, s: t.polynomial_decay(0.1, s, 10, 0.01, 0.5, cycle=True),
    "cosine": lambda t, s: t.cosine_decay(0.1, s, 10, 0.1),
    "piecewise": lambda t, s: t.piecewise_constant(s, [3, 8], [1.0, 0.5, 0.1]),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules(name: str) -> None:
    def rates(tf: Any) -> list[float]:
        graph = tf.Graph()
        with graph.as_default():
            step = tf.placeholder(np.int32, [])
            rate = SCHEDULES[name](tf.train, step)
        with tf.Session(graph=graph) as session:
            return [float(session.run(rate, {step: k})) for k in (0, 1, 3, 4, 6, 7, 8, 9, 10, 14, 25)]

    np.testing.assert_allclose(rates(tf), rates(tf1), rtol=1e-5)


@pytest.mark.parametrize("num_updates", [None, "step"])
@pytest.mark.parametrize("zero_debias", [False, True])
def test_moving_averages(num_updates: str | None, zero_debias: bool) -> None:
    def averages(tf: Any) -> tuple[list[Any], list[str]]:
        graph = tf.Graph()
        with graph.as_default():
            v = tf.Variable(np.array([1.0, 2.0], "f"), name="v")
            x = tf.placeholder(np.float32, [2], name="x")
            t = tf.multiply(x, 2.0, name="t")
            step = tf.Variable(0, trainable=False, name="step")
            decay = 0.8
            ema = tf.train.ExponentialMovingAverage(decay, step if num_updates else None, zero_debias=zero_debias)
            change = tf.group(v.assign_add(x), step.assign_add(1))
            update = ema.apply([v, t])
            shadows = [ema.average(v), ema.average(t)]
            names = sorted(u.name for u in tf.global_variables())
            names += [ema.average_name(v), ema.average_name(t)]
            names += sorted(ema.variables_to_restore())
            init = tf.global_variables_initializer()
        with tf.Session(graph=graph) as session:
            session.run(init)
            found = []
            for k in range(6):
                session.run(change, {x: [k, -k]})
                session.run(update, {x: [k, -k]})
                found += session.run(shadows)
        return found, names

    ours, names = averages(tf)
    theirs, wanted = averages(tf1)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    assert names == wanted


def test_gradients_of_a_vector_loss_and_clipping() -> None:
    def run(tf: Any) -> list[Any]:
        graph = tf.Graph()
        with graph.as_default():
            w = tf.Variable(np.arange(6, dtype=np.float32).reshape(2, 3), name="w")
            rows = tf.nn.embedding_lookup(w, [0, 1, 0])
            loss = tf.reduce_sum(rows**2, 1)
            opt = tf.train.GradientDescentOptimizer(0.1)
            pairs = opt.compute_gradients(loss, [w])
            clipped, norm = tf.clip_by_global_norm([g for g, _ in pairs], 1.0)
            train = opt.apply_gradients(zip(clipped, [w], strict=True))
            init = tf.global_variables_initializer()
        with tf.Session(graph=graph) as session:
            session.run(init)
            n = session.run(norm)
            session.run(train)
            return [n, session.run(w)]

    for a, b in zip(run(tf), run(tf1), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)
