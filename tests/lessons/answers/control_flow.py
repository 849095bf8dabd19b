"""Answers to the exercises of 03_control_flow."""

import numpy as np

import tfnb as tf
from tfnb.lessons.case import Kind


def looped(a, go_on, step):
    return tf.while_loop(go_on, step, [tf.identity(a)])


def root(a):
    return looped(a, lambda r: tf.abs(r * r * r - a) > 1e-9 * a, lambda r: (2.0 * r + a / (r * r)) / 3.0)


def square_root(a):
    return looped(a, lambda r: tf.abs(r * r - a) > 1e-9 * a, lambda r: 0.5 * (r + a / r))


def twelve_rounds(a):
    return tf.while_loop(lambda i, r: i < 12, lambda i, r: (i + 1, (2.0 * r + a / (r * r)) / 3.0), [0, a])[1]


def without_gradient(a):
    return tf.stop_gradient(root(a))


def terms(x):
    positive = x > 0
    return tf.where(positive, x * tf.log(tf.where(positive, x, tf.ones_like(x))), tf.zeros_like(x))


def one_where(x):
    return tf.where(x > 0, x * tf.log(x), tf.zeros_like(x))


def with_numpy(x):
    return np.where(x > 0, x * np.log(np.where(x > 0, x, 1)), 0)


def powers(x, n, count=None):
    begin = [0, tf.ones_like(x), tf.TensorArray(tf.float32, size=n)]
    body = lambda i, power, array: (i + 1, power * x, array.write(i, power))  # noqa: E731
    return tf.while_loop(lambda i, *_: i < (n if count is None else count), body, begin)[2].stack()


def from_one(x, n):
    return powers(x, n) * x


ANSWERS = {
    "3.1": {
        Kind.RIGHT: root,
        Kind.SHAPE: lambda a: (root(a), a),
        Kind.VALUE: square_root,
        Kind.FORBIDDEN: lambda a: tf.pow(a, 1 / 3),
        Kind.ONCE: twelve_rounds,
        Kind.RAISES: lambda a: looped(a, lambda r: r * r, lambda r: r),
    },
    "3.2": {
        Kind.RIGHT: terms,
        Kind.SHAPE: lambda x: tf.reduce_sum(terms(x)),
        Kind.VALUE: one_where,
        Kind.FORBIDDEN: with_numpy,
        Kind.ONCE: lambda x: terms(tf.reshape(x, [3])),
        Kind.RAISES: lambda x: tf.cond(x > 0, lambda: x * tf.log(x), lambda: 0 * x),
    },
    "3.3": {
        Kind.RIGHT: powers,
        Kind.SHAPE: lambda x, n: tf.expand_dims(powers(x, n), 0),
        Kind.VALUE: from_one,
        Kind.FORBIDDEN: lambda x, n: tf.pow(x, tf.cast(tf.range(n), tf.float32)),
        Kind.ONCE: lambda x, n: powers(x, 5),
        Kind.RAISES: lambda x, n: tf.stack([x**k for k in range(n)]),
    },
}
SECRETS = {
    "3.1": ("2.0 * r", "2 * r", "r * r * r"),
    "3.2": ("tf.where(positive, x,", "tf.ones_like"),
    "3.3": ("power * x", "array.write(i, power)", "16"),
}
