"""Answers to the exercises of 10_builder."""

import tfnb as tf
from tfnb.lessons.case import Kind


def lenet(shape=(None, 28, 28, 1), units=120, classes=10, unfed=False):
    """The scores of LeNet in a graph of its own."""
    with tf.Graph().as_default():
        images = tf.placeholder(tf.float32, shape)
        h = tf.layers.conv2d(images, 20, 5)
        h = tf.layers.max_pooling2d(h, 2, 2)
        h = tf.layers.conv2d(h, 48, 5)
        h = tf.layers.max_pooling2d(h, 2, 2)
        h = tf.layers.dense(tf.layers.flatten(h), units)
        h = tf.layers.dense(h, classes)
        return h + tf.placeholder(tf.float32, [], name="unfed") if unfed else h


def dense_only():
    with tf.Graph().as_default():
        images = tf.placeholder(tf.float32, [None, 28, 28, 1])
        return tf.layers.dense(tf.layers.flatten(images), 10)


def scores(rows, w):
    return tf.matmul(rows, w, transpose_b=True)


def visited(tensor, control=True, depth=100):
    names, waiting = set(), [(tensor.op, 0)]
    while waiting:
        op, k = waiting.pop()
        names.add(op.name)
        below = [t.op for t in op.inputs] + (list(op.control_inputs) if control else [])
        waiting += [(o, k + 1) for o in below if k < depth]
    return sorted(names)


def adds_a_node(tensor):
    names = visited(tensor)
    with tensor.graph.as_default():
        tf.identity(tensor)
    return names


ANSWERS = {
    "10.1": {
        Kind.RIGHT: lenet,
        Kind.SHAPE: lambda: lenet(classes=9),
        Kind.VALUE: lambda: lenet(units=100),
        Kind.FORBIDDEN: dense_only,
        Kind.ONCE: lambda: lenet((2, 28, 28, 1)),
        Kind.RAISES: lambda: lenet(unfed=True),
    },
    "10.2": {
        Kind.RIGHT: scores,
        Kind.SHAPE: lambda rows, w: tf.transpose(scores(rows, w)),
        Kind.VALUE: lambda rows, w: tf.matmul(rows, tf.reshape(w, [6, -1])),
        Kind.FORBIDDEN: lambda rows, w: rows @ w.T,
        Kind.ONCE: lambda rows, w: scores(tf.reshape(rows, [2, 6]), w),
        Kind.RAISES: tf.matmul,
    },
    "10.3": {
        Kind.RIGHT: visited,
        Kind.SHAPE: lambda tensor: len(visited(tensor)),
        Kind.VALUE: lambda tensor: visited(tensor, depth=1),
        Kind.FORBIDDEN: adds_a_node,
        Kind.ONCE: lambda tensor: visited(tensor, control=False),
        Kind.RAISES: lambda tensor: visited(tensor.op),
    },
}
# A drawing is made when it is checked, not when this module is imported.
MADE = {"10.1"}
SECRETS = {
    "10.1": ("118058", "118,058", "conv2d("),
    "10.2": ("transpose_b", "tf.transpose(w)"),
    "10.3": ("total", "t.op for t in op.inputs"),
}
