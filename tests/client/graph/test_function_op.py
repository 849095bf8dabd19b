"""Functions as ops: calls, captures, gradients of any order, effects, control flow, and their way through GraphDefs."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import DTypeError, GraphError, InvalidArgumentError, UnimplementedError

pytestmark = pytest.mark.opencl


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def run(fetches, feeds=None):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(fetches, feeds)


def test_a_call_is_one_node(graph):
    @tf.function_op
    def layer(x, w):
        """A layer."""
        return tf.nn.relu(tf.matmul(x, w)) + 1.0, tf.reduce_sum(x)

    x = tf.placeholder(tf.float32, [None, 3], name="x")
    before = graph.version
    y, total = layer(x, np.ones((3, 2), np.float32))
    assert graph.version == before + 2  # the constant and the call
    assert y.op is total.op and y.op.name == "layer" and y.shape.as_list() == [None, 2]
    assert y.op.type.startswith("layer_") and y.op.opdef.doc == "A layer."
    again, _ = layer(tf.zeros([4, 3]), tf.zeros([3, 5]), name="second")
    assert again.op.opdef is y.op.opdef and again.shape == [4, 5] and again.op.name == "second"
    found = run([y, total], {x: np.ones((2, 3))})
    np.testing.assert_array_equal(found[0], np.full((2, 2), 4.0))
    assert found[1] == 6.0


def test_another_dtype_is_another_body():
    @tf.function_op
    def twice(x):
        return x + x

    a, b = twice(tf.constant([1, 2])), twice(tf.constant(1.5))
    assert (a.dtype, b.dtype) == (tf.int32, tf.float32) and a.op.type != b.op.type
    assert run([a, b])[0].tolist() == [2, 4]


def test_defun_fixes_dtypes_and_name():
    @tf.Defun(tf.float32, tf.float32, func_name="Together")
    def f(x, y):
        return [x * y]

    assert f.name == "Together"
    (z,) = f(2, tf.constant([1.0, 2.0]))
    assert z.op.type == "Together" and z.shape == [2] and run(z).tolist() == [2, 4]
    with pytest.raises(DTypeError, match="int32"):
        f(tf.constant(1), 2.0)
    with pytest.raises(InvalidArgumentError, match="arguments: 2, received: 1"):
        f(1.0)
    with pytest.raises(InvalidArgumentError, match="1 dtypes for the 2"):
        tf.Defun(tf.float32)(lambda x, y: x)


def test_tensors_and_variables_of_outside_are_read():
    v, c = tf.Variable([2.0, 3.0]), tf.constant(10.0)

    @tf.function_op
    def f(x):
        @tf.function_op
        def inner(y):
            return y * v + c

        return inner(x) * c

    y = f(tf.constant([1.0, 1.0]))
    dv, dc = tf.gradients(y, [v, c])
    np.testing.assert_array_equal(run(y), [120, 130])
    np.testing.assert_array_equal(run(dv), [10, 10])
    assert run(dc) == 12 + 13 + 20


def test_what_a_body_may_not_do():
    v = tf.Variable(1.0)
    other = tf.Graph()
    with other.as_default():
        far = tf.constant(1.0)
    for body, message in (
        (lambda x: tf.assign(v, x), "cannot change the variable"),
        (lambda x: tf.Variable(1.0) + x, "cannot hold a variable"),
        (lambda x: x + far, "neither of the function"),
    ):
        with pytest.raises(GraphError, match=message):
            tf.function_op(body)(tf.constant(1.0))


def test_gradients_of_gradients():
    @tf.function_op
    def cube(x):
        return x * x * x

    x = tf.constant([1.0, 2.0])
    y = cube(x)
    first = tf.gradients(y, x)[0]
    second = tf.gradients(first, x)[0]
    third = tf.gradients(second, x)[0]
    for t, expected in ((first, [3, 12]), (second, [6, 12]), (third, [6, 6])):
        np.testing.assert_allclose(run(t), expected)


def test_a_gradient_of_ones_own():
    @tf.Defun(tf.float32, tf.float32)
    def clipped(x, dy):
        return dy * 100.0

    @tf.Defun(tf.float32, grad_func=clipped)
    def f(x):
        return x * 2.0

    @tf.Defun(tf.float32, python_grad_func=lambda op, dy: dy * op.inputs[0])
    def g(x):
        return x * 2.0

    x = tf.constant(3.0)
    assert run([tf.gradients(f(x), x)[0], tf.gradients(g(x), x)[0]]) == [100.0, 3.0]
    with pytest.raises(InvalidArgumentError, match="not both"):
        tf.Defun(tf.float32, grad_func=clipped, python_grad_func=print)(lambda x: x)


def test_unused_arguments_have_zeros_as_gradient_and_integers_none():
    @tf.function_op
    def f(x, unused, i):
        return tf.gather(x, i), i + 1

    x, u, i = tf.constant([1.0, 2.0]), tf.constant(1.0), tf.constant([1, 1])
    y, _ = f(x, u, i)
    dx, du, di = tf.gradients(y, [x, u, i])
    assert di is None
    assert run(dx).tolist() == [0, 2] and run(du) == 0


def test_random_numbers_forbid_the_derived_gradient():
    @tf.function_op
    def noisy(x):
        return x * tf.random_uniform([2])

    x = tf.constant([1.0, 1.0])
    y = noisy(x)
    assert run(y).shape == (2,)
    with pytest.raises(UnimplementedError, match="draws random numbers"):
        tf.gradients(y, x)


@pytest.mark.parametrize("flag", [True, False])
def test_in_a_branch_only_the_taken_call_runs(flag):
    seen = []

    @tf.function_op
    def noted(x):
        (z,) = tf.py_func(lambda v: seen.append(float(v)) or v, [x], [tf.float32])
        return z * 2.0

    @tf.function_op
    def constant():
        return tf.fill([2], 7.0)

    p, x = tf.placeholder(tf.bool, []), tf.constant(3.0)
    a = tf.cond(p, lambda: noted(x), lambda: x - 1.0)
    b = tf.cond(p, constant, lambda: tf.zeros([2]))
    found = run([a, b], {p: flag})
    assert found[0] == (6.0 if flag else 2.0) and seen == ([3.0] if flag else [])
    assert found[1].tolist() == ([7, 7] if flag else [0, 0])


def test_loops_around_and_inside():
    @tf.function_op
    def power(x, n):
        return tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a * x), [0, 1.0])[1]

    x = tf.constant(2.0)
    y = power(x, 3)
    total = tf.while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, a + power(x, i)), [tf.constant(0), tf.constant(0.0)]
    )[1]
    assert run([y, total, tf.gradients(y, x)[0]]) == [8.0, 7.0, 12.0]


def test_effects_happen_once_and_in_order():
    seen = []

    @tf.function_op
    def note(x):
        op = tf.py_func(lambda v: seen.append(int(v)), [x], [])
        with tf.control_dependencies([op]):
            return tf.identity(x)

    @tf.function_op
    def silent(x):
        tf.py_func(lambda v: seen.append(-int(v)), [x], [])

    first = note(tf.constant(1))
    with tf.control_dependencies([first]):
        second = silent(tf.constant(2))
    with tf.control_dependencies([second]):
        third = note(tf.constant(3))
    with tf.Session() as sess:
        sess.run(third)
        assert seen == [1, -2, 3]
        sess.run(second)
        assert seen == [1, -2, 3, 1, -2]


def test_a_shape_function_of_ones_own():
    @tf.Defun(tf.float32, shape_func=lambda c: [[7]])
    def f(x):
        return x

    assert f(tf.placeholder(tf.float32)).shape == [7]


def test_functions_travel_in_the_library(graph):
    @tf.function_op
    def inner(x):
        return tf.split(x, 2)[1] * 2.0

    @tf.Defun(tf.float32, func_name="outer")
    def outer(x):
        return inner(x) + 1.0, x

    x = tf.placeholder(tf.float32, [4], name="x")
    y = outer(x)[0]
    tf.identity(tf.gradients(y, x)[0], name="dx")
    tf.identity(y, name="y")
    written = graph.as_graph_def()
    assert {"outer"} < {f.signature.name for f in written.library.function}
    with tf.Graph().as_default() as again:
        y2, dx = tf.import_graph_def(written, return_elements=["y:0", "dx:0"], name="")
        assert again.as_graph_def() == written
        more = tf.gradients(y2 * y2, again.get_tensor_by_name("x:0"))[0]
        found = run([y2, dx, more], {"x:0": [1, 2, 3, 4]})
    assert [v.tolist() for v in found] == [[7, 9], [0, 0, 2, 2], [0, 0, 28, 36]]


def test_gradients_of_functions_travel_twice(graph):
    @tf.Defun(tf.float32, tf.float32)
    def backward(x, dy):
        return 100.0 * x * dy

    @tf.Defun(tf.float32, grad_func=backward)
    def forward(x):
        return x + 1.0

    forward(tf.placeholder(tf.float32, [], name="x"), name="y")
    written = graph.as_graph_def()
    for _ in range(2):
        with tf.Graph().as_default() as again:
            x, y = tf.import_graph_def(written, return_elements=["x:0", "y:0"], name="")
            assert run(tf.gradients(y, x)[0], {x: 3.0}) == 300.0
            written = again.as_graph_def()


def test_the_definition_of_a_function():
    @tf.Defun(tf.float32, noinline=True)
    def successor(x):
        """Successor of x."""
        return x + 1.0

    @tf.Defun(tf.float32, grad_func=tf.Defun(tf.float32, tf.float32)(lambda x, dy: dy))
    def same(x):
        return x * 1.0

    with tf.Graph().as_default() as graph:
        successor(tf.constant(1.0))
        made = successor.definition
        assert made.signature.description == "Successor of x."
        assert made.attr["_noinline"].b
        assert graph.as_graph_def().library.function[0] == made
        assert successor.instantiate([tf.float32]).name == successor.name
        assert (successor.declared_input_types, successor.captured_inputs) == ([tf.float32], [])
        assert successor.grad_func_name is None
        assert same.grad_func_name


def test_a_shape_function_sees_inputs():
    @tf.Defun(tf.float32, shape_func=lambda op: [[1, *op.inputs[0].get_shape().as_list()]])
    def stacked(x):
        return tf.stack([x])

    with tf.Graph().as_default():
        assert stacked(tf.zeros([2, 3])).shape.as_list() == [1, 2, 3]


def test_errors_of_definitions_and_calls():
    @tf.Defun(tf.int32)
    def plus_one(a):
        return a + 1

    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="Expected number of arguments: 1, received: 2"):
            plus_one(1, 2)
        with pytest.raises(ValueError, match="Unknown keyword arguments: device"):
            plus_one(1, device="/cpu:0")
        with pytest.raises(ValueError, match="can not return None"):
            _ = tf.Defun()(lambda: (None, None)).definition
        with pytest.raises(ValueError, match="are not supported"):
            tf.Defun()(lambda a=12: tf.constant(a))
        with pytest.raises(ValueError, match="output names size = 2 outputs size = 1"):
            tf.Defun(tf.float32, out_names=["a", "b"])(lambda x: x + 1.0)(2.0)
        with tf.device("CPU"):
            assert tf.constant(1).device == "/device:CPU:*"


def test_calls_draw_different_random_numbers_and_repeat_them(graph):
    tf.set_random_seed(7)

    @tf.function_op
    def inner():
        return tf.random_uniform([20])

    @tf.function_op
    def outer():
        return tf.stack([inner(), inner()])

    calls = [outer(), outer()]
    first, second = run(calls)
    rows = [*first, *second]
    assert all(not np.array_equal(rows[i], rows[k]) for i in range(4) for k in range(i))
    np.testing.assert_array_equal(run(calls), [first, second])
    np.testing.assert_array_equal(run(calls[1]), second)


def test_seed_of_an_op_gives_each_call_the_same_numbers():
    @tf.function_op
    def draw():
        return tf.random_uniform([5], seed=3)

    one, two = run([draw(), draw()])
    np.testing.assert_array_equal(one, two)


def test_variables_of_a_body_are_of_the_graph_around():
    @tf.function_op
    def layer(x):
        with tf.variable_scope("layer", reuse=tf.AUTO_REUSE):
            w = tf.get_variable("w", [2], initializer=tf.constant_initializer(3.0))
            again = tf.get_variable("w", [2])
        return x * w * again

    x = tf.constant([1.0, 2.0])
    with tf.variable_scope("first"):
        y = layer(x)
    with tf.variable_scope("second"):
        z = layer(x)
    (w,) = tf.global_variables()
    assert w.name == "first/layer/w:0"
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        dy = tf.gradients(y, [x, w])
        assert sess.run([y, z, *dy]) == pytest.approx(np.array([[9, 18], [9, 18], [9, 9], [6, 12]]))


def test_message_of_the_function_for_certain_dtypes():
    @tf.Defun(noinline=True)
    def f(x):
        return x * 2

    assert f.instantiate([tf.float32]).definition.attr["_noinline"].b


def test_what_is_captured_by_value_is_a_part_of_the_body():
    w, b = tf.constant([[1.0]]) * 3.0, tf.constant([2.0])

    @tf.Defun(tf.float32, capture_by_value=True)
    def outer(x):
        @tf.Defun(tf.float32, capture_by_value=True)
        def inner(y):
            return y + b

        assert inner.captured_inputs == []
        return inner(tf.matmul(w, x))

    y = outer(tf.constant([[10.0]]))
    with tf.Graph().as_default():  # the function was built for the graph that calls it
        assert outer.captured_inputs == [] and len(y.op.inputs) == 1
    assert run(y).tolist() == [[32.0]]
    p = tf.placeholder(tf.float32)
    with pytest.raises(GraphError, match="Cannot capture 'Placeholder'"):
        tf.Defun(tf.float32, capture_by_value=True)(lambda x: x + p)(1.0)
