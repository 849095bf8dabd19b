"""Steps of any shapes: the same bits in any order of shapes, whether caches are kept or cleared."""

from __future__ import annotations

import os
import random

import pytest
from random_shapes import Graph, shapes

import tfnb as tf

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
