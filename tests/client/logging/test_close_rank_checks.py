"""Checks of late 1.x programs: closeness, ranks, dtypes, shapes."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf


def test_near_numbers_pass_and_others_fail():
    x = tf.placeholder(tf.float32, [2])
    near = tf.debugging.assert_near(x, [1.0, 2.0], atol=0.01)
    with tf.Session() as sess:
        sess.run(near, {x: [1.0, 2.0001]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="not near"):
            sess.run(near, {x: [1.0, 2.1]})


def test_ranks_and_shapes():
    x, unknown = tf.placeholder(tf.float32, [2, None]), tf.placeholder(tf.float32)
    with pytest.raises(ValueError, match="rank"):
        tf.assert_rank_in(x, [1, 3])
    rank = tf.assert_rank_in(unknown, [1, 3])
    shapes = tf.debugging.assert_shapes({x: ["n", 3], unknown: [None]})
    with tf.Session() as sess:
        sess.run(rank, {unknown: np.zeros(3)})
        with pytest.raises(tf.errors.InvalidArgumentError, match="rank"):
            sess.run(rank, {unknown: np.zeros((3, 3))})
        sess.run(shapes, {x: np.zeros((2, 3)), unknown: [1.0]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="size 3"):
            sess.run(shapes, {x: np.zeros((2, 4)), unknown: [1.0]})
    with pytest.raises(ValueError, match="size"):
        tf.debugging.assert_shapes({x: ["n", "n"], tf.zeros([3]): ["n"]})
    with pytest.raises(ValueError, match="size"):
        tf.debugging.assert_shapes([(x, ["n", "n"]), (tf.zeros([3]), ["n"])])


def test_dtypes_and_iterables():
    assert tf.assert_same_float_dtype([tf.constant(1.0)]) == tf.float32
    with pytest.raises(TypeError):
        tf.assert_same_float_dtype([tf.constant(1)])
    with pytest.raises(TypeError):
        tf.assert_proper_iterable(tf.constant([1, 2]))
    with pytest.raises(ValueError, match="scalar"):
        tf.assert_scalar([1, 2])


def test_ranks_that_are_tensors():
    with pytest.raises(ValueError, match="Rank must be a scalar"):
        tf.debugging.assert_rank_in(tf.constant([1, 2]), (np.int32(1), np.int32([2, 1])))
    with pytest.raises(TypeError, match="must be of type <dtype: 'int32'>"):
        tf.debugging.assert_rank_in(tf.constant([1, 2]), (1, 0.5))
    one, other = tf.placeholder(tf.int32), tf.placeholder(tf.int32)
    check = tf.debugging.assert_rank_in(tf.constant([1, 2], name="mine"), (one, other))
    with tf.Session() as sess:
        sess.run(check, {one: 0, other: 1})
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"mine.*must have rank in"):
            sess.run(check, {one: 0, other: 2})
        with pytest.raises(tf.errors.InvalidArgumentError, match="Rank must be a scalar"):
            sess.run(check, {one: 1, other: [2, 1]})
