"""What functions of `map` may take and return, and parameters that are tensors."""

from __future__ import annotations

from collections import namedtuple

import pytest

import tfnb as tf
from tfnb.errors import DTypeError, InvalidArgumentError

pytestmark = pytest.mark.opencl
Point = namedtuple("Point", ["x", "y"])


def values(dataset, n):
    following = dataset.make_one_shot_iterator().get_next()
    with tf.Session() as sess:
        return [sess.run(following) for _ in range(n)]


def test_a_list_is_several_components_and_a_named_tuple_is_one_argument():
    with tf.Graph().as_default():
        count = tf.data.Dataset.range(2)
        assert values(count.map(lambda x: [x, tf.constant(0.5)]), 2) == [(0, 0.5), (1, 0.5)]
        points = tf.data.Dataset.zip((count, count)).map(Point)
        assert values(points.map(lambda p: p.x + 10 * p.y), 2) == [0, 11]


def test_padded_shapes_as_a_tensor():
    with tf.Graph().as_default():
        rows = tf.data.Dataset.from_tensor_slices([1, 2]).map(lambda x: tf.fill([x], x))
        padded = rows.padded_batch(2, padded_shapes=tf.constant([3], tf.int64))
        assert padded.output_shapes.as_list() == [None, 3]
        assert values(padded, 1)[0].tolist() == [[1, 0, 0], [2, 2, 0]]


@pytest.mark.parametrize("part", [(0, 0), (3, 3), (3, -1)])
def test_parts_that_do_not_exist(part):
    with tf.Graph().as_default(), pytest.raises(InvalidArgumentError, match="num_shards"):
        tf.data.Dataset.range(3).shard(*part)


def test_data_sets_that_differ():
    with tf.Graph().as_default():
        count = tf.data.Dataset.range(2)
        with pytest.raises(DTypeError, match="have different types"):
            count.concatenate(count.map(lambda x: tf.cast(x, tf.float32)))
        with pytest.raises(DTypeError, match="the same number of elements"):
            count.concatenate(tf.data.Dataset.zip((count, count)))


def test_the_handle_of_an_iterator_is_one_tensor():
    with tf.Graph().as_default():
        iterator = tf.data.Dataset.range(2).make_one_shot_iterator()
        assert iterator.string_handle() is iterator.string_handle()
