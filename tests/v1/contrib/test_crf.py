"""tf.contrib.crf against all sequences of tags, one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

crf = tf.contrib.crf
RNG = np.random.default_rng(1)
X = RNG.normal(size=(3, 4, 3)).astype("f")
T = RNG.normal(size=(3, 3)).astype("f")
Y = RNG.integers(0, 3, (3, 4)).astype(np.int32)
LENGTHS = [4, 2, 1]


def score(x, tags):
    unary = sum(x[t, tag] for t, tag in enumerate(tags))
    return unary + sum(T[a, b] for a, b in itertools.pairwise(tags))


def test_scores_likelihoods_and_decoding():
    fetches = [
        crf.crf_log_likelihood(X, Y, LENGTHS, T)[0],
        crf.crf_sequence_score(X, Y, LENGTHS, T),
        *crf.crf_decode(X, T, LENGTHS),
    ]
    allowed = Y[:, :, None] != np.arange(3)
    fetches.append(crf.crf_multitag_sequence_score(X, allowed, LENGTHS, T))
    with tf.Session() as session:
        likelihood, scores, tags, best, several = session.run(fetches)
    for i, n in enumerate(LENGTHS):
        every = {tags: score(X[i], tags) for tags in itertools.product(range(3), repeat=n)}
        own = score(X[i], Y[i, :n])
        norm = np.logaddexp.reduce(list(every.values()))
        np.testing.assert_allclose([scores[i], likelihood[i]], [own, own - norm], rtol=1e-4)
        top = max(every, key=every.__getitem__)
        assert tags[i].tolist() == [*top, *[0] * (4 - n)]
        np.testing.assert_allclose(best[i], every[top], rtol=1e-5)
        some = [v for k, v in every.items() if all(allowed[i, t, tag] for t, tag in enumerate(k))]
        np.testing.assert_allclose(several[i], np.logaddexp.reduce(some), rtol=1e-4)
    assert crf.viterbi_decode(X[0], T)[0] == tags[0].tolist()


def test_transitions_are_a_variable_that_is_trained():
    loss = -tf.reduce_mean(crf.crf_log_likelihood(tf.constant(X), Y, LENGTHS)[0])
    assert [v.op.name for v in tf.trainable_variables()] == ["transitions"]
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first = session.run(loss)
        for _ in range(5):
            session.run(train)
        assert session.run(loss) < first
    with pytest.raises(errors.InvalidArgumentError, match="unknown"):
        crf.crf_log_likelihood(tf.placeholder(tf.float32), Y, LENGTHS)


def test_cells_give_what_the_functions_give():
    forward, backward = crf.CrfDecodeForwardRnnCell(T), crf.CrfDecodeBackwardRnnCell(3)
    sources, best = tf.nn.dynamic_rnn(
        forward, tf.constant(X[:, 1:]), initial_state=tf.constant(X[:, 0]), dtype=tf.int32
    )
    last = tf.expand_dims(tf.cast(tf.argmax(best, 1), tf.int32), 1)
    earlier, _ = tf.nn.dynamic_rnn(backward, sources[:, ::-1], initial_state=last, dtype=tf.int32)
    sums, _ = tf.nn.dynamic_rnn(crf.CrfForwardRnnCell(T), tf.constant(X[:, 1:]), initial_state=tf.constant(X[:, 0]))
    full = [4, 4, 4]
    with tf.Session() as session:
        got = session.run([tf.concat([earlier[:, ::-1, 0], last], 1), tf.reduce_logsumexp(sums[:, -1], 1)])
        wanted = session.run([crf.crf_decode(X, T, full)[0], crf.crf_log_norm(X, full, T)])
    np.testing.assert_array_equal(got[0], wanted[0])
    np.testing.assert_allclose(got[1], wanted[1], rtol=1e-5)
