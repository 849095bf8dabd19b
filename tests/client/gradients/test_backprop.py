"""tf.gradients: what is asked of it, registration, errors. Values are compared with TensorFlow's in tests/oracle."""

from __future__ import annotations

import uuid

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors
from tfnb.ir.opdef import OpDef
from tfnb.ir.shapes import unchanged
from tfnb.ops import CATALOG
from tfnb.types import FLOATS


def test_only_ops_on_a_path_get_gradient_nodes(graph):
    x, other = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [2])
    y = tf.exp(x) * tf.sin(other)
    before = graph.version
    (dx,) = tf.gradients(y, x)
    made = [op.name for op in graph.get_operations()[before:]]
    assert dx.shape.as_list() == [2]
    assert all(name.startswith("gradients/") for name in made)
    assert not any("Sin_grad" in name for name in made)


def test_unrelated_integer_and_foreign():
    x, i = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.int32, [2])
    assert tf.gradients(x * 2, [i, x])[0] is None
    assert tf.gradients(tf.cast(i, tf.float32), i) == [None]
    with tf.Graph().as_default():
        foreign = tf.constant(1.0)
    with pytest.raises(errors.GraphError, match="Const:0 is not an element of this graph"):
        tf.gradients(x, foreign)


def test_integers_among_the_ys_add_nothing(caplog):
    x = tf.constant(2.0)
    turns, y = tf.while_loop(lambda i, x: i < 10, lambda i, x: [i + 1, x * 2.0], [0, x])
    with tf.Session() as session:
        assert session.run(tf.gradients([turns, y], x)) == [1024.0]
    assert not caplog.records
    assert tf.gradients(turns * 2, [turns, x]) == [None, None]
    assert "none of" in caplog.text and "int32" in caplog.text


def test_complex_ys_need_seeds():
    x = tf.constant(7 + 3j, tf.complex64)
    with pytest.raises(errors.DTypeError, match="grad_ys"):
        tf.gradients(x * x, x)
    with tf.Session() as session:
        assert session.run(tf.gradients(x * x, x, tf.constant(1j, tf.complex64))) == [np.conj(2 * (7 + 3j)) * 1j]


@pytest.mark.parametrize("dtypes", [(tf.int32, tf.int64), (tf.int64, tf.int64), (tf.int64, tf.int32)])
def test_rows_by_indices_of_two_dtypes(dtypes):
    table = tf.constant(np.ones((4, 2)))
    y = tf.gather(table, tf.constant([0, 1], dtypes[0])) + tf.gather(table, tf.constant([2, 1], dtypes[1]))
    (grad,) = tf.gradients(y, table)
    assert isinstance(grad, tf.IndexedSlices)
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(tf.convert_to_tensor(grad))[:, 0], [1, 2, 1, 0])


def test_seeds_are_checked():
    x = tf.placeholder(tf.float32, [2])
    with pytest.raises(errors.InvalidArgumentError, match="1 grad_ys for 2 ys"):
        tf.gradients([x, x], x, grad_ys=[None])
    with pytest.raises(errors.ShapeError, match=r"shapes: \[3\]"):
        tf.gradients(x * 2, x, grad_ys=[tf.ones([3])])
    with pytest.raises(errors.ShapeError, match=r"gradient of Identity has shape \(\), its input .* \(2,\)"):
        tf.gradients(tf.identity(x), x, grad_ys=[1.0])
    with pytest.raises(errors.DTypeError, match="input y is float32"):
        tf.gradients(x * 2, x, grad_ys=[tf.ones([2], tf.float64)])


def test_a_seed_has_the_shape_that_the_gradient_of_its_op_takes():
    """As in TensorFlow 1.15.5, where baselines' ACER seeds a reshaped tensor in another shape."""
    x = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    seed = np.arange(6.0, dtype=np.float32)
    grads = [
        tf.gradients(tf.reshape(x, [3, 2]), x, seed.reshape(1, 6))[0],
        tf.gradients(tf.reduce_sum(x), x, np.ones(1, np.float32))[0],
        tf.gradients(tf.square(x), x, np.float32(0.5))[0],
    ]
    with tf.Session() as session:
        reshaped, total, squared = session.run(grads)
    np.testing.assert_array_equal(reshaped, seed.reshape(2, 3))
    np.testing.assert_array_equal(total, np.ones((2, 3)))
    np.testing.assert_array_equal(squared, [[1, 2, 3], [4, 5, 6]])


def test_rows_that_were_gathered():
    table = tf.Variable(np.ones((5, 2), np.float32))
    found = tf.gather(table, [1, 3, 1]), tf.gather(table, [0])
    (grad,) = tf.gradients(tf.reduce_sum(found[0]) + tf.reduce_sum(found[1] * 3.0), table)
    assert isinstance(grad, tf.IndexedSlices)
    (mixed,) = tf.gradients(tf.reduce_sum(found[0]) + tf.reduce_sum(table), table)
    with tf.Session() as session:
        session.run(table.initializer)
        dense = session.run(tf.convert_to_tensor(grad))
        np.testing.assert_array_equal(dense[:, 0], [3, 2, 0, 1, 0])
        np.testing.assert_array_equal(session.run(tf.convert_to_tensor(mixed))[:, 0], [1, 3, 1, 2, 1])


