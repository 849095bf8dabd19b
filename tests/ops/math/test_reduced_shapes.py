"""Static shapes of reductions over all axes."""

import pytest

import tfnb as tf


@pytest.mark.parametrize("name", ["reduce_sum", "reduce_mean", "reduce_max"])
def test_all_elements_of_a_tensor_of_unknown_rank_make_a_scalar(name):
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32)
        assert getattr(tf, name)(x).shape == ()
        assert getattr(tf, name)(x, keepdims=True).shape.ndims is None
        assert getattr(tf, name)(x, axis=[0]).shape.ndims is None
