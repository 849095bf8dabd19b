"""`ParseExampleV2` of TensorFlow 2's graphs. The values are those of TensorFlow 2."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf


def example(**features):
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


FULL = example(
    a=tf.train.Feature(int64_list=tf.train.Int64List(value=[1, 2])),
    d=tf.train.Feature(float_list=tf.train.FloatList(value=[0.5])),
    r=tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"x", b"y", b"z"])),
)
SHORT = example(a=tf.train.Feature(int64_list=tf.train.Int64List(value=[7])))


def parsed(serialized, **changes):
    arguments = {
        "serialized": tf.constant(serialized, tf.string),
        "names": tf.constant([], tf.string),
        "sparse_keys": ["a"],
        "dense_keys": ["d"],
        "ragged_keys": ["r"],
        "dense_defaults": [tf.constant([9.0])],
        "num_sparse": 1,
        "sparse_types": [tf.int64],
        "ragged_value_types": [tf.string],
        "ragged_split_types": [tf.int32],
        "dense_shapes": [[1]],
    }
    result = tf.raw_ops.ParseExampleV2(**arguments | changes)
    with tf.Session() as session:
        return result, [np.asarray(x).tolist() for part in session.run(result) for x in part]


def test_a_batch():
    result, values = parsed([FULL, SHORT])
    assert result.ragged_row_splits[0].dtype == tf.int32 and result.dense_values[0].shape.as_list() == [2, 1]
    assert values[:4] == [[[0, 0], [0, 1], [1, 0]], [1, 2, 7], [2, 2], [[0.5], [9.0]]]
    assert values[4:] == [[b"x", b"y", b"z"], [0, 3, 3]]


def test_one_example_has_no_batch():
    assert parsed(FULL)[1] == [[[0], [1]], [1, 2], [2], [0.5], [b"x", b"y", b"z"], []]


def test_no_example():
    assert parsed([])[1] == [[], [], [0, 0], [], [], [0]]


def test_errors():
    with pytest.raises(ValueError, match=r"example 0, Feature: a.*Data types don't match"):
        parsed([FULL], sparse_types=[tf.float32])
    with pytest.raises(ValueError, match="needed a string or a vector of them and 1 ragged keys"):
        parsed([[FULL]])
    with pytest.raises(ValueError, match="no Example"):
        parsed([b"\xff"])
