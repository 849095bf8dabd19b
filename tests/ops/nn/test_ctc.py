"""Connectionist temporal classification: against the sum over all alignments, its gradient, decoders, bad input."""

from __future__ import annotations

from itertools import groupby, product
from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import InvalidArgumentError, NotFoundError, ShapeError

pytestmark = pytest.mark.opencl
RNG = np.random.default_rng(5)
FRAMES, CLASSES = 5, 4
SCORES = RNG.standard_normal((FRAMES, 2, CLASSES))
LABELS = [[1, 1], [0, 2]]
LENGTHS = [5, 4]


def log_probabilities(scores: np.ndarray, length: int) -> dict[tuple[int, ...], float]:
    """Label sequence -> log of its probability, by going through all alignments."""
    y = scores - np.log(np.exp(scores).sum(-1, keepdims=True))
    found: dict[tuple[int, ...], float] = {}
    for path in product(range(CLASSES), repeat=length):
        labels = tuple(k for k, _ in groupby(path) if k != CLASSES - 1)
        p = sum(y[t, k] for t, k in enumerate(path))
        found[labels] = np.logaddexp(found.get(labels, -np.inf), p)
    return found


def sparse(rows: list[list[int]]) -> Any:
    indices = [(b, i) for b, row in enumerate(rows) for i in range(len(row))]
    values = np.array([k for row in rows for k in row], np.int32)
    return tf.SparseTensor(indices, values, [len(rows), max(map(len, rows))])


def run(*fetches: Any, **feeds: Any) -> Any:
    with tf.Session() as session:
        return session.run(list(fetches))


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def test_loss_is_the_sum_over_alignments() -> None:
    loss = tf.nn.ctc_loss(sparse(LABELS), SCORES, LENGTHS)
    old = tf.nn.ctc_loss(SCORES, sparse(LABELS), LENGTHS)  # 0.x's order
    batch_first = tf.nn.ctc_loss(
        labels=sparse(LABELS), logits=SCORES.transpose(1, 0, 2), sequence_length=LENGTHS, time_major=False
    )
    want = [-log_probabilities(SCORES[:, b], n)[tuple(LABELS[b])] for b, n in enumerate(LENGTHS)]
    for got in run(loss, old, batch_first):
        np.testing.assert_allclose(got, want, rtol=1e-10)


def test_gradient_by_differences() -> None:
    x = tf.placeholder(tf.float64, SCORES.shape)
    weights = np.array([1.0, -2.5])
    total = tf.reduce_sum(tf.nn.ctc_loss(sparse(LABELS), x, LENGTHS) * weights)
    (slope,) = tf.gradients(total, [x])
    with tf.Session() as session:
        got = session.run(slope, {x: SCORES})
        for at in [(0, 0, 1), (2, 0, 3), (3, 1, 2), (4, 1, 0), (1, 1, 3)]:
            step = np.zeros_like(SCORES)
            step[at] = 1e-6
            up, down = (session.run(total, {x: SCORES + s * step}) for s in (1, -1))
            np.testing.assert_allclose(got[at], (up - down) / 2e-6, rtol=1e-6, atol=1e-8)
    assert not got[4, 1].any()  # past the end of the sequence


def test_long_confident_sequences_stay_finite() -> None:
    scores = np.full((400, 1, 3), -60.0, np.float32)
    scores[:, :, 2] = 60.0  # blanks everywhere
    loss = tf.nn.ctc_loss(sparse([[0, 1] * 60]), scores, [400])
    (slope,) = tf.gradients(loss, [loss.op.inputs[0]])
    value, gradient = run(loss, slope)
    # 120 labels at the price of 120 each; each falls on one of the frames in order
    assert 120 * 120 - 400 < value[0] < 120 * 120
    assert np.isfinite(gradient).all() and abs(gradient.sum()) < 1e-2


def test_training_lowers_the_loss() -> None:
    w = tf.Variable(np.zeros((3, CLASSES), np.float32))
    frames = RNG.standard_normal((FRAMES * 2, 3)).astype(np.float32)
    scores = tf.reshape(tf.matmul(frames, w), [FRAMES, 2, CLASSES])
    loss = tf.reduce_mean(tf.nn.ctc_loss(sparse(LABELS), scores, LENGTHS))
    step = tf.train.GradientDescentOptimizer(0.3).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, step])[0] for _ in range(20)]
    assert losses[-1] < losses[0] - 0.5


