"""Graphs in which TensorFlow's cond sent references along a branch."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.ops.control_flow.switch_merge import MERGE, REF_SWITCH
from tfnb.ops.state.variables import ASSIGN_ADD


@pytest.mark.opencl
def test_reads_and_writes_happen_where_the_branch_is_taken():
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable([1.0, 2.0])
        unset = tf.Variable([0.0, 0.0])
        taken = tf.placeholder(tf.bool, [])
        on_false, on_true = REF_SWITCH(v._ref(), taken)
        written = ASSIGN_ADD(on_true, [10.0, 10.0])
        never_read = REF_SWITCH(unset._ref(), tf.logical_not(taken))[0]
        result = MERGE([on_false * 3.0, tf.identity(written)])[0]
        other = MERGE([never_read + 1.0, tf.zeros_like(on_false)])[0]
        session.run(v.initializer)
        np.testing.assert_array_equal(session.run(result, {taken: False}), [3, 6])
        np.testing.assert_array_equal(session.run(v), [1, 2])
        np.testing.assert_array_equal(session.run(other, {taken: False}), [0, 0])
        np.testing.assert_array_equal(session.run(result, {taken: True}), [11, 12])
        np.testing.assert_array_equal(session.run(v), [11, 12])
        np.testing.assert_array_equal(session.run(on_false, {taken: False}), [11, 12])
        with pytest.raises(tf.errors.FailedPreconditionError if hasattr(tf, "errors") else Exception):
            session.run(other, {taken: True})
