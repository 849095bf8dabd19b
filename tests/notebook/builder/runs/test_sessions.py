"""The session of "run to here": variables begin and go on from graph to graph, feeds that are missing are named."""

import numpy as np
import pytest

import tfnb as tf
from tfnb.notebook.builder.runs.sessions import BuilderSession

pytestmark = pytest.mark.opencl


def model(scale):
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        w = tf.Variable(tf.ones([2, 1]), name="w")
        copy = tf.Variable(w.initialized_value() * 2.0, name="copy")
        unused = tf.Variable(tf.placeholder(tf.float32, [3]), name="unused")
        y = tf.multiply(tf.matmul(x, w + copy), scale, name="y")
        step = tf.assign_add(w, [[1.0], [1.0]], name="step")
    return graph, x, w, y, step, unused


@pytest.fixture
def sessions():
    builder = BuilderSession()
    yield builder
    builder.close()


def test_variables_begin_when_they_are_needed_and_go_on_in_the_next_graph(sessions):
    graph, x, _, y, step, unused = model(1.0)
    nodes = len(graph.get_operations())
    session = sessions.session(graph)
    assert [op.name for op in sessions.placeholders(session, y)] == ["x"]
    feed = {x: np.ones((1, 2))}
    assert sessions.run(session, y, feed).tolist() == [[6.0]]
    assert sessions.run(session, step, {}).tolist() == [[2.0], [2.0]]
    assert sessions.run(session, y, feed).tolist() == [[8.0]]
    assert [op.name for op in sessions.placeholders(session, unused.initializer)] == ["Placeholder"]

    graph2, x2, _, y2, _, _ = model(10.0)
    session2 = sessions.session(graph2)
    assert sessions.run(session2, y2, {x2: np.ones((1, 2))}).tolist() == [[80.0]]
    assert len(graph.get_operations()) == nodes == len(graph2.get_operations())
    assert sessions.session(graph2) is session2


def test_the_notebooks_session_is_used_or_gives_its_values(sessions):
    graph, _, w, _, step, _ = model(1.0)
    with tf.Session(graph=graph) as own:
        own.run(w.initializer)
        own.run(step)
        assert sessions.session(graph, [own]) is own
        sessions.begin_with(own)
        graph2, _, w2, _, _, _ = model(1.0)
        assert sessions.run(sessions.session(graph2), w2, {}).tolist() == [[2.0], [2.0]]
        own.run(step)
        sessions.adopt(own)
        assert sessions.run(sessions.session(graph2), w2, {}).tolist() == [[3.0], [3.0]]
        assert own.run(w).tolist() == [[3.0], [3.0]]
