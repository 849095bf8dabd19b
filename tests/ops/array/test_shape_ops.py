"""What the graph knows of shapes before it runs: through `tf.shape`, slices, packing, casts and reshapes of shapes."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ops import CATALOG


@pytest.fixture
def batch():
    """A batch of unknown size of images of known size."""
    with tf.Graph().as_default():
        yield tf.placeholder(tf.float32, [None, 28, 28])


SHAPES = {
    "part of a shape": (
        lambda x: tf.reshape(x, [-1, tf.shape(x)[1] * tf.shape(x)[2]]),
        [None, 784],
    ),
    "packed": (lambda x: tf.reshape(x, tf.stack([tf.shape(x)[0], 784])), [None, 784]),
    "nested list": (lambda x: tf.reshape(x, [tf.shape(x)[0], 28, 28, 1]), [None, 28, 28, 1]),
    "sliced": (lambda x: tf.zeros(tf.shape(x)[1:]), [28, 28]),
    "joined": (lambda x: tf.zeros(tf.concat([[5], tf.shape(x)[1:]], 0)), [5, 28, 28]),
    "cast": (lambda x: tf.zeros(tf.cast(tf.shape(x)[1:], tf.int64)), [28, 28]),
    "gathered": (lambda x: tf.zeros(tf.gather(tf.shape(x), [2, 1, 0])), [28, 28, None]),
    "size": (lambda x: tf.zeros([tf.size(x[0])]), [784]),
    "rank": (lambda x: tf.zeros([tf.rank(x)]), [3]),
    "range": (lambda x: tf.range(tf.shape(x)[1]), [28]),
    "minus one": (lambda x: tf.reshape(x, [-1, 28]), [None, 28]),
    "filled": (lambda x: tf.fill(tf.stack([tf.shape(x)[0], 3]), 1.0), [None, 3]),
    "tiled": (lambda x: tf.tile(x, [1, 2, 1]), [None, 56, 28]),
    "padded": (lambda x: tf.pad(x, [[0, 0], [1, 1], [2, 0]]), [None, 30, 30]),
    "summed": (lambda x: tf.reduce_sum(x, [1, 2]), [None]),
    "kept": (lambda x: tf.reduce_sum(x, 0, keepdims=True), [1, 28, 28]),
    "gradient-like": (lambda x: tf.ones_like(x) * 2, [None, 28, 28]),
    "tensor index": (lambda x: x[:, tf.placeholder(tf.int32, [])], [None, 28]),
    "split": (lambda x: tf.split(x, 4, 1)[0], [None, 7, 28]),
    "unknown axes": (
        lambda x: tf.reduce_sum(x, tf.placeholder(tf.int32, [1]), keepdims=True),
        [None] * 3,
    ),
    "slice": (lambda x: tf.slice(x, [0, 2, 0], [-1, 5, -1]), [None, 5, 28]),
    "one hot": (lambda x: tf.one_hot(tf.argmax(x, 1), 10), [None, 28, 10]),
    "top": (lambda x: tf.nn.top_k(x, 3)[1], [None, 28, 3]),
}


@pytest.mark.parametrize("name", SHAPES)
def test_static_shape(name, batch):
    make, expected = SHAPES[name]
    assert make(batch).shape.as_list() == expected


BAD = {
    "add": (lambda x: x + tf.zeros([27]), ShapeError, "cannot be broadcast"),
    "clip": (lambda x: CATALOG["ClipByValue"](x, tf.zeros([28]), 1.0), ShapeError, "limit"),
    "reshape": (lambda x: tf.reshape(tf.zeros([5]), [2, 3]), ShapeError, "Cannot reshape a tensor with 5 elements"),
    "two unknown": (lambda x: tf.reshape(x, [-1, -1]), InvalidArgumentError, "at most one"),
    "matmul": (
        lambda x: tf.matmul(tf.zeros([2, 3]), tf.zeros([4, 5])),
        ShapeError,
        r"^MatMul: Matrix size-incompatible: \(2, 3\) times \(4, 5\): Dimensions must be equal, but are 3 and 4(\n|$)",
    ),
    "matmul rank": (lambda x: tf.matmul(tf.zeros([3]), tf.zeros([3, 2])), ShapeError, "rank 2"),
    "batch": (
        lambda x: tf.matmul(tf.zeros([2, 3, 4]), tf.zeros([3, 4, 5])),
        ShapeError,
        "leading dimensions",
    ),
    "concat": (
        lambda x: tf.concat([tf.zeros([2, 3]), tf.zeros([3, 4])], 0),
        ShapeError,
        "more than axis 0",
    ),
    "concat nothing": (lambda x: tf.concat([], 0), InvalidArgumentError, "takes a list"),
    "stack": (lambda x: tf.stack([tf.zeros([2]), tf.zeros([3])]), ShapeError, "differ"),
    "split": (lambda x: tf.split(x, 3, 1), ShapeError, "evenly divisible by 3 but is 28: Number of ways"),
    "split sizes": (lambda x: tf.split(x, [5, 5], 1), ShapeError, "do not add up to 28"),
    "axis": (lambda x: tf.reduce_sum(x, 3), InvalidArgumentError, "out of range"),
    "both names": (
        lambda x: tf.reduce_sum(x, 0, reduction_indices=0),
        InvalidArgumentError,
        "not both",
    ),
    "transpose": (lambda x: tf.transpose(x, [0, 1, 1]), InvalidArgumentError, "not a permutation"),
    "squeeze": (lambda x: tf.squeeze(x, [1]), ShapeError, "is not 1"),
    "slice": (lambda x: tf.slice(x, [0, 29, 0], [-1, -1, -1]), ShapeError, "do not lie inside"),
    "pad": (lambda x: tf.pad(x, [[1, 1]]), InvalidArgumentError, "each of 3 axes"),
    "tile": (lambda x: tf.tile(x, [1, 2]), ShapeError, "each axis"),
    "select": (
        lambda x: tf.where([True, False], tf.zeros([3, 2]), tf.ones([3, 2])),
        ShapeError,
        "not compatible",
    ),
    "one of where": (
        lambda x: tf.where(x > 0, x),
        InvalidArgumentError,
        "both x and y, or neither",
    ),
    "range": (lambda x: tf.range(0, 5, 0), InvalidArgumentError, "must not be 0"),
    "unstack": (lambda x: tf.unstack(x), InvalidArgumentError, "Cannot infer num from shape"),
    "empty argmax": (lambda x: tf.argmax(tf.zeros([0, 2]), 0), InvalidArgumentError, "no elements"),
    "top k": (lambda x: tf.nn.top_k(x, 29), ShapeError, "last dimension >= k = 29"),
    "constant": (lambda x: tf.constant([1, 2, 3], shape=[2]), ShapeError, "Too many elements provided"),
}


@pytest.mark.parametrize("name", BAD)
def test_contradictions_are_found_while_building(name, batch):
    make, error, words = BAD[name]
    with pytest.raises(error, match=words) as caught:
        make(batch)
    assert isinstance(caught.value, ValueError)


OUTSIDE = {
    "slice": (lambda x: tf.slice(x, [1, 0], [1, 3]), "inside", [1, 3]),
    "slice of nothing": (lambda x: tf.slice(x, [2, 0], [0, 3]), "inside", [0, 3]),
    "slice before": (lambda x: tf.slice(x, [-1, 0], [1, 3]), "inside", [1, 3]),
    "slice behind": (lambda x: tf.slice(x, [0, 0], [1, 4]), "inside", [1, 4]),
    "reflect": (lambda x: tf.pad(x, [[1, 0], [0, 0]], "REFLECT"), "too wide", [2, 3]),
    "symmetric": (lambda x: tf.pad(x, [[0, 0], [0, 4]], "SYMMETRIC"), "too wide", [1, 7]),
    "tile": (lambda x: tf.tile(x, [-1, 1]), "needs", [None, 3]),
}


@pytest.mark.opencl
@pytest.mark.parametrize("name", OUTSIDE)
def test_what_lies_outside_of_a_tensor_is_an_error_of_the_step(name):
    """As in TensorFlow 1.15, so that a branch that no step takes may hold it; for constants and for fed values."""
    make, words, shape = OUTSIDE[name]
    with tf.Graph().as_default(), tf.Session() as session:
        fed, taken = tf.placeholder(tf.float32, [1, 3]), tf.placeholder(tf.bool, [])
        feeds = {fed: np.ones([1, 3]), taken: False}
        for x in (fed, tf.ones([1, 3])):
            made = make(x)
            assert made.shape.as_list() == shape
            either = tf.cond(taken, lambda x=x: tf.reduce_sum(make(x)), lambda x=x: tf.reduce_sum(x))
            assert session.run(either, feeds) == 3
            with pytest.raises(InvalidArgumentError, match=words):
                session.run(made, feeds)
        if name in ("reflect", "symmetric", "tile"):  # the gradients of slices are refused when they are made, as there
            with pytest.raises(InvalidArgumentError):
                session.run(tf.gradients(make(fed), fed), feeds)


MIXED = {
    "dtypes": lambda x: x + tf.zeros([28], tf.int32),
    "float for int": lambda x: tf.zeros([3], tf.int32) + 1.5,
    "logic": lambda x: tf.logical_and(x, x),
    "xor": lambda x: tf.logical_xor(1, 2),
    "text": lambda x: x + "a",
    "convert": lambda x: tf.convert_to_tensor(x, tf.int32),
}


@pytest.mark.parametrize("name", MIXED)
def test_dtypes_do_not_mix(name, batch):
    with pytest.raises((TypeError, ValueError)):
        MIXED[name](batch)


def test_division_of_integers_is_true_division():
    with tf.Graph().as_default():
        assert (tf.constant(1) / 2).dtype == tf.float64
        assert (tf.cast(1, tf.int16) / 2).dtype == tf.float32
        assert (tf.constant(1) // 2).dtype == tf.int32
        assert (1.0 / tf.constant(2.0)).dtype == tf.float32


def test_equal_shapes_add_no_reductions_to_gradients():
    with tf.Graph().as_default() as graph:
        x, y = tf.placeholder(tf.float32, [3, 4]), tf.placeholder(tf.float32, [4])
        before = graph.version
        op = (x * y).op
        op.opdef.grad(op, tf.ones([3, 4]))
        made = [o.type for o in graph.get_operations()[before:]]
        assert made.count("Sum") == 1 and "Reshape" not in made and "Shape" not in made


def test_names_of_operators():
    with tf.Graph().as_default():
        x = tf.constant([1.0, 2.0])
        made = [x + 1, x - 1, x * 2, x / 2, x // 2, x % 2, x**2, -x, x > 1]
        expected = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "Neg", "Greater"]
        assert [t.op.name for t in made] == expected


def test_indexed_slices_become_dense_where_a_tensor_is_needed():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [5, 2])
        op = tf.gather(x, [0, 3, 0]).op
        slices, _ = op.opdef.grad(op, tf.constant(np.ones((3, 2), np.float32)))
        assert isinstance(slices, tf.IndexedSlices)
        assert slices.shape.as_list() == [5, 2]
        dense = tf.convert_to_tensor(slices)
        assert dense.shape.as_list() == [5, 2]


def test_batch_to_space_with_unknown_crops_keeps_what_lies_behind_them():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, None, None, 2])
        assert tf.batch_to_space_nd(x, [2, 2], tf.placeholder(tf.int32, [2, 2])).shape.as_list() == [
            None,
            None,
            None,
            2,
        ]
        assert tf.space_to_batch_nd(x, tf.placeholder(tf.int32, [1]), [[0, 0]]).shape.as_list() == [None, None, None, 2]
        unclear = tf.placeholder(tf.int32, [None])
        assert tf.batch_to_space_nd(x, unclear, tf.zeros([1, 2], tf.int32)).shape.as_list() == [None] * 4


def test_the_distance_of_sequences_has_the_larger_of_both_shapes():
    with tf.Graph().as_default():
        one = tf.SparseTensor([[0, 0], [1, 0]], ["a", "b"], [2, 1])
        two = tf.SparseTensor([[0, 0], [2, 0]], ["a", "b"], [3, 4])
        assert tf.edit_distance(one, one).shape.as_list() == [2]
        assert tf.edit_distance(one, two).shape.as_list() == [3]
        assert tf.edit_distance(one, tf.sparse_placeholder(tf.string, [None, None])).shape.as_list() == [None]


@pytest.mark.opencl
def test_shape_size_and_rank_of_sparse_tensors():
    """They are those of the dense tensor, also for a value that was fetched and for a shape that is fed."""
    value = tf.SparseTensorValue(((0, 1), (1, 0)), (42, 24), (2, 3))
    with tf.Graph().as_default(), tf.Session() as sess:
        shape, size, rank = sess.run([tf.shape(value), tf.size(value), tf.rank(value)])
        assert (shape.tolist(), size, rank, shape.dtype) == ([2, 3], 6, 2, np.int32)
        fed = tf.sparse_placeholder(tf.int32)
        shape, size, rank = sess.run([tf.shape(fed, out_type=tf.int64), tf.size(fed), tf.rank(fed)], {fed: value})
        assert (shape.tolist(), size, rank, shape.dtype) == ([2, 3], 6, 2, np.int64)


def test_no_type_is_that_of_the_tensor():
    """Programs give False, meant for `optimize`, as the second argument."""
    x = tf.constant([1, 2], tf.int64)
    assert tf.zeros_like(x, False).dtype is tf.int64 and tf.ones_like(x, False).dtype is tf.int64


def test_the_free_dimension_of_arrays_without_elements():
    """It is that of the elements which there would be without the dimensions of 0; so in TensorFlow."""
    x = tf.placeholder(tf.float32, [None, None, 4])
    cases = {
        (4, 0, 4): {(2, -1, 0, 4): [2, 2, 0, 4], (4, 0, -1): [4, 0, 4], (0, -1): [0, 16], (-1,): [0], (-1, 2): [0, 2]},
        (0, 3, 4): {(2, -1, 3, 4): [2, 0, 3, 4], (0, 3, -1): [0, 3, 4], (0, -1): [0, 12], (0, -1, 2, 2): [0, 3, 2, 2]},
    }
    sizes = tf.placeholder(tf.int32, [None])
    reshaped = tf.reshape(x, sizes)
    with tf.Session() as session:
        for given, wanted in cases.items():
            array = np.zeros(given, np.float32)
            for target, expected in wanted.items():
                assert list(session.run(reshaped, {x: array, sizes: target}).shape) == expected
                assert session.run(tf.shape(tf.reshape(tf.zeros(given), target))).tolist() == expected
    with pytest.raises(ShapeError, match=r"Cannot reshape a tensor with 6 elements to shape \[0,\?\]"):
        tf.reshape(tf.zeros([2, 3]), [0, -1])


def test_arrays_without_elements_are_reshaped_between_computations():
    """As the keys and values of a decoder that has not begun: they have no places yet."""
    x, n = tf.placeholder(tf.float32, [None, None, 4]), tf.placeholder(tf.int32, [])
    split = tf.reshape(x + 1, [n, tf.shape(x)[0] // n, tf.shape(x)[1], 4]) * 2
    turned = tf.transpose(tf.reshape(x + 1, [-1, 2, 2]), [1, 0, 2]) + 1
    (grad,) = tf.gradients(tf.reduce_sum(tf.square(split)), x)
    with tf.Session() as session:
        results = session.run([split, turned, grad], {x: np.zeros((4, 0, 4)), n: 2})
    assert [r.shape for r in results] == [(2, 2, 0, 4), (2, 0, 2), (4, 0, 4)]


@pytest.mark.opencl
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_the_axis_of_a_concatenation_may_be_fed(dtype):
    with tf.Graph().as_default(), tf.Session() as session:
        axis, x = tf.placeholder(dtype, []), tf.placeholder(tf.float32, [None, 2])
        joined = tf.concat([x, 2 * x], axis)
        (slope,) = tf.gradients(joined, x, tf.ones_like(joined) * 3)
        for at, shape in ((0, (2, 2)), (1, (1, 4)), (-1, (1, 4))):
            found, gradient = session.run([joined, slope], {axis: at, x: [[1, 2]]})
            assert found.shape == shape and found.ravel().tolist() == [1, 2, 2, 4] and gradient.tolist() == [[9, 9]]
