"""Answers to the exercises of 07_profile."""

import numpy as np

import tfnb as tf
from tfnb.lessons.case import Kind


def slow(h):
    wide = tf.tile(h, [16, 8])
    return tf.reduce_mean(tf.matmul(wide, wide, transpose_b=True))


def fast(h):
    return 8.0 * tf.reduce_sum(tf.square(tf.reduce_mean(h, 0)))


def account(kernels, wall):
    busy = last = 0.0
    for begin, end in sorted(kernels):
        busy += max(0.0, end - max(begin, last))
        last = max(last, end)
    return busy, wall - busy


def summed(kernels, wall):
    busy = sum(end - begin for begin, end in kernels)
    return busy, wall - busy


def by_a_graph(kernels, wall):
    tf.constant(wall)
    return account(kernels, wall)


def neighbours(kernels, wall):
    """Right unless a kernel lies inside another one."""
    kernels = sorted(kernels)
    busy = sum(end - begin for begin, end in kernels)
    busy -= sum(max(0.0, a[1] - b[0]) for a, b in zip(kernels, kernels[1:], strict=False))
    return busy, wall - busy


ANSWERS = {
    "7.1": {
        Kind.RIGHT: fast,
        Kind.SHAPE: lambda h: tf.reduce_mean(h, 0),
        Kind.VALUE: lambda h: fast(h) / 8.0,
        Kind.FORBIDDEN: slow,
        Kind.ONCE: lambda h: fast(tf.reshape(h, [32, 16])),
        Kind.RAISES: lambda h: tf.matmul(tf.reduce_mean(h, 0), h),
    },
    "7.2": {
        Kind.RIGHT: account,
        Kind.SHAPE: lambda kernels, wall: account(kernels, wall)[0],
        Kind.VALUE: summed,
        Kind.FORBIDDEN: by_a_graph,
        Kind.ONCE: neighbours,
        Kind.RAISES: lambda kernels, wall: wall - kernels,
    },
    "7.3": {
        Kind.RIGHT: tf.nn.softplus,
        Kind.SHAPE: lambda x: tf.reduce_sum(tf.nn.softplus(x)),
        Kind.VALUE: tf.nn.relu,
        Kind.FORBIDDEN: lambda x: tf.py_func(lambda v: np.logaddexp(0, v).astype(np.float32), [x], tf.float32),
        Kind.ONCE: lambda x: tf.log(1 + tf.exp(x)),
        Kind.RAISES: lambda x: tf.cond(x > 0, lambda: x, lambda: 0 * x),
    },
}
SECRETS = {
    "7.1": ("8.0 *", "tf.square(tf.reduce_mean", "8 * "),
    "7.2": ("25", "15", "max(begin, last)"),
    "7.3": ("softplus", "tf.log1p(tf.exp(-tf.abs(x)))"),
}
