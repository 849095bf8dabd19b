"""Monitored sessions and hooks: what runs when, recovery, interrupts, checkpoints and summaries that are left."""

from __future__ import annotations

import _thread
import logging
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import (
    AbortedError,
    ClosedSessionError,
    InvalidArgumentError,
    OutOfRangeError,
    UnavailableError,
)

pytestmark = pytest.mark.opencl


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph
    tf.summary.FileWriterCache.clear()


@pytest.fixture
def log(caplog):
    caplog.set_level(logging.INFO, logger="tfnb")
    return caplog


def counting():
    """(global step, op that counts it)"""
    step = tf.train.get_or_create_global_step()
    return step, step.assign_add(1)


class Recorder(tf.train.SessionRunHook):
    def __init__(self, fetches=None):
        self.calls, self.seen, self.fetches = [], [], fetches

    def begin(self):
        self.calls.append("begin")

    def after_create_session(self, session, coord):
        self.calls.append("created")

    def before_run(self, run_context):
        self.calls.append("before")
        return None if self.fetches is None else tf.train.SessionRunArgs(self.fetches)

    def after_run(self, run_context, run_values):
        self.calls.append("after")
        self.seen.append(run_values.results)

    def end(self, session):
        self.calls.append("end")


def test_hooks_see_every_step():
    x = tf.placeholder(tf.float32, [])
    y, z = x * 2.0, x + 1.0
    hook, quiet = Recorder({"z": z, "more": [x]}), Recorder()
    with tf.train.SingularMonitoredSession([hook, quiet]) as sess:
        assert sess.run(y, {x: 3.0}) == 6.0
        assert sess.run([y], feed_dict={x: 4.0}) == [8.0]
        assert sess.raw_session().run(z, {x: 0.0}) == 1.0
        assert not sess.should_stop() and sess.graph is tf.get_default_graph()
    assert hook.calls == ["begin", "created", *["before", "after"] * 2, "end"]
    assert hook.seen == [{"z": 4.0, "more": [3.0]}, {"z": 5.0, "more": [4.0]}]
    assert quiet.seen == [None, None]
    assert sess.should_stop()
    with pytest.raises(ClosedSessionError):
        sess.run(y, {x: 1.0})
    with pytest.raises(RuntimeError, match="Session is already closed"):
        sess.close()


def test_feeds_and_options_of_hooks():
    x = tf.placeholder(tf.float32, [])
    y = x * 2.0

    class Tracing(tf.train.SessionRunHook):
        def before_run(self, run_context):
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            return tf.train.SessionRunArgs(None, None, options)

        def after_run(self, run_context, run_values):
            self.metadata = run_values.run_metadata

    tracing = Tracing()
    with tf.train.MonitoredSession(hooks=[tf.train.FeedFnHook(lambda: {x: 5.0}), tracing]) as sess:
        assert sess.run(y) == 10.0
        assert tracing.metadata.step_stats
        with pytest.raises(InvalidArgumentError, match="fed twice"):
            sess.run(y, {x: 1.0})
        assert sess.run_step_fn(lambda c: c.run_with_hooks(y) + c.session.run(y, {x: 1.0})) == 12.0
        with pytest.raises(InvalidArgumentError, match="step_context"):
            sess.run_step_fn(lambda c, more: None)
        while not sess.should_stop():
            sess.run_step_fn(lambda c: c.request_stop())
            pytest.fail("the request leaves the loop and the block")


def test_stopping_at_a_step():
    _, count = counting()
    for stop, last in ((tf.train.StopAtStepHook(last_step=5), 5), (tf.train.StopAtStepHook(num_steps=3), 3)):
        with tf.train.SingularMonitoredSession([stop]) as sess:
            done = 0
            while not sess.should_stop():
                sess.run(count)
                done += 1
        assert done == last
    with pytest.raises(InvalidArgumentError, match="exactly one"):
        tf.train.StopAtStepHook()


