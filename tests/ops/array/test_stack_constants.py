"""tf.stack of values that are no tensors."""

import numpy as np
import pytest

import tfnb as tf


def test_a_stack_of_values_is_a_constant():
    with tf.Graph().as_default():
        assert tf.stack(np.ones((2, 3))).op.type == "Const"
        assert tf.stack([1, 2], name="sizes").op.name == "sizes"
        assert tf.stack([1, 2], axis=1 - 1).op.type == "Const"
        assert tf.stack([tf.constant(1), 2]).op.type == "Pack"
        assert tf.reshape(tf.ones([6]), tf.stack([2, 3])).shape == (2, 3)


def test_a_stack_of_another_dtype_is_a_type_error():
    with tf.Graph().as_default(), pytest.raises(TypeError, match="needed float32"):
        tf.convert_to_tensor([[0.0], tf.constant([0.0], tf.float64)], dtype=tf.float32)


def test_a_dimension_is_a_number_of_pieces():
    with tf.Graph().as_default():
        assert len(tf.split(tf.ones([4, 4]), tf.ones([2, 2]).get_shape()[1], axis=0)) == 2


def test_a_shape_becomes_a_constant_of_the_name_given():
    with tf.Graph().as_default():
        assert tf.convert_to_tensor(tf.TensorShape([2, 3]), name="sizes").name == "sizes:0"
