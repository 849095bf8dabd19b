"""Queues: order, waiting, closing, cancelling; what TensorFlow's do, and with its words."""

from __future__ import annotations

import random
import threading
import time

import numpy as np
import pytest
from waiting import until_in_line

import tfnb as tf
from tfnb.errors import (
    CancelledError,
    ClosedSessionError,
    DeadlineExceededError,
    InvalidArgumentError,
    OpError,
    OutOfRangeError,
    ShapeError,
)

pytestmark = pytest.mark.opencl


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as s:
        yield s


def in_thread(run):
    """Runs in a thread; gives a function that waits for the result or raises its error."""
    box = []

    def work():
        try:
            box.append((run(), None))
        except Exception as e:
            box.append((None, e))

    thread = threading.Thread(target=work)
    thread.start()

    def result():
        thread.join(30)
        assert not thread.is_alive(), "hangs"
        if box[0][1] is not None:
            raise box[0][1]
        return box[0][0]

    return result


def test_fifo_order_batches_and_the_end(sess):
    q = tf.FIFOQueue(10, [tf.int32, tf.string], shapes=[[], []], name="q")
    sess.run(q.enqueue([7, "a"]))
    sess.run(q.enqueue_many([[1, 2, 3], ["b", "c", "d"]]))
    assert sess.run(q.size()) == 4
    assert sess.run(q.dequeue()) == [7, b"a"]
    got = sess.run(q.dequeue_many(2))
    assert got[0].tolist() == [1, 2] and got[1].tolist() == [b"b", b"c"]
    assert q.dequeue_many(2)[0].shape.as_list() == [2]
    assert not sess.run(q.is_closed())
    sess.run(q.close())
    assert sess.run(q.is_closed())
    with pytest.raises(
        OutOfRangeError, match=r"FIFOQueue 'q' is closed and has insufficient elements \(requested 2, current size 1\)"
    ):
        sess.run(q.dequeue_many(2))
    assert sess.run(q.dequeue_up_to(5))[0].tolist() == [3]
    with pytest.raises(OutOfRangeError):
        sess.run(q.dequeue_up_to(5))
    with pytest.raises(OutOfRangeError):
        sess.run(q.dequeue())
    with pytest.raises(CancelledError, match="'q' is closed"):
        sess.run(q.enqueue([1, "x"]))
    with pytest.raises(CancelledError, match="already closed"):
        sess.run(q.close())
    assert sess.run(q.dequeue_many(0))[0].shape == (0,)


def test_waiting_operations_go_on(sess):
    q = tf.FIFOQueue(2, tf.float32, shapes=[2])
    take = q.dequeue_many(3)
    put = q.enqueue_many([np.arange(10, dtype=np.float32).reshape(5, 2)])
    taking = in_thread(lambda: sess.run(take))
    sess.run(put)
    assert taking().tolist() == [[0, 1], [2, 3], [4, 5]]
    assert sess.run(q.size()) == 2
    putting = in_thread(lambda: sess.run(q.enqueue([[8.0, 9.0]])))
    until_in_line(sess, "Enqueue")
    assert sess.run(q.dequeue()).tolist() == [6, 7]
    putting()
    assert sess.run(q.dequeue_many(2)).tolist() == [[8, 9], [8, 9]]


def test_a_deadlock_says_what_waits_and_obeys_the_timeout():
    with tf.Graph().as_default():
        q = tf.FIFOQueue(4, tf.float32, shapes=[()], name="never_filled")
        y = q.dequeue_many(3) * 2.0
        with tf.Session() as s:
            s.run(q.enqueue_many([[1.0, 2.0, 3.0]]))
            s.run(y)  # it is compiled
            s.run(q.enqueue(5.0))
            with pytest.raises(DeadlineExceededError) as caught:
                s.run(y, options=tf.RunOptions(timeout_in_ms=500))
            text = str(caught.value)
            assert "'never_filled' is open and holds 0 of 4 elements (0 enqueuing, 1 dequeuing)" in text
            assert "has 1 of the 3 elements it waits for" in text
            assert s.run(q.dequeue()) == 5.0  # nothing was lost
        with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=50)) as s, pytest.raises(DeadlineExceededError):
            s.run(q.dequeue())


def test_closing_the_session_wakes_what_waits():
    with tf.Graph().as_default():
        q = tf.FIFOQueue(4, tf.float32)
        s = tf.Session()
        waiting = [in_thread(lambda: s.run(q.dequeue())) for _ in range(4)]
        until_in_line(s, "Dequeue", 4)
        s.close()
        for w in waiting:
            with pytest.raises((CancelledError, ClosedSessionError)):
                w()


