"""tf.tensordot with ranks and axes that only a step knows."""

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import InvalidArgumentError


@pytest.mark.parametrize(
    ("shape_a", "shape_b", "axes"),
    [((2, 3), (3, 4), 1), ((2, 3, 4), (4, 3, 5), [[1, 2], [1, 0]]), ((2, 3, 4), (3, 2), [[-2, 0], [0, 1]])],
)
def test_ranks_that_a_step_knows(shape_a, shape_b, axes):
    rng = np.random.default_rng(0)
    x, y = rng.random(shape_a, np.float32), rng.random(shape_b, np.float32)
    with tf.Graph().as_default(), tf.Session() as sess:
        a, b = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
        product = tf.tensordot(a, b, axes)
        assert product.shape.ndims is None
        total = tf.reduce_sum(product**2)
        value, *grads = sess.run([product, *tf.gradients(total, [a, b])], {a: x, b: y})
        known = tf.tensordot(tf.constant(x), tf.constant(y), axes)
        np.testing.assert_allclose(value, sess.run(known), rtol=1e-5)
        assert [g.shape for g in grads] == [shape_a, shape_b]


def test_axes_that_a_step_knows():
    with tf.Graph().as_default(), tf.Session() as sess:
        a, b, axes = tf.placeholder(tf.float32), tf.placeholder(tf.float32), tf.placeholder(tf.int32)
        product = tf.tensordot(a, b, axes)
        x = np.arange(4.0, dtype=np.float32).reshape(2, 2)
        np.testing.assert_allclose(sess.run(product, {a: x, b: x, axes: [[1], [0]]}), x @ x)
        for wrong in ([0, 1], [[1]], [[0], [7]], 1):
            with pytest.raises(tf.errors.InvalidArgumentError):
                sess.run(product, {a: x, b: x, axes: wrong})
        with pytest.raises(tf.errors.InvalidArgumentError, match="Matrix size-incompatible"):
            sess.run(product, {a: x, b: np.ones((3, 2)), axes: [[1], [0]]})


@pytest.mark.parametrize(
    ("axes", "words"),
    [(-1, "from 0 to 2"), (3, "from 0 to 2"), ([1], "length 2"), ([[1], [0, 1]], "1 axes of a for 2 axes of b")],
)
def test_axes_that_are_refused(axes, words):
    with tf.Graph().as_default(), pytest.raises(InvalidArgumentError, match=words):
        tf.tensordot([[1, 2], [3, 4]], [[1, 2], [3, 4]], axes)
