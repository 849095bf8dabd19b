"""Shapes become concrete; what cannot be is an error that names the node."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from runner import compile_graph

import tfnb as tf
from tfnb.codegen.program import DeviceFacts, Launch, Slot
from tfnb.errors import ShapeError, UnimplementedError


def test_shapes_that_do_not_fit_name_the_node():
    with tf.Graph().as_default() as graph:
        a, b = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [None, 3])
        y = tf.add(a, b, name="here")
    with pytest.raises(ShapeError) as error:
        compile_graph(graph, {a: np.zeros((2, 3)), b: np.zeros((4, 3))}, [y])
    assert error.value.node_name == "here"


def test_an_op_of_the_host_is_refused():
    with tf.Graph().as_default() as graph:
        a = tf.placeholder(tf.float32, [3])
        y = tf.where(a > 0.0, name="positions")
    with pytest.raises(UnimplementedError) as error:
        compile_graph(graph, {a: np.zeros(3)}, [y])
    assert error.value.node_name == "positions"


def test_double_needs_double():
    with tf.Graph().as_default() as graph:
        a = tf.placeholder(tf.float64, [3])
        y = a + 1.0
    with pytest.raises(UnimplementedError, match="double"):
        compile_graph(graph, {a: np.zeros(3)}, [y], facts=DeviceFacts(fp64=False))


def test_what_depends_on_shapes_alone_is_no_kernel():
    with tf.Graph().as_default() as graph:
        a = tf.placeholder(tf.float32, [None, None])
        n = tf.shape(a)[0]
        y = tf.reshape(a, [n * tf.shape(a)[1]]) + 1.0
        z = tf.cast(tf.size(a), tf.float32) * 2.0
    p = compile_graph(graph, {a: np.zeros((4, 6))}, [y, z])
    assert p.outputs[0].shape == (24,)
    assert len(p.steps) == 2 and float(p.consts[0]) == 48.0


def test_without_folding_the_device_computes_what_is_no_whole_number():
    """Or a sine would be the host's or the device's by who else is in the cluster."""
    with tf.Graph().as_default() as graph:
        a = tf.placeholder(tf.float32, [3])
        sine = tf.sin(tf.constant([0.5, 1.5, 2.5])) * a
        n = tf.constant(2) * 3
        half = tf.cast(tf.floor(tf.constant(3.5)), tf.int32)  # a shape needs it
        y = tf.tile(a, [half])
    for optimize, nodes in ((True, ["Mul", "Tile"]), (False, ["Sin", "Mul", "Tile"])):
        p = compile_graph(graph, {a: np.zeros(3)}, [sine, n, y], optimize=optimize)
        assert [graph.get_operation_by_name(s.label).type for s in p.steps if isinstance(s, Launch)] == nodes
        assert p.outputs[2].shape == (9,) and int(p.consts[-1]) == 6


def test_rows_of_a_table_count_not_the_table():
    """How much a launch touches decides whether it is worth a hand-over to other threads."""
    with tf.Graph().as_default() as graph:
        table = tf.Variable(np.zeros((5000, 64), np.float32))
        ids = tf.placeholder(tf.int32, [None])
        rows = tf.gather(table, ids)
        whole = rows + tf.reduce_sum(table)
    for fetch, used in ((rows, {3 * 64 * 4}), (whole, {3 * 64 * 4, 5000 * 64 * 4})):
        p = compile_graph(graph, {ids: np.zeros(3, np.int32)}, [fetch], {table.op: np.zeros((5000, 64), np.float32)})
        slots = [a for s in p.steps if isinstance(s, Launch) for a in s.args if isinstance(a, Slot)]
        assert {a.nbytes for a in slots if a.kind == "variable"} == used


def test_a_fed_axis_specialises():
    with tf.Graph().as_default() as graph:
        a, axis = tf.placeholder(tf.float32, [3, 4]), tf.placeholder(tf.int32, [])
        y = tf.reduce_sum(a, axis)
    for k, shape in ((0, (4,)), (1, (3,)), (-1, (3,))):
        assert compile_graph(graph, {a: np.zeros((3, 4)), axis: k}, [y]).outputs[0].shape == shape


def test_a_long_vector_of_whole_numbers_is_data():
    """A constant index into a fed vector: the vector is no shape, whose 10 million sizes would be listed one by one."""
    with tf.Graph().as_default() as graph:
        a = tf.placeholder(tf.int32, [None])
        y = tf.gather(a, tf.constant([2, 0], tf.int64))
    tracemalloc.start()
    p = compile_graph(graph, {a: np.broadcast_to(np.int32(7), 10_000_000)}, [y])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert p.outputs[0].shape == (2,) and peak < 8 << 20


def test_a_long_vector_is_refused_as_a_shape():
    with tf.Graph().as_default() as graph:
        a = tf.placeholder(tf.int32, [None])
        y = tf.fill(a, 1.0, name="here")
    with pytest.raises(ShapeError, match="300 dimensions; at most 254") as error:
        compile_graph(graph, {a: np.ones(300, np.int32)}, [y])
    assert error.value.node_name == "here"
