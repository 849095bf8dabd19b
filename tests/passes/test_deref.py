"""Control flow takes values: a variable in front of a Switch is read there."""

from __future__ import annotations

import tfnb as tf
from tfnb.ir.step_graph.verify import verify
from tfnb.ops.control_flow.switch_merge import SWITCH
from tfnb.passes.deref import deref


def test_a_variable_in_front_of_a_switch_is_read(pruned):
    v = tf.Variable([1.0, 2.0])
    p = tf.placeholder(tf.bool, [])
    before = pruned(SWITCH(v._ref(), p)[1], feeds=(p,))
    after = deref(before)
    verify(after)
    (switch,) = (n for n in after.nodes.values() if n.type == "Switch")
    read = after.nodes[switch.inputs[0].id]
    assert read.type == "Identity" and not after.spec(switch.inputs[0]).ref
    assert after.spec(read.inputs[0]).ref


def test_fetched_strings_are_values(pruned):
    v = tf.Variable(["a", "b"])
    (fetch,) = deref(pruned(v._ref())).fetches
    assert not deref(pruned(v._ref())).spec(fetch).ref


def test_nothing_to_read_leaves_the_graph(pruned):
    g = pruned(tf.identity(tf.Variable([1.0])))
    assert deref(g) is g
