"""Steps in parts: feeds come and fetches go through an exchange, and who waits for which feed is known."""

from __future__ import annotations

import tfnb as tf
from tfnb.ir.step_graph.verify import verify
from tfnb.passes.partial import Exchange, fed_parts, feeds_behind, in_parts


def test_feeds_and_fetches_become_nodes(pruned):
    a, b = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [2])
    x = tf.exp(a)
    y = x * b
    g = in_parts(pruned(x, y, targets=(y.op,), feeds=(a, b)), Exchange())
    verify(g)
    types = [n.type for n in g.nodes.values()]
    assert (types.count("_PartFeed"), types.count("_PartFetch"), types.count("_PartDone")) == (2, 2, 1)
    assert not g.fetches and not g.feeds and len(g.targets) == 3
    assert "Placeholder" not in types

    behind = fed_parts(g)
    by_type = {n.type: behind[n.id] for n in g.nodes.values() if n.type in ("Exp", "Mul")}
    assert len(by_type["Exp"]) == 1 and len(by_type["Mul"]) == 2 and by_type["Exp"] < by_type["Mul"]


def test_which_feeds_a_fetch_needs(pruned):
    a, b = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [2])
    g = pruned(tf.exp(a), tf.exp(a) * b, targets=((b + 1.0).op,), feeds=(a, b))
    assert feeds_behind(g) == [{0}, {0, 1}, {1}]


def test_a_whole_step_has_no_parts(pruned):
    a = tf.placeholder(tf.float32, [2])
    assert fed_parts(pruned(tf.exp(a), feeds=(a,))) == {}
