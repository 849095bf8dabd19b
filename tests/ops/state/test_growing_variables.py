"""Variables that get another shape from what they hold: appended to, cut, turned, in the step that reads them."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf

pytestmark = pytest.mark.opencl


def floats(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


# What a variable becomes, the same by NumPy, and its first value.
CASES = {
    "append": (lambda v: tf.concat([v, [7.0]], 0), lambda a: np.concatenate([a, [7]]), floats(0)),
    "prepend": (lambda v: tf.concat([[7.0], v], 0), lambda a: np.concatenate([[7], a]), floats(3)),
    "mirrored": (lambda v: tf.concat([v[::-1], v * 2], 0), lambda a: np.concatenate([a[::-1], a * 2]), floats(90)),
    "drop the first": (lambda v: v[1:], lambda a: a[1:], floats(300)),
    "drop the last": (lambda v: v[:-1] + 1, lambda a: a[:-1] + 1, floats(300)),
    "every other": (lambda v: v[::2] + 1, lambda a: a[::2] + 1, floats(5000)),
    "transpose": (
        lambda v: tf.transpose(tf.concat([v, v[:1]], 0)),
        lambda a: np.concatenate([a, a[:1]]).T,
        floats(3, 4),
    ),
    "product": (lambda v: tf.matmul(v, v, transpose_a=True)[:, :1] / 4, lambda a: (a.T @ a)[:, :1] / 4, floats(3, 2)),
    "rows": (lambda v: tf.gather(v, [0, 0, 1, 2, 1]), lambda a: a[[0, 0, 1, 2, 1]], floats(3, 4)),
    "rank": (lambda v: tf.expand_dims(v, 0) * 2, lambda a: a[None] * 2, floats(12)),
    "mean": (
        lambda v: tf.concat([v, tf.reduce_mean(v, 0, keepdims=True)], 0),
        lambda a: np.concatenate([a, a.mean(0, keepdims=True)]),
        floats(3, 4),
    ),
    "texts": (
        lambda v: tf.concat([v, [b"x"]], 0),
        lambda a: np.concatenate([a, np.array([b"x"], object)]),
        np.array([b"a", b"b"], object),
    ),
}


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_a_variable_becomes_what_is_made_of_it(name, use_resource):
    make, expected, first = CASES[name]
    with tf.Graph().as_default():
        v = tf.Variable(first, validate_shape=False, trainable=False, use_resource=use_resource)
        old = tf.identity(v)
        with tf.control_dependencies([old]):
            grow = tf.assign(v, make(v), validate_shape=False)
        with tf.control_dependencies([grow]):
            after = v.read_value()
        with tf.Session() as sess:
            sess.run(v.initializer)
            value = first
            for _ in range(4):
                before, value = value, expected(value)
                got_old, got_after = sess.run([old, after])
                for got, right in ((got_old, before), (got_after, value), (sess.run(v), value)):
                    assert got.shape == right.shape
                    np.testing.assert_array_equal(got, right.astype(got.dtype))


def test_a_variable_grows_in_a_loop():
    with tf.Graph().as_default():
        v = tf.Variable(floats(2), validate_shape=False, use_resource=True)

        def body(i):
            with tf.control_dependencies([tf.assign(v, tf.concat([v.read_value(), [1.0]], 0), validate_shape=False)]):
                return i + 1

        loop = tf.while_loop(lambda i: i < 3, body, [0], parallel_iterations=1)
        with tf.Session() as sess:
            sess.run(v.initializer)
            for n in range(1, 4):
                sess.run(loop)
                assert sess.run(v).tolist() == [0, 1, *[1] * 3 * n]


def test_a_traced_step_sees_the_old_value():
    with tf.Graph().as_default():
        v = tf.Variable(floats(100_000), validate_shape=False)
        grow = tf.assign(v, tf.concat([v[::-1], v], 0)[3:], validate_shape=False)
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        with tf.Session() as sess:
            sess.run(v.initializer)
            value = floats(100_000)
            for _ in range(3):
                value = np.concatenate([value[::-1], value])[3:]
                np.testing.assert_array_equal(sess.run(grow, options=options, run_metadata=tf.RunMetadata()), value)
