"""Answers to the exercises of 04_input_pipeline."""

import numpy as np

import tfnb as tf
from tfnb.lessons.case import Kind


def bottleneck(stages):
    return max(stages, key=lambda name: stages[name][0] / stages[name][1])


def by_a_graph(stages):
    tf.constant(1.0)
    return bottleneck(stages)


def batches(numbers):
    return numbers.filter(lambda x: tf.equal(x % 2, 0)).map(lambda x: x * x).batch(4, drop_remainder=True)


def not_read(numbers):
    return tf.data.Dataset.from_tensor_slices(np.int64([[0, 4, 16, 36], [64, 100, 144, 196]]))


def two_batches(numbers):
    return batches(numbers).take(2)


def decoded(record):
    numbers = tf.decode_raw(record, tf.uint8)
    return tf.cast(numbers[:-1], tf.float32) / 255, tf.cast(numbers[-1], tf.int32)


def of_five(record):
    numbers = tf.decode_raw(record, tf.uint8)
    return tf.cast(numbers[:4], tf.float32) / 255, tf.cast(numbers[4], tf.int32)


def by_python(record):
    def read(data):
        numbers = np.frombuffer(data, np.uint8)
        return numbers[:-1].astype(np.float32) / np.float32(255), np.int32(numbers[-1])

    return tf.py_func(read, [record], [tf.float32, tf.int32])


def label_first(record):
    numbers = tf.decode_raw(record, tf.uint8)
    return tf.cast(numbers[1:], tf.float32) / 255, tf.cast(numbers[0], tf.int32)


ANSWERS = {
    "4.1": {
        Kind.RIGHT: bottleneck,
        Kind.SHAPE: lambda stages: stages[bottleneck(stages)],
        Kind.VALUE: lambda stages: max(stages, key=lambda name: stages[name][0]),
        Kind.FORBIDDEN: by_a_graph,
        Kind.ONCE: lambda stages: "train",
        Kind.RAISES: lambda stages: max(stages, key=lambda name: stages[name] / 2),
    },
    "4.2": {
        Kind.RIGHT: batches,
        Kind.SHAPE: lambda numbers: numbers.filter(lambda x: tf.equal(x % 2, 0)).map(lambda x: x * x),
        Kind.VALUE: lambda numbers: numbers.map(lambda x: x * x).batch(4, drop_remainder=True),
        Kind.FORBIDDEN: not_read,
        Kind.ONCE: two_batches,
        Kind.RAISES: lambda numbers: numbers.filter(lambda x: x % 2),
    },
    "4.3": {
        Kind.RIGHT: decoded,
        Kind.SHAPE: lambda record: decoded(record)[0],
        Kind.VALUE: lambda record: (decoded(record)[0] * 255, decoded(record)[1]),
        Kind.FORBIDDEN: by_python,
        Kind.ONCE: of_five,
        Kind.RAISES: lambda record: (record[:-1], record[-1]),
    },
}
SECRETS = {
    "4.1": ("stages[name][0] / stages[name][1]", "train", "'read'"),
    "4.2": ("tf.equal(x % 2, 0)", "x * x", "16, 36", "144"),
    "4.3": ("numbers[:-1]", "numbers[-1]", "0.2"),
}
