"""`Graph.create_op` with the arguments of TensorFlow 1.x."""

from __future__ import annotations

import pytest

import tfnb as tf


def test_types_follow_from_the_inputs():
    graph = tf.get_default_graph()
    a = tf.constant([1, 2])
    op = graph.create_op("Neg", [a], [tf.int32])
    assert op.type == "Neg" and op.name == "Neg" and list(op.inputs) == [a]
    assert graph.create_op("Neg", [a], name="other").name == "other"
    assert graph.create_op("Neg", [a], name="other").name == "other_1"
    with tf.name_scope("scope"):
        assert graph.create_op("Neg", [a]).name == "scope/Neg"
        assert graph.create_op("Neg", [a], name="complete/").name == "complete"
    with tf.Session() as session:
        assert session.run(op.outputs[0]).tolist() == [-1, -2]


def test_attributes_are_messages():
    graph = tf.get_default_graph()
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    attrs = {"transpose_a": tf.AttrValue(b=True), "T": tf.AttrValue(type=tf.float32.as_datatype_enum)}
    product = graph.create_op("MatMul", [x, x], [tf.float32], [tf.float32] * 2, "product", attrs)
    total = graph.create_op("AddN", [x, x, x], [tf.float32], attrs={"N": tf.AttrValue(i=3)})
    first, second = graph.create_op("Split", [tf.constant(0), x], attrs={"num_split": tf.AttrValue(i=2)}).outputs
    assert product.get_attr("transpose_a") is True and not product.get_attr("transpose_b")
    with tf.Session() as session:
        assert session.run(product.outputs[0]).tolist() == [[10.0, 14.0], [14.0, 20.0]]
        assert session.run(total.outputs[0]).tolist() == [[3.0, 6.0], [9.0, 12.0]]
        assert session.run([first, second])[1].tolist() == [[3.0, 4.0]]


def test_scopes_apply_as_to_other_operations():
    graph = tf.get_default_graph()
    a = tf.constant(1.0)
    with tf.device("/cpu:1"), tf.control_dependencies([tf.no_op(name="first")]):
        placed = graph.create_op("Neg", [a])
        free = graph.create_op("Neg", [a], compute_device=False)
    assert "1" in placed.device and free.device == ""
    assert [op.name for op in placed.control_inputs] == ["first"] == [op.name for op in free.control_inputs]
    other = tf.Graph()
    with other.as_default():
        b = tf.constant(2.0)
    assert other.create_op("Neg", [b]).graph is other
    state = tf.Variable(1.0)
    added = graph.create_op("AssignAdd", [state._ref(), a], [tf.float32])
    with tf.Session() as session:
        session.run(state.initializer)
        assert session.run(added.outputs[0]) == 2.0


def test_what_does_not_fit_is_refused_and_adds_nothing():
    graph = tf.get_default_graph()
    a, b = tf.constant(1.0), tf.constant(1)
    before = len(graph.get_operations())
    with pytest.raises(TypeError, match=r"Input #1 is not a tensor: 3"):
        graph.create_op("Add", [a, 3])
    with pytest.raises(ValueError, match="no op is named 'Nothing'"):
        graph.create_op("Nothing", [a])
    with pytest.raises(TypeError, match="int32"):
        graph.create_op("Add", [a, b])
    with pytest.raises(TypeError, match=r"dtypes are \['int32'\], but its tensors are of \['float32'\]"):
        graph.create_op("Neg", [a], [tf.int32])
    with pytest.raises(TypeError, match=r"input_types are \['float32', 'float32'\]"):
        graph.create_op("Neg", [a], input_types=[tf.float32, tf.float32])
    with pytest.raises(ValueError, match="op_def describes 'Add'"):
        graph.create_op("Neg", [a], op_def=tf.constant(1).op.op_def.__class__(name="Add"))
    with pytest.raises(ValueError, match="transpose_c"):
        graph.create_op("MatMul", [a, a], attrs={"transpose_c": tf.AttrValue(b=True)})
    left = [op.name for op in graph.get_operations()[before:] if op.type != "Const"]
    assert left == []
