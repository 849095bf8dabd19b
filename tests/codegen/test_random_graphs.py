"""Graphs drawn at random: the device computes what the host kernels compute, fused or not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from runner import reference, run_graph

import tfnb as tf

pytestmark = pytest.mark.opencl
UNARY = [tf.tanh, tf.sigmoid, tf.nn.relu, tf.square, lambda x: x * 0.5 - 1.0, lambda x: tf.where(x > 0.0, x, -x)]
BINARY = [lambda a, b: a + b, lambda a, b: a * b, tf.maximum, lambda a, b: a - 2.0 * b]


def _movement(draw, x):
    rank = x.shape.ndims
    shape = x.shape.as_list()
    kind = draw(st.sampled_from(["transpose", "reshape", "slice", "concat", "pad", "reverse"]))
    if kind == "transpose":
        return tf.transpose(x, draw(st.permutations(range(rank))))
    if kind == "reshape":
        return tf.reshape(x, draw(st.sampled_from([[-1], [shape[0], -1], [-1, shape[-1]], [1, -1]])))
    axis = draw(st.integers(0, rank - 1))
    if kind == "slice" and shape[axis] > 1:
        begin = [1 if d == axis else 0 for d in range(rank)]
        return tf.slice(x, begin, [n - b for n, b in zip(shape, begin, strict=True)])
    if kind == "pad":
        return tf.pad(x, [[1, 2] if d == axis else [0, 0] for d in range(rank)])
    if kind == "reverse":
        return tf.reverse(x, [axis])
    return tf.concat([x, x * 2.0], axis)


def _reduction(draw, x):
    axes = draw(st.lists(st.integers(0, x.shape.ndims - 1), unique=True, min_size=1))
    reduce = draw(st.sampled_from([tf.reduce_sum, tf.reduce_max, tf.reduce_mean]))
    return reduce(x, axes, keepdims=draw(st.booleans()))


@st.composite
def graphs(draw):
    """A graph, its feeds, and what to fetch."""
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    shape = draw(st.sampled_from([(17,), (5, 33), (4, 3, 6), (20, 40)]))
    graph = tf.Graph()
    with graph.as_default():
        feeds = {}
        for s in (shape, shape, shape[-1:]):
            feeds[tf.placeholder(tf.float32, s)] = rng.standard_normal(s).astype(np.float32)
        made = list(feeds)
        for _ in range(draw(st.integers(2, 9))):
            x = made[draw(st.integers(0, len(made) - 1))]
            kind = draw(st.sampled_from(["unary", "binary", "binary", "move", "reduce"]))
            if kind == "unary" or x.shape.ndims == 0:
                made.append(draw(st.sampled_from(UNARY))(x))
            elif kind == "binary":
                fitting = [m for m in made if _fits(m.shape.as_list(), x.shape.as_list())]
                made.append(draw(st.sampled_from(BINARY))(x, draw(st.sampled_from(fitting))))
            else:
                made.append((_movement if kind == "move" else _reduction)(draw, x))
        fetches = [made[-1], *draw(st.lists(st.sampled_from(made[3:]), max_size=2))]
    return graph, feeds, fetches


def _fits(a, b):
    return len(a) <= len(b) and all(x in (1, y) for x, y in zip(a[::-1], b[::-1], strict=False))


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(graphs())
def test_any_graph(device, drawn):
    graph, feeds, fetches = drawn
    want, _ = reference(graph, feeds, fetches)
    got, _ = run_graph(device, graph, feeds, fetches)
    for a, b in zip(got, want, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-4)
