"""ConcatOffset: what does not fit is named in TensorFlow's words."""

from __future__ import annotations

import pytest

import tfnb as tf
from tfnb.errors import InvalidArgumentError


@pytest.mark.parametrize(
    ("axis", "second", "words"),
    [
        (4, [2, 7, 5], "Concat dim is out of range: 4 vs. 3"),
        (1, [2, 7, 10], r"except 1 must match. Input 1 has shape \[2 7 10\] and doesn't match .* \[2 3 5\]"),
    ],
)
def test_what_does_not_fit(axis, second, words):
    with tf.Graph().as_default(), tf.Session() as session:
        offsets = tf.raw_ops.ConcatOffset(concat_dim=axis, shape=[[2, 3, 5], second])
        with pytest.raises(InvalidArgumentError, match=words):
            session.run(offsets)
