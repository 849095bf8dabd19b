"""Functions that refuse in the era 0.12 what they take later, or have another meaning there."""

from __future__ import annotations

import numpy as np
import pytest

from tfnb.errors import InvalidArgumentError
from tfnb.v1.programs.hook import tensorflow_of

pytestmark = pytest.mark.opencl

ROWS = np.ones((4, 2), np.float32)
REFUSED = {
    "first segment": (lambda tf: tf.segment_sum(ROWS, [1, 1, 2, 2]), "do not start at 0"),
    "negative segment": (lambda tf: tf.segment_max(ROWS, segment_ids=[-1, -1, 0, 0]), "do not start at 0"),
    "gap": (lambda tf: tf.segment_mean(ROWS, [0, 0, 2, 2]), "not increasing by 1"),
    "gap of rows": (lambda tf: tf.sparse_segment_sum(ROWS, [0, 1], [0, 2]), "not increasing by 1"),
    "last segment": (lambda tf: tf.segment_sum(ROWS, [0, 0, 0, -1]), "must be >= 0"),
    "unsorted": (
        lambda tf: tf.unsorted_segment_sum([[17]], [[-1]], num_segments=2),
        r"segment_ids\[0,0\] = -1 is out of range \[0, 2\)",
    ),
    "log beta": (lambda tf: tf.lbeta([]), "rank"),
    "log beta of a fed value": (lambda tf: tf.lbeta(tf.placeholder_with_default(ROWS[0, :0], None)), "rank"),
    "nothing to join": (lambda tf: tf.reduce_join(np.zeros((0, 1), str), 0), "dimension 0 with size 0"),
    "delimiter": (lambda tf: tf.string_split(["a|b"], "ab"), "single byte"),
    "delimiters": (lambda tf: tf.string_split(["a|b"], ["|"]), "rank 0"),
    "fed delimiter": (
        lambda tf: tf.string_split(["a|b"], tf.placeholder_with_default("ab", None)).values,
        "single byte",
    ),
    "images": (lambda tf: tf.image.pad_to_bounding_box(np.ones((1, 2, 2, 1)), 0, 0, 3, 3), "three-dimensional"),
    "fed images": (
        lambda tf: tf.image.crop_to_bounding_box(tf.placeholder_with_default(ROWS, None), 0, 0, 1, 1),
        "three-dimensional",
    ),
    "determinant": (lambda tf: tf.matrix_determinant(np.eye(2) * 1e200), "The determinant is not finite"),
    "class": (lambda tf: tf.nn.in_top_k(ROWS[:2], [1, 8], 1), r"targets are out of range \[0, 2\)"),
    "lengths": (lambda tf: tf.sequence_mask([[1, 2]], 3), "lengths must be 1D"),
    "channels": (
        lambda tf: tf.nn.separable_conv2d(
            np.ones((1, 4, 4, 2), "f"), np.ones((2, 2, 2, 3), "f"), np.ones((1, 1, 6, 5), "f"), [1] * 4, "SAME"
        ),
        "Refusing to perform an overparameterized separable convolution",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_0_12_refuses(case):
    build, words = REFUSED[case]
    tf = tensorflow_of("0.12")
    with tf.Graph().as_default(), tf.Session() as sess, pytest.raises(InvalidArgumentError, match=words):
        sess.run(build(tf))


def test_what_is_not_refused_has_the_same_value():
    tf = tensorflow_of("0.12")
    with tf.Graph().as_default(), tf.Session() as sess:
        assert sess.run(tf.segment_sum(ROWS, [0, 0, 1, 1])).tolist() == [[2, 2], [2, 2]]
        assert sess.run(tf.sparse_segment_mean(ROWS, [0, 1, 2], [0, 0, 1], name="m")).shape == (2, 2)
        assert sess.run(tf.segment_sum(ROWS[:0], np.zeros(0, np.int32))).shape == (0, 2)
        assert sess.run(tf.unsorted_segment_sum([1, 2], [1, 0], 2)).tolist() == [2, 1]
        assert sess.run(tf.lbeta([2.0, 1.0])) == pytest.approx(np.log(0.5))
        assert sess.run(tf.string_split(["a|b"], "|")).values.tolist() == [b"a", b"b"]
        texts = [["a", "b"], ["c", "d"]]
        joined = [tf.reduce_join(texts, axes, separator="-") for axes in ([], [0, 1], tf.constant([1]))]
        assert [x.tolist() if x.ndim else x.item() for x in map(np.asarray, sess.run(joined))] == [
            b"a-b-c-d",
            b"a-c-b-d",
            [b"a-b", b"c-d"],
        ]
        image = tf.image.crop_to_bounding_box(tf.placeholder_with_default(np.ones((3, 3, 1)), None), 1, 1, 2, 2)
        assert sess.run(image).shape == (2, 2, 1)


def test_quotients_and_remainders_are_those_of_c():
    tf, later = tensorflow_of("0.12"), tensorflow_of(None)
    with tf.Graph().as_default(), tf.Session() as sess:
        assert sess.run([tf.div(-7, 2), tf.floordiv(-7, 2), tf.mod(-7, 3)]) == [-3, -3, -1]
        assert sess.run([tf.div(-7.0, 2.0), tf.floordiv(-7.0, 2.0), tf.mod(-7.0, 3.0)]) == [-3.5, -4, -1]
        assert sess.run([tf.floormod(-7, 3), tf.truncatemod(-7, 3), tf.truediv(-7, 2)]) == [2, -1, -3.5]
        assert sess.run([later.div(-7, 2), later.floordiv(-7, 2), later.mod(-7, 3)]) == [-4, -4, 2]
        x = tf.constant([3.0])
        assert sess.run(tf.gradients(tf.div(x, 2.0), x)[0]).tolist() == [0.5]


def test_names_that_were_new_in_0_12_mean_what_1_x_means():
    tf = tensorflow_of("0.12")
    with tf.Graph().as_default(), tf.Session() as sess:
        assert sess.run(tf.concat_v2([ROWS, ROWS], 1)).shape == (4, 4)
        assert sess.run(tf.concat_v2(values=[ROWS, ROWS], axis=0)).shape == (8, 2)
        assert sess.run(tf.concat(1, [ROWS, ROWS])).shape == (4, 4)


def test_determinants_classes_lengths_and_channels():
    tf, later = tensorflow_of("0.12"), tensorflow_of(None)
    with tf.Graph().as_default(), tf.Session() as sess:
        assert sess.run(tf.matrix_determinant(np.eye(2) * 3)) == pytest.approx(9)
        assert sess.run(later.matrix_determinant(np.eye(2) * 1e200)) == np.inf
        assert sess.run(tf.nn.in_top_k([[0.1, 0.3, 0.2]] * 2, [1, 0], 1)).tolist() == [True, False]
        labels = np.array([1, 0], np.uint8)
        assert sess.run(tf.nn.in_top_k([[0.1, 0.3, 0.2]] * 2, labels, 1)).tolist() == [True, False]
        assert sess.run(later.nn.in_top_k([[0.1, 0.3, 0.2]] * 2, [1, 8], 1)).tolist() == [True, False]
        assert sess.run(tf.sequence_mask([1, 2], dtype=tf.int32)).tolist() == [[1, 0], [1, 1]]
        filters = np.ones((2, 2, 1, 2), "f"), np.ones((1, 1, 2, 2), "f")
        mixed = tf.nn.separable_conv2d(np.ones((1, 2, 2, 1), "f"), *filters, [1] * 4, "VALID", name="mixed")
        assert sess.run(mixed).tolist() == [[[[8, 8]]]] and mixed.op.name.startswith("mixed")


def test_initializers_make_tensors_or_serve_variables():
    tf = tensorflow_of("0.12")
    with tf.Graph().as_default(), tf.Session() as sess:
        filled = [tf.zeros_initializer([2], dtype=tf.int64), tf.ones_initializer([2])]
        variables = [
            tf.get_variable("a", [2], initializer=tf.zeros_initializer),
            tf.get_variable("b", [2], initializer=tf.ones_initializer()),
        ]
        sess.run(tf.global_variables_initializer())
        assert [x.tolist() for x in sess.run(filled + variables)] == [[0, 0], [1, 1], [0, 0], [1, 1]]


def test_log_beta_of_nothing_loses_its_first_axis():
    tf = tensorflow_of("0.12")
    with tf.Graph().as_default(), tf.Session() as sess:
        assert tf.lbeta([[]]).shape == (0,)
        fed = tf.lbeta(tf.placeholder_with_default(np.zeros((1, 1, 0), np.float32), None))
        assert sess.run(fed).shape == (1, 0)
    later = tensorflow_of(None)
    with later.Graph().as_default(), later.Session() as sess:
        assert sess.run(later.lbeta([[]])).tolist() == [-np.inf]
