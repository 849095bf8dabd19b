"""`tf.raw_ops`: operations by their own names, with arguments by keyword."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf


def test_an_operation_takes_its_arguments_by_keyword():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    total = tf.raw_ops.Sum(input=x, axis=[1], keep_dims=True, name="total")
    product = tf.raw_ops.MatMul(a=x, b=x, transpose_b=True)
    with tf.Session() as sess:
        np.testing.assert_array_equal(sess.run(total), x.sum(1, keepdims=True))
        np.testing.assert_array_equal(sess.run(product), x @ x.T)
    assert (total.op.name, total.op.type) == ("total", "Sum")


def test_what_does_not_fit_is_refused():
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"tf\.raw_ops\.Neg.*missing"):
        tf.raw_ops.Neg(y=1.0)
    with pytest.raises(AttributeError, match="NoSuchOperation"):
        tf.raw_ops.NoSuchOperation  # noqa: B018
