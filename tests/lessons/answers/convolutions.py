"""Answers to the exercises of 12_convolutions."""

import numpy as np

import tfnb as tf
from tfnb.lessons.case import Kind


def shapes(image, layers):
    height, width, channels = image
    found = []
    for kind, side, stride, padding, *filters in layers:
        lost = side - 1 if padding == "VALID" else 0
        height, width = (int(np.ceil((n - lost) / stride)) for n in (height, width))
        channels = filters[0] if kind == "conv" else channels
        found.append([height, width, channels])
    return found


def rounded_down(image, layers):
    """Wrong for a side that the stride does not divide."""
    height, width, channels = image
    found = []
    for kind, side, stride, padding, *filters in layers:
        lost = side - 1 if padding == "VALID" else 0
        height, width = (height - lost) // stride, (width - lost) // stride
        channels = filters[0] if kind == "conv" else channels
        found.append([height, width, channels])
    return found


def one_channel(image, layers):
    return [[height, width, 1] for height, width, _ in shapes(image, layers)]


def by_a_graph(image, layers):
    tf.placeholder(tf.float32, [None, *image])
    return shapes(image, layers)


def convolve(images, filters):
    height, width = filters.get_shape().as_list()[:2]
    rows, columns = tf.shape(images)[1], tf.shape(images)[2]
    padded = tf.pad(images, [[0, 0], [height // 2] * 2, [width // 2] * 2, [0, 0]])
    return tf.add_n(
        [
            tf.tensordot(padded[:, r : r + rows, c : c + columns], filters[r, c], 1)
            for r in range(height)
            for c in range(width)
        ]
    )


def of_two_pictures(images, filters):
    return convolve(tf.reshape(images, [2, 6, 5, 2]), filters)


def side(layers):
    reach, apart = 1, 1
    for filter_side, stride in layers:
        reach += (filter_side - 1) * apart
        apart *= stride
    return reach


def of_a_graph(layers):
    tf.constant(1)
    return side(layers)


ANSWERS = {
    "12.1": {
        Kind.RIGHT: shapes,
        Kind.SHAPE: lambda image, layers: shapes(image, layers)[-1][0],
        Kind.VALUE: one_channel,
        Kind.FORBIDDEN: by_a_graph,
        Kind.ONCE: rounded_down,
        Kind.RAISES: lambda image, layers: [[image[0] // layer["stride"]] for layer in layers],
    },
    "12.2": {
        Kind.RIGHT: convolve,
        Kind.SHAPE: lambda images, filters: convolve(images, filters)[:, 1:-1, 1:-1],
        Kind.VALUE: lambda images, filters: convolve(images, filters[::-1, ::-1]),
        Kind.FORBIDDEN: lambda images, filters: tf.nn.conv2d(images, filters, [1, 1, 1, 1], "SAME"),
        Kind.ONCE: of_two_pictures,
        Kind.RAISES: lambda images, filters: tf.matmul(images, filters),
    },
    "12.3": {
        Kind.RIGHT: side,
        Kind.SHAPE: lambda layers: [side(layers)],
        Kind.VALUE: lambda layers: 1 + sum(filter_side - 1 for filter_side, _ in layers),
        Kind.FORBIDDEN: of_a_graph,
        Kind.ONCE: lambda layers: 1 + sum((n - 1) * 2 ** (k // 2) for k, (n, _) in enumerate(layers)),
        Kind.RAISES: lambda layers: max(layers) - "1",
    },
}
SECRETS = {
    "12.1": ("14, 14", "7, 7", "-(-(height", "ceil("),
    "12.2": ("tf.pad(images, [[0, 0]", "height // 2", "tf.tensordot(padded"),
    "12.3": ("16", "15", "31", "(filter_side - 1) * apart"),
}
