"""Synchronous replicas: the mean of many workers' gradients is one big batch's; late ones are dropped."""

import threading

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import DTypeError, InvalidArgumentError

pytestmark = pytest.mark.opencl

DATA = np.random.RandomState(0).randn(12, 3).astype(np.float32)
LABELS = DATA @ np.array([1.0, 2.0, -1.0], np.float32)


def model(sparse=False):
    x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [None])
    w = tf.get_variable("w", [3, 1] if sparse else [3], initializer=tf.zeros_initializer())
    rows = tf.reshape(tf.gather(w, [0, 1, 2]), [3]) if sparse else w
    return x, y, w, tf.reduce_mean((tf.reduce_sum(x * rows, 1) - y) ** 2)


def one_big_batch(steps, sparse=False):
    with tf.Graph().as_default():
        x, y, w, loss = model(sparse)
        step = tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            for _ in range(steps):
                sess.run(step, {x: DATA, y: LABELS})
            return sess.run(w)


def together(sess, train, x, y, n, steps):
    """n workers in threads, each with its share of the data."""
    errors = []
    # A worker that is ahead could take another's token, and its own next gradient would be an old one.
    barrier = threading.Barrier(n)

    def work(i):
        try:
            for _ in range(steps):
                sess.run(train, {x: DATA[i::n], y: LABELS[i::n]})
                barrier.wait(60)
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(n)]
    [t.start() for t in threads]
    [t.join(60) for t in threads]
    assert not any(t.is_alive() for t in threads)
    assert not errors


@pytest.mark.parametrize("sparse", [False, True])
def test_three_workers_are_one_big_batch(sparse):
    x, y, w, loss = model(sparse)
    count = tf.train.get_or_create_global_step()
    opt = tf.train.SyncReplicasOptimizer(tf.train.MomentumOptimizer(0.05, 0.9), 3)
    train = opt.minimize(loss, global_step=count)
    init = [tf.global_variables_initializer(), tf.local_variables_initializer()]
    assert opt.get_slot(w, "momentum") in opt.variables()
    with tf.Session() as sess:
        sess.run(init)
        sess.run(opt.chief_init_op)
        coord = tf.train.Coordinator()
        threads = opt.get_chief_queue_runner().create_threads(sess, coord, daemon=True, start=True)
        together(sess, train, x, y, 3, 5)
        assert sess.run(count) == 5
        np.testing.assert_allclose(sess.run(w), one_big_batch(5, sparse), rtol=1e-5)
        coord.request_stop()
    coord.join(threads)  # which end with the session: they wait for gradients


def test_variables_on_two_devices():
    with tf.device("/cpu:0"):
        count = tf.train.get_or_create_global_step()
        x, y, _, loss = model()
    with tf.device("/cpu:1"):
        shift = tf.get_variable("shift", [], initializer=tf.zeros_initializer())
    opt = tf.train.SyncReplicasOptimizer(tf.train.MomentumOptimizer(0.05, 0.9), 1)
    train = opt.minimize(loss + tf.square(shift - 1.0), global_step=count)
    assert opt.get_slot(shift, "momentum").device == shift.device
    init = [tf.global_variables_initializer(), tf.local_variables_initializer()]
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as sess:
        sess.run(init)
        sess.run(opt.chief_init_op)
        coord = tf.train.Coordinator()
        threads = opt.get_chief_queue_runner().create_threads(sess, coord, daemon=True, start=True)
        sess.run(train, {x: DATA, y: LABELS})
        assert sess.run([count, shift]) == [1, pytest.approx(0.1)]
        coord.request_stop()
    coord.join(threads)


def test_the_gradient_of_a_backup_worker_is_dropped_when_it_comes_late():
    x, y, w, loss = model()
    count = tf.train.get_or_create_global_step()
    opt = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.05), 1, total_num_replicas=2)
    train = opt.minimize(loss, global_step=count)
    init = [tf.global_variables_initializer(), tf.local_variables_initializer()]
    with tf.Session() as sess:
        sess.run(init)
        sess.run(opt.chief_init_op)
        coord = tf.train.Coordinator()
        threads = opt.get_chief_queue_runner().create_threads(sess, coord, daemon=True, start=True)
        sess.run(train, {x: DATA, y: LABELS})  # makes a step, and two tokens, of which it takes one
        after = sess.run(w)
        sess.run(opt._local_step.assign(0))
        sess.run(train, {x: DATA, y: LABELS})  # a gradient of step 0, when step 1 is next
        assert sess.run(count) == 1
        np.testing.assert_array_equal(sess.run(w), after)
        coord.request_stop()
    coord.join(threads)


def test_the_name_of_the_local_step():
    step = tf.train.get_or_create_global_step()
    v = tf.Variable(1.0)
    tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), 1).minimize(v * v, step)
    assert [x.op.name for x in tf.local_variables()] == ["sync_rep_local_step"]


def test_the_hook_of_a_monitored_session():
    x, y, w, loss = model()
    count = tf.train.get_or_create_global_step()
    opt = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.05), 1)
    train = opt.minimize(loss, global_step=count)
    hook = opt.make_session_run_hook(is_chief=True, num_tokens=0)
    with tf.train.MonitoredTrainingSession(hooks=[hook, tf.train.StopAtStepHook(4)], save_checkpoint_secs=None) as sess:
        while not sess.should_stop():
            sess.run(train, {x: DATA, y: LABELS})
            found = sess.run(w) if not sess.should_stop() else found  # noqa: F821
    assert np.isfinite(found).all()


def test_what_is_not_taken():
    with pytest.raises(DTypeError, match="wraps an optimizer"):
        tf.train.SyncReplicasOptimizer(3, 1)
    with pytest.raises(InvalidArgumentError, match="at least one replica"):
        tf.train.SyncReplicasOptimizer(tf.train.AdamOptimizer(), 0)
    opt = tf.train.SyncReplicasOptimizer(tf.train.AdamOptimizer(), 3, 1)
    with pytest.raises(InvalidArgumentError, match="apply_gradient should be called before"):
        opt.get_chief_queue_runner()
    _, _, _, loss = model()
    with pytest.raises(InvalidArgumentError, match="global_step"):
        opt.minimize(loss)
    opt.minimize(loss, global_step=tf.train.get_or_create_global_step())
    with pytest.raises(InvalidArgumentError, match="too few tokens: 1; without 2"):
        opt.get_init_tokens_op(1)