def test_close_lets_pending_enqueues_in_or_cancels_them(sess):
    for cancel in (False, True):
        q = tf.FIFOQueue(1, tf.int32, shapes=[()])
        sess.run(q.enqueue(1))
        pending = in_thread(lambda q=q: sess.run(q.enqueue(2)))
        until_in_line(sess, "Enqueue")
        closing = in_thread(lambda q=q, c=cancel: sess.run(q.close(cancel_pending_enqueues=c)))
        if cancel:
            closing()  # which need not wait
            with pytest.raises(CancelledError):
                pending()
        else:
            until_in_line(sess, "Enqueue", 2)
        assert sess.run(q.dequeue()) == 1
        if not cancel:
            closing()
            pending()
            assert sess.run(q.dequeue()) == 2
        with pytest.raises(OutOfRangeError):
            sess.run(q.dequeue())


def test_random_shuffle(sess):
    q = tf.RandomShuffleQueue(100, 5, tf.int32, shapes=[()], seed=3, name="r")
    sess.run(q.enqueue_many([np.arange(50, dtype=np.int32)]))
    first = sess.run(q.dequeue_many(45))
    assert len(set(first.tolist())) == 45 and first.tolist() != sorted(first.tolist())
    with pytest.raises(DeadlineExceededError):
        sess.run(q.dequeue(), options=tf.RunOptions(timeout_in_ms=30))
    sess.run(q.close())
    rest = sess.run(q.dequeue_many(5))
    assert sorted([*first, *rest]) == list(range(50))
    with tf.Session() as other:
        other.run(q.enqueue_many([np.arange(50, dtype=np.int32)]))
        assert other.run(q.dequeue_many(45)).tolist() == first.tolist()  # the seed's order


def test_padding(sess):
    q = tf.PaddingFIFOQueue(10, [tf.float32, tf.string], shapes=[[None, 2], [None]])
    x = tf.placeholder(tf.float32, [None, 2])
    names = tf.placeholder(tf.string, [None])
    put = q.enqueue([x, names])
    for n in (2, 0, 3):
        sess.run(put, {x: np.full((n, 2), n), names: ["s"] * n})
    numbers, texts = sess.run(q.dequeue_many(3))
    assert numbers.shape == (3, 3, 2) and numbers[0, :, 0].tolist() == [2, 2, 0]
    assert texts.tolist() == [[b"s", b"s", b""], [b"", b"", b""], [b"s"] * 3]


def test_priority(sess):
    q = tf.PriorityQueue(10, tf.string, shapes=[()])
    sess.run(q.enqueue_many([np.array([3, 1, 2, 1], np.int64), ["c", "a", "b", "a2"]]))
    order, values = sess.run(q.dequeue_many(4))
    assert order.tolist() == [1, 1, 2, 3] and values.tolist() == [b"a", b"a2", b"b", b"c"]


def test_names(sess):
    q = tf.FIFOQueue(5, [tf.int32, tf.float32], shapes=[[], []], names=["n", "x"])
    sess.run(q.enqueue({"x": 1.5, "n": 2}))
    assert sess.run(q.dequeue()) == {"n": 2, "x": 1.5}
    with pytest.raises(InvalidArgumentError, match="do not match names"):
        q.enqueue({"x": 1.5})
    with pytest.raises(InvalidArgumentError, match="dictionary"):
        q.enqueue([2, 1.5])
    with pytest.raises(InvalidArgumentError, match="must have names"):
        tf.FIFOQueue(5, tf.int32).enqueue({"n": 2})


def test_arrays_are_converted_to_what_the_queue_holds(sess):
    q = tf.FIFOQueue(4, [tf.float32, tf.int32], [[2], []])
    sess.run(q.enqueue_many([np.array([[1.5, 2.5]]), np.arange(1)]))
    sess.run(q.enqueue([np.zeros(2), np.int64(7)]))
    x, n = sess.run(q.dequeue_many(2))
    assert x.tolist() == [[1.5, 2.5], [0.0, 0.0]] and n.tolist() == [0, 7]


