"""Candidate samplers: distribution, distinctness, expected counts; sampled losses learn and read only their rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import InvalidArgumentError, ShapeError

pytestmark = pytest.mark.opencl
TRUE = np.array([[0], [3]], np.int64)


def sampled(make: Any, times: int = 1) -> list[Any]:
    with tf.Graph().as_default():
        made = make()
        with tf.Session() as session:
            return [session.run(made) for _ in range(times)]


def test_learned_unigrams() -> None:
    """Drawn as often as seen before, each class once to begin with; per session."""
    with tf.Graph().as_default():
        classes = tf.placeholder(tf.int64, [None, 1])
        ids, true_count, _ = tf.nn.learned_unigram_candidate_sampler(classes, 1, 4000, False, 4, seed=4)
        for _ in range(2):  # a new session knows nothing
            with tf.Session() as session:
                first = session.run([ids, true_count], {classes: [[2]] * 95 + [[0]]})
                second = session.run([ids, true_count], {classes: [[2], [0], [1]]})
            np.testing.assert_allclose(np.bincount(first[0], minlength=4) / 4000, [0.25] * 4, atol=0.03)
            np.testing.assert_allclose(first[1], np.full((96, 1), 1000.0), rtol=1e-6)
            seen = np.array([2, 1, 96, 1]) / 100
            np.testing.assert_allclose(np.bincount(second[0], minlength=4) / 4000, seen, atol=0.03)
            np.testing.assert_allclose(second[1][:, 0], seen[[2, 0, 1]] * 4000, rtol=1e-6)


def test_all_candidates() -> None:
    ((ids, true_count, count),) = sampled(lambda: tf.nn.all_candidate_sampler(TRUE, 1, 5, True))
    assert ids.tolist() == [0, 1, 2, 3, 4]
    assert true_count.tolist() == [[1.0], [1.0]] and count.tolist() == [1.0] * 5


def chances(name: str) -> np.ndarray:
    k = np.arange(10)
    if name == "uniform":
        return np.full(10, 0.1)
    if name == "log_uniform":
        return np.asarray(np.log((k + 2) / (k + 1)) / np.log(11))
    weights = (k + 1.0) ** 0.75
    return np.asarray(weights / weights.sum())


def sampler(name: str, count: int, unique: bool, classes: Any = TRUE) -> Any:
    function = getattr(tf.nn, f"{name}_candidate_sampler")
    more = {"unigrams": list(range(1, 11)), "distortion": 0.75} if name == "fixed_unigram" else {}
    return function(classes, 1, count, unique, 10, seed=4, **more)


@pytest.mark.parametrize("name", ["uniform", "log_uniform", "fixed_unigram"])
def test_with_replacement(name: str) -> None:
    ((ids, true_count, sampled_count),) = sampled(lambda: sampler(name, 50_000, False))
    p = chances(name)
    np.testing.assert_allclose(np.bincount(ids, minlength=10) / ids.size, p, atol=0.01)
    np.testing.assert_allclose(true_count, p[TRUE] * 50_000, rtol=1e-5)
    np.testing.assert_allclose(sampled_count, p[ids] * 50_000, rtol=1e-5)


@pytest.mark.parametrize("name", ["uniform", "log_uniform", "fixed_unigram"])
def test_without_replacement(name: str) -> None:
    p = chances(name)
    runs = sampled(lambda: sampler(name, 5, True), 400)
    seen = np.zeros(10)
    for ids, true_count, sampled_count in runs:
        assert len(set(ids)) == 5 and ids.min() >= 0 and ids.max() < 10
        tries = np.log1p(-sampled_count[0]) / np.log1p(-p[ids[0]])
        assert tries > 4.99 and abs(tries - round(tries)) < 1e-2
        np.testing.assert_allclose(true_count, 1 - (1 - p[TRUE]) ** tries, rtol=1e-3)
        seen[ids] += 1
    order = np.argsort(p, kind="stable")
    assert seen[order[-1]] >= seen[order[0]] or name == "uniform"
    assert not np.array_equal(runs[0][0], runs[1][0])


def test_sampler_errors() -> None:
    with tf.Graph().as_default():
        with pytest.raises(InvalidArgumentError, match="11 different classes from 10"):
            sampler("uniform", 11, True)
        with pytest.raises(ShapeError, match="num_true"):
            sampler("uniform", 1, True, [[1, 2]])
        with pytest.raises(InvalidArgumentError, match="unigrams"):
            tf.nn.fixed_unigram_candidate_sampler(TRUE, 1, 2, True, 10)
        with (
            tf.Session() as session,
            pytest.raises(InvalidArgumentError, match=r"12 is not in \[0, 10\)"),
        ):
            session.run(tf.nn.learned_unigram_candidate_sampler([[12]], 1, 1, True, 10))


def test_true_classes_outside_of_the_range() -> None:
    """As in programs that number the rows and the columns of a relation apart; the values are TensorFlow's."""
    classes = tf.constant([[0, 7], [-1, 3]], tf.int64)
    weights = [1, 2, 3, 4, 5]
    samplers = {
        "fixed": lambda unique: tf.nn.fixed_unigram_candidate_sampler(
            classes, 2, 3, unique, 5, num_reserved_ids=0, unigrams=weights
        ),
        "uniform": lambda unique: tf.nn.uniform_candidate_sampler(classes, 2, 3, unique, 5),
        "log_uniform": lambda unique: tf.nn.log_uniform_candidate_sampler(classes, 2, 3, unique, 5),
    }
    expected = {
        "fixed": [[0.2, 0.0], [0.0, 0.8]],
        "uniform": [[0.6, 0.6], [0.6, 0.6]],
        "log_uniform": [[1.1605585, 0.1972079], [np.inf, 0.37361637]],
    }
    with tf.Session() as session:
        for name, made in samplers.items():
            np.testing.assert_allclose(session.run(made(False))[1], expected[name], rtol=1e-5)
            counts = session.run(made(True))[1]
            assert (counts[0, 1] > 0) == (name != "fixed") and np.isnan(counts[1, 0]) == (name == "log_uniform")
        assert session.run(tf.nn.all_candidate_sampler(classes, 2, 5, True))[1].tolist() == [[1, 1], [1, 1]]


