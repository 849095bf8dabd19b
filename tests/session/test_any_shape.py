"""Steps of any shapes: the same bits in any order of shapes, whether caches are kept or cleared."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest
from random_shapes import Graph, shapes

import tfnb as tf
from tfnb.devices.opencl.binding import Binding
from tfnb.runtime import cluster_kernel

pytestmark = pytest.mark.opencl
GRAPHS = int(os.environ.get("TFNB_RANDOM_GRAPHS", 1))
SHAPES = 20


def results(drawn, order, clears):
    """What a new session gives for each shape: dtypes, shapes and bytes, or the class of the error."""
    given = {}
    with tf.Session() as session:
        for n, m in order:
            if clears():
                tf.clear_caches()
            session.run(drawn.variable.initializer)
            try:
                values = session.run(drawn.outputs, drawn.feeds(n, m))
                given[n, m] = [(v.dtype, v.shape, v.tobytes()) for v in values]
            except tf.errors.OpError as e:
                given[n, m] = type(e)
    return given


@pytest.mark.parametrize("seed", range(GRAPHS))
def test_results_do_not_depend_on_the_shapes_that_came_before(seed):
    with tf.Graph().as_default() as graph:
        drawn = Graph(seed, length=3, counting=True)
    order = list(dict.fromkeys(shapes(seed, SHAPES * 2)))[:SHAPES]
    shuffled = random.Random(seed)
    with graph.as_default():
        expected = results(drawn, order, lambda: True)
        for clears in (lambda: False, lambda: shuffled.random() < 0.3):
            shuffled.shuffle(order)
            given = results(drawn, order, clears)
            wrong = [shape for shape in order if given[shape] != expected[shape]]
            assert not wrong, (drawn.names, order, [(given[s], expected[s]) for s in wrong][:1])
    assert any(isinstance(r, list) for r in expected.values())


def _normalised() -> tuple[tf.Tensor, list[tf.Tensor]]:
    x = tf.placeholder(tf.float32, [None, 8])
    rows = tf.nn.softmax(tf.tanh(x) * 2.0)
    loss = tf.reduce_mean(tf.square(rows))
    return x, [loss, tf.reduce_max(rows, 0), tf.gradients(loss, x)[0]]


def test_a_chain_of_kernels_serves_large_shapes_too() -> None:
    """A few rows are one launch of one work-item, and many are several launches; no other program is built for them."""

    def builds() -> int:
        return sum(c.misses for c in tf.list_caches() if c.name == "generated programs")

    few, many = np.ones((3, 8), np.float32), np.random.RandomState(0).randn(400, 8).astype(np.float32)
    tf.clear_caches()
    with tf.Graph().as_default(), tf.Session() as session:
        x, fetches = _normalised()
        session.run(fetches, {x: few})
        before = builds()
        results = session.run(fetches, {x: many})
        assert before > 0 and builds() == before
    with tf.Graph().as_default(), tf.Session() as session:
        x, fetches = _normalised()
        for a, b in zip(results, session.run(fetches, {x: many}), strict=True):
            assert np.array_equal(a, b)
    weights = np.exp(2 * np.tanh(many.astype(float)))
    rows = weights / weights.sum(1, keepdims=True)
    np.testing.assert_allclose(results[0], np.mean(rows**2), rtol=1e-5)
    np.testing.assert_allclose(results[1], rows.max(0), rtol=1e-5)


def test_more_shapes_than_programs_are_kept_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else each program would be dropped before its shape comes again, and every step would make new kernels."""
    monkeypatch.setattr(cluster_kernel, "_MAX_PROGRAMS", 8)
    monkeypatch.setattr(cluster_kernel, "_MAX_STEPS", 8)
    made: list[int] = []
    make = Binding.__init__

    def noted(self: Binding, *args: object, **named: object) -> None:
        made.append(1)
        make(self, *args, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Binding, "__init__", noted)
    with tf.Graph().as_default(), tf.Session() as session:
        x, fetches = _normalised()
        feeds = [np.random.RandomState(n).randn(n, 8).astype(np.float32) for n in range(2, 34)]
        expected = [session.run(fetches, {x: rows}) for rows in feeds]
        counts = []
        for _ in range(4):
            made.clear()
            for rows, values in zip(feeds, expected, strict=True):
                for a, b in zip(values, session.run(fetches, {x: rows}), strict=True):
                    assert np.array_equal(a, b)
            counts.append(len(made))
    assert 0 < counts[-1] <= len(feeds) // 4, counts


def test_sizes_that_the_graph_knows_choose_the_kernels_of_a_cluster() -> None:
    """Filters as wide as the images make a convolution over one row; a conditional separates it from its gradient."""
    with tf.Graph().as_default(), tf.Session() as session:
        x, doubles = tf.placeholder(tf.float32, [None, 12, 16, 1]), tf.placeholder(tf.bool, [])
        hidden = tf.tanh(x)
        y = tf.nn.conv2d(hidden, tf.ones([3, 16, 1, 8]), [1, 1, 1, 1], "VALID")
        loss = tf.square(tf.cond(doubles, lambda: y * 2.0, lambda: y))
        (gradient,) = tf.gradients(loss, hidden)
        ours, numeric = [], []
        for n in (2, 3):
            ones = np.ones([n, 12, 16, 1], np.float32)
            ours.append(session.run(gradient, {x: ones, doubles: True}))
            numeric.append(8 * 8 * 48 * np.tanh(np.float32(1)) * np.array([1, 2, *[3] * 8, 2, 1], np.float32))
        text = str(tf.show_passes(session, gradient, [x, doubles]))
    for gradient, by_row in zip(ours, numeric, strict=True):
        np.testing.assert_allclose(gradient, np.broadcast_to(by_row[:, None, None], gradient.shape), rtol=1e-5)
    (turns,) = (line for line in text.splitlines() if "conv2d_turn_filter" in line)
    assert turns.endswith("3x1x1 groups")
