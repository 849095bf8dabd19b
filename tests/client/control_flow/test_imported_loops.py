"""Loops that come back from a GraphDef, a MetaGraphDef or a function's body have gradients of all orders."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

pytestmark = pytest.mark.opencl
POINT = np.array([0.7, -0.4, 1.1])


@pytest.fixture(autouse=True)
def few_kernels(monkeypatch):
    monkeypatch.setenv("TFNB_OPTIMIZE", "0")


def repeat(times, body, start, **options):
    return tf.while_loop(lambda i, *_: i < times, lambda i, a: [i + 1, body(i, a)], [0, start], **options)[1]


def inner(i, a, x):
    return tf.while_loop(lambda j, _: j <= i, lambda j, b: [j + 1, tf.sin(b) * a + x * b], [0, a])[1]


LOOPS = {
    "captured": lambda x: repeat(3, lambda i, a: tf.sin(a * x), x),
    "nested": lambda x: repeat(3, lambda i, a: inner(i, a, x), x),
    "branches": lambda x: repeat(
        3, lambda i, a: tf.cond(i < 1, lambda: inner(1, a, x), lambda: tf.cond(i < 2, lambda: a**2, lambda: a * x)), x
    ),
    "in a branch": lambda x: tf.cond(x[0] > 0, lambda: repeat(3, lambda i, a: tf.sin(a) * x, x), lambda: x**3),
    "array": lambda x: tf.scan(lambda a, b: tf.sin(a) * b + a * b, x, tf.constant(np.float64(0.5))),
    "products": lambda x: repeat(3, lambda i, a: tf.tanh(tf.matmul(a, tf.tile([x], [3, 1]))), tf.reshape(x, [1, 3])),
}


def slopes(x, y):
    first = tf.convert_to_tensor(tf.gradients(y, x)[0])
    return [y, first, tf.gradients(tf.reduce_sum(first**2), x)[0]]


def expected(build):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [3])
        return session.run(slopes(x, build(x)), {x: POINT})


def agree(found, feed, wanted):
    with tf.Session() as session:
        for a, b in zip(session.run(found, feed), wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def written(build, with_gradient=False):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float64, [3], name="x")
        y = tf.identity(build(x), name="y")
        if with_gradient:
            tf.identity(tf.gradients(y, x)[0], name="slope")
        return graph.as_graph_def(), tf.train.export_meta_graph(graph=graph)


@pytest.mark.parametrize("name", LOOPS)
def test_from_a_graph_def(name):
    x, y = tf.import_graph_def(written(LOOPS[name])[0], return_elements=["x:0", "y:0"])
    agree(slopes(x, y), {x: POINT}, expected(LOOPS[name]))


@pytest.mark.parametrize("name", LOOPS)
def test_with_its_backward_loop(name):
    """The second derivative needs to know what the backward loop in the file reads of the forward loop."""
    x, y, slope = tf.import_graph_def(written(LOOPS[name], True)[0], return_elements=["x:0", "y:0", "slope:0"], name="")
    second = tf.gradients(tf.reduce_sum(slope**2), x)[0]
    agree([y, slope, second], {x: POINT}, expected(LOOPS[name]))


@pytest.mark.parametrize("name", ["captured", "array"])
def test_from_a_function(name):
    function = tf.Defun(tf.float64)(lambda x: LOOPS[name](tf.reshape(x, [3])))
    x = tf.placeholder(tf.float64, [3])
    agree(slopes(x, function(x)), {x: POINT}, expected(LOOPS[name]))
    message = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default():
        (x,) = tf.import_graph_def(message, return_elements=[x.name])
        call = next(op for op in tf.get_default_graph().get_operations() if op.opdef.body is not None)
        agree(slopes(x, call.outputs[0]), {x: POINT}, expected(LOOPS[name]))


def test_from_a_meta_graph():
    def both(x):
        straight = repeat(2, lambda i, a: tf.sin(a * x), x, back_prop=False, swap_memory=True)
        return (
            tf.cond(x[0] > 0, lambda: repeat(3, lambda i, a: a * x, x, back_prop=False), lambda: x) + x * x + straight
        )

    tf.train.import_meta_graph(written(both)[1], import_scope="scope")
    graph = tf.get_default_graph()
    x, y = graph.get_tensor_by_name("scope/x:0"), graph.get_tensor_by_name("scope/y:0")
    loops = tf.get_collection(tf.GraphKeys.WHILE_CONTEXT)
    assert [(loop.back_prop, loop.swap_memory) for loop in loops] == [(False, False), (False, True)]
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(tf.gradients(y, x)[0], {x: POINT}), 2 * POINT)
    again = tf.train.export_meta_graph(export_scope="scope")
    assert len(again.collection_def["while_context"].bytes_list.value) == 2


def test_two_copies_do_not_share_a_frame():
    message = written(LOOPS["captured"])[0]
    copies = [tf.import_graph_def(message, return_elements=["x:0", "y:0"], name=name) for name in "ab"]
    ys = [y for _, y in copies]
    with tf.Session() as session:
        a, b = session.run(ys, {copies[0][0]: POINT, copies[1][0]: 2 * POINT})
        np.testing.assert_array_equal(a, session.run(ys[0], {copies[0][0]: POINT}))
        assert not np.array_equal(a, b)
    frames = {op.get_attr("frame_name") for op in tf.get_default_graph().get_operations() if op.type == "Enter"}
    assert len(frames) == 2


def test_what_is_not_read_may_be_missing():
    """A frozen graph has no Exit of a variable that nobody reads, as of a counter."""
    message = tf.graph_util.extract_sub_graph(written(LOOPS["captured"])[0], ["y"])
    x, y = tf.import_graph_def(message, return_elements=["x:0", "y:0"])
    agree(slopes(x, y), {x: POINT}, expected(LOOPS["captured"]))


def test_what_is_not_clear_is_said():
    message = written(LOOPS["captured"])[0]
    (cond,) = [node for node in message.node if node.op == "LoopCond"]
    twice = message.node.add()
    twice.CopyFrom(cond)
    twice.name += "_2"
    for node in message.node:
        if node.op == "Switch" and node.name.endswith("_1"):
            node.input[1] = twice.name
    x, y = tf.import_graph_def(message, return_elements=["x:0", "y:0"])
    with pytest.raises(errors.GraphError, match="2 LoopCond nodes"):
        tf.gradients(y, x)


def test_stacks_that_nobody_understands_are_refused():
    message = written(LOOPS["captured"], True)[0]
    for node in message.node:
        if node.op == "ControlTrigger":
            node.op = "NoOp"
    x, slope = tf.import_graph_def(message, return_elements=["x:0", "slope:0"])
    with pytest.raises(errors.GraphError, match="saved for its gradient"):
        tf.gradients(slope, x)
