"""What `test_interpreted.py` runs in processes of its own, with and without the interpreter: `FILE NAME` writes the bits.

The first argument is the file for the results, the second one the name of a function below.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator

import numpy as np

import tfnb as tf
from tfnb.devices.opencl import program as programs

made: list[programs.OpenCLProgram] = []
_init = programs.OpenCLProgram.__init__


def _noted(self, *arguments, **named) -> None:
    _init(self, *arguments, **named)
    made.append(self)


programs.OpenCLProgram.__init__ = _noted

EDGES = np.array(
    [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 3.4e38, -3.4e38, 1.2e-38, 0.5, 2.5, -2.5, 1e7, 88.5]
    + [-87.5, 16777217.0, 0.1],
    np.float32,
)


def interpreted() -> int:
    """How many programs have interpreted kernels now."""
    return sum(bool(p._interpreted) for p in made)


def elementwise(x, i):
    """Expressions of a matrix of floats and of a vector of ints."""
    positive = tf.abs(x) + 0.1
    yield from (x + 1.5, x * x - 2.0 * x, x / 3.0, 1.0 / positive, -x, tf.abs(x), tf.sign(x), tf.floor(x), tf.ceil(x))
    yield from (tf.rint(x), tf.sqrt(positive), tf.rsqrt(positive), tf.exp(x), tf.expm1(x), tf.log(positive))
    yield from (tf.log1p(positive), tf.tanh(x), tf.sigmoid(x), tf.sin(x), tf.cos(x), tf.erf(x), tf.pow(positive, 2.3))
    yield from (tf.nn.relu(x), tf.nn.elu(x), tf.nn.selu(x), tf.nn.softplus(x), tf.nn.leaky_relu(x), tf.nn.softsign(x))
    yield from (tf.maximum(x, 0.3), tf.minimum(x, -0.3), tf.where(x > 0.2, x, -x), tf.is_nan(x), tf.is_inf(x))
    yield from (x > 0.2, x <= 0.2, tf.equal(x, 1.0), tf.not_equal(x, 1.0), tf.logical_and(x > 0, x < 1))
    yield from (tf.logical_or(x > 2, x < 1), tf.logical_xor(x > 0, x < 1), tf.logical_not(x > 0))
    yield from (tf.cast(x > 0, tf.float32), tf.cast(x > 0, tf.int32), tf.cast(tf.clip_by_value(x, -9, 9), tf.int32))
    yield from (i // 3, i % 3, i * i - 7, -i, tf.cast(i, tf.float32) / 7.0, tf.maximum(i, 2), tf.cast(i, tf.bool))
    yield from (tf.bitwise.bitwise_and(i, 5), tf.bitwise.left_shift(i, 2), tf.squared_difference(i, 3), i < 4)


def whole(x, i):
    """Expressions that read an array as a whole, or write it elsewhere."""
    for reduce in (tf.reduce_sum, tf.reduce_mean, tf.reduce_max, tf.reduce_min, tf.reduce_prod):
        yield from (reduce(x), reduce(x, 0), reduce(x, 1), reduce(x * 2.0 + 1.0, 1, keep_dims=True))
    yield from (tf.reduce_any(x > 1), tf.reduce_all(x > 1, 1), tf.reduce_max(i), tf.reduce_sum(i), tf.argmax(x, 1))
    yield from (tf.argmin(x, 0), tf.nn.softmax(x), tf.nn.log_softmax(x), tf.nn.l2_loss(x), tf.nn.moments(x, [0, 1])[1])
    yield from (tf.nn.moments(x, [0])[1], tf.gather(x, i), tf.one_hot(i, 5), tf.transpose(x), tf.concat([x, x * 2], 1))
    yield from (
        tf.concat([x, x + 1], 0),
        x[1:, 2:-1],
        tf.reverse(x, [1]),
        tf.pad(x, [[1, 1], [2, 3]]),
        tf.tile(x, [2, 3]),
    )
    yield from (tf.stack([x, x]), tf.range(tf.shape(x)[1]) * 2, tf.clip_by_norm(x, 1.0), tf.cumsum(x, 1))
    yield from (
        x + tf.reduce_sum(x, 1, keep_dims=True),
        x - x[0],
        tf.nn.softmax(x) * tf.reduce_max(x, 1, keep_dims=True),
    )
    yield tf.nn.softmax_cross_entropy_with_logits(labels=tf.nn.softmax(x), logits=x * 2)


def random_numbers(x, i):
    n = tf.shape(x)
    yield from (tf.random_uniform(n, seed=1), tf.random_normal(n, seed=2), tf.truncated_normal(n, seed=3))
    yield from (
        tf.nn.dropout(x, 0.4, seed=4),
        tf.random_uniform(n, 0, 9, tf.int32, seed=5),
        tf.multinomial(x, 3, seed=6),
    )


def values(expressions: Callable) -> Iterator[np.ndarray]:
    """The values of expressions, four at a time, since all together would be few kernels, for odd shapes and edges."""
    x, i = tf.placeholder(tf.float32, [None, None]), tf.placeholder(tf.int32, [None])
    fetches = list(expressions(x, i))
    groups = [fetches[k : k + 4] for k in range(0, len(fetches), 4)]
    rng = np.random.RandomState(0)
    with tf.Session() as session:
        for rows, columns in ((7, 37), (1, 1), (20, 16), (2, 65)):
            a = rng.randn(rows, columns).astype(np.float32)
            if (rows, columns) == (20, 16):
                a[...] = EDGES[:, None]
            feed = {x: a, i: rng.randint(0, rows, 9)}
            for _ in range(2):
                for group in groups:
                    yield from session.run(group, feed)


def elementwise_values() -> Iterator[np.ndarray]:
    return values(elementwise)


def whole_values() -> Iterator[np.ndarray]:
    return values(whole)


def random_values() -> Iterator[np.ndarray]:
    return values(random_numbers)


def training() -> Iterator[np.ndarray]:
    """Small models with several optimizers, batch normalisation, dropout, a loop and changing batches."""
    tf.set_random_seed(1)
    x, labels = tf.placeholder(tf.float32, [None, 30]), tf.placeholder(tf.int32, [None])
    hidden = tf.layers.batch_normalization(tf.layers.dense(x, 21, activation=tf.nn.tanh), training=True)
    hidden = tf.layers.dropout(hidden, 0.2, training=True)
    _, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(9), tf.reshape(hidden, [-1, 7, 3]), dtype=tf.float32)
    logits = tf.layers.dense(state, 4)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    steps = [
        optimizer.minimize(loss)
        for optimizer in (
            tf.train.AdamOptimizer(0.01),
            tf.train.RMSPropOptimizer(0.01, momentum=0.9),
            tf.train.AdagradOptimizer(0.1),
        )
    ]
    rng = np.random.RandomState(0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for n in (8, 8, 3, 8, 17):
            feed = {x: rng.rand(n, 30), labels: rng.randint(0, 4, n)}
            for step in steps:
                yield session.run([loss, step], feed)[0]
            yield session.run(tf.argmax(logits, 1), feed)
        yield from session.run(tf.global_variables())


def taken_over() -> Iterator[np.ndarray]:
    """A training that is interpreted first and compiled later, with the same bits at each time."""
    tf.set_random_seed(1)
    x = tf.placeholder(tf.float32, [None, 20])
    w = tf.Variable(tf.ones([20, 10]) * 0.1)
    y = tf.nn.softmax(tf.nn.sigmoid(tf.matmul(x, w)) + tf.reduce_max(x, 1, keep_dims=True)) + tf.gather(x, [0])[0, 0]
    loss = tf.reduce_mean(tf.square(y - tf.concat([x[:, :5], x[:, 5:10]], 1))) + tf.cast(tf.argmax(y[0]), tf.float32)
    step = tf.train.RMSPropOptimizer(0.01).minimize(loss)
    start = tf.global_variables_initializer()
    rng = np.random.RandomState(0)
    batches = [rng.rand(n, 20) for n in (8, 8, 5, 8, 3)]
    with tf.Session() as session:

        def run(n: int) -> list[np.ndarray]:
            return [session.run([loss, step], {x: batches[k % 5]})[0] for k in range(n)]

        session.run(start)
        first = run(20)
        assert interpreted()
        end = time.monotonic() + 100
        while (
            any(p._interpreted for p in made if not p.is_taken and len(p.program.steps) > 5) and time.monotonic() < end
        ):
            run(10)
            time.sleep(0.02)
        assert time.monotonic() < end, [(p.program.name, p._interpreted, p._n_interpreted) for p in made]
        session.run(start)
        again = run(20)
        assert np.array(first).tobytes() == np.array(again).tobytes()
        yield from again


if __name__ == "__main__":
    results = [np.asarray(a) for a in globals()[sys.argv[2]]()]
    for a in results:
        if a.dtype.kind == "f":
            a[np.isnan(a)] = np.nan  # which bits a NaN has depends on the order of two operands
            a[np.abs(a) < np.finfo(a.dtype).tiny] *= 0  # what picks a subnormal number may hand on zero
    np.savez(sys.argv[1], *results)
    sys.stdout.write(f"{sum(p._n_interpreted for p in made)}\n")
