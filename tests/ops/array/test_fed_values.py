"""Values that a step is fed but shapes depend on: starts of slices, single indices, axes, target shapes."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf

pytestmark = pytest.mark.opencl
X = np.arange(60, dtype=np.float32).reshape(3, 4, 5)

# expression of (x (3, 4, 5), k an int32 scalar), and the same in NumPy
FED = {
    "slice start": (lambda x, k: tf.slice(x, [k, 0, 1], [1, 2, 3]), lambda x, k: x[k : k + 1, :2, 1:4]),
    "slice rest": (lambda x, k: tf.slice(x, [0, k, 0], [-1, -1, 2]), lambda x, k: x[:, k:, :2]),
    "slice size": (lambda x, k: tf.slice(x, [0, 0, 0], tf.stack([k, 2, 2])), lambda x, k: x[:k, :2, :2]),
    "index": (lambda x, k: x[k], lambda x, k: x[k]),
    "inner index": (lambda x, k: x[:, k, ::2], lambda x, k: x[:, k, ::2]),
    "negative index": (lambda x, k: x[..., k - 3], lambda x, k: x[..., k - 3]),
    "bounds": (lambda x, k: x[:, k : k + 2], lambda x, k: x[:, k : k + 2]),
    "sum": (lambda x, k: tf.reduce_sum(x, k), lambda x, k: x.sum(k)),
    "argmax": (lambda x, k: tf.argmax(x, k), lambda x, k: x.argmax(k)),
    "reshape": (lambda x, k: tf.reshape(x, tf.stack([k * 5, -1])), lambda x, k: x.reshape(k * 5, -1)),
    "range": (lambda x, k: tf.range(k * 3), lambda x, k: np.arange(k * 3)),
    "fill": (lambda x, k: tf.fill(tf.stack([k, 2]), x[0, 0, 3]), lambda x, k: np.full((k, 2), x[0, 0, 3])),
    "tile": (lambda x, k: tf.tile(x, tf.stack([1, k, 1])), lambda x, k: np.tile(x, (1, k, 1))),
    "pad": (lambda x, k: tf.pad(x[0], [[k, 0], [0, k]]), lambda x, k: np.pad(x[0], [[k, 0], [0, k]])),
    "gather": (lambda x, k: tf.gather(x, [k, 0]), lambda x, k: x[[k, 0]]),
    "concat": (lambda x, k: tf.concat([x, x], k), lambda x, k: np.concatenate([x, x], k)),
    "expand": (lambda x, k: tf.expand_dims(x, k), lambda x, k: np.expand_dims(x, k)),
    "one hot": (lambda x, k: tf.one_hot(k, 4), lambda x, k: np.eye(4)[k]),
    "depth": (lambda x, k: tf.one_hot([0, 1], k + 1), lambda x, k: np.eye(2, k + 1)),
    "top": (lambda x, k: tf.nn.top_k(x, k)[0], lambda x, k: -np.sort(-x, -1)[..., :k]),
    "cumsum": (lambda x, k: tf.cumsum(x, k), lambda x, k: np.cumsum(x, k)),
    "split": (lambda x, k: tf.split(x, [k, 4 - k], 1)[1], lambda x, k: x[:, k:]),
    "mask": (lambda x, k: tf.boolean_mask(x, tf.range(3) < k), lambda x, k: x[:k]),
    "linspace": (lambda x, k: tf.linspace(0.0, 1.0, k + 1), lambda x, k: np.linspace(0, 1, k + 1)),
}


@pytest.mark.parametrize("name", FED)
def test_fed_value(name):
    ours, numpys = FED[name]
    with tf.Graph().as_default(), tf.Session() as session:
        x, k = tf.placeholder(tf.float32, [None, 4, 5]), tf.placeholder(tf.int32, [])
        y = ours(x, k)
        for value in (1, 2, 1):
            expected = numpys(X, value)
            got = session.run(y, {x: X, k: value})
            np.testing.assert_allclose(got, expected, rtol=1e-6)
            assert y.shape.is_compatible_with(got.shape)


def test_gradients_of_fed_windows():
    with tf.Graph().as_default(), tf.Session() as session:
        x, k = tf.placeholder(tf.float32, [3, 4]), tf.placeholder(tf.int32, [])
        made = [tf.slice(x, [k, 0], [1, 2]), x[k], x[:, k], x[k:], tf.gather(x, [k, k])]
        grads = [tf.convert_to_tensor(tf.gradients(y, x)[0]) for y in made]
        found = session.run(grads, {x: X[0, :3, :4], k: 1})
    ones = np.zeros((5, 3, 4))
    ones[0, 1, :2] = ones[1, 1] = ones[2, :, 1] = ones[3, 1:] = 1
    ones[4, 1] = 2
    np.testing.assert_array_equal(found, ones)
