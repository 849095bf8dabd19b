"""Keywords of late 1.x: synchronization, aggregation and shape of variables, unconnected gradients."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf


def test_copies_made_equal_on_read_are_not_trainable():
    on_read = tf.VariableSynchronization.ON_READ
    v = tf.Variable(1.0, synchronization=on_read, aggregation=tf.VariableAggregation.SUM, use_resource=True)
    w = tf.get_variable("w", [2], synchronization=on_read)
    assert not v.trainable and not w.trainable and tf.trainable_variables() == []
    assert tf.get_variable("x", [2], aggregation=tf.VariableAggregation.MEAN).trainable
    with pytest.raises(ValueError, match="cannot be trainable"):
        tf.Variable(1.0, trainable=True, synchronization=on_read)
    with pytest.raises(ValueError, match="VariableAggregation"):
        tf.get_variable("y", [2], aggregation="mean")


def test_a_variable_may_have_a_less_definite_shape_than_its_first_value():
    v = tf.Variable(np.zeros((2, 3), np.float32), shape=[None, 3])
    assert v.shape.as_list() == [None, 3]
    longer = tf.assign(v, np.ones((4, 3), np.float32), validate_shape=False)
    with tf.Session() as sess:
        sess.run(v.initializer)
        sess.run(longer)
        assert sess.run(v).shape == (4, 3)
    with pytest.raises(ValueError):
        tf.Variable(np.zeros((2, 3)), shape=[None, 4])


def test_unconnected_gradients_may_be_zeros():
    x, y = tf.constant([1.0, 2.0]), tf.constant([3.0])
    assert tf.gradients(x * x, [x, y])[1] is None
    grads = tf.gradients(x * x, [x, y], unconnected_gradients=tf.UnconnectedGradients.ZERO)
    with tf.Session() as sess:
        np.testing.assert_array_equal(sess.run(grads)[1], [0.0])
    with pytest.raises(ValueError):
        tf.gradients(x, y, unconnected_gradients="nothing")


def test_a_hint_of_a_dtype_is_followed_where_the_value_allows_it():
    assert tf.convert_to_tensor(1, dtype_hint=tf.float32).dtype == tf.float32
    assert tf.convert_to_tensor("a", dtype_hint=tf.float32).dtype == tf.string
