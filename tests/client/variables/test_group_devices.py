"""The operations by which tf.group waits on several devices."""

import tfnb as tf


def _nodes(graph):
    return [
        (op.name, op.device, [c.name for c in op.control_inputs]) for op in graph.get_operations() if "r" in op.name
    ]


def test_a_group_waits_on_the_device_of_its_members():
    with tf.Graph().as_default() as graph:
        with tf.device("/task:0"):
            a, b = tf.constant(0, name="a"), tf.constant(0, name="b")
        tf.group(a, b, name="root")
    assert _nodes(graph) == [("root", "/task:0", ["a", "b"])]


def test_a_group_of_several_devices_waits_on_each():
    with tf.Graph().as_default() as graph:
        with tf.device("/task:0"):
            a = tf.constant(0, name="a")
        with tf.device("/task:1"):
            b = tf.constant(0, name="b")
        with tf.device("/task:2"):
            tf.group(a, b, name="root")
    assert _nodes(graph) == [
        ("root/NoOp", "/task:0", ["a"]),
        ("root/NoOp_1", "/task:1", ["b"]),
        ("root", "/task:2", ["root/NoOp", "root/NoOp_1"]),
    ]