def unused_name():
    """For a gradient, which stays registered for as long as the process lives."""
    return f"TestClient{uuid.uuid4().hex}"


def test_registration():
    name = unused_name()

    @tf.RegisterGradient(name)
    def clipped(op, dy):
        return tf.clip_by_value(dy, -1.0, 1.0)

    with pytest.raises(errors.AlreadyExistsError, match=f"'{name}' is registered already"):
        tf.RegisterGradient(name)(clipped)
    with pytest.raises(errors.AlreadyExistsError, match="gradient of 'MatMul' is registered already"):
        tf.RegisterGradient("MatMul")(clipped)
    with pytest.raises(KeyError):  # which programs catch that add a gradient where their version lacks it
        tf.RegisterGradient("MaxPoolGrad")(clipped)
    x = tf.placeholder(tf.float32, [])
    with tf.get_default_graph().gradient_override_map({"Identity": name}):
        y = tf.identity(x)
    with tf.get_default_graph().gradient_override_map({"Identity": "TestClientNowhere"}):
        z = tf.identity(x)
    (dx,) = tf.gradients(y * 100.0, x)
    with tf.Session() as session:
        assert session.run(dx) == 1.0
    with pytest.raises(errors.NotFoundError, match="TestClientNowhere"):
        tf.gradients(z, x)


def test_a_gradient_function_that_gives_the_wrong_number():
    name = unused_name()

    @tf.RegisterGradient(name)
    def too_many(op, dy):
        return dy, dy

    x = tf.placeholder(tf.float32, [])
    with tf.get_default_graph().gradient_override_map({"Identity": name}):
        y = tf.identity(x)
    with pytest.raises(errors.GraphError, match="gave 2 values for 1 inputs"):
        tf.gradients(y, x)


def test_an_op_without_gradient_is_named():
    strange = OpDef("Strange", "x: T", "y: T", types={"T": FLOATS}, infer=unchanged, scalar=lambda attrs, x: x)
    x = tf.placeholder(tf.float32, [3])
    with pytest.raises(errors.NotFoundError, match="Strange has no gradient"):
        tf.gradients(strange(x), x)
    (y,) = tf.py_func(lambda a: a * 2, [x], [tf.float32])
    assert tf.gradients(y, x) == [None]


def test_hessians():
    x = tf.placeholder(tf.float32, [2])
    (h,) = tf.hessians(x[0] ** 2 * x[1], x)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(h, {x: [2.0, 3.0]}), [[6, 4], [4, 0]])
    with pytest.raises(errors.InvalidArgumentError, match="a vector of known length"):
        tf.hessians(x[0], tf.placeholder(tf.float32, [2, 2]))


def test_long_chains_do_not_recurse():
    x = tf.placeholder(tf.float32, [])
    y = x
    for _ in range(3000):
        y = tf.identity(y)
    (dx,) = tf.gradients(y * y, x)
    assert dx.shape.as_list() == []
    with tf.Session() as session:
        assert session.run(dx, {x: 3.0}) == 6.0


@pytest.mark.parametrize("name", ["bincount", "dilation, twice", "hue", "unique"])
def test_a_derivative_that_is_not_there_is_no_silent_zero(name):
    x = tf.placeholder(tf.float32, [1, 4, 4, 1])

    def dilated():
        y = tf.nn.dilation2d(x * x, tf.zeros([2, 2, 1]), [1, 1, 1, 1], [1, 1, 1, 1], "SAME")
        return tf.gradients(y * y, x)[0]

    made = {
        "bincount": lambda: CATALOG["Bincount"](tf.zeros([16], tf.int32), 1, tf.reshape(x, [16])),
        "dilation, twice": dilated,
        "hue": lambda: tf.image.adjust_hue(tf.tile(x, [1, 1, 1, 3]), 0.1),
        "unique": lambda: tf.unique(tf.reshape(x, [16]))[0],
    }[name]()
    with pytest.raises(errors.NotFoundError, match="has no gradient"):
        tf.gradients(made + tf.reduce_sum(x), x)


def test_nothing_depends_on_a_number():
    with tf.Graph().as_default():
        x = tf.constant(2.0)
        by_number, by_array, by_tensor = tf.gradients(x * x, [0.5, np.ones(2), x])
        assert by_number is None and by_array is None and by_tensor is not None


def test_a_registered_gradient_may_have_another_dtype():
    """As in TensorFlow, which leaves it to the gradient that gets it to complain."""

    @tf.RegisterGradient("FortyTwoOfATest")
    def _forty_two(op, grad):
        return tf.constant(42)

    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.constant(1.0)
        with graph.gradient_override_map({"Relu": "FortyTwoOfATest"}):
            y = tf.nn.relu(x)
            z = tf.nn.relu(tf.exp(x))
        (gradient,) = tf.gradients(y, x)
        assert gradient.dtype == tf.int32 and session.run(gradient) == 42
        with pytest.raises(TypeError):
            tf.gradients(z, x)
