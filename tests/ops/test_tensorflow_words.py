"""Phrases of TensorFlow's errors that programs and its own tests look for, in front of our own text."""

from __future__ import annotations

import pytest

import tfnb as tf
from tfnb.errors import OpError

pytestmark = pytest.mark.opencl

SAID = {
    "broadcast": (lambda: tf.ones([2]) + tf.ones([3]), "Dimensions must be equal, but are 2 and 3"),
    "product": (lambda: tf.matmul(tf.ones([2, 3]), tf.ones([2, 3])), "Dimensions must be equal, but are 3 and 2"),
    "rank": (
        lambda: tf.nn.conv2d(tf.ones([2, 3]), tf.ones([1, 1, 1, 1]), [1, 1, 1, 1], "SAME"),
        "Shape must be rank 4",
    ),
    "pads": (lambda: tf.pad([1], [[-1, 0]]), "must be non-negative"),
    "gather": (lambda: tf.gather([1, 2, 3], [[0, 7]]), r"indices\[0,1\] = 7 is not in \[0, 3\)"),
    "gather_nd": (
        lambda: tf.gather_nd([1, 2, 3], [[0], [7]]),
        r"indices\[1,0\] = 7 is not in \[0, 3\)|flat indices\[1, :\]",
    ),
    "segments": (lambda: tf.segment_sum([1.0, 2.0], [1, 0]), "segment ids are not increasing"),
    "unstack": (lambda: tf.unstack(tf.ones([2, 2]), axis=2), r"axis = 2 not in \[-2, 2\)"),
    "number": (lambda: tf.string_to_number("10foobar"), "could not correctly convert string: 10foobar"),
    "top k": (lambda: tf.nn.top_k([1.0], 4), "must have last dimension >= k = 4"),
    "rank of x": (lambda: tf.assert_rank(tf.ones([2], name="my"), 0), "my.*must have rank 0"),
    "ellipses": (lambda: tf.ones([2, 2])[..., ...], "Multiple ellipses"),
}


@pytest.mark.parametrize("case", SAID)
def test_words(case):
    build, words = SAID[case]
    with tf.Graph().as_default(), tf.Session() as sess, pytest.raises(OpError, match=words):
        sess.run(build())


def test_a_sparse_value_has_the_shape_of_0_x():
    value = tf.SparseTensorValue([[0]], [1], [2])
    assert value.shape == value.dense_shape == [2]
