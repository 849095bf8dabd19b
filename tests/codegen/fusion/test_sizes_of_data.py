"""Sizes that follow from large data, as the number of hard examples that a detector of objects keeps."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf


@pytest.mark.parametrize("size", [12, 9000])
@pytest.mark.parametrize("is_known", [True, False])
def test_a_number_of_elements_that_is_counted(size, is_known, rng):
    """The count is part of the step, whether the size of the data is known in the graph or not."""
    shape = [size if is_known else None]
    with tf.Graph().as_default(), tf.Session() as session:
        losses, scores = tf.placeholder(tf.float32, shape), tf.placeholder(tf.float32, shape)
        positive = tf.cast(scores > 0.9, tf.float32)
        others = tf.cast(tf.reduce_sum(1.0 - positive), tf.int32)
        kept = tf.minimum(tf.cast(3 * tf.reduce_sum(positive), tf.int32) + 1, others)
        values, _ = tf.nn.top_k(tf.reshape(tf.nn.relu(losses) * (1.0 - positive), [-1]), k=kept)
        for _ in range(2):
            x, y = rng.random((2, size)).astype("f")
            y[0] = 0.95
            found, count = session.run([values, kept], {losses: x, scores: y})
            assert count == min(3 * (y > 0.9).sum() + 1, (y <= 0.9).sum())
            np.testing.assert_array_equal(found, np.sort(x * (y <= 0.9))[::-1][:count])
