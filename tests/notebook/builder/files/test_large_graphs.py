"""A large graph before it is imported as a whole: its nodes are used at once, and the whole graph changes nothing."""

from builder_gestures import Editor, add

import tfnb as tf
from tfnb.notebook.builder.files.imports import opened
from tfnb.notebook.builder.files.large_graphs import LargeGraph

MANY = 2_100


def pick(operation, output=0):
    return {"edit": "pick", "operation": operation, "output": output}


def graph_def():
    with tf.Graph().as_default() as graph:
        for _ in range(MANY):
            tf.constant(1.0)
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        w = tf.Variable(tf.ones([3, 2]), name="w")
        first = tf.no_op(name="first")
        read = tf.identity(w, name="read")
        with tf.control_dependencies([first]), tf.colocate_with(w):
            y = tf.matmul(x, read, name="y")
        tf.split(y, 2, axis=1, name="parts")
        tf.gradients(y, x, name="gradients")
    return graph.as_graph_def()


def editor(graph=None):
    given = opened(graph if graph is not None else graph_def())
    return Editor(given.source, known=given.known, is_trusted=True, original=given.graph)


def test_a_part_has_all_that_its_nodes_need_in_the_order_of_the_graph():
    graph = graph_def()
    names = [node.name for node in LargeGraph(graph).part(["y"]).node]
    needed = {"x", "w", "w/read", "first", "read", "y"}
    assert names == [node.name for node in graph.node if node.name in needed]
    assert not LargeGraph(graph).part(["elsewhere"]).node


def test_a_node_is_used_before_the_graph_is_imported():
    e = editor()
    assert e.document._built.outcomes[-1].is_partial
    e.do(pick("parts", 1))
    e.do(add("tf.nn.relu", [("features", "parts")]))
    assert e.shape("parts") == [None, 1] and e.shape("relu") == [None, 1]
    assert e.document._built.is_deferred
    assert len(e.document._built.graph.get_operations()) < 20
    before = {name: e.nodes[name]["outputs"] for name in ("parts", "relu")}
    e.take(e.document.complete())
    assert not e.document._built.is_deferred and not e.drawing["totals"]["problems"]
    assert {name: e.nodes[name]["outputs"] for name in before} == before
    assert len(e.document.graph_def().node) == len(graph_def().node) + 1
    assert e.document.graph_def().node[-1].name == "Relu"


def test_a_drawing_of_the_part_is_one_of_the_whole_file():
    e = editor()
    node = e.drawing["order"][-1]
    e.do(pick("y", 0))
    (answer,) = e.document.apply({"type": "inside", "request": 1, "node": node})
    assert answer["count"] == len(graph_def().node)
    assert e.document._built.is_deferred and e.nodes[node]["kind"] == "layer"


def test_a_node_that_the_file_lacks_is_refused():
    e = editor()
    drawing = e.attempt(pick("elsewhere"))
    assert drawing["is_refused"] and "elsewhere" in drawing["message"]
    assert "elsewhere" not in e.source


def test_undo_and_another_node_stay_with_the_part():
    e = editor()
    e.do(pick("y", 0))
    e.undo()
    e.do(pick("first", 0))
    assert "y" not in e.nodes and "first" in e.nodes and e.document._built.is_deferred


def test_a_statement_that_reads_what_it_does_not_name_gets_the_whole_graph():
    e = editor()
    e.take(e.document.set_source(e.source + "a = tf.get_default_graph().get_tensor_by_name('Const' + '_9:0')\n"))
    assert not e.document._built.is_deferred and not e.drawing["totals"]["problems"]
    assert e.shape("a") == []


def test_elements_that_the_import_returns_are_a_part_too():
    e = editor()
    call = "tf.import_graph_def(graph_def,"
    e.take(e.document.set_source(e.source.replace(call, f"y, = {call} None, ['y:0'],")))
    assert e.document._built.is_deferred and e.shape("y") == [None, 2]