def test_wrong_elements_are_refused(sess):
    q = tf.FIFOQueue(5, tf.float32, shapes=[[2]])
    x = tf.placeholder(tf.float32)
    with pytest.raises(ShapeError):
        q.enqueue([[1.0, 2.0, 3.0]])
    with pytest.raises(InvalidArgumentError, match=r"component 0. Expected \[2\], got \[3\]"):
        sess.run(q.enqueue(x), {x: [1, 2, 3]})
    with pytest.raises(InvalidArgumentError, match=r"Expected \[3,2\], got \[3\]"):
        sess.run(q.enqueue_many([x]), {x: [1, 2, 3]})
    with pytest.raises(InvalidArgumentError, match="specified shapes"):
        sess.run(tf.FIFOQueue(5, tf.float32).dequeue_many(2))
    two = tf.FIFOQueue(5, [tf.float32, tf.float32])
    with pytest.raises(InvalidArgumentError, match="same size in the 0th"):
        sess.run(two.enqueue_many([x, [1.0]]), {x: [1, 2, 3]})
    with pytest.raises(InvalidArgumentError, match="2 components"):
        two.enqueue(1.0)
    with pytest.raises(InvalidArgumentError, match="must be >= 0"):
        q.dequeue_many(-1)


def test_what_was_fed_may_change_afterwards(sess):
    q = tf.FIFOQueue(5, tf.float32, shapes=[[2]])
    x = tf.placeholder(tf.float32, [2])
    fed = np.ones(2, np.float32)
    sess.run(q.enqueue(x), {x: fed})
    fed[:] = 9
    assert sess.run(q.dequeue()).tolist() == [1, 1]


def test_shared_names_and_containers():
    with tf.Graph().as_default(), tf.container("shared_here"):
        a = tf.FIFOQueue(3, tf.int32, shared_name="same")
        put = a.enqueue(4)
    with tf.Graph().as_default():
        with tf.container("shared_here"):
            b = tf.FIFOQueue(3, tf.int32, shared_name="same")
            other = tf.FIFOQueue(4, tf.int32, shared_name="same")
            kind = tf.RandomShuffleQueue(3, 0, tf.int32, shared_name="same")
        mine = tf.FIFOQueue(3, tf.int32, shared_name="same")
        two = tf.Session()
        with tf.Session(graph=a.queue_ref.graph) as one, two:
            one.run(put)
            assert two.run(mine.size()) == 0
            assert two.run(b.dequeue()) == 4
            with pytest.raises(InvalidArgumentError, match="capacity 3 but requested capacity was 4"):
                two.run(other.size())
            with pytest.raises(InvalidArgumentError, match="Expected RandomShuffleQueue, found FIFOQueue"):
                two.run(kind.size())
            one.run(put)
        tf.Session.reset("", ["shared_here"])
        with tf.Session() as three:
            assert three.run(b.size()) == 0


def test_a_shared_shuffle_queue_keeps_its_least_number_of_elements():
    first = tf.RandomShuffleQueue(10, 5, tf.float32, shared_name="mixed")
    other = tf.RandomShuffleQueue(10, 2, tf.float32, shared_name="mixed")
    with tf.Session() as sess:
        assert sess.run(first.size()) == 0
        with pytest.raises(InvalidArgumentError, match="min_after_dequeue 5 but requested min_after_dequeue was 2"):
            sess.run(other.size())


def test_a_queue_chosen_at_run_time(sess):
    queues = [tf.FIFOQueue(5, tf.int32, shapes=[()]) for _ in range(3)]
    i = tf.placeholder(tf.int32, [])
    chosen = tf.QueueBase.from_list(i, queues)
    put, take = chosen.enqueue(i * 10), queues[2].dequeue()
    sess.run(put, {i: 2})
    assert sess.run(take) == 20
    in_branch = tf.cond(i > 0, lambda: queues[0].enqueue(1), lambda: tf.no_op())
    sess.run(in_branch, {i: 0})
    sess.run(in_branch, {i: 1})
    assert sess.run(queues[0].size()) == 1
    with pytest.raises(InvalidArgumentError, match=r"^Index must be in the range of the list: indices = 3 is not in"):
        sess.run(chosen.size(), {i: 3})
    with pytest.raises(InvalidArgumentError):
        tf.QueueBase.from_list(i, [queues[0], tf.FIFOQueue(5, tf.float32)])


