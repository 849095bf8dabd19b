"""Errors of tensor arrays say what TensorFlow's say, and pieces of a split may differ in length."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import InvalidArgumentError

pytestmark = pytest.mark.opencl


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as s:
        yield s


def array(**kwargs):
    return tf.TensorArray(tf.float32, size=3, infer_shape=False, tensor_array_name="a", **kwargs)


FAILING = {
    "written twice": (
        lambda: array().write(2, 3.0).write(2, 3.0).flow,
        "Could not write to TensorArray index 2 because it has already been written to.",
    ),
    "read twice": (
        lambda: (lambda a: a.read(0) + a.with_flow(tf.identity(a.flow + a.read(0))).read(0))(array().write(0, 1.0)),
        r"Could not read index 0 twice because it was cleared after a previous read \(perhaps try setting "
        r"clear_after_read = false\?\)",
    ),
    "outside": (
        lambda: array().write(3, 3.0).flow,
        "Tried to write to index 3 but array is not resizeable and size is: 3",
    ),
    "unlike rows": (
        lambda: array().write(0, [1.0]).write(1, [2.0]).write(2, [[3.0]]).concat(),
        r"Index 0 has \(excepting dimension 0\) shape: \[\] but index 2 has \(excepting dimension 0\) shape: \[1\]",
    ),
    "scalars joined": (
        lambda: array().write(0, 1.0).write(1, 2.0).write(2, 3.0).concat(),
        "Concat saw a scalar shape at index 0 but requires at least vectors",
    ),
    "lengths": (
        lambda: array().split([1.0, 2.0, 3.0], [1]).flow,
        r"Expected sum of lengths to be equal to values.shape\[0\], but sum of lengths is 1 and value's shape is: \[3\]",
    ),
}


@pytest.mark.parametrize("case", FAILING)
def test_words(sess, case):
    build, words = FAILING[case]
    with pytest.raises(InvalidArgumentError, match=words):
        sess.run(build())


def test_gradient_of_pieces_of_unlike_lengths(sess):
    x = tf.constant([[1.0, -1.0], [10.0, -10.0], [100.0, -100.0]])
    joined = tf.TensorArray(tf.float32, size=2).split(x, tf.constant([2, 1])).concat()  # int32 lengths are taken
    np.testing.assert_array_equal(sess.run(tf.gradients(joined, x, grad_ys=[2 * x])[0]), 2 * sess.run(x))
