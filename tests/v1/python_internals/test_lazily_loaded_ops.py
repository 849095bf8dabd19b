"""Operations that load when they are named: those with state, or without inputs, that cases do not reach."""

from __future__ import annotations

import time

import numpy as np
import pytest

import tfnb as tf


def run(tensor):
    with tf.Session(graph=tensor.graph) as session:
        return session.run(tensor)


@pytest.mark.not_compared("the time goes on")
def test_the_time_is_that_of_the_step():
    before = time.time()
    assert before <= run(tf.timestamp()) <= time.time()


@pytest.mark.parametrize("shape", [(2, 3), (0, 4), ()])
def test_empty_tensors_have_the_shape(shape):
    found = run(tf.raw_ops.Empty(shape=np.array(shape, np.int32), dtype=tf.float64, init=True))
    assert found.shape == shape and found.dtype == np.float64 and not found.any()


def test_a_copy_is_equal():
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(run(tf.raw_ops.DeepCopy(x=tf.constant(x))), x)


def test_layouts_of_other_letters_are_refused():
    with pytest.raises(tf.errors.InvalidArgumentError, match="two orders of the same letters"):
        tf.raw_ops.DataFormatDimMap(x=[0], src_format="NHWC", dst_format="NCHX")


def test_rows_that_do_not_fit_are_refused():
    with pytest.raises(tf.errors.InvalidArgumentError, match="do not fit"):
        run(tf.raw_ops.InplaceAdd(x=[[1.0, 2.0]], i=[0], v=[[1.0]]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="has no row"):
        run(tf.raw_ops.InplaceUpdate(x=np.zeros((0, 2), np.float32), i=[0], v=[[1.0, 2.0]]))
