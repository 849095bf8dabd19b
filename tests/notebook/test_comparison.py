"""Comparing two runs: the first tensor that differs, in topological order, and by how much."""

import numpy as np
import pytest

import tfnb as tf


def net(broken):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        h = tf.tanh(x * 2.0, name="hidden")
        scale = 1.01 if broken else 1.0
        y = tf.multiply(h, scale, name="scaled")
        total = tf.reduce_sum(y, name="total")
        tf.while_loop(lambda i: i < 3.0, lambda i: i + 1.0, [total], name="loop")
        if broken:
            tf.identity(total, name="extra")
    return graph


@pytest.mark.opencl
def test_two_sessions():
    with tf.Session(graph=net(False)) as a, tf.Session(graph=net(True)) as b:
        feed = {"x:0": [[1.0, 2.0, 3.0]]}
        found = tf.compare(a, b, "total:0", feed)
        assert found.first.op == "Const" and found.first.b == pytest.approx(1.01)  # what the multiplication reads
        names = [d.name for d in found.differences]
        assert names.index("scaled:0") < names.index("total:0") and "hidden:0" not in names
        scaled = next(d for d in found.differences if d.name == "scaled:0")
        assert scaled.relative == pytest.approx(0.0099, rel=1e-2) and scaled.op == "Mul"
        assert "test_comparison.py" in scaled.origin and "hidden:0" in found.compared
        assert not found.equal and "first: " in repr(found) and "scaled:0" in found._repr_html_()
        same = tf.compare(a, a, ["total:0", "hidden"], feed)
        assert same.equal and same.first is None and "0 differ" in repr(same)
        wide = tf.compare(a, b, "total:0", feed, rtol=0.1)
        assert wide.equal


def test_dictionaries():
    a = {"w": np.zeros((2, 3)), "nan": [np.nan, 1.0], "text": ["a", "b"], "gone": 1, "shape": np.ones(3)}
    b = {"w": np.zeros((2, 3)), "nan": [np.nan, np.nan], "text": ["a", "c"], "shape": np.ones(4), "<new>": 2}
    b["w"][1, 2] = -4
    found = tf.compare(a, b)
    by_name = {d.name: d for d in found.differences}
    assert list(by_name) == ["w", "nan", "text", "shape"]
    assert (by_name["w"].index, by_name["w"].a, by_name["w"].b, by_name["w"].absolute) == ((1, 2), 0.0, -4.0, 4.0)
    assert by_name["nan"].absolute == np.inf
    assert "1 of 2" in by_name["text"].problem and "shapes [3] and [4]" in by_name["shape"].problem
    assert found.only_in_a == ("gone",) and found.only_in_b == ("<new>",)
    assert "<new>" not in found._repr_html_() and "&lt;new&gt;" in found._repr_html_()
    with pytest.raises(tf.errors.InvalidArgumentError, match="a session or a dictionary"):
        tf.compare(a, 3)
