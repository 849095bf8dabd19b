"""Answers to the exercises of 08_many_devices."""

import tfnb as tf
from tfnb.lessons.case import Kind


def transfers(edges, devices):
    return len({(a, devices[b]) for a, b in edges if devices[a] != devices[b]})


def crossing(edges, devices):
    return sum(devices[a] != devices[b] for a, b in edges)


def senders(edges, devices):
    return len({a for a, b in edges if devices[a] != devices[b]})


def by_a_graph(edges, devices):
    tf.constant(len(edges))
    return transfers(edges, devices)


def built(x, last="/cpu:1", inner="/cpu:1", scale=1.0):
    with tf.device("/cpu:0"):
        a = tf.exp(x)
    with tf.device(inner):
        b, c = tf.sin(a), tf.cos(a)
    with tf.device(last):
        return b * c * scale


def halves(x, w, parts=None):
    left, right = tf.split(w, 2, axis=1) if parts is None else (w[:, :parts], w[:, parts : 2 * parts])
    with tf.device("/cpu:1"):
        a = tf.matmul(x, left)
    with tf.device("/cpu:2"):
        b = tf.matmul(x, right)
    return tf.concat([a, b], 1)


ANSWERS = {
    "8.1": {
        Kind.RIGHT: transfers,
        Kind.SHAPE: lambda edges, devices: [e for e in edges if devices[e[0]] != devices[e[1]]],
        Kind.VALUE: crossing,
        Kind.FORBIDDEN: by_a_graph,
        Kind.ONCE: senders,
        Kind.RAISES: lambda edges, devices: len({edge.name for edge in edges}),
    },
    "8.2": {
        Kind.RIGHT: built,
        Kind.SHAPE: lambda x: tf.reduce_sum(built(x)),
        Kind.VALUE: lambda x: built(x, scale=2.0),
        Kind.FORBIDDEN: lambda x: built(x, last="/cpu:0"),
        Kind.ONCE: lambda x: built(tf.reshape(x, [2])),
        Kind.RAISES: lambda x: built(x, last="/cpu:7"),
    },
    "8.3": {
        Kind.RIGHT: halves,
        Kind.SHAPE: lambda x, w: tf.split(halves(x, w), 2, axis=1),
        Kind.VALUE: lambda x, w: tf.reverse(halves(x, w), [1]),
        Kind.FORBIDDEN: tf.matmul,
        Kind.ONCE: lambda x, w: halves(x, w, 2),
        Kind.RAISES: lambda x, w: tf.matmul(x, tf.split(w, 2, axis=0)[0]),
    },
}
SECRETS = {
    "8.1": ("devices[b]) for a, b", "3 tensors"),
    "8.2": ("b * c",),
    "8.3": ("tf.split(w, 2", "tf.concat(["),
}
