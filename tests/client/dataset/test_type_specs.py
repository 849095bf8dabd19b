"""Specifications of values, the constants and main operations of SavedModels, and what is refused with a reason."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def test_compatible_and_common_specifications():
    spec = tf.TensorSpec([2, None], tf.float32, "x")
    assert spec.is_compatible_with(np.zeros((2, 3), np.float32))
    assert not spec.is_compatible_with(np.zeros((2, 3), np.float64))
    assert not spec.is_compatible_with(tf.SparseTensorSpec([2, 3]))
    common = tf.TensorSpec([2, 3]).most_specific_compatible_type(tf.TensorSpec([2, 4]))
    assert common == tf.TensorSpec([2, None])
    assert hash(common) == hash(tf.TensorSpec([2, None]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="No TypeSpec"):
        spec.most_specific_compatible_type(tf.TensorSpec([2], tf.int32))
    assert tf.TensorSpec.from_tensor(tf.constant([1, 2], name="c")).name == "c"


def test_specifications_of_composites():
    sparse = tf.SparseTensor([[0, 1]], [1.0], [2, 3])
    assert tf.SparseTensorSpec([2, None]).is_compatible_with(sparse)
    slices = tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([0]), tf.constant([3, 1]))
    assert tf.IndexedSlicesSpec(None, tf.float32, tf.int32, tf.int32, [1]).is_compatible_with(slices)
    assert tf.TensorArraySpec([2], tf.int32) == tf.data.experimental.TensorArrayStructure(tf.int32, [2], False, True)
    assert tf.RaggedTensorSpec([2, None, None]).ragged_rank == 2
    with pytest.raises(tf.errors.InvalidArgumentError, match="ragged_rank"):
        tf.RaggedTensorSpec()


def test_the_structure_of_a_data_set():
    data = tf.data.Dataset.from_tensor_slices({"b": [1, 2], "a": ([[1.0], [2.0]], ["x", "y"])})
    found = tf.data.experimental.get_structure(data)
    assert found == {"b": tf.TensorSpec([], tf.int32), "a": (tf.TensorSpec([1]), tf.TensorSpec([], tf.string))}


def test_main_operations_initialise_and_restore():
    v = tf.Variable(3.0)
    changed = tf.assign(v, 8.0, name="set")
    main = tf.saved_model.main_op.main_op()
    both = tf.saved_model.main_op_with_restore(changed.op.name)
    with tf.Session() as sess:
        sess.run(main)
        assert sess.run(v) == 3
        sess.run(both)
        assert sess.run(v) == 8
    assert tf.saved_model.MAIN_OP_KEY == "saved_model_main_op"


def test_valid_signatures():
    x, text = tf.constant([1.0]), tf.constant(["a"])
    predict = tf.saved_model.predict_signature_def({"x": x}, {"y": x})
    regress = tf.saved_model.regression_signature_def(text, x)
    assert tf.saved_model.is_valid_signature(predict) and tf.saved_model.is_valid_signature(regress)
    predict.outputs.clear()
    assert not tf.saved_model.is_valid_signature(predict)
    regress.method_name = "another"
    assert not tf.saved_model.is_valid_signature(regress)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("config.set_soft_device_placement", "ConfigProto"),
        ("train.Checkpoint", "tf.train.Saver"),
        ("sysconfig.get_include", "tf.register_op"),
        ("data.experimental.StatsAggregator", "leave it out"),
    ],
)
def test_what_makes_no_sense_here_says_what_to_do(name, reason):
    place = tf
    *modules, last = name.split(".")
    for module in modules:
        place = getattr(place, module)
    with pytest.raises(AttributeError, match=reason):
        getattr(place, last)
