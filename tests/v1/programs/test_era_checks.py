"""Assertions of 0.12 fail in a step, those of 1.x where constants show it already when the graph is built."""

from __future__ import annotations

import pytest

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.v1.programs.hook import tensorflow_of

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