def test_logging(log):
    step, count = counting()
    loss = tf.multiply(tf.cast(step, tf.float32), 2.0, name="loss")
    hooks = [
        tf.train.LoggingTensorHook({"the loss": loss}, every_n_iter=2),
        tf.train.LoggingTensorHook(["loss"], at_end=True, formatter=lambda v: f"last {v['loss']}"),
        tf.train.StepCounterHook(every_n_steps=2),
        tf.train.FinalOpsHook(loss),
    ]
    with tf.train.SingularMonitoredSession(hooks) as sess:
        for _ in range(5):
            sess.run(count)
    lines = [r.getMessage() for r in log.records]
    assert sum("the loss = " in line for line in lines) == 3
    assert "last 10.0" in lines and hooks[3].final_ops_values == 10.0
    assert sum("global_step/sec" in line for line in lines) == 2
    with pytest.raises(InvalidArgumentError, match="exactly one"):
        tf.train.LoggingTensorHook(["loss"])


def test_nan(log):
    x = tf.placeholder(tf.float32, [], name="x")
    with tf.train.SingularMonitoredSession([tf.train.NanTensorHook(x)]) as sess:
        sess.run(x, {x: 1.0})
        with pytest.raises(tf.train.NanLossDuringTrainingError, match="NaN"):
            sess.run(x, {x: np.nan})
    with tf.train.SingularMonitoredSession([tf.train.NanTensorHook(x, fail_on_nan_loss=False)]) as sess:
        sess.run(x, {x: np.nan})
        assert sess.should_stop()


def test_timer(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    timer = tf.train.SecondOrStepTimer(every_secs=5.0)
    assert timer.should_trigger_for_step(0) and timer.last_triggered_step() is None
    assert timer.update_last_triggered_step(0) == (None, None)
    assert not timer.should_trigger_for_step(9)
    now[0] += 5.0
    assert timer.should_trigger_for_step(9) and not timer.should_trigger_for_step(0)
    assert timer.update_last_triggered_step(9) == (5.0, 9)
    steps = tf.train.SecondOrStepTimer(every_steps=3)
    triggered = []
    for k in range(8):
        if steps.should_trigger_for_step(k):
            steps.update_last_triggered_step(k)
            triggered.append(k)
    assert triggered == [0, 3, 6]
    with pytest.raises(InvalidArgumentError, match="invalid every_n_iter"):
        tf.train.SecondOrStepTimer(every_steps=0)


@pytest.mark.not_compared("a thread waits for another one's steps")
def test_waiting_for_a_step():
    step, count = counting()
    more = step.assign_add(5)
    hook = tf.train.GlobalStepWaiterHook(5)
    with tf.train.SingularMonitoredSession([hook]) as sess:
        raw = sess.raw_session()
        timer = threading.Timer(0.2, lambda: raw.run(more))
        timer.start()
        assert sess.run(count) >= 6
        timer.join()


def train(folder, last, **options):
    """A training to a step; the values of the steps it made."""
    with tf.Graph().as_default():
        step, count = counting()
        tf.summary.scalar("twice", tf.cast(step, tf.float32) * 2.0)
        made = []
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=str(folder), hooks=[tf.train.StopAtStepHook(last_step=last)], **options
        ) as sess:
            while not sess.should_stop():
                made.append(int(sess.run(count)))
    tf.summary.FileWriterCache.clear()
    return made


def test_training_goes_on_where_it_was(tmp_path):
    before = set(threading.enumerate())  # other tests' event files, too, are kept for the process
    assert train(tmp_path, 5, save_checkpoint_steps=2, save_summaries_steps=1) == [1, 2, 3, 4, 5]
    assert train(tmp_path, 8, save_checkpoint_steps=2, save_summaries_steps=1) == [6, 7, 8]
    assert tf.train.latest_checkpoint(tmp_path) == str(tmp_path / "model.ckpt-8")
    assert tf.train.load_variable(tmp_path, "global_step") == 8
    table = tf.read_events(tmp_path)
    assert set(table.series(".", "twice")["step"].tolist()) >= {1, 3, 5, 6, 8}
    assert len(table.runs["."].tags("graph")) == 1 and (tmp_path / "graph.pbtxt").exists()
    assert not [t for t in set(threading.enumerate()) - before if t.name.startswith("tfnb-events")]


