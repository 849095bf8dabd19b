"""The n-th element of rows: which n and which rows there are."""

import numpy as np
import pytest

import tfnb as tf


@pytest.mark.parametrize(
    ("rows", "n", "message"),
    [
        (np.float32(1), 0, "at least rank 1 but is rank 0"),
        (np.float32([1, 2]), -1, "non-negative but is -1"),
        (np.float32([1, 2]), 2, "must have last dimension > n = 2"),
    ],
)
@pytest.mark.parametrize("is_fed", [False, True])
def test_what_has_no_such_element_is_refused(rows, n, message, is_fed):
    with tf.Graph().as_default(), tf.Session() as sess:
        fed = tf.placeholder(tf.float32)
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            sess.run(tf.contrib.nn.nth_element(fed if is_fed else rows, n), {fed: rows})
