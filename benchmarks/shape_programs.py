"""The programs of `benchmarks.shapes`, in which each step has another shape, written once for tfnb and TensorFlow.

Each `make(tf)` builds a graph in the default graph and returns a function that runs the step with the shape of a given
number, from 0 to STEPS - 1. Invariant: different numbers give different shapes, and equal numbers equal inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["SHAPE_PROGRAMS", "STEPS", "ShapeProgram"]

STEPS = 40
NumberedStep = Callable[[int], Any]


@dataclass(frozen=True)
class ShapeProgram:
    """`note` says what changes, and what a step does."""

    name: str
    make: Callable[[Any], NumberedStep]
    note: str


def _mixed(low: int, stride: int = 1) -> list[int]:
    """STEPS different sizes from `low` on, in an order in which no size says the next."""
    return [int(low + stride * k) for k in np.random.RandomState(5).permutation(STEPS)]


def _floats(*shape: int) -> np.ndarray:
    return np.random.RandomState(7).rand(*shape).astype(np.float32)


def _weights(tf: Any, *shape: int) -> Any:
    return tf.Variable((np.random.RandomState(len(shape)).randn(*shape) * 0.05).astype(np.float32))


def _classes(n: int) -> np.ndarray:
    return np.arange(n, dtype=np.int32) % 10


def _stepper(tf: Any, fetches: Any, feeds: list[dict[Any, np.ndarray]]) -> NumberedStep:
    sess = tf.Session()
    sess.run(tf.global_variables_initializer())
    return lambda n: sess.run(fetches, feeds[n])


def _cross_entropy(tf: Any, labels: Any, logits: Any) -> Any:
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def batch_sizes(tf: Any) -> NumberedStep:
    x = tf.placeholder(tf.float32, [None, 784])
    labels = tf.placeholder(tf.int32, [None])
    hidden = tf.nn.relu(tf.matmul(x, _weights(tf, 784, 100)) + tf.Variable(tf.zeros([100])))
    logits = tf.matmul(hidden, _weights(tf, 100, 10)) + tf.Variable(tf.zeros([10]))
    loss = _cross_entropy(tf, labels, logits)
    train = tf.train.AdagradOptimizer(0.01).minimize(loss)
    return _stepper(tf, [loss, train], [{x: _floats(n, 784), labels: _classes(n)} for n in _mixed(20, 3)])


def image_sizes(tf: Any) -> NumberedStep:
    x = tf.placeholder(tf.float32, [8, None, None, 3])
    labels = tf.placeholder(tf.int32, [8])
    net = x
    for n_in, n_out in ((3, 16), (16, 32)):
        net = tf.nn.conv2d(net, _weights(tf, 3, 3, n_in, n_out), strides=[1, 1, 1, 1], padding="SAME")
        net = tf.nn.relu(tf.nn.bias_add(net, tf.Variable(tf.zeros([n_out]))))
        net = tf.nn.max_pool(net, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    logits = tf.matmul(tf.reduce_mean(net, [1, 2]), _weights(tf, 32, 10))
    loss = _cross_entropy(tf, labels, logits)
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    sizes = zip(_mixed(16), reversed(_mixed(16)), strict=True)
    return _stepper(tf, [loss, train], [{x: _floats(8, h, w, 3), labels: _classes(8)} for h, w in sizes])


def lengths(tf: Any) -> NumberedStep:
    x = tf.placeholder(tf.float32, [16, None, 32])
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicLSTMCell(32), x, dtype=tf.float32)
    loss = tf.reduce_mean(tf.square(outputs))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    return _stepper(tf, [loss, train], [{x: _floats(16, n, 32)} for n in _mixed(5)])


def two_parts(tf: Any) -> NumberedStep:
    parts = [_weights(tf, 500, 64), _weights(tf, 500, 64)]
    ids = tf.placeholder(tf.int32, [64])
    rows = tf.nn.embedding_lookup(parts, ids)
    loss = tf.reduce_sum(tf.square(rows))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    rng = np.random.RandomState(3)
    feeds = []
    for n in _mixed(10):  # as many rows are in the first part
        chosen = 2 * rng.randint(0, 500, 64) + (np.arange(64) >= n)
        feeds.append({ids: rng.permutation(chosen).astype(np.int32)})
    return _stepper(tf, [loss, train], feeds)


def unique_and_mask(tf: Any) -> NumberedStep:
    table = _weights(tf, 500, 32)
    ids = tf.placeholder(tf.int32, [200])
    scores = tf.placeholder(tf.float32, [200])
    words, where = tf.unique(ids)
    rows = tf.tanh(tf.gather(table, words))
    kept = tf.boolean_mask(tf.gather(rows, where), scores > 0.5)
    total = tf.reduce_sum(kept * kept, 1)
    rng = np.random.RandomState(3)
    feeds = []
    for different, many in zip(_mixed(20, 2), reversed(_mixed(50, 3)), strict=True):
        words_fed = rng.choice(500, different, replace=False)
        picked = np.concatenate([words_fed, rng.choice(words_fed, 200 - different)])
        high = rng.permutation(np.arange(200) < many)
        feeds.append({ids: rng.permutation(picked).astype(np.int32), scores: high.astype(np.float32)})
    return _stepper(tf, [words, kept, total], feeds)


def growing_attention(tf: Any) -> NumberedStep:
    heads, units = 4, 128
    x = tf.placeholder(tf.float32, [1, None, units])
    length = tf.shape(x)[1]

    def split(name: str) -> Any:
        projected = tf.matmul(tf.reshape(x, [-1, units]), _weights(tf, units, units), name=name)
        return tf.transpose(tf.reshape(projected, [1, length, heads, units // heads]), [0, 2, 1, 3])

    query, key, value = split("query"), split("key"), split("value")
    scores = tf.matmul(query, key, transpose_b=True) / np.float32((units // heads) ** 0.5)
    seen = tf.matrix_band_part(tf.ones(tf.stack([length, length])), -1, 0)
    mixed = tf.matmul(tf.nn.softmax(scores + (1.0 - seen) * -1e9), value)
    joined = tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [-1, units])
    hidden = tf.nn.relu(tf.matmul(joined + x[0], _weights(tf, units, 4 * units)))
    logits = tf.matmul(tf.matmul(hidden, _weights(tf, 4 * units, units))[-1:], _weights(tf, units, 1000))
    return _stepper(tf, tf.nn.softmax(logits), [{x: _floats(1, 10 + n, units)} for n in range(STEPS)])


SHAPE_PROGRAMS = (
    ShapeProgram("batch sizes", batch_sizes, "an MLP 784-100-10 trained by Adagrad, batches of 20 to 137"),
    ShapeProgram("image sizes", image_sizes, "a conv net of two layers trained, 8 images of 16 to 55 pixels each way"),
    ShapeProgram("lengths", lengths, "dynamic_rnn over an LSTM of 32 units trained, 16 rows of 5 to 44 steps"),
    ShapeProgram(
        "two parts", two_parts, "embedding_lookup of 64 rows in two parts trained, 10 to 49 of them in the first"
    ),
    ShapeProgram("unique and mask", unique_and_mask, "20 to 98 words of 200 by unique, 50 to 167 rows by boolean_mask"),
    ShapeProgram("growing attention", growing_attention, "a causal attention layer of 4 heads over 10 to 49 tokens"),
)
