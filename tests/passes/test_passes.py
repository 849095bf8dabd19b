"""Each pass by itself on small graphs."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import GraphError, InvalidArgumentError
from tfnb.ir.opdef import Kind
from tfnb.ir.step_graph.graph import Edge, Graph
from tfnb.ir.step_graph.verify import verify
from tfnb.passes.cluster import cluster, grouping
from tfnb.passes.cse import cse
from tfnb.passes.expand import expand
from tfnb.passes.fold import fold
from tfnb.passes.prune import Request, prune
from tfnb.passes.simplify import drop_no_ops, simplify


def pruned(*fetches, targets=(), feeds=()):
    g = prune(Request(tuple(fetches), tuple(targets), tuple(feeds)))
    verify(g)
    return g


def types(g: Graph) -> list[str]:
    return sorted(n.type for n in g.nodes.values() if n.opdef.kind is not Kind.CONST)


def test_prune_keeps_what_fetches_and_targets_need():
    x = tf.placeholder(tf.float32)
    y, _ = tf.exp(x), tf.log(x)
    with tf.control_dependencies([tf.no_op(name="first")]):
        z = tf.identity(y)
    g = pruned(z, feeds=[x])
    assert types(g) == ["Exp", "Identity", "NoOp", "_Feed"]


def test_prune_stops_at_a_fed_edge():
    x = tf.placeholder(tf.float32)
    y = tf.exp(x)
    z = tf.log(y)
    assert types(pruned(z, feeds=[y])) == ["Log", "_Feed"]
    assert types(pruned(y, feeds=[y])) == ["_Feed"]


def test_prune_names_the_placeholder_that_is_not_fed():
    x = tf.placeholder(tf.float32, [None, 3], name="images")
    with pytest.raises(InvalidArgumentError, match=r"images.*dtype float and shape \[\?,3\]"):
        pruned(tf.exp(x))


def test_fold_computes_constants_and_static_shapes():
    x = tf.placeholder(tf.float32, [2, 3])
    y = tf.reshape(x, [tf.shape(x)[0] * tf.shape(x)[1]]) * (tf.constant(2.0) + 3.0)
    g = fold(pruned(y, feeds=[x]))
    verify(g)
    assert types(g) == ["Mul", "Reshape", "_Feed"]
    values = [n.attrs.value for n in g.nodes.values() if n.opdef.kind is Kind.CONST]
    assert any(v.shape == () and v == 5.0 for v in values)


def test_fold_leaves_randomness_and_large_fills():
    y = tf.random_uniform([3]) + tf.reduce_sum(tf.zeros([1000, 1000]))
    assert "RandomUniform" in types(fold(pruned(y)))
    assert "Fill" in types(fold(pruned(tf.fill([1000, 1000], 2.0))))


def test_cse_merges_equal_pure_nodes_only():
    x = tf.placeholder(tf.float32, [3])
    same = tf.exp(x) + tf.exp(x)
    assert types(cse(pruned(same, feeds=[x]))).count("Exp") == 1
    random = tf.random_uniform([3], seed=1) - tf.random_uniform([3], seed=1)
    assert types(cse(pruned(random))).count("RandomUniform") == 2
    v = tf.Variable(1.0)
    reads = tf.identity(v) + v.read_value()
    assert types(cse(pruned(reads))).count("Identity") >= 2


def test_simplify_removes_what_does_nothing():
    x = tf.placeholder(tf.float32, [2, 3])
    y = tf.transpose(tf.transpose(tf.identity(x * 1.0 - 0.0)))
    y = tf.cast(tf.negative(tf.negative(y)), tf.float32) / 1.0
    g = simplify(fold(pruned(y, feeds=[x])))
    for _ in range(3):
        g = simplify(g)
    verify(g)
    assert types(g) == ["_Feed"]


def test_simplify_keeps_what_changes_a_value():
    x = tf.placeholder(tf.float32, [2, 3])
    for y in (x * 0.0, x + 0.0, x * tf.ones([4, 1, 1])):
        before = fold(pruned(y, feeds=[x]))
        assert types(simplify(before)) == types(before)


def test_expand_leaves_no_composite_and_keeps_control_edges():
    x = tf.placeholder(tf.float32, [2, 3])
    with tf.control_dependencies([tf.Print(x, [x]).op]):
        y = tf.nn.softmax(x)
    g = expand(pruned(y, feeds=[x]))
    verify(g)
    assert all(n.opdef.expand is None for n in g.nodes.values())
    printing = next(n.id for n in g.nodes.values() if n.type == "Print")
    assert any(printing in n.control for n in g.nodes.values())


def test_no_ops_hand_their_waiting_on():
    v = tf.Variable(1.0)
    init = tf.group(tf.group(v.initializer), name="all")
    g = drop_no_ops(pruned(targets=[init]))
    verify(g)
    assert [g.nodes[i].type for i in g.targets] == ["Assign"]


def test_a_cycle_is_refused_and_named():
    x = tf.placeholder(tf.float32, [2], name="x")
    a = tf.exp(x, name="a")
    b = tf.log(a, name="b")
    g = pruned(b, feeds=[x])
    nodes = dict(g.nodes)
    from dataclasses import replace

    nodes[a.op.id] = replace(nodes[a.op.id], inputs=(Edge(b.op.id, 0),))
    with pytest.raises(GraphError, match=r"cycle: .*a.*b"):
        verify(Graph(nodes, g.fetches, (), g.feeds))


def clusters(*fetches, targets=(), feeds=()):
    return cluster(expand(drop_no_ops(pruned(*fetches, targets=targets, feeds=feeds))))


def test_a_training_step_is_one_cluster():
    x = tf.placeholder(tf.float32, [None, 4])
    w = tf.Variable(np.ones((4, 2), np.float32))
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w)))
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    c = clusters(loss, targets=[step], feeds=[x])
    assert len(c.clusters) == 1 and not c.singles


def dequeued(shape):
    """A tensor that comes out of the host."""
    return tf.FIFOQueue(4, tf.float32, shapes=[shape]).dequeue()


def test_a_training_step_fed_by_a_queue_is_one_cluster():
    """Else the weights are read before, apart, and all copied: 2 ms of LeNet's 27."""
    w = tf.Variable(np.ones((4, 2), np.float32))
    loss = tf.reduce_mean(tf.square(tf.matmul(dequeued([3, 4]), w))) + tf.nn.l2_loss(w)
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    c = clusters(loss, targets=[step])
    assert len(c.clusters) == 1


