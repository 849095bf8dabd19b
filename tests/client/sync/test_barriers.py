"""Barriers: elements put together under keys, waiting, closing, bad input."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from waiting import until_in_line

import tfnb as tf
from tfnb.errors import CancelledError, DeadlineExceededError, InvalidArgumentError, OutOfRangeError

pytestmark = pytest.mark.opencl
FIRST = np.iinfo(np.int64).min


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as s:
        yield s


def test_elements_are_put_together_and_taken_in_the_order_of_their_keys(sess):
    b = tf.Barrier([tf.float32, tf.string], shapes=[[2], []], name="b")
    indices, keys, (x, text) = b.take_many(2)
    assert x.shape.as_list() == [2, 2] and b.types == [tf.float32, tf.string] and b.name == "b"
    sess.make_callable(x)  # compiled, so that all of the time limit is for the wait
    with pytest.raises(DeadlineExceededError, match=r"'b' is open and holds 0 ready and 0 incomplete.*waits for 2"):
        sess.run(x, options=tf.RunOptions(timeout_in_ms=500))
    sess.run(b.insert_many(1, ["late"], ["c"]))
    sess.run(b.insert_many(0, ["first", "late"], [[1, 2], [3, 4]]))
    sess.run(b.insert_many(0, ["second"], [[5, 6]]))
    got = []
    thread = threading.Thread(target=lambda: got.append(sess.run([indices, keys, x, text])))
    thread.start()
    sess.run(b.insert_many(1, ["second", "first"], ["b", "a"]))
    thread.join(20)
    at, names, values, texts = got[0]
    # "second" was complete before "first", but "late" and "first" came before it
    assert at.tolist() == [FIRST, FIRST + 1] and names.tolist() == [b"late", b"first"]
    assert values.tolist() == [[3, 4], [1, 2]] and texts.tolist() == [b"c", b"a"]
    assert sess.run([b.ready_size(), b.incomplete_size()]) == [1, 0]


def test_closing(sess):
    b = tf.Barrier(tf.int32, name="one")
    pair = tf.Barrier([tf.int32, tf.int32], shapes=[(), ()])
    sess.run(b.insert_many(0, ["a", "b"], [1, 2]))
    sess.run(b.close())
    with pytest.raises(CancelledError, match="already closed"):
        sess.run(b.close())
    with pytest.raises(CancelledError, match="b'c'"):
        sess.run(b.insert_many(0, ["c"], [3]))
    with pytest.raises(OutOfRangeError, match=r"insufficient elements .requested 3, total size 2"):
        sess.run(b.take_many(3)[1])
    assert sorted(sess.run(b.take_many(3, allow_small_batch=True)[1])) == [b"a", b"b"]
    # what waits is woken: complete elements still come, those that cannot be completed do not
    results = []

    def take():
        try:
            results.append(sess.run(pair.take_many(2, allow_small_batch=True)[2]))
        except OutOfRangeError:
            results.append("end")

    sess.run(pair.insert_many(0, ["x", "y"], [1, 2]))
    thread = threading.Thread(target=take)
    thread.start()
    until_in_line(sess, "BarrierTakeMany")  # what begins to take after the end gets what there is at once
    sess.run(pair.close())
    sess.run(pair.insert_many(1, ["x"], [3]))
    assert thread.is_alive()
    sess.run(pair.close(cancel_pending_enqueues=True))
    thread.join(20)
    assert [r if r == "end" else [x.tolist() for x in r] for r in results] == [[[1], [3]]]


def test_bad_input_changes_nothing(sess):
    b = tf.Barrier([tf.float32, tf.int32], shapes=[[2], []], shared_name="shared")
    keys, rows = tf.placeholder(tf.string), tf.placeholder(tf.float32)
    insert = b.insert_many(0, keys, rows)
    sess.run(insert, {keys: ["a"], rows: [[1, 2]]})
    for k, r, text in (
        (["b", "a"], [[1, 2], [3, 4]], "already has a value for component 0"),
        (["b", "b"], [[1, 2], [3, 4]], "twice"),
        (["b"], [[1, 2], [3, 4]], "as many entries"),
        ("b", [[1, 2]], "vector"),
        (["b"], [[1, 2, 3]], r"has the shape \(2,\)"),
    ):
        with pytest.raises(InvalidArgumentError, match=text):
            sess.run(insert, {keys: k, rows: r})
    with pytest.raises(InvalidArgumentError, match="is int32, got float32"):
        sess.run(b.insert_many(1, keys, rows), {keys: ["a"], rows: [1.0]})
    with pytest.raises(InvalidArgumentError, match="not in"):
        sess.run(b.insert_many(-1, keys, rows), {keys: ["a"], rows: [1.0]})
    with pytest.raises(InvalidArgumentError, match="num_elements"):
        sess.run(b.take_many(0)[1])
    with pytest.raises(InvalidArgumentError, match="Shared barrier"):
        sess.run(tf.Barrier([tf.float32], shared_name="shared").ready_size())
    assert sess.run([b.ready_size(), b.incomplete_size()]) == [0, 1]
