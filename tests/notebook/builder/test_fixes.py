"""Seeded mistakes: the problem is at the right node, and each fix that is offered makes it valid."""

from __future__ import annotations

import pytest
from builder_gestures import Editor

HEAD = """import tfnb as tf
x = tf.placeholder(tf.float32, [None, 784])
i = tf.placeholder(tf.int32, [None])
l = tf.placeholder(tf.int64, [None])
d = tf.placeholder(tf.float64, [None, 784])
f = tf.placeholder(tf.bool, [None])
im = tf.placeholder(tf.float32, [None, 28, 28, 1])
cf = tf.placeholder(tf.float32, [None, 1, 28, 28])
gray = tf.placeholder(tf.float32, [None, 28, 28])
w = tf.Variable(tf.zeros([784, 10]))
wt = tf.Variable(tf.zeros([10, 784]))
b = tf.Variable(tf.zeros([10]))
v = tf.placeholder(tf.float32, [10])
logits = tf.matmul(x, w)
onehot = tf.one_hot(l, 10)
"""
CAST = [
    "x + d",
    "tf.matmul(d, w)",
    "tf.matmul(x, d, transpose_b=True)",
    "d * x",
    "tf.cast(i, tf.float32) + f",
    "i + l",
    "tf.equal(tf.argmax(logits, 1), i)",
    "tf.nn.relu(f)",
    "tf.nn.softmax(i)",
    "tf.reduce_sum(f)",
    "tf.reduce_mean(f)",
    "tf.one_hot(x, 10)",
    "tf.nn.embedding_lookup(w, d)",
    "tf.concat([x, d], 0)",
    "tf.exp(i)",
    "tf.gather(w, logits)",
    "tf.logical_and(f, i)",
    "tf.where(i, x, x)",
    "tf.sqrt(l)",
    "tf.add_n([x, d])",
]
TRANSPOSE = ["tf.matmul(x, wt)", "tf.matmul(wt, w, transpose_b=True)", "tf.nn.xw_plus_b(x, wt, b)"]
RESHAPE = [
    "tf.matmul(im, w)",
    "tf.matmul(gray, w)",
    "tf.nn.conv2d(x, tf.zeros([5, 5, 1, 8]), [1, 1, 1, 1], 'SAME')",
    "tf.layers.conv2d(x, 8, 3)",
    "tf.matmul(gray, tf.zeros([784, 3]))",
]
EXPAND = ["tf.matmul(v, w, transpose_b=True)", "tf.layers.max_pooling2d(gray, 2, 2)", "tf.layers.conv2d(gray, 8, 3)"]
CHANNELS = ["tf.nn.conv2d(cf, tf.zeros([5, 5, 1, 8]), [1, 1, 1, 1], 'SAME')"]
MISTAKES = [(kind, m) for kind, ms in (("Cast", CAST), ("Transpose", TRANSPOSE), ("Reshape", RESHAPE)) for m in ms]
MISTAKES += [("Give", m) for m in EXPAND] + [("Transpose", m) for m in CHANNELS]


def offered(e, node):
    return e.nodes[node]["problem"]["fixes"]


def test_there_are_thirty():
    assert len(MISTAKES) >= 30


@pytest.mark.parametrize(("kind", "mistake"), MISTAKES)
def test_a_mistake_is_at_its_node_and_its_fix_mends_it(kind, mistake):
    e = Editor(f"{HEAD}y = {mistake}\nz = tf.identity(y)\nother = tf.nn.relu(x)\n")
    assert [n for n, node in e.nodes.items() if node["problem"]] == ["y"] and e.shape("other") == [None, 784]
    fixes = offered(e, "y")
    assert any(f["label"].startswith(kind) for f in fixes), fixes
    before = e.source
    for fix in fixes:
        e.do({"edit": "fix", "node": "y", "id": fix["id"]})
        assert not e.drawing["totals"]["problems"] and e.nodes["z"]["outputs"][0]["dtype"], fix
        e.undo()
        assert e.source == before


def test_an_outdated_fix_is_refused():
    e = Editor(HEAD + "y = tf.matmul(x, wt)\n")
    refused = e.attempt({"edit": "fix", "node": "y", "id": "cast a float64"})
    assert refused["is_refused"] and "does not fit" in refused["message"]
