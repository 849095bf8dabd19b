"""Operations and variables copied to another graph."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

copying = tf.contrib.copy_graph


def test_a_model_is_copied_with_its_variables():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        w = tf.get_variable("w", initializer=np.ones((2, 1), "float32"))
        tf.add_to_collection("mine", w)
        y = tf.tanh(tf.matmul(x, w), name="y")
        waits = tf.group(y, name="all")
    with tf.Graph().as_default() as other:
        with pytest.raises(errors.InvalidArgumentError, match="not copied"):
            copying.copy_op_to_graph(y, other, [], "part")
        v = copying.copy_variable_to_graph(w, other, "part")
        z = copying.copy_op_to_graph(y, other, [v], "part")
        assert (v.op.name, z.name) == ("part/w", "part/y:0")
        assert tf.trainable_variables() == [v]
        assert tf.get_collection("part/mine") == [v]
        assert copying.copy_op_to_graph(y, other, [v], "part") is z
        assert copying.copy_op_to_graph(w, other, [v], "part") is v
        again = copying.copy_op_to_graph(waits, other, [v], "part")
        assert again.control_inputs == [z.op]
        assert copying.get_copied_op(x, other, "part").op.type == "Placeholder"
        assert copying.get_copied_op(x, other, "elsewhere") is None
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            np.testing.assert_allclose(session.run(z, {"part/x:0": [[1, 2]]}), [[np.tanh(3)]], rtol=1e-5)
    with pytest.raises(errors.DTypeError, match="Variable"):
        copying.copy_variable_to_graph(y, other)
