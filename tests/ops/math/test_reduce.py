"""Axes of reductions."""

import numpy as np
import pytest

import tfnb as tf


@pytest.mark.parametrize("axes", [[0, 0], [0, -2], [1, 0, 1]])
@pytest.mark.parametrize("is_static", [True, False])
def test_an_axis_that_is_named_twice_is_reduced_once(axes, is_static):
    x = np.float32([[1, 2], [3, 5]])
    once = tuple({a % 2 for a in axes})
    with tf.Graph().as_default(), tf.Session() as sess:
        value = tf.placeholder_with_default(x, [2, 2] if is_static else None)
        results = [f(value, axes) for f in (tf.reduce_sum, tf.reduce_mean, tf.reduce_max, tf.reduce_prod)]
        slopes = tf.gradients(results, value)
        kept = tf.reduce_sum(
            value, axes if is_static else tf.placeholder_with_default(axes, [len(axes)]), keepdims=True
        )
        *got, dx, sum_kept = sess.run([*results, *slopes, kept])
    for result, f in zip(got, (np.sum, np.mean, np.max, np.prod), strict=True):
        np.testing.assert_allclose(result, f(x, axis=once))
    np.testing.assert_allclose(sum_kept, x.sum(axis=once, keepdims=True))
    assert dx.shape == (2, 2)


def test_a_list_of_tensors_of_truth_values():
    x = tf.placeholder(tf.bool, [])
    with tf.Session() as sess:
        assert not sess.run(tf.reduce_all([x, True]), {x: False}) and sess.run(tf.reduce_any([[x], [False]]), {x: True})
        assert sess.run([tf.reduce_all([]), tf.reduce_any([[], []])]) == [True, False]
