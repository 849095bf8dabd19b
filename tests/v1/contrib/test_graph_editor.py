"""Parts of graphs: selected, copied with other inputs, cut off and connected anew."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

editor = tf.contrib.graph_editor


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def names(elements):
    return [e.name for e in elements]


def chain():
    """a, b -> c = a + b -> d = c * 2 -> e = d - a, in the scope "part" from c on."""
    a, b = tf.constant(1.0, name="a"), tf.constant(2.0, name="b")
    with tf.name_scope("part"):
        c = tf.add(a, b, name="c")
        two = tf.constant(2.0, name="two")
        d = tf.multiply(c, two, name="d")
        e = tf.subtract(d, a, name="e")
    return a, b, c, two, d, e


def value(*tensors):
    with tf.Session() as session:
        found = session.run(list(tensors))
    return found[0] if len(found) == 1 else found


def test_walks_and_boundaries(graph):
    a, b, c, _two, d, _e = chain()
    assert names(editor.get_forward_walk_ops([c])) == ["part/d", "part/e"]
    assert names(editor.get_forward_walk_ops(c.op, inclusive=False)) == ["part/d", "part/e"]
    assert set(names(editor.get_backward_walk_ops(d.op))) == {"part/d", "part/c", "part/two", "a", "b"}
    assert names(editor.get_backward_walk_ops([d], stop_at_ts=[c])) == ["part/d", "part/two"]
    assert names(editor.get_walks_intersection_ops([b.op], [d.op])) == ["b", "part/c", "part/d"]
    assert set(names(editor.get_walks_union_ops([d.op], [c.op]))) == {"part/d", "part/e", "part/c", "a", "b"}
    inputs, outputs, inner = editor.compute_boundary_ts([c.op, d.op])
    assert (names(inputs), names(outputs), names(inner)) == (["a:0", "b:0", "part/two:0"], ["part/d:0"], ["part/c:0"])
    assert names(editor.get_within_boundary_ops(graph, [a.op], [d.op], inclusive=False)) == [
        "a",
        "b",
        "part/c",
        "part/e",
    ]


def test_selections(graph):
    _a, b, _c, _two, d, e = chain()
    assert names(editor.select_ops("^part/[cd]$", graph=graph)) == ["part/c", "part/d"]
    assert names(editor.select_ts("(?#ts)e:0", "(?#ops)c", graph=graph)) == ["part/e:0"]
    ops, ts = editor.select_ops_and_ts("d$", "(?#ts)^a:0", [b.op], graph=graph)
    assert (names(ops), names(ts)) == (["part/d", "b"], ["a:0"])
    assert names(editor.filter_ts_from_regex(graph, "part/t")) == ["part/two:0"]
    view = editor.sgv_scope("part", graph)
    assert names(view.ops) == ["part/c", "part/two", "part/d", "part/e"]
    assert names(view.inputs) == ["a:0", "b:0"]
    assert names(editor.get_name_scope_ops(graph, "part/")) == names(view.ops)
    assert names(view.remap_inputs([1]).inputs) == ["b:0"]
    assert view.find_op_by_name("part/d") is d.op
    assert view.output_index(e) == 0
    with pytest.raises(errors.InvalidArgumentError, match="graph"):
        editor.select_ops("x")
    with pytest.raises(errors.NotFoundError, match="gone"):
        view.find_op_by_name("gone")


def test_targets_with_other_inputs(graph):
    a, b, c, two, d, e = chain()
    other = tf.constant(10.0)
    replaced = editor.graph_replace({"d": d, "e": [e]}, {b: other})
    assert value(replaced["d"], replaced["e"][0], e) == [22.0, 21.0, 5.0]
    assert replaced["d"].op.name == "part/d_1"
    both = editor.graph_replace(e, {c: other, a: other}, dst_scope="copy")
    assert value(both) == 10.0
    assert both.op.name == "copy/part/e"
    with pytest.raises(errors.InvalidArgumentError, match="not connected"):
        editor.graph_replace(c, {two: other})


def test_a_gradient_step_by_replacement():
    """The loss after a step of descent, as meta-learning needs it, from the graph of the loss before."""
    w = tf.Variable([1.0, 2.0])
    read = tf.identity(w)
    x = tf.constant([[1.0, 3.0]])
    loss = tf.reduce_sum(tf.square(x * read))
    (gradient,) = tf.gradients(loss, [read])
    after = editor.graph_replace(loss, {read: read - 0.1 * gradient})
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before, found = session.run([loss, after])
    new = np.array([1.0, 2.0]) - 0.1 * 2 * np.array([1.0, 9.0]) * [1.0, 2.0]
    np.testing.assert_allclose([before, found], [37.0, ((np.array([1.0, 3.0]) * new) ** 2).sum()], rtol=1e-5)


def test_a_copy_in_another_graph_reads_placeholders(graph):
    a, _b, _c, _two, d, _e = chain()
    tf.add_to_collection("losses", d)
    tf.add_to_collection("mine", d)
    with tf.Graph().as_default() as target:
        view, info = editor.copy(editor.sgv_scope("part", graph), target, dst_scope="new", src_scope="part")
        assert names(view.ops) == ["new/c", "new/two", "new/d", "new/e"]
        assert info.original(info.transformed(d)) is d
        assert info.transformed(a).op.type == "Placeholder"
        assert target.get_collection("losses") == [info.transformed(d)]
        assert info.transformed(tf.no_op(), lambda t: "none") == "none"
        with tf.Session() as session:
            assert session.run(view.outputs, {view.inputs[0]: 3.0, view.inputs[1]: 4.0}) == [11.0]
    assert editor.util.find_corresponding(d, target, "new", "part") is target.get_tensor_by_name("new/d:0")
    assert editor.util.find_corresponding(a, target) is None


def test_a_loop_is_copied():
    start = tf.constant(0)
    end = tf.while_loop(lambda i: i < 10, lambda i: i + 3, [start])
    other = editor.graph_replace(end, {start: tf.constant(100) - 98})
    assert value(end, other) == [12, 11]


def test_readers_are_rerouted():
    a, b, c, two, d, e = chain()
    assert editor.reroute_ts([b], [a], can_modify=[e.op]) == 1
    assert value(e) == 4.0
    assert editor.swap_ts([a], [two]) == 2
    assert value(c, d) == [4.0, 4.0]
    with pytest.raises(errors.DTypeError, match="compatible"):
        editor.reroute_ts([tf.constant(1)], [a])
    with pytest.raises(errors.InvalidArgumentError, match="sizes"):
        editor.reroute_ts([a, b], [a])


def test_parts_exchange_inputs_and_outputs():
    a, b = tf.constant(1.0), tf.constant(2.0)
    negative, root = tf.negative(a), tf.sqrt(b)
    read = [tf.identity(negative), tf.identity(root)]
    editor.swap_outputs([negative.op], [root.op])
    np.testing.assert_allclose(value(*read), [np.sqrt(2), -1], rtol=1e-6)
    editor.swap_inputs([negative.op], [root.op])
    np.testing.assert_allclose(value(negative, root), [-2, 1])
    editor.reroute_inputs([negative.op], [root.op])
    assert root.op.inputs[0] is b


def test_control_inputs():
    a, b = tf.constant(1.0), tf.constant(2.0)
    waits = tf.no_op()
    editor.add_control_inputs(waits, [a.op, b.op])
    editor.remove_control_inputs(waits, a.op)
    assert waits.control_inputs == [b.op]
    assert editor.util.ControlOutputs(tf.get_default_graph()).get(b.op) == [waits]
    with pytest.raises(errors.InvalidArgumentError, match="already"):
        editor.add_control_inputs(waits, b.op)
    editor.detach_control_inputs([waits])
    assert waits.control_inputs == []


def test_parts_are_cut_off_connected_and_passed_by():
    _a, _b, c, _two, d, e = chain()
    _view, inputs = editor.detach_inputs([d.op])
    assert names(inputs) == ["part/geph__c_0:0", "part/geph__two_0:0"]
    with tf.Session() as session:
        assert session.run(e, {inputs[0]: 5.0, inputs[1]: 3.0}) == 14.0
    _, outputs = editor.detach_outputs([d.op])
    assert [op.name for op in outputs[0].consumers()] == ["part/e"]
    editor.connect(editor.sgv([c.op]).remap_outputs([0]), editor.sgv([d.op]).remap_inputs([0]))
    assert d.op.inputs[0] is c
    x = tf.constant(4.0)
    passed = tf.identity(tf.sqrt(x))
    editor.bypass([passed.op.inputs[0].op])
    assert value(passed) == 4.0


def test_trees_and_names():
    util = editor.util
    t = tf.constant(1.0, name="x/y")
    assert util.placeholder_name(t) == "x/geph__y_0"
    assert util.placeholder_name(t, scope="s") == "s/geph__y_0"
    assert util.flatten_tree({"a": [1, (2,)], "b": 3}) == [1, 2, 3]
    assert util.transform_tree({"a": [1, (2,)]}, lambda v: v + 1) == {"a": [2, (3,)]}
    assert (util.scope_dirname("a/b/c"), util.scope_basename("a/b/c")) == ("a/b/", "c")
    assert editor.ph(tf.float32, [2], prefix="mine").op.name == "mine"
    assert util.concatenate_unique([1], [2, 1, 3]) == [1, 2, 3]
    with tf.Graph().as_default(), pytest.raises(errors.InvalidArgumentError, match="different graphs"):
        util.check_graphs(t, tf.constant(1.0))
    with pytest.raises(errors.DTypeError, match="Expected"):
        util.make_list_of_op([t])
