"""Values of sparse tensors: quotients, and sparse scalars as dense ones."""

import numpy as np
import pytest

import tfnb as tf


def test_integers_are_divided_as_floats():
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.SparseTensor([[0], [2]], [3, 5], [4])
        quotient = x / tf.constant([2, 2, 2, 2])
        assert quotient.dtype is tf.float64
        assert sess.run(quotient).values.tolist() == [1.5, 2.5]
        assert (tf.SparseTensor([[0]], [3.0], [4]) / 2.0).dtype is tf.float32


def test_a_sparse_scalar_becomes_dense():
    with tf.Graph().as_default(), tf.Session() as sess:
        total = tf.sparse_reduce_sum_sparse(tf.SparseTensor([[0, 0], [1, 1]], [1, 2], [2, 3]), [1, 0])
        assert sess.run(tf.sparse_tensor_to_dense(total)) == 3
        assert sess.run(tf.sparse_to_dense(tf.zeros([0, 0], tf.int64), tf.zeros([0], tf.int64), [0][:0], 7)) == 7


@pytest.mark.parametrize(("adjoint_a", "adjoint_b"), [(False, False), (True, False), (False, True), (True, True)])
def test_complex_products_and_sums_with_dense_tensors(adjoint_a, adjoint_b):
    rng = np.random.default_rng(0)
    a = (rng.random((3, 3)) + 1j * rng.random((3, 3))).astype(np.complex64)
    a[0, 1] = 0
    b = (rng.random((3, 3)) - 1j * rng.random((3, 3))).astype(np.complex64)
    where = np.argwhere(a)
    with tf.Graph().as_default(), tf.Session() as sess:
        values, dense = tf.placeholder(tf.complex64, [len(where)]), tf.placeholder(tf.complex64, [3, 3])
        sparse = tf.SparseTensor(where, values, [3, 3])
        product = tf.sparse_tensor_dense_matmul(sparse, dense, adjoint_a, adjoint_b)
        full = tf.matmul(tf.sparse_tensor_to_dense(sparse), dense, adjoint_a=adjoint_a, adjoint_b=adjoint_b)
        slopes = [tf.gradients(tf.real(x) * 2.0 + tf.imag(x), [values, dense]) for x in (product, full)]
        total = tf.sparse_add(sparse, dense)
        feeds = {values: a[tuple(where.T)], dense: b}
        x, y, (got, expected), s = sess.run([product, full, slopes, total], feeds)
    np.testing.assert_allclose(x, y, rtol=1e-5)
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    np.testing.assert_allclose(s, a + b, rtol=1e-6)


@pytest.mark.parametrize("index", [[-1, 0], [1, 3]])
@pytest.mark.parametrize("is_constant", [True, False])
def test_no_value_of_a_sparse_tensor_is_lost_in_a_sum(index, is_constant):
    with tf.Graph().as_default(), tf.Session() as sess:
        dense = tf.ones([2, 2]) if is_constant else tf.random_uniform([2, 2])
        total = tf.sparse_add(tf.SparseTensorValue([index], np.float32([1]), [2, 2]), dense)
        with pytest.raises(tf.errors.InvalidArgumentError, match="invalid index"):
            sess.run(total)


def test_a_sum_with_a_dense_tensor_does_not_broadcast():
    with tf.Graph().as_default(), tf.Session() as sess:
        total = tf.sparse_add(tf.SparseTensor([[0, 0]], [1.0], [1, 1]), tf.ones([2, 2]))
        with pytest.raises(tf.errors.InvalidArgumentError, match="differ"):
            sess.run(total)


def test_sorting_and_adding_keep_indices_beyond_the_shape():
    """TensorFlow compares such indices only; programs with one word too few in `vocab_size` rely on it."""
    with tf.Graph().as_default(), tf.Session() as sess:
        beyond = tf.SparseTensor([[1, 4], [0, 5]], [1.0, 2.0], [2, 3])
        ordered, total = sess.run([tf.sparse_reorder(beyond), tf.sparse_add(tf.sparse_reorder(beyond), beyond)])
        assert ordered.indices.tolist() == total.indices.tolist() == [[0, 5], [1, 4]]
        assert (ordered.values.tolist(), total.values.tolist()) == ([2, 1], [4, 2])
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[-1, 0\]"):
            sess.run(tf.sparse_reorder(tf.SparseTensor([[-1, 0]], [1.0], [2, 2])))


@pytest.mark.parametrize(
    ("index", "adjoint", "message"),
    [([0, 10], False, r"k \(10\) from index\[1,1\]"), ([10, 0], False, r"m \(10\) from index\[1,0\]")]
    + [([0, 10], True, r"m \(10\) from index\[1,1\]"), ([10, 0], True, r"k \(10\) from index\[1,0\]")],
)
def test_a_constant_index_outside_of_a_product_is_named(index, adjoint, message):
    with tf.Graph().as_default(), tf.Session() as sess:
        sparse = tf.SparseTensor([[0, 0], index], [1.0, 2.0], [2, 2])
        for dense in (tf.ones([2, 3]), tf.random_uniform([2, 3])):
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                sess.run(tf.sparse_tensor_dense_matmul(sparse, dense, adjoint))


def test_rows_of_a_sparse_placeholder_without_a_shape():
    """The rank is known in the step only; values and gradients are those of the same tensor with a known shape."""
    rng = np.random.default_rng(0)
    where = np.argwhere(rng.random((3, 4, 5)) < 0.4)
    values, weights = rng.standard_normal(len(where)).astype("f"), rng.standard_normal(len(where)).astype("f")
    with tf.Graph().as_default(), tf.Session() as sess:
        fed, at, axes = tf.placeholder(tf.float32, [None]), tf.sparse_placeholder(tf.float32), tf.placeholder(tf.int32)
        results = []
        for shape in (at.dense_shape, tf.constant([3, 4, 5], tf.int64)):
            x = tf.SparseTensor(at.indices, fed, shape)
            sums = [tf.sparse_reduce_sum(x, axis) for axis in (axes, [-1], 0, [0, 2], None)]
            soft = tf.sparse_softmax(x).values
            total = tf.reduce_sum(soft * weights) + tf.add_n([tf.reduce_sum(tf.sin(s)) for s in sums])
            turned = tf.sparse_transpose(x)
            results.append([soft, *sums, turned.indices, turned.values, *tf.gradients(total, [fed])])
        feeds = {at: tf.SparseTensorValue(where, values, [3, 4, 5]), fed: values}
        for reduced in ([1, -1], [0], np.zeros(0)):
            unknown, known = sess.run(results, {**feeds, axes: reduced})
            for one, other in zip(unknown, known, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-6)


def test_a_slice_by_arrays_of_another_dtype():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.SparseTensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 3])
        part = tf.sparse_slice(x, np.array([0, 0], np.int32), np.array([1, 2], np.int32))
        assert session.run(part.values).tolist() == [1]
