"""Answers to the exercises of 09_dask_cluster."""

import numpy as np

import tfnb as tf
from tfnb.lessons.case import Kind


def lost(died_in, save_every):
    return list(range((died_in - 1) // save_every * save_every + 1, died_in + 1))


def saved_as_it_dies(died_in, save_every):
    return list(range(died_in // save_every * save_every + 1, died_in + 1))


def by_a_graph(died_in, save_every):
    tf.constant(died_in)
    return lost(died_in, save_every)


def slope(x, y, w):
    return tf.gradients(tf.reduce_mean(tf.square(tf.reduce_sum(x * w, 1) - y)), w)[0]


def gradient(x, y, w):
    parts = zip(tf.split(x, 2), tf.split(y, 2), strict=True)
    return tf.add_n([slope(xs, ys, w) for xs, ys in parts]) / 2


def of_four(x, y, w):
    return (slope(x[:2], y[:2], w) + slope(x[2:4], y[2:4], w)) / 2


def with_numpy(x, y, w):
    return 2 * x.T @ (x @ w - y) / np.float32(len(x))


def traffic(sizes, servers, workers):
    return [workers * sum(sizes[k::servers]) for k in range(servers)]


def traffic_by_a_graph(sizes, servers, workers):
    tf.constant(sizes)
    return traffic(sizes, servers, workers)


ANSWERS = {
    "9.1": {
        Kind.RIGHT: lost,
        Kind.SHAPE: lambda died_in, save_every: len(lost(died_in, save_every)),
        Kind.VALUE: lambda died_in, save_every: lost(died_in, save_every)[:-1],
        Kind.FORBIDDEN: by_a_graph,
        Kind.ONCE: saved_as_it_dies,
        Kind.RAISES: lambda died_in, save_every: list(range(died_in / save_every)),
    },
    "9.2": {
        Kind.RIGHT: gradient,
        Kind.SHAPE: lambda x, y, w: tf.stack([gradient(x, y, w)] * 2),
        Kind.VALUE: lambda x, y, w: 2 * gradient(x, y, w),
        Kind.FORBIDDEN: slope,
        Kind.ONCE: of_four,
        Kind.RAISES: lambda x, y, w: slope(tf.split(x, 2), y, w),
    },
    "9.3": {
        Kind.RIGHT: traffic,
        Kind.SHAPE: lambda sizes, servers, workers: sum(sizes) * workers,
        Kind.VALUE: lambda sizes, servers, workers: traffic(sizes, servers, 1),
        Kind.FORBIDDEN: traffic_by_a_graph,
        Kind.ONCE: lambda sizes, servers, workers: traffic(sizes, servers, 2),
        Kind.RAISES: lambda sizes, servers, workers: traffic(sizes, "2", workers),
    },
}
SECRETS = {
    "9.1": ("51", "(died_in - 1) // save_every", "52"),
    "9.2": ("tf.add_n([", "/ 2"),
    "9.3": ("813056", "813,056", "1104", "sizes[k::servers]"),
}
