"""Bad input: each gets a clear message at its place, no state is lost, and undo works."""

from __future__ import annotations

import threading
import time

import pytest
from builder_gestures import Editor, add, connect, delete, renamed

import tfnb as tf
from tfnb.notebook.builder.document import Document

NET = """import tfnb as tf

x = tf.placeholder(tf.float32, [None, 2])
w = tf.Variable(tf.zeros([2, 1]))
y = tf.matmul(x, w)
loss = tf.reduce_mean(tf.square(y - 1.0))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
"""


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        ("z = tf.nn.relu(", 8),
        ("def f(:\n    pass", 8),
        ("z = 'abc", 8),
        ("if True:\n", 8),
        ("z = (1,\n2\n", 8),
        ("  z = 1", 8),
    ],
)
def test_half_typed_code_keeps_the_last_drawing_and_names_its_line(typed, line):
    e = Editor(NET)
    nodes = dict(e.nodes)
    e.take(e.document.set_source(NET + typed))
    assert abs(e.drawing["waits_for_line"] - line) <= 2 and e.nodes == nodes and e.source == NET + typed
    refused = e.attempt(renamed("y", "z"))
    assert refused["is_refused"] and "not complete" in refused["message"] and e.source == NET + typed
    # The browser may send a source twice; the second changes nothing, so it does not replace what was said.
    e.take(e.document.set_source(NET + typed))
    assert e.drawing["message"] == ""
    e.undo()
    assert e.source == NET and e.drawing["waits_for_line"] == 0


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("z = tf.matmul(w, w)", "matmul"),
        ("z = tf.nothing(y)", "nothing"),
        ("z = nobody + 1", "nobody"),
        ("z = tf.reshape(y, [3.5])", ""),
        ("z = [1, 2][7]", "index"),
        ("z = 1 / 0", "zero"),
        ("z = y.no_such_attribute", "no_such_attribute"),
        ("raise ValueError('my words')", "my words"),
        ("z = (lambda: (_ for _ in ()).throw(KeyError('k')))()", "k"),
    ],
)
def test_code_that_raises_has_its_message_at_its_node_and_the_rest_lives(line, word):
    e = Editor(NET + line + "\nafter = tf.identity(y)\n", is_trusted=True)
    broken = [n for n, node in e.nodes.items() if node["problem"] is not None]
    assert len(broken) == 1 and word.lower() in e.problem(broken[0]).lower(), e.problem(broken[0])
    assert e.shape("after") == [None, 1] and e.nodes[broken[0]]["source"] == line
    e.do(delete(broken[0]))
    assert not e.drawing["totals"]["problems"]
    e.undo()
    assert e.source == NET + line + "\nafter = tf.identity(y)\n"


def test_code_that_never_ends_or_nests_too_deeply_is_not_run():
    for line in (
        "while True: pass",
        "z = " + "(" * 500 + "1" + ")" * 500,
        "z = " + "-" * 5000 + "1",
        "z = 10 ** 10 ** 10",
    ):
        e = Editor(NET + line + "\n")  # it would never come back
        assert list(e.nodes)[:2] == ["x", "w"] or e.drawing["waits_for_line"]


def test_a_circle_is_refused_at_each_of_its_wires():
    e = Editor(NET + "a = tf.nn.relu(y)\nb = tf.nn.relu(a)\nc = tf.nn.relu(b)\n")
    for source, node in (("c", "a"), ("b", "a"), ("c", "c"), ("c", "b")):
        refused = e.attempt(connect(source, node, "features"))
        assert refused["is_refused"] and ("circle" in refused["message"] or "own input" in refused["message"])
    assert not e.drawing["can_undo"]


def test_two_statements_with_one_name_are_two_nodes():
    source = NET + "h = tf.nn.relu(y)\nh = tf.nn.relu(h)\nend = tf.identity(h)\n"
    e = Editor(source)
    assert {"h", "h:2"} <= set(e.nodes) and e.port("h:2", "features")["wire"] == {"node": "h", "output": 0}
    assert e.port("end", "input")["wire"] == {"node": "h:2", "output": 0}
    e.do(renamed("h", "first"))
    assert "first = tf.nn.relu(y)\nh = tf.nn.relu(first)\nend = tf.identity(h)\n" in e.source
    assert e.attempt(renamed("first", "h"))["message"].startswith("h is used already")
    e.undo()
    refused = e.attempt(connect("h", "end", "input"))  # `h` means the second one where `end` stands
    assert refused["is_refused"] and "rename one of the two" in refused["message"] and e.source == source


