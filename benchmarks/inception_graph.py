"""A graph as large as Inception-v3 in the white paper (36,000 nodes): towers with shared variables, and gradients.

Images have the sizes of Inception-v3 (299, 35, 17 and 8), with strides of convolutions in place of its four largest
pools. Invariant: the same arguments give the same names.
"""

from __future__ import annotations

from typing import Any

import tfnb as tf

# (branches), each a list of (kernel height, kernel width, channels); "pool" is a pooling before the rest.
_A = (
    [(1, 1, 64)],
    [(1, 1, 48), (5, 5, 64)],
    [(1, 1, 64), (3, 3, 96), (3, 3, 96)],
    ["pool", (1, 1, 32)],
)
_B = (
    [(1, 1, 192)],
    [(1, 1, 128), (1, 7, 128), (7, 1, 192)],
    [(1, 1, 128), (7, 1, 128), (1, 7, 128), (7, 1, 128), (1, 7, 192)],
    ["pool", (1, 1, 192)],
)
_C = (
    [(1, 1, 320)],
    [(1, 1, 384), (1, 3, 384)],
    [(1, 1, 448), (3, 3, 384), (3, 1, 384)],
    ["pool", (1, 1, 192)],
)
BLOCKS = {
    **{f"mixed_35x35x{n}": _A for n in ("256a", "288a", "288b")},
    "mixed_17x17x768a": ([(3, 3, 384)], [(1, 1, 64), (3, 3, 96), (3, 3, 96)]),
    **{f"mixed_17x17x768{c}": _B for c in "bcde"},
    "mixed_8x8x1280a": (
        [(1, 1, 192), (3, 3, 320)],
        [(1, 1, 192), (1, 7, 192), (7, 1, 192), (3, 3, 192)],
    ),
    **{f"mixed_8x8x2048{c}": _C for c in "ab"},
}

_REDUCTIONS = ("mixed_17x17x768a", "mixed_8x8x1280a")


def _conv(x: Any, height: int, width: int, channels: int, name: str, stride: int = 1) -> Any:
    """Convolution, batch normalisation and rectifier, as the slim library of the time wrote them."""
    with tf.variable_scope(name):
        depth = x.get_shape()[3].value
        weights = tf.get_variable("weights", [height, width, depth, channels], initializer=tf.constant_initializer(0.1))
        x = tf.nn.conv2d(x, weights, [1, stride, stride, 1], "SAME", name="Conv2D")
        with tf.variable_scope("BatchNorm"):
            beta = tf.get_variable("beta", [channels], initializer=tf.constant_initializer(0.0))
            gamma = tf.get_variable("gamma", [channels], initializer=tf.constant_initializer(1.0))
            mean, variance = tf.nn.moments(x, [0, 1, 2])
            x = tf.nn.batch_normalization(x, mean, variance, beta, gamma, 1e-3)
        return tf.nn.relu(x, name="Relu")


def _mixed(x: Any, branches: Any, name: str) -> Any:
    """A block. One that makes the image smaller does so in the last convolution of each branch."""
    with tf.variable_scope(name):
        ends = []
        for k, branch in enumerate(branches):
            with tf.variable_scope(f"branch_{k}"):
                y = x
                for i, layer in enumerate(branch):
                    if layer == "pool":
                        y = tf.nn.avg_pool(y, [1, 3, 3, 1], [1, 1, 1, 1], "SAME", name="AvgPool")
                    else:
                        stride = 2 if name in _REDUCTIONS and i == len(branch) - 1 else 1
                        y = _conv(y, *layer, f"Conv_{i}", stride)
                ends.append(y)
        return tf.concat(ends, 3, name="concat")


def _tower(images: Any, labels: Any, blocks: int) -> Any:
    x = images
    for i, (size, channels, stride) in enumerate([(3, 32, 2), (3, 32, 1), (3, 64, 2), (1, 80, 1), (3, 192, 2)]):
        x = _conv(x, size, size, channels, f"conv{i}", stride)
    for name, branches in list(BLOCKS.items())[:blocks]:
        x = _mixed(x, branches, name)
    with tf.variable_scope("logits"):
        x = tf.reduce_mean(x, [1, 2], name="pool")
        depth = x.get_shape()[1].value
        weights = tf.get_variable("weights", [depth, 1000], initializer=tf.constant_initializer(0.01))
        x = tf.matmul(x, weights, name="logits")
    with tf.name_scope("loss"):
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x), name="value")


def inception_graph(towers: int = 6, blocks: int = len(BLOCKS), batch: int = 32) -> Any:
    """A `tf.Graph` with so many towers of so many blocks, gradients averaged over the towers, and an optimizer."""
    graph = tf.Graph()
    with graph.as_default():
        optimizer = tf.train.GradientDescentOptimizer(0.045)
        found = []
        for t in range(towers):
            with (
                tf.variable_scope(tf.get_variable_scope(), reuse=t > 0),
                tf.name_scope(f"tower_{t}"),
            ):
                images = tf.placeholder(tf.float32, [batch, 299, 299, 3], name="images")
                labels = tf.placeholder(tf.int32, [batch], name="labels")
                found.append(optimizer.compute_gradients(_tower(images, labels, blocks)))
        with tf.name_scope("average"):
            pairs = [
                (tf.add_n([g for g, _ in each], name="mean") / float(towers), each[0][1])
                for each in zip(*found, strict=True)
            ]
        optimizer.apply_gradients(pairs)
        tf.global_variables_initializer()
    return graph


def repeated_towers(nodes: int = 36_000) -> Any:
    """A GraphDef of at least so many nodes, made in seconds: one tower with its gradients, written many times over.

    Variables, averages and the optimizer are there once, as in `inception_graph`.
    """
    one = inception_graph(1).as_graph_def(add_shapes=True)
    inside = [node for node in one.node if node.name.startswith("tower_0/")]
    towers = max(1, -(-(nodes - len(one.node)) // len(inside)) + 1)
    many = tf.GraphDef()
    many.CopyFrom(one)
    for node in many.node:
        if node.name.startswith("average/mean"):  # the sum of one tower is that tower's
            node.op, node.attr["N"].i = "AddN", towers
            node.input.extend(node.input[0].replace("tower_0/", f"tower_{k}/") for k in range(1, towers))
    for tower in range(1, towers):
        for node in inside:
            copy = many.node.add()
            copy.CopyFrom(node)
            copy.name = node.name.replace("tower_0/", f"tower_{tower}/")
            for i, link in enumerate(node.input):
                copy.input[i] = link.replace("tower_0/", f"tower_{tower}/")
    return many
