"""The programs whose first steps `benchmarks.first_steps` times, written once for tfnb and TensorFlow.

Each function builds a graph in the default graph and returns the initialiser, the fetches and what is fed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.programs import Loss, lenet_loss, mlp_loss

__all__ = ["FIRST_PROGRAMS", "GROWING", "FirstProgram", "Parts"]

Parts = tuple[Any, Any, dict[Any, np.ndarray]]

_open = ExitStack()  # default graphs for the rest of the process: without a reference, their contexts would end at once


@dataclass(frozen=True)
class FirstProgram:
    """`cold` and `second` are the limits in seconds, in the first process and in a second one, if there are any."""

    name: str
    build: Callable[[Any], Parts]
    cold: float
    second: float | None = None
    has_peer: bool = True  # whether TensorFlow can build it too


def _trained(tf: Any, loss_and_feeds: Loss, optimizer: Any) -> Parts:
    loss, feeds = loss_and_feeds
    train = optimizer.minimize(loss)
    return tf.global_variables_initializer(), [loss, train], feeds


def _weights(tf: Any, *shape: int) -> Any:
    return tf.Variable((np.random.RandomState(len(shape)).randn(*shape) * 0.05).astype(np.float32))


def mlp(tf: Any) -> Parts:
    return _trained(tf, mlp_loss(tf), tf.train.AdagradOptimizer(0.01))


def lenet(tf: Any) -> Parts:
    return _trained(tf, lenet_loss(tf), tf.train.AdamOptimizer(1e-4))


def resnet(tf: Any) -> Parts:
    """Six residual blocks with batch normalisation, 16 images of 32 x 32."""
    x = tf.placeholder(tf.float32, [16, 32, 32, 3])
    labels = tf.placeholder(tf.int32, [16])

    def conv(inputs: Any, channels: int, size: int, stride: int) -> Any:
        kernel = _weights(tf, size, size, int(inputs.shape[3]), channels)
        net = tf.nn.conv2d(inputs, kernel, strides=[1, stride, stride, 1], padding="SAME")
        mean, variance = tf.nn.moments(net, [0, 1, 2])
        shift, scale = tf.Variable(tf.zeros([channels])), tf.Variable(tf.ones([channels]))
        return tf.nn.batch_normalization(net, mean, variance, shift, scale, 1e-3)

    net = tf.nn.relu(conv(x, 16, 3, 1))
    for channels, stride in ((16, 1), (16, 1), (32, 2), (32, 1), (64, 2), (64, 1)):
        inner = conv(tf.nn.relu(conv(net, channels, 3, stride)), channels, 3, 1)
        shortcut = net if stride == 1 else conv(net, channels, 1, stride)
        net = tf.nn.relu(inner + shortcut)
    logits = tf.matmul(tf.reduce_mean(net, [1, 2]), _weights(tf, 64, 10))
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    feeds = {x: np.random.RandomState(0).rand(16, 32, 32, 3).astype(np.float32), labels: np.arange(16) % 10}
    return _trained(tf, (loss, feeds), tf.train.MomentumOptimizer(0.01, 0.9))


def unrolled_lstm(tf: Any, steps: int = 20) -> Parts:
    """A language model of 1,000 words with an LSTM of 128 units, 20 rows; gradients are clipped."""
    words = tf.placeholder(tf.int32, [20, steps + 1])
    embedded = tf.nn.embedding_lookup(_weights(tf, 1000, 128), words)
    kernel, bias = _weights(tf, 256, 512), tf.Variable(tf.zeros([512]))
    state = output = tf.zeros([20, 128])
    outputs = []
    for t in range(steps):
        gates = tf.matmul(tf.concat([embedded[:, t], output], 1), kernel) + bias
        i, j, f, o = tf.split(gates, 4, 1)
        state = state * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
        output = tf.tanh(state) * tf.sigmoid(o)
        outputs.append(output)
    logits = tf.matmul(tf.reshape(tf.stack(outputs, 1), [-1, 128]), _weights(tf, 128, 1000))
    targets = tf.reshape(words[:, 1:], [-1])
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=targets, logits=logits))
    variables = tf.trainable_variables()
    clipped, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), 5.0)
    train = tf.train.GradientDescentOptimizer(0.1).apply_gradients(zip(clipped, variables, strict=True))
    data = np.random.RandomState(0).randint(0, 1000, (20, steps + 1)).astype(np.int32)
    return tf.global_variables_initializer(), [loss, train], {words: data}


def inception(tf: Any) -> Parts:
    """One tower of Inception-v3 with its gradients and their update, for one image."""
    from benchmarks.inception_graph import inception_graph  # which imports tfnb, as TensorFlow has no need to

    graph = inception_graph(1, batch=1)
    _open.enter_context(graph.as_default())
    names = ("init", "tower_0/loss/value:0", "GradientDescent", "tower_0/images:0", "tower_0/labels:0")
    init, loss, train, images, labels = (graph.as_graph_element(name) for name in names)
    image = np.random.RandomState(0).rand(1, 299, 299, 3).astype(np.float32)
    return init, [loss, train], {images: image, labels: np.zeros(1, np.int32)}


def additions(tf: Any, many: int = 20_000) -> Parts:
    """A chain."""
    x = tf.placeholder(tf.float32, [100])
    y = x
    for _ in range(many):
        y = y + x
    return tf.no_op(), y, {x: np.ones(100, np.float32)}


def small_layers(tf: Any, many: int = 5_000) -> Parts:
    """Equal layers side by side, each with its own weights, and the sum of their outputs."""
    x = tf.placeholder(tf.float32, [8, 8])
    ends = [tf.nn.relu(tf.matmul(x, _weights(tf, 8, 8)) + tf.Variable(tf.zeros([8]))) for _ in range(many)]
    return tf.global_variables_initializer(), tf.add_n(ends), {x: np.ones((8, 8), np.float32)}


def wide_concat(tf: Any, many: int = 1_000) -> Parts:
    inputs = [tf.placeholder(tf.float32, [2, 8]) for _ in range(many)]
    feeds = {x: np.full((2, 8), k, np.float32) for k, x in enumerate(inputs)}
    return tf.no_op(), tf.concat(inputs, 0), feeds


FIRST_PROGRAMS = (
    FirstProgram("MLP training", mlp, 0.6, 0.25),
    FirstProgram("LeNet training", lenet, 1.2, 0.4),
    FirstProgram("ResNet-like training", resnet, 2.5, 0.8),
    FirstProgram("LSTM unrolled 20 times", unrolled_lstm, 2.5, 0.8),
    FirstProgram("Inception-v3, gradients", inception, 15, 4, has_peer=False),
    FirstProgram("20,000 additions", additions, 5),
    FirstProgram("5,000 small layers", small_layers, 8),
    FirstProgram("concat of 1,000", wide_concat, 1),
)
# Programs of any size: a size, and about as many nodes for each unit of it.
# The smallest sizes are so large that their passes take longer than the start of the compiler, which runs beside them.
GROWING: dict[str, tuple[Callable[[Any, int], Parts], tuple[int, ...]]] = {
    "chain of additions": (additions, (5_000, 10_000, 20_000, 40_000)),
    "layers side by side": (small_layers, (312, 625, 1_250, 2_500)),
    "unrolled LSTM": (unrolled_lstm, (20, 40, 80, 160)),
    "concat of placeholders": (wide_concat, (1_000, 2_000, 4_000, 8_000)),
}
