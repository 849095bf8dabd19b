"""Sparse tensors and indexed slices through a session: fetched, fed, branched on."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

pytestmark = pytest.mark.opencl


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as s:
        yield s


def equal(got, indices, values, shape):
    assert isinstance(got, tf.SparseTensorValue)
    assert got.indices.tolist() == indices and got.indices.dtype == np.int64
    assert got.values.tolist() == values and got.dense_shape.tolist() == shape


def test_fetch(sess):
    sp = tf.SparseTensor([[0, 1], [2, 0]], [1.5, -2.0], [3, 2])
    equal(sess.run(sp), [[0, 1], [2, 0]], [1.5, -2.0], [3, 2])
    equal(sess.run({"a": [sp, sp.values]})["a"][0], [[0, 1], [2, 0]], [1.5, -2.0], [3, 2])
    equal(sp.eval(), [[0, 1], [2, 0]], [1.5, -2.0], [3, 2])
    assert sp.dtype is tf.float32 and sp.get_shape() == tf.TensorShape([3, 2])


def test_the_old_name_of_the_shape(sess):
    equal(sess.run(tf.SparseTensor(indices=[[4]], values=[b"x"], shape=[6])), [[4]], [b"x"], [6])


def test_feed_as_value_or_tuple_or_by_its_tensors(sess):
    sp = tf.sparse_placeholder(tf.float32)
    double = tf.SparseTensor(sp.indices, sp.values * 2.0, sp.dense_shape)
    value = tf.SparseTensorValue(np.array([[1, 0]]), [3.0], [2, 2])
    feeds = (
        {sp: value},
        {sp: tuple(value)},
        dict(zip((sp.indices, sp.values, sp.dense_shape), value, strict=True)),
    )
    for feed in feeds:
        equal(sess.run(double, feed), [[1, 0]], [6.0], [2, 2])
    call = sess.make_callable(double, [sp])
    equal(call(value), [[1, 0]], [6.0], [2, 2])


def test_placeholder_with_shapes(sess):
    assert tf.sparse_placeholder(tf.int32, [None, 3]).shape == tf.TensorShape([None, 3])
    sp = tf.sparse_placeholder(tf.int32, [2, 3], name="sp")
    assert sp.shape == tf.TensorShape([2, 3]) and sp.values.name == "sp/values:0"
    assert sp.indices.shape == tf.TensorShape([None, 2])
    equal(sess.run(sp, {sp: ([[0, 0]], [7], [2, 3])}), [[0, 0]], [7], [2, 3])


def test_indexed_slices_are_fed_and_fetched(sess):
    table = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    grad = tf.gradients(tf.reduce_sum(tf.gather(table, [1, 1])), table)[0]
    got = sess.run(grad)
    assert got.indices.tolist() == [1, 1] and got.values.tolist() == [[1, 1], [1, 1]]
    dense = tf.convert_to_tensor(tf.IndexedSlices(grad.values, grad.indices, grad.dense_shape))
    fed = sess.run(dense, {grad: (np.ones((2, 2)), [0, 0], [2, 2])})
    assert fed.tolist() == [[2, 2], [0, 0]]


def test_a_branch_may_return_one(sess):
    p = tf.placeholder(tf.bool)
    a, b = (tf.SparseTensor([[i]], [float(i)], [4]) for i in (1, 2))
    chosen = tf.cond(p, lambda: a, lambda: b)
    equal(sess.run(chosen, {p: True}), [[1]], [1.0], [4])
    equal(sess.run(chosen, {p: False}), [[2]], [2.0], [4])


def test_what_does_not_fit(sess):
    with pytest.raises(errors.ShapeError, match=r"\(2, 1\).*\(3,\)"):
        tf.SparseTensor([[0], [1]], [1.0, 2.0, 3.0], [5])
    with pytest.raises(errors.ShapeError, match="dense_shape"):
        tf.SparseTensor([[0], [1]], [1.0, 2.0], [5, 5])
    with pytest.raises(errors.DTypeError, match=r"int64.*int32"):
        tf.SparseTensor(tf.constant([[0]]), [1.0], [5])
    with pytest.raises(errors.InvalidArgumentError, match="once"):
        tf.SparseTensor([[0]], [1.0])
    sp = tf.sparse_placeholder(tf.float32)
    for bad in (1.0, ([[0]], [1.0])):
        with pytest.raises(errors.DTypeError, match="SparseTensorValue"):
            sess.run(sp, {sp: bad})
    with pytest.raises(errors.DTypeError, match="SparseTensor"):
        tf.add(sp, 1.0)


def test_conversion():
    with tf.Graph().as_default():
        value = tf.SparseTensorValue([[0]], [1.0], [2])
        sp = tf.convert_to_tensor_or_sparse_tensor(value)
        assert isinstance(sp, tf.SparseTensor) and tf.convert_to_tensor_or_sparse_tensor(sp) is sp
        assert tf.convert_to_tensor_or_sparse_tensor([1, 2]).dtype is tf.int32
        with pytest.raises(errors.DTypeError, match="float32"):
            tf.convert_to_tensor_or_sparse_tensor(value, tf.int32)
        assert tf.convert_to_tensor_or_indexed_slices(sp, tf.float32) is sp
        with pytest.raises(errors.DTypeError, match="requested dtype int32 for Tensor with dtype float32"):
            tf.convert_to_tensor_or_indexed_slices(sp, tf.int32)


def test_a_known_shape_need_not_be_fed(sess):
    sp = tf.sparse_placeholder(tf.float32, [2, 3])
    dense = tf.sparse_tensor_to_dense(sp)
    assert sess.run(dense, {sp: ([[0, 1]], [5.0])}).tolist() == [[0, 5, 0], [0, 0, 0]]
    assert sess.run(dense, {sp: tf.SparseTensorValue([[1, 2]], [4.0], [2, 3])}).tolist() == [[0, 0, 0], [0, 0, 4]]
