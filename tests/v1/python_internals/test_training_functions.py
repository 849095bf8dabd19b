"""Functions inside tensorflow.python.training and its like that programs' own optimizers and loops use."""

from __future__ import annotations

import numpy as np
import pytest
from tfnb.python.ops import resources
from tfnb.python.training import optimizer, saver, session_manager, slot_creator

import tfnb as tf


def test_slots():
    v = tf.Variable([[1.0, 2.0]], name="w")
    ones = slot_creator.create_slot(v, tf.ones([1, 2]), "rms")
    with tf.variable_scope("s"):
        empty = slot_creator.create_zeros_slot(v, "momentum", dtype=tf.float64, colocate_with_primary=False)
    shape = tf.TensorShape([3])
    third = slot_creator.create_slot_with_initializer(v, tf.constant_initializer(4), shape, tf.int32, "third")
    unknown = tf.Variable(tf.placeholder_with_default([5.0, 6.0], [None]), validate_shape=False, name="u")
    fourth = slot_creator.create_zeros_slot(unknown, "z")
    assert [s.op.name for s in (ones, empty, third, fourth)] == ["w/rms", "s/w/momentum", "w/third", "u/z"]
    assert not set(tf.trainable_variables()) & {ones, empty, third, fourth}
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        values = sess.run([ones, empty, third, fourth])
        assert [x.tolist() for x in values] == [[[1, 1]], [[0, 0]], [4, 4, 4], [0, 0]]
        assert values[1].dtype == np.float64


def test_rows_without_repetition():
    values, indices = optimizer._deduplicate_indexed_slices(tf.constant([[1.0], [2.0], [4.0]]), tf.constant([3, 1, 3]))
    with tf.Session() as sess:
        assert [x.tolist() for x in sess.run([values, indices])] == [[[5], [2]], [3, 1]]


def test_whether_a_model_is_ready(caplog):
    tf.Variable(1.0, name="v")
    names = tf.report_uninitialized_variables()
    with tf.Session() as sess:
        assert session_manager._ready(names, sess, "not ready") == (False, "Variables not initialized: v")
        assert session_manager._ready(None, sess, "not ready") == (True, None)
        sess.run(tf.global_variables_initializer())
        assert session_manager._ready(names, sess, "not ready") == (True, None)
        wrong = tf.string_to_number(["x"])
        with pytest.raises(tf.errors.InvalidArgumentError):
            session_manager._ready(wrong, sess, "Model not ready")
    assert "Model not ready : error [" in caplog.text


def test_the_saver_of_a_graph():
    tf.Variable(1.0)
    found = saver._get_saver_or_default()
    assert saver._get_saver_or_default() is found and tf.get_collection(tf.GraphKeys.SAVERS) == [found]


def test_resources():
    assert resources.shared_resources() == []
    with tf.Session() as sess:
        assert sess.run(resources.report_uninitialized_resources()).tolist() == []
        sess.run(resources.initialize_resources(resources.shared_resources()))
        v = tf.Variable(1.0, name="v")
        resources.register_resource(v, v.initializer, tf.is_variable_initialized(v))
        resources.register_resource(v, v.initializer, tf.is_variable_initialized(v), is_shared=False)
        assert len(resources.local_resources()) == 1 and tf.GraphKeys.RESOURCES == "resources"
        names = resources.report_uninitialized_resources()
        assert sess.run(names).tolist() == [b"v:0", b"v:0"]
        sess.run(resources.initialize_resources(resources.shared_resources()))
        assert sess.run(names).tolist() == [] and sess.run(v) == 1
