"""Sparse tensors as variants, which hold the arrays themselves."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors
from tfnb.ops.io.serialized_tensors import DESERIALIZE_SPARSE

X = tf.SparseTensorValue([[0, 1], [1, 0], [1, 2]], np.array([1.0, 2.0, 3.0], np.float32), [2, 3])


def test_variants_carry_a_sparse_tensor():
    one = tf.serialize_sparse(X, out_type=tf.variant)
    many = tf.serialize_many_sparse(X, out_type=tf.variant)
    assert one.dtype == many.dtype == tf.variant
    with tf.Session() as session:
        indices, values, shape = session.run(DESERIALIZE_SPARSE(one, dtype=tf.float32))
        assert (
            indices.tolist() == [[0, 1], [1, 0], [1, 2]] and values.tolist() == [1, 2, 3] and shape.tolist() == [2, 3]
        )
        indices, values, shape = session.run(DESERIALIZE_SPARSE(many, dtype=tf.float32))
        assert (
            indices.tolist() == [[0, 1], [1, 0], [1, 2]] and values.tolist() == [1, 2, 3] and shape.tolist() == [2, 3]
        )
        pairs = session.run(DESERIALIZE_SPARSE(tf.stack([[one, one]]), dtype=tf.float32))
        assert pairs[0].tolist() == [[0, k, *at] for k in (0, 1) for at in X.indices] and pairs[2].tolist() == [
            1,
            2,
            2,
            3,
        ]
        with pytest.raises(errors.InvalidArgumentError, match="needs values of int32, got variants"):
            session.run(DESERIALIZE_SPARSE(one, dtype=tf.int32))


def test_sparse_tensors_of_other_ranks_are_counted_as_they_are():
    with tf.Graph().as_default(), tf.Session() as sess:
        parts = [tf.SparseTensor([[0] * n], [1.0], [2] * n) for n in (2, 3)]
        together = tf.deserialize_many_sparse(tf.stack([tf.serialize_sparse(part) for part in parts]), tf.float32)
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"Tensor\[1\] was: 2 but rank of SparseTensor\[1\] is: 3"
        ):
            sess.run(together)
