"""The palette finds every op by its name, functions by what they mean, and what fits a wire."""

from __future__ import annotations

import time

import pytest
from builder_gestures import Editor, add, palette, wire

from tfnb.notebook.builder.catalogue import entries, entry_of, search
from tfnb.notebook.builder.signatures import opdef_of
from tfnb.ops import CATALOG


def test_every_op_is_among_the_first_three_by_its_name():
    missed = {}
    for name in CATALOG:
        first = search(name)[:3]
        if not any(opdef_of(e.function) is CATALOG[name] for e in first):
            missed[name] = [e.call for e in first]
    assert set(missed) <= {"LoopProductsSum"}, missed  # added by gradients of loops alone


@pytest.mark.parametrize(
    ("query", "call"),
    [
        ("MatMul", "tf.matmul"),
        ("tf.matmul", "tf.matmul"),
        ("multiply matrices", "tf.matmul"),
        ("fully connected", "tf.layers.dense"),
        ("batch norm", "tf.layers.batch_normalization"),
        ("conv2d", "tf.layers.conv2d"),
        ("join tensors", "tf.concat"),
        ("adam", "tf.train.AdamOptimizer"),
        ("convert type", "tf.cast"),
        ("cross entropy", "tf.losses.softmax_cross_entropy"),
        ("sce", "tf.losses.softmax_cross_entropy"),
        ("convolution", "tf.layers.conv2d"),
        ("convolution", "tf.nn.conv2d"),
        ("sgd", "tf.train.GradientDescentOptimizer"),
    ],
)
def test_functions_are_found_by_name_alias_and_meaning(query, call):
    assert call in [e.call for e in search(query)[:5]]


def test_a_word_finds_the_reduction_before_the_metric_of_that_name():
    assert [search(word)[0].call for word in ("mean", "sum")] == ["tf.reduce_mean", "tf.reduce_sum"]


def test_the_first_answer_of_a_process_is_whole():
    """Making the catalogue took the time that an answer may take, so that only one function was found."""
    e = Editor("import tfnb as tf\n")
    entries.cache_clear()
    first = palette(e, "cross entropy")
    assert len(first) >= 8 and first == palette(e, "cross entropy")


def test_an_old_name_finds_the_usual_one_first():
    assert [search(name)[0].call for name in ("mul", "sub")] == ["tf.multiply", "tf.subtract"]
    assert "tf.mul" not in {e.call for e in search("mul")}


def test_an_answer_takes_less_than_50_ms():
    e = Editor("import tfnb as tf\n")
    entries()
    times = []
    for query in ("MatMul", "multiply matrices", "a", "softmax cross entropy with logits", "zzz", ""):
        start = time.thread_time()
        palette(e, query)
        times.append(time.thread_time() - start)
    assert sorted(times)[len(times) // 2] < 0.05, times


IMAGES = "tf.placeholder(tf.float32, [None, 8, 8, 3])"


def test_the_palette_of_a_wire_names_the_input():
    e = Editor(f"import tfnb as tf\nx = {IMAGES}\n")
    ports = {p["call"]: p["port"] for p in palette(e, wire=wire("x"), count=60)}
    assert ports["tf.layers.conv2d"] == "inputs" and ports["tf.concat"] == "values[0]" and "tf.one_hot" not in ports


def test_the_palette_of_an_input_has_what_it_accepts():
    e = Editor("import tfnb as tf\ni = tf.placeholder(tf.int32, [3])\ny = tf.one_hot(i, 10)\n")
    calls = [p["call"] for p in palette(e, port=("y", "indices"), count=60)]
    assert {"tf.argmax", "tf.placeholder"} <= set(calls) and "tf.nn.softmax" not in calls


def test_a_dragged_wire_knows_where_it_may_go_and_why_not_elsewhere():
    source = "import tfnb as tf\nx = tf.placeholder(tf.float32, [None, 3])\nw = tf.zeros([3, 2])\n"
    e = Editor(source + "y = tf.matmul(x, w)\nz = tf.one_hot(tf.argmax(y, 1), 2)\ni = tf.zeros([4], tf.int32)\n")
    (m,) = e.document.apply({"type": "targets", "request": 7, "wire": wire("i")})
    reasons = {(n, p): why for n, p, why in m["refused"]}
    assert ("z", "indices") in m["accepted"] and "int32" in reasons["y", "a"]
    (m,) = e.document.apply({"type": "targets", "request": 7, "wire": wire("y")})
    reasons = {(n, p): why for n, p, why in m["refused"]}
    assert reasons["y", "a"] == "a node cannot be its own input" and ("z", "indices") not in m["accepted"]


def test_copied_nodes_are_python():
    e = Editor("import tfnb as tf\nx = tf.zeros([3])\ny = tf.nn.relu(x)\n")
    (m,) = e.document.apply({"type": "copy", "request": 1, "nodes": ["y", "x"]})
    assert m["text"] == "x = tf.zeros([3])\ny = tf.nn.relu(x)\n"
    assert entry_of("tf.nn.relu").doc.startswith("max(features, 0)")


@pytest.mark.parametrize(
    ("node", "port", "needed"),
    [
        ("loss", "labels", {"dtype": "tf.int64", "shape": "[None]"}),
        ("product", "b", {"dtype": "tf.float32", "shape": "[None, None]"}),
        ("both", "y", {"dtype": "tf.bool", "shape": "[None]"}),
    ],
)
def test_a_placeholder_is_offered_with_the_dtype_and_rank_that_the_input_takes(node, port, needed):
    editor = Editor(
        "import tfnb as tf\n"
        "x = tf.placeholder(tf.float32, [None, 10])\n"
        "loss = tf.losses.sparse_softmax_cross_entropy(logits=x)\n"
        "product = tf.matmul(x)\n"
        "both = tf.logical_and(tf.constant([True]))\n"
    )

    first = palette(editor, port=(node, port), count=5)[0]
    assert (first["call"], first["parameters"]) == ("tf.placeholder", needed)
    editor.do(add("tf.placeholder", to=[(node, port)], **first["parameters"]))
    assert editor.nodes[node]["problem"] is None
