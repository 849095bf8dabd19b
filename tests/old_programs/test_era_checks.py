"""Assertions of 0.12 fail in a step, those of 1.x where constants show it already when the graph is built."""

from __future__ import annotations

import numpy as np
import pytest

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.old_programs.hook import tensorflow_of

pytestmark = pytest.mark.opencl


@pytest.mark.parametrize("check", ["assert_negative", "assert_positive"])
def test_an_assertion_of_0_12_fails_in_a_step(check):
    tf = tensorflow_of("0.12")
    with tf.Graph().as_default(), tf.Session() as sess:
        checked = getattr(tf, check)(tf.constant(0))
        with pytest.raises(InvalidArgumentError, match="did not hold"):
            sess.run(checked)


def test_shapes_are_checked_at_once():
    tf = tensorflow_of("0.12")
    with tf.Graph().as_default(), pytest.raises(ShapeError):
        tf.assert_equal(tf.ones([2]), tf.ones([3]))


def test_the_versions_of_tensorflow_are_in_their_module_too():
    tf = tensorflow_of("0.12")
    versions = tf.python.framework.versions
    assert (versions.VERSION, versions.GRAPH_DEF_VERSION) == (tf.VERSION, tf.GRAPH_DEF_VERSION)


def test_what_0_12_refuses_in_a_step():
    early, late = tensorflow_of("0.12"), tensorflow_of("1.15")
    with early.Graph().as_default(), early.Session() as sess:
        huge = np.eye(2) * 1e200
        assert sess.run(late.matrix_determinant(huge)) == np.inf
        with pytest.raises(InvalidArgumentError, match="The determinant is not finite"):
            sess.run(early.matrix_determinant(huge))
        assert np.isclose(sess.run(early.matrix_determinant(np.eye(2) * 3)), 9)
        assert sess.run(late.nn.in_top_k([[0.1, 0.3, 0.2]] * 2, [1, 8], 1)).tolist() == [True, False]
        with pytest.raises(InvalidArgumentError, match="target is out of range"):
            sess.run(early.nn.in_top_k([[0.1, 0.3, 0.2]] * 2, [1, 8], 1))
        assert sess.run(early.nn.in_top_k([[0.1, 0.3, 0.2]] * 2, [1, 0], 1)).tolist() == [True, False]
