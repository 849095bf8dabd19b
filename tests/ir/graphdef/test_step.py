"""Graphs of steps as messages: they come out as they went in."""

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import GraphError, InvalidArgumentError, UnimplementedError
from tfnb.ir.graphdef.step import decode_step_graph, encode_step_graph
from tfnb.ops import CATALOG
from tfnb.passes.prune import Request
from tfnb.session.compile import compile_step
from tfnb.session.fetch import plan_fetches


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def placed(fetches):
    """The graph of a step behind the pass "place"."""
    with tf.Session() as sess:
        plan, seen = plan_fetches(sess.graph, fetches), {}
        compile_step(Request(plan.tensors, plan.operations, ()), sess.compile_context, seen.__setitem__)
        return seen["place"]


def sent(graph):
    message = encode_step_graph(graph)
    return decode_step_graph(type(message).FromString(message.SerializeToString()), CATALOG.__getitem__)


def plain(types):
    return {k: tuple(v) if isinstance(v, (list, tuple)) else v for k, v in types.items()}


def check(graph):
    found = sent(graph)
    assert found.order == graph.order
    for i in graph.order:
        a, b = graph.nodes[i], found.nodes[i]
        for field in ("id", "name", "opdef", "inputs", "control", "specs", "device", "origin"):
            assert getattr(a, field) == getattr(b, field)
        assert repr(a.attrs) == repr(b.attrs)
        assert plain(a.types) == plain(b.types)


def test_a_training_step_with_a_loop_and_strings():
    x = tf.constant(np.random.rand(4, 3).astype(np.float32))
    w = tf.Variable(tf.random_normal([3, 2], seed=1))
    _, v = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.tanh(tf.matmul(x, w)) + v), [0, tf.zeros([4, 2])])
    loss = tf.reduce_mean(v[1:, ::-1] ** 2)
    check(placed([loss, tf.train.AdamOptimizer().minimize(loss), tf.string_join(["a", "b"])]))
    check(placed(tf.global_variables_initializer()))


def test_numbers_of_outputs_that_are_attributes_too():
    first, second = tf.split(tf.random_uniform([4], seed=1), 2)
    rows = tf.unstack(tf.random_uniform([3, 2], seed=1))
    parts = tf.dynamic_partition(first, tf.constant([0, 1]), 2)
    check(placed([second, *rows, *parts]))


def test_an_attribute_that_tensorflow_lacks_goes_along():
    for skip in (True, False):
        skipped = tf.TFRecordReader(skip_corrupt=skip, name=f"skip_{skip}").num_records_skipped()
        check(placed(skipped))
    message = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default() as other:
        tf.import_graph_def(message, name="")
    kept = [other.get_operation_by_name(f"skip_{skip}").attrs.skip_corrupt for skip in (True, False)]
    assert kept == [True, False]
    assert ["_skip_corrupt" in n.attr for n in message.node if n.name.startswith("skip_")] == [True, False]


def test_a_node_of_this_process_only():
    y = tf.py_func(lambda: np.float32(1), [], tf.float32, name="mine")
    with pytest.raises(UnimplementedError, match=r"object of this process(.|\n)*mine"):
        encode_step_graph(placed(y))


@pytest.mark.parametrize(
    ("damage", "error", "text"),
    [
        (lambda n: n[1].input.append("77:0"), InvalidArgumentError, "77:0, which is not in the graph"),
        (lambda n: n[1].input.append("1:5"), InvalidArgumentError, "1:5, which is not in the graph"),
        (lambda n: n[1].input.append("^77"), InvalidArgumentError, "waits for nodes"),
        (lambda n: n[1].input.append("^1"), GraphError, "cycle"),
        (lambda n: setattr(n[1], "name", "0"), InvalidArgumentError, "have the id 0"),
        (lambda n: setattr(n[1], "name", "x"), InvalidArgumentError, "malformed"),
        (lambda n: setattr(n[1], "op", "Nope"), InvalidArgumentError, "malformed"),
        (lambda n: n[1].attr["_refs"].list.b.append(True), InvalidArgumentError, "malformed"),
    ],
)
def test_damaged_messages(damage, error, text):
    message = encode_step_graph(placed(tf.constant([1.0, 2.0]) + tf.random_uniform([2])))
    for i, node in enumerate(message.node):
        node.name = str(i)
        del node.input[:]
    damage(message.node)

    def find(name):
        if name not in CATALOG:
            raise InvalidArgumentError(f"there is no operation {name}")
        return CATALOG[name]

    with pytest.raises(error, match=text):
        decode_step_graph(message, find)
