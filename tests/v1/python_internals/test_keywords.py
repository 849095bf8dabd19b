"""Arguments that have two names, and structures of `tf.nest`."""

from __future__ import annotations

import collections

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import InvalidArgumentError

pytestmark = pytest.mark.opencl


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as s:
        yield s


def test_both_names_of_an_argument(sess):
    assert sess.run(tf.count_nonzero(input=[1, 0, 2])) == sess.run(tf.math.count_nonzero([1, 0, 2])) == 2
    assert sess.run(tf.verify_tensor_all_finite(x=1.0, message="m")) == 1
    hashes = [68, 62]  # TensorFlow's
    assert sess.run(tf.strings.to_hash_bucket(["a", "bc"], 100)).tolist() == hashes
    assert sess.run(tf.string_to_hash_bucket(input=["a", "bc"], num_buckets=100)).tolist() == hashes


@pytest.mark.parametrize(
    "call",
    [
        lambda: tf.count_nonzero([1], input=[1]),
        lambda: tf.verify_tensor_all_finite(1.0, "m", message="m"),
        lambda: tf.string_to_hash_bucket(["a"], 3, input=["a"]),
        lambda: tf.layers.Flatten(data_format="wrong"),
    ],
)
def test_one_of_two_names_is_needed(sess, call):
    with pytest.raises(InvalidArgumentError):
        call()


def test_flat_channels_do_not_depend_on_their_place(sess):
    x = np.arange(12.0).reshape(1, 2, 3, 2)
    first = tf.layers.flatten(x.transpose(0, 3, 1, 2), data_format="channels_first")
    assert sess.run(first).tolist() == sess.run(tf.layers.flatten(x)).tolist()


def test_composites_are_leaves_or_not(sess):
    sparse = tf.SparseTensor([[0]], [1.0], [2])
    structure = {"b": [1, sparse], "a": 2}
    assert tf.nest.flatten(structure) == [2, 1, sparse]
    parts = tf.nest.flatten(structure, expand_composites=True)
    assert len(parts) == 5
    again = tf.nest.pack_sequence_as(structure, parts, expand_composites=True)
    assert again["b"][1].values is sparse.values
    Pair = collections.namedtuple("Pair", "x y")
    assert tf.nest.map_structure(lambda a, b: a + b, Pair(1, [2]), Pair(3, [4])) == Pair(4, [6])
    assert list(tf.nest.pack_sequence_as(collections.OrderedDict([("b", 0), ("a", 0)]), [1, 2]).items()) == [
        ("b", 2),
        ("a", 1),
    ]
    with pytest.raises(InvalidArgumentError, match="structure"):
        tf.nest.assert_same_structure([1], (1,))
    tf.nest.assert_same_structure([1], (1,), check_types=False)
    assert tf.nest.is_nested(seq=[1]) and not tf.nest.is_nested(1)
