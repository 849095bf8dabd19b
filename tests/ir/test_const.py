"""Values that are known while the graph is built, and the operations that can have none."""

from __future__ import annotations

import numpy as np

import tfnb as tf
from tfnb.ir.const import constant_value


def test_a_known_shape_is_a_value_whatever_lies_above_it():
    with tf.Graph().as_default():
        x = tf.tanh(tf.placeholder(tf.float32, [2, 3]))
        sizes = tf.shape(x) + 1
        assert x.op.varies and not sizes.op.varies
        np.testing.assert_array_equal(constant_value(sizes), [3, 4])


def test_what_a_step_decides_has_no_value():
    with tf.Graph().as_default():
        fed = tf.placeholder_with_default([1, 2], [2])
        ys = [fed + 1, tf.concat([[1], fed], 0), tf.Variable([1, 2]) * 2, tf.random_uniform([2])]
        assert [constant_value(y) for y in ys] == [None] * len(ys)
        # What a concatenation or the Identity that reads a variable passes on may be known in part: those are looked at.
        assert [y.op.varies for y in ys] == [True, False, False, True]


def test_the_shape_of_a_computed_constant_is_known_where_the_static_shape_is_not():
    with tf.Graph().as_default():
        places = tf.where([True, False, True])
        assert places.shape.as_list() == [None, 1] and not places.op.varies
        np.testing.assert_array_equal(constant_value(tf.shape(places)), [2, 1])
        fed = tf.where(tf.placeholder(tf.bool, [3]))
        assert fed.op.varies and constant_value(tf.shape(fed)) is None
