"""SessionManager: which results of a ready op mean that a model is ready, and local variables that copy global ones."""

from __future__ import annotations

import pytest

import tfnb as tf

pytestmark = pytest.mark.opencl


def test_ranks_of_initialised_variables_mean_ready():
    with tf.Graph().as_default():
        v = tf.Variable([1.0, 2.0])
        manager = tf.train.SessionManager(ready_op=tf.assert_variables_initialized())
        with manager.prepare_session("", init_op=tf.global_variables_initializer()) as sess:
            assert sess.run(v).tolist() == [1.0, 2.0]


def test_copy_of_uninitialised_variable_does_not_make_the_model_ready():
    with tf.Graph().as_default():
        v = tf.Variable(1, name="v")
        w = tf.Variable(v, trainable=False, collections=[tf.GraphKeys.LOCAL_VARIABLES])
        manager = tf.train.SessionManager(ready_op=tf.report_uninitialized_variables(), local_init_op=w.initializer)
        with pytest.raises(RuntimeError, match=r"did not make model ready.*not initialized: v"):
            manager.prepare_session("", init_op=None)
