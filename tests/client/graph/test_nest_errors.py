"""Errors of `tf.nest` and `tf.contrib.framework.nest`, by class and in TensorFlow's words."""

from __future__ import annotations

import collections

import numpy as np
import pytest

import tfnb as tf

PAIR = collections.namedtuple("PAIR", "a b")
DEEP = (((1, 2), 3), 4, (5, 6))
SAME = tf.nest.assert_same_structure
MAP = tf.nest.map_structure
CASES = [
    (lambda: SAME(DEEP, ("a", "b")), ValueError, r"don't have the same number of elements\.\n\nFirst structure \(6 "),
    (lambda: SAME([0, 1], np.array([0, 1])), ValueError, r"Second structure \(1 elements\):"),
    (lambda: SAME((0, 1), [0, 1]), TypeError, "don't have the same sequence type"),
    (lambda: SAME((0, 1), PAIR(0, 1)), TypeError, "don't have the same sequence type"),
    (lambda: SAME(DEEP, (((1, 2), 3), 4, 5, (6,))), ValueError, "don't have the same nested structure"),
    (lambda: SAME([[3], 4], [3, [4]]), ValueError, "don't have the same nested structure"),
    (lambda: SAME({"a": 1}, {"b": 1}), ValueError, "don't have the same set of keys"),
    (lambda: MAP("bad", DEEP), TypeError, "callable"),
    (lambda: MAP(lambda x: x), ValueError, "at least one structure"),
    (lambda: MAP(lambda x: x, DEEP, foo="a"), ValueError, "Only valid keyword argument"),
    (lambda: tf.nest.pack_sequence_as("scalar", [4, 5]), ValueError, "Structure is a scalar"),
    (lambda: tf.nest.pack_sequence_as([4, 5], "bad"), TypeError, "flat_sequence must be a sequence"),
    (
        lambda: tf.nest.pack_sequence_as([1, 2], [1, 2, 3]),
        ValueError,
        "Structure had 2 elements, but flat_sequence had",
    ),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_errors(case):
    call, kind, words = CASES[case]
    with pytest.raises(kind, match=words):
        call()


def test_a_tuple_is_like_a_list_when_types_are_not_checked():
    SAME(DEEP, [[[1, 2], 3], 4, [5, 6]], check_types=False)
