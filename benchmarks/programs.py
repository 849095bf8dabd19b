"""The programs that are timed, written once for both systems: `tf` is tfnb or TensorFlow's graph API.

Each `make(tf)` builds a graph in the default graph and returns a function that runs one step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["PROGRAMS", "Loss", "Program", "lenet_loss", "mlp_loss"]

Step = Callable[[], Any]
Loss = tuple[Any, dict[Any, np.ndarray]]  # and what is fed


@dataclass(frozen=True)
class Program:
    """`target` is the least ratio (peer's time / ours) that counts as reached; `floor` says what bounds the time."""

    name: str
    make: Callable[[Any], Step]
    steps: int
    target: float
    flops: float = 0.0
    nbytes: float = 0.0
    note: str = ""


def null_step(tf: Any) -> Step:
    a = tf.placeholder(tf.float32, [])
    c = a + 1.0
    sess = tf.Session()
    return lambda: sess.run(c, {a: 2.0})


def _train(tf: Any, loss: Any, optimizer: Any, feeds: dict[Any, np.ndarray]) -> Step:
    step = optimizer.minimize(loss)
    sess = tf.Session()
    sess.run(tf.global_variables_initializer())
    return lambda: sess.run([loss, step], feeds)


def mlp_loss(tf: Any) -> Loss:
    """Figure 1 of OSDI'16: 784-100-10, batch 100."""
    rng = np.random.RandomState(0)
    x = tf.placeholder(tf.float32, [100, 784])
    y = tf.placeholder(tf.float32, [100, 10])
    w1 = tf.Variable((rng.randn(784, 100) * 0.05).astype(np.float32))
    b1 = tf.Variable(tf.zeros([100]))
    w2 = tf.Variable((rng.randn(100, 10) * 0.05).astype(np.float32))
    b2 = tf.Variable(tf.zeros([10]))
    h = tf.nn.relu(tf.matmul(x, w1) + b1)
    logits = tf.matmul(h, w2) + b2
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits))
    data = rng.rand(100, 784).astype(np.float32)
    labels = np.eye(10, dtype=np.float32)[rng.randint(0, 10, 100)]
    return loss, {x: data, y: labels}


def mlp(tf: Any) -> Step:
    """A training step by Adagrad; feeds a batch, fetches the loss."""
    loss, feeds = mlp_loss(tf)
    return _train(tf, loss, tf.train.AdagradOptimizer(0.01), feeds)


def lenet_loss(tf: Any, batch: int = 64) -> Loss:
    rng = np.random.RandomState(0)
    x = tf.placeholder(tf.float32, [batch, 28, 28, 1])
    y = tf.placeholder(tf.float32, [batch, 10])

    def weight(*shape: int) -> Any:
        return tf.Variable((rng.randn(*shape) * 0.05).astype(np.float32))

    def block(inputs: Any, n_in: int, n_out: int) -> Any:
        conv = tf.nn.conv2d(inputs, weight(5, 5, n_in, n_out), strides=[1, 1, 1, 1], padding="SAME")
        act = tf.nn.relu(tf.nn.bias_add(conv, tf.Variable(tf.zeros([n_out]))))
        return tf.nn.max_pool(act, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")

    flat = tf.reshape(block(block(x, 1, 32), 32, 64), [batch, 3136])
    hidden = tf.nn.relu(tf.matmul(flat, weight(3136, 1024)) + tf.Variable(tf.zeros([1024])))
    logits = tf.matmul(hidden, weight(1024, 10)) + tf.Variable(tf.zeros([10]))
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits))
    data = rng.rand(batch, 28, 28, 1).astype(np.float32)
    labels = np.eye(10, dtype=np.float32)[rng.randint(0, 10, batch)]
    return loss, {x: data, y: labels}


def lenet_forward(tf: Any) -> Step:
    loss, feeds = lenet_loss(tf)
    sess = tf.Session()
    sess.run(tf.global_variables_initializer())
    return lambda: sess.run(loss, feeds)


def lenet_train(tf: Any) -> Step:
    loss, feeds = lenet_loss(tf)
    return _train(tf, loss, tf.train.AdamOptimizer(1e-4), feeds)


