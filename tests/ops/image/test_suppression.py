"""Public functions of suppression, of boxes in colours, and of the quality of JPEG files."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import InvalidArgumentError

pytestmark = pytest.mark.opencl
BOXES = np.float32([[0, 0, 1, 1], [0, 0, 1, 0.9], [0.5, 0.5, 1, 1]])
SCORES = np.float32([0.9, 0.8, 0.7])


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as s:
        yield s


def test_forms_of_suppression(sess):
    padded = tf.image.non_max_suppression_padded(BOXES, SCORES, 3, pad_to_max_output_size=True)
    indices, scores = tf.image.non_max_suppression_with_scores(BOXES, SCORES, 3, 1.0, soft_nms_sigma=0.5)
    overlaps = tf.image.non_max_suppression_overlaps([[1, 0.9, 0], [0.9, 1, 0], [0, 0, 1.0]], SCORES, 3)
    assert [v.tolist() for v in sess.run(padded)] == [[0, 2, 0], 2]
    assert sess.run(overlaps).tolist() == [0, 2]
    assert sess.run(indices).tolist() == [0, 2, 1]
    np.testing.assert_allclose(sess.run(scores)[:2], [0.9, 0.7 * np.exp(-(0.25**2))], rtol=1e-5)


@pytest.mark.parametrize("threshold, kept", [(0.0, [0]), (0.5, [0, 2]), (0.75, [0, 1, 2]), (1.0, [0, 1, 2])])
def test_an_overlap_that_equals_the_threshold_suppresses(sess, threshold, kept):
    boxes = np.float32([[0, 0, 1, 1], [0, 0, 1, 0.5], [3, 3, 4, 4], [0, 0, 1, 1]])
    scores, args = np.float32([0.9, 0.8, 0.7, 0.6]), (4, threshold)
    raw = {"boxes": boxes, "scores": scores, "max_output_size": 4, "iou_threshold": threshold}
    found = [
        tf.image.non_max_suppression(boxes, scores, *args),
        tf.raw_ops.NonMaxSuppression(**raw),
        tf.raw_ops.NonMaxSuppressionV2(**raw),
        tf.image.non_max_suppression_padded(boxes, scores, *args)[0],
        tf.image.non_max_suppression_with_scores(boxes, scores, *args)[0],
        tf.image.non_max_suppression_with_scores(boxes, scores, *args, soft_nms_sigma=0.5)[0],
    ]
    for number, indices in enumerate(sess.run(found)):
        assert sorted(indices.tolist()) == kept, number


def test_combined_suppression_keeps_an_overlap_that_equals_the_threshold(sess):
    boxes = np.float32([[0, 0, 1, 1], [0, 0, 1, 0.5]])[None, :, None]
    found = tf.image.combined_non_max_suppression(boxes, np.float32([[[0.9], [0.8]]]), 2, 2, iou_threshold=0.5)
    assert sess.run(found[3]).tolist() == [2]


def test_combined_suppression_counts_detections(sess):
    found = sess.run(tf.image.combined_non_max_suppression(BOXES[None, :, None], SCORES[None, :, None], 2, 4))
    assert [v.tolist() for v in found[2:]] == [[[0, 0, 0, 0]], [2]]
    np.testing.assert_allclose(found[1], [[0.9, 0.7, 0, 0]])


@pytest.mark.parametrize("sides, per_class, total", [(3, 2, 4), (4, 0, 4), (4, 2, 0)])
def test_combined_suppression_refuses_what_has_no_meaning(sess, sides, per_class, total):
    boxes = tf.placeholder(tf.float32)
    with pytest.raises(InvalidArgumentError, match="sizes above 0"):
        found = tf.image.combined_non_max_suppression(boxes, SCORES[None, :, None], per_class, total)
        sess.run(found, {boxes: BOXES[None, :, None, :sides]})


def test_boxes_in_a_colour(sess):
    image = np.zeros((1, 4, 4, 3), np.float32)
    drawn = sess.run(tf.image.draw_bounding_boxes(image, BOXES[None, :1], colors=[[0, 1.0, 0]]))
    assert drawn.sum(axis=(0, 1, 2)).tolist() == [0, 12, 0]


def test_the_quality_of_jpeg_files(sess):
    image = np.random.default_rng(0).uniform(0, 1, (16, 16, 3)).astype(np.float32)
    rough, fine = (sess.run(tf.image.adjust_jpeg_quality(image, q)) for q in (5, 95))
    assert abs(rough - image).mean() > abs(fine - image).mean() > 0
    assert sess.run(tf.image.random_jpeg_quality(image, 10, 20)).shape == image.shape
    with pytest.raises(tf.errors.InvalidArgumentError, match="min < max"):
        tf.image.random_jpeg_quality(image, 20, 10)


def test_files_that_are_jpeg(sess):
    encoded = tf.image.encode_jpeg(np.zeros((4, 4, 3), np.uint8))
    assert sess.run(tf.image.is_jpeg(encoded))
    assert not sess.run(tf.io.is_jpeg("no jpeg"))
