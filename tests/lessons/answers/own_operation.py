"""Answers to the exercises of 11_own_operation.

An operation is registered when its answer is called, so that it is there for the test that calls it alone.
"""

import numpy as np

import tfnb as tf
from tfnb.lessons.case import Kind

SWISH = """
__kernel void swish(__global const T *x, __global T *y, int n) {
    int i = get_global_id(0);
    if (i < n) y[i] = x[i] / (1 + exp(-x[i]));
}
"""
STEPS = """
__kernel void steps(__global const float *x, __global float *y, int n) {
    int i = get_global_id(0);
    if (i < n) y[i] = i == 0 ? x[i] : x[i] - x[i - 1];
}
"""


def own(opencl=SWISH, signature=("x: T", "y: T"), **arguments):
    """A function that registers an operation whose kernel is `opencl`, and adds a node of it."""

    def call(x):
        @tf.register_op(*signature, name="OfAnAnswer", opencl=opencl, **arguments)
        def function(x):
            return x / (1 + np.exp(-x))

        return function(x)

    return call


def slope(op, dy):
    s = tf.sigmoid(op.x)
    return dy * (s + op.x * s * (1.0 - s))


def naive_slope(op, dy):
    e = tf.exp(op.x)
    s = e / (1.0 + e)
    return dy * (s + op.x * s * (1.0 - s))


def backward(op, dy):
    return dy - tf.pad(dy[1:], [[0, 1]])


def of_library(x):
    return x * tf.sigmoid(x)


def steps(opencl=STEPS, grad=backward, **arguments):
    return own(opencl, ("x: float32", "y: float32"), grad=grad, **arguments)


ANSWERS = {
    "11.1": {
        Kind.RIGHT: own(),
        Kind.SHAPE: lambda x: tf.reduce_sum(own()(x)),
        Kind.VALUE: own(SWISH.replace("x[i] / (", "1 / (")),
        Kind.FORBIDDEN: own(None),
        Kind.ONCE: own(arguments=lambda site: (5,)),
        Kind.RAISES: own(SWISH.replace("exp", "exponential")),
    },
    "11.2": {
        Kind.RIGHT: own(grad=slope),
        Kind.SHAPE: lambda x: tf.reduce_sum(own(grad=slope)(x)),
        Kind.VALUE: own(grad=lambda op, dy: dy * tf.sigmoid(op.x)),
        Kind.FORBIDDEN: of_library,
        Kind.ONCE: own(grad=naive_slope),
        Kind.RAISES: own(grad=lambda op, dy: dy * op.z),
    },
    "11.3": {
        Kind.RIGHT: steps(),
        Kind.SHAPE: lambda x: steps()(x)[1:],
        Kind.VALUE: steps(grad=lambda op, dy: dy),
        Kind.FORBIDDEN: lambda x: x - tf.pad(x[:-1], [[1, 0]]),
        Kind.ONCE: steps(STEPS.replace("i < n", "i < 6")),
        Kind.RAISES: steps(STEPS.replace("int i", "int k")),
    },
}
SECRETS = {
    "11.1": ("x[i] / (1 + exp(-x[i]))", "x / (1 + np.exp(-x))", "exp(-x[i])"),
    "11.2": ("dy * (s + op.x * s * (1.0 - s))", "s * (1 - s)", "tf.sigmoid(op.x)"),
    "11.3": ("x[i] - x[i - 1]", "dy - tf.pad", "dy[1:]"),
}
