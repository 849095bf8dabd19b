"""Answers to the exercises of 01_first_graph."""

import numpy as np

import tfnb as tf
from tfnb.lessons.case import Kind


def layers(x, w_1, b_1, w_2, b_2):
    return tf.matmul(tf.nn.relu(tf.matmul(x, w_1) + b_1), w_2) + b_2


def misprint(x, w_1, b_1, w_2, b_2):
    return tf.matmul(tf.nn.relu(tf.matmul(x, w_1) + b_2), w_2) + b_2


def one_score(x, w_1, b_1, w_2, b_2):
    return tf.reduce_sum(layers(x, w_1, b_1, w_2, b_2), 1)


def with_numpy(x, w_1, b_1, w_2, b_2):
    return np.maximum(x @ w_1 + b_1, 0) @ w_2 + b_2


def batches_of_two(x, w_1, b_1, w_2, b_2):
    return layers(tf.reshape(x, [2, 5]), w_1, b_1, w_2, b_2)


def too_many(x, w_1, b_1, w_2, b_2):
    return tf.matmul(x, b_1)


def slope(x):
    return tf.gradients(x**3 * tf.sin(x), x)[0]


def by_hand(x):
    return 3 * x**2 * tf.sin(x) + x**3 * tf.cos(x)


def of_three(x):
    return tf.reshape(tf.gradients(x**3 * tf.sin(x), x)[0], [3])


def sums():
    number, total = tf.Variable(0), tf.Variable(0)
    k = tf.assign_add(number, 1)
    return tf.assign_add(total, k * k)


def numbers():
    return tf.assign_add(tf.Variable(0), 1)


def from_zero():
    number, total = tf.Variable(0), tf.Variable(0)
    k = tf.assign_add(number, 1) - 1
    return tf.assign_add(total, k * k)


def without_initial_value():
    return tf.assign_add(tf.placeholder(tf.int32, []), 1)


ANSWERS = {
    "1.1": {
        Kind.RIGHT: layers,
        Kind.SHAPE: one_score,
        Kind.VALUE: misprint,
        Kind.FORBIDDEN: with_numpy,
        Kind.ONCE: batches_of_two,
        Kind.RAISES: too_many,
    },
    "1.2": {
        Kind.RIGHT: slope,
        Kind.SHAPE: lambda x: tf.reduce_sum(slope(x)),
        Kind.VALUE: lambda x: x**3 * tf.sin(x),
        Kind.FORBIDDEN: by_hand,
        Kind.ONCE: of_three,
        Kind.RAISES: lambda x: tf.gradients(x**3 * tf.sin(x), "x")[0],
    },
    "1.3": {
        Kind.RIGHT: sums,
        Kind.SHAPE: lambda: 1,
        Kind.VALUE: from_zero,
        Kind.FORBIDDEN: lambda: tf.constant(1),
        Kind.ONCE: numbers,
        Kind.RAISES: without_initial_value,
    },
}
SECRETS = {
    "1.1": ("w_1) + b_1", "W_1) + b_1", "matmul(x, W_1) + b_1"),
    "1.2": ("tf.gradients(f, x)[0]", "tf.cos(x)", "cos"),
    "1.3": ("14", "30", "55", "91", "assign_add(total"),
}
