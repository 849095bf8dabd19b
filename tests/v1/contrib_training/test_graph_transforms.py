"""`TransformGraph`: values stay, names go, what is not there is refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tfnb.train.contrib.graph_transforms import TransformGraph

import tfnb as tf


@pytest.fixture
def graph() -> Any:
    with tf.Graph().as_default() as made:
        x = tf.placeholder(tf.float32, [2], name="x")
        a = tf.constant([1.0, 2.0], name="a")
        b = tf.identity(tf.exp(a, name="e") * 2.0, name="i")
        with tf.control_dependencies([x]), tf.device("/cpu:0"):
            tf.identity(x + b, name="y")
        tf.add(tf.exp(a, name="e1"), tf.exp(a, name="e2"), name="d")
        return made.as_graph_def()


def value(graph: Any, name: str) -> Any:
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.import_graph_def(graph, name="")
        return sess.run(name, {"x:0": [3.0, 4.0]})


@pytest.mark.parametrize(
    ("transform", "gone", "there"),
    [
        ("fold_constants(ignore_errors=true)", "a e d", "i"),
        ("strip_unused_nodes(type=float)", "d e1", "a e"),
        ("remove_nodes(op=Identity, op=Snapshot)", "i", "a e d"),
        ("merge_duplicate_nodes remove_control_dependencies", "e2", "d e"),
        ("remove_device sort_by_execution_order", "", "a e d"),
    ],
)
def test_values_stay(graph, transform, gone, there):
    before = graph.SerializeToString(deterministic=True)
    changed = TransformGraph(graph, ["x"], ["y"], [transform])
    names = {node.name for node in changed.node}
    assert not names & set(gone.split()) and names >= set(there.split())
    np.testing.assert_array_equal(value(changed, "y:0"), value(graph, "y:0"))
    assert graph.SerializeToString(deterministic=True) == before


def test_an_inner_node_becomes_an_input(graph):
    changed = TransformGraph(graph, ["i"], ["y"], ["strip_unused_nodes", "remove_device"])
    assert {(n.name, n.op) for n in changed.node} == {
        ("x", "Placeholder"),
        ("i", "Placeholder"),
        ("add", "Add"),
        ("y", "Identity"),
    }
    assert not any(n.device for n in changed.node)


def test_other_transforms_and_names_are_refused(graph):
    with pytest.raises(tf.errors.UnimplementedError, match="'quantize_weights' is not there, only fold_constants"):
        TransformGraph(graph, ["x"], ["y"], ["quantize_weights"])
    with pytest.raises(tf.errors.InvalidArgumentError, match="no node 'z'"):
        TransformGraph(graph, ["x"], ["z"], ["fold_constants"])
    for text in ("remove_nodes", "remove_nodes(Identity)", "3"):
        with pytest.raises(tf.errors.InvalidArgumentError, match="TransformGraph"):
            TransformGraph(graph, ["x"], ["y"], [text])


def test_folding_keeps_what_state_determines():
    with tf.Graph().as_default() as made:
        tf.random_uniform([2], seed=1, name="r")
        tf.identity(tf.constant(1.0) + tf.constant(2.0), name="y")
        message = made.as_graph_def()
    changed = TransformGraph(message, [], ["y", "r"], ["fold_constants"])
    ops = {node.name: node.op for node in changed.node}
    assert ops["y"] == "Const" and "RandomUniform" in ops.values()
