"""What the picture of a graph shows and what it leaves out; its text is safe XML."""

import gc
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.builder import GraphBuilder
from tfnb.notebook.graph import graph_model, widget
from tfnb.notebook.graph.picture import graph_picture, opened_boxes
from tfnb.notebook.graph.widget import show_graph


def constant(graph, value, name):
    return graph.constant(np.asarray(value, np.float32), name)


def svg_of(graph, **options):
    html = graph_picture(graph_model(graph), options)
    return ET.fromstring(html[html.index("<svg") : html.index("</svg>") + 6])


def texts(root):
    return [e.text for e in root.iter("{http://www.w3.org/2000/svg}text")]


def network():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        with tf.name_scope("hidden"):
            weights = tf.Variable(tf.random_uniform([4, 3]), name="weights")
            hidden = tf.nn.relu(tf.matmul(x, weights), name="relu")
        with tf.name_scope("only"):
            loss = tf.nn.l2_loss(hidden, name="loss")
        tf.train.AdagradOptimizer(0.1).minimize(loss)
        tf.global_variables_initializer()
    return graph


def test_a_small_graph_shows_all():
    graph = GraphBuilder()
    constant(graph, 3, "three")
    constant(graph, [[1, 2]], "pair")
    found = texts(svg_of(graph))
    assert {"three", "pair", "1×2"} <= set(found)
    assert "dataflow graph: 2 operations" in graph_picture(graph_model(graph))


def test_an_empty_graph():
    assert show_graph(GraphBuilder())._repr_html_() == "<p>an empty dataflow graph</p>"


def test_scopes_are_open_where_there_is_room():
    graph = network()
    model = graph_model(graph)
    assert opened_boxes(model) == {0, model.box("hidden")}
    found = texts(svg_of(graph))
    assert {"x", "hidden", "weights", "MatMul", "relu", "only/loss"} <= set(found)
    assert not {"gradients", "init", "Adagrad"} & set(found)
    closed = texts(svg_of(graph, open=[]))
    assert "hidden" in closed and "MatMul" not in closed
    assert "auxiliary nodes: gradients" in graph_picture(model)


def test_edges_are_told_and_go_through_borders():
    root = svg_of(network())
    told = [e.text for e in root.iter("{http://www.w3.org/2000/svg}title")]
    assert "float32 ?×4" in told and any("source: " in t and "test_picture.py" in t for t in told if t)
    paths = [e for e in root.iter("{http://www.w3.org/2000/svg}path") if e.get("fill") == "none"]
    # x to hidden, hidden to loss; border to MatMul, weights to MatMul to relu, relu to border.
    assert len(paths) == 6


def test_names_are_text():
    message = tf.GraphDef()
    hostile = "<script>alert(1)</script>", "</svg><img src=x onerror=alert(1)>", '" onload="alert(1)'
    for name in hostile:
        message.node.add(name=name, op=name).attr["x"].s = name.encode()
    html = graph_picture(graph_model(message))
    assert not any(mark in html for mark in ("<script", "<img", 'onload="'))
    ET.fromstring(html[html.index("<svg") : html.index("</svg>") + 6])


def test_a_view_for_programs():
    view = show_graph(network(), open=["hidden"], height=400)
    assert "operations" in repr(view) and "gradients" in repr(view)
    assert "<script" not in view._repr_html_()  # there is no kernel here
    with tf.Graph().as_default():
        tf.constant(1.0, name="here")
        assert "here" in show_graph()._repr_html_()
    with pytest.raises(InvalidArgumentError, match="colour"):
        show_graph(network(), colour="red")
    with pytest.raises(InvalidArgumentError, match="height"):
        show_graph(network(), height=3)
    with pytest.raises(InvalidArgumentError, match="no scope"):
        show_graph(network(), open=["nowhere"])
    with pytest.raises(DTypeError):
        show_graph("graph")


def test_channels_of_graphs_that_were_shown_do_not_pile_up(monkeypatch):
    """The widget library refers to every channel until it is closed."""
    monkeypatch.setattr(widget, "in_kernel", lambda: True)

    def alive() -> int:
        gc.collect()
        return sum(isinstance(o, widget.GraphChannel) for o in gc.get_objects())

    before = alive()
    for _ in range(widget.MOST_LIVE + 20):
        show_graph(network())._repr_html_()
    assert alive() - before <= widget.MOST_LIVE
    view = show_graph(network())
    view._repr_html_()
    many = alive()
    view.close()
    assert alive() == many - 1