def test_all_classes_can_be_drawn() -> None:
    ((ids, _, _),) = sampled(lambda: sampler("log_uniform", 10, True))
    assert sorted(ids) == list(range(10))


@pytest.mark.parametrize("loss", ["nce_loss", "sampled_softmax_loss"])
def test_both_argument_orders(loss: str) -> None:
    def both() -> Any:
        weights, biases = tf.constant(np.eye(10, 4, dtype=np.float32)), tf.zeros([10])
        inputs, labels = tf.constant(np.ones((2, 4), np.float32)), tf.constant(TRUE)
        sampled_values = sampler("log_uniform", 5, True)
        call = getattr(tf.nn, loss)
        first = call(weights, biases, labels, inputs, 5, 10, sampled_values=sampled_values)
        return first, call(weights, biases, inputs, labels, 5, 10, sampled_values=sampled_values)

    ((first, second),) = sampled(both)
    assert first.shape == (2,)
    np.testing.assert_array_equal(first, second)
    with tf.Graph().as_default(), pytest.raises(InvalidArgumentError, match="integer labels"):
        getattr(tf.nn, loss)(np.eye(4), np.zeros(4), np.ones((2, 1), np.float32), np.ones((2, 4), np.float32), 2, 4)


@pytest.mark.parametrize("loss", ["nce_loss", "sampled_softmax_loss"])
@pytest.mark.parametrize("sharded", [False, True])
def test_embedding_learns(loss: str, sharded: bool) -> None:
    """Classes that are their input's number: after training the true class has the highest logit."""
    classes, dim = 20, 8
    with tf.Graph().as_default():
        tf.set_random_seed(3)
        at = tf.placeholder(tf.int32, [None])
        table = tf.Variable(tf.random_uniform([classes, dim], -0.5, 0.5))
        if sharded:
            weights: Any = [tf.Variable(tf.truncated_normal([classes // 2, dim], stddev=0.2)) for _ in range(2)]
            biases: Any = [tf.Variable(tf.zeros([classes // 2])) for _ in range(2)]
        else:
            weights = tf.Variable(tf.truncated_normal([classes, dim], stddev=0.2))
            biases = tf.Variable(tf.zeros([classes]))
        x = tf.nn.embedding_lookup(table, at)
        labels = tf.expand_dims(at, 1)
        cost = tf.reduce_mean(
            getattr(tf.nn, loss)(
                weights=weights,
                biases=biases,
                labels=labels,
                inputs=x,
                num_sampled=6,
                num_classes=classes,
            )
        )
        step = tf.train.AdagradOptimizer(0.7).minimize(cost)
        everything = tf.nn.embedding_lookup(weights, tf.range(classes))
        logits = tf.matmul(x, everything, transpose_b=True) + tf.nn.embedding_lookup(biases, tf.range(classes))
        hits = tf.reduce_mean(tf.to_float(tf.equal(tf.argmax(logits, 1), tf.to_int64(at))))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            rng = np.random.default_rng(0)
            first = session.run(cost, {at: np.arange(classes)})
            for _ in range(150 if loss == "nce_loss" else 60):
                session.run(step, {at: rng.permutation(classes)})
            assert session.run(cost, {at: np.arange(classes)}) < first
            assert session.run(hits, {at: np.arange(classes)}) >= 0.9
