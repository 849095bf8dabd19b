"""Rows 19 to 25 as far as they are about the document: any graph opens, variants, routes, comments, lessons."""

from __future__ import annotations

import base64
import json
import struct
import zlib

import numpy as np
import pytest
from builder_gestures import Editor, add, connect, renamed, setting

import tfnb as tf
from benchmarks.inception_graph import repeated_towers
from tfnb.notebook.builder.document import Document
from tfnb.notebook.builder.files.imports import opened
from tfnb.notebook.builder.lessons.course import LESSONS, lesson_of
from tfnb.notebook.builder.lessons.lesson import check
from tfnb.notebook.builder.runs.insight import compared
from tfnb.notebook.builder.runs.running import Runs
from tfnb.notebook.builder.variants import pairs_of
from tfnb.notebook.graph.file_formats import read_graph


def edit(kind, **values):
    return {"edit": kind, **values}


# ---- 19 ------------------------------------------------------------------------------------------


def loops():
    i = tf.constant(0)
    x = tf.placeholder(tf.float32, [2], name="x")
    _, y = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2.0), [i, x], name="turns")
    tf.identity(y, name="y")
    tf.constant(np.arange(5_000, dtype=np.float32), name="large")


def bytes_of(nodes):
    return {node.name: node.SerializeToString(deterministic=True) for node in nodes}


@pytest.mark.opencl
@pytest.mark.parametrize("kind", ["graph", "pb", "pbtxt", "meta", "saved model"])
def test_row_19_any_graph_opens_is_edited_and_keeps_its_nodes(tmp_path, kind):
    with tf.Graph().as_default() as graph:
        loops()
    given = graph
    if kind == "pb":
        tf.train.write_graph(graph, str(tmp_path), "g.pb", as_text=False)
        given = str(tmp_path / "g.pb")
    elif kind == "pbtxt":
        tf.train.write_graph(graph, str(tmp_path), "g.pbtxt", as_text=True)
        given = tmp_path / "g.pbtxt"
    elif kind == "meta":
        tf.train.export_meta_graph(str(tmp_path / "g.meta"), graph=graph)
        given = tmp_path / "g.meta"
    elif kind == "saved model":
        with tf.Session(graph=graph) as session:
            builder = tf.saved_model.builder.SavedModelBuilder(str(tmp_path / "model"))
            builder.add_meta_graph_and_variables(session, ["serve"])
            builder.save()
        given = tmp_path / "model"
    view = tf.builder(given)
    original = bytes_of(view.graph_def().node)
    assert original == bytes_of(read_graph(_file(given)).node if kind != "graph" else graph.as_graph_def().node)
    for picked in (edit("pick", operation="y", output=0), edit("pick", operation="x", output=0)):
        view.answer({"type": "gesture", "gesture": 1, "edits": [picked]})
    _, drawing = view.answer(
        {"type": "gesture", "gesture": 2, "edits": [add("tf.reduce_sum", [("input_tensor", "y")])]}
    )
    assert not drawing["is_refused"] and not drawing["totals"]["problems"], drawing["message"]
    assert view.run("reduce_sum", {"x": [1.0, 2.0]}) == 24.0
    after = bytes_of(view.graph_def().node)
    assert {n: after[n] for n in original} == original and set(after) - set(original) == {"Const_1", "Sum"} - set(
        original
    )
    if kind != "graph":  # the code alone gives the same graph
        with tf.Graph().as_default() as again:
            exec(view.source, {})
        assert again.as_graph_def().node == view.graph.as_graph_def().node
    view.close()


def _file(given):
    from pathlib import Path

    path = Path(given)
    return str(path / "saved_model.pb" if path.is_dir() else path)


def test_row_19_the_graph_of_inception_is_drawn_by_its_scopes_and_edited(tmp_path):
    """`benchmarks/builder_document.py` has the times."""
    graph = repeated_towers(39_551)
    (tmp_path / "inception.pb").write_bytes(graph.SerializeToString())
    given = opened(read_graph(str(tmp_path / "inception.pb")), str(tmp_path / "inception.pb"))
    e = Editor(given.source, known=given.known, is_trusted=True, original=given.graph)
    node = e.drawing["order"][-1]
    (answer,) = e.document.apply({"type": "inside", "request": 1, "node": node})
    assert answer["count"] == len(graph.node) >= 39_551 and len(e.nodes) == 2
    data = zlib.decompress(base64.b64decode(answer["columns"]))
    (length,) = struct.unpack_from("<I", data)
    assert "tower_0" in json.loads(data[4 : 4 + length])["labels"]

    e.take(e.document.complete())
    for k in range(5):
        e.do(edit("pick", operation=f"tower_{k}/conv0/Relu", output=0))
        e.do(add("tf.reduce_mean", [("input_tensor", e.drawing["selected"][0])]))
        e.undo()
    assert e.shape("relu")[0] == 32 and not e.drawing["totals"]["problems"]
    saved = bytes_of(e.document.graph_def().node)
    assert saved == bytes_of(graph.node)  # what was picked adds no node, and no other one has changed


