"""Accumulators and critical sections."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import DeadlineExceededError, InvalidArgumentError, OpError

pytestmark = pytest.mark.opencl


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as s:
        yield s


def test_averages_and_stale_gradients(sess):
    acc = tf.ConditionalAccumulator(tf.float32, shape=[2], name="acc")
    n, take = acc.num_accumulated(), acc.take_grad(2)
    sess.run(acc.apply_grad([1.0, 2.0], local_step=-1))
    assert sess.run(n) == 0
    sess.make_callable(take)  # compiled, so that all of the time limit is for the wait
    with pytest.raises(DeadlineExceededError, match="'acc' has 0 of the 2 gradients"):
        sess.run(take, options=tf.RunOptions(timeout_in_ms=500))
    got = []
    thread = threading.Thread(target=lambda: got.append(sess.run(take)))
    thread.start()
    sess.run(acc.apply_grad([1.0, 2.0]))
    sess.run(acc.apply_grad([3.0, 4.0], local_step=5))
    thread.join(20)
    assert got[0].tolist() == [2, 3] and sess.run(n) == 0
    sess.run(acc.set_global_step(10))
    sess.run(acc.apply_grad([1.0, 2.0], local_step=9))
    assert sess.run(n) == 0
    with pytest.raises(InvalidArgumentError, match="must be positive"):
        sess.run(acc.take_grad(0))
    x = tf.placeholder(tf.float32)
    with pytest.raises(InvalidArgumentError, match="Shape mismatch"):
        sess.run(acc.apply_grad(x, local_step=20), {x: [1, 2, 3]})
    total = tf.ConditionalAccumulator(tf.float32, reduction_type="SUM")
    sess.run([total.apply_grad([1.0]), total.apply_grad([2.0])])
    assert sess.run(total.take_grad(2)).tolist() == [3]


def test_sparse_rows_are_averaged_one_by_one(sess):
    acc = tf.SparseConditionalAccumulator(tf.float32, shape=[None, 2])
    sess.run(acc.apply_grad([1, 0], [[1.0, 2.0], [3.0, 4.0]]))
    grad = tf.IndexedSlices(tf.constant([[10.0, 20.0], [30.0, 40.0]]), tf.constant([1, 3]), tf.constant([4, 2]))
    sess.run(acc.apply_indexed_slices_grad(grad))
    got = sess.run(acc.take_indexed_slices_grad(2))
    assert got.indices.tolist() == [1, 0, 3] and got.dense_shape.tolist() == [-1, 2]
    np.testing.assert_allclose(got.values, [[5.5, 11], [3, 4], [30, 40]])
    sess.run(acc.apply_grad([1], [[1.0, 1.0]], local_step=0))
    assert sess.run(acc.num_accumulated()) == 0
    for indices, values, shape in (([0, 1], [[1.0, 1.0]], None), ([0], [[1.0]], None), ([5], [[1.0, 1.0]], [4, 2])):
        with pytest.raises(InvalidArgumentError):
            sess.run(acc.apply_grad(indices, values, shape, local_step=1))


def test_a_critical_section_excludes_others(sess):
    inside, most, lock = [0], [0], threading.Lock()

    def busy(x):
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        time.sleep(0.003)
        with lock:
            inside[0] -= 1
        return x + 1

    section = tf.CriticalSection()
    x = tf.placeholder(tf.int64, [])
    y = section.execute(lambda: tf.py_func(busy, [x], tf.int64))
    got = []
    threads = [threading.Thread(target=lambda i=i: got.append(int(sess.run(y, {x: i})))) for i in range(12)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(20)
    assert sorted(got) == list(range(1, 13)) and most[0] == 1


def test_a_failed_step_gives_the_lock_back(sess):
    section = tf.CriticalSection(shared_name="one")
    bad = section.execute(lambda: tf.py_func(lambda: 1 // 0, [], tf.int64))
    for _ in range(3):
        with pytest.raises(OpError, match="ZeroDivisionError"):
            sess.run(bad, options=tf.RunOptions(timeout_in_ms=5000))
    same = tf.CriticalSection(shared_name="one")
    good = same.execute(lambda: tf.constant(1) + 1)
    assert sess.run(good, options=tf.RunOptions(timeout_in_ms=5000)) == 2


@pytest.mark.parametrize(
    ("indices", "values", "shape", "words"),
    [
        ([0], [[1, 2]], [2, 2], "expected shape rank at least 3, got 2"),
        ([0], [[[1, 2], [3, 4], [5, 6]]], [2, 3, 2], "expected shape dim 1 to be 2, got 3"),
        ([3], [[[1, 2], [3, 4]]], None, "index of slice 0 exceeded limits of shape; index is 3 exceeded 2"),
        ([0, 1], [[1, 2], [3, 4]], None, "expected values rank at least 3, got 2"),
        ([0], [[[1, 2], [3, 4], [5, 6]]], None, "expected values dim 1 to be 2, got 3"),
        ([0], [[[1, 2, 3], [4, 5, 6]]], None, "expected values dim 2 to be 2, got 3"),
        ([0], [[[[1], [2]], [[3], [4]]]], None, "expected values rank 3, got 4"),
    ],
)
def test_sparse_gradients_of_another_shape_are_refused(indices, values, shape, words):
    with tf.Graph().as_default(), tf.Session() as sess:
        acc = tf.SparseConditionalAccumulator(tf.float32, shape=[2, 2, None])
        sess.run(acc.apply_grad([0], np.ones((1, 2, 2), np.float32)))
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"Shape mismatch: {words}"):
            sess.run(acc.apply_grad(indices, np.array(values, np.float32), shape))
