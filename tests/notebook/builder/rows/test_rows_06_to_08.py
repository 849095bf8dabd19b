"""Rows 6 to 8: the code keeps every byte that no edit is about, "run to here" is `sess.run`, undo brings all back."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest
from builder_gestures import Editor, add, setting
from random_sources import random_graph

import tfnb as tf
from tfnb.notebook.builder.files.imports import opened
from tfnb.notebook.builder.runs.running import Runs

SCRIPTS = 100
HEAD = """# A program of a person, with its own ways.
import   tfnb as tf


x = tf.placeholder( tf.float32,[None,4] )   # the input, é
w1 = tf.Variable(tf.zeros([4, 3]),   name = 'w1') ; b1 = tf.zeros([3])
h  = tf.nn.relu(
        tf.matmul(x, w1)   # inside
        + b1)
with tf.name_scope("head"):
    y = tf.nn.softmax(h)

    # a comment of its own
    z = y*2.0
for k in range(2):
    z = z + float(k)
def f(v, *, scale = 2.0): return v*scale
last = f(z)
"""


def script(seed):
    """A program with random spacing, comments and line breaks."""
    r = random.Random(seed)
    lines = []
    for line in HEAD.splitlines():
        if line.strip() and not line.startswith(("    ", "with", "for", "def")) and r.random() < 0.4:
            line += (
                r.choice(["  # note", "   ", " #x = 1"])
                if "(" not in line or line.count("(") == line.count(")")
                else ""
            )
        lines.append(line)
        if line.strip() and not line.startswith(("   ", "with", "for", "h")) and r.random() < 0.2:
            lines.append(r.choice(["", "# between", "unused = (1,\n     2)"]))
    return r.choice(["\n", "\r\n"]).join(lines) + r.choice(["", "\n"])


def replaced(old, new):
    """A function from the source to the sources that an edit may give: one place changed, and nothing else."""
    return lambda source: [source.replace(old, text, 1) for text in (new if isinstance(new, list) else [new])]


def with_lines(*lines):
    """The same for edits that add lines; `source` is the new text then, and the old one is to be left."""
    return lambda source: [re.sub(rf"(?:(?<=\n)|(?<=\A))(?:{'|'.join(lines)})(?:\r\n|\n|$)", "", source)]


EDITS = [
    (setting("x", "shape", "[None, 4]"), replaced("[None,4]", "[None, 4]"), None),
    (setting("y", "name", "'shares'"), replaced("softmax(h)", "softmax(h, name='shares')"), None),
    (
        setting("b1", "dtype", "tf.float32"),
        replaced("zeros([3])", ["zeros([3], dtype=tf.float32)", "zeros([3], tf.float32)"]),
        None,
    ),
    (
        {"edit": "rename", "node": "h", "name": "hidden"},
        lambda source: [source.replace("h  = tf", "hidden  = tf").replace("softmax(h)", "softmax(hidden)")],
        None,
    ),
    (add("tf.tanh", [("x", "y")]), None, with_lines(r"tanh = tf\.tanh\(y\)")),
    (
        {"edit": "frame", "id": "", "title": "t", "colour": "#abc", "nodes": ["x"]},
        None,
        with_lines(r"# frame t \[#abc\]: x"),
    ),
    ({"edit": "note", "id": "", "text": "why", "before": "y"}, None, with_lines("    # why")),
    ({"edit": "replace", "node": "y", "call": "tf.nn.log_softmax"}, replaced("softmax(h)", "log_softmax(h)"), None),
    ({"edit": "insert", "call": "tf.tanh", "node": "y", "port": "logits", "position": None}, None, None),
]


@pytest.mark.parametrize("seed", range(SCRIPTS))
def test_row_6_an_edit_touches_only_its_own_span(seed):
    source = script(seed)
    e = Editor(source, is_trusted=True)
    assert e.source == source and not e.drawing["totals"]["problems"]
    edit, forth, back = EDITS[seed % len(EDITS)]
    if edit["edit"] == "insert":  # inside of the block, so the whole new line and one name are its span
        refused = e.attempt(edit)
        assert not refused["is_refused"], refused["message"]
        new = e.source.replace("softmax(tanh)", "softmax(h)")
        assert re.sub(r"(?<=\n) *tanh = tf\.tanh\(h\)\r?\n", "", new) == source
    else:
        e.do(edit)
        assert e.source != source
        assert e.source in forth(source) if forth else source in back(e.source)
    e.undo()
    assert e.source == source


@pytest.mark.parametrize("seed", range(0, 200, 5))
def test_row_6_code_to_graph_to_code_is_a_fixpoint(seed):
    """The code of a graph, opened and built, gives that graph, of which the code is the same text."""
    first = opened(random_graph(seed).as_graph_def())
    again = opened(Editor(first.source).document.built.graph.as_graph_def())
    assert again.source == first.source
    e = Editor(first.source)
    e.document.rebuild()
    assert e.source == first.source


def test_row_6_positions_stay_when_the_code_is_edited_elsewhere():
    e = Editor(HEAD, is_trusted=True)
    e.do({"edit": "move", "positions": {"x": [3, 4], "y": [5, 6]}})
    e.take(e.document.set_source(HEAD.replace("2.0", "3.0") + "new = last + 1.0\n"))
    assert e.drawing["positions"] == {"x": [3.0, 4.0], "y": [5.0, 6.0]} and "new" in e.nodes
    e.take(e.document.set_source(e.source + "half = tf.nn.relu("))
    assert e.drawing["waits_for_line"] and e.drawing["positions"] == {"x": [3.0, 4.0], "y": [5.0, 6.0]}
    assert "new" in e.nodes


@pytest.mark.opencl
def test_row_7_run_to_here_is_what_the_session_gives():
    view = tf.builder(
        "import tfnb as tf\nx = tf.placeholder(tf.float32, [None, 2])\nw = tf.Variable([[2.0], [3.0]])\n"
        "y = tf.matmul(x, w)\nbad = tf.log(x - 10.0)\nparts = tf.split(x, 2, 1)\n"
    )
    runs = Runs(dict, list)
    runs.remember({"x": "np.arange(6.0).reshape(3, 2)"})
    x = np.arange(6.0).reshape(3, 2)
    with tf.Session(graph=view.graph) as session:
        session.run(tf.variables_initializer(view.graph.get_collection("variables")))
        for node in ("y", "bad", "parts"):
            result = runs.run(node, runs.request(view._document, node))
            wanted = session.run(view[node], {view["x"]: x})
            wanted = wanted if isinstance(wanted, list) else [wanted]
            assert not result["error"] and result["milliseconds"] > 0
            for shown, value in zip(result["values"], wanted, strict=True):
                finite = value[np.isfinite(value)]
                assert shown["shape"] == list(value.shape) and shown["nan_count"] == int(np.isnan(value).sum())
                assert shown["least"] == (float(finite.min()) if finite.size else None)
    assert runs.feeds == {"x": "np.arange(6.0).reshape(3, 2)"}  # remembered
    runs.close()
    view.close()


def test_row_8_arguments_come_back_too():
    """The arguments of every kind of edit, one step each; every former text comes back in the opposite order."""
    e = Editor(HEAD, is_trusted=True)
    texts = [e.source]
    for k in range(20):
        e.do(setting("x", "shape", f"[None, {4 + k % 2}]"), setting("y", "name", repr(f"name{k}")))
        texts.append(e.source)
    for text in reversed(texts[:-1]):
        e.undo()
        assert e.source == text
    for text in texts[1:]:
        e.redo()
        assert e.source == text