def test_saving_beside_the_training(tmp_path):
    _, count = counting()
    saver = tf.train.Saver()
    seen = []

    class Listener(tf.train.CheckpointSaverListener):
        def begin(self):
            seen.append("begin")

        def before_save(self, session, global_step_value):
            seen.append(("before", global_step_value))

        def after_save(self, session, global_step_value):
            seen.append(("after", global_step_value))
            return global_step_value >= 4

        def end(self, session, global_step_value):
            seen.append(("end", global_step_value))

    hook = tf.train.CheckpointSaverHook(tmp_path, save_steps=2, saver=saver, listeners=[Listener()], asynchronous=True)
    with tf.train.SingularMonitoredSession([hook]) as sess:
        while not sess.should_stop():
            sess.run(count)
    saver.close()
    saves = [s for s in seen if s[0] == "after"]
    assert saves == [("after", 0), ("after", 2), ("after", 4)]
    assert seen[0] == "begin" and seen[-1] == ("end", 4)
    assert saver.last_checkpoints == [str(tmp_path / f"model.ckpt-{k}") for k in (0, 2, 4)]


def test_summaries_of_ones_own(tmp_path):
    step, count = counting()
    writer = tf.summary.FileWriter(tmp_path)
    hook = tf.train.SummarySaverHook(
        save_steps=2, summary_writer=writer, summary_op=tf.summary.scalar("s", tf.cast(step, tf.float32))
    )
    with tf.train.SingularMonitoredSession([hook, tf.train.StepCounterHook(2, summary_writer=writer)]) as sess:
        for _ in range(5):
            sess.run(count)
    writer.close()
    table = tf.read_events(tmp_path)
    assert table.series(".", "s")["step"].tolist() == [1, 3, 5]
    assert len(table.series(".", "global_step/sec")["step"]) == 2
    for bad in ({}, {"summary_op": 1, "scaffold": 2}):
        with pytest.raises(InvalidArgumentError, match="exactly one"):
            tf.train.SummarySaverHook(save_steps=1, **bad)


@pytest.mark.parametrize("error", [AbortedError, UnavailableError])
def test_a_lost_task_is_recovered_from(tmp_path, error):
    step, count = counting()
    fail_at = {4, 5}

    class Failing(tf.train.SessionRunHook):
        def before_run(self, run_context):
            return tf.train.SessionRunArgs(step)

        def after_run(self, run_context, run_values):
            now = int(run_context.session.run(step))
            if now in fail_at:
                fail_at.discard(now)
                raise error("on purpose")

    hook = Recorder()
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=str(tmp_path), save_checkpoint_steps=2, hooks=[hook, Failing()]
    ) as sess:
        made = [int(sess.run(count)) for _ in range(6)]
    # Step 4 failed and was made again, from checkpoint 2 by way of step 3, and so was step 5, from checkpoint 4.
    assert hook.calls.count("created") == 3
    assert made == [1, 2, 3, 3, 4, 5]
    with pytest.raises(error), tf.train.SingularMonitoredSession([_Raise(error)]) as sess:
        sess.run(count)


class _Raise(tf.train.SessionRunHook):
    def __init__(self, error):
        self.error = error

    def after_run(self, run_context, run_values):
        raise self.error("on purpose")


def test_the_end_of_an_input_is_no_error():
    item = tf.train.input_producer(tf.constant([1, 2, 3]), num_epochs=1, shuffle=False).dequeue()
    got = []
    with tf.train.MonitoredSession() as sess:
        while not sess.should_stop():
            got.append(int(sess.run(item)))
    assert got == [1, 2, 3]