def test_row_19_two_graphs_without_a_file_are_told_apart():
    graphs = []
    for value in (1.0, 2.0):
        with tf.Graph().as_default() as graph:
            for _ in range(301):
                tf.constant(value)
        graphs.append(opened(graph.as_graph_def()))
    assert graphs[0].source == graphs[1].source and graphs[0].key() != graphs[1].key()
    assert graphs[0].key() == opened(graphs[0].graph).key()


def test_row_19_a_graph_that_was_handed_out_is_left_alone():
    with tf.Graph().as_default() as graph:
        for _ in range(2_100):
            tf.constant(1.0)
    given = opened(graph.as_graph_def())
    document = Document(given.source, known=given.known, is_trusted=True, original=given.graph)
    first = document.built.graph
    document.set_source(given.source + "a = tf.zeros([2])\n")
    assert document.built.graph is first and first.version == 2_101  # nobody has it, so the build goes on from it
    mine = document.hand_out()
    document.set_source(given.source + "b = tf.ones([2])\n")
    assert document.built.graph is not mine and mine.version == 2_101 and "b" in document.built.names


# ---- 20 ------------------------------------------------------------------------------------------

NET = """import tfnb as tf

x = tf.placeholder(tf.float32, [None, 4])
h = tf.layers.dense(x, 3, name='hidden')
g = tf.tanh(h)
k = g * 2.0
y = tf.reduce_sum(k, 1)
"""
CHANGES = [
    (edit("replace", node="g_b", call="tf.nn.relu"), "g"),
    (edit("set", node="k_b", name="y", text="3.0"), "k"),
    (edit("set", node="y_b", name="axis", text="0"), "y"),
    (edit("set", node="h_b", name="activation", text="tf.sigmoid"), "h"),
]


@pytest.mark.opencl
@pytest.mark.parametrize(("change", "node"), CHANGES)
def test_row_20_a_seeded_change_is_shown_at_its_node(change, node):
    e = Editor(NET, is_trusted=True)
    e.do(edit("variant", nodes=["h", "g", "k", "y"]))
    assert pairs_of(e.document.program) == [("h", "h_b"), ("g", "g_b"), ("k", "k_b"), ("y", "y_b")]
    assert "name='hidden_1'" in e.source and "g_b = tf.tanh(h_b)" in e.source and not e.drawing["totals"]["problems"]
    runs = Runs(dict, list)
    request = {"type": "compare", "request": 5, "node": "y"}
    assert compared(runs, e.document, request)["needs"] == ["x"]
    runs.remember({"x": "np.linspace(-1.0, 2.0, 12).reshape(3, 4)"})
    same = compared(runs, e.document, request)
    assert same["differences"] == [] and same["equal"] == ["h", "g", "k", "y"]  # the variables of B have A's values
    e.do(change)
    different = compared(runs, e.document, request)
    assert different["differences"][0]["a"] == node and different["differences"][0]["b"] == f"{node}_b"
    assert set(different["equal"]) == set("hgky"[: "hgky".index(node)])
    runs.close()


def test_row_20_a_second_variant_and_a_part_in_a_block_are_refused():
    e = Editor(NET + "with tf.name_scope('s'):\n    q = tf.exp(y)\n")
    e.do(edit("variant", nodes=["g"]))
    assert "g_b is there already" in e.attempt(edit("variant", nodes=["g"]))["message"]
    assert "stands in a block" in e.attempt(edit("variant", nodes=["q"]))["message"]
    assert e.attempt(edit("variant", nodes=[]))["is_refused"]


# ---- 22 ------------------------------------------------------------------------------------------


