"""Calls become bodies: no call is left, and what waited for a call waits for what it did."""

from __future__ import annotations

import pytest

import tfnb as tf
from tfnb.errors import GraphError
from tfnb.ir.step_graph.verify import verify
from tfnb.passes import inline as module
from tfnb.passes.inline import inline


@tf.Defun(tf.float32, func_name="Square")
def square(x):
    return x * x


@tf.Defun(tf.float32, func_name="Fourth")
def fourth(x):
    return square(square(x))


def test_calls_in_calls_become_nodes(pruned):
    x = tf.placeholder(tf.float32, [2])
    before = pruned(fourth(x) + 1.0, feeds=(x,))
    after = inline(before)
    verify(after)
    assert any(n.opdef.body is not None for n in before.nodes.values())
    assert all(n.opdef.body is None for n in after.nodes.values())
    assert [n.type for n in after.nodes.values()].count("Mul") == 2


def test_a_graph_without_calls_is_the_same_object(pruned):
    g = pruned(tf.constant(1.0) + 2.0)
    assert inline(g) is g


def test_what_waits_for_a_call_waits_for_its_effects(pruned):
    @tf.Defun(tf.float32, func_name="Checks")
    def checks(x):
        with tf.control_dependencies([tf.Assert(x > 0.0, ["x is", x])]):
            return x * 1.0

    with tf.control_dependencies([checks(tf.placeholder_with_default(2.0, []))]):
        last = tf.add(tf.constant(5.0), 2.0)
    g = inline(pruned(last))
    verify(g)
    reached, waiting = set(), [g.fetches[0].id]
    while waiting:
        node = g.nodes[waiting.pop()]
        reached.add(node.type)
        waiting += [*(e.id for e in node.inputs), *node.control]
    assert {"Assert", "Mul", "Greater"} <= reached


def test_functions_without_end_are_refused(pruned, monkeypatch):
    x = tf.placeholder(tf.float32, [2])
    g = pruned(fourth(x), feeds=(x,))
    monkeypatch.setattr(module, "MAX_NODES", 3)
    with pytest.raises(GraphError, match="more than 3 nodes"):
        inline(g)
