"""Edits that write several statements: on wires, copies, groups, frames and notes, devices, training."""

from __future__ import annotations

import pytest
from builder_gestures import Editor, add, delete, renamed

import tfnb as tf

NET = """import tfnb as tf

x = tf.placeholder(tf.float32, [None, 4])
h = tf.layers.dense(x, 3, name='hidden')  # first
g = tf.nn.relu(h)
y = tf.layers.dense(g, 2)
"""


def graph_def(source):
    with tf.Graph().as_default() as graph:
        exec(source, {})
    return graph.as_graph_def()


def edit(kind, **values):
    return {"edit": kind, **values}


def insert(call, node, port, position=None):
    return edit("insert", call=call, node=node, port=port, position=position)


def test_a_call_is_inserted_on_a_wire():
    e = Editor(NET)
    e.do(insert("tf.nn.dropout", "y", "inputs"))
    assert "g = tf.nn.relu(h)\ndropout = tf.nn.dropout(g, 0.5)\ny = tf.layers.dense(dropout, 2)\n" in e.source
    assert e.shape("y") == [None, 2] and not e.drawing["totals"]["problems"]
    refused = e.attempt(insert("tf.one_hot", "y", "inputs"))
    assert refused["is_refused"] and "does not take a float32" in refused["message"]


def test_a_call_is_replaced_and_keeps_what_fits():
    e = Editor(NET)
    e.do(edit("replace", node="g", call="tf.tanh"))
    e.do(edit("replace", node="y", call="tf.layers.conv1d"))
    assert "g = tf.tanh(h)\n" in e.source and "y = tf.layers.conv1d(g, 32, 3)\n" in e.source
    e.do(edit("replace", node="h", call="tf.concat"))
    assert "h = tf.concat([x], -1, name='hidden')  # first\n" in e.source and e.shape("h") == [None, 4]


def test_duplicates_have_names_of_their_own_and_keep_wires_between_them():
    e = Editor(NET)
    e.do(edit("duplicate", nodes=["g", "h"]))
    assert "h_1 = tf.layers.dense(x, 3, name='hidden_1')\ng_1 = tf.nn.relu(h_1)\n" in e.source
    assert e.drawing["selected"] == ["h_1", "g_1"] and not e.drawing["totals"]["problems"]


def test_pasted_python_gets_free_names_and_the_names_of_the_document():
    e = Editor(NET)
    e.do(edit("paste", text="import tfnb as tf\nh = tf.nn.softmax(y)\nz = h + 1.0  # one\n", position=[10, 20]))
    assert e.source == NET + "h_1 = tf.nn.softmax(y)\nz = h_1 + 1.0  # one\n"
    assert e.drawing["positions"] == {"h_1": [10.0, 20.0], "z": [10.0, 130.0]}
    assert e.attempt(edit("paste", text="h = (", position=None))["is_refused"]
    copy = Editor()
    copy.do(edit("paste", text=NET, position=None))
    assert graph_def(copy.source) == graph_def(NET)


def test_a_loss_is_minimized_as_by_hand():
    e = Editor(NET + "loss = tf.reduce_mean(y)\n")
    e.do(edit("minimize", node="loss", optimizer="tf.train.AdamOptimizer", parameters={"learning_rate": "0.1"}))
    by_hand = NET + "loss = tf.reduce_mean(y)\ntrain = tf.train.AdamOptimizer(learning_rate=0.1).minimize(loss)\n"
    assert e.source == by_hand and not e.problem("train")
    assert e.document.built.graph.as_graph_def() == graph_def(by_hand)


def test_devices_are_with_blocks():
    e = Editor(NET)
    e.do(edit("device", nodes=["g"], device="/cpu:1"))
    assert "with tf.device('/cpu:1'):\n    g = tf.nn.relu(h)\n" in e.source
    assert e.document.built.graph.get_operation_by_name("Relu").device == "/device:CPU:1"
    e.do(edit("device", nodes=["g"], device="/cpu:2"))
    assert e.document.built.graph.get_operation_by_name("Relu").device == "/device:CPU:2"
    e.do(edit("device", nodes=["g"], device=""))
    assert e.source == NET
    assert e.attempt(edit("device", nodes=["g"], device="/nonsense:x"))["is_refused"] and e.source == NET


