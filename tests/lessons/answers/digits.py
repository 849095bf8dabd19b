"""Answers to the exercises of 02_mnist."""

import numpy as np

import tfnb as tf
from tfnb.lessons.case import Kind


def network(images, filters=8, units=10, batch=-1):
    h = tf.reshape(images, [batch, 28, 28, 1])
    h = tf.layers.conv2d(h, filters, 5, padding="same", activation=tf.nn.relu)
    h = tf.layers.max_pooling2d(h, 2, 2)
    h = tf.layers.conv2d(h, 2 * filters, 5, padding="same", activation=tf.nn.relu)
    h = tf.layers.max_pooling2d(h, 2, 2)
    return tf.layers.dense(tf.layers.flatten(h), units)


def accuracy(logits, labels):
    return tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), labels), tf.float32))


def of_eight(logits, labels):
    return tf.reduce_sum(tf.cast(tf.equal(tf.argmax(logits, 1), labels), tf.float32)) / 8


def shapes(size):
    a = size - 4
    b = a // 2
    c = b - 4
    d = c // 2
    return [[a, a, 32], [b, b, 32], [c, c, 64], [d, d, 64], [d * d * 64]]


def by_a_graph(size):
    tf.placeholder(tf.float32, [None, size, size, 1])
    return shapes(size)


ANSWERS = {
    "2.1": {
        Kind.RIGHT: network,
        Kind.SHAPE: lambda images: network(images, units=9),
        Kind.VALUE: lambda images: network(images, filters=32),
        Kind.FORBIDDEN: lambda images: tf.layers.dense(images, 10),
        Kind.ONCE: lambda images: network(images, batch=4),
        Kind.RAISES: lambda images: tf.layers.conv2d(images, 8, 5),
    },
    "2.2": {
        Kind.RIGHT: accuracy,
        Kind.SHAPE: lambda logits, labels: tf.equal(tf.argmax(logits, 1), labels),
        Kind.VALUE: lambda logits, labels: 1 - accuracy(logits, labels),
        Kind.FORBIDDEN: lambda logits, labels: np.mean(np.argmax(logits, 1) == labels),
        Kind.ONCE: of_eight,
        Kind.RAISES: lambda logits, labels: tf.reduce_mean(tf.equal(tf.argmax(logits, 1), labels)),
    },
    "2.3": {
        Kind.RIGHT: shapes,
        Kind.SHAPE: lambda size: shapes(size)[-1][0],
        Kind.VALUE: lambda size: [[size, size, 32], *shapes(size)[1:]],
        Kind.FORBIDDEN: by_a_graph,
        Kind.ONCE: lambda size: shapes(28),
        Kind.RAISES: lambda size: shapes(size)[5],
    },
}
SECRETS = {
    "2.1": ("conv2d(h, 8, 5",),
    "2.2": ("tf.cast(tf.equal(", "0.75"),
    "2.3": ("24", "12, 12", "1024", "4, 4", "size - 4"),
}
