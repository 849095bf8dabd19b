"""What the tests of passes share: a graph of their own, cut to what they fetch."""

import pytest

import tfnb as tf
from tfnb.ir.step_graph.verify import verify
from tfnb.passes.prune import Request, prune


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


@pytest.fixture
def pruned():
    """`pruned(fetch, ..., targets=(), feeds=())` is a verified graph."""

    def cut(*fetches, targets=(), feeds=()):
        g = prune(Request(tuple(fetches), tuple(targets), tuple(feeds)))
        verify(g)
        return g

    return cut
