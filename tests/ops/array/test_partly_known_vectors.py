"""Static shapes that follow from vectors of which only some elements are known."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf


def test_shapes_from_partly_known_vectors():
    with tf.Graph().as_default():
        unknown, scalar = tf.placeholder(tf.int32), tf.placeholder(tf.int32, [])
        assert tf.reshape(tf.placeholder(tf.float32), [unknown, 37]).shape.as_list() == [None, 37]
        assert tf.tile(tf.ones([1, 2]), [unknown, 7]).shape.as_list() == [None, 14]
        table = tf.constant(np.arange(6).reshape(2, 3))
        part = tf.slice(table, [scalar, 0], [-1, 2])
        assert part.shape.as_list() == [None, 2]
        with tf.Session() as sess:
            assert sess.run(part, {scalar: 1}).tolist() == [[3, 4]]
            assert sess.run(tf.tile(tf.ones([1, 2]), [scalar, 2]), {scalar: 3}).shape == (3, 4)


def test_sizes_after_padding_by_partly_known_margins():
    with tf.Graph().as_default():
        unknown, x = tf.placeholder(tf.int32), tf.ones([4, 4])
        for paddings, sizes in (
            ([[1, 2], unknown], [7, None]),
            ([[unknown, 0], [1, 2]], [None, 7]),
            ([[tf.constant(1), 2], [0, unknown]], [7, None]),
            ([tf.constant(1, shape=[2]), [0, unknown]], [6, None]),
        ):
            assert tf.pad(x, paddings).shape.as_list() == sizes
        assert tf.pad(tf.placeholder(tf.int32, [None, None]), [[1, 2], unknown]).shape.as_list() == [None, None]
        assert tf.pad(unknown, [[1, 2], unknown]).shape.as_list() == [None, None]


def test_a_stack_of_numbers_is_a_constant():
    with tf.Graph().as_default():
        for values in ([2, 3], np.ones([2, 3], "f"), [[1.0], [2.0]]):
            stacked = tf.stack(values)
            assert stacked.op.type == "Const" and stacked.op.name.startswith("stack")
            np.testing.assert_array_equal(tf.Session().run(stacked), values)
        assert tf.stack([[1, 2], [3, 4]], axis=1).op.type == "Pack"
        assert tf.stack([tf.constant(1), 2]).op.type == "Pack"


def test_a_tensor_of_another_dtype_in_a_list_is_an_error_of_type():
    with tf.Graph().as_default(), pytest.raises(TypeError, match="needed float32"):
        tf.convert_to_tensor([tf.constant([0.0], tf.float64)], dtype=tf.float32)


def test_a_slice_whose_start_and_size_one_operation_computes_may_take_all_of_an_axis():
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, None, 3])
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            tf.shape(x), tf.zeros([1, 0, 4]), use_image_if_no_bounding_boxes=True
        )
        height, width, depth = sess.run(tf.slice(x, begin, size), {x: np.ones((9, 8, 3))}).shape
        assert 0 < height <= 9
        assert 0 < width <= 8
        assert depth == 3
        start, counts = tf.unstack(tf.placeholder_with_default([[1, 1], [-1, 1]], [2, 2]))
        assert sess.run(tf.slice([[1, 2, 3], [4, 5, 6]], start, counts)).tolist() == [[5]]


def test_the_rest_of_a_dimension_in_a_list_with_tensors():
    x = np.arange(24).reshape(2, 3, 4)
    with tf.Graph().as_default(), tf.Session() as session:
        n = tf.placeholder(tf.int32, [])
        packed = tf.slice(x, [0, n - 2, n - 1], [1, n, -1])
        joined = tf.slice(x, tf.stack([0, n - 2, n - 1]), tf.concat([[1], [n], [-1]], 0))
        assert packed.shape.as_list() == [1, None, None]
        for found in session.run([packed, joined], {n: 2}):
            assert found.tolist() == x[:1, 0:2, 1:].tolist()


def test_axes_and_lengths_in_lists_with_tensors():
    x = np.arange(24).reshape(2, 3, 4)
    with tf.Graph().as_default(), tf.Session() as session:
        n = tf.placeholder(tf.int32, [])
        assert session.run(tf.reverse(x, [n]), {n: 2}).tolist() == x[:, :, ::-1].tolist()
        turned = tf.reverse_sequence(x, [n, 1], seq_axis=1, batch_axis=0)
        assert session.run(turned, {n: 2})[0].tolist() == x[0, [1, 0, 2]].tolist()


@pytest.mark.parametrize("mode", ["REFLECT", "SYMMETRIC"])
def test_the_gradient_of_mirrored_margins_that_only_the_step_knows(mode):
    """WaveGAN's phase shuffle; its penalty takes the gradient of the gradient."""
    x = np.arange(12, dtype=np.float32).reshape(1, 6, 2)
    weights = np.arange(18, dtype=np.float32).reshape(1, 9, 2)
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(tf.float32, [1, 6, 2])
        before, after = tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [])
        slopes = []
        for margins in ([before, after], [2, 1]):
            y = tf.pad(fed, [[0, 0], margins, [0, 0]], mode=mode)
            (slope,) = tf.gradients(y * y * weights, fed)
            slopes += [slope, tf.gradients(slope * slope, fed)[0]]
        a, a2, b, b2 = session.run(slopes, {fed: x, before: 2, after: 1})
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a2, b2)
