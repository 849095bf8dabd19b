"""The era 1.5: values and variables of functions that later versions changed. Numbers are those of TensorFlow 1.5.0."""

from __future__ import annotations

import numpy as np
import pytest

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.v1.programs.hook import tensorflow_of

pytestmark = pytest.mark.opencl

LABELS = np.array([[1, 9, 2], [-5, -2, 6]], np.float32)
FOUND = np.array([[4, 8, 12], [8, 1, 3]], np.float32)


@pytest.mark.parametrize(("era", "loss"), [("1.5", 128.44444), ("0.12", 128.44444), ("1.15", 192.66667)])
def test_pairwise_loss(era, loss):
    tf = tensorflow_of(era)
    with tf.Graph().as_default(), tf.Session() as sess:
        fed = tf.placeholder(tf.float32)  # of unknown rank
        for labels in (LABELS, fed):
            value = tf.losses.mean_pairwise_squared_error(labels, tf.identity(FOUND))
            assert sess.run(value, {fed: LABELS}) == pytest.approx(loss, rel=1e-5)
        assert len(tf.losses.get_losses()) == 2
        weighted = tf.losses.mean_pairwise_squared_error(LABELS, FOUND, [[2.0], [0.0]])
        assert sess.run(weighted) == pytest.approx({"1.15": 124.0}.get(era, 82.66667))


def test_weights_that_do_not_fit_are_refused():
    tf = tensorflow_of("1.5")
    with tf.Graph().as_default(), tf.Session() as sess:
        with pytest.raises(ShapeError, match="weights can not be broadcast to values"):
            tf.losses.mean_pairwise_squared_error(LABELS, FOUND, np.ones((2, 2), np.float32))
        fed = tf.placeholder(tf.float32)
        loss = tf.losses.mean_pairwise_squared_error(LABELS, FOUND, fed)
        with pytest.raises(InvalidArgumentError, match="weights can not be broadcast to values"):
            sess.run(loss, {fed: np.ones((2, 2))})


def test_accuracy_of_classes_keeps_a_confusion_matrix():
    tf = tensorflow_of("1.5")
    with tf.Graph().as_default(), tf.Session() as sess:
        value, update = tf.metrics.mean_per_class_accuracy([0, 0, 1, 1, 1], [0, 1, 1, 1, 0], 3)
        assert [v.name for v in tf.local_variables()] == ["mean_accuracy/total_confusion_matrix:0"]
        sess.run(tf.local_variables_initializer())
        assert sess.run(update).tolist() == [[1, 1, 0], [1, 2, 0], [0, 0, 0]]
        assert sess.run(value) == pytest.approx((1 / 2 + 2 / 3) / 3) and value.dtype == tf.float32


def test_gamma_is_computed_in_floats():
    tf = tensorflow_of("1.5")
    with tf.Graph().as_default(), tf.Session() as sess:
        pixels = np.array([[[0, 7, 255]]], np.uint8)
        found = tf.image.adjust_gamma(pixels, 0.5, gain=2)
        assert found.dtype == tf.float32
        np.testing.assert_allclose(sess.run(found), 2 * 255 * (pixels / 255) ** 0.5, rtol=1e-6)
        with pytest.raises(InvalidArgumentError, match="non-negative"):
            tf.image.adjust_gamma(pixels, -1)


def test_targets_are_classes():
    tf = tensorflow_of("1.5")
    with tf.Graph().as_default(), tf.Session() as sess, pytest.raises(InvalidArgumentError, match="out of range"):
        sess.run(tf.nn.in_top_k(np.ones((2, 2), np.float32), [0, 2], 1))