def test_row_22_routes_change_neither_the_code_nor_the_graph():
    e = Editor(NET)
    source, graph = e.source, e.document.built.graph.as_graph_def()
    e.do(edit("route", node="g", port="x", points=[[10, 20], [30, 40.5]], is_link=False))
    e.do(edit("route", node="y", port="input_tensor", points=[], is_link=True))
    assert e.source == source and e.document.built.graph.as_graph_def() == graph
    assert e.drawing["positions"] == {"g>x": [10.0, 20.0, 30.0, 40.5], "y>input_tensor": []}
    e.do(renamed("g", "bent"))
    assert e.drawing["positions"]["bent>x"] == [10.0, 20.0, 30.0, 40.5] and "g>x" not in e.drawing["positions"]
    e.do(edit("route", node="bent", port="x", points=[], is_link=False))
    assert "bent>x" not in e.drawing["positions"]
    for _ in range(4):
        e.undo()
    assert e.drawing["positions"] == {} and e.source == source and not e.drawing["can_undo"]
    for points in ([[1]], [[1, float("nan")]], [[0, 1e9]]):
        assert e.attempt(edit("route", node="g", port="x", points=points, is_link=False))["is_refused"]
    assert "has no wire" in e.attempt(edit("route", node="x", port="shape", points=[], is_link=True))["message"]


# ---- 23 ------------------------------------------------------------------------------------------


def test_row_23_frames_and_notes_survive_the_round_trip():
    e = Editor(NET)
    e.do(edit("frame", id="", title="Encoder: é", colour="#88aaff", nodes=["h", "g"]))
    e.do(edit("note", id="", text="What it is for:\n  teaching", before="y"))
    frames, notes = e.drawing["frames"], e.drawing["notes"]
    assert frames[0]["nodes"] == ["h", "g"] and notes[0]["text"] == "What it is for:\n  teaching"
    again = Editor(e.source)
    assert (again.drawing["frames"], again.drawing["notes"]) == (frames, notes)
    again.do(add("tf.nn.relu", [("features", "y")]))
    again.do(setting("k", "y", "4.0"))
    again.do(renamed("g", "act"))
    assert again.drawing["frames"][0]["nodes"] == ["h", "act"] and again.drawing["notes"][0]["text"] == notes[0]["text"]


# ---- 25 ------------------------------------------------------------------------------------------

SOLUTIONS = {
    "sum": "y = tf.add(a, b)\n",
    "linear": "m = tf.matmul(x, w)\ny = m + b\n",
    "hidden": "h = tf.layers.dense(x, 4, activation=tf.nn.relu)\n",
    "probabilities": "p = tf.nn.softmax(scores)\nc = tf.argmax(p, 1)\n",
    "loss": "loss = tf.losses.sparse_softmax_cross_entropy(labels, scores)\n",
    "training": "loss = tf.reduce_mean(tf.square(y - t))\ntrain = tf.train.GradientDescentOptimizer(0.1).minimize(loss)\n",
}
# Of each lesson: a wrong solution, the kind of its hint, a word of the hint, and the node at which it is.
WRONG = [
    ("sum", "", "missing", "name it y", ""),
    ("sum", "y = tf.add(a)\n", "error", "still needs y", "y"),
    ("sum", "y = tf.cast(tf.add(a, b), tf.int32)\n", "dtype", "needed float32", "y"),
    ("sum", "y = tf.reduce_sum(tf.add(a, b))\n", "shape", "needed [3]", "y"),
    ("sum", "y = tf.multiply(a, b)\n", "value", "use add", "y"),
    ("linear", "z = tf.matmul(x, w)\n", "missing", "matmul of x and w", ""),
    ("linear", "y = tf.matmul(x, b)\n", "error", "does not work yet", "y"),
    ("linear", "y = tf.cast(tf.matmul(x, w) + b, tf.float64)\n", "dtype", "no cast", "y"),
    ("linear", "y = tf.transpose(tf.matmul(x, w) + b)\n", "shape", "x first", "y"),
    ("linear", "y = tf.matmul(x, w)\n", "value", "whether b is added", "y"),
    ("hidden", "", "missing", "layers.dense", ""),
    ("hidden", "h = tf.layers.dense(x)\n", "error", "still needs units", "h"),
    ("hidden", "h = tf.cast(tf.layers.dense(x, 4, activation=tf.nn.relu), tf.int32)\n", "dtype", "int32", "h"),
    ("hidden", "h = tf.layers.dense(x, 5, activation=tf.nn.relu)\n", "shape", "units to 4", "h"),
    ("hidden", "h = tf.layers.dense(x, 4)\n", "value", "tf.nn.relu", "h"),
    ("probabilities", "p = tf.nn.softmax(scores)\n", "missing", "argmax", ""),
    ("probabilities", "p = tf.nn.softmax()\n", "error", "logits", "p"),
    ("probabilities", "p = tf.nn.softmax(scores)\nc = tf.argmax(p, 1, output_type=tf.int32)\n", "dtype", "int64", "c"),
    ("probabilities", "p = tf.nn.softmax(tf.transpose(scores))\n", "shape", "needed", "p"),
    ("probabilities", "p = tf.sigmoid(scores)\n", "value", "sum to 1", "p"),
    ("loss", "", "missing", "sparse_softmax_cross_entropy", ""),
    ("loss", "loss = tf.losses.sparse_softmax_cross_entropy(labels)\n", "error", "logits", "loss"),
    (
        "loss",
        "loss = tf.cast(tf.losses.sparse_softmax_cross_entropy(labels, scores), tf.float64)\n",
        "dtype",
        "float64",
        "loss",
    ),
    (
        "loss",
        "loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores)\n",
        "shape",
        "reduce_mean",
        "loss",
    ),
    (
        "loss",
        "p = tf.nn.softmax(scores)\nloss = tf.losses.sparse_softmax_cross_entropy(labels, p)\n",
        "value",
        "without softmax",
        "loss",
    ),
    ("training", "loss = tf.reduce_mean(tf.square(y - t))\n", "missing", "optimizer", ""),
    ("training", "loss = tf.reduce_mean(tf.square(y))\n", "value", "(y - t)", "loss"),
    ("training", "loss = tf.square(y - t)\n", "shape", "reduce_mean", "loss"),
    ("training", "loss = tf.argmax(tf.square(y - t), 0)\n", "dtype", "float32", "loss"),
    ("training", "loss = tf.reduce_mean()\n", "error", "still needs", "loss"),
    (
        "training",
        "loss = tf.reduce_mean(tf.square(y - t))\ntrain = tf.train.GradientDescentOptimizer(0.0).minimize(loss)\n",
        "value",
        "not smaller",
        "train",
    ),
]


