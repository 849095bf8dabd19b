"""Producers, batches, buckets, coordinators and queue runners, end to end."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from waiting import until

import tfnb as tf
from tfnb.errors import InvalidArgumentError, OpError, OutOfRangeError, ShapeError

pytestmark = pytest.mark.opencl


@pytest.fixture
def graph():
    before = set(threading.enumerate())
    with tf.Graph().as_default() as g:
        yield g
    left = [t for t in threading.enumerate() if t not in before and t.is_alive()]
    # A cluster that the tests of this process share opens channels when it likes.
    assert [t for t in left if t.name != "tfnb channel"] == []


def all_of(fetch, limit=1000):
    """Every value of `fetch` until the input ends, with queue runners and a coordinator."""
    with tf.Session() as s:
        s.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(s, coord)
        found = []
        try:
            while not coord.should_stop() and len(found) < limit:
                found.append(s.run(fetch))
        except OutOfRangeError:
            pass
        finally:
            coord.request_stop()
        coord.join(threads, stop_grace_period_secs=10)
    return found


def test_producers(graph):
    names = tf.train.string_input_producer(["a", "b", "c"], num_epochs=2, shuffle=False)
    assert all_of(names.dequeue()) == [b"a", b"b", b"c"] * 2


def test_shuffled_producers_give_every_row_once_an_epoch(graph):
    x = np.arange(14, dtype=np.float32).reshape(7, 2)
    row, label = tf.train.slice_input_producer([x, tf.constant(np.arange(7))], num_epochs=3, seed=1)
    assert row.shape.as_list() == [2]
    got = all_of([row, label])
    assert len(got) == 21
    labels = [int(n) for _, n in got]
    assert [sorted(labels[i : i + 7]) for i in (0, 7, 14)] == [list(range(7))] * 3
    assert labels[:7] != labels[7:14] or labels[:7] != labels[14:]
    assert all(r.tolist() == x[n].tolist() for r, n in got)


def test_a_producer_without_end_is_stopped(graph):
    n = tf.train.range_input_producer(5, shuffle=False).dequeue()
    assert [int(v) for v in all_of(n, limit=12)] == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1]


def test_bad_producers(graph):
    with pytest.raises(InvalidArgumentError, match="non-null"):
        tf.train.string_input_producer([])
    with pytest.raises(InvalidArgumentError):
        tf.train.range_input_producer(5, num_epochs=0)
    with pytest.raises(ShapeError):
        tf.train.input_producer(tf.placeholder(tf.float32))
    with pytest.raises(InvalidArgumentError):
        tf.train.slice_input_producer([])


def test_batch(graph):
    n = tf.train.range_input_producer(10, num_epochs=1, shuffle=False).dequeue()
    x, y = tf.train.batch([n, tf.cast(n, tf.float32) * 2.0], 4)
    assert x.shape.as_list() == [4]
    got = all_of([x, y])
    assert [g[0].tolist() for g in got] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert got[1][1].tolist() == [8, 10, 12, 14]


def test_a_list_among_the_tensors_to_batch_is_one_tensor(graph):
    n = tf.train.range_input_producer(4, num_epochs=1, shuffle=False).dequeue()
    pair, last = tf.train.batch([(n, n + 10), [n * 2]], 2)
    assert pair.shape.as_list() == [2, 2] and last.shape.as_list() == [2, 1]
    got = all_of([pair, last])
    assert got[0][0].tolist() == [[0, 10], [1, 11]] and got[1][1].tolist() == [[4], [6]]


@pytest.mark.not_compared("threads fill the queue while it is read")
def test_batch_smaller_at_the_end_as_a_dict_padded(graph):
    n = tf.train.range_input_producer(5, num_epochs=1, shuffle=False).dequeue()
    out = tf.train.batch(
        {"n": n, "v": tf.fill([n], n)}, 2, dynamic_pad=True, allow_smaller_final_batch=True, num_threads=2
    )
    assert out["v"].shape.as_list() == [None, None]
    got = all_of(out)
    assert sum(len(g["n"]) for g in got) == 5
    for g in got:
        for n, v in zip(g["n"], g["v"], strict=True):
            assert v.tolist() == [n] * n + [0] * (g["v"].shape[1] - n)


@pytest.mark.not_compared("threads fill the queue while it is read")
def test_shuffle_batch_and_joins(graph):
    n = tf.train.range_input_producer(50, num_epochs=2, shuffle=False).dequeue()
    got = all_of(tf.train.shuffle_batch([n], 10, 60, 20, num_threads=3, seed=3))
    values = [int(v) for g in got for v in g]
    assert sorted(values) == sorted(list(range(50)) * 2) and values[:50] != sorted(values[:50])


@pytest.mark.not_compared("threads fill the queue while it is read")
def test_batch_join_and_maybe(graph):
    a = tf.train.range_input_producer(8, num_epochs=1, shuffle=False).dequeue()
    b = tf.train.range_input_producer(8, num_epochs=1, shuffle=False).dequeue() + 100
    got = all_of(tf.train.batch_join([[a], [b]], 4))
    assert sorted(int(v) for g in got for v in g) == [*range(8), *range(100, 108)]


def test_maybe_batch_keeps_what_is_wanted(graph):
    n = tf.train.range_input_producer(10, num_epochs=1, shuffle=False).dequeue()
    got = all_of(tf.train.maybe_batch([n], tf.equal(n % 2, 0), 2, allow_smaller_final_batch=True))
    assert [int(v) for g in got for v in g] == [0, 2, 4, 6, 8]


def test_maybe_batch_of_rows(graph):
    rows = tf.train.range_input_producer(3, num_epochs=1, shuffle=False).dequeue() * 4 + tf.range(4)
    kept = tf.train.maybe_batch([rows], rows % 3 > 0, 2, enqueue_many=True, allow_smaller_final_batch=True)
    assert [int(v) for g in all_of(kept) for v in g] == [1, 2, 4, 5, 7, 8, 10, 11]


def sparse_example():
    """The numbers 0 to 6, each with a sparse vector that has it at its place."""
    i = tf.train.range_input_producer(7, num_epochs=1, shuffle=False).dequeue()
    place = tf.cast(tf.reshape(i, [1, 1]), tf.int64)
    return i, tf.SparseTensor(place, tf.reshape(tf.cast(i, tf.float32), [1]), tf.cast([i + 1], tf.int64))


def test_batches_of_sparse_tensors(graph):
    i, sparse = sparse_example()
    found = all_of(tf.train.batch({"i": i, "s": sparse}, 3, allow_smaller_final_batch=True))
    assert [e["i"].tolist() for e in found] == [[0, 1, 2], [3, 4, 5], [6]]
    assert [e["s"].indices.tolist() for e in found] == [[[0, 0], [1, 1], [2, 2]], [[0, 3], [1, 4], [2, 5]], [[0, 6]]]
    assert [e["s"].dense_shape.tolist() for e in found] == [[3, 3], [3, 6], [1, 7]]
    assert found[1]["s"].values.tolist() == [3, 4, 5]


@pytest.mark.not_compared("threads fill the queue while it is read")
def test_one_sparse_tensor_shuffled_joined_and_chosen(graph):
    _, sparse = sparse_example()
    (only,) = [tf.train.shuffle_batch_join([[sparse], [sparse]], 7, 20, 7, seed=1, shapes=[[1]])]
    assert only.shape.as_list() == [None, None]
    (values,) = [e.values for e in all_of(only)]
    assert len(values) == 7 and set(values.tolist()) <= set(range(7))
    with pytest.raises(InvalidArgumentError, match="sparse tensors of one kind"):
        tf.train.batch_join([[sparse], [tf.constant("a")]], 2)


def test_rows_of_a_sparse_tensor_are_examples(graph):
    rows = tf.SparseTensor([[0, 1], [2, 0]], [1.0, 2.0], [3, 2])
    (batch,) = [tf.train.maybe_batch([rows], [True, False, True], 2, enqueue_many=True)]
    keep = all_of(batch, limit=1)[0]
    assert (keep.indices.tolist(), keep.values.tolist(), keep.dense_shape.tolist()) == (
        [[0, 1], [1, 0]],
        [1, 2],
        [2, 2],
    )


@pytest.mark.not_compared("threads fill the queue while it is read")
def test_buckets_of_sparse_tensors(graph):
    i, sparse = sparse_example()
    lengths, got = tf.contrib.training.bucket_by_sequence_length(i, [sparse], 3, [4], allow_smaller_final_batch=True)
    found = all_of((lengths, got))
    assert sorted(n for e in found for n in e[0].tolist()) == list(range(7))
    for lengths, (value,) in found:
        assert value.values.tolist() == lengths.tolist()


@pytest.mark.not_compared("threads fill the queue while it is read")
def test_buckets_by_length(graph):
    n = tf.train.range_input_producer(12, num_epochs=1, shuffle=False).dequeue()
    lengths, padded = tf.contrib.training.bucket_by_sequence_length(
        n, [tf.fill([n], n)], 2, [3, 7], dynamic_pad=True, allow_smaller_final_batch=True
    )
    got = all_of([lengths, padded[0]])
    assert sorted(int(v) for g in got for v in g[0]) == list(range(12))
    for lens, rows in got:
        assert len({int(np.searchsorted([3, 7], v, side="right")) for v in lens}) == 1
        assert rows.shape[1] == max(lens)


def test_fill_summaries_are_there(graph):
    n = tf.train.range_input_producer(5).dequeue()
    tf.train.shuffle_batch([n], 2, 30, 10)
    names = [t.op.name for t in tf.get_collection(tf.GraphKeys.SUMMARIES)]
    assert any("fraction_of_32_full" in n for n in names)
    assert any("fraction_over_10_of_20_full" in n for n in names)


def test_an_error_in_a_runner_reaches_join(graph):
    bad = tf.py_func(lambda: (_ for _ in ()).throw(ValueError("broken input")), [], tf.float32)
    bad.set_shape([])
    out = tf.train.batch([bad], 2)
    with tf.Session() as s:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(s, coord)
        with pytest.raises(OpError):
            s.run(out)
        with pytest.raises(OpError, match="broken input"):
            coord.join(threads)


def test_closing_a_session_ends_its_runners(graph):
    out = tf.train.batch([tf.random_uniform([])], 2)
    s = tf.Session()
    threads = tf.train.start_queue_runners(s)
    s.run(out)
    s.close()
    for t in threads:
        t.join(20)
    assert not any(t.is_alive() for t in threads)


def test_coordinator():
    coord = tf.train.Coordinator()
    turns = []
    looper = tf.train.LooperThread.loop(coord, 0.001, lambda: turns.append(1))
    assert not coord.wait_for_stop(0.05) and not coord.should_stop()
    until(lambda: turns)
    with coord.stop_on_exception():
        raise OutOfRangeError("the end")
    assert coord.should_stop()
    coord.join([looper])
    assert turns and coord.joined
    coord.clear_stop()
    coord.request_stop(ValueError("first"))
    coord.request_stop(ValueError("second"))
    with pytest.raises(ValueError, match="first"):
        coord.raise_requested_exception()
    with pytest.raises(ValueError, match="first"):
        coord.join()
    with pytest.raises(ValueError, match="late"):
        coord.request_stop(ValueError("late"))


def test_a_coordinator_joins_threads_that_are_not_started_yet():
    coord = tf.train.Coordinator()
    looper = tf.train.LooperThread(coord, 0.001)
    coord.request_stop()
    coord.join([threading.Thread(target=lambda: None)])
    assert coord.joined
    looper.start()  # it sees the stop
    looper.join()


def test_coordinator_names_threads_that_do_not_stop():
    coord = tf.train.Coordinator()
    end = threading.Event()
    t = threading.Thread(target=end.wait, name="stubborn")
    t.start()
    coord.request_stop()
    with pytest.raises(RuntimeError, match="stubborn"):
        coord.join([t], stop_grace_period_secs=0.1)
    end.set()
    t.join()


@pytest.mark.parametrize(
    ("shape", "many", "words"),
    [([2], False, "cannot be a vector"), ([2, 1], True, "must be 0 or 1 dimensions"), (None, True, "must be known")],
)
def test_masks_of_a_wrong_rank(shape, many, words):
    with tf.Graph().as_default(), pytest.raises(ValueError, match=words):
        tf.train.maybe_batch([tf.zeros([5])], tf.placeholder(tf.bool, shape), 1, enqueue_many=many)
