"""tf.data.Options: names and types as in TensorFlow 1.15, merging, and the same elements."""

import pytest

import tfnb as tf
from tfnb.errors import DTypeError, InvalidArgumentError


def test_a_pipeline_with_options_has_the_same_elements():
    options = tf.data.Options()
    options.experimental_deterministic = False
    options.experimental_threading.private_threadpool_size = 4
    options.experimental_optimization.map_and_batch_fusion = True
    options.experimental_optimization.map_vectorization.enabled = True
    options.experimental_distribute.auto_shard = False
    dataset = tf.data.Dataset.range(5).with_options(options).map(lambda x: x * 2).batch(3)
    assert dataset.options() == options and dataset.options().experimental_deterministic is False
    following = dataset.make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert [session.run(following).tolist() for _ in range(2)] == [[0, 2, 4], [6, 8]]


def test_options_are_merged():
    first, second = tf.data.Options(), tf.data.Options()
    first.experimental_deterministic = False
    second.experimental_threading.max_intra_op_parallelism = 1
    both = tf.data.Dataset.range(1).with_options(first).with_options(second).options()
    assert both.experimental_deterministic is False and both.experimental_threading.max_intra_op_parallelism == 1
    zipped = tf.data.Dataset.zip((tf.data.Dataset.range(1).with_options(first), tf.data.Dataset.range(1)))
    assert zipped.options() == first != second and tf.data.Dataset.range(1).options() == tf.data.Options()
    second.experimental_deterministic = True
    with pytest.raises(InvalidArgumentError, match=r"Cannot merge incompatible values .* experimental_deterministic"):
        first.merge(second)
    assert "experimental_deterministic=False" in repr(first)


def test_what_is_no_option():
    options = tf.data.Options()
    with pytest.raises(AttributeError, match="Cannot set the property speed on Options"):
        options.speed = 1
    with pytest.raises(DTypeError, match=r"experimental_deterministic.* must be of type .*bool.*got: 3"):
        options.experimental_deterministic = 3
    with pytest.raises(DTypeError, match="Incompatible options type"):
        tf.data.Dataset.range(1).with_options({"experimental_deterministic": False})
    assert isinstance(options.experimental_distribute, tf.data.experimental.DistributeOptions)
    assert isinstance(options.experimental_optimization, tf.data.experimental.OptimizationOptions)
    assert isinstance(options.experimental_threading, tf.data.experimental.ThreadingOptions)
