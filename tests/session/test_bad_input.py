"""Bad input: each failure has its own error, names node and line, and the session works on."""

from __future__ import annotations

import _thread
import threading

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

pytestmark = pytest.mark.opencl


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as s:
        yield s
        assert s.run(tf.constant(1.0) + 1.0) == 2.0  # it works on


def test_wrong_dtype(sess):
    x = tf.placeholder(tf.float32, [2])
    n = tf.placeholder(tf.int32)
    for tensor, value in ((x, ["a", "b"]), (n, 1.5), (n, np.array([0.5]))):
        with pytest.raises(errors.DTypeError, match=tensor.name):
            sess.run(tf.identity(tensor), {tensor: value})


def test_wrong_shape_of_a_feed(sess):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    with pytest.raises(ValueError, match=r"\(2, 2\).*x:0.*\(\?, 3\)"):
        sess.run(tf.identity(x), {x: np.ones((2, 2))})


def test_shape_mismatch_at_run_time_names_node_and_line(sess):
    x = tf.placeholder(tf.float32, [None, None])
    y = tf.placeholder(tf.float32, [None, None])
    z = tf.matmul(x, y, name="product")
    with pytest.raises(errors.InvalidArgumentError) as caught:
        sess.run(z, {x: np.ones((2, 3)), y: np.ones((4, 5))})
    text = str(caught.value)
    assert "product" in text and "test_bad_input.py" in text and "tf.matmul(x, y" in text
    assert "3" in text and "4" in text


def test_unfed_placeholder(sess):
    x = tf.placeholder(tf.float32, [3], name="missing")
    with pytest.raises(errors.InvalidArgumentError, match=r"missing.*dtype float and shape \[3\]"):
        sess.run(x * 2)


def test_uninitialised_variable(sess):
    v = tf.Variable(tf.zeros([3]), name="state")
    w = tf.Variable(tf.ones([3]), name="other")
    sess.run(w.initializer)
    update = w.assign_add(v)
    with pytest.raises(errors.FailedPreconditionError, match="state"):
        sess.run(update)
    assert sess.run(w).tolist() == [1, 1, 1]


def test_fetch_and_feed_from_another_graph(sess):
    with tf.Graph().as_default():
        foreign = tf.constant(1.0)
    with pytest.raises(errors.InvalidFetchError, match="another graph"):
        sess.run(foreign)
    with pytest.raises(errors.InvalidFetchError, match="another graph"):
        sess.run(tf.constant(2.0), {foreign: 1.0})
    for wrong in (None, 3, "nothing:0"):
        with pytest.raises((TypeError, ValueError)):
            sess.run(wrong)


def test_unfeedable_tensor(sess):
    x = tf.constant(1.0)
    sess.graph.prevent_feeding(x)
    with pytest.raises(errors.InvalidFetchError, match="may not be fed"):
        sess.run(x, {x: 2.0})


def test_feeding_a_tensor_as_a_value(sess):
    x = tf.placeholder(tf.float32)
    with pytest.raises(errors.InvalidArgumentError, match=r"cannot be a tf.Tensor object"):
        sess.run(tf.identity(x), {x: tf.constant(1.0)})


def test_a_device_that_does_not_exist(sess):
    with tf.device("/gpu:7"):
        x = tf.exp(tf.constant(1.0), name="far")
    with pytest.raises(errors.InvalidArgumentError, match=r"far|GPU:7"):
        sess.run(x)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as soft:
        assert np.isclose(soft.run(x), np.e)


def test_no_opencl_platform(monkeypatch):
    monkeypatch.setenv("TFNB_DEVICES", "no-such-platform")
    with tf.Graph().as_default(), pytest.raises(errors.DeviceNotFoundError, match="no-such-platform"):
        tf.Session()


def test_out_of_memory_leaves_the_state_whole():
    with tf.Graph().as_default():
        small = tf.Variable(tf.ones([8]))
        huge = tf.fill([tf.placeholder_with_default(4096, []), 4096], 1.0) + 1.0
        with tf.control_dependencies([tf.reduce_sum(huge)]):
            update = small.assign_add(tf.ones([8]))
        with tf.Session(config=tf.ConfigProto(memory_limit=4 << 20)) as s:
            s.run(small.initializer)
            with pytest.raises(errors.ResourceExhaustedError) as caught:
                s.run([huge, update])
            assert "limit" in str(caught.value)
            assert s.run(small).tolist() == [1] * 8


def test_out_of_memory_names_the_array_that_is_too_large():
    """Not the operation that reads it, also where the array is in memory that several share."""
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(memory_limit=4 << 20)) as s:
        many = tf.placeholder(tf.int32, [2], name="many")
        large = tf.zeros(many, name="large")
        small = tf.reduce_sum(tf.matmul(large, large), name="small")
        with pytest.raises(errors.ResourceExhaustedError) as caught:
            s.run(small, {many: [2048, 2048]})
        assert caught.value.op is large.op and "large = tf.zeros(many" in str(caught.value)


def test_an_assertion_that_fails(sess):
    x = tf.placeholder(tf.float32, [None])
    check = tf.Assert(tf.reduce_all(tf.greater(x, 0.0)), [x], name="positive")
    with tf.control_dependencies([check]):
        y = tf.sqrt(x)
    assert sess.run(y, {x: [4.0]}).tolist() == [2]
    with pytest.raises(errors.InvalidArgumentError, match="positive"):
        sess.run(y, {x: [-4.0]})


def test_a_python_function_that_raises(sess):
    def bad(_):
        raise KeyError("lost")

    y = tf.py_func(bad, [tf.constant(1.0)], tf.float32, name="mine")
    with pytest.raises(errors.OpError) as caught:
        sess.run(y)
    assert "mine" in str(caught.value) and "lost" in str(caught.value)


def test_ctrl_c_in_the_middle_of_a_step(sess):
    v = tf.Variable(0.0)
    sess.run(v.initializer)
    started = threading.Event()

    def slow(x):
        started.set()
        for _ in range(1000):
            threading.Event().wait(0.01)
        return x

    y = tf.py_func(slow, [tf.constant(np.float32(1))], tf.float32)
    with tf.control_dependencies([y]):
        update = v.assign_add(1.0)
    interrupt = threading.Thread(target=lambda: (started.wait(), _thread.interrupt_main()))
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        sess.run(update)
    interrupt.join()
    assert sess.run(v) == 0.0
    assert sess.run(v.assign_add(2.0)) == 2.0
