"""tf.TensorArray, map_fn, folds and scan: errors, shapes, closing. Values and gradients: tests/oracle."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

pytestmark = pytest.mark.opencl


def run(t):
    with tf.Session() as session:
        return session.run(t)


def test_shapes_are_learned():
    ta = tf.TensorArray(tf.float32, 2)
    assert ta.element_shape.sizes is None
    ta = ta.write(0, tf.ones([3])).write(1, tf.zeros([3]))
    assert ta.element_shape.as_list() == [3]
    assert ta.read(0).shape.as_list() == [3]
    assert ta.stack().shape.as_list() == [2, 3]
    with pytest.raises(errors.ShapeError, match="infer_shape"):
        ta.write(1, tf.ones([4]))
    with pytest.raises(errors.DTypeError):
        ta.write(1, tf.ones([3], tf.int32))


BAD = {
    "read twice": (lambda a: [a.write(0, 1.0).read(0), 0.0], None),
    "not written": (lambda a: a.read(0), "nothing was written"),
    "out of range": (lambda a: a.write(5, 1.0).flow, "its size is 2"),
    "negative": (lambda a: a.write(-1, 1.0).flow, "index -1"),
    "written twice": (lambda a: a.write(0, 1.0).write(0, 2.0).flow, "already been written"),
    "lengths": (lambda a: a.split([1.0, 2.0, 3.0], [1, 1]).flow, "lengths"),
    "indices": (lambda a: a.scatter([0, 1], [1.0, 2.0, 3.0]).flow, "indices"),
}


@pytest.mark.parametrize("what", [k for k in BAD if BAD[k][1]])
def test_refuses(what):
    build, words = BAD[what]
    with pytest.raises(errors.InvalidArgumentError, match=words):
        run(build(tf.TensorArray(tf.float32, 2, infer_shape=False)))


def test_reading_twice_needs_clear_after_read_off():
    def twice(clear):
        a = tf.TensorArray(tf.float32, 1, clear_after_read=clear).write(0, 2.0)
        with tf.control_dependencies([x := a.read(0)]):
            return x + a.identity().read(0)

    assert run(twice(False)) == 4.0
    with pytest.raises(errors.InvalidArgumentError, match="twice"):
        run(twice(True))


def test_closed_and_growing():
    a = tf.TensorArray(tf.int32, 0, dynamic_size=True).write(2, 7)
    assert run(a.size()) == 3
    with tf.control_dependencies([a.close()]):
        late = a.identity().size()
    with pytest.raises(errors.FailedPreconditionError, match="closed"):
        run(late)


def test_arguments():
    with pytest.raises(errors.InvalidArgumentError, match="size or a handle"):
        tf.TensorArray(tf.float32)
    with pytest.raises(errors.InvalidArgumentError, match="negative"):
        run(tf.TensorArray(tf.float32, tf.constant(-1)).flow)
    with pytest.raises(errors.ShapeError, match="scalar"):
        tf.map_fn(lambda x: x, tf.constant(1.0))
    with pytest.raises(errors.DTypeError, match="callable"):
        tf.foldl(1, tf.ones([2]))
    with pytest.raises(errors.InvalidArgumentError, match="announced"):
        tf.map_fn(lambda x: (x, x), tf.ones([2]))


def test_strings_and_no_elements():
    words = tf.map_fn(lambda w: w, tf.constant(["a", "b"]))
    nothing = tf.map_fn(lambda x: x * 2.0, tf.zeros([0, 3]))
    got, empty = run([words, nothing])
    assert got.tolist() == [b"a", b"b"]
    assert empty.shape == (0, 3)


def test_scan_is_as_numpy():
    x = np.arange(5.0)
    np.testing.assert_allclose(run(tf.scan(lambda a, e: a + e, tf.constant(x))), np.cumsum(x))


def test_gradients_of_several_loops_at_once():
    """What leaves a loop has waited for all that enters it: no cluster holds something of both sides."""
    x = tf.placeholder(tf.float64, [None, 2])
    y = tf.map_fn(tf.sin, x)
    z = tf.map_fn(lambda e: e[0] * e[1], (x, x), dtype=tf.float64)
    (dx,) = tf.gradients([y, z], x)
    value = np.array([[0.5, 1.0], [2.0, -1.0]])
    with tf.Session() as session:
        got = session.run(dx, {x: value}, options=tf.RunOptions(timeout_in_ms=60000))
    np.testing.assert_allclose(got, np.cos(value) + 2 * value)


def test_an_array_per_iteration():
    x = tf.placeholder(tf.float64, [3])

    def body(i, y):
        ta = tf.TensorArray(tf.float64, 3).unstack(y * x)
        out = tf.TensorArray(tf.float64, 3)
        out = tf.while_loop(lambda j, _: j < 3, lambda j, o: (j + 1, o.write(j, ta.read(j))), [0, out])[1]
        return i + 1, out.stack()

    y = tf.while_loop(lambda i, _: i < 2, body, [0, x])[1]
    (dx,) = tf.gradients(y, x)
    with tf.Session() as session:
        got = session.run([y, dx], {x: [1.0, 2.0, 3.0]}, options=tf.RunOptions(timeout_in_ms=60000))
    np.testing.assert_allclose(got, [[1, 8, 27], [3, 12, 27]])


def test_the_gradient_of_a_split_into_an_array_that_grows_later():
    x, more = tf.constant([1.0, 2.0, 3.0]), tf.constant([4.0])
    array = tf.TensorArray(tf.float32, size=2, dynamic_size=True, infer_shape=False).split(x, [1, 2]).write(2, more)
    slopes = tf.gradients(array.concat(), [x, more], grad_ys=tf.constant([1.0, 2.0, 3.0, 4.0]))
    with tf.Session() as session:
        assert [s.tolist() for s in session.run(slopes)] == [[1.0, 2.0, 3.0], [4.0]]


def test_pieces_of_different_lengths_have_no_known_shape():
    with tf.Graph().as_default():
        array = tf.TensorArray(tf.float32, size=2)
        assert array.split(tf.ones([3, 2]), [1, 2]).read(0).shape.ndims is None
        assert tf.TensorArray(tf.float32, size=3).split(tf.ones([3, 2]), [1, 1, 1]).read(0).shape == (1, 2)
