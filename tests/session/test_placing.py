"""A session's placement: what was measured decides where a step's nodes go when it runs again."""

from __future__ import annotations

import time

import numpy as np
import pytest

import tfnb as tf

pytestmark = pytest.mark.one_process("a session of its own devices is placed")


def slow_sum(x):
    time.sleep(0.02)  # a thousand times what is estimated for a Python function
    return x.sum(dtype=np.float32)


@pytest.mark.parametrize("policy", ["greedy", "search"])
def test_a_traced_step_is_placed_again_with_what_was_measured(policy):
    config = tf.ConfigProto(device_count={"CPU": 2}, graph_options=tf.GraphOptions(placement=policy))
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        v = tf.Variable(tf.ones([1000]))
        x = tf.placeholder(tf.float32, [1000, 1000])
        u = x * 2.0 + v
        sums = [tf.py_func(slow_sum, [u], tf.float32, name=f"sum_{k}") for k in range(2)]
        for s in sums:
            s.set_shape([])
        z = sums[0] + sums[1]
        session.run(v.initializer)

        def places():
            plan = session.explain_placement(z, [x])
            metadata = tf.RunMetadata()
            value = session.run(z, {x: np.ones((1000, 1000), "f")}, tf.RunOptions(trace_level=3), metadata)
            nodes = {n.name: n.device for n in metadata.graph.nodes.values()}
            assert value == 6_000_000.0 and plan
            return nodes["sum_0"], nodes["sum_1"], nodes[v.op.name]

        first, again, last = places(), places(), places()
        assert first[0] == first[1], "by the estimates sending the tensor takes longer than a function"
        assert again[0] != again[1] and again[2] == first[2]
        assert last == again  # nothing new was measured


def test_a_step_that_is_placed_by_rule_stays():
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        y = tf.placeholder(tf.float32, [2]) * 2.0
        feeds = {y.op.inputs[0]: [1.0, 2.0]}
        session.run(y, feeds, tf.RunOptions(trace_level=3), tf.RunMetadata())
        metadata = tf.RunMetadata()
        session.run(y, feeds, tf.RunOptions(trace_level=3), metadata)
        assert metadata.passes == []  # it was not compiled again
