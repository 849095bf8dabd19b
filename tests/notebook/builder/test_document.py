"""Gestures on the builder's document: what they write, what they refuse, and that undo brings everything back."""

from __future__ import annotations

import re

import pytest
from builder_gestures import Editor, add, connect, delete, disconnect, moved, renamed, setting

NET = """import tfnb as tf

x = tf.placeholder(tf.float32, [None, 784])  # the digits
w = tf.Variable(tf.zeros([784, 10]), name='w')
logits = tf.matmul(x, w)
"""


def test_a_net_is_built_from_nothing():
    e = Editor()
    e.do(add("tf.placeholder", shape="[None, 784]", position=None))
    e.do(add("tf.layers.dense", [("inputs", "placeholder")], units="100"))
    e.do(setting("dense", "activation", "tf.nn.relu"))
    e.do(add("tf.layers.dense", [("inputs", "dense")], position=[300, 20]))
    assert e.source == (
        "import tfnb as tf\n\n"
        "placeholder = tf.placeholder(tf.float32, shape=[None, 784])\n"
        "dense = tf.layers.dense(placeholder, 100, activation=tf.nn.relu)\n"
        "dense_1 = tf.layers.dense(dense, 10)\n"
    )
    assert (e.shape("dense"), e.shape("dense_1")) == ([None, 100], [None, 10])
    assert e.drawing["totals"]["parameters"] == 784 * 100 + 100 + 1010
    assert e.drawing["positions"] == {"dense_1": [300.0, 20.0]}


def test_a_missing_input_is_a_problem_and_the_rest_lives():
    e = Editor(NET)
    e.do(disconnect("logits", "a"))
    assert e.source.endswith("logits = tf.matmul(b=w)\n")
    assert e.problem("logits") == "a is needed, and nothing is given." and e.shape("w") == [784, 10]
    e.do(connect("x", "logits"))
    assert e.shape("logits") == [None, 10]


def test_an_error_of_the_shape_function_is_at_its_node():
    e = Editor(NET)
    e.do(setting("w", "initial_value", "tf.zeros([700, 10])"))
    assert "700" in e.problem("logits") and e.nodes["logits"]["outputs"][0]["dtype"] == ""
    assert e.drawing["totals"]["problems"] == 1


def test_deleting_disconnects_or_heals():
    e = Editor(NET + "h = tf.nn.relu(logits)\ny = tf.nn.softmax(h)\n")
    e.do(delete("h", heal=True))
    assert e.source == NET + "y = tf.nn.softmax(logits)\n"
    e.do(delete("logits"))
    assert e.source == NET.replace("logits = tf.matmul(x, w)\n", "y = tf.nn.softmax()\n")


def test_renaming_reaches_every_use():
    e = Editor(NET + "def f():\n    return x  # x\nh = [tf.nn.relu(x) for w in range(3)]\n")
    e.do(renamed("x", "digits"))
    assert e.source == (NET.replace("x = tf.p", "digits = tf.p").replace("(x, w)", "(digits, w)")) + (
        "def f():\n    return digits  # x\nh = [tf.nn.relu(digits) for w in range(3)]\n"
    )
    assert e.attempt(renamed("w", "digits"))["message"].startswith("digits is used already")


def test_a_connection_to_a_later_statement_moves_the_reader():
    e = Editor("import tfnb as tf\na = tf.zeros([2])\nb = tf.nn.relu(a)  # reader\nc = tf.ones([2])\n")
    e.do(connect("c", "b", "features"))
    assert e.source == "import tfnb as tf\na = tf.zeros([2])\nc = tf.ones([2])\nb = tf.nn.relu(c)  # reader\n"
    assert "circle" in e.attempt(connect("b", "c", "shape"))["message"]
    before = e.source
    assert e.attempt(connect("b", "b", "features"))["is_refused"] and e.source == before


def test_a_gesture_is_all_or_nothing():
    e = Editor(NET)
    assert e.attempt(add("tf.zeros", shape="[2]"), setting("nothing", "x", "1"))["is_refused"]
    assert e.source == NET and not e.drawing["can_undo"]


def test_undo_brings_back_source_places_and_arguments():
    e = Editor(NET, positions={"x": [1.0, 2.0]})
    e.do(moved(x=[5, 6], w=[7, 8]))
    e.do(setting("x", "shape", "[None, 10]"))
    e.do(renamed("x", "digits"))
    assert e.drawing["positions"] == {"digits": [5.0, 6.0], "w": [7.0, 8.0]}
    last = e.source
    for _ in range(3):
        e.undo()
    assert e.source == NET and e.drawing["positions"] == {"x": [1.0, 2.0]} and not e.drawing["can_undo"]
    for _ in range(3):
        e.redo()
    assert e.source == last and e.drawing["positions"] == {"digits": [5.0, 6.0], "w": [7.0, 8.0]}