@pytest.mark.parametrize("way", ["fetched", "written", "waited for"])
def test_a_variable_is_read_no_later_than_something_changes_it(way):
    v = tf.Variable(np.ones(3, np.float32))
    read = v.read_value()
    late = read + dequeued([3])
    with tf.control_dependencies([read] if way == "waited for" else []):
        change = tf.assign(v, [2.0, 3.0, 4.0])
    c = clusters(late, *([read] if way == "fetched" else []), targets=[] if way == "fetched" else [change.op])
    place = {n.id: k for k, made in enumerate(c.clusters) for n in made.nodes}
    assert place[read.op.id] < place[late.op.id]
    assert way == "fetched" or place[read.op.id] == place[change.op.id]


def test_what_needs_variables_alone_waits_for_its_first_reader():
    v = tf.Variable(np.ones(3, np.float32))
    twice, x = v.read_value() * 2.0, tf.placeholder(tf.float32, [3])
    with tf.control_dependencies([tf.Print(x, [x])]):
        soon = twice + x
    late = twice * tf.exp(tf.Print(soon, [soon]))
    c = clusters(late, feeds=[x])
    place = {n.id: k for k, made in enumerate(c.clusters) for n in made.nodes}
    assert place[twice.op.id] == place[soon.op.id] < place[late.op.id]


def test_rows_that_are_known_at_different_times_are_taken_from_a_variable_at_one_time():
    """Else the variable is copied as a whole: 2 ms of word2vec's 5, whose samples come from the host."""
    v, x, rows = (
        tf.Variable(np.ones((9, 2), np.float32)),
        tf.placeholder(tf.float32, [2]),
        tf.placeholder(tf.int32, [3]),
    )
    early = tf.gather(v, rows) * x
    late = tf.gather(v, tf.unique(rows)[0])
    change = tf.scatter_sub(v, rows, early * tf.reduce_sum(late))
    c = clusters(targets=[change.op], feeds=[rows, x])
    assert len(c.clusters) == 1
    c = clusters(early, targets=[change.op], feeds=[rows, x])  # what is fetched does not wait
    assert len(c.clusters) == 2


def test_rows_and_views_are_taken_where_they_are_used():
    v, rows = tf.Variable(np.ones((9, 2), np.float32)), tf.placeholder(tf.int32, [3])
    late = tf.reshape(tf.gather(v, rows), [2, 3]) * dequeued([2, 3])
    assert len(clusters(late, feeds=[rows]).clusters) == 1


