"""Behaviour that TensorFlow's own test files of 0.11 and 1.5 showed to be missing, op by op."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import CancelledError, InvalidArgumentError, NoSessionError, UnimplementedError
from tfnb.ops.math.segment import SEGMENT_SUM

pytestmark = pytest.mark.opencl


def run(build, **feeds):
    with tf.Graph().as_default(), tf.Session() as sess:
        return sess.run(build())


def test_cross_entropy_over_an_inner_axis_keeps_the_order_of_the_others():
    x = np.random.default_rng(1).standard_normal((3, 2, 4)).astype(np.float32)
    labels = np.eye(3, dtype=np.float32)[[0, 2, 1, 0, 1, 2, 2, 0]].T.reshape(3, 2, 4)
    loss = run(lambda: tf.nn.softmax_cross_entropy_with_logits(logits=x, labels=labels, dim=0))
    expected = -(labels * (x - np.log(np.exp(x).sum(0)))).sum(0)
    np.testing.assert_allclose(loss, expected, rtol=1e-5)


def test_a_priority_queue_delivers_many_only_when_it_has_them_all():
    with tf.Graph().as_default(), tf.Session() as sess:
        queue = tf.PriorityQueue(10, tf.string, shapes=[()])
        add, taken = queue.enqueue((tf.placeholder(tf.int64, []), "x")), queue.dequeue_many(3)
        key = add.inputs[1]
        got = []
        reader = threading.Thread(target=lambda: got.append(sess.run(taken)[0].tolist()))
        reader.start()
        for k in (3, 1, 2):
            sess.run(add, {key: k})
        reader.join(10)
        assert got == [[1, 2, 3]]


def test_max_pool_over_channels():
    x = np.arange(12, dtype=np.float32).reshape(1, 1, 2, 6)
    assert run(lambda: tf.nn.max_pool(x, [1, 1, 1, 3], [1, 1, 1, 3], "VALID")).tolist() == [[[[2, 5], [8, 11]]]]
    for ksize, strides in (([1, 1, 1, 3], [1, 1, 1, 1]), ([1, 1, 1, 4], [1, 1, 1, 4]), ([1, 1, 2, 3], [1, 1, 2, 3])):
        with tf.Graph().as_default(), pytest.raises(UnimplementedError, match=r"pooling|Pooling"):
            tf.nn.max_pool(x, ksize, strides, "VALID")


def test_integers_are_differentiated_with_a_gradient_of_their_own():
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.constant([1, 2, 3])
        assert tf.gradients(x * x, x) == [None]
        assert sess.run(tf.gradients((x * x)[:2], x, [[5, 7]])[0]).tolist() == [10, 28, 0]


def test_a_sum_of_complex_segments():
    data = np.array([[1 + 1j], [2 - 1j], [4j]], np.complex64)
    assert run(lambda: tf.unsorted_segment_sum(data, [1, 0, 1], 2)).tolist() == [[2 - 1j], [1 + 5j]]


@pytest.mark.parametrize(
    ("ids", "words"),
    [([0, 1, 0], r"Segment id 1 out of range \[0, 1\)"), ([-1, 0, 0], "Segment id -1"), ([0, 0, -1], "must be >= 0")],
)
def test_segments_in_disorder(ids, words):
    with pytest.raises(InvalidArgumentError, match=words):
        run(lambda: SEGMENT_SUM(np.ones(3, np.float32), np.array(ids)))


@pytest.mark.parametrize(
    ("indices", "values", "words"),
    [
        ([[1], [1]], [1.0, 2.0], r"indices\[1\] = \[1\] is repeated"),
        ([[2], [1]], [1.0, 2.0], r"indices\[1\] = \[1\] is out of order"),
        ([[1], [9]], [1.0, 2.0], r"indices\[1\] = \[9\] is out of bounds: need 0 <= index < \[5\]"),
        ([1, 2], [1.0, 2.0, 3.0], r"sparse_values has incorrect shape \[3\], should be \[\] or \[2\]"),
    ],
)
def test_sparse_to_dense_checks_its_indices(indices, values, words):
    with pytest.raises(InvalidArgumentError, match=words):
        run(lambda: tf.sparse_to_dense(indices, [5], values))
    if "order" in words:
        dense = run(lambda: tf.sparse_to_dense(indices, [5], values, validate_indices=False))
        assert dense.tolist() == [0, 2, 1, 0, 0]


def test_products_of_bfloat16_and_float32():
    b = tf.bfloat16
    with tf.Graph().as_default():
        x, y = tf.ones([2, 2]), tf.cast(tf.ones([2, 2]), b)
        assert [t.dtype for t in (tf.matmul(x, y), tf.matmul(y, y), tf.matmul(y, y, a_is_sparse=True))] == [
            tf.float32,
            b,
            tf.float32,
        ]


def test_evaluating_without_a_session_is_a_value_error():
    with tf.Graph().as_default(), pytest.raises(ValueError, match="No default session is registered") as caught:
        tf.constant(1).eval()
    assert isinstance(caught.value, NoSessionError)


def test_a_closed_session_says_which_operations_it_cancelled():
    with tf.Graph().as_default():
        sess, errors = tf.Session(), {}
        empty, full = tf.FIFOQueue(1, tf.float32, shapes=[()]), tf.FIFOQueue(1, tf.float32, shapes=[()])
        sess.run(full.enqueue(1.0))

        def wait(name, op):
            try:
                sess.run(op)
            except CancelledError as e:
                errors[name] = str(e)

        waiting = {"Dequeue": empty.dequeue(), "Enqueue": full.enqueue(2.0)}
        threads = [threading.Thread(target=wait, args=item) for item in waiting.items()]
        for thread in threads:
            thread.start()
        while not sess.list_devices():
            pass
        threading.Event().wait(0.3)
        sess.close()
        for thread in threads:
            thread.join(10)
        for name, text in errors.items():
            assert f"{name} operation was cancelled" in text
        assert len(errors) == 2


def test_numbers_that_do_not_fit_are_refused():
    with pytest.raises(InvalidArgumentError, match="2147483648"):
        run(lambda: tf.string_to_number(["2147483648"], tf.int32))


def test_the_shape_of_a_sparse_tensor_is_a_tensor_too():
    with tf.Graph().as_default(), tf.Session() as sess:
        sparse = tf.SparseTensor([[0, 1]], [2], shape=[1, 3])
        assert sess.run(sparse.shape).tolist() == sparse.shape.eval().tolist() == [1, 3]
        assert sparse.shape.as_list() == [1, 3] and sparse.shape.get_shape().as_list() == [2]
        value = tf.SparseTensorValue(indices=[[0, 0]], values=[1], shape=[1, 1])
        assert value.dense_shape == [1, 1]
        with pytest.raises(InvalidArgumentError, match="once"):
            tf.SparseTensorValue([[0, 0]], [1])


def test_an_attribute_that_is_text_is_bytes():
    with tf.Graph().as_default():
        op = tf.nn.max_pool(tf.ones([1, 2, 2, 1]), 2, 2, "VALID").op
        assert op.get_attr("padding") == b"VALID"
        assert op.colocation_groups() == [f"loc:@{op.name}".encode()]


def test_variables_of_a_custom_getter_are_made_outside_name_scopes():
    def getter(get, name, *args, **kwargs):
        first = get(f"{name}/0", *args, **kwargs)
        with tf.name_scope("both"):
            return first + get(f"{name}/1", *args, **kwargs)

    with tf.Graph().as_default(), tf.variable_scope("scope", custom_getter=getter):
        assert tf.get_variable("v", [2]).name == "both/add:0"
    with tf.Graph().as_default(), tf.variable_scope("s", custom_getter=3), pytest.raises(ValueError, match="callable"):
        tf.get_variable("v", [2])


def test_one_value_joined_along_a_wrong_axis():
    with tf.Graph().as_default(), pytest.raises(ValueError, match="rank 0"):
        tf.concat([tf.ones([2])], tf.constant([0]))


def test_the_k_of_in_top_k_may_be_a_tensor():
    found = run(lambda: tf.nn.in_top_k([[1.0, 3.0, 2.0]] * 2, [2, 0], tf.constant(2)))
    assert found.tolist() == [True, False]


def test_the_places_of_complex_numbers():
    assert run(lambda: tf.where(tf.constant([0, 1j, 2], tf.complex64))).tolist() == [[1], [2]]


def test_texts_beside_bytes_that_are_no_text():
    assert run(lambda: tf.constant(["a", b"\xff"])).tolist() == [b"a", b"\xff"]


@pytest.mark.parametrize(("axis", "words"), [(2, r"in the range \[-2, 2\), but got 2"), ([0], "must be a scalar")])
def test_the_axis_of_a_scan(axis, words):
    with pytest.raises(InvalidArgumentError, match=words):
        run(lambda: tf.cumsum(np.ones((2, 3), np.float32), axis))


def test_a_sparse_feature_of_two_dimensions():
    def ints(*values):
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))

    example = tf.train.Example(
        features=tf.train.Features(
            feature={
                "row": ints(1, 0),
                "column": ints(2, 1),
                "value": tf.train.Feature(float_list=tf.train.FloatList(value=[5.0, 7.0])),
            }
        )
    )
    feature = tf.SparseFeature(["row", "column"], "value", tf.float32, [2, 3])
    got = run(lambda: tf.parse_example([example.SerializeToString()] * 2, {"x": feature})["x"])
    assert got.dense_shape.tolist() == [2, 2, 3]
    assert got.indices.tolist() == [[0, 0, 1], [0, 1, 2], [1, 0, 1], [1, 1, 2]]
    assert got.values.tolist() == [7, 5, 7, 5]
    with pytest.raises(InvalidArgumentError, match="2 index keys and 1 sizes"):
        run(lambda: tf.parse_example([b""], {"x": tf.SparseFeature(["row", "column"], "value", tf.float32, 3)})["x"])


def test_the_versions_of_a_graph_are_those_of_its_graph_defs():
    graph = tf.Graph()
    assert graph.as_graph_def().versions.producer == graph.graph_def_versions.producer > 0
    graph.graph_def_versions.producer = 8
    assert graph.as_graph_def().versions.producer == 8


def test_rows_of_a_variable():
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable([[1.0], [2.0], [3.0]])
        sess.run(v.initializer)
        assert sess.run(v.sparse_read([2, 0])).tolist() == [[3], [1]]


def test_the_batch_of_blocks_is_known_without_their_margins():
    with tf.Graph().as_default():
        crops = tf.placeholder(tf.int32, [2, 2])
        x = tf.placeholder(tf.float32, [18, 2, 1, 2])
        assert tf.batch_to_space_nd(x, [2, 3], crops).shape.as_list() == [3, None, None, 2]
        assert tf.space_to_batch_nd(x, [2, 3], crops).shape.as_list() == [108, None, None, 2]
        with pytest.raises(ValueError, match="cannot be divided"):
            tf.batch_to_space_nd(x, [4, 1], crops)


def test_comparing_sizes_that_are_unknown():
    known, unknown = tf.Dimension(3), tf.Dimension(None)
    assert (known == 3) is True and (known != 3) is False
    assert (unknown == 3) is None and (known != unknown) is None


def test_an_axis_is_missing():
    with tf.Graph().as_default(), pytest.raises(InvalidArgumentError, match="2 is missing"):
        tf.transpose(tf.ones([1, 1, 1]), [0, 1, 1])
