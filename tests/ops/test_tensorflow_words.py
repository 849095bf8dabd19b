"""Phrases of TensorFlow's errors that programs and its own tests look for, in front of our own text."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import OpError
from tfnb.ops.nn.softmax import SOFTMAX_CROSS_ENTROPY
from tfnb.ops.state.tensor_array import TENSOR_ARRAY_READ

pytestmark = pytest.mark.opencl


def parsed(feature):
    return tf.parse_example([b""], {"a": feature})["a"]


def unknown(shape):
    return tf.placeholder_with_default(np.ones(shape, np.float32), None)


SAID = {
    "broadcast": (lambda: tf.ones([2]) + tf.ones([3]), "Dimensions must be equal, but are 2 and 3"),
    "product": (lambda: tf.matmul(tf.ones([2, 3]), tf.ones([2, 3])), "Dimensions must be equal, but are 3 and 2"),
    "rank": (
        lambda: tf.nn.conv2d(tf.ones([2, 3]), tf.ones([1, 1, 1, 1]), [1, 1, 1, 1], "SAME"),
        "Shape must be rank 4",
    ),
    "pads": (lambda: tf.pad([1], [[-1, 0]]), "must be non-negative"),
    "gather": (lambda: tf.gather([1, 2, 3], [[0, 7]]), r"indices\[0,1\] = 7 is not in \[0, 3\)"),
    "gather_nd": (
        lambda: tf.gather_nd([1, 2, 3], [[0], [7]]),
        r"indices\[1,0\] = 7 is not in \[0, 3\)|flat indices\[1, :\]",
    ),
    "segments": (lambda: tf.segment_sum([1.0, 2.0], [1, 0]), "segment ids are not increasing"),
    "unstack": (lambda: tf.unstack(tf.ones([2, 2]), axis=2), r"axis = 2 not in \[-2, 2\)"),
    "number": (lambda: tf.string_to_number("10foobar"), "could not correctly convert string: 10foobar"),
    "top k": (lambda: tf.nn.top_k([1.0], 4), "must have last dimension >= k = 4"),
    "rank of x": (lambda: tf.assert_rank(tf.ones([2], name="my"), 0), "my.*must have rank 0"),
    "ellipses": (lambda: tf.ones([2, 2])[..., ...], "Multiple ellipses"),
    "crop": (lambda: tf.image.crop_to_bounding_box(tf.ones([2, 2, 1]), 0, 0, 0, 1), "assertion failed: target_height"),
    "labels": (
        lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=tf.placeholder_with_default(0, None), logits=tf.ones([1, 1])
        ),
        "labels must be 1-D",
    ),
    "sparse split": (lambda: tf.sparse_split(3, 2, 1), "Keyword arguments are required"),
    "parts of a sparse tensor": (lambda: tf.sparse_split(sp_input=1), "num_split is required"),
    "sparse axis": (lambda: tf.sparse_split(sp_input=1, num_split=2), "axis is required"),
    "sparse reshape": (
        lambda: tf.sparse_reshape(tf.SparseTensor([[0]], [1], [6]), [4, 7]).values,
        "Input to reshape is a tensor with 6 dense values, but the requested shape has 28",
    ),
    "sequence axis": (lambda: tf.reverse_sequence(tf.ones([2, 3]), [1, 1], 2), "seq_dim must be < input rank"),
    "batch axis": (lambda: tf.reverse_sequence(tf.ones([2, 3]), [1, 1], 1, 2), "batch_dim must be < input rank"),
    "one axis": (lambda: tf.reverse_sequence(tf.ones([2, 3]), [1, 1], 0), "batch_dim == seq_dim"),
    "axes": (lambda: tf.reduce_sum(tf.placeholder(tf.float32), [[1], [2]]), "must be at most rank 1"),
    "no attribute": (lambda: tf.constant(1).op.get_attr("nothing"), "No attr named 'nothing'"),
    "incompatible": (lambda: unknown([2]) + unknown([3]), r"Incompatible shapes: \[2\] vs. \[3\]"),
    "concatenated": (lambda: tf.concat([unknown([3, 1]), unknown([2, 1])], 1), "Dimensions of inputs should match"),
    "sum": (lambda: tf.add_n([unknown([3]), unknown([2])]), "must have the same size and shape"),
    "sum that NumPy would broadcast": (lambda: tf.add_n([unknown([3]), unknown([1])]), "must have the same size and"),
    "concatenated text": (
        lambda: tf.concat([tf.placeholder_with_default([["a"], ["b"]], None), [["a", "b"]]], 0),
        "Dimensions of inputs should match",
    ),
    "sum of known shapes": (lambda: tf.add_n([tf.ones([3]), tf.ones([2])]), "must be equal, but are 3 and 2"),
    "requested shape": (
        lambda: tf.reshape(unknown([2]), [2, 2]),
        "tensor with 2 values, but the requested shape has 4",
    ),
    "shape in brackets": (lambda: tf.reshape(tf.ones([2]), [2, 2]), r"with 2 elements to shape \[2,2\] \(4 elements\)"),
    "rank of logits": (
        lambda: SOFTMAX_CROSS_ENTROPY(tf.ones([1, 2, 3]), tf.ones([1, 2, 3])).loss,
        "must be rank 2 but is rank 3",
    ),
    "type of an array's element": (
        lambda: TENSOR_ARRAY_READ(
            tf.TensorArray(tf.float32, 1).write(0, 1.0).handle, 0, tf.constant(0.0), dtype=tf.float64
        ),
        "TensorArray dtype is float but Op requested dtype double.",
    ),
}


@pytest.mark.parametrize("case", SAID)
def test_words(case):
    build, words = SAID[case]
    with tf.Graph().as_default(), tf.Session() as sess, pytest.raises(OpError, match=words):
        sess.run(build())


def test_a_sparse_value_has_the_shape_of_0_x():
    value = tf.SparseTensorValue([[0]], [1], [2])
    assert value.shape == value.dense_shape == [2]


MORE = {
    "pack": (lambda: tf.stack([[1], [1, 2]]), "must be a dense"),
    "stack": (
        lambda: tf.stack([tf.ones([1]), tf.ones([2])]),
        "Dimension 0 in both shapes must be equal, but are 1 and 2",
    ),
    "axis of stack": (lambda: tf.stack([tf.ones([1])] * 2, 3), r"axis = 3 not in \[-2, 2\)"),
    "twice": (lambda: tf.reverse(tf.ones([2, 2]), [0, -2]), "axis 0 specified more than once"),
    "reduction": (lambda: tf.reduce_sum(tf.ones([2]), [1]), "Invalid reduction dimension"),
    "join": (lambda: tf.reduce_join([["a"]], [0, 0]), "Duplicate reduction dimension 0"),
    "mirror": (lambda: tf.pad([1], [[0, 0]], "WEIRD"), "Unknown padding mode|mode"),
    "reshape": (lambda: tf.reshape(tf.ones([4]), [3, -1]), "must be evenly divisible by 3"),
    "count": (lambda: tf.reshape(tf.ones([4]), [3]), "Cannot reshape a tensor with 4 elements"),
    "scatter outer": (
        lambda: tf.scatter_nd([[0]], tf.ones([2, 2]), [3, 2]),
        "The outer 1 dimensions of indices.shape=",
    ),
    "scatter inner": (lambda: tf.scatter_nd([[0]], tf.ones([1, 3]), [3, 2]), "The inner 1 dimensions of input.shape="),
    "diag": (lambda: tf.diag(1.0), "must be at least rank 1"),
    "logits": (
        lambda: tf.nn.sigmoid_cross_entropy_with_logits(logits=tf.ones([2]), labels=tf.ones([3])),
        "must have the same shape",
    ),
    "cholesky": (lambda: tf.cholesky([[-1.0]]), "^Cholesky decomposition was not successful"),
    "earlier cholesky": (lambda: tf.cholesky([[-1.0]]), "LLT decomposition was not successful. The input might not be"),
    "first dimension of a feature": (
        lambda: parsed(tf.FixedLenFeature((None, 2), tf.float32)),
        "First dimension of shape for feature a unknown. Consider using FixedLenSequenceFeature.",
    ),
    "dimensions of a feature": (
        lambda: parsed(tf.FixedLenFeature((1, None), tf.int64, [[1]])),
        r"All dimensions of shape for feature a need to be known but received \(1, None\).",
    ),
    "steps of a feature": (
        lambda: parsed(tf.FixedLenSequenceFeature([], tf.int64)),
        "Unsupported: FixedLenSequenceFeature requires allow_missing to be True.",
    ),
    "padding of a feature": (
        lambda: parsed(tf.FixedLenSequenceFeature([], tf.int64, True, [])),
        "Cannot reshape a tensor with 0 elements to shape",
    ),
    "confusion": (lambda: tf.confusion_matrix([-1], [0], 2), "`labels` contains negative values"),
    "confusion of ranks": (lambda: tf.confusion_matrix([[1, 2]], [1, 2]), r"Can not squeeze dim\[1\]"),
    "axis of gather": (lambda: tf.gather([1, 2], 0, axis=2), "Shape must be at least rank 3 but is rank 1"),
    "axis of gather in a step": (
        lambda: tf.gather(tf.placeholder_with_default([1, 2], None), 0, axis=-2),
        r"Expected axis in the range \[-1, 1\), but got -2",
    ),
    "scientific": (lambda: tf.as_string([1], scientific=True), "scientific and shortest format not supported"),
    "precision": (lambda: tf.as_string([1], precision=0), "precision not supported"),
    "index": (
        lambda: tf.ones([2])[1.0],
        "Value passed to parameter 'begin' has DataType float32 not in list of allowed",
    ),
    "index tensor": (lambda: tf.ones([2])[tf.constant(1.0)], "DataType float32 for attr 'Index'"),
    "constant": (
        lambda: tf.constant([1, 2], shape=[1]),
        "^Too many elements provided. Needed at most 1, but received 2",
    ),
    "large": (
        lambda: tf.convert_to_tensor(tf.TensorShape([2**31]), tf.int32),
        r"a dimension is too large \(2147483648\)",
    ),
    "bools": (
        lambda: tf.reverse(tf.placeholder(tf.float32, [None, None]), tf.placeholder(tf.bool, [3])),
        "must be rank 3",
    ),
    "batch": (
        lambda: tf.nn.ctc_loss(
            tf.SparseTensor(np.zeros((0, 2), np.int64), np.zeros(0, np.int32), np.int64([5, 5])),
            np.zeros((1, 0, 2), np.float32),
            np.zeros(0, np.int32),
        ),
        "batch_size must not be 0",
    ),
    "map": (
        lambda: tf.map_fn(lambda x: x, tf.SparseTensor(np.int64([[0, 0]]), [1], np.int64([2, 2]))),
        "elems must not be a sparse tensor",
    ),
    "slice": (lambda: tf.ones([3])[:2].assign([1.0, 2.0]), "Sliced assignment is only supported for variables"),
    "count up": (lambda: tf.Variable(3).count_up_to(3), "uninitialized|Reached limit of 3"),
}


@pytest.mark.parametrize("case", MORE)
def test_more_words(case):
    build, words = MORE[case]
    with tf.Graph().as_default(), tf.Session() as sess, pytest.raises(OpError, match=words):
        sess.run(build())


def test_a_shape_with_a_large_dimension_is_int64():
    assert tf.convert_to_tensor(tf.TensorShape([2**31 - 1])).dtype == tf.int32
    assert tf.convert_to_tensor(tf.TensorShape([2**31])).dtype == tf.int64
    assert tf.zeros([2**33, 1]).shape == tf.ones([2**33, 1]).shape == [2**33, 1]
    assert tf.truncated_normal(tf.TensorShape([2**33, 1])).shape == [2**33, 1]


def test_the_gradient_of_whole_rows_is_indexed():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    slices = tf.gradients(tf.gather_nd(x, [[1], [1]]), x)[0]
    assert isinstance(slices, tf.IndexedSlices)
    with tf.Session() as sess:
        assert sess.run(tf.convert_to_tensor(slices)).tolist() == [[0.0, 0.0], [2.0, 2.0]]


def test_bools_for_each_axis_give_the_rank():
    assert tf.reverse(tf.placeholder(tf.float32), tf.placeholder(tf.bool, [3])).shape.ndims == 3
    assert tf.reverse(tf.placeholder(tf.float32), tf.placeholder(tf.bool)).shape.ndims is None


def test_only_slices_of_variables_are_assigned_to():
    v = tf.Variable([1, 2, 3])
    assert not hasattr(tf.ones([3])[:2], "assign") and not hasattr(v[:2] + 1, "assign")
    with tf.Session() as sess:
        sess.run(v.initializer)
        assert sess.run(tf.assign(v[:2], [7, 8])).tolist() == [7, 8, 3]


def test_shared_shuffling_queues_have_the_same_seeds():
    for seed in (12, 21):
        tf.RandomShuffleQueue(10, 5, tf.float32, seed=seed, shared_name="shuffled")
    first, second = (op for op in tf.get_default_graph().get_operations() if op.type.startswith("RandomShuffleQueue"))
    with tf.Session() as sess:
        sess.run(first)
        with pytest.raises(tf.errors.InvalidArgumentError, match="random seeds"):
            sess.run(second)


def test_a_placeholder_of_an_old_graph_has_no_shape():
    with tf.Graph().as_default() as graph:
        tf.placeholder(tf.float32, [], name="x")
    file = graph.as_graph_def()
    for producer, dims in ((21, None), (22, ())):
        file.versions.producer = producer
        with tf.Graph().as_default():
            assert tf.import_graph_def(file, return_elements=["x:0"], name="")[0].shape.sizes == dims


def test_a_bitmap_whose_second_letter_is_wrong():
    head = b"B@" + np.int32([0, 0, 54, 40, 1, 1]).tobytes() + np.int16([1, 24]).tobytes() + bytes(24)
    with tf.Session() as sess:
        assert sess.run(tf.image.decode_bmp(head + bytes([3, 2, 1, 0]))).tolist() == [[[1, 2, 3]]]


def test_a_gradient_that_is_prevented_is_a_lookup_error():
    with tf.Graph().as_default():
        x = tf.ones([1])
        with pytest.raises(LookupError, match="explicitly disabled"):
            tf.gradients(tf.prevent_gradient(x), x)


def test_branches_of_different_structure_are_a_type_error():
    with tf.Graph().as_default(), pytest.raises(TypeError, match="the different"):
        tf.cond(tf.constant(True), lambda: [tf.constant(1)], lambda: (tf.constant(1),), strict=True)


def test_a_whole_image_keeps_its_unknown_rank():
    with tf.Graph().as_default():
        assert tf.image.central_crop(tf.placeholder(tf.float32), 1.0).shape.ndims is None


def test_keywords_that_einsum_lacks_are_named():
    with tf.Graph().as_default(), pytest.raises(TypeError, match=r"invalid keyword arguments .*: one, two"):
        tf.einsum("ij->ji", [[1]], two=2, one=1)


def test_a_number_fills_a_shape_without_elements():
    with tf.Graph().as_default():
        assert tf.constant(-1.0, shape=[0, 3]).shape == (0, 3)
        with pytest.raises(ValueError, match="Needed at most 0, but received 2"):
            tf.constant([1, 2], shape=[0])
