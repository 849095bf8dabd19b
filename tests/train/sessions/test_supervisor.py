"""Supervisor: sessions, threads that save beside the training, stopping."""

from __future__ import annotations

import threading
import time

import pytest

import tfnb as tf
from tfnb.errors import FailedPreconditionError

pytestmark = pytest.mark.opencl


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def counting():
    step = tf.train.get_or_create_global_step()
    return step, step.assign_add(1)


def wait_until(condition):
    for _ in range(500):
        if condition():
            return
        time.sleep(0.01)
    pytest.fail("it did not happen")


@pytest.mark.not_compared("it trains until a checkpoint is there")
def test_training_with_services(tmp_path):
    step, count = counting()
    tf.summary.scalar("step", tf.cast(step, tf.float32))
    logdir = tmp_path / "log"
    sv = tf.train.Supervisor(logdir=str(logdir), save_model_secs=0.05, save_summaries_secs=0.05)
    with sv.managed_session() as sess:
        called = []
        sv.loop(0.02, called.append, args=(1,))
        while not sv.should_stop():
            if sess.run(count) >= 3 and tf.train.latest_checkpoint(logdir) and called:
                sv.request_stop()
    last = tf.train.load_variable(logdir, "global_step")
    assert last >= 3 and sv.save_path == str(logdir / "model.ckpt")
    assert (logdir / "graph.pbtxt").exists()
    assert "step" in tf.read_events(logdir).tags
    assert not [t for t in threading.enumerate() if isinstance(t, tf.train.LooperThread)]
    with tf.Graph().as_default():
        step, count = counting()
        sv = tf.train.Supervisor(logdir=str(logdir))
        with sv.managed_session() as sess:
            assert sess.run(count) == last + 1
    assert tf.train.load_variable(logdir, "global_step") == last + 1


def test_without_a_folder():
    v = tf.Variable(2.0)
    w = v.assign_add(1.0)
    sv = tf.train.Supervisor()
    with sv.managed_session() as sess:
        assert sess.run(w) == 3.0
    assert sv.save_path is None and sv.summary_writer is None
    with pytest.raises(FailedPreconditionError, match="writer"):
        sv.summary_computed(None, b"")


def test_parts_that_are_given(tmp_path):
    v = tf.Variable(2.0)
    x = tf.placeholder(tf.float32, [])
    seen = []
    sv = tf.train.Supervisor(
        logdir=tmp_path,
        init_op=v.assign(x),
        init_feed_dict={x: 7.0},
        summary_op=None,
        saver=None,
        global_step=None,
        init_fn=lambda sess: seen.append(sess.run(v)),
    )
    with sv.managed_session() as sess:
        assert sess.run(v) == 7.0
        sv.summary_computed(sess, tf.Summary(value=[tf.Summary.Value(tag="mine", simple_value=1)]), 5)
    assert seen == [7.0]
    assert tf.read_events(tmp_path).series(".", "mine")["step"].tolist() == [5]
    assert tf.train.latest_checkpoint(tmp_path) is None


def test_errors_are_raised_at_the_end(tmp_path):
    _, count = counting()
    sv = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0)
    with pytest.raises(ZeroDivisionError), sv.managed_session() as sess:
        sess.run(count)
        raise ZeroDivisionError
    assert tf.train.latest_checkpoint(tmp_path) is None
    with tf.Graph().as_default():
        _, count = counting()
        sv = tf.train.Supervisor()
        with pytest.raises(KeyError), sv.managed_session() as sess:

            def fail():
                raise KeyError("in a thread")

            sv.loop(0.01, fail)
            wait_until(sv.should_stop)
    with tf.Graph().as_default():
        sv = tf.train.Supervisor(is_chief=False)
        with pytest.raises(FailedPreconditionError, match="chief"):
            sv.start_standard_services(None)


def test_interrupt_saves(tmp_path):
    _, count = counting()
    sv = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0)
    with pytest.raises(KeyboardInterrupt), sv.managed_session() as sess:
        sess.run(count)
        raise KeyboardInterrupt
    assert tf.train.load_variable(tmp_path, "global_step") == 1


@pytest.mark.parametrize("place", ["after", "within", "both"])
def test_stopping_twice_writes_one_stop_and_warns_of_nothing(tmp_path, place):
    """A warning would be an error here; the session's end stops the supervisor, too, and saves a last checkpoint."""
    _, count = counting()
    sv = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0, save_summaries_secs=0)
    with sv.managed_session() as sess:
        sess.run(count)
        if place != "after":
            sv.stop()
    if place != "within":
        sv.stop()
    assert tf.train.load_variable(tmp_path, "global_step") == 1
    events = [e for path in tmp_path.glob("events*") for e in tf.train.summary_iterator(str(path))]
    assert [e.session_log.status for e in events].count(tf.SessionLog.STOP) == 1


def test_queue_runners(tmp_path):
    item = tf.train.input_producer(tf.constant([1, 2, 3]), num_epochs=2, shuffle=False).dequeue()
    sv = tf.train.Supervisor()
    got = []
    with sv.managed_session() as sess, sv.stop_on_exception():
        while not sv.should_stop():
            got.append(int(sess.run(item)))
    assert got == [1, 2, 3, 1, 2, 3]


def test_a_global_step_of_one_element(tmp_path):
    with tf.Graph().as_default():
        tf.Variable([123], name="global_step")
        sv = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0)
        with sv.managed_session("") as sess:
            sv.summary_computed(sess, tf.Summary().SerializeToString())
            sv.saver.save(sess, sv.save_path, global_step=sv.global_step)
    assert (tmp_path / "model.ckpt-123.index").exists()
    events = [e for path in tmp_path.glob("events*") for e in tf.train.summary_iterator(str(path))]
    assert 123 in [e.step for e in events]
