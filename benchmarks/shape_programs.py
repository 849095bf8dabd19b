"""The programs of `benchmarks.shapes`, in which each step has another shape, written once for tfnb and TensorFlow.

Each `make(tf)` builds a graph in the default graph and returns a function that runs the step with the shape of a given
number, from 0 to STEPS - 1. Invariant: different numbers give different shapes, and equal numbers equal inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
    with tf.variable_scope("rnn", initializer=tf.constant_initializer(0.05)):
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
    ids = tf.placeholder(tf.int32, [200])
    scores = tf.placeholder(tf.float32, [200])
    words, where = tf.unique(ids)
    rows = tf.matmul(tf.gather(_weights(tf, 500, 32), words), _weights(tf, 32, 32))
    hidden = tf.nn.relu(rows + tf.Variable(tf.zeros([32])))
    kept = tf.boolean_mask(tf.gather(hidden, where), scores > 0.5)
    loss = tf.reduce_mean(tf.square(kept))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    rng = np.random.RandomState(3)
    feeds = []
    for different, many in zip(_mixed(20, 2), reversed(_mixed(50, 3)), strict=True):
        chosen = rng.choice(500, different, replace=False)
        repeated = np.concatenate([chosen, rng.choice(chosen, 200 - different)])
        high = rng.permutation(np.arange(200) < many)
        feeds.append({ids: rng.permutation(repeated).astype(np.int32), scores: high.astype(np.float32)})
    return _stepper(tf, [loss, train], feeds)


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


def ragged_batches(tf: Any) -> NumberedStep:
    rng = np.random.RandomState(3)

    def sentences() -> Iterator[np.ndarray]:
        """The longest of 16 sentences is another one in each batch."""
        for longest in _mixed(8):
            for length in (longest, *rng.randint(3, longest, 15)):
                yield rng.randint(1, 1000, length).astype(np.int32)

    texts = tf.data.Dataset.from_generator(sentences, tf.int32, tf.TensorShape([None])).padded_batch(16, [None])
    batches = tf.data.make_initializable_iterator(texts.repeat())
    ids = batches.get_next()
    words = tf.nn.embedding_lookup(_weights(tf, 1000, 32), ids)
    mask = tf.expand_dims(tf.cast(tf.not_equal(ids, 0), tf.float32), 2)
    mean = tf.reduce_sum(words * mask, 1) / tf.reduce_sum(mask, 1)
    loss = _cross_entropy(tf, tf.constant(_classes(16)), tf.matmul(mean, _weights(tf, 32, 10)))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    sess = tf.Session()
    sess.run([tf.global_variables_initializer(), batches.initializer])
    return lambda n: sess.run([loss, train])


def image_pyramid(tf: Any) -> NumberedStep:
    image = tf.placeholder(tf.float32, [1, None, None, 3])
    kernel, bias = _weights(tf, 3, 3, 3, 16), tf.Variable(tf.zeros([16]))
    size = tf.shape(image)[1:3]
    heat: Any = 0.0
    for level in (1, 2, 4):
        smaller = tf.image.resize_bilinear(image, size // level)
        net = tf.nn.relu(tf.nn.conv2d(smaller, kernel, strides=[1, 1, 1, 1], padding="SAME") + bias)
        heat += tf.image.resize_bilinear(tf.reduce_mean(net, 3, keep_dims=True), size)
    best = tf.nn.top_k(tf.reshape(heat, [-1]), 10)
    sizes = zip(_mixed(40), reversed(_mixed(60, 2)), strict=True)
    return _stepper(tf, list(best), [{image: _floats(1, h, w, 3)} for h, w in sizes])


def beam_search(tf: Any) -> NumberedStep:
    """Each of ten words is chosen by attention over the source and the mean of the words before it."""
    beams, units, words, longest = 4, 32, 200, 10
    source = tf.placeholder(tf.float32, [None, units])
    table, project = _weights(tf, words, units), _weights(tf, 2 * units, words)

    def longer(length: Any, texts: Any, scores: Any) -> list[Any]:
        state = tf.reduce_mean(tf.gather(table, texts), 1)
        weights = tf.nn.softmax(tf.matmul(state, source, transpose_b=True))
        logits = tf.matmul(tf.concat([state, tf.matmul(weights, source)], 1), project)
        totals = tf.reshape(tf.expand_dims(scores, 1) + tf.nn.log_softmax(logits), [-1])
        best, places = tf.nn.top_k(totals, beams)
        texts = tf.concat([tf.gather(texts, places // words), tf.expand_dims(places % words, 1)], 1)
        return [length + 1, texts, best]

    start = [tf.constant(0), tf.zeros([beams, 1], tf.int32), tf.constant([0.0] + [-1e9] * (beams - 1))]
    shapes = [tf.TensorShape([]), tf.TensorShape([beams, None]), tf.TensorShape([beams])]
    _, texts, scores = tf.while_loop(lambda length, *_: length < longest, longer, start, shape_invariants=shapes)
    return _stepper(tf, [texts, scores], [{source: _floats(n, units)} for n in _mixed(5)])


def evaluation(tf: Any) -> NumberedStep:
    x = tf.placeholder(tf.float32, [None, 8, 8, 1])
    labels = tf.placeholder(tf.int32, [None])
    net = tf.nn.relu(tf.nn.conv2d(x, _weights(tf, 3, 3, 1, 16), strides=[1, 1, 1, 1], padding="SAME"))
    net = tf.nn.max_pool(net, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    logits = tf.matmul(tf.reshape(net, [-1, 256]), _weights(tf, 256, 10)) + tf.Variable(tf.zeros([10]))
    loss = _cross_entropy(tf, labels, logits)
    right = tf.equal(tf.cast(tf.argmax(logits, 1), tf.int32), labels)
    accuracy = tf.reduce_mean(tf.cast(right, tf.float32))
    train = tf.train.AdamOptimizer(1e-3).minimize(loss)
    sess = tf.Session()
    sess.run(tf.global_variables_initializer())
    batch = {x: _floats(50, 8, 8, 1), labels: _classes(50)}
    tests = [{x: _floats(n, 8, 8, 1), labels: _classes(n)} for n in _mixed(100, 7)]

    def step(n: int) -> Any:
        sess.run(train, batch)
        return sess.run([loss, accuracy], tests[n])

    return step


def mapped(tf: Any) -> NumberedStep:
    rows = tf.placeholder(tf.float32, [None, 16])
    weights = _weights(tf, 16, 16)

    def norm(row: Any) -> Any:
        hidden = tf.tanh(tf.matmul(tf.expand_dims(row, 0), weights))
        return tf.sqrt(tf.reduce_sum(hidden * hidden))

    norms = tf.map_fn(norm, rows)
    return _stepper(tf, [norms, tf.reduce_max(norms)], [{rows: _floats(n, 16)} for n in _mixed(5)])


SHAPE_PROGRAMS = (
    ShapeProgram("batch sizes", batch_sizes, "an MLP 784-100-10 trained by Adagrad, batches of 20 to 137"),
    ShapeProgram("image sizes", image_sizes, "a conv net of two layers trained, 8 images of 16 to 55 pixels each way"),
    ShapeProgram("lengths", lengths, "dynamic_rnn over an LSTM of 32 units trained, 16 rows of 5 to 44 steps"),
    ShapeProgram(
        "two parts", two_parts, "embedding_lookup of 64 rows in two parts trained, 10 to 49 of them in the first"
    ),
    ShapeProgram(
        "unique and mask", unique_and_mask, "20 to 98 words by unique, 50 to 167 rows by boolean_mask, trained"
    ),
    ShapeProgram("growing attention", growing_attention, "a causal attention layer of 4 heads over 10 to 49 tokens"),
    ShapeProgram(
        "ragged batches", ragged_batches, "16 sentences by padded_batch, the longest of 8 to 47 words, trained"
    ),
    ShapeProgram("image pyramid", image_pyramid, "an image of 40 to 79 by 60 to 138 pixels, in three sizes"),
    ShapeProgram("beam search", beam_search, "4 beams, 10 words in a while_loop, attention over 5 to 44 rows"),
    ShapeProgram("evaluation", evaluation, "a training step of 50 digits, then accuracy of 100 to 373"),
    ShapeProgram("map_fn", mapped, "a norm of each of 5 to 44 rows"),
)
