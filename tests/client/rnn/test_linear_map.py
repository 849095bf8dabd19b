"""The linear map of cells, under the names from which programs of the time import it."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.client.rnn.linear_map import LinearMap, linear_map
from tfnb.errors import InvalidArgumentError, ShapeError

X, Y = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones([2, 1], np.float32)


def test_tensors_side_by_side_times_a_kernel_plus_a_bias():
    with tf.variable_scope("cell", initializer=tf.ones_initializer()):
        both = linear_map([tf.constant(X), tf.constant(Y)], 2, True, tf.constant_initializer(0.5))
        tf.get_variable_scope().reuse_variables()
        again = linear_map([tf.constant(Y), tf.constant(X)], 2)
    assert [(v.name, v.shape.as_list()) for v in tf.global_variables()] == [
        ("cell/kernel:0", [4, 2]),
        ("cell/bias:0", [2]),
    ]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        expected = np.repeat(X.sum(1, keepdims=True) + 1.5, 2, 1)
        np.testing.assert_allclose(sess.run([both, again]), [expected, expected])


def test_the_form_up_to_1_1():
    x = tf.constant(X)
    with tf.variable_scope("", initializer=tf.zeros_initializer()):
        results = [linear_map(x, 1, True, 2.0, "a"), linear_map([x], 1, True, bias_start=3.0, scope="b")]
    assert [v.name for v in tf.global_variables()] == ["a/kernel:0", "a/bias:0", "b/kernel:0", "b/bias:0"]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert np.array(sess.run(results)).ravel().tolist() == [2.0, 2.0, 3.0, 3.0]


def test_the_names_of_programs():
    from tfnb.contrib.rnn.python.ops import core_rnn_cell
    from tfnb.python.ops import rnn_cell, rnn_cell_impl

    assert core_rnn_cell._linear is rnn_cell_impl._linear is rnn_cell._linear is linear_map
    assert core_rnn_cell._Linear is LinearMap and core_rnn_cell.EmbeddingWrapper is tf.contrib.rnn.EmbeddingWrapper


def test_what_is_refused():
    with pytest.raises(InvalidArgumentError, match="`args` must be specified"):
        linear_map([], 2)
    with pytest.raises(ShapeError, match="linear is expecting 2D arguments"):
        linear_map([tf.zeros([3])], 2)
    with pytest.raises(ShapeError, match="linear expects shape"):
        linear_map([tf.placeholder(tf.float32, [3, None])], 2)