def test_errors_leave_no_checkpoint(tmp_path):
    _, count = counting()
    with (
        pytest.raises(ZeroDivisionError),
        tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path), save_checkpoint_steps=100) as sess,
    ):
        sess.run(count)
        raise ZeroDivisionError
    assert tf.train.latest_checkpoint(tmp_path) == str(tmp_path / "model.ckpt-0")
    with tf.train.SingularMonitoredSession() as sess:
        raise OutOfRangeError("the end of an input")


@pytest.mark.not_compared("it trains until it is interrupted")
@pytest.mark.usefixtures("no_collector")
def test_an_interrupt_saves_the_last_checkpoint(tmp_path):
    _, count = counting()
    timer = threading.Timer(0.3, _thread.interrupt_main)
    with (
        pytest.raises(KeyboardInterrupt),
        tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path), save_checkpoint_steps=10**9) as sess,
    ):
        last = int(sess.run(count))  # which compiles it
        timer.start()
        end = time.monotonic() + 60
        while time.monotonic() < end:
            last = int(sess.run(count))
    assert int(tf.train.load_variable(tmp_path, "global_step")) in (last, last + 1)


def test_ctrl_c_in_a_program(tmp_path):
    program = f"""
import tfnb as tf
step = tf.train.get_or_create_global_step()
count = step.assign_add(1)
with tf.train.MonitoredTrainingSession(checkpoint_dir={str(tmp_path)!r}, save_checkpoint_steps=10**9) as sess:
    print("ready", flush=True)
    while not sess.should_stop():
        print(sess.run(count), flush=True)
"""
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        assert process.stdout.readline() == "ready\n"
        begun = [process.stdout.readline() for _ in range(10)]
        process.send_signal(signal.SIGINT)
        # Not `communicate`, which would pass over what `readline` has read ahead.
        out, err = process.stdout.read(), process.stderr.read()
    assert "KeyboardInterrupt" in err
    last = int([*begun, *out.split()][-1])
    assert int(tf.train.load_variable(tmp_path, "global_step")) in (last, last + 1)


def test_scaffold_and_session_manager(tmp_path):
    v = tf.Variable(1.0, name="v")
    w = tf.Variable(0.0, name="w", collections=[tf.GraphKeys.LOCAL_VARIABLES])
    x = tf.placeholder(tf.float32, [])
    scaffold = tf.train.Scaffold(
        init_op=v.assign(x),
        init_feed_dict={x: 4.0},
        local_init_op=w.assign(2.0),
        init_fn=lambda s, session: seen.append(s),
    )
    seen = []
    creator = tf.train.ChiefSessionCreator(scaffold)
    with tf.train.MonitoredSession(creator) as sess:
        assert sess.run([v, w]) == [4.0, 2.0]
        assert seen == [scaffold] and tf.get_default_graph().finalized
    assert not tf.get_default_graph().finalized
    with pytest.raises(TypeError, match="copy_from_scaffold is not a Scaffold"):
        tf.train.Scaffold(copy_from_scaffold=1)
    copy = tf.train.Scaffold(copy_from_scaffold=scaffold, init_feed_dict={x: 5.0})
    with tf.train.MonitoredSession(tf.train.ChiefSessionCreator(copy)) as sess:
        assert sess.run(v) == 5.0


