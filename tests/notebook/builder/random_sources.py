"""Small random graphs of many kinds of ops, for the tests of the builder."""

from __future__ import annotations

import random

import numpy as np

import tfnb as tf

_UNARY = [tf.nn.relu, tf.square, tf.tanh, tf.exp, tf.negative, tf.identity, tf.sigmoid, tf.nn.softmax, tf.abs, tf.sign]
_BINARY = [tf.add, tf.multiply, tf.subtract, tf.maximum, tf.minimum, tf.divide, tf.greater]


def random_graph(seed: int) -> tf.Graph:
    """Returns a graph of 5 to 25 calls: arithmetic, shapes, reductions, variables, scopes, control inputs, gradients."""
    r = random.Random(seed)
    with tf.Graph().as_default() as graph:
        values = [tf.placeholder(tf.float32, [None, 4], name="x"), tf.constant(np.ones([3, 4], np.float32) * seed)]
        values.append(tf.Variable(tf.truncated_normal([4, 4], seed=seed), name="w").value())
        for _ in range(r.randint(5, 25)):
            value = _call(r, values)
            values += [v for v in (value if isinstance(value, list) else [value]) if v.dtype == tf.float32]
        if r.random() < 0.3:
            tf.gradients(tf.reduce_sum(values[-1]), values[:3])
    return graph


def _call(r: random.Random, values: list) -> object:
    a, b = r.choice(values), r.choice(values)
    kind = r.randrange(9)
    if kind == 0:
        return r.choice(_UNARY)(a)
    if kind == 1:
        try:
            return r.choice(_BINARY)(a, b)
        except (ValueError, TypeError):
            return tf.stack([a, a])
    if kind == 2:
        return tf.reduce_mean(a, r.choice([None, 0, -1] if a.get_shape().ndims else [None]), keep_dims=r.random() < 0.5)
    if kind == 3:
        return tf.concat([a, a], 0) if a.get_shape().ndims else tf.fill([2, 4], a)
    if kind == 4:
        return tf.matmul(values[0], values[2], transpose_b=r.random() < 0.5)
    if kind == 5:
        with tf.name_scope(r.choice(["part", "inner"])), tf.control_dependencies([b]):
            return tf.identity(a, name=r.choice(["end", None]))
    if kind == 6:
        return tf.split(tf.reshape(tf.concat([tf.reshape(a, [-1])] * 2, 0), [-1, 2]), 2, 1)
    if kind == 7:
        return tf.cast(tf.cast(a, r.choice([tf.int32, tf.float64])), tf.float32)
    with tf.device(r.choice(["/cpu:0", "/job:w/task:1"])):
        return tf.expand_dims(a, r.choice([0, -1]))
