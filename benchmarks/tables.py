"""Steps that read and update a few rows of large tables: rows of the table that `make bench` prints.

word2vec with noise-contrastive loss and each optimizer, embeddings in several parts, sampled softmax, updates of rows,
and the operations of which these consist. All steps of a row have the same shapes, also of what `unique` returns, so
that no time goes into compiling.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.programs import Program, Step

__all__ = ["TABLES"]

WORDS, WIDTH, BATCH, SAMPLED = 50_000, 128, 128, 64


def _optimizer(tf: Any, name: str) -> Any:
    if name == "Momentum":
        return tf.train.MomentumOptimizer(0.01, 0.9)
    return getattr(tf.train, {"SGD": "GradientDescent"}.get(name, name) + "Optimizer")(0.01)


def _words(rng: np.random.RandomState, count: int) -> np.ndarray:
    """Numbers of words, distributed as words are: the k-th most frequent one in proportion to 1 / k."""
    return np.minimum(np.exp(rng.rand(count) * np.log(WORDS)).astype(np.int64) - 1, WORDS - 1)


def _table(tf: Any, shape: tuple[int, ...], scale: float = 1.0) -> Any:
    return tf.Variable(tf.random_uniform(shape, -scale, scale, seed=1))


def _steps(tf: Any, loss: Any, name: str, make_feeds: Callable[[int], dict[Any, Any]]) -> Step:
    """A step for each of 16 batches in turn."""
    train = _optimizer(tf, name).minimize(loss)
    sess = tf.Session()
    sess.run(tf.global_variables_initializer())
    feeds = [make_feeds(k) for k in range(16)]
    count = iter(range(1 << 60))
    return lambda: sess.run([loss, train], feeds[next(count) % 16])


def word2vec(name: str) -> Callable[[Any], Step]:
    """Skip-gram with noise-contrastive loss, as in TensorFlow's tutorial of the time."""

    def make(tf: Any) -> Step:
        inputs = tf.placeholder(tf.int32, [BATCH])
        labels = tf.placeholder(tf.int64, [BATCH, 1])
        embeddings = _table(tf, (WORDS, WIDTH))
        weights, biases = _table(tf, (WORDS, WIDTH), WIDTH**-0.5), tf.Variable(tf.zeros([WORDS]))
        rows = tf.nn.embedding_lookup(embeddings, inputs)
        losses = tf.nn.nce_loss(
            weights=weights, biases=biases, labels=labels, inputs=rows, num_sampled=SAMPLED, num_classes=WORDS
        )

        def feeds(k: int) -> dict[Any, Any]:
            rng = np.random.RandomState(k)
            rare = rng.choice(WORDS // 2, 2 * BATCH, False) + WORDS // 2  # the sampler seldom draws one of them
            return {inputs: rare[:BATCH].astype(np.int32), labels: rare[BATCH:, None].astype(np.int64)}

        return _steps(tf, tf.reduce_mean(losses), name, feeds)

    return make


def parts(count: int, name: str = "SGD") -> Callable[[Any], Step]:
    """A lookup in a table of `count` parts, and the update of its rows; each part gets a fixed number of words."""

    def make(tf: Any) -> Step:
        words = tf.placeholder(tf.int32, [BATCH])
        tables = [_table(tf, (WORDS // count, WIDTH)) for _ in range(count)]
        rows = tf.nn.embedding_lookup(tables, words)

        def feeds(k: int) -> dict[Any, Any]:
            rng = np.random.RandomState(k)
            numbers = rng.randint(0, WORDS // count, BATCH) * count + np.arange(BATCH) % count
            return {words: rng.permutation(numbers).astype(np.int32)}

        return _steps(tf, tf.reduce_mean(tf.square(rows)), name, feeds)

    return make


def sampled_softmax(tf: Any) -> Step:
    """The language model of OSDI'16, section 6.4: weights in four parts, 512 samples; each part gets as many rows."""
    count = 4
    x = tf.placeholder(tf.float32, [BATCH, WIDTH])
    labels = tf.placeholder(tf.int64, [BATCH, 1])
    samples = tf.placeholder(tf.int64, [512])
    weights = [_table(tf, (WORDS // count, WIDTH), 0.1) for _ in range(count)]
    biases = tf.Variable(tf.zeros([WORDS]))
    expected = [tf.constant(0.01, shape=[BATCH, 1]), tf.constant(0.01, shape=[512])]
    losses = tf.nn.sampled_softmax_loss(
        weights=weights,
        biases=biases,
        labels=labels,
        inputs=x,
        num_sampled=512,
        num_classes=WORDS,
        sampled_values=[samples, *expected],
    )

    def feeds(k: int) -> dict[Any, Any]:
        rng = np.random.RandomState(k)
        rows = rng.choice(WORDS // count, BATCH + 512, False)
        numbers = (rows * count + np.arange(BATCH + 512) % count).astype(np.int64)
        data = rng.rand(BATCH, WIDTH).astype(np.float32)
        return {x: data, labels: numbers[:BATCH, None], samples: rng.permutation(numbers[BATCH:])}

    return _steps(tf, tf.reduce_mean(losses), "Adagrad", feeds)


def updates(name: str) -> Callable[[Any], Step]:
    """The update of 1,000 rows of a table, some of them more than once."""

    def make(tf: Any) -> Step:
        values = tf.placeholder(tf.float32, [1000, 64])
        rows = tf.placeholder(tf.int32, [1000])
        table = _table(tf, (WORDS, 64))
        train = _optimizer(tf, name).apply_gradients([(tf.IndexedSlices(values, rows, table.shape), table)])
        sess = tf.Session()
        sess.run(tf.global_variables_initializer())
        rng = np.random.RandomState(0)
        feeds = {values: rng.rand(1000, 64).astype(np.float32), rows: _words(rng, 1000).astype(np.int32)}
        return lambda: sess.run(train, feeds)

    return make


def _fetch(build: Callable[[Any, np.random.RandomState], tuple[Any, dict[Any, Any]]]) -> Callable[[Any], Step]:
    def make(tf: Any) -> Step:
        fetches, feeds = build(tf, np.random.RandomState(0))
        sess = tf.Session()
        return lambda: sess.run(fetches, feeds)

    return make


def unique(count: int) -> Callable[[Any], Step]:
    def build(tf: Any, rng: np.random.RandomState) -> tuple[Any, dict[Any, Any]]:
        x = tf.placeholder(tf.int64, [count])
        return list(tf.unique(x)), {x: _words(rng, count)}

    return _fetch(build)


def sampler(kind: str) -> Callable[[Any], Step]:
    def build(tf: Any, rng: np.random.RandomState) -> tuple[Any, dict[Any, Any]]:
        labels = tf.placeholder(tf.int64, [BATCH, 1])
        draw = getattr(tf.nn, f"{kind}_candidate_sampler")
        return list(draw(labels, 1, SAMPLED, True, WORDS)), {labels: _words(rng, BATCH)[:, None]}

    return _fetch(build)


def segments(name: str) -> Callable[[Any], Step]:
    def build(tf: Any, rng: np.random.RandomState) -> tuple[Any, dict[Any, Any]]:
        x, ids = tf.placeholder(tf.float32, [1000, WIDTH]), tf.placeholder(tf.int32, [1000])
        data = rng.rand(1000, WIDTH).astype(np.float32)
        if name == "segment_sum":
            return tf.segment_sum(x, ids), {x: data, ids: np.arange(1000, dtype=np.int32) // 3}
        return tf.unsorted_segment_sum(x, ids, 300), {x: data, ids: rng.randint(0, 300, 1000).astype(np.int32)}

    return _fetch(build)


TABLES = (
    *(Program(f"word2vec {n}", word2vec(n), 40, 1.5) for n in ("SGD", "Adagrad", "Momentum", "Adam")),
    *(Program(f"embedding, {n} parts", parts(n), 100, 1.0) for n in (1, 2, 4)),
    Program("sampled softmax", sampled_softmax, 30, 1.0, note="4 parts, 512 samples, Adagrad"),
    *(Program(f"1,000 rows, {n}", updates(n), 50, 1.0) for n in ("SGD", "Adagrad", "Momentum", "Adam")),
    *(Program(f"unique of {n:,}", unique(n), 200, 1.0) for n in (128, 10_000)),
    *(Program(f"{k} sampler", sampler(k), 200, 1.0) for k in ("log_uniform", "uniform")),
    *(Program(n, segments(n), 200, 1.0) for n in ("segment_sum", "unsorted_segment_sum")),
)