def test_frames_and_notes_are_comments():
    e = Editor(NET)
    e.do(edit("frame", id="", title="Encoder", colour="#88aaff", nodes=["h", "g"]))
    e.do(edit("note", id="", text="What it is for:\nteaching", before="y"))
    assert "# frame Encoder [#88aaff]: h, g\nh = " in e.source and "# What it is for:\n# teaching\ny = " in e.source
    (frame,), (note,) = e.drawing["frames"], e.drawing["notes"]
    assert frame == {"id": "frame:1", "title": "Encoder", "colour": "#88aaff", "nodes": ["h", "g"]}
    assert note["text"] == "What it is for:\nteaching" and e.nodes["g"]["frame"] == "frame:1"
    e.do(renamed("g", "active"))
    assert "# frame Encoder [#88aaff]: h, active\n" in e.source
    e.do(edit("note", id="note:1", text="", before=""))
    e.do(delete("h", heal=True))
    assert e.drawing["frames"][0]["nodes"] == ["active"]
    e.do(edit("frame", id="frame:1", title="", colour="", nodes=[]))
    assert "#" not in e.source


def test_a_group_is_a_function_and_ungrouping_gives_the_former_source():
    e = Editor(NET)
    before = e.document.built.graph.as_graph_def()
    e.do(edit("group", nodes=["g", "h"], name="block"))
    assert (
        "def block(x):\n    h = tf.layers.dense(x, 3, name='hidden')  # first\n    g = tf.nn.relu(h)\n    return g\n"
        in e.source
    )
    assert graph_def(e.source) == before
    e.document.is_trusted = True
    e.take([e.document.drawing()])
    assert e.nodes["g"]["kind"] == "function" and e.shape("g") == [None, 3]
    assert [i["wire"] for i in e.nodes["g"]["inputs"]] == [{"node": "x", "output": 0}]
    e.do(edit("ungroup", node="g"))
    assert e.source == NET


@pytest.mark.parametrize(
    ("source", "nodes"),
    [
        ("a = tf.zeros([2])\nb = tf.ones([2])\nc = a + b\nd = c * a\n", ["a", "b"]),
        ("a = tf.zeros([2])\n# why\nb = '''x\n  y'''\nc = tf.fill([2],\n            b)\nd = tf.size(c)\n", ["b", "c"]),
        ("a = tf.zeros([2])\nb = a + 1.0\nc = b * b\n", ["b", "c"]),
        ("a = tf.zeros([2])\nb, c = tf.split(a, 2)\nd = b + c\ne = b * d\n", ["b", "d"]),
        ("a = tf.zeros([2])\nh = tf.exp(a)\nh = tf.log(h)\nh = tf.abs(h)\n", ["h", "h:2"]),
    ],
)
def test_group_and_ungroup_are_the_identity(source, nodes):
    source = "import tfnb as tf\n" + source
    e = Editor(source)
    e.do(edit("group", nodes=nodes, name=""))
    assert "def group(" in e.source and graph_def(e.source) == graph_def(source)
    call = next(n for n, node in e.nodes.items() if "= group(" in node["source"])
    e.do(edit("ungroup", node=call))
    assert e.source == source


def test_a_function_that_is_used_twice_stays_when_one_call_is_taken_apart():
    source = "import tfnb as tf\n\n\ndef f(v, k=2.0):\n    w = v * k\n    return w + 1.0\n\n\na = tf.zeros([2])\nb = f(a)\nc = f(b, k=3.0)\n"
    e = Editor(source, is_trusted=True)
    e.do(edit("ungroup", node="c"))
    assert "def f(" in e.source and graph_def(e.source) == graph_def(source)
    assert e.source.endswith("b = f(a)\nw = b * 3.0\nc = w + 1.0\n")


def test_a_group_with_a_reader_in_between_is_refused():
    e = Editor("import tfnb as tf\na = tf.zeros([2])\nb = tf.exp(a)\nc = a + b\n")
    refused = e.attempt(edit("group", nodes=["a", "c"], name=""))
    assert refused["is_refused"] and "line 3" in refused["message"]


def test_adding_with_wires_on_both_sides():
    e = Editor(NET)
    e.do(add("tf.tanh", [("x", "h")], [("y", "inputs")]))
    assert "y = tf.layers.dense(tanh, 2)" in e.source