@pytest.mark.not_compared("it asks until a time is over")
def test_a_model_that_is_not_ready(tmp_path):
    tf.Variable(1.0, name="v")
    ready = tf.report_uninitialized_variables()
    manager = tf.train.SessionManager(ready_op=ready, recovery_wait_secs=0.01)
    with pytest.raises(tf.errors.FailedPreconditionError, match="not initialized: v"):
        manager.prepare_session("", init_op=tf.no_op())
    with pytest.raises(InvalidArgumentError, match="neither init_op"):
        manager.prepare_session("")
    with pytest.raises(tf.errors.DeadlineExceededError, match="not ready"):
        manager.wait_for_session("", max_wait_secs=0.05)
    saver = tf.train.Saver()
    with pytest.raises(tf.errors.DeadlineExceededError, match="no checkpoint"):
        manager.prepare_session("", saver=saver, checkpoint_dir=tmp_path, wait_for_checkpoint=True, max_wait_secs=0.05)
    sess, restored = manager.recover_session("", saver=saver, checkpoint_dir=tmp_path)
    assert not restored
    sess.run(tf.global_variables_initializer())
    saver.save(sess, str(tmp_path / "m"))
    sess.close()
    sess, restored = manager.recover_session("", saver=saver, checkpoint_dir=tmp_path)
    assert restored
    sess.close()


def test_a_training_that_was_imported(tmp_path):
    """The saver in a MetaGraph's collection is used by the sessions and hooks of another program."""
    _, count = counting()
    tf.add_to_collection("train_op", count)
    tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver(max_to_keep=3))
    tf.train.export_meta_graph(str(tmp_path / "graph.meta"))
    for last in (2, 4):
        with tf.Graph().as_default():
            tf.train.import_meta_graph(str(tmp_path / "graph.meta"))
            (count,) = tf.get_collection("train_op")
            with tf.train.MonitoredTrainingSession(
                checkpoint_dir=str(tmp_path), save_checkpoint_steps=1, save_summaries_steps=None
            ) as sess:
                assert [int(sess.run(count)) for _ in range(2)] == [last - 1, last]
        tf.summary.FileWriterCache.clear()
    state = tf.train.get_checkpoint_state(tmp_path)
    assert [p.rpartition("-")[2] for p in state.all_model_checkpoint_paths] == ["2", "3", "4"]


class StopsAt(tf.train.SessionRunHook):
    """Asks all threads to stop with an error, in the second step."""

    def __init__(self, error):
        self.error, self.steps = error, 0

    def after_create_session(self, session, coord):
        self.coord = coord

    def before_run(self, context):
        self.steps += 1
        if self.steps == 2:
            self.coord.request_stop(self.error)


class Counting(tf.train.ChiefSessionCreator):
    made = 0

    def create_session(self):
        self.made += 1
        return super().create_session()


def test_a_task_that_is_lost_beside_a_step_makes_another_session():
    x = tf.placeholder(tf.float32, [])
    creator = Counting()
    with tf.train.MonitoredSession(creator, [StopsAt(AbortedError("a task is gone"))]) as sess:
        assert sess.run(x, {x: 1.0}) == 1.0 and sess.run(x, {x: 2.0}) == 2.0
        assert not sess.should_stop() and creator.made == 2
        assert sess.run(x, {x: 3.0}) == 3.0


def test_an_error_beside_a_step_stops_the_training_and_is_raised_at_its_end():
    x = tf.placeholder(tf.float32, [])
    sess = tf.train.MonitoredSession(hooks=[StopsAt(tf.errors.DataLossError(None, None, "the input is damaged"))])
    assert sess.run(x, {x: 1.0}) == 1.0 and sess.run(x, {x: 2.0}) == 2.0
    assert sess.should_stop()
    with pytest.raises(tf.errors.DataLossError, match="the input is damaged"):
        sess.close()


def test_several_savers_need_a_choice():
    tf.Variable(1.0)
    for _ in range(2):
        tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver())
    with pytest.raises(RuntimeError, match="More than one item in the collection 'savers'"):
        tf.train.Scaffold().finalize()


def test_the_graph_is_finalized_until_the_hooks_have_ended():
    class Looks(tf.train.SessionRunHook):
        def end(self, session):
            self.was_finalized = tf.get_default_graph().finalized

    hook, x = Looks(), tf.placeholder(tf.float32, [])
    with tf.train.MonitoredSession(hooks=[hook]) as sess:
        assert sess.run(x, {x: 1.0}) == 1.0
    assert hook.was_finalized and not tf.get_default_graph().finalized
