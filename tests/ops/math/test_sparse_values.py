"""Elementwise functions that keep zero take sparse tensors, and are applied to the values that they hold."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf

KEEP_ZERO = {
    "abs": np.abs,
    "negative": np.negative,
    "sign": np.sign,
    "square": np.square,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
}


@pytest.mark.opencl
@pytest.mark.parametrize("name", KEEP_ZERO)
def test_values_change_and_places_stay(name):
    values = np.array([4.0, 0.25, 9.0] if name == "sqrt" else [-2.0, 0.0, 3.5], np.float32)
    with tf.Graph().as_default(), tf.Session() as sess:
        sparse = tf.SparseTensor([[0, 1], [1, 0], [1, 3]], values, [2, 4])
        result = sess.run(getattr(tf, name)(sparse, name="applied"))
        np.testing.assert_allclose(result.values, KEEP_ZERO[name](values), rtol=1e-6)
        assert result.indices.tolist() == [[0, 1], [1, 0], [1, 3]] and result.dense_shape.tolist() == [2, 4]


def test_the_node_of_the_values_has_the_name():
    with tf.Graph().as_default():
        assert tf.erf(tf.SparseTensor([[0]], [1.0], [3]), name="applied").values.op.name == "applied"


def test_a_function_that_does_not_keep_zero_refuses():
    with tf.Graph().as_default(), pytest.raises(TypeError, match="SparseTensor"):
        tf.exp(tf.SparseTensor([[0]], [1.0], [3]))
