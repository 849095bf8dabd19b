"""Answers to the exercises of 13_recurrent_text."""

import numpy as np

import tfnb as tf
from tfnb.lessons.case import Kind


def gru(x, h, w, a, b):
    r, u = tf.split(tf.sigmoid(tf.matmul(tf.concat([x, h], 1), w)), 2, axis=1)
    return u * h + (1.0 - u) * tf.tanh(tf.matmul(x, a) + tf.matmul(r * h, b))


def gates_exchanged(x, h, w, a, b):
    u, r = tf.split(tf.sigmoid(tf.matmul(tf.concat([x, h], 1), w)), 2, axis=1)
    return u * h + (1.0 - u) * tf.tanh(tf.matmul(x, a) + tf.matmul(r * h, b))


def gru_by_numpy(x, h, w, a, b):
    r, u = np.split(1 / (1 + np.exp(-np.concatenate([x, h], 1) @ w)), 2, axis=1)
    return u * h + (1 - u) * np.tanh(x @ a + (r * h) @ b)


def loss_of(x, w, cuts):
    h, loss = tf.constant(0.0), 0.0
    for t in range(x.get_shape().as_list()[0]):
        h = tf.tanh(w * (tf.stop_gradient(h) if cuts(t) else h) + x[t])
        loss += h * h
    return loss


def by_numpy(x, w):
    h, loss = np.float32(0), np.float32(0)
    for number in np.asarray(x):
        h = np.tanh(w * h + number)
        loss += h * h
    return loss


def last(x, w, length=None):
    h = tf.constant(0.0)
    for t in range(length or x.get_shape().as_list()[0]):
        h = tf.tanh(w * h + x[t])
    return h


def left(x, w):
    return tf.gradients(last(x, w), x)[0]


def by_hand(x, w):
    h, slopes = tf.constant(0.0), []
    for t in range(x.get_shape().as_list()[0]):
        h = tf.tanh(w * h + x[t])
        slopes = [s * w * (1.0 - h * h) for s in slopes] + [1.0 - h * h]
    return tf.stack(slopes)


ANSWERS = {
    "13.1": {
        Kind.RIGHT: gru,
        Kind.SHAPE: lambda x, h, w, a, b: (gru(x, h, w, a, b), h),
        Kind.VALUE: gates_exchanged,
        Kind.FORBIDDEN: gru_by_numpy,
        Kind.ONCE: lambda x, h, w, a, b: gru(tf.reshape(x, [2, 3]), h, w, a, b),
        Kind.RAISES: lambda x, h, w, a, b: gru(x, h, a, w, b),
    },
    "13.2": {
        Kind.RIGHT: lambda x, w: loss_of(x, w, lambda t: t % 4 == 0),
        Kind.SHAPE: lambda x, w: tf.stack([loss_of(x, w, lambda t: t % 4 == 0)]),
        Kind.VALUE: lambda x, w: loss_of(x, w, lambda t: False),
        Kind.FORBIDDEN: by_numpy,
        Kind.ONCE: lambda x, w: loss_of(x, w, lambda t: t in (4, 8)),
        Kind.RAISES: lambda x, w: loss_of(x[0], w, lambda t: True),
    },
    "13.3": {
        Kind.RIGHT: left,
        Kind.SHAPE: lambda x, w: tf.gradients(last(x, w), [x, w]),
        Kind.VALUE: lambda x, w: tf.gradients(last(x, w) ** 2, x)[0],
        Kind.FORBIDDEN: by_hand,
        Kind.ONCE: lambda x, w: tf.gradients(last(x, w, 6), x)[0],
        Kind.RAISES: lambda x, w: tf.gradients(last(x, w), "x")[0],
    },
}
SECRETS = {
    "13.1": ("u * h + (1.0 - u)", "tf.concat([x, h], 1)", "tf.matmul(r * h"),
    "13.2": ("tf.stop_gradient(h)", "t % 4 == 0"),
    "13.3": ("tf.gradients(h, x)", "tf.gradients(last"),
}
