"""Operations under the names of earlier graphs: queues, readers, tables, stacks, accumulators, tensor arrays."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf

raw = tf.raw_ops


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as s:
        yield s


@pytest.mark.parametrize("kind", ["FIFOQueue", "PaddingFIFOQueue", "RandomShuffleQueue"])
def test_a_queue(sess, kind):
    queue = getattr(raw, kind)(component_types=[tf.float32], shapes=[[]])
    put = raw.QueueEnqueueMany(handle=queue, components=[np.float32([1, 2, 3])])
    one = raw.QueueEnqueue(handle=queue, components=[np.float32(4)])
    size, closed = raw.QueueSize(handle=queue), raw.QueueIsClosed(handle=queue)
    (many,) = raw.QueueDequeueMany(handle=queue, n=2, component_types=[tf.float32])
    (rest,) = raw.QueueDequeueUpTo(handle=queue, n=5, component_types=[tf.float32])
    sess.run(put)
    sess.run(one)
    assert (sess.run(size), sess.run(closed)) == (4, False)
    first = sess.run(many)
    sess.run(raw.QueueClose(handle=queue))
    assert sess.run(closed)
    assert sorted([*first, *sess.run(rest)]) == [1, 2, 3, 4]


def test_a_priority_queue(sess):
    queue = raw.PriorityQueue(component_types=[tf.string], shapes=[[]])
    put = raw.QueueEnqueueMany(handle=queue, components=[np.int64([5, 1]), ["late", "early"]])
    _, text = raw.QueueDequeue(handle=queue, component_types=[tf.int64, tf.string])
    sess.run(put)
    assert sess.run(text) == b"early"


def test_a_reader(sess, tmp_path):
    path = tmp_path / "lines"
    path.write_text("one\ntwo\n")
    queue = raw.FIFOQueue(component_types=[tf.string], shapes=[[]])
    reader = raw.TextLineReader()
    _, value = raw.ReaderRead(reader_handle=reader, queue_handle=queue)
    sess.run(raw.QueueEnqueue(handle=queue, components=[str(path)]))
    assert [sess.run(value), sess.run(value)] == [b"one", b"two"]
    assert sess.run(raw.ReaderNumRecordsProduced(reader_handle=reader)) == 2
    sess.run(raw.ReaderReset(reader_handle=reader))
    assert sess.run(raw.ReaderNumRecordsProduced(reader_handle=reader)) == 0


def test_a_reader_of_fixed_lengths(sess, tmp_path):
    path = tmp_path / "records"
    path.write_bytes(b"headaabb")
    queue = raw.FIFOQueue(component_types=[tf.string], shapes=[[]])
    reader = raw.FixedLengthRecordReader(record_bytes=2, header_bytes=4)
    _, value = raw.ReaderRead(reader_handle=reader, queue_handle=queue)
    sess.run(raw.QueueEnqueue(handle=queue, components=[str(path)]))
    assert [sess.run(value), sess.run(value)] == [b"aa", b"bb"]


def test_a_static_table(sess):
    table = raw.HashTable(key_dtype=tf.string, value_dtype=tf.int64)
    found = raw.LookupTableFind(table_handle=table, keys=["b", "z"], default_value=np.int64(-1))
    sess.run(raw.InitializeTable(table_handle=table, keys=["a", "b"], values=np.int64([3, 4])))
    assert sess.run(found).tolist() == [4, -1]
    assert sess.run(raw.LookupTableSize(table_handle=table)) == 2


def test_importing_replaces_the_entries_of_a_mutable_table(sess):
    table = raw.MutableHashTable(key_dtype=tf.int64, value_dtype=tf.float32)
    keys, values = raw.LookupTableExport(table_handle=table, Tkeys=tf.int64, Tvalues=tf.float32)
    entries = {"table_handle": table, "values": np.float32([7])}
    sess.run(raw.LookupTableInsert(keys=np.int64([1]), **entries))
    sess.run(raw.LookupTableImport(keys=np.int64([2]), **entries))
    assert [x.tolist() for x in sess.run([keys, values])] == [[2], [7]]


def test_a_stack(sess):
    stack = raw.Stack(elem_type=tf.float32)
    pushed = raw.StackPush(handle=stack, elem=np.float32([1, 2]))
    with tf.control_dependencies([pushed]):
        popped = raw.StackPop(handle=stack, elem_type=tf.float32)
    assert sess.run(popped).tolist() == [1, 2]


def test_an_accumulator(sess):
    acc = raw.ConditionalAccumulator(dtype=tf.float32, shape=[2])
    sess.run(raw.AccumulatorSetGlobalStep(handle=acc, new_global_step=3))
    for step, value in ((2, 9.0), (3, 1.0), (4, 3.0)):
        sess.run(raw.AccumulatorApplyGradient(handle=acc, local_step=step, gradient=np.full(2, value, np.float32)))
    assert sess.run(raw.AccumulatorNumAccumulated(handle=acc)) == 2
    taken = raw.AccumulatorTakeGradient(handle=acc, num_required=2, dtype=tf.float32)
    assert sess.run(taken).tolist() == [2, 2]


@pytest.mark.parametrize("version", ["", "V2"])
def test_a_tensor_array_and_its_gradient(sess, version):
    def op(name, **arguments):
        return getattr(raw, f"TensorArray{name}{version}")(**arguments)

    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    handle = op("", size=2, dtype=tf.float32)
    flow = op("Scatter", handle=handle, indices=[0, 1], value=x, flow_in=tf.constant(0.0))
    rows = op("Gather", handle=handle, indices=[1, 0], flow_in=flow, dtype=tf.float32)
    (grad,) = tf.gradients(rows[0] * [5.0, 6.0], x)
    np.testing.assert_array_equal(sess.run(rows), [[3, 4], [1, 2]])
    np.testing.assert_array_equal(sess.run(grad), [[0, 0], [5, 6]])
    assert sess.run(op("Size", handle=handle, flow_in=flow)) == 2


def test_a_graph_of_the_time_comes_back_from_a_file(sess):
    queue = raw.FIFOQueue(component_types=[tf.int32], shapes=[[]], name="queue")
    raw.QueueEnqueue(handle=queue, components=[7], name="put")
    raw.QueueDequeue(handle=queue, component_types=[tf.int32], name="get")
    saved = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default() as graph, tf.Session() as other:
        tf.import_graph_def(saved, name="")
        other.run(graph.get_operation_by_name("put"))
        assert other.run("get:0") == 7


def test_eigenvalues_above_eigenvectors(sess):
    x = tf.constant([[2.0, 1.0], [1.0, 3.0]])
    packed = raw.SelfAdjointEig(input=x)
    e, v = tf.self_adjoint_eig(x)
    np.testing.assert_allclose(sess.run(packed), np.concatenate([[sess.run(e)], sess.run(v)]), rtol=1e-6)
    grads = sess.run([tf.gradients(packed[0, 1], x)[0], tf.gradients(e[1], x)[0]])
    np.testing.assert_allclose(*grads, rtol=1e-6)
