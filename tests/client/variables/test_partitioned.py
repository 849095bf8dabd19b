"""Partitioned variables: how they are cut, shared, used and updated. Compared with TensorFlow in tests/oracle."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

TABLE = np.arange(28, dtype=np.float32).reshape(7, 4)


def parts(shape, partitioner, **kwargs):
    whole = tf.get_variable("w", shape, partitioner=partitioner, **kwargs)
    return [tuple(v.shape.as_list()) for v in whole]


def test_the_first_parts_are_longer():
    v = tf.get_variable("w", [7, 4], partitioner=tf.fixed_size_partitioner(3))
    assert isinstance(v, tf.PartitionedVariable) and len(v) == 3
    assert (v.name, v.shape.as_list(), v.dtype, v.partitions) == ("w", [7, 4], tf.float32, [3, 1])
    assert [p.name for p in v] == ["w/part_0:0", "w/part_1:0", "w/part_2:0"]
    assert [p.save_slice_info.spec for p in v] == ["7 4 0,3:0,4", "7 4 3,2:0,4", "7 4 5,2:0,4"]
    assert tf.trainable_variables() == list(v)


def test_partitioners():
    def shapes(partitioner, shape, dtype=tf.float32):
        return partitioner(shape=tf.TensorShape(shape), dtype=dtype)

    assert shapes(tf.fixed_size_partitioner(9, axis=1), [7, 4]) == [1, 4]
    assert shapes(tf.variable_axis_size_partitioner(64), [10, 4]) == [3, 1]
    assert shapes(tf.variable_axis_size_partitioner(64, max_shards=2), [10, 4]) == [2, 1]
    assert shapes(tf.variable_axis_size_partitioner(1), [10, 4]) == [10, 1]
    assert shapes(tf.variable_axis_size_partitioner(64, axis=1), [4, 12], tf.string) == [1, 12]
    assert shapes(tf.min_max_variable_partitioner(16), [1024, 1024]) == [16, 1]
    assert shapes(tf.min_max_variable_partitioner(16, min_slice_size=1 << 20), [1024, 1024]) == [4, 1]
    assert shapes(tf.min_max_variable_partitioner(16, axis=1), [4, 4]) == [1, 1]
    with pytest.raises(errors.InvalidArgumentError, match="positive"):
        tf.variable_axis_size_partitioner(0)
    with pytest.raises(errors.InvalidArgumentError, match="axis 2"):
        shapes(tf.fixed_size_partitioner(2, axis=2), [7, 4])


@pytest.mark.parametrize(
    ("shape", "partitioner", "error"),
    [
        ([7, 4], lambda **_: [2, 2], errors.InvalidArgumentError),
        ([7, 4], lambda **_: [2], errors.InvalidArgumentError),
        ([7, 4], lambda **_: [0, 1], errors.InvalidArgumentError),
        ([7, 4], lambda **_: [8, 1], errors.InvalidArgumentError),
        ([7, None], tf.fixed_size_partitioner(2), errors.ShapeError),
        ([7, 4], 3, errors.DTypeError),
    ],
    ids=["two dimensions", "another rank", "no parts", "empty parts", "open shape", "no function"],
)
def test_what_cannot_be_cut(shape, partitioner, error):
    with pytest.raises(error):
        tf.get_variable("w", shape, partitioner=partitioner)
    assert not tf.global_variables()


def test_a_scopes_partitioner_leaves_scalars_whole():
    with tf.variable_scope("s", partitioner=tf.fixed_size_partitioner(2)) as scope:
        w, b = tf.get_variable("w", [4]), tf.get_variable("b", [], initializer=tf.zeros_initializer())
        scope.set_partitioner(None)
        whole = tf.get_variable("whole", [4])
    assert isinstance(w, tf.PartitionedVariable)
    assert isinstance(b, tf.Variable) and isinstance(whole, tf.Variable)
    assert w.name == "s/w"


def test_sharing():
    two, three = tf.fixed_size_partitioner(2), tf.fixed_size_partitioner(3)
    w = tf.get_variable("w", [6], partitioner=two)
    whole = tf.get_variable("whole", [6])
    with pytest.raises(ValueError, match="exists already"):
        tf.get_variable("w", [6], partitioner=two)
    with pytest.raises(ValueError, match="exists already"):
        tf.get_variable("w", [6])
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        assert tf.get_variable("w", [6]) is w is tf.get_variable("w", partitioner=two)
        with pytest.raises(errors.InvalidArgumentError, match="found partitions"):
            tf.get_variable("w", partitioner=three)
        with pytest.raises(errors.ShapeError):
            tf.get_variable("w", [7])
        with pytest.raises(ValueError, match="not partitioned"):
            tf.get_variable("whole", [6], partitioner=two)
        with pytest.raises(ValueError, match="does not exist"):
            tf.get_variable("new", [6], partitioner=two)
    with tf.variable_scope(tf.get_variable_scope(), reuse=tf.AUTO_REUSE):
        assert tf.get_variable("w", [6], partitioner=two) is w
        assert isinstance(tf.get_variable("new", [6], partitioner=two), tf.PartitionedVariable)
    assert isinstance(whole, tf.Variable)


def test_initial_values():
    cut = tf.fixed_size_partitioner(3)
    a = tf.get_variable("a", initializer=TABLE, partitioner=cut)
    b = tf.get_variable("b", initializer=tf.constant(TABLE) * 2, partitioner=tf.fixed_size_partitioner(2, axis=1))
    eye = tf.get_variable("eye", [5, 4], initializer=tf.initializers.identity(2.0), partitioner=cut)
    seen = []

    def told(shape, dtype, partition_info):
        seen.append((list(shape), partition_info.full_shape, partition_info.var_offset))
        return tf.zeros(shape, dtype)

    tf.get_variable("c", [5, 2], initializer=told, partitioner=tf.fixed_size_partitioner(2))
    glorot = tf.get_variable("g", [3, 1000], partitioner=cut)  # +-sqrt(6 / 1003), as of the whole
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        got = session.run([tf.convert_to_tensor(v) for v in (a, b, eye, glorot)])
    np.testing.assert_array_equal(got[0], TABLE)
    np.testing.assert_array_equal(got[1], TABLE * 2)
    np.testing.assert_array_equal(got[2], 2 * np.eye(5, 4))
    assert seen == [([3, 2], [5, 2], [0, 0]), ([2, 2], [5, 2], [3, 0])]
    assert 0.95 * np.sqrt(6 / 1003) < np.abs(got[3]).max() <= np.sqrt(6 / 1003)


def test_regularizers_collections_and_getters_see_every_part():
    def getter(getter, name, *args, **kwargs):
        return getter(name + "_more", *args, **kwargs)

    with tf.variable_scope("s", custom_getter=getter, regularizer=tf.contrib.layers.l2_regularizer(1.0)):
        v = tf.get_variable("w", [4], collections=["mine"], partitioner=tf.fixed_size_partitioner(2))
    assert [p.name for p in v] == ["s/w_more/part_0:0", "s/w_more/part_1:0"]
    assert tf.get_collection("mine") == list(v)
    assert len(tf.losses.get_regularization_losses()) == 2


def test_as_a_tensor_and_assignments():
    v = tf.get_variable("w", initializer=TABLE, partitioner=tf.fixed_size_partitioner(2, axis=1))
    product = tf.matmul(v, tf.ones([4, 1]))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(product), TABLE.sum(1, keepdims=True))
        session.run(v.assign_add(np.ones_like(TABLE)))
        session.run(v.assign_sub([np.ones([7, 2]), np.zeros([7, 2])], read_value=False))
        np.testing.assert_array_equal(session.run(v.as_tensor()), TABLE + [0, 0, 1, 1])
        session.run(v.assign(v.as_tensor() * 2))
        np.testing.assert_array_equal(session.run(product), ((TABLE + [0, 0, 1, 1]) * 2).sum(1, keepdims=True))
    with pytest.raises(errors.InvalidArgumentError, match="2 parts, got 1"):
        v.assign([1.0])
    with pytest.raises(errors.DTypeError):
        tf.convert_to_tensor(v, tf.float64)


def test_what_is_no_partitioned_variable():
    v = list(tf.get_variable("w", [4], partitioner=tf.fixed_size_partitioner(2)))
    again = tf.PartitionedVariable("again", tf.TensorShape([4]), tf.float32, v[::-1], [2])
    assert list(again) == v
    with pytest.raises(errors.DTypeError):
        tf.PartitionedVariable("x", [4], tf.float32, v[0], [2])
    with pytest.raises(errors.InvalidArgumentError):
        tf.PartitionedVariable("x", [4], tf.float32, [], [2])
    with pytest.raises(errors.InvalidArgumentError, match="full shapes must match"):
        tf.PartitionedVariable("x", [5], tf.float32, v, [2])
    with pytest.raises(errors.InvalidArgumentError, match="must have a save_slice_info"):
        tf.PartitionedVariable("x", [1], tf.float32, [tf.Variable([1.0])], [1])


def test_create_partitioned_variables():
    first = tf.create_partitioned_variables([4, 6], [1, 2], tf.ones_initializer())
    second = tf.create_partitioned_variables([4, 6], [1, 2], tf.zeros([4, 6]), name="mine")
    with tf.variable_scope("mine", reuse=True):
        pass
    assert [v.name for v in first] == ["PartitionedVariable/part_0:0", "PartitionedVariable/part_1:0"]
    assert [v.name for v in second] == ["mine/part_0:0", "mine/part_1:0"]
    assert tf.create_partitioned_variables([4, 6], [1, 2], None, name="mine", reuse=True) == second
    with pytest.raises(errors.InvalidArgumentError):
        tf.create_partitioned_variables([4, 6], [2], None)


def test_layers_and_cells_in_a_scope_with_a_partitioner():
    x = tf.constant(np.linspace(-1, 1, 24, dtype=np.float32).reshape(2, 3, 4))
    with tf.variable_scope("net", partitioner=tf.fixed_size_partitioner(2)):
        states, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicLSTMCell(4), x, dtype=tf.float32)
        hidden = tf.layers.dense(states[:, -1], 5, name="dense", activation=tf.nn.relu)
        out = tf.layers.batch_normalization(hidden, training=True)
    assert len(tf.trainable_variables("net/dense")) == 4
    step = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(tf.square(out - 1)))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert np.isfinite(session.run(out)).all()


def test_the_slice_of_a_part_by_the_names_of_libraries():
    whole = tf.get_variable("whole", [4])
    first, second = tf.get_variable("w", [4, 2], partitioner=tf.fixed_size_partitioner(2))
    assert whole._save_slice_info is None and whole._get_save_slice_info() is None
    assert [v._save_slice_info.spec for v in (first, second)] == ["4 2 0,2:0,2", "4 2 2,2:0,2"]
    assert first._get_save_slice_info().full_name == "w"
    whole._set_save_slice_info(tf.Variable.SaveSliceInfo("v", [8], [4], [4]))
    assert whole._save_slice_info.spec == "8 4,4" and whole.save_slice_info is whole._save_slice_info


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"variable_list": [], "partitions": []}, "may not be empty"),
        ({"slice_info": None}, "must have a save_slice_info"),
        ({"shape": [3]}, "full shapes must match"),
        ({"partitions": [0]}, "must be positive"),
    ],
)
def test_parts_that_do_not_belong_together(change, words):
    part = tf.Variable([0])
    part.save_slice_info = change.get("slice_info", tf.Variable.SaveSliceInfo("whole", [2], [0], [1]))
    with pytest.raises(errors.InvalidArgumentError, match=words):
        tf.PartitionedVariable(
            "whole",
            change.get("shape", [2]),
            tf.int32,
            change.get("variable_list", [part]),
            change.get("partitions", [2]),
        )
