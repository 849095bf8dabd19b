"""What a model that is changed and run again compiles: only kernels of a kind that no model before had."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf

pytestmark = pytest.mark.opencl


def built() -> int:
    """How many texts have been built in this process."""
    return sum(c.misses for c in tf.list_caches() if c.name == "generated programs")


def step(width=24, rate=0.05, optimizer=tf.train.AdamOptimizer, activation=tf.nn.tanh, n=7):
    """Trains a new model for three steps and evaluates it; returns how many texts that built."""
    before = built()
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        x, labels = tf.placeholder(tf.float32, [None, 12]), tf.placeholder(tf.int64, [None])
        hidden = activation(tf.layers.dense(x, width))
        logits = tf.layers.dense(hidden, 5)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        train = optimizer(rate).minimize(loss)
        session.run(tf.global_variables_initializer())
        rng = np.random.RandomState(n)
        feed = {x: rng.rand(n, 12).astype("f"), labels: rng.randint(0, 5, n)}
        losses = [session.run([loss, train], feed)[0] for _ in range(3)]
        trained = built() - before
        session.run([loss, tf.argmax(logits, 1)], feed)
    assert losses[2] < losses[0]
    return trained, built() - before - trained


@pytest.fixture(scope="module", autouse=True)
def _first():
    step()


@pytest.mark.parametrize(
    "edit",
    [
        {},
        {"width": 31},
        {"width": 20},
        {"rate": 0.003},
        {"n": 19},
    ],
)
def test_another_size_or_number_builds_nothing(edit):
    assert step(**edit) == (0, 0)


@pytest.mark.parametrize(
    "edit",
    [
        {"optimizer": tf.train.RMSPropOptimizer},
        {"optimizer": tf.train.FtrlOptimizer},
        {"activation": tf.nn.softsign},
    ],
)
def test_another_kind_builds_only_what_is_new(edit):
    """At most one text for the training step, and one for evaluation where the activation is new."""
    trained, evaluated = step(**edit)
    assert trained <= 2
    assert evaluated <= ("activation" in edit)
    assert step(**edit) == (0, 0)


def test_numbers_of_equal_texts_stay_apart():
    """Numbers in a text are arguments, except powers of two: each model has its own."""
    results = []
    for rate in (0.125, 0.3, 0.7):
        with tf.Graph().as_default(), tf.Session() as session:
            v = tf.Variable([1.0, 2.0, 4.0])
            train = tf.train.GradientDescentOptimizer(rate).minimize(tf.reduce_sum(tf.square(v) * 1.5))
            session.run(tf.global_variables_initializer())
            session.run(train)
            results.append(session.run(v))
    for rate, result in zip((0.125, 0.3, 0.7), results, strict=True):
        np.testing.assert_allclose(result, np.array([1, 2, 4], "f") * np.float32(1 - 3 * rate), rtol=1e-6)


def test_a_chain_whose_parts_run_apart_is_one_launch_in_a_trace():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 8])
        w = tf.Variable(tf.ones([8, 3]))
        loss = tf.reduce_mean(tf.square(tf.nn.softplus(tf.matmul(x, w))))
        train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
        session.run(tf.global_variables_initializer())
        found = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(train, {x: np.ones([5, 8])}, options=options, run_metadata=found)
    names = [n.node_name for d in found.step_stats.dev_stats if "CPU" in d.device for n in d.node_stats]
    assert len(names) > 3
    assert len(set(names)) == len(names)
