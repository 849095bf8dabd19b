"""What a drawing shows and what it leaves out; its text is safe XML."""

import xml.etree.ElementTree as ET

import numpy as np

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
