"""What a drawing shows and what it leaves out; its text is safe XML."""

import xml.etree.ElementTree as ET

import numpy as np

import tfnb as tf
from tfnb.ir.builder import GraphBuilder
from tfnb.notebook.graph_svg import graph_html, graph_svg
from tfnb.notebook.graph_view import summarise


def constant(graph, value, name):
    return graph.constant(np.asarray(value, np.float32), name)


def texts(svg):
    return [e.text for e in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_a_small_graph_shows_all():
    graph = GraphBuilder()
    constant(graph, 3, "three")
    constant(graph, [[1, 2]], "pair")
    svg = graph_svg(graph)
    assert "three" in texts(svg)
    assert "Const 1×2" in texts(svg)
    assert "dataflow graph: 2 operations" in graph_html(graph)


def test_an_empty_graph():
    assert graph_html(GraphBuilder()) == "<p>an empty dataflow graph</p>"


def test_names_are_text():
    graph = GraphBuilder()
    constant(graph, 1, "a>b")
    svg = graph_svg(graph)
    assert "a>b" in texts(svg)
    assert "a>b<" not in svg


def test_scopes_close_when_room_is_short():
    graph = GraphBuilder()
    for scope, n in (("small", 2), ("large", 50)):
        with graph.name_scope(scope):
            for i in range(n):
                constant(graph, i, f"item{i}")
    assert {box.name: box.opened for box in summarise(graph.get_operations(), 100).inside} == {
        "small": True,
        "large": True,
    }
    # With less room, constants leave first; here nothing else is there.
    assert summarise(graph.get_operations(), 10).inside == []
    assert "52 constants not shown" in graph_html(graph, 10)


def network():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        with tf.name_scope("hidden"):
            weights = tf.Variable(tf.random_uniform([4, 3]), name="weights")
            hidden = tf.nn.relu(tf.matmul(x, weights), name="relu")
        with tf.name_scope("only"):
            loss = tf.nn.l2_loss(hidden, name="loss")
        train = tf.train.AdagradOptimizer(0.1).minimize(loss)
        tf.global_variables_initializer()
    return graph, train


def test_a_variable_takes_its_initial_value_in_and_training_stands_aside():
    graph, train = network()
    root = summarise(graph.get_operations())
    assert {box.label for box in root.inside} == {"x", "hidden", "only/loss"}
    aside = {box.label for box in root.aside}
    assert {"gradients", "init"} < aside
    (hidden,) = (box for box in root.inside if box.label == "hidden")
    assert hidden.opened
    assert {box.label for box in hidden.inside} == {"weights", "MatMul", "relu"}
    (weights,) = (box for box in hidden.inside if box.kind == "variable")
    assert any(op.type == "RandomUniform" for op in weights.ops)
    assert train in {op for box in root.aside for op in box.ops}


def test_wires_go_through_the_borders_of_scopes():
    graph, _ = network()
    root = summarise(graph.get_operations())
    number = {box.label: i for i, box in enumerate(root.inside)}
    assert set(root.wires) == {
        (number["x"], number["hidden"]),
        (number["hidden"], number["only/loss"]),
    }
    hidden = root.inside[number["hidden"]]
    inner = {box.label: i for i, box in enumerate(hidden.inside)}
    assert (-1, inner["MatMul"]) in hidden.wires
    assert (inner["relu"], -1) in hidden.wires
    tensor = root.wires[number["x"], number["hidden"]].tensors[0]
    assert tensor.name == "x:0"


def test_every_operation_is_counted_once():
    graph, _ = network()
    operations = graph.get_operations()
    root = summarise(operations)
    counted = [op for box in (*root.inside, *root.aside) for op in box.ops]
    assert len(counted) == len(set(counted))
    missing = set(operations) - set(counted)
    assert all(op.type == "Const" for op in missing)
