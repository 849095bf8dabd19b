"""`tf.Dimension` and the parts of `tf.TensorShape` that TensorFlow 1 programs compute static shapes with."""

import pytest

import tfnb as tf


def test_comparisons_with_an_unknown_size_are_none():
    known, unknown = tf.Dimension(12), tf.Dimension(None)
    for outcome in (
        known < unknown,
        unknown <= known,
        unknown > unknown,
        known >= None,
        known == unknown,
        unknown != 3,
    ):
        assert outcome is None
    assert tf.Dimension(12) < 13
    assert tf.Dimension(12) >= tf.Dimension(12)


def test_sizes_equal_numbers_and_texts_but_not_fractions():
    assert tf.Dimension(12) == "12"
    assert tf.Dimension(12) == 24.0 / 2
    assert (tf.Dimension(None) == 12.99) is False
    assert tf.Dimension(12) != "_"
    with pytest.raises(ValueError, match="Ambiguous dimension"):
        tf.Dimension(12.99)


def test_sizes_merge_unless_they_differ():
    assert tf.Dimension(None).merge_with(12) == 12
    assert tf.Dimension(12).merge_with(None) == 12
    with pytest.raises(ValueError, match="not compatible"):
        tf.Dimension(12).merge_with(13)
    assert (20 - tf.Dimension(12)) == 8


def test_most_specific_compatible_shape_keeps_what_agrees():
    shape = tf.TensorShape([1, 2, None])
    assert shape.most_specific_compatible_shape([1, 3, None]).as_list() == [1, None, None]
    assert shape.most_specific_compatible_shape([1, 2]).sizes is None


def test_messages_of_shapes_are_written_and_read():
    shape = tf.TensorShape([1, None, 3])
    assert [d.size for d in shape.as_proto().dim] == [1, -1, 3]
    assert tf.TensorShape(shape.as_proto()) == shape
    assert tf.TensorShape(None).as_proto().unknown_rank
    assert tf.TensorShape(tf.TensorShape(None).as_proto()).sizes is None
    assert tf.TensorShape([1, 2]).concatenate(tf.Dimension(3)) == [1, 2, 3]


def test_dims_of_a_shape_are_dimensions():
    assert [d.value for d in tf.TensorShape([2, None]).dims] == [2, None]
    assert tf.TensorShape(None).dims is None
    assert tf.TensorShape(dims=tf.TensorShape([2]).dims) == [2]
