"""Answers to the exercises of 14_embeddings."""

import numpy as np

import tfnb as tf
from tfnb.lessons.case import Kind


def nearest(vectors, i):
    unit = tf.nn.l2_normalize(vectors, 1)
    products = tf.reduce_sum(unit * unit[i], 1)
    return tf.nn.top_k(products, 6)[1][1:]


def by_products(vectors, i):
    return tf.nn.top_k(tf.reduce_sum(vectors * vectors[i], 1), 6)[1][1:]


def by_numpy(vectors, i):
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.argsort(-(unit @ unit[i]))[1:6].astype(np.int32)


def losses(own, others):
    scores = tf.concat([own[:, None], others], 1)
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.zeros_like(scores[:, 0], tf.int32), logits=scores)


def sampled_loss(h, weights, expected, labels, samples):
    own = tf.reduce_sum(h * tf.gather(weights, labels), 1) - tf.log(tf.gather(expected, labels))
    others = tf.matmul(h, tf.gather(weights, samples), transpose_b=True) - tf.log(tf.gather(expected, samples))
    return losses(own, others)


def uncorrected(h, weights, expected, labels, samples):
    return sampled_loss(h, weights, tf.ones_like(expected), labels, samples)


def of_all_scores(h, weights, expected, labels, samples):
    scores = tf.matmul(h, weights, transpose_b=True) - tf.log(expected)
    own = tf.reduce_sum(scores * tf.one_hot(labels, 30), 1)
    return losses(own, tf.gather(scores, samples, axis=1))


def work(vocabulary, width, batch, samples):
    rows = min(vocabulary, batch + samples)
    return (batch * vocabulary * width, vocabulary), (batch * (samples + 1) * width, rows)


def without_the_label(vocabulary, width, batch, samples):
    return (batch * vocabulary * width, vocabulary), (batch * samples * width, batch + samples)


def unlimited(vocabulary, width, batch, samples):
    return (batch * vocabulary * width, vocabulary), (batch * (samples + 1) * width, batch + samples)


def by_a_graph(vocabulary, width, batch, samples):
    tf.constant(width)
    return work(vocabulary, width, batch, samples)


ANSWERS = {
    "14.1": {
        Kind.RIGHT: nearest,
        Kind.SHAPE: lambda vectors, i: tf.to_float(nearest(vectors, i)),
        Kind.VALUE: by_products,
        Kind.FORBIDDEN: by_numpy,
        Kind.ONCE: lambda vectors, i: nearest(tf.reshape(vectors, [12, 4]), i),
        Kind.RAISES: lambda vectors, i: nearest(vectors, i + 0.5),
    },
    "14.2": {
        Kind.RIGHT: sampled_loss,
        Kind.SHAPE: lambda *inputs: tf.reduce_mean(sampled_loss(*inputs)),
        Kind.VALUE: uncorrected,
        Kind.FORBIDDEN: of_all_scores,
        Kind.ONCE: lambda h, *inputs: sampled_loss(tf.reshape(h, [3, 4]), *inputs),
        Kind.RAISES: lambda h, weights, expected, labels, samples: tf.matmul(h, weights),
    },
    "14.3": {
        Kind.RIGHT: work,
        Kind.SHAPE: lambda *sizes: work(*sizes)[0][0],
        Kind.VALUE: without_the_label,
        Kind.FORBIDDEN: by_a_graph,
        Kind.ONCE: unlimited,
        Kind.RAISES: lambda vocabulary, width, batch, samples: vocabulary / (width - 48),
    },
}
SECRETS = {
    "14.1": ("tf.nn.top_k(products, 6)", "[1][1:]"),
    "14.2": ("tf.gather(weights, labels)", "tf.concat([own"),
    "14.3": ("32354304", "798720", "320", "min(vocabulary"),
}
