"""Random convolutions, training programs and draws, for comparing the results of two versions of tfnb to the bit.

Each function takes a seed, builds a program into the default graph by the public API alone and returns a `Built`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import tfnb as tf

ACTIVATIONS = (tf.nn.relu, tf.tanh, tf.sigmoid, tf.nn.elu, tf.nn.relu6, tf.nn.softplus, tf.identity)
OPTIMIZERS: tuple[Callable[[float | tf.Tensor], tf.train.Optimizer], ...] = (
    tf.train.GradientDescentOptimizer,
    tf.train.AdamOptimizer,
    tf.train.AdagradOptimizer,
    tf.train.AdadeltaOptimizer,
    tf.train.RMSPropOptimizer,
    tf.train.FtrlOptimizer,
    tf.train.ProximalAdagradOptimizer,
    lambda rate: tf.train.MomentumOptimizer(rate, 0.9),
    lambda rate: tf.train.MomentumOptimizer(rate, 0.9, use_nesterov=True),
    lambda rate: tf.train.RMSPropOptimizer(rate, momentum=0.5, centered=True),
)


class Built(NamedTuple):
    """`fetches` are run once for each of `steps`, with its feeds, after the variables have been initialized."""

    fetches: list[tf.Tensor | tf.Operation | tf.Variable]
    steps: list[dict[tf.Tensor, np.ndarray]]
    last: list[tf.Variable]  # are fetched after the last step


def windows(seed: int) -> Built:
    """Convolutions and poolings over an image, with gradients."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    dtype = rng.choice((tf.float32, tf.float32, tf.float64))
    shape = [rng.choice((1, 2, 3)), rng.choice((5, 8, 13)), rng.choice((6, 9, 16)), rng.choice((1, 3, 4, 8))]

    def array(*size: int) -> np.ndarray:
        return numbers.normal(size=size).astype(dtype.as_numpy_dtype) * 0.5

    x = tf.placeholder(dtype, shape if rng.random() < 0.7 else [None, *shape[1:]])
    made, weights = [x], []
    for _ in range(rng.randint(1, 3)):
        y, size = made[-1], [rng.choice((1, 2, 3, 5)), rng.choice((1, 2, 3))]
        channels, stride = y.shape.as_list()[3], rng.choice((1, 1, 2))
        strides, padding = [1, stride, stride, 1], rng.choice(("SAME", "SAME", "VALID"))
        kind = rng.choice(("conv", "conv", "depthwise", "dilated", "max", "max", "average", "norm", "lrn", "up"))
        if kind == "conv":
            w = tf.constant(array(*size, channels, rng.choice((1, 4, 7, 16))))
            y = tf.nn.conv2d(y, w, strides, padding)
        elif kind == "depthwise":
            w = tf.constant(array(*size, channels, rng.choice((1, 2))))
            y = tf.nn.depthwise_conv2d(y, w, strides, padding)
        elif kind == "dilated":
            w = tf.constant(array(2, 2, channels, 3))
            y = tf.nn.atrous_conv2d(y, w, 2, padding)
        elif kind == "norm":
            w = tf.constant(array(channels))
            mean, variance = tf.nn.moments(y, [0, 1, 2])
            y = tf.nn.batch_normalization(y, mean, variance, w, w, 1e-3)
        elif kind == "up":
            w = tf.constant(array(3, 3, 2, channels))
            batch, height, width, _ = tf.unstack(tf.shape(y))
            y = tf.nn.conv2d_transpose(y, w, tf.stack([batch, height * 2, width * 2, 2]), [1, 2, 2, 1])
            y = tf.reshape(y, [-1, *(2 * n for n in made[-1].shape.as_list()[1:3]), 2])
        elif kind == "lrn":
            y, w = tf.nn.lrn(tf.cast(y, tf.float32), 2), None
            y = tf.cast(y, dtype)
        else:
            pool, w = (tf.nn.max_pool if kind == "max" else tf.nn.avg_pool), None
            y = pool(y, [1, *size, 1], strides, padding)
        weights.extend([] if w is None else [w])
        y = rng.choice(ACTIVATIONS)(y + tf.constant(array(y.shape.as_list()[3])))
        made.append(y)
    ends = [made[-1], tf.reduce_sum(made[-1] * made[-1])]
    if rng.random() < 0.7:
        ends.extend(g for g in tf.gradients(ends[1], [x, *weights]) if g is not None)
    return Built(ends, [{x: array(*shape)}], [])


