"""Random graphs that run for any shapes: dimensions are unknown, and shapes are computed from shapes and fed.

`Graph(seed)` has the inputs and the outputs of such a graph, and `feeds(n, m)` gives values for inputs of n rows and m
columns. The operations change sizes in all ways: they reshape, slice, join, repeat, pad and reduce.
"""

from __future__ import annotations

import random

import numpy as np

import tfnb as tf

SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 24, 31, 33, 48, 64, 65, 100, 130)


def _dims(x):
    shape = tf.shape(x)
    return shape[0], shape[1]


def _image(x):
    n, m = _dims(x)
    return tf.reshape(tf.stack([x, 1.0 - x], axis=2), [1, n, m, 2])


def _back(image):
    shape = tf.shape(image)
    return tf.reshape(image, [shape[0] * shape[1], shape[2] * shape[3]])


def _filter(*shape):
    return tf.constant(np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32))


def _normalised(x):
    y, mean, variance = tf.nn.fused_batch_norm(_image(x), tf.constant([1.0, 2.0]), tf.constant([0.5, 0.0]))
    return _back(y) + tf.reduce_sum(mean) + tf.reduce_sum(variance)


# An operation takes the graph and a matrix, and gives a matrix.
OPERATIONS = {
    "tanh": lambda g, x: tf.tanh(x) * 0.5 + 0.1,
    "select": lambda g, x: tf.where(x > 0.0, x, 0.1 * x),
    "transpose": lambda g, x: tf.transpose(x),
    "row": lambda g, x: tf.reshape(x, [1, -1]),
    "column": lambda g, x: tf.reshape(x, [-1, 1]),
    "swapped": lambda g, x: tf.reshape(x, tf.reverse(tf.shape(x), [0])),
    "product": lambda g, x: tf.reshape(x, [-1, tf.reduce_prod(tf.shape(x)[1:])]),
    "fed shape": lambda g, x: tf.reshape(g.x, g.target) + tf.reduce_mean(x),
    "half": lambda g, x: x[: (_dims(x)[0] + 1) // 2],
    "middle": lambda g, x: tf.slice(x, [_dims(x)[0] // 3, 0], [(_dims(x)[0] + 2) // 3, -1]),
    "from fed": lambda g, x: g.x[g.begin :] + tf.reduce_max(x),
    "strided": lambda g, x: x[:, ::2],
    "reversed": lambda g, x: x[::-1],
    "concat": lambda g, x: tf.concat([x, tf.tanh(x), x[:1]], 0),
    "concat columns": lambda g, x: tf.concat([x, x * 2.0], 1),
    "split": lambda g, x: tf.subtract(*tf.split(tf.concat([x, 2.0 * x], 0), 2, 0)),
    "split by sizes": lambda g, x: tf.split(x, tf.stack([_dims(x)[0] // 2, _dims(x)[0] - _dims(x)[0] // 2]), 0)[1],
    "pad": lambda g, x: tf.pad(x, [[1, 2], [0, 1]]),
    "pad computed": lambda g, x: tf.pad(x, tf.stack([[0, _dims(x)[0] % 3], [_dims(x)[1] % 2, 0]])),
    "mirror": lambda g, x: tf.pad(x, [[1, 1], [0, 0]], mode="SYMMETRIC"),
    "tile": lambda g, x: tf.tile(x, [2, 1]),
    "tile computed": lambda g, x: tf.tile(x[:1], tf.stack([tf.minimum(_dims(x)[0], 4), 1])),
    "broadcast": lambda g, x: tf.broadcast_to(x[:1], tf.shape(x)) + x,
    "gather": lambda g, x: tf.gather(x, g.ids % tf.maximum(_dims(x)[0], 1)),
    "one hot": lambda g, x: tf.one_hot(g.ids, _dims(x)[1]) * tf.reduce_mean(x),
    "range": lambda g, x: x + tf.cast(tf.range(_dims(x)[1]), tf.float32) / tf.cast(_dims(x)[0], tf.float32),
    "fill": lambda g, x: x + tf.fill(tf.shape(x), 0.5) * tf.zeros(tf.stack([1, _dims(x)[1]])),
    "sum rows": lambda g, x: tf.reduce_sum(x, 0, keepdims=True),
    "mean columns": lambda g, x: x - tf.reduce_mean(x, 1, keepdims=True),
    "max": lambda g, x: x / (1.0 + tf.reduce_max(tf.abs(x))),
    "arg": lambda g, x: x + tf.cast(tf.expand_dims(tf.argmax(x, 1), 1), tf.float32),
    "cumsum": lambda g, x: tf.cumsum(x, 0),
    "softmax": lambda g, x: tf.nn.softmax(x),
    "log softmax": lambda g, x: tf.nn.log_softmax(x * 0.5),
    "entropy": lambda g, x: tf.expand_dims(
        tf.nn.softmax_cross_entropy_with_logits(labels=tf.nn.softmax(x), logits=x), 1
    ),
    "gram": lambda g, x: tf.matmul(x[:8], x, transpose_b=True),
    "matmul": lambda g, x: (
        tf.matmul(tf.matmul(x, g.x[:, :5], transpose_a=True), g.x[:, :3], transpose_a=True)
        if x is g.x
        else tf.matmul(x, tf.tanh(x[:6]), transpose_b=True)
    ),
    "weights": lambda g, x: tf.nn.relu(tf.matmul(tf.reshape(x, [-1, 1]), tf.constant([[0.5, -1.0, 2.0]])) + 0.1),
    "batch matmul": lambda g, x: _back(tf.matmul(*(2 * [tf.expand_dims(tf.stack([x, x]), 0)]), transpose_b=True)),
    "conv": lambda g, x: _back(tf.nn.conv2d(_image(x), _filter(3, 3, 2, 3), [1, 1, 1, 1], "SAME")),
    "conv strided": lambda g, x: _back(tf.nn.conv2d(_image(x), _filter(2, 2, 2, 2), [1, 2, 2, 1], "SAME")),
    "pool": lambda g, x: _back(tf.nn.max_pool(_image(x), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")),
    "mean pool": lambda g, x: _back(tf.nn.avg_pool(_image(x), [1, 3, 3, 1], [1, 1, 1, 1], "SAME")),
    "batch norm": lambda g, x: _normalised(x),
    "moments": lambda g, x: (x - tf.nn.moments(x, [0])[0]) * tf.rsqrt(tf.nn.moments(x, [0])[1] + 0.01),
    "segments": lambda g, x: tf.unsorted_segment_sum(tf.gather(x, g.ids % _dims(x)[0]), g.ids, g.segments),
    "segments of shape": lambda g, x: tf.unsorted_segment_max(
        tf.gather(x, g.ids % _dims(x)[0]), g.ids % 3, _dims(x)[1] + 3
    )[:3],
    "scatter": lambda g, x: tf.scatter_nd(
        tf.expand_dims(tf.range(_dims(x)[0]), 1), x, tf.stack([_dims(x)[0] + 2, _dims(x)[1]])
    ),
    "gradient": lambda g, x: tf.convert_to_tensor(tf.gradients(tf.reduce_sum(tf.square(x)), g.x)[0]),
    "linspace": lambda g, x: x * tf.cast(tf.size(x), tf.float32) / tf.cast(_dims(x)[0] * 3 + 1, tf.float32),
}

# Operations whose outputs have shapes that depend on numbers; the host computes some of them.
COUNTING = {
    "mask": lambda g, x: tf.boolean_mask(x, x[:, 0] > -0.5),
    "unique": lambda g, x: tf.gather(x, tf.unique(g.ids)[0] % _dims(x)[0]),
    "partition": lambda g, x: tf.dynamic_partition(x, tf.cast(x[:, 0] > 0.0, tf.int32), 2)[1],
    "stitch": lambda g, x: tf.dynamic_stitch([tf.range(_dims(x)[0]), tf.range(_dims(x)[0])], [x, x * 2.0]),
    "positions": lambda g, x: tf.cast(tf.where(x > 0.5), tf.float32),
    "variable": lambda g, x: tf.reduce_mean(x) + tf.assign(g.variable, x, validate_shape=False),
}


class Graph:
    """A random graph in the default graph. `outputs` are matrices, of which some are gradients."""

    def __init__(self, seed: int, length: int = 5, counting: bool = False) -> None:
        rng = random.Random(seed)
        self.x = tf.placeholder(tf.float32, rng.choice(([None, None], None, [None, None])))
        if self.x.shape.ndims is None:
            self.x.set_shape([None, None])
        self.ids = tf.placeholder(tf.int32, [None])
        self.target = tf.placeholder(tf.int32, [2])
        self.begin = tf.placeholder(tf.int32, [])
        self.segments = tf.placeholder(tf.int32, [])
        self.variable = tf.Variable([[1.0]], validate_shape=False) if counting else None
        names = [*OPERATIONS, *(list(COUNTING) * 3 if counting else ())]
        values = [self.x]
        self.names = []
        while len(self.names) < length:
            name = rng.choice(names)
            x = rng.choice(values[-2:])
            y = (OPERATIONS | COUNTING)[name](self, x)
            if y.shape.ndims is None or y.shape.ndims == 2:
                values.append(y)
                self.names.append(name)
        self.outputs = [values[-1], rng.choice(values)]
        gradients = tf.gradients(tf.reduce_sum(values[-1]), self.x)
        self.outputs += [tf.convert_to_tensor(g) for g in gradients if g is not None]

    def feeds(self, n: int, m: int) -> dict[tf.Tensor, np.ndarray]:
        """The values of the inputs for n rows and m columns."""
        numbers = np.random.default_rng(n * 1000 + m)
        return {
            self.x: numbers.normal(size=(n, m)).astype(np.float32),
            self.ids: numbers.integers(0, n, n + 3).astype(np.int32),
            self.target: np.array([m, n], np.int32),
            self.begin: np.int32(n // 2),
            self.segments: np.int32(n + 1),
        }


def shapes(seed: int, count: int) -> list[tuple[int, int]]:
    """Random numbers of rows and columns."""
    rng = random.Random(seed)
    return [(rng.choice(SIZES), rng.choice(SIZES)) for _ in range(count)]
