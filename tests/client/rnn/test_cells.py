"""Recurrent cells and unrolled networks. Values: see tests/oracle."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

cells = tf.nn.rnn_cell


def shapes():
    return {v.op.name: v.shape.as_list() for v in tf.trainable_variables()}


def inputs(n=2, batch=4, size=3):
    return [tf.placeholder(tf.float32, [batch, size]) for _ in range(n)]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_an_lstm_by_its_formula():
    xs = inputs(2)
    outputs, state = tf.nn.rnn(cells.BasicLSTMCell(2), xs, dtype=tf.float32)
    assert shapes() == {"rnn/basic_lstm_cell/kernel": [5, 8], "rnn/basic_lstm_cell/bias": [8]}
    data = np.random.default_rng(0).normal(size=(2, 4, 3)).astype("f")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        w, b = session.run(tf.trainable_variables())
        got, (c_got, h_got) = session.run([outputs, state], dict(zip(xs, data, strict=True)))
    c = h = np.zeros((4, 2))
    for t in range(2):
        i, j, f, o = np.split(np.hstack([data[t], h]) @ w + b, 4, 1)
        c = sigmoid(f + 1.0) * c + sigmoid(i) * np.tanh(j)
        h = sigmoid(o) * np.tanh(c)
        np.testing.assert_allclose(got[t], h, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(c_got, c, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(h_got, got[1])


def test_rows_stop_at_their_length():
    xs = inputs(3)
    lengths = tf.placeholder(tf.int64, [4])
    outputs, state = tf.nn.static_rnn(cells.GRUCell(2), xs, dtype=tf.float32, sequence_length=lengths)
    both, _, _ = tf.contrib.rnn.static_bidirectional_rnn(
        cells.GRUCell(2), cells.GRUCell(2), xs, dtype=tf.float32, sequence_length=lengths
    )
    data = np.random.default_rng(0).normal(size=(3, 4, 3)).astype("f")
    feeds = dict(zip(xs, data, strict=True)) | {lengths: [0, 1, 2, 3]}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        out, last, pair = session.run([outputs, state, both], feeds)
        changed = session.run(both, feeds | {xs[2]: data[2] + [[1], [1], [1], [0]]})
    np.testing.assert_array_equal(np.any(np.array(out) != 0, axis=2), np.tri(4, 3, -1, bool).T)
    for row, end in enumerate([0, 1, 2, 3]):
        np.testing.assert_array_equal(last[row], out[end - 1][row] if end else np.zeros(2))
    np.testing.assert_array_equal(np.array(pair), np.array(changed))


class _Pair(tf.nn.rnn_cell.RNNCell):
    """A cell whose inputs, outputs and states are pairs: each output is an input and the number of the step."""

    state_size = output_size = (3, 3)

    def __call__(self, inputs, state, scope=None):
        (x, y), (h, c) = inputs, state
        return (x + h, y + c), (h + 1.0, c + 1.0)


@pytest.mark.parametrize("lengths", [None, [1, 3, 2, 3]])
def test_inputs_may_be_structures_of_tensors(lengths):
    xs = list(zip(inputs(3), inputs(3), strict=True))
    outputs, _ = tf.nn.static_rnn(_Pair(), xs, dtype=tf.float32, sequence_length=lengths)
    both, fw, bw = tf.nn.static_bidirectional_rnn(_Pair(), _Pair(), xs, dtype=tf.float32, sequence_length=lengths)
    data = np.random.default_rng(0).normal(size=(3, 2, 4, 3)).astype("f")
    ends = np.array(lengths or [3] * 4)[:, None]
    with tf.Session() as session:
        feeds = {x: d for pair, pairs in zip(xs, data, strict=True) for x, d in zip(pair, pairs, strict=True)}
        out, pairs, last, first = session.run([outputs, both, fw, bw], feeds)
    for t in range(3):
        for k in range(2):
            np.testing.assert_allclose(out[t][k], np.where(t < ends, data[t, k] + t, 0))
            backward = np.where(t < ends, data[t, k] + ends - 1 - t, 0)
            np.testing.assert_allclose(pairs[t][k], np.concatenate([out[t][k], backward], 1), rtol=1e-6)
    np.testing.assert_allclose([*last, *first], [np.broadcast_to(ends, (4, 3))] * 4)


@pytest.mark.parametrize("lengths", [4, [[4], [3], [2], [1]]])
def test_lengths_must_be_a_vector(lengths):
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be a vector"):
        tf.nn.static_rnn(cells.GRUCell(2), inputs(3), dtype=tf.float32, sequence_length=lengths)


def test_one_cell_given_twice_has_variables_twice():
    xs = inputs(2)
    cell = cells.DropoutWrapper(cells.BasicLSTMCell(4), output_keep_prob=0.5)
    tf.nn.static_rnn(cells.MultiRNNCell([cell] * 2), xs, dtype=tf.float32)
    assert shapes() == {
        "rnn/multi_rnn_cell/cell_0/basic_lstm_cell/kernel": [7, 16],
        "rnn/multi_rnn_cell/cell_0/basic_lstm_cell/bias": [16],
        "rnn/multi_rnn_cell/cell_1/basic_lstm_cell/kernel": [8, 16],
        "rnn/multi_rnn_cell/cell_1/basic_lstm_cell/bias": [16],
    }


def test_projections_and_embedding():
    ids = tf.placeholder(tf.int32, [None])
    cell = cells.EmbeddingWrapper(cells.GRUCell(4), 7, 3)
    cell = cells.OutputProjectionWrapper(cell, 5)
    y, state = cell(ids, cell.zero_state(tf.shape(ids)[0], tf.float32))
    inner = "output_projection_wrapper/embedding_wrapper"
    assert shapes() == {
        f"{inner}/embedding": [7, 3],
        f"{inner}/gru_cell/gates/kernel": [7, 8],
        f"{inner}/gru_cell/gates/bias": [8],
        f"{inner}/gru_cell/candidate/kernel": [7, 4],
        f"{inner}/gru_cell/candidate/bias": [4],
        "output_projection_wrapper/kernel": [4, 5],
        "output_projection_wrapper/bias": [5],
    }
    assert (y.shape.as_list(), state.shape.as_list()) == ([None, 5], [None, 4])
    narrow = cells.InputProjectionWrapper(cells.BasicRNNCell(2), 3, activation=tf.nn.relu)
    z, _ = narrow(y, narrow.zero_state(tf.shape(ids)[0], tf.float32))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(z, {ids: [1, 6]}).shape == (2, 2)


def test_dropout_of_inputs_outputs_state():
    x = tf.ones([200, 10])

    class Pass(cells.RNNCell):
        state_size = (10, 10)
        output_size = 10

        def call(self, inputs, state):
            return inputs, (inputs, inputs)

    cell = cells.DropoutWrapper(Pass(), 0.5, 0.8, 0.25, seed=3)
    y, (s, t) = cell(x, cell.zero_state(200, tf.float32))
    frozen = cells.DropoutWrapper(Pass(), 0.5, variational_recurrent=True, input_size=10, dtype=tf.float32)
    a, _ = frozen(x, None)
    b, _ = frozen(x, None)
    with tf.Session() as session:
        y, s, t, a, b = session.run([y, s, t, a, b])
    assert abs(np.mean(y != 0) - 0.4) < 0.05
    assert set(np.unique(y)) == {0, np.float32(2.5)}
    assert abs(np.mean(s != 0) - 0.125) < 0.04
    assert np.any(s != t)
    np.testing.assert_array_equal(a, b)
    assert np.all(a == a[0]) and set(np.unique(a)) <= {0, 2}


def test_an_lstm_keeps_its_memory_under_dropout():
    cell = cells.DropoutWrapper(cells.BasicLSTMCell(50), state_keep_prob=1e-6)
    _, state = cell(tf.ones([2, 3]), cell.zero_state(2, tf.float32))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        c, h = session.run(state)
    assert np.all(c != 0) and np.mean(h == 0) > 0.9


def test_a_cell_of_0_x_style():
    class Sum:
        state_size = output_size = 3

        def zero_state(self, batch_size, dtype):
            return tf.zeros([batch_size, 3], dtype)

        def __call__(self, inputs, state, scope=None):
            with tf.variable_scope(scope or "sum"):
                w = tf.get_variable("w", [3], initializer=tf.ones_initializer())
                return inputs * w + state, inputs * w + state

    xs = inputs(3)
    outputs, _ = tf.nn.rnn(Sum(), xs, dtype=tf.float32)
    assert shapes() == {"rnn/sum/w": [3]}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(outputs[-1], {x: np.ones((4, 3)) for x in xs}), np.full((4, 3), 3))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tf.nn.rnn(lambda x: x, inputs(), dtype=tf.float32), errors.InvalidArgumentError, "cell"),
        (lambda: tf.nn.rnn(cells.GRUCell(2), []), errors.InvalidArgumentError, "list"),
        (lambda: tf.nn.rnn(cells.GRUCell(2), inputs()[0]), errors.InvalidArgumentError, "unstack"),
        (lambda: tf.nn.rnn(cells.GRUCell(2), inputs()), errors.InvalidArgumentError, "dtype"),
        (lambda: cells.GRUCell(0), errors.InvalidArgumentError, "unit"),
        (lambda: cells.MultiRNNCell([]), errors.InvalidArgumentError, "at least one"),
        (lambda: cells.BasicLSTMCell(2)(inputs()[0], tf.zeros([4, 4])), errors.InvalidArgumentError, "pair"),
        (lambda: cells.DropoutWrapper(cells.GRUCell(2), 0.0), errors.InvalidArgumentError, "keep_prob"),
        (
            lambda: cells.GRUCell(2)(tf.placeholder(tf.float32, [4, None]), tf.zeros([4, 2])),
            errors.ShapeError,
            "last dimension",
        ),
        (
            lambda: cells.ResidualWrapper(cells.GRUCell(2))(inputs()[0], tf.zeros([4, 2])),
            errors.ShapeError,
            "cannot be added",
        ),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    "batch",
    [4, [4], (4,), np.int64(4), np.array([4]), tf.TensorShape([4]), tf.TensorShape([4]).dims[0]],
    ids=lambda batch: f"{type(batch).__name__} {batch}",
)
def test_the_size_of_a_batch_may_be_in_a_list(batch):
    cells = tf.nn.rnn_cell
    with tf.Graph().as_default():
        for cell in (
            cells.BasicLSTMCell(3),
            cells.GRUCell(3),
            cells.MultiRNNCell([cells.GRUCell(3), cells.LSTMCell(2)]),
        ):
            for wrapped in (cell, cells.DropoutWrapper(cell)):
                for state in tf.contrib.framework.nest.flatten(wrapped.zero_state(batch, tf.float32)):
                    assert state.shape[0] == 4