def test_row_25_there_are_six_lessons_and_wrong_solutions_of_five_kinds_for_each():
    assert [m.id for m in LESSONS] == list(SOLUTIONS) and len(LESSONS) == 6
    for lesson in LESSONS:
        assert {kind for name, _, kind, _, _ in WRONG if name == lesson.id} == {
            "missing",
            "error",
            "dtype",
            "shape",
            "value",
        }


@pytest.mark.opencl
@pytest.mark.parametrize("name", SOLUTIONS)
def test_row_25_a_solution_is_accepted(name):
    lesson = lesson_of(name)
    verdict = check(lesson, Document(lesson.start + SOLUTIONS[name], is_trusted=True))
    assert verdict.is_done, verdict


@pytest.mark.opencl
@pytest.mark.parametrize(("name", "text", "kind", "word", "node"), WRONG)
def test_row_25_a_wrong_solution_gets_the_right_hint(name, text, kind, word, node):
    lesson = lesson_of(name)
    verdict = check(lesson, Document(lesson.start + text, is_trusted=True))
    assert (verdict.kind, verdict.node) == (kind, node) and word in verdict.hint, verdict


@pytest.mark.opencl
def test_row_25_the_browser_gets_lessons_and_verdicts():
    view = tf.builder(lesson_of("sum").start)
    (answer,) = view.answer({"type": "lesson", "request": 1, "lesson": ""})
    assert len(answer["lessons"]) == 6 and answer["lessons"][0]["start"] == view.source
    (answer,) = view.answer({"type": "lesson", "request": 2, "lesson": "sum"})
    assert (answer["is_done"], answer["kind"]) == (False, "missing")
    view.answer(
        {"type": "gesture", "gesture": 1, "edits": [add("tf.add", [("x", "a"), ("y", "b")]), renamed("add", "y")]}
    )
    (answer,) = view.answer({"type": "lesson", "request": 3, "lesson": "sum"})
    assert answer["is_done"] and answer["request"] == 3
    (refused,) = view.answer({"type": "lesson", "request": 4, "lesson": "nothing"})
    assert refused["is_refused"] and "no lesson" in refused["message"]
    view.close()


def test_row_25_a_builder_begins_with_a_lesson():
    view = tf.builder(lesson="linear")
    assert view.source == lesson_of("linear").start and view.lesson == "linear"
    assert tf.builder().lesson == ""
    with pytest.raises(tf.errors.NotFoundError, match=r"no lesson 'cooking'; there are \['sum'"):
        tf.builder(lesson="cooking")
    with pytest.raises(tf.errors.InvalidArgumentError, match="a source of its own"):
        tf.builder("x = 1", lesson="sum")
    view.close()


def test_row_25_a_connection_of_the_wrong_node_is_named():
    lesson = lesson_of("sum")
    e = Editor(lesson.start + "y = tf.add(a, a)\n", is_trusted=True)
    assert check(lesson, e.document).kind == "value"
    e.do(connect("b", "y", "y"))
    assert check(lesson, e.document).is_done
