"""cuDNN's layers on any device: equal to stacks of compatible cells, with the variables that checkpoints have."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

C = tf.contrib.cudnn_rnn
X = np.random.RandomState(0).randn(4, 2, 3).astype("f")  # time, batch, features


def test_an_lstm_is_a_stack_of_compatible_cells():
    layer = C.CudnnLSTM(2, 5)
    outputs, (h, c) = layer(X)
    names = [v.op.name for v in tf.global_variables()]
    assert names[0] == "cudnn_lstm/rnn/multi_rnn_cell/cell_0/cudnn_compatible_lstm_cell/kernel"
    assert len(names) == 4 and layer.variables == tf.global_variables()
    again, _ = layer(X[:2])
    with tf.variable_scope("cudnn_lstm", reuse=True):
        cells = tf.nn.rnn_cell.MultiRNNCell([C.CudnnCompatibleLSTMCell(5) for _ in range(2)])
        expected, state = tf.nn.dynamic_rnn(cells, X, dtype=tf.float32, time_major=True)
    assert len(tf.global_variables()) == 4
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        found = sess.run([outputs, h, c, expected, state, again])
    np.testing.assert_allclose(found[0], found[3], atol=1e-6)
    np.testing.assert_allclose(found[5], found[0][:2], atol=1e-6)
    np.testing.assert_allclose(found[1], [s.h for s in found[4]], atol=1e-6)
    np.testing.assert_allclose(found[2], [s.c for s in found[4]], atol=1e-6)
    assert layer.state_shape(2) == ([2, 2, 5],) * 2


def test_both_directions_and_a_state():
    layer = C.CudnnGRU(2, 3, direction="bidirectional", bias_initializer=tf.constant_initializer(0.5))
    _, (state,) = layer(X, sequence_lengths=[4, 2])
    outputs, (last,) = layer(X.transpose(1, 0, 2), (tf.transpose(state, [1, 0, 2]),), time_major=False)
    assert (outputs.shape.as_list()[2], last.shape.as_list()[1]) == (6, 4)
    names = {v.op.name for v in tf.global_variables()}
    prefix = "cudnn_gru/stack_bidirectional_rnn/cell_1/bidirectional_rnn/bw/cudnn_compatible_gru_cell"
    assert f"{prefix}/candidate/hidden_projection/bias" in names and len(names) == 24
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        value, final, first = sess.run([outputs, last, state])
        biases = sess.run([v for v in tf.global_variables() if v.op.name.endswith("bias")])
    assert value.shape == (2, 4, 6) and final.shape == (2, 4, 3) and first.shape == (4, 2, 3)
    assert all((b == 0.5).all() for b in biases)
    np.testing.assert_allclose(value[:, -1, :3], final[:, 2], atol=1e-6)
    np.testing.assert_allclose(value[:, 0, 3:], final[:, 3], atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "function"), [("CudnnRNNTanh", np.tanh), ("CudnnRNNRelu", lambda x: np.maximum(x, 0))]
)
def test_plain_cells(kind, function):
    outputs, _ = getattr(C, kind)(1, 4, kernel_initializer=tf.ones_initializer())(X[:1])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        value = sess.run(outputs)
    np.testing.assert_allclose(value[0, :, 0], function(X[0].sum(1)), atol=1e-5)


def test_dropout_between_layers_is_for_training():
    layer = C.CudnnLSTM(2, 40, dropout=0.5)
    trained, plain = layer(X)[0], layer(X, training=False)[0]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert not np.allclose(*sess.run([trained, plain]))
        np.testing.assert_array_equal(sess.run(plain), sess.run(plain))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: C.CudnnLSTM(1, 2, direction="up"),
        lambda: C.CudnnLSTM(1, 2, input_mode="skip_input"),
        lambda: C.CudnnLSTM(1, 2)(X, initial_state=[1]),
    ],
)
def test_wrong_arguments_are_refused(wrong):
    with pytest.raises((errors.InvalidArgumentError, errors.DTypeError)):
        wrong()
