"""Parts of GraphDefs and frozen graphs."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import DTypeError, NotFoundError

pytestmark = pytest.mark.opencl


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def test_what_some_nodes_need(graph):
    a = tf.constant(1.0, name="a")
    with tf.control_dependencies([tf.no_op(name="first")]):
        tf.add(a, a, name="b")
    tf.negative(a, name="other")
    part = tf.graph_util.extract_sub_graph(graph.as_graph_def(), ["b"])
    assert [n.name for n in part.node] == ["a", "first", "b"]
    with pytest.raises(NotFoundError, match="'nothing'"):
        tf.graph_util.extract_sub_graph(graph.as_graph_def(), ["nothing"])
    with pytest.raises(DTypeError, match="list of node names"):
        tf.graph_util.extract_sub_graph(graph.as_graph_def(), "b")


def test_identities_go(graph):
    a = tf.constant(1.0, name="a")
    b = tf.identity(tf.check_numerics(tf.identity(a), "bad"), name="b")
    c = tf.identity(b, name="kept")
    tf.negative(c, name="d")
    lean = tf.graph_util.remove_training_nodes(graph.as_graph_def(), protected_nodes=["kept"])
    assert [(n.name, list(n.input)) for n in lean.node] == [("a", []), ("kept", ["a"]), ("d", ["kept"])]


def test_checks_go_with_their_control_edges(graph):
    a = tf.constant(1.0, name="a")
    with tf.control_dependencies([tf.check_numerics(a, "not finite", name="check")]):
        i = tf.identity(a, name="i")
    with tf.control_dependencies([tf.identity(a, name="waited_for")]):
        tf.add(i, tf.identity(a, name="waits"), name="d")
    lean = tf.graph_util.remove_training_nodes(graph.as_graph_def())
    assert [(n.name, list(n.input)) for n in lean.node] == [
        ("a", []),
        ("waited_for", ["a"]),
        ("waits", ["a", "^waited_for"]),
        ("d", ["a", "waits", "^waited_for"]),
    ]


def test_a_frozen_graph_needs_no_variables(graph):
    x = tf.placeholder(tf.float32, [2], name="x")
    w, b = tf.Variable([1.0, 2.0], name="w"), tf.Variable(0.5, name="b")
    tf.add(w * x, b, name="y")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(w.assign([3.0, 4.0]))
        frozen = tf.graph_util.convert_variables_to_constants(sess, graph.as_graph_def(), ["y"])
        partly = tf.graph_util.convert_variables_to_constants(
            sess, graph.as_graph_def(), ["y"], variable_names_blacklist=["b"]
        )
    assert {n.op for n in frozen.node} == {"Placeholder", "Const", "Identity", "Mul", "Add"}
    assert [n.name for n in partly.node if n.op == "VariableV2"] == ["b"]
    with tf.Graph().as_default(), tf.Session() as sess:
        (y,) = tf.import_graph_def(frozen, return_elements=["y:0"], name="")
        np.testing.assert_array_equal(sess.run(y, {"x:0": [1, 1]}), [3.5, 4.5])
        assert tf.graph_util.tensor_shape_from_node_def_name(y.graph, "y") == [2]
