"""Ranks of inputs that are known only when a step runs: what TensorFlow's kernels refuse, in their words."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf

TEN = np.arange(10)
CASES = [
    (tf.concat, (([2], [3], [7]), [0]), "axis tensor should be a scalar integer"),
    (tf.concat, ((2, [3], 7), 0), r"Expected \w+ dimensions in the range \[0, 0\)"),
    (tf.concat, (([2], [3], 7), 0), r"Ranks of all input tensors should match.*shape\[2\] = \[\]"),
    (tf.fill, (2, 3), "dims must be a vector"),
    (tf.fill, ([2], [3]), "value must be a scalar"),
    (tf.pad, (7, [[1, 2]]), "The first dimension of paddings must be the rank of inputs"),
    (tf.random_uniform, (3,), "shape must be a vector"),
    (tf.reshape, (7, 1), "sizes input must be 1-D"),
    (tf.unsorted_segment_sum, (7, 1, [4]), "num_segments should be a scalar"),
    (tf.range, ([0], 3, 2), "start must be a scalar"),
    (tf.range, (0, [3], 2), "limit must be a scalar"),
    (tf.range, (0, 3, [2]), "delta must be a scalar"),
    (tf.slice, (TEN, 2, 3), "Expected begin and size arguments to be 1-D tensors"),
    (tf.slice, (TEN, 2, [3]), "Expected begin and size arguments to be 1-D tensors"),
    (tf.sparse_to_dense, (1, 4, 7), "output_shape should be a vector"),
    (tf.tile, ([7], 2), "Expected multiples to be 1-D"),
]


@pytest.mark.parametrize(("function", "args", "words"), CASES)
def test_a_fed_value_of_another_rank_is_refused(function, args, words):
    feeds = {}

    def placeholders(value):
        if isinstance(value, tuple):
            return [placeholders(v) for v in value]
        array = np.asarray(value, np.int32)
        feeds[holder := tf.placeholder(tf.int32)] = array
        return holder

    with tf.Graph().as_default(), tf.Session() as sess:
        result = function(*placeholders(args))
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            sess.run(result, feeds)