def stress(make, seconds, seed=0):
    """Producers and consumers over one queue, with cancelled steps and a close; returns what went in and what came out."""
    rng = random.Random(seed)
    with tf.Graph().as_default():
        q = make()
        x = tf.placeholder(tf.int64, [])
        xs = tf.placeholder(tf.int64, [None])
        puts = q.enqueue([x, x] if len(q.dtypes) == 2 else x), q.enqueue_many([xs] * len(q.dtypes))
        takes = [q.dequeue(), *(q.dequeue_many(n) for n in (2, 5)), q.dequeue_up_to(3)]
        sent, got, wrong = set(), [], []
        lock, enough = threading.Lock(), threading.Event()
        counter = iter(range(10**9))
        with tf.Session() as s:
            options = [None, tf.RunOptions(timeout_in_ms=3), tf.RunOptions(timeout_in_ms=20)]

            def produce(i):
                r = random.Random(seed * 100 + i)
                while not enough.is_set():
                    with lock:
                        batch = [next(counter) for _ in range(r.choice([1, 1, 3, 7]))]
                    try:
                        if len(batch) == 1:
                            s.run(puts[0], {x: batch[0]}, options=r.choice(options))
                        else:
                            # what a cancelled enqueue_many let in stays in: count it as perhaps sent
                            s.run(puts[1], {xs: batch}, options=None)
                        with lock:
                            sent.update(batch)
                    except DeadlineExceededError:
                        pass
                    except CancelledError:
                        return

            def consume(i):
                r = random.Random(seed * 200 + i)
                while True:
                    try:
                        value = s.run(r.choice(takes), options=r.choice(options))
                    except DeadlineExceededError:
                        continue
                    except OutOfRangeError:
                        if s.run(q.is_closed()) and s.run(q.size()) < 5:
                            return
                        continue
                    except CancelledError:
                        continue
                    first = value[0] if isinstance(value, list) else value
                    with lock:
                        got.extend(np.ravel(first).tolist())

            def guarded(f, i):
                try:
                    f(i)
                except Exception as e:
                    wrong.append(repr(e))

            threads = [
                threading.Thread(target=guarded, args=(f, i), daemon=True)
                for i in range(16)
                for f in (produce, consume)
            ]
            for t in threads:
                t.start()
            time.sleep(seconds)
            end = time.monotonic() + 60
            while len(sent) <= 20 and time.monotonic() < end:  # on a busy machine the first steps take long
                time.sleep(0.01)
            enough.set()
            s.run(q.close(cancel_pending_enqueues=rng.random() < 0.5))
            for t in threads:
                t.join(60)
            assert not [t for t in threads if t.is_alive()], "hangs"
            assert wrong == []
            while True:
                try:
                    value = s.run(q.dequeue())
                    got.append(int(value[0] if isinstance(value, list) else value))
                except OutOfRangeError:
                    break
    return sent, got


KINDS = {
    "fifo": lambda: tf.FIFOQueue(20, tf.int64, shapes=[()]),
    "shuffle": lambda: tf.RandomShuffleQueue(40, 10, tf.int64, shapes=[()]),
    "padding": lambda: tf.PaddingFIFOQueue(20, tf.int64, shapes=[()]),
    "priority": lambda: tf.PriorityQueue(20, tf.int64, shapes=[()]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_lost_doubled_or_hung(kind, seconds=0.7):
    before = set(threading.enumerate())
    sent, got = stress(KINDS[kind], seconds)
    assert len(got) == len(set(got)), "doubled"
    assert sent <= set(got), f"lost {sorted(sent - set(got))[:10]}"
    assert len(sent) > 20
    left = [t for t in threading.enumerate() if t not in before and t.is_alive()]
    assert left == []


def test_a_step_that_fails_elsewhere_gives_back_what_it_took(sess):
    q = tf.FIFOQueue(5, tf.int32, shapes=[()])
    sess.run(q.enqueue_many([[1, 2]]))
    bad = tf.py_func(lambda: (_ for _ in ()).throw(ValueError("no")), [], tf.int32)
    with pytest.raises(OpError, match="no"):
        sess.run([q.dequeue_many(3), bad])
    assert sess.run(q.dequeue_many(2)).tolist() == [1, 2]


def test_one_component_may_be_scalar(sess):
    """`shapes=()` of a queue with one component says that its elements are scalars."""
    q = tf.FIFOQueue(10, tf.float32, shapes=())
    sess.run(q.enqueue_many([[1.0, 2.0, 3.0]]))
    np.testing.assert_array_equal(sess.run(q.dequeue_many(2)), [1.0, 2.0])


def test_shared_shuffle_queues_share_the_seed_of_their_graph():
    tf.set_random_seed(7)
    first = tf.RandomShuffleQueue(10, 0, tf.int32, shared_name="seeded")
    tf.constant(1)
    second = tf.RandomShuffleQueue(10, 0, tf.int32, shared_name="seeded")
    other = tf.RandomShuffleQueue(10, 0, tf.int32, shared_name="another")
    seeds = [(q.queue_ref.op.get_attr("seed"), q.queue_ref.op.get_attr("seed2")) for q in (first, second, other)]
    assert seeds[0] == seeds[1] and seeds[0][0] == seeds[2][0] == 7 and seeds[0][1] != seeds[2][1]
    with tf.Session() as sess:
        sess.run(first.enqueue(4))
        assert sess.run(second.dequeue()) == 4
