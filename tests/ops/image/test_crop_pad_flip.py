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