def training(seed: int) -> Built:
    """A few layers with a random optimizer, trained for three steps."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    dtype = rng.choice((tf.float32, tf.float32, tf.float32, tf.float64))
    batch, width, classes = rng.choice((1, 4, 16, 33)), rng.choice((3, 8, 20)), rng.choice((1, 2, 10))
    tf.set_random_seed(seed + 1)

    def variable(*shape: int) -> tf.Variable:
        if rng.random() < 0.3:
            return tf.Variable(tf.truncated_normal(shape, stddev=0.3, dtype=dtype, seed=rng.randint(1, 99)))
        return tf.Variable((numbers.normal(size=shape) * 0.3).astype(dtype.as_numpy_dtype))

    step = tf.train.get_or_create_global_step()
    labels = tf.placeholder(tf.int32, [batch] if rng.random() < 0.7 else [None])
    kind = rng.choice(("dense", "dense", "dense", "embedding", "recurrent"))
    if kind == "dense":
        x = tf.placeholder(dtype, [batch if rng.random() < 0.7 else None, width])
        h: tf.Tensor = x
    else:
        x = tf.placeholder(tf.int32, [batch, 4])
        found = tf.nn.embedding_lookup(variable(11, width), x)
        h = tf.reduce_mean(found, 1)
        if kind == "recurrent":
            cell = rng.choice((tf.nn.rnn_cell.BasicLSTMCell, tf.nn.rnn_cell.GRUCell, tf.nn.rnn_cell.BasicRNNCell))(5)
            lengths = tf.constant(numbers.integers(0, 5, batch).astype(np.int32)) if rng.random() < 0.5 else None
            found, _ = tf.nn.dynamic_rnn(cell, found, sequence_length=lengths, dtype=dtype)
            h, width = found[:, 3], 5
    for n in [rng.choice((4, 7, 32)) for _ in range(rng.randint(0, 2))]:
        h = rng.choice(ACTIVATIONS)(tf.matmul(h, variable(width, n)) + variable(n))
        h, width = tf.nn.dropout(h, 0.8, seed=rng.choice((None, 5))) if rng.random() < 0.2 else h, n
    logits = tf.matmul(h, variable(width, classes)) + variable(classes)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    variables = tf.trainable_variables()
    if rng.random() < 0.3:
        loss += 0.01 * tf.add_n([tf.nn.l2_loss(v) for v in variables])
    rate: float | tf.Tensor = rng.choice((0.5, 0.1, 0.01))
    if rng.random() < 0.3 and dtype == tf.float32:
        rate = tf.train.exponential_decay(rate, step, 2, 0.5, staircase=rng.random() < 0.5)
    optimizer = rng.choice(OPTIMIZERS)(rate)
    pairs = optimizer.compute_gradients(loss)
    if rng.random() < 0.3:
        clipped, _ = tf.clip_by_global_norm([g for g, _ in pairs], 0.5)
        pairs = list(zip(clipped, [v for _, v in pairs], strict=True))
    update: tf.Operation = optimizer.apply_gradients(pairs, global_step=step)
    if rng.random() < 0.25:
        average = tf.train.ExponentialMovingAverage(0.9, step if rng.random() < 0.5 else None)
        with tf.control_dependencies([update]):
            update = average.apply(variables)

    def feeds() -> dict[tf.Tensor, np.ndarray]:
        dense = numbers.normal(size=(batch, 3 if kind != "dense" else x.shape.as_list()[1]))
        data = dense.astype(dtype.as_numpy_dtype) if kind == "dense" else numbers.integers(0, 11, (batch, 4), np.int32)
        return {x: data, labels: numbers.integers(0, classes, batch, np.int32)}

    return Built([loss, update, logits], [feeds() for _ in range(3)], tf.global_variables())


def draws(seed: int) -> Built:
    """Random operations with seeds of their own or of the graph, each drawn three times."""
    rng = random.Random(seed)
    if rng.random() < 0.7:
        tf.set_random_seed(rng.randint(0, 10**6))
        own: list[int | None] = [None, None, 1, 77]
    else:
        own = [2, 9, 12345]
    dtype = rng.choice((tf.float32, tf.float64))
    shape = [rng.choice((0, 1, 3, 10, 65)) for _ in range(rng.randint(0, 3))]
    rates = tf.constant([0.3, 1.0, 4.5], dtype)
    table: list[Callable[[int | None], tf.Tensor]] = [
        lambda s: tf.random_normal(shape, 1.0, 2.0, dtype, seed=s),
        lambda s: tf.random_uniform(shape, -1.0, 3.0, dtype, seed=s),
        lambda s: tf.random_uniform(shape, -5, 50, tf.int32, seed=s),
        lambda s: tf.truncated_normal(shape, dtype=dtype, seed=s),
        lambda s: tf.random_shuffle(tf.range(20), seed=s),
        lambda s: tf.random_crop(tf.reshape(tf.range(100), [10, 10]), [3, 4], seed=s),
        lambda s: tf.multinomial(tf.log([[0.1, 0.2, 0.7], [0.5, 0.5, 0.0]]), 9, seed=s),
        lambda s: tf.random_gamma(shape[:1], rates, seed=s, dtype=dtype),
        lambda s: tf.random_poisson(rates, shape[:1], dtype=dtype, seed=s),
        lambda s: tf.nn.dropout(tf.ones([4, 9], dtype), 0.6, seed=s),
        lambda s: tf.glorot_uniform_initializer(seed=s)([7, 5]),
        lambda s: tf.orthogonal_initializer(seed=s)([4, 4]),
        lambda s: tf.nn.uniform_candidate_sampler([[1], [2]], 1, 4, True, 20, seed=s)[0],
        lambda s: tf.nn.log_uniform_candidate_sampler([[1], [2]], 1, 4, False, 20, seed=s)[0],
        lambda s: tf.tanh(tf.random_normal([6, 6], seed=s)) + tf.random_uniform([6], seed=s),
    ]
    ends: list[tf.Tensor | tf.Operation | tf.Variable] = [
        rng.choice(table)(rng.choice(own)) for _ in range(rng.randint(2, 5))
    ]
    start = tf.Variable(tf.random_normal([5], seed=rng.choice(own)))
    turns = tf.while_loop(
        lambda i, *_: i < 3, lambda i, y: [i + 1, y + tf.random_uniform([2], seed=4)], [tf.constant(0), tf.zeros([2])]
    )
    return Built([*ends, turns[1]], [{}, {}, {}], [start])