def small_gradients(tf: Any) -> Step:
    """Adam's step of 4M weights of a trained model: the squares of its gradients are subnormal numbers."""
    w = tf.Variable(tf.zeros([1 << 22]))
    g = tf.Variable(np.random.RandomState(0).rand(1 << 22).astype(np.float32) * 1e-20, trainable=False)
    return _train(tf, tf.reduce_sum(w * g), tf.train.AdamOptimizer(1e-4), {})


def chain(tf: Any) -> Step:
    """Five times tanh(1.1 x + 0.1) over 4M floats, then their sum; the vector lives in a variable."""
    x = tf.Variable(np.random.RandomState(0).rand(1 << 22).astype(np.float32))
    y = x.value()
    for _ in range(5):
        y = tf.tanh(1.1 * y + 0.1)
    total = tf.reduce_sum(y)
    sess = tf.Session()
    sess.run(x.initializer)
    return lambda: sess.run(total)


def lstm_train(tf: Any) -> Step:
    """200 units over 20 steps of 20 rows by dynamic_rnn: forward, backward and the update."""
    rng = np.random.RandomState(0)
    x = tf.placeholder(tf.float32, [20, 20, 200])
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicLSTMCell(200), x, dtype=tf.float32)
    loss = tf.reduce_mean(tf.square(outputs))
    return _train(tf, loss, tf.train.GradientDescentOptimizer(0.1), {x: rng.rand(20, 20, 200).astype(np.float32)})


def counting_loop(tf: Any) -> Step:
    end = tf.placeholder(tf.int32, [])
    last = tf.while_loop(lambda i: i < end, lambda i: i + 1, [tf.constant(0)])
    sess = tf.Session()
    return lambda: sess.run(last, {end: 10_000})


def product_loop(tf: Any) -> Step:
    """A product of 64 x 64 matrices, 300 times."""
    rng = np.random.RandomState(0)
    x = tf.placeholder(tf.float32, [64, 64])
    w = tf.constant((rng.rand(64, 64) / 32).astype(np.float32))
    start = [tf.constant(0), x]
    _, last = tf.while_loop(lambda i, m: i < 300, lambda i, m: [i + 1, tf.matmul(m, w)], start)
    sess = tf.Session()
    data = rng.rand(64, 64).astype(np.float32)
    return lambda: sess.run(last, {x: data})


_M = 2 * 784 * 100 * 100
_CONV1, _CONV2 = 2 * 28 * 28 * 25 * 32 * 64, 2 * 14 * 14 * 25 * 32 * 64 * 64
_FC = 2 * 64 * 3136 * 1024
PROGRAMS = (
    Program("null step", null_step, 400, 1.0, note="one feed, one add, one fetch: no arithmetic to speak of"),
    Program("MLP train step", mlp, 200, 2.0, 2 * _M + 6 * 100 * 100 * 10, note="OSDI'16 Figure 1, Adagrad"),
    Program("LeNet forward", lenet_forward, 12, 0.6, _CONV1 + _CONV2 + _FC, note="batch 64"),
    Program(
        "LeNet train step",
        lenet_train,
        6,
        0.6,
        2 * _CONV1 + 3 * _CONV2 + 3 * _FC,
        6 * 4 * 3136 * 1024,
        note="batch 64, Adam",
    ),
    Program("Adam, small gradients", small_gradients, 20, 1.0, nbytes=4 * 8 * (1 << 22), note="4M weights, 1e-20"),
    Program("elementwise chain", chain, 10, 1.0, nbytes=4 * (1 << 22), note="4M floats, 5 tanh, sum"),
    Program("LSTM train step", lstm_train, 20, 1.0, 6 * 20 * 20 * 400 * 800, note="dynamic_rnn, 20 steps of 20 x 200"),
    Program("while i < 10000", counting_loop, 20, 5.0, note="i += 1"),
    Program("while, a product", product_loop, 30, 0.0, 300 * 2 * 64**3, note="64 x 64 by 64 x 64, 300 times"),
)
