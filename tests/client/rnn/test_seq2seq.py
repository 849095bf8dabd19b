"""Sequence to sequence: attention by its formula, feeding back, buckets, losses."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

seq2seq = tf.nn.seq2seq
cells = tf.nn.rnn_cell


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def symbols(n, name):
    return [tf.placeholder(tf.int32, [None], name=f"{name}{i}") for i in range(n)]


def test_attention_by_its_formula():
    x, start = tf.placeholder(tf.float32, [2, 3]), tf.placeholder(tf.float32, [2, 4])
    memory = tf.placeholder(tf.float32, [2, 5, 6])
    outputs, state = tf.contrib.legacy_seq2seq.attention_decoder(
        [x], start, memory, cells.BasicRNNCell(4), output_size=7
    )
    v = {u.op.name.removeprefix("attention_decoder/"): u for u in tf.trainable_variables()}
    assert {k: u.shape.as_list() for k, u in v.items()} == {
        "AttnW_0": [1, 1, 6, 6],
        "AttnV_0": [6],
        "kernel": [9, 3],
        "bias": [3],
        "basic_rnn_cell/kernel": [7, 4],
        "basic_rnn_cell/bias": [4],
        "Attention_0/kernel": [4, 6],
        "Attention_0/bias": [6],
        "AttnOutputProjection/kernel": [10, 7],
        "AttnOutputProjection/bias": [7],
    }
    rng = np.random.default_rng(0)
    feeds = {t: rng.normal(size=t.shape.as_list()).astype("f") for t in (x, start, memory)}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        w = session.run(v)
        got, last = session.run([outputs[0], state], feeds)
    a, h, m = feeds.values()
    inner = np.hstack([a, np.zeros((2, 6))]) @ w["kernel"] + w["bias"]
    h = np.tanh(np.hstack([inner, h]) @ w["basic_rnn_cell/kernel"] + w["basic_rnn_cell/bias"])
    query = h @ w["Attention_0/kernel"] + w["Attention_0/bias"]
    scores = np.tanh(m @ w["AttnW_0"][0, 0] + query[:, None]) @ w["AttnV_0"]
    read = (softmax(scores)[..., None] * m).sum(1)
    want = np.hstack([h, read]) @ w["AttnOutputProjection/kernel"] + w["AttnOutputProjection/bias"]
    np.testing.assert_allclose(last, h, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_feeding_back():
    heard, said = symbols(1, "in"), symbols(2, "out")
    feed = tf.placeholder(tf.bool, [])
    with tf.variable_scope("model") as scope:
        chosen, _ = seq2seq.embedding_attention_seq2seq(heard, said, cells.GRUCell(4), 6, 5, 3, feed_previous=feed)
        count = len(tf.trainable_variables())
        scope.reuse_variables()
        plain, _ = seq2seq.embedding_attention_seq2seq(heard, said, cells.GRUCell(4), 6, 5, 3)
    assert len(tf.trainable_variables()) == count
    assert chosen[0].shape.as_list() == [None, 5]
    feeds = {t: np.array([1, 4]) for t in (*heard, *said)}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        taught = session.run([chosen, plain], feeds | {feed: False})
        np.testing.assert_allclose(taught[0], taught[1], rtol=1e-5)
        own = session.run(chosen, feeds | {feed: True})
        np.testing.assert_allclose(own[0], taught[0][0], rtol=1e-5)
        back = feeds | {said[1]: own[0].argmax(1), feed: False}
        np.testing.assert_allclose(session.run(chosen, back), own, rtol=1e-4, atol=1e-6)


def test_buckets_learn_to_copy():
    heard, said, wanted = symbols(3, "in"), symbols(3, "out"), symbols(3, "want")
    weights = [tf.placeholder(tf.float32, [None]) for _ in range(3)]

    def model(x, y):
        return seq2seq.embedding_rnn_seq2seq(x, y, cells.BasicLSTMCell(8), 5, 5, 4)

    outputs, losses = seq2seq.model_with_buckets(heard, said, wanted, weights, [(1, 1), (3, 2)], model)
    assert [len(o) for o in outputs] == [1, 2]
    assert len({v.op.name for v in tf.trainable_variables()}) == len(tf.trainable_variables()) == 8
    train = tf.train.AdamOptimizer(0.05).minimize(losses[0])
    rng = np.random.default_rng(0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        seen = []
        for _ in range(40):
            x = rng.integers(1, 5, 16)
            feeds = {heard[0]: x, said[0]: np.zeros(16), wanted[0]: x}
            seen.append(session.run([losses[0], train], feeds | {weights[0]: np.ones(16)})[0])
    assert np.mean(seen[-5:]) < 0.6 * np.mean(seen[:5])


def test_losses():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(2, 3, 4)).astype("f")
    targets = np.array([[0, 1, 2], [3, 3, 0]])
    weights = np.array([[1, 1, 0.5], [1, 0, 0]], np.float32)
    each = -np.log(np.take_along_axis(softmax(logits), targets[..., None], 2))[..., 0] * weights
    with tf.Session() as session:
        lists = [[tf.constant(a) for a in arrays] for arrays in (logits, targets, weights)]
        got = session.run(
            [
                seq2seq.sequence_loss_by_example(*lists),
                seq2seq.sequence_loss(*lists, average_across_timesteps=False),
                seq2seq.sequence_loss(*lists, softmax_loss_function=lambda inputs, labels: inputs[:, 0]),
            ]
        )
    np.testing.assert_allclose(got[0], each.sum(0) / weights.sum(0), rtol=1e-5)
    np.testing.assert_allclose(got[1], each.sum() / 3, rtol=1e-5)
    other = (logits[:, :, 0] * weights).sum(0) / weights.sum(0)
    np.testing.assert_allclose(got[2], other.mean(), rtol=1e-5)


def test_the_loss_of_whole_tensors():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(2, 3, 4)).astype("f")
    targets, weights = np.array([[0, 1, 2], [3, 3, 0]]), np.array([[1, 1, 0.5], [1, 0, 0]], "f")
    each = -np.log(np.take_along_axis(softmax(logits), targets[..., None], 2))[..., 0] * weights
    loss = tf.contrib.seq2seq.sequence_loss
    given = tf.constant(logits), tf.constant(targets), tf.constant(weights)
    with tf.Session() as session:
        got = session.run(
            [
                loss(*given),
                loss(*given, average_across_batch=False),
                loss(*given, average_across_timesteps=False),
                loss(*given, average_across_batch=False, average_across_timesteps=False),
            ]
        )
    np.testing.assert_allclose(got[0], each.sum() / weights.sum(), rtol=1e-5)
    np.testing.assert_allclose(got[1], each.sum(1) / weights.sum(1), rtol=1e-5)
    np.testing.assert_allclose(got[2], each.sum(0) / weights.sum(0), rtol=1e-5)
    np.testing.assert_allclose(got[3], each, rtol=1e-5)
    with pytest.raises(errors.ShapeError, match="rank 2"):
        loss(given[0], given[0], given[2])


def test_other_models_build():
    x = [tf.placeholder(tf.float32, [None, 3]) for _ in range(2)]
    basic, _ = seq2seq.basic_rnn_seq2seq(x, x, cells.GRUCell(4))
    names = {v.op.name.rpartition("/gru_cell")[0] for v in tf.trainable_variables()}
    assert names == {"basic_rnn_seq2seq/rnn", "basic_rnn_seq2seq/rnn_decoder"}
    tied, _ = seq2seq.tied_rnn_seq2seq(x, x, cells.GRUCell(4))
    words, _ = seq2seq.embedding_tied_rnn_seq2seq(
        symbols(2, "a"), symbols(2, "b"), cells.GRUCell(4), 6, 3, feed_previous=True
    )
    shapes = [t[-1].shape.as_list() for t in (basic, tied, words)]
    assert shapes == [[None, 4], [None, 4], [None, 6]]


def test_what_is_refused():
    with pytest.raises(errors.InvalidArgumentError, match="equally many"):
        seq2seq.sequence_loss([tf.zeros([2, 3])], [], [])
    with pytest.raises(errors.InvalidArgumentError, match="largest bucket"):
        seq2seq.model_with_buckets([], [], [], [], [(1, 1)], lambda x, y: (x, y))
    with pytest.raises(errors.InvalidArgumentError, match="at least one"):
        seq2seq.attention_decoder([], tf.zeros([2, 4]), tf.zeros([2, 5, 6]), cells.GRUCell(4))
    with pytest.raises(errors.ShapeError, match="known length"):
        memory = tf.placeholder(tf.float32, [2, None, 6])
        seq2seq.attention_decoder([tf.zeros([2, 3])], tf.zeros([2, 4]), memory, cells.GRUCell(4))
