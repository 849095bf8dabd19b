"""Definitions of ops as OpDef messages."""

import tfnb as tf


def test_an_operation_says_how_its_op_is_defined():
    with tf.Graph().as_default():
        x = tf.constant([1.0])
        joined = tf.stack([x, x], axis=1).op.op_def
    assert joined.name == "Pack"
    assert [(a.name, a.type_attr, a.number_attr) for a in joined.input_arg] == [("values", "T", "N")]
    assert {a.name: a.type for a in joined.attr} == {"T": "type", "N": "int", "axis": "int"}
    assert not joined.is_stateful


def test_fixed_types_lists_and_references():
    with tf.Graph().as_default():
        queue = tf.FIFOQueue(3, [tf.int32, tf.string])
        dequeue = queue.dequeue()[0].op.op_def
        variable = tf.Variable(1.0)
        assign = variable.initializer.op_def
    assert dequeue.is_stateful
    assert dequeue.output_arg[0].type_list_attr == "component_types"
    assert {a.name: a.type for a in dequeue.attr}["component_types"] == "list(type)"
    assert assign.input_arg[0].is_ref
