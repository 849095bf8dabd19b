"""References in loops: no constant RefEnter is left, and the loop waits for what changed the variable before it."""

from __future__ import annotations

import tfnb as tf
from tfnb.ir.step_graph.verify import verify
from tfnb.ops.control_flow.switch_merge import REF_ENTER
from tfnb.passes.ref_enter import open_ref_enters


def test_readers_take_the_variable_itself(pruned):
    v = tf.Variable([1.0, 2.0])
    with tf.control_dependencies([tf.assign_add(v, [1.0, 1.0])]):
        inside = REF_ENTER(v._ref(), frame_name="loop", is_constant=True)
    before = pruned(tf.identity(inside))
    assert "RefEnter" in {n.type for n in before.nodes.values()}
    after = open_ref_enters(before)
    verify(after)
    assert "RefEnter" not in {n.type for n in after.nodes.values()}
    (fetch,) = after.fetches
    source = after.nodes[after.nodes[fetch.id].inputs[0].id]
    assert "Variable" in source.type


def test_a_graph_without_them_is_the_same_object(pruned):
    g = pruned(tf.constant(1.0) + 2.0)
    assert open_ref_enters(g) is g
