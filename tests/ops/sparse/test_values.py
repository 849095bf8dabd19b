"""Values of sparse tensors: quotients, and sparse scalars as dense ones."""

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
