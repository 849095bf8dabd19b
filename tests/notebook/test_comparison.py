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


def branch(x):
    return tf.cond(x > 0.0, lambda: x * 2.0 + 1.0, lambda: x - 3.0)


def turns(x):
    return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.where(a > 4.0, a, a * 1.5 + 0.25)), [0, x])[1]


def both(x):
    return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, branch(a)), [0, x])[1]


def nested(x):
    inner = lambda a: tf.while_loop(lambda j, b: j < 2, lambda j, b: (j + 1, b * 2.0), [0, a])[1]  # noqa: E731
    return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, inner(a) + 1.0), [0, x])[1]


def of_rows(x):
    return tf.reduce_sum(tf.map_fn(lambda r: r * 2.0 + x, tf.constant([1.0, 2.0])))


def scanned(x):
    return tf.reduce_sum(tf.scan(lambda a, e: a * e + 1.0, tf.stack([x, x + 1.0, 3.0])))


@pytest.mark.opencl
@pytest.mark.parametrize("is_imported", [False, True])
@pytest.mark.parametrize("make", [branch, turns, both, nested, of_rows, scanned])
def test_what_is_around_loops_and_branches(make, is_imported):
    """What is inside them has no value outside, constants included, and the rest is compared."""

    def session(factor):
        with tf.Graph().as_default() as graph:
            x = tf.placeholder(tf.float32, [], name="x")
            y = make(x * factor)
            gradient = tf.gradients(y, x)[0] if not is_imported else y
            tf.add(y, gradient, name="out")
        if is_imported:
            definition = graph.as_graph_def()
            with tf.Graph().as_default() as graph:
                tf.import_graph_def(definition, name="")
        return tf.Session(graph=graph)

    with session(2.0) as a, session(2.5) as b:
        assert tf.compare(a, a, "out:0", {"x:0": 1.0}).equal
        found = tf.compare(a, b, "out:0", {"x:0": 1.0})
        last = next(d for d in found.differences if d.name == "out:0")
        right = [s.run("out:0", {"x:0": 1.0}) for s in (a, b)]
        assert last.absolute == pytest.approx(abs(float(right[0]) - float(right[1])))
        assert found.compared[-1] == "out:0"


@pytest.mark.opencl
def test_another_operation_says_by_how_much_it_differs():
    def session(make, value):
        with tf.Graph().as_default() as graph:
            make(tf.constant(value), name="y")
        return tf.Session(graph=graph)

    with session(tf.exp, [0.0, 1.0]) as a, session(tf.square, [0.0, 1.0]) as b, session(tf.abs, [1.0, 1.0]) as c:
        d = tf.compare(a, b, "y:0").first
        assert d.problem.startswith("computed by Exp in the first run, by Square in the second; 2 of 2 elements differ")
        assert d.absolute == pytest.approx(np.e - 1.0) and d.index == (1,)
        found = tf.compare(b, c, "y:0")
        assert [x.name for x in found.differences] == ["Const:0", "y:0"]
        assert found.differences[1].absolute == 1.0
    with session(tf.square, [1.0]) as a, session(tf.abs, [1.0]) as b:
        (d,) = tf.compare(a, b, "y:0").differences
        assert d.absolute == 0.0 and d.problem.endswith("the values agree")
