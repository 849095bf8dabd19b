"""Tensors that a session keeps between steps, and their handles."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import tfnb as tf
from tfnb.ops.state.session_tensors import SessionTensors


@pytest.fixture(autouse=True)
def sess():
    with tf.Graph().as_default(), tf.Session() as sess:
        yield sess


def test_a_kept_tensor_is_evaluated_and_fed_to_other_steps(sess):
    product = tf.constant([2.0, 3.0]) * 5.0
    handle, value = sess.run([tf.get_session_handle(product), product])
    np.testing.assert_array_equal(handle.eval(), value)
    holder, x = tf.get_session_tensor(handle.handle, tf.float32)
    np.testing.assert_array_equal(sess.run(x + 1.0, {holder: handle.handle}), [11.0, 16.0])
    np.testing.assert_array_equal(sess.run(x + 1.0, {holder: handle.get_raw_handle()}), [11.0, 16.0])
    assert handle.handle in repr(handle) and str(handle) == handle.handle


def test_a_handle_is_fed_in_place_of_a_value(sess):
    a = tf.placeholder(tf.float32)
    handle = sess.run(tf.get_session_handle(tf.constant(4.0)))
    assert sess.run(a * 2.0, {a: handle}) == 8.0
    wrong = tf.placeholder(tf.string)
    with pytest.raises(TypeError, match="not compatible"):
        sess.run(wrong, {wrong: handle})


def test_a_deleted_tensor_is_unknown(sess):
    keep = tf.get_session_handle(tf.constant(1))
    first, second = sess.run(keep), sess.run(keep)
    first.delete()
    with pytest.raises(tf.errors.InvalidArgumentError, match="not in the session store"):
        first.eval()
    holder, deletion = tf.delete_session_tensor(second.get_raw_handle())
    sess.run(deletion, {holder: second.handle})
    with pytest.raises(tf.errors.InvalidArgumentError, match="not in the session store"):
        second.delete()


def test_a_handle_of_another_dtype_or_of_no_string_is_refused(sess):
    handle = sess.run(tf.get_session_handle(tf.constant(1)))
    holder, x = tf.get_session_tensor(handle.handle, tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="is int32, expected float32"):
        sess.run(x, {holder: handle.handle})
    with pytest.raises(TypeError, match="handle must be"):
        tf.get_session_tensor(7, tf.float32)


def test_a_loop_of_steps_keeps_a_bounded_number_of_tensors(sess):
    handle = sess.run(tf.get_session_handle(tf.constant(0)))
    holder, x = tf.get_session_tensor(handle.handle, tf.int32)
    more = tf.get_session_handle(x + 1)
    for _ in range(20):
        handle = sess.run(more, {holder: handle.handle})
    gc.collect()
    assert handle.eval() == 20
    kept = next(r for r in sess.compile_context.resources.others() if isinstance(r, SessionTensors))
    assert len(kept.values) <= 3
