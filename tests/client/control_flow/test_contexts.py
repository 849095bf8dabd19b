"""What belongs to a branch or loop: uses from elsewhere, feeds, fetches, and parts of indexed and sparse tensors."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf


def of_a_loop(make):
    made = []

    def body(i):
        made.append(make(i))
        return i + tf.reduce_sum(made[0])

    tf.while_loop(lambda i: i < 10, body, [tf.constant(0)])
    return made[0]


@pytest.mark.parametrize("make", [lambda i: tf.constant(1), lambda i: i * 2])
def test_a_tensor_of_a_loop_is_refused_outside(make):
    inside = of_a_loop(make)
    name = inside.op.name
    with pytest.raises(ValueError, match=f"Cannot use '{name}' as input to 'Add' because '{name}' is in a while loop"):
        tf.add(1, inside)
    with pytest.raises(ValueError, match=f"Cannot use '{name}' as input to 'cond/Add' because '{name}' is in a while"):
        tf.cond(tf.less(1, 2), lambda: tf.add(1, inside), lambda: tf.constant(0))
    with pytest.raises(ValueError, match="because they are in different while loops"):
        tf.while_loop(lambda i: i < 10, lambda i: tf.add(1, inside), [tf.constant(0)])
    with pytest.raises(ValueError, match=r"in different while loops|is in a while loop"):
        tf.while_loop(lambda i: i < 10, lambda i: inside, [tf.constant(0)])


def test_a_tensor_of_a_loop_around_is_taken():
    def body(i):
        one = tf.identity(i) - i + 1
        return tf.while_loop(lambda j: j < i + 3, lambda j: j + one, [i])

    with tf.Session() as sess:
        assert sess.run(tf.while_loop(lambda i: i < 5, body, [tf.constant(0)])) == 6


def test_feeds_and_fetches():
    x, start = tf.placeholder(tf.float32), tf.constant(0)
    tf.cond(tf.constant(True), lambda: x + 2, lambda: x + 0)
    tf.while_loop(lambda i: i < 3, lambda i: i + 1, [start])
    graph = tf.get_default_graph()
    types = {}
    for op in graph.get_operations():
        types.setdefault(op.type, op)
    switch, enter = types["Switch"], types["Enter"].outputs[0]
    assert not graph.is_fetchable(switch) and not graph.is_feedable(enter) and graph.is_feedable(start)
    with tf.Session() as sess:
        with pytest.raises(ValueError, match="has been marked as not fetchable"):
            sess.run(switch.outputs[0], {x: 3.0})
        with pytest.raises(ValueError, match="may not be fed"):
            sess.run(start, {enter: 3})


def test_indexed_slices_are_switched_and_merged():
    pred = tf.placeholder(tf.bool, [])
    slices = tf.IndexedSlices(tf.constant([1, 2]), tf.constant([0, 4]))
    no, yes = tf.control_flow_ops.switch(slices, pred)
    merged, index = tf.control_flow_ops.merge([no, yes])
    with tf.Session() as sess:
        values, indices, number = sess.run([merged.values, merged.indices, index], {pred: True})
    assert (values.tolist(), indices.tolist(), number) == ([1, 2], [0, 4], 1)
    dense = tf.IndexedSlices(tf.constant([1]), tf.constant([0]), tf.constant([3]))
    with pytest.raises(ValueError, match="dense_shape"):
        tf.control_flow_ops.merge([no, dense])


def test_the_invariant_of_a_sparse_tensor_is_its_rank():
    x = tf.SparseTensor(np.int64([[0, 1], [3, 0]]), np.float32([2.0, 4.0]), np.int64([10, 2]))

    def loop(shape):
        body = lambda i, s: (i + 1, tf.SparseTensor(s.indices, s.values * 2.0, s.dense_shape))  # noqa: E731
        return tf.while_loop(lambda i, s: i < 2, body, [tf.constant(0), x], [tf.TensorShape([]), shape])[1]

    assert loop(tf.TensorShape([2])).dense_shape.shape == [2]
    result = loop(tf.TensorShape([None]))
    assert result.dense_shape.shape.as_list() == [None]
    with pytest.raises(ValueError, match="is not compatible with"):
        loop(tf.TensorShape([5]))
    with pytest.raises(ValueError, match="a shape with 1 dimension"):
        loop(tf.TensorShape([10, 2]))
    with tf.Session() as sess:
        assert sess.run(result).values.tolist() == [8.0, 16.0]
