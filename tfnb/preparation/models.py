"""Typical small models as programs write them: their kernels are those that most first programs need.

Kernels have neither sizes nor learning rates in their texts, so models of other sizes need the same ones. Each program
defines `x`, what is fed to it by name, a `loss`, the operation `train`, and what an evaluation fetches. Invariant: a
program uses public names alone, and no file.
"""

from __future__ import annotations

__all__ = ["MODELS"]

_HEAD = """
import tfnb as tf
x = tf.placeholder(tf.float32, [None, {inputs}])
labels = tf.placeholder(tf.int64, [None])
def variable(*shape):
    return tf.Variable(tf.truncated_normal(shape, stddev=0.1))
def bias(n):
    return tf.Variable(tf.zeros([n]))
"""

_CLASSES = """
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
evaluation = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), labels), tf.float32))
"""

_ONE_HOT = """
wanted = tf.one_hot(labels, 10)
loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=wanted, logits=logits))
evaluation = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), tf.argmax(wanted, 1)), tf.float32))
"""

_TRAIN = """
train = tf.train.{optimizer}.minimize(loss)
"""

_DENSE = """
hidden = tf.nn.{activation}(tf.matmul(x, variable({inputs}, {width})) + bias({width}))
hidden = tf.nn.{activation}(tf.matmul(hidden, variable({width}, 32)) + bias(32))
logits = tf.matmul(hidden, variable(32, 10)) + bias(10)
"""

_LAYERS = """
hidden = tf.layers.dense(x, 64, activation=tf.nn.{activation})
hidden = tf.layers.dropout(tf.layers.dense(hidden, 32, activation=tf.nn.{activation}), training=True)
logits = tf.layers.dense(hidden, 10)
"""

_SOFTMAX = """
logits = tf.matmul(x, tf.Variable(tf.zeros([{inputs}, 10]))) + tf.Variable(tf.zeros([10]))
"""

_REGRESSION = """
hidden = tf.nn.tanh(tf.matmul(x, variable({inputs}, 32)) + variable(32))
evaluation = tf.squeeze(tf.matmul(hidden, variable(32, 1)) + variable(1), 1)
loss = tf.reduce_mean(tf.square(evaluation - tf.cast(labels, tf.float32)))
"""

_CONV = """
images = tf.reshape(x, [-1, 28, 28, 1])
hidden = tf.nn.relu(tf.nn.conv2d(images, variable(5, 5, 1, 32), [1, 1, 1, 1], "SAME") + variable(32))
hidden = tf.nn.max_pool(hidden, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
hidden = tf.nn.relu(tf.nn.conv2d(hidden, variable(5, 5, 32, 64), [1, 1, 1, 1], "SAME") + variable(64))
hidden = tf.nn.max_pool(hidden, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
hidden = tf.nn.relu(tf.matmul(tf.reshape(hidden, [-1, 7 * 7 * 64]), variable(7 * 7 * 64, 128)) + variable(128))
logits = tf.matmul(tf.nn.dropout(hidden, keep_prob=0.5), variable(128, 10)) + variable(10)
"""

_CONV_LAYERS = """
hidden = tf.reshape(x, [-1, 28, 28, 1])
for width in (16, 32):
    hidden = tf.layers.conv2d(hidden, width, 3, padding="same", activation=tf.nn.relu)
    hidden = tf.layers.max_pooling2d(hidden, 2, 2)
hidden = tf.layers.dense(tf.layers.flatten(hidden), 64, activation=tf.nn.relu)
logits = tf.layers.dense(hidden, 10)
"""

_BATCH_NORM = """
hidden = tf.reshape(x, [-1, 28, 28, 1])
for width in (16, 32):
    hidden = tf.layers.conv2d(hidden, width, 3, 2, padding="same", use_bias=False)
    hidden = tf.nn.relu(tf.layers.batch_normalization(hidden, training=True))
logits = tf.layers.dense(tf.reduce_mean(hidden, [1, 2]), 10)
"""

_RECURRENT = """
rows = tf.reshape(x, [-1, 28, 28])
outputs, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.{cell}(32), rows, dtype=tf.float32)
logits = tf.layers.dense(outputs[:, -1], 10)
"""

_EMBEDDING = """
words = tf.cast(x * 50.0, tf.int32)
embedded = tf.nn.embedding_lookup(tf.Variable(tf.random_uniform([50, 16], -1.0, 1.0)), words)
logits = tf.layers.dense(tf.reduce_mean(embedded, 1), 10)
"""

_BINARY = """
hidden = tf.layers.dense(x, 32, activation=tf.nn.leaky_relu)
score = tf.layers.dense(hidden, 1)
wanted = tf.cast(tf.expand_dims(labels, 1) > 4, tf.float32)
loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=wanted, logits=score))
evaluation = tf.nn.sigmoid(score)
"""


def _program(body: str, loss: str, optimizer: str, inputs: int = 784, width: int = 64, **named: str) -> str:
    return (_HEAD + body + loss + _TRAIN).format(inputs=inputs, width=width, optimizer=optimizer, **named)


_SGD, _ADAM = "GradientDescentOptimizer(0.1)", "AdamOptimizer(0.001)"
_MOMENTUM, _RMS = "MomentumOptimizer(0.01, 0.9)", "RMSPropOptimizer(0.001)"

MODELS: tuple[str, ...] = (
    _program(_DENSE, _CLASSES, _SGD, inputs=4, width=16, activation="relu"),  # small sizes have small kernels
    _program(_DENSE, _CLASSES, _SGD, activation="relu"),
    _program(_SOFTMAX, _ONE_HOT, _SGD),
    _program(_CONV, _CLASSES, _ADAM),
    _program(_DENSE, _ONE_HOT, _ADAM, activation="sigmoid"),
    _program(_CONV_LAYERS, _CLASSES, _MOMENTUM),
    _program(_REGRESSION, "", _RMS, inputs=4),
    _program(_LAYERS, _CLASSES, "AdagradOptimizer(0.01)", activation="tanh"),
    _program(_RECURRENT, _CLASSES, _ADAM, cell="BasicLSTMCell"),
    _program(_BATCH_NORM, _CLASSES, _MOMENTUM),
    _program(_EMBEDDING, _CLASSES, _ADAM, inputs=10),
    _program(_RECURRENT, _ONE_HOT, _RMS, cell="GRUCell"),
    _program(_LAYERS, _ONE_HOT, _RMS, activation="elu"),
    _program(_BINARY, "", _ADAM, inputs=20),
)
"""The texts of the programs, those that most people begin with first."""
