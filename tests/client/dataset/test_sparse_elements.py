"""Data sets whose elements have sparse tensors. Values are compared with TensorFlow's in tests/oracle."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

pytestmark = pytest.mark.opencl


def diagonal(n, dtype=tf.float32):
    """n x n, with i + 1 at (i, i)."""
    places = tf.stack([tf.range(n), tf.range(n)], 1)
    size = tf.stack([n, n])
    return tf.SparseTensor(tf.cast(places, tf.int64), tf.cast(tf.range(1, n + 1), dtype), tf.cast(size, tf.int64))


def elements(dataset):
    """Every element; sparse tensors as dense arrays."""
    found = []
    item = dataset.make_one_shot_iterator().get_next()
    with tf.Session() as session:
        while True:
            try:
                found.append(session.run(item))
            except errors.OutOfRangeError:
                return found


def dense(value):
    found = np.zeros(value.dense_shape, value.values.dtype)
    found[tuple(value.indices.T)] = value.values
    return found


def test_made_by_a_function_batched_and_taken_apart():
    numbers = tf.data.Dataset.range(1, 4)
    data = numbers.map(lambda i: (i, diagonal(tf.cast(i, tf.int32))))
    assert data.output_classes == (tf.Tensor, tf.SparseTensor)
    assert data.output_types == (tf.int64, tf.float32)
    assert data.output_shapes[1].ndims == 2
    batches = data.batch(2)
    first, second = elements(batches)
    assert first[0].tolist() == [1, 2] and first[1].dense_shape.tolist() == [2, 2, 2]
    np.testing.assert_array_equal(dense(first[1]), [np.diag([1, 0]), np.diag([1, 2])])
    np.testing.assert_array_equal(dense(second[1]), [np.diag([1, 2, 3])])
    apart = [e[1] for e in elements(batches.unbatch())]
    assert [v.dense_shape.tolist() for v in apart] == [[2, 2], [2, 2], [3, 3]]
    np.testing.assert_array_equal(dense(apart[1]), np.diag([1, 2]))
    twice = elements(data.batch(1).batch(3))[0][1]
    assert twice.dense_shape.tolist() == [3, 1, 3, 3]


def test_functions_get_sparse_tensors():
    data = tf.data.Dataset.range(1, 5).map(lambda i: {"x": diagonal(tf.cast(i, tf.int32))})
    kept = data.filter(lambda e: tf.equal(tf.sparse_reduce_sum(e["x"]) % 2, 0)).map(lambda e: e["x"] * 2.0)
    assert [dense(v).sum() for v in elements(kept)] == [12, 20]
    sums = data.flat_map(lambda e: tf.data.Dataset.from_tensors(tf.sparse_reduce_sum(e["x"])))
    assert elements(sums) == [1, 3, 6, 10]


def test_from_tensors_slices_and_rows():
    whole = tf.SparseTensor([[0, 1], [2, 0], [2, 3]], tf.constant(["a", "b", "c"]), [3, 4])
    (one,) = elements(tf.data.Dataset.from_tensors({"s": whole, "n": 7}))
    assert one["n"] == 7 and one["s"].values.tolist() == [b"a", b"b", b"c"]
    rows = elements(tf.data.Dataset.from_tensor_slices((whole, [10, 20, 30])))
    assert [(r[0].indices.tolist(), r[0].values.tolist(), int(r[1])) for r in rows] == [
        ([[1]], [b"a"], 10),
        ([], [], 20),
        ([[0], [3]], [b"b", b"c"], 30),
    ]
    dataset = tf.data.Dataset.from_sparse_tensor_slices(whole)
    assert dataset.output_types == (tf.int64, tf.string, tf.int64)
    found = elements(dataset)
    assert [[x.tolist() for x in e] for e in found] == [
        [[[1]], [b"a"], [4]],
        [[], [], [4]],
        [[[0], [3]], [b"b", b"c"], [4]],
    ]


def test_every_transformation_passes_them_on(tmp_path):
    data = tf.data.Dataset.range(1, 4).map(lambda i: diagonal(tf.cast(i, tf.int32)))
    assert [v.values.size for v in elements(data.repeat(2).shuffle(10, seed=1).prefetch(1))].count(3) == 2
    assert [v.values.size for v in elements(data.concatenate(data).skip(2).take(2))] == [3, 1]
    assert [(v[0].values.size, int(v[1])) for v in elements(tf.data.Dataset.zip((data, tf.data.Dataset.range(2))))] == [
        (1, 0),
        (2, 1),
    ]
    cached = data.cache(str(tmp_path / "cache")).repeat(2)
    assert [v.values.size for v in elements(cached)] == [1, 2, 3] * 2
    grouped = data.apply(tf.contrib.data.group_by_window(lambda v: tf.size(v.values) % 2, lambda key, d: d.batch(2), 2))
    assert [v.dense_shape.tolist() for v in elements(grouped)] == [[2, 3, 3], [1, 2, 2]]


def test_iterators_of_a_structure():
    data = tf.data.Dataset.range(1, 3).map(lambda i: diagonal(tf.cast(i, tf.int32)))
    iterator = tf.data.Iterator.from_structure(
        data.output_types, data.output_shapes, output_classes=data.output_classes
    )
    begin, item = iterator.make_initializer(data), iterator.get_next()
    with tf.Session() as session:
        session.run(begin)
        assert session.run(item).values.tolist() == [1]
        assert session.run(tf.sparse_tensor_to_dense(item)).tolist() == [[1, 0], [0, 2]]
    with pytest.raises(errors.DTypeError):
        iterator.make_initializer(tf.data.Dataset.from_tensors([[1.0]]))


def test_what_is_refused():
    data = tf.data.Dataset.range(1, 3).map(lambda i: diagonal(tf.cast(i, tf.int32)))
    with pytest.raises(errors.DTypeError, match="padded sparse"):
        data.padded_batch(2, [None, None])
    with pytest.raises(errors.ShapeError):
        tf.data.Dataset.from_tensor_slices(tf.SparseTensor([[0]], [1.0], [3]))
    with pytest.raises(errors.DTypeError):
        tf.data.Dataset.from_sparse_tensor_slices(tf.zeros([2, 2]))
    unordered = tf.SparseTensor([[1, 0], [0, 0]], [1.0, 2.0], [2, 2])
    with pytest.raises(errors.UnimplementedError, match="out of order"):
        elements(tf.data.Dataset.from_sparse_tensor_slices(unordered))
    mixed = tf.data.Dataset.range(1, 3).map(lambda i: tf.SparseTensor([[0]], [1.0], tf.stack([i])))
    other = tf.data.Dataset.from_tensors(diagonal(2)).concatenate(mixed)
    with pytest.raises(errors.InvalidArgumentError, match="Inconsistent rank"):
        elements(other.batch(3))
