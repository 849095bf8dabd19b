"""The functions of `tf.control_flow_ops` with which programs build control flow by hand."""

import numpy as np

import tfnb as tf
from tfnb.client.control_flow.primitives import enter, exit_, with_dependencies


def test_with_dependencies_waits_on_the_device_of_its_tensor() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        with tf.device("/job:ps"):
            there = tf.Variable([1.0])
        waiting = with_dependencies([there.initializer], there)
        assert waiting.device == "/job:ps" and waiting.op.name == "control_dependency"
        v = tf.Variable([2.0], name="v")
        with tf.device("/device:GPU:1"):
            waiting = with_dependencies([v.initializer], v._ref(), name="mine")
        assert waiting.device == "" and waiting.op.colocation_groups() == [b"loc:@v"]
        assert waiting.op.name == "mine"
        np.testing.assert_array_equal(session.run(waiting), [2.0])  # the reference is read after the initializer
        slices = tf.IndexedSlices(tf.constant([[3.0]]), tf.constant([1]))
        found = with_dependencies([v.initializer], slices)
        np.testing.assert_array_equal(session.run(found).values, [[3.0]])
        assert session.run(with_dependencies([v.initializer], 5)) == 5


def test_the_reference_of_a_variable_is_a_method() -> None:
    with tf.Graph().as_default():
        v = tf.Variable(1.0)
        assert v._ref() is v.op.outputs[0] and v._ref().spec.ref


def test_a_frame_without_iterations_needs_no_merge() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.int32, [3])
        inside = enter(x, "frame") * enter(tf.constant(5), "frame")
        assert session.run(exit_(inside), {x: [1, 2, 3]}).tolist() == [5, 10, 15]
