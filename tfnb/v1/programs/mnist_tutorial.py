"""The network of TensorFlow's tutorial on digits, `tensorflow.examples.tutorials.mnist.mnist`: two hidden layers.

Invariant: variables have the names of the tutorial, hidden1/weights and so on, so its checkpoints load.
"""

from __future__ import annotations

import math

from tfnb.client.logging.summaries import scalar
from tfnb.client.variables.variable import Variable
from tfnb.ir.default import graph_of
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops import API as OPS
from tfnb.train.optimizers.update_rules import GradientDescentOptimizer
from tfnb.types import int32, int64

__all__ = ["IMAGE_PIXELS", "IMAGE_SIZE", "NUM_CLASSES", "evaluation", "inference", "loss", "training"]

NUM_CLASSES = 10
IMAGE_SIZE = 28
IMAGE_PIXELS = IMAGE_SIZE * IMAGE_SIZE


def _linear(x: Tensor, columns: int, rows: int) -> Tensor:
    first = OPS["truncated_normal"]([rows, columns], stddev=1.0 / math.sqrt(rows))
    weights = Variable(first, name="weights")
    biases = Variable(OPS["zeros"]([columns]), name="biases")
    return OPS["matmul"](x, weights) + biases


def inference(images: TensorLike, hidden1_units: int, hidden2_units: int) -> Tensor:
    """Returns the logits, (batch, 10), of images (batch, 784)."""
    graph = graph_of([images])
    with graph.as_default():
        x, rows = graph.to_tensor(images), IMAGE_PIXELS
        for name, units in (("hidden1", hidden1_units), ("hidden2", hidden2_units)):
            with graph.name_scope(name):
                x, rows = OPS["nn.relu"](_linear(x, units, rows)), units
        with graph.name_scope("softmax_linear"):
            return _linear(x, NUM_CLASSES, rows)


def loss(logits: Tensor, labels: TensorLike) -> Tensor:
    """Returns the mean cross entropy of logits (batch, 10) and the numbers of the classes, (batch,)."""
    with logits.graph.as_default():
        classes = OPS["cast"](labels, int64)
        each = OPS["nn.sparse_softmax_cross_entropy_with_logits"](labels=classes, logits=logits, name="xentropy")
        return OPS["reduce_mean"](each, name="xentropy_mean")


def training(loss: Tensor, learning_rate: float) -> Operation:
    """Returns the operation of a step of gradient descent, which counts in the variable global_step."""
    with loss.graph.as_default():
        scalar("loss", loss)
        global_step = Variable(0, name="global_step", trainable=False)
        return GradientDescentOptimizer(learning_rate).minimize(loss, global_step=global_step)


def evaluation(logits: Tensor, labels: TensorLike) -> Tensor:
    """Returns how many of the logits (batch, 10) are largest for their label, int32."""
    with logits.graph.as_default():
        return OPS["reduce_sum"](OPS["cast"](OPS["nn.in_top_k"](logits, labels, 1), int32))