def test_a_wide_beam_finds_the_best_sequences() -> None:
    found, score = tf.nn.ctc_beam_search_decoder(SCORES, LENGTHS, 500, 3, merge_repeated=False)
    *paths, scores = run(*found, score)
    for b, n in enumerate(LENGTHS):
        best = sorted(log_probabilities(SCORES[:, b], n).items(), key=lambda kv: -kv[1])[:3]
        np.testing.assert_allclose(scores[b], [p for _, p in best], rtol=1e-10)
        for path, (labels, _) in zip(paths, best, strict=True):
            assert path.values[path.indices[:, 0] == b].tolist() == list(labels)


def test_greedy_decoder() -> None:
    best = np.array([[0, 1], [0, 3], [3, 1], [0, 1], [2, 3]])
    scores = np.eye(CLASSES, dtype=np.float32)[best]
    (merged,), score = tf.nn.ctc_greedy_decoder(scores, LENGTHS)
    (apart,), _ = tf.nn.ctc_greedy_decoder(scores, LENGTHS, merge_repeated=False)
    m, a, s = run(merged, apart, score)
    assert m.values.tolist() == [0, 0, 2, 1, 1] and m.dense_shape.tolist() == [2, 3]
    assert a.values.tolist() == [0, 0, 0, 2, 1, 1, 1] and a.dense_shape.tolist() == [2, 4]
    assert s.tolist() == [[-5.0], [-4.0]]


@pytest.mark.parametrize(
    ("labels", "lengths", "message"),
    [
        ([[1, 1, 2], [0]], [2, 3], "3 labels, but only 2 frames"),
        ([[1], [-1]], [5, 4], "negative label"),
        ([[3, 1], [0]], [5, 4], "after one that is not below 3"),
        ([[1], [0]], [6, 4], r"sequence_length\[0\] is 6"),
        ([[1], [0]], [5, -4], r"sequence_length\[1\] is -4"),
        ([[1], [], [0]], [5, 4], "outside"),
        ([[], [0]], [5, 4], "sequence 0 has no labels"),
    ],
)
def test_bad_labels(labels: Any, lengths: Any, message: str) -> None:
    loss = tf.nn.ctc_loss(sparse(labels), SCORES, lengths)
    with pytest.raises(InvalidArgumentError, match=message):
        run(loss)


def test_bad_calls() -> None:
    with pytest.raises(InvalidArgumentError, match="SparseTensor"):
        tf.nn.ctc_loss(SCORES, [[1]], LENGTHS)
    with pytest.raises(ShapeError, match="lengths"):
        tf.nn.ctc_loss(sparse(LABELS), SCORES, [5, 5, 5])
    with pytest.raises(InvalidArgumentError, match="top_paths"):
        tf.nn.ctc_beam_search_decoder(SCORES, LENGTHS, 2, 3)
    wide = tf.nn.ctc_beam_search_decoder(SCORES, [5, 0], 10, 2)
    with pytest.raises(InvalidArgumentError, match="only 1 path"):
        run(wide[1])
    with pytest.raises(NotFoundError, match="Gradient explicitly disabled"):
        x = tf.placeholder(tf.float64, SCORES.shape)
        (slope,) = tf.gradients(tf.nn.ctc_loss(sparse(LABELS), x, LENGTHS), [x])
        tf.gradients(slope, [x])


def test_lengths_that_are_an_array_of_another_dtype():
    """Programs pass `steps * np.ones(batch)`, which is float64."""
    labels = tf.SparseTensor([[0, 0]], np.array([1], np.int32), [1, 1])
    scores = tf.constant(SCORES[:, :1].astype(np.float32))
    with tf.Session() as session:
        for call in (
            lambda n: tf.nn.ctc_loss(labels, scores, n),
            lambda n: tf.nn.ctc_greedy_decoder(scores, n)[1],
            lambda n: tf.nn.ctc_beam_search_decoder(scores, n)[1],
        ):
            expected, *found = session.run([call([4]), call(4 * np.ones(1)), call(np.array([4]))])
            assert expected.tolist() == found[0].tolist() == found[1].tolist()
