"""What TensorFlow 1.x refuses when a graph is made or run, by class and in its words."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import InvalidArgumentError


def sparse(shape):
    return tf.SparseTensor([[0] * len(shape)], [1], shape)


def loop_with_a_variable():
    def body(i):
        return i + tf.Variable(tf.zeros([], tf.int32)).read_value()

    return tf.while_loop(lambda i: i < 3, body, [0])


AT_ONCE = {
    "order of vectors": (lambda: tf.norm(np.ones((2, 2)), ord="fro"), "'ord' must be a supported vector norm"),
    "order of matrices": (lambda: tf.norm(np.ones((2, 2)), 1.1, [-2, -1]), "'ord' must be a supported matrix norm"),
    "axes of a norm": (lambda: tf.norm(np.ones((2, 2)), axis=[1, 1]), "'axis' must be None, an integer, or a tuple of"),
    "an axis between two": (
        lambda: tf.norm(np.ones((2, 2)), axis=[3.1]),
        "'axis' must be None, an integer, or a tuple",
    ),
    "vector of probabilities": (lambda: tf.nn.dropout(tf.ones([2]), [0.0, 1.0]), "keep_prob must be a scalar"),
    "probabilities": (lambda: tf.nn.dropout(tf.ones([2]), tf.placeholder(tf.float32, [2])), "must be a scalar"),
    "matrix of axes": (lambda: tf.reduce_sum(np.ones((2, 3)), np.array([[0], [1]])), "must be at most rank 1"),
    "constraint": (lambda: tf.Variable(1.0, constraint=0), "must be a callable"),
    "variable in a loop": (loop_with_a_variable, "inside a control-flow"),
    "ranks": (lambda: tf.sparse_maximum(sparse([1, 1]), sparse([2])), "Operands do not have the same ranks"),
    "shapes": (lambda: tf.sparse_maximum(sparse([1]), sparse([2])), "Operands' shapes do not match"),
    "axis": (lambda: tf.sparse_reduce_sum(sparse([2, 3]), -3), "Invalid reduction dimension -3"),
    "mask": (lambda: tf.sparse_retain(sparse([2]), [True, False]), "to_retain has the shape"),
    "elements": (lambda: tf.sparse_reshape(sparse([5, 6]), [4, 7]), "Cannot reshape a tensor with 30 elements"),
    "nothing to scatter into": (
        lambda: tf.scatter_nd(tf.zeros([2, 2], tf.int32), tf.zeros([2, 2], tf.int32), [0, 3, 2]),
        "Indices and updates specified for empty output shape",
    ),
    "substrings": (lambda: tf.substr("abc", [[1, 2]], [1, 2]), "pos and len must have the same shape"),
}


@pytest.mark.parametrize("case", AT_ONCE)
def test_refused_when_the_graph_is_made(case):
    build, words = AT_ONCE[case]
    with tf.Graph().as_default(), pytest.raises(InvalidArgumentError, match=words):
        build()


def test_a_delimiter_is_one_string_when_the_step_runs():
    with tf.Graph().as_default(), tf.Session() as sess:
        delimiter = tf.placeholder(tf.string)
        parts = tf.string_split(["a|b"], delimiter)
        assert sess.run(parts, {delimiter: "|"}).values.tolist() == [b"a", b"b"]
        for wrong in (["a"], ["a", "b"]):
            with pytest.raises(InvalidArgumentError, match="must be one string"):
                sess.run(parts, {delimiter: wrong})


def test_an_assertion_of_initialised_variables_is_a_tensor():
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable([1, 2])
        checked = tf.assert_variables_initialized([v])
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value"):
            sess.run(checked.op)
        sess.run(v.initializer)
        assert sess.run(checked).tolist() == [1]


def test_a_prevented_gradient_is_a_failed_lookup():
    with tf.Graph().as_default():
        x = tf.constant(1.0)
        with pytest.raises(LookupError, match="Gradient explicitly disabled"):
            tf.gradients(tf.raw_ops.PreventGradient(input=x, message="m"), x)


def test_an_op_without_a_registered_gradient_is_a_failed_lookup():
    with tf.Graph().as_default():
        boxes, scores = tf.ones([3, 4]), tf.ones([3])
        _, selected = tf.image.non_max_suppression_with_scores(boxes, scores, 3, soft_nms_sigma=0.5)
        combined = tf.image.combined_non_max_suppression(boxes[None, :, None], scores[None, :, None], 2, 4)
        images = tf.ones([1, 4, 4, 3])
        drawn = tf.image.draw_bounding_boxes(images, boxes[None], colors=[[0, 1.0, 0]])
        for result, x in ((selected, scores), (combined[1], scores), (drawn, images)):
            with pytest.raises(LookupError, match="gradient"):
                tf.gradients(result, x)


def test_the_gradient_of_the_next_number_is_that_of_the_first():
    with tf.Graph().as_default(), tf.Session() as sess:
        x, towards = tf.constant([[1.0], [2.0]]), tf.constant([0.0, 9.0, 3.0])
        slopes = tf.gradients(2.0 * tf.math.nextafter(x, towards), [x, towards])
        assert [v.tolist() for v in sess.run(slopes)] == [[[6.0], [6.0]], [0.0, 0.0, 0.0]]


def test_the_gradient_ends_at_a_stack_of_references():
    with tf.Graph().as_default():
        x = tf.constant(1.0)
        stack = tf.raw_ops.Stack(elem_type=tf.float32)
        assert tf.gradients(tf.raw_ops.StackPush(handle=stack, elem=x), x) == [None]
        late = tf.raw_ops.StackV2(max_size=2, elem_type=tf.float32)
        with pytest.raises(LookupError, match="gradient"):
            tf.gradients(tf.raw_ops.StackPushV2(handle=late, elem=x), x)


def test_results_of_quantised_functions_have_names():
    with tf.Graph().as_default(), tf.Session() as sess:
        image = tf.quantize(np.ones((1, 1, 1, 1), np.float32), 0.0, 2.0, tf.quint8)
        assert sess.run(image).output_max == 2.0
        product = tf.nn.quantized_conv2d(
            image.output, image.output, 0.0, 2.0, 0.0, 2.0, strides=[1, 1, 1, 1], padding="VALID"
        )
        values = sess.run(product)
        scale = (values.max_output - values.min_output) / 2.0**32
        np.testing.assert_allclose(values.output.astype(np.float64) * scale, 1.0, rtol=0.05)