def test_the_size_of_a_host_value_is_computed_where_it_is_used():
    x = tf.placeholder(tf.int32, [None])
    count = tf.shape(tf.unique(x)[0])[0]
    assert len(clusters(tf.fill([count], 1.0) * dequeued([]), feeds=[x]).clusters) == 1


@pytest.mark.parametrize("dtype", [tf.int32, tf.float32])
def test_the_host_computes_indices_for_itself_from_what_it_has(dtype):
    x = tf.placeholder(dtype, [None])
    parts = tf.dynamic_partition(x, tf.cast(tf.floormod(x, 2), tf.int32), 2)
    c = clusters(*parts, feeds=[x])
    # Floats are the device's, whose results may differ in the last bit; its second cluster takes the rows.
    assert len(c.clusters) == (2 if dtype is tf.float32 else 0)
    with tf.Session() as session:
        even, odd = session.run(parts, {x: [4, 1, 2]})
    assert even.tolist() == [4, 2] and odd.tolist() == [1]


def test_the_host_leaves_many_indices_to_the_device():
    x = tf.placeholder(tf.int32, [1 << 20])
    assert len(clusters(tf.unique(tf.floormod(x, 2))[0], feeds=[x]).clusters) == 1


def test_a_path_through_the_host_splits_a_cluster():
    x = tf.placeholder(tf.float32, [4])
    a = tf.exp(x)
    b = tf.Print(a, [a])
    c = clusters(tf.log(b) + a, feeds=[x])
    assert len(c.clusters) == 2 and len(c.singles) == 1
    first, second = c.clusters
    assert first.outputs and set(first.outputs) <= set(second.inputs) | {Edge(a.op.id, 0)}


def test_what_waits_for_a_constant_waits_for_what_the_constant_waits_for():
    x = tf.placeholder(tf.float32, [4])
    a = tf.exp(x)
    with tf.control_dependencies([tf.Print(a, [a])]):
        one = tf.constant(1.0)
    with tf.control_dependencies([one]):
        b = tf.log(x)
    c = clusters(a, b, feeds=[x])
    assert c.member[a.op.id] < c.member[b.op.id]


def test_readers_of_a_variable_do_not_move_past_the_host():
    """The sums of segments run on the host. What they need may be computed late, but not with what needs them."""
    table = tf.Variable(np.zeros((6, 2), np.float32))
    ids = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant([5, 1, 1], tf.int64), [2, 2])
    weights = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [3.0, 1.0, 2.0], [2, 2])
    loss = tf.reduce_sum(tf.nn.embedding_lookup_sparse(table, ids, weights, combiner="mean"))
    step = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
    c = clusters(loss, targets=[step])
    level = grouping(c.graph).level
    on_host = [i for i in c.singles if c.graph.nodes[i].opdef.kind is Kind.COMPUTE]
    pairs = [(e.id, i) for i in c.member for e in c.graph.nodes[i].inputs if e.id in on_host]
    assert pairs and all(level[source] < level[reader] for source, reader in pairs)


def test_a_shape_that_depends_on_data_is_an_input_of_a_later_cluster():
    v = tf.Variable(3)
    y = tf.fill([v.read_value() + 1], 2.0)
    c = clusters(y)
    assert len(c.clusters) == 2
    assert c.clusters[1].shape_values


def test_a_fed_shape_is_a_shape_value():
    n = tf.placeholder(tf.int32, [])
    c = clusters(tf.fill([n, 2], 1.0), feeds=[n])
    assert len(c.clusters) == 1
    assert c.clusters[0].shape_values == c.clusters[0].inputs


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda c: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[2, 3], logits=c([[1.0, 2, 3]] * 2)),
            "label value of 3",
        ),
        (lambda c: tf.scatter_nd([[0, 5]], c([1.0]), [2, 2]), r"\[0,?5?"),
        (lambda c: tf.unsorted_segment_sum(c([1.0, 2.0]), [0, 2], 2), "2"),
        (lambda c: tf.gather_nd(c([1.0, 2.0]), [[2]]), "2"),
    ],
)
def test_a_number_out_of_bounds_is_an_error_also_where_all_is_constant(make, message):
    """What a device checks before its kernel runs, the host kernel that folds may have made NaN or left out."""
    for inputs in (tf.constant, lambda values: tf.constant(values) + tf.random_uniform([])):
        with tf.Session() as sess, pytest.raises(InvalidArgumentError, match=message):
            sess.run(make(inputs))
