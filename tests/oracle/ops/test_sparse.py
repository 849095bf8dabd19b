"""The functions on sparse tensors against tf.compat.v1: the same expression built in both, run in sessions."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tfnb

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tensorflow = pytest.importorskip("tensorflow")
tf1 = tensorflow.compat.v1

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

RNG = np.random.default_rng(7)
A = np.array([[0, 1], [0, 3], [1, 0], [2, 2]], np.int64)
B = np.array([[0, 0], [0, 3], [2, 2]], np.int64)
VA, VB = RNG.uniform(0.5, 2, 4).astype(np.float32), RNG.uniform(-2, 2, 3).astype(np.float32)
D = RNG.uniform(0.5, 2, (3, 4)).astype(np.float32)
E = RNG.uniform(-2, 2, (6, 2)).astype(np.float32)
IDS = np.array([3, 1, 1, 5], np.int64)


def _sparse(tf: Any, at: Any = A, values: Any = VA, shape: Any = (3, 4)) -> Any:
    return tf.SparseTensor(at, tf.constant(values), list(shape))


# name -> expression of (tf, sparse a, sparse b, dense d)
EXPRESSIONS = {
    "matmul": lambda tf, a, b, d: tf.sparse_tensor_dense_matmul(a, d, adjoint_b=True),
    "add": lambda tf, a, b, d: [
        tf.sparse_add(a, b),
        tf.sparse_add(a, b, 1.0),
        tf.sparse_add(a, d),
        tf.sparse_add(d, b),
    ],
    "operators": lambda tf, a, b, d: [a * d, a / d, d * a, a * 2.0],
    "reshape": lambda tf, a, b, d: [tf.sparse_reshape(a, [2, -1]), tf.sparse_reshape(b, [12])],
    "concat": lambda tf, a, b, d: [
        tf.sparse_concat(0, [a, b]),
        tf.sparse_concat(axis=-1, sp_inputs=[a, b, a]),
        tf.sparse_concat(1, [a, tf.sparse_slice(b, [0, 0], [2, 4])], expand_nonconcat_dim=True),
    ],
    "split": lambda tf, a, b, d: tf.sparse_split(sp_input=a, num_split=3, axis=1),
    "slice": lambda tf, a, b, d: tf.sparse_slice(a, [0, 1], [2, 2]),
    "reorder": lambda tf, a, b, d: tf.sparse_reorder(_sparse(tf, A[::-1].copy())),
    "to_dense": lambda tf, a, b, d: [
        tf.sparse_tensor_to_dense(a),
        tf.sparse_tensor_to_dense(b, default_value=7.0),
        tf.sparse_tensor_to_dense(_sparse(tf, A, np.array([b"a", b"b", b"c", b""], object)), default_value=b"-"),
    ],
    "indicator": lambda tf, a, b, d: tf.sparse_to_indicator(_sparse(tf, A, IDS), 6),
    "merge": lambda tf, a, b, d: tf.sparse_merge(_sparse(tf, A, IDS), a, 6),
    "retain": lambda tf, a, b, d: tf.sparse_retain(a, [True, False, True, False]),
    "fill": lambda tf, a, b, d: list(tf.sparse_fill_empty_rows(b, 9.0)),
    "reduce": lambda tf, a, b, d: [
        tf.sparse_reduce_sum(a),
        tf.sparse_reduce_sum(a, axis=1, keepdims=True),
        tf.sparse_reduce_sum(a, [0]),
        tf.sparse_reduce_sum_sparse(a, 1),
        tf.sparse_reduce_max(b, -1),
        tf.sparse_reduce_max_sparse(a, [1]),
    ],
    "softmax": lambda tf, a, b, d: tf.sparse_softmax(a),
    "extremes": lambda tf, a, b, d: [tf.sparse_maximum(a, b), tf.sparse_minimum(a, b)],
    "transpose": lambda tf, a, b, d: [tf.sparse_transpose(a), tf.sparse_transpose(b, [1, 0])],
    "names": lambda tf, a, b, d: [tf.sparse.to_dense(tf.sparse.add(a, b)), tf.sparse.matmul(a, d, adjoint_b=True)],
    "dense": lambda tf, a, b, d: tf.sparse.from_dense(tf.constant([[0, 5], [7, 0]])),
    "mask": lambda tf, a, b, d: tf.sparse_mask(
        tf.IndexedSlices(tf.constant(E), tf.constant([4, 0, 2, 9, 1, 3]), tf.constant([10, 2])), [0, 9]
    ),
    "sparse_matmul": lambda tf, a, b, d: tf.sparse_matmul(d, d, transpose_b=True, a_is_sparse=True),
    "embedding": lambda tf, a, b, d: [
        tf.nn.embedding_lookup_sparse(tf.constant(E), _sparse(tf, A, IDS), w, combiner=c)
        for w in (None, a)
        for c in ("sum", "mean", "sqrtn")
    ],
    "embedding_shards": lambda tf, a, b, d: tf.nn.embedding_lookup_sparse(
        [tf.constant(E[::2]), tf.constant(E[1::2])], _sparse(tf, A, IDS), None, combiner="sum"
    ),
    "embedding_safe": lambda tf, a, b, d: [
        tf.nn.safe_embedding_lookup_sparse(tf.constant(E), _sparse(tf, B, np.array([3, -1, 2], np.int64))),
        tf.nn.safe_embedding_lookup_sparse([tf.constant(E)], _sparse(tf, A, IDS), _sparse(tf, A, VA - 1), default_id=2),
    ],
    "segments": lambda tf, a, b, d: [
        tf.sparse_segment_sum(tf.constant(E), [0, 5, 5], [0, 0, 2]),
        tf.sparse_segment_mean(tf.constant(E), [0, 5, 5], [0, 0, 2], num_segments=4),
        tf.unsorted_segment_mean(tf.constant(E), [0, 1, 0, -1, 3, 1], 5),
        tf.unsorted_segment_sqrt_n(tf.constant(E), [0, 1, 0, 0, 1, 1], 2),
    ],
}


def _flat(value: Any) -> list[np.ndarray]:
    if isinstance(value, (list, tuple)):
        return [x for v in value for x in _flat(v)]
    return [] if value is None else [np.asarray(value)]


def _run(tf: Any, expression: Any) -> list[np.ndarray]:
    with tf.Graph().as_default(), tf.Session() as session:
        return _flat(session.run(expression(tf, _sparse(tf), _sparse(tf, B, VB), tf.constant(D))))


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_values(name):
    ours, theirs = _run(tfnb, EXPRESSIONS[name]), _run(tf1, EXPRESSIONS[name])
    assert len(ours) == len(theirs)
    for got, want in zip(ours, theirs, strict=True):
        assert got.shape == want.shape and got.dtype == want.dtype
        if got.dtype.kind == "f":
            np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-6)
        else:
            np.testing.assert_array_equal(got, want)


# name -> scalar-valued function of (tf, values (4,), dense (3, 4), table (6, 2))
LOSSES = {
    "matmul": lambda tf, v, d, e: tf.sparse_tensor_dense_matmul(tf.SparseTensor(A, v, [3, 4]), d, adjoint_b=True),
    "chain": lambda tf, v, d, e: tf.sparse_reduce_sum(
        tf.sparse_reorder(tf.sparse_softmax(tf.SparseTensor(A, v, [3, 4]) * d)), 0
    ),
    "dense_add": lambda tf, v, d, e: tf.sparse_add(tf.SparseTensor(A, v, [3, 4]), d),
    "to_dense": lambda tf, v, d, e: tf.sparse_tensor_to_dense(
        tf.sparse_slice(tf.sparse_add(tf.SparseTensor(A, v, [3, 4]), tf.SparseTensor(B, v[:3], [3, 4])), [0, 0], [2, 4])
    ),
    "embedding": lambda tf, v, d, e: sum(
        tf.nn.embedding_lookup_sparse(e, tf.SparseTensor(A, IDS, [3, 4]), w, combiner=c)
        for w in (None, tf.SparseTensor(A, v, [3, 4]))
        for c in ("sum", "mean", "sqrtn")
    ),
}


def _gradients(tf: Any, loss: Any) -> list[Any]:
    with tf.Graph().as_default(), tf.Session() as session:
        xs = [tf.constant(x) for x in (VA, D, E)]
        found = tf.gradients(tf.reduce_sum(tf.sin(loss(tf, *xs))), xs)
        found = [None if g is None else tf.convert_to_tensor(g) for g in found]
        values = iter(session.run([g for g in found if g is not None]))
        return [None if g is None else next(values) for g in found]


@pytest.mark.parametrize("name", LOSSES)
def test_gradients(name):
    for got, want in zip(_gradients(tfnb, LOSSES[name]), _gradients(tf1, LOSSES[name]), strict=True):
        assert (got is None) == (want is None)
        if want is not None:
            np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-6)
