"""ProfilerHook, basic_train_loop, queue runners of other sessions, and what is said of a model that is not ready."""

import json

import pytest

import tfnb as tf


def test_profiler_hook_writes_timelines(tmp_path):
    with tf.Graph().as_default():
        train = tf.assign_add(tf.train.get_or_create_global_step(), 1)
        hook = tf.train.ProfilerHook(save_steps=2, output_dir=str(tmp_path))
        with tf.train.SingularMonitoredSession(hooks=[hook]) as session:
            for _ in range(4):
                session.run(train)
    files = sorted(tmp_path.iterdir())
    assert [f.name for f in files] == ["timeline-1.json", "timeline-3.json"]
    assert json.loads(files[0].read_text())["traceEvents"]
    for interval in ({}, {"save_secs": 1, "save_steps": 1}):
        with pytest.raises(ValueError, match="exactly one"):
            tf.train.ProfilerHook(**interval)


def test_basic_train_loop_goes_on_after_aborted_steps(tmp_path):
    supervisor = tf.train.Supervisor(graph=tf.Graph(), logdir=None)
    calls = []

    def step(session, supervisor, number):
        calls.append((number, session))
        if len(calls) == 1:
            raise tf.errors.AbortedError(None, None, "a task was started again")
        if len(calls) == 3:
            supervisor.request_stop()

    tf.train.basic_train_loop(supervisor, step, args=(supervisor,), kwargs={"number": 7})
    assert [n for n, _ in calls] == [7, 7, 7]
    assert calls[0][1] is not calls[1][1]
    assert calls[1][1] is calls[2][1]


def test_queue_runners_of_other_sessions():
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.FIFOQueue(10, tf.float32)
        runner = tf.train.QueueRunner(queue, ["no such operation"])
        tf.train.add_queue_runner(runner)
        (thread,) = runner.create_threads(session)
        assert thread.name == "QueueRunnerThread-fifo_queue-no such operation"
        with pytest.raises(TypeError, match=r"sess must be a tf\.Session"):
            tf.train.start_queue_runners("NotASession")


def test_batches_of_dicts_have_the_same_keys():
    with tf.Graph().as_default(), pytest.raises(ValueError, match="must have the same keys"):
        tf.train.batch_join([{"c": 12, "s": 1}, {"cool": -12, "s": 9}], batch_size=8)


def test_what_is_not_ready_is_named():
    with tf.Graph().as_default():
        v = tf.Variable(1, name="v")
        w = tf.Variable(1, trainable=False, collections=[tf.GraphKeys.LOCAL_VARIABLES], name="w")
        manager = tf.train.SessionManager(
            ready_op=tf.report_uninitialized_variables(),
            ready_for_local_init_op=tf.report_uninitialized_variables([v]),
            local_init_op=w.initializer,
        )
        with pytest.raises(RuntimeError, match=r"ready for local_init: Variables not initialized: v"):
            manager.prepare_session("", init_op=None)
        with pytest.raises(tf.errors.DeadlineExceededError, match="Session was not ready after waiting"):
            manager.wait_for_session("", max_wait_secs=0)


def test_a_supervisor_of_a_replica_wants_devices():
    with tf.Graph().as_default():
        tf.Variable(1.0, name="v")
        with pytest.raises(ValueError, match="must have their device set: v"):
            tf.train.Supervisor(is_chief=False)


def test_a_supervisor_writes_the_meta_graph_once_for_each_file(tmp_path):
    with tf.Graph().as_default():
        summary = tf.summary.scalar("c", tf.constant(1.0))
        supervisor = tf.train.Supervisor(logdir=str(tmp_path), summary_op=None)
        with supervisor.managed_session("", start_standard_services=False) as session:
            supervisor.summary_computed(session, session.run(summary))
        events = [e for f in tmp_path.glob("events*") for e in tf.train.summary_iterator(str(f))]
        assert [e.WhichOneof("what") for e in events] == [
            "file_version",
            "graph_def",
            "meta_graph_def",
            "summary",
            "session_log",
        ]
    with (
        tf.Graph().as_default(),
        tf.Session() as session,
        pytest.raises(RuntimeError, match="requires a summary writer"),
    ):
        tf.train.Supervisor(summary_writer=None).summary_computed(session, b"")


def test_names_that_are_not_there_are_value_errors():
    with tf.Graph().as_default():
        tf.train.create_global_step()
        with pytest.raises(ValueError, match="already exists"):
            tf.train.create_global_step()


def test_waiting_for_step_zero_reads_nothing():
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.get_or_create_global_step()
        hook = tf.train.GlobalStepWaiterHook(wait_until_step=0)
        hook.begin()
        assert hook.before_run(tf.train.SessionRunContext(None, session)) is None