def test_a_name_of_another_graph_or_session_says_so():
    """A tensor of the notebook belongs to another graph: it is not used, and the message names it."""
    with tf.Graph().as_default():
        other = tf.ones([3])
    document = Document("import tfnb as tf\ny = tf.nn.relu(other)\n", known={"other": other}, is_trusted=True)
    (_, drawing) = document.apply({"type": "open"})
    assert "other" in drawing["changed"][0]["problem"]["text"]


def test_two_browsers_on_one_document_see_the_same_and_the_late_one_is_told():
    document = Document(NET)
    browsers = [Editor.__new__(Editor) for _ in range(2)]
    for b in browsers:
        b.document, b.nodes, b.drawing = document, {}, None

    def send(message):
        for b, replies in ((b, messages) for messages in [document.apply(message)] for b in browsers):
            b.take(replies)

    send({"type": "open"})
    send({"type": "open"})  # the second browser begins; the first takes everything again
    send({"type": "gesture", "gesture": 1, "edits": [add("tf.nn.relu", [("features", "y")])]})
    send({"type": "gesture", "gesture": 1, "edits": [delete("loss")]})
    assert browsers[0].nodes == browsers[1].nodes and "loss" not in browsers[0].nodes
    send({"type": "gesture", "gesture": 2, "edits": [renamed("loss", "late")]})  # it has not seen the deletion yet
    assert browsers[0].drawing["is_refused"] and "no node loss any more" in browsers[0].drawing["message"]
    send({"type": "undo", "gesture": 3})
    send({"type": "undo", "gesture": 4})
    assert document.source == NET and browsers[0].nodes == browsers[1].nodes and "loss" in browsers[1].nodes


@pytest.mark.opencl
def test_a_node_that_is_deleted_while_a_training_uses_it_lets_it_end():
    view = tf.builder(NET)
    messages = []
    view._send = messages.append
    thread = threading.Thread(target=view._work, daemon=True)
    thread.start()
    feeds = {"x": "[[1.0, 2.0]]"}
    view.answer({"type": "train", "node": "train", "loss": "loss", "steps": 400, "feeds": feeds})
    view.answer({"type": "gesture", "gesture": 1, "edits": [delete("loss", "train")]})
    view.answer({"type": "run", "node": "loss", "feeds": {}})
    end = time.monotonic() + 30
    waited = {("training", "done"), ("result", None)}  # the value is asked for after the training, which may end first
    while time.monotonic() < end and not waited <= {(m["type"], m.get("state")) for m in messages}:
        time.sleep(0.01)
    assert any(m["type"] == "training" and m["state"] == "done" for m in messages), messages
    result = next(m for m in messages if m["type"] == "result")
    assert "no node 'loss'" in result["error"]
    view.answer({"type": "undo", "gesture": 2})
    assert view.source == NET and float(view.run("loss", {"x": [[1.0, 2.0]]})) < 0.1  # the trained values are there
    view.close()
    thread.join(10)


@pytest.mark.parametrize(
    "message",
    [
        {
            "type": "gesture",
            "gesture": 1,
            "edits": [{"edit": "add", "call": "os.system", "wires": [], "to": [], "position": None, "parameters": {}}],
        },
        {"type": "gesture", "gesture": 1, "edits": [{"edit": "pick", "operation": "../../etc", "output": 0}]},
        {"type": "gesture", "gesture": 1, "edits": [{"edit": "pick", "operation": "MatMul", "output": 9}]},
        {"type": "gesture", "gesture": 1, "edits": [{"edit": "inside", "node": "y", "edits": []}]},
        {"type": "gesture", "gesture": 1, "edits": [{"edit": "own", "node": "y"}]},
        {
            "type": "gesture",
            "gesture": 1,
            "edits": [{"edit": "route", "node": "y", "port": "a", "points": [["x", 1]], "is_link": False}],
        },
        {"type": "gesture", "gesture": 1, "edits": [{"edit": "paste", "text": "node { name: 'a'", "position": None}]},
        {"type": "inside", "request": 1, "node": "nobody"},
        {"type": "copy graph", "request": 1, "nodes": ["nobody"]},
        {"type": "lesson", "request": 1, "lesson": "x"},
    ],
)
def test_what_makes_no_sense_is_refused_in_words(message):
    view = tf.builder(NET)
    for reply in view.answer(message):
        assert reply["is_refused"] and reply["message"] and view.source == NET
    view.close()