def test_half_typed_code_keeps_the_last_drawing_and_names_the_line():
    e = Editor(NET)
    e.take(e.document.set_source(NET + "y = tf.nn.relu(logits\n"))
    assert e.drawing["waits_for_line"] == 6 and list(e.nodes) == ["x", "w", "logits"]
    assert e.attempt(delete("x"))["is_refused"]
    e.take(e.document.set_source(NET + "y = tf.nn.relu(logits)\n"))
    assert e.drawing["waits_for_line"] == 0 and e.shape("y") == [None, 10]


@pytest.mark.parametrize(
    "line",
    [
        "tf.gfile.Remove(PATH)",
        "open(PATH, 'w')",
        "f = tf.summary.FileWriter(PATH)",
        "y = tf.map_fn(tf.gfile.Remove, [PATH])",
        "y = (lambda f: f(PATH))(tf.gfile.Remove)",
        "__import__('os').remove(PATH)",
        "y = tf.__loader__",
        "y = tf.zeros([1]).graph.__class__.__base__.__subclasses__()",
        "import os; os.remove(PATH)",
        "for i in range(3): open(PATH, 'w')",
        "y = tf.py_func(open, [PATH], tf.float32)",
        "with tf.device(open(PATH, 'w')): y = tf.zeros([1])",
    ],
)
@pytest.mark.parametrize("is_trusted", [False, True])
def test_what_does_more_than_build_is_not_run(tmp_path, line, is_trusted):
    path = tmp_path / "file"
    path.write_text("kept")
    e = Editor(f"import tfnb as tf\nz = tf.ones([3])\nPATH = {str(path)!r}\n{line}\n", is_trusted=is_trusted)
    assert path.read_text() == "kept" and e.shape("z") == [3]


def test_loops_and_functions_are_drawn_once_the_user_has_run_them():
    source = (
        "import tfnb as tf\ndef f(x):\n    return tf.nn.relu(x)\nh = tf.zeros([3])\nfor _ in range(3):\n    h = f(h)\n"
    )
    e = Editor(source)
    assert e.nodes["h:2"]["kind"] == "code" and e.nodes["h:2"]["outputs"][0]["dtype"] == ""
    e.document.is_trusted = True
    e.take([e.document.drawing()])
    relus = [op.name for op in e.document.built.graph.get_operations() if op.type == "Relu"]
    assert relus == ["Relu", "Relu_1", "Relu_2"] and e.shape("h:2") == [3]


def test_what_a_skipped_loop_would_fill_is_not_known():
    source = "import tfnb as tf\nparts = []\nfor n in range(3):\n    parts.append(tf.zeros([n + 1]))\ny = tf.concat(parts, 0)\n"
    e = Editor(source)
    assert not e.problem("y") and e.shape("y") is None
    e.document.is_trusted = True
    e.take([e.document.drawing()])
    assert e.shape("y") == [6]


def test_a_name_that_a_loop_goes_on_with_is_renamed_in_it_too():
    source = "import tfnb as tf\nh = tf.zeros([2])\nfor k in range(2):\n    h = h + float(k)\nh += 1.0\nend = h * 2.0\nh = end\n"
    for node in ("h", "h:2"):  # the loop is the node k
        e = Editor(source, positions={"h:2": [1.0, 2.0], "h:3": [3.0, 4.0]}, is_trusted=True)
        e.do(renamed(node, "sum__"))
        assert e.source == re.sub(r"\bh\b", "sum__", source).replace("sum__ = end", "h = end")
        assert e.drawing["positions"] == {"sum__:2": [1.0, 2.0], "h": [3.0, 4.0]}


def test_a_function_that_does_not_exist_is_a_problem():
    e = Editor("import tfnb as tf\ny = tf.nothing_of_the_kind(1)\n")
    assert "nothing_of_the_kind" in e.problem("y")


def test_a_line_that_is_put_in_between_sends_no_other_node_again():
    e = Editor(NET)
    lines = {name: node["line"] for name, node in e.nodes.items()}
    first = next(iter(e.nodes))
    drawing = e.do({"edit": "note", "id": "", "text": "a line more", "before": first})
    assert drawing["changed"] == []
    assert {name: node["line"] for name, node in e.nodes.items()} == {n: line + 1 for n, line in lines.items()}
    e.undo()
    assert {name: node["line"] for name, node in e.nodes.items()} == lines


def test_operations_name_the_lines_where_their_statements_stand_after_an_edit():
    source = (
        "import tfnb as tf\n\nx = tf.ones([2])\ny = tf.tanh(x)\n\n\n"
        "def twice(t):\n    return (lambda u: tf.add(u, u))(t)\n\n\nz = twice(x)\n"
    )
    e = Editor(source, is_trusted=True)

    def lines():
        e.document.hand_out()
        return {op.type: op.origin.lineno for op in e.document.built.graph.get_operations()}

    assert (lines()["Tanh"], lines()["Add"]) == (4, 8)
    e.do({"edit": "note", "id": "", "text": "two\nlines", "before": "x"})
    assert (lines()["Tanh"], lines()["Add"]) == (6, 10)
    e.do(delete("y"))
    assert "Tanh" not in lines() and lines()["Add"] == 9
    e.undo()
    e.undo()
    assert e.source == source and (lines()["Tanh"], lines()["Add"]) == (4, 8)
