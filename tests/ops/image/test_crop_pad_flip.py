"""Images of unknown rank, without pixels, and turned by a number of quarters that a step computes."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import ShapeError

pytestmark = pytest.mark.opencl
FUNCTIONS = {
    "crop": lambda x: tf.image.crop_to_bounding_box(x, 0, 0, 2, 2),
    "pad": lambda x: tf.image.pad_to_bounding_box(x, 0, 0, 4, 4),
    "central": lambda x: tf.image.central_crop(x, 0.5),
    "flip": tf.image.flip_left_right,
    "rotate": tf.image.rot90,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_image_of_unknown_rank_has_three_dimensions(name):
    image = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
    with tf.Graph().as_default(), tf.Session() as sess:
        given = tf.placeholder(tf.float32)
        known, unknown = FUNCTIONS[name](tf.constant(image)), FUNCTIONS[name](given)
        assert unknown.shape.ndims == 3 and given.shape.ndims is None
        a, b = sess.run([known, unknown], {given: image})
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_images_that_are_none(name):
    with tf.Graph().as_default():
        with pytest.raises(ShapeError, match=r"all dims of 'image.shape' must be > 0"):
            FUNCTIONS[name](tf.zeros([3, 0, 1]))
        with pytest.raises(ShapeError, match=r"'image' must have either 3 or 4 dimensions\."):
            FUNCTIONS[name](tf.zeros([3, 1]))


@pytest.mark.parametrize("shape", [(2, 4, 3), (2, 3, 4, 1)])
def test_quarters_that_a_step_computes(shape):
    images = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    with tf.Graph().as_default(), tf.Session() as sess:
        turns = tf.placeholder(tf.int32, [])
        turned = tf.image.rot90(images, turns)
        assert turned.shape.as_list() == [*shape[:-3], None, None, shape[-1]]
        for k in (-1, 0, 1, 2, 3, 5):
            expected = np.rot90(images, k, axes=(len(shape) - 3, len(shape) - 2))
            np.testing.assert_array_equal(sess.run(turned, {turns: k}), expected)


def test_boxes_are_checked_in_the_words_of_tensorflow():
    image = np.zeros((4, 4, 1), np.float32)
    for box, words in (
        ((-1, 0, 3, 3), "offset_height must be >= 0"),
        ((0, 0, 0, 3), "target_height must be > 0"),
        ((2, 0, 3, 3), "height must be >= target \\+ offset"),
        ((0, 2, 3, 3), "width must be >= target \\+ offset"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            tf.image.crop_to_bounding_box(image, *box)
    with pytest.raises(tf.errors.InvalidArgumentError, match="width must be <= target - offset"):
        tf.image.pad_to_bounding_box(image, 0, 2, 5, 5)
    with pytest.raises(tf.errors.InvalidArgumentError, match="target_width must be > 0"):
        tf.image.resize_image_with_crop_or_pad(image, 5, 0)
    for size in (4, [4], [1, 2, 3], [6.0, 4.0], [None, 4]):
        with pytest.raises(ValueError, match="'size' must be"):
            tf.image.resize_images(image, size)


def test_boxes_of_unknown_sizes_are_checked_when_the_step_runs():
    with tf.Graph().as_default(), tf.Session() as sess:
        image, offset = tf.placeholder(tf.float32, [None, None, 1]), tf.placeholder(tf.int32, [])
        cropped = tf.image.crop_to_bounding_box(image, offset, 0, 2, 2)
        padded = tf.image.pad_to_bounding_box(image, 0, 0, 4, 4)
        full, empty = np.ones((3, 3, 1), np.float32), np.ones((0, 3, 1), np.float32)
        assert sess.run(cropped, {image: full, offset: 1}).shape == (2, 2, 1)
        assert sess.run(padded, {image: full}).shape == (4, 4, 1)
        for fetch, feeds, words in (
            (cropped, {image: full, offset: 2}, "height must be >= target"),
            (cropped, {image: full, offset: -1}, "offset_height must be >= 0"),
            (padded, {image: np.ones((5, 3, 1))}, "height must be <= target"),
            (padded, {image: empty}, r"all dims of \\'image.shape\\' must be > 0"),
        ):
            with pytest.raises(tf.errors.InvalidArgumentError, match=words):
                sess.run(fetch, feeds)


def test_sizes_of_tensors_and_images_of_unknown_rank():
    with tf.Graph().as_default(), tf.Session() as sess:
        height = tf.placeholder(tf.int32, [])
        assert sess.run(tf.image.resize_images(np.ones((2, 2, 1)), [height, 3]), {height: 5}).shape == (5, 3, 1)
        grey = tf.placeholder(tf.uint8)
        assert sess.run(tf.image.grayscale_to_rgb(grey), {grey: np.ones((2, 4, 1))}).shape == (2, 4, 3)
        assert tf.image.convert_image_dtype(tf.constant([1.0]), tf.float32).op.type == "Identity"
        boxes = [[0.0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 10, 1, 11]]
        chosen = tf.image.non_max_suppression(boxes, [0.9, 0.7, 0.95], 3, tf.constant(0.5))
        assert sess.run(chosen).tolist() == [2, 0]
        assert tf.image.transpose_image(np.ones((2, 3, 1))).op.name == "transpose_image"
