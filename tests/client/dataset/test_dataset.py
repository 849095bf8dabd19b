"""tf.data: sources, transformations, iterators; values as TensorFlow's."""

from __future__ import annotations

import gc
import threading
import time

import numpy as np
import pytest
from waiting import until

import tfnb as tf
from tfnb.errors import (
    DataLossError,
    DeadlineExceededError,
    DTypeError,
    FailedPreconditionError,
    InvalidArgumentError,
    OpError,
    OutOfRangeError,
    ShapeError,
)

pytestmark = pytest.mark.opencl
Dataset = tf.data.Dataset


@pytest.fixture
def graph():
    before = set(threading.enumerate())
    with tf.Graph().as_default() as g:
        yield g
    until(lambda: all(t in before or not t.is_alive() for t in threading.enumerate()), "a thread is left")


def all_of(dataset, limit=10000):
    """Every element, as plain Python."""
    element = dataset.make_one_shot_iterator().get_next()
    found = []
    with tf.Session() as s:
        try:
            while len(found) < limit:
                found.append(s.run(element))
        except OutOfRangeError as e:
            assert "End of sequence" in str(e)
            with pytest.raises(OutOfRangeError):
                s.run(element)
    return [plain(e) for e in found]


def plain(e):
    if isinstance(e, dict):
        return {k: plain(v) for k, v in e.items()}
    if isinstance(e, tuple):
        return tuple(plain(v) for v in e)
    return e.tolist() if isinstance(e, (np.ndarray, np.generic)) else e


def test_sources(graph):
    assert all_of(Dataset.range(3)) == [0, 1, 2]
    assert all_of(Dataset.range(5, 1, -2)) == [5, 3]
    assert all_of(Dataset.from_tensors(([1, 2], "a"))) == [([1, 2], b"a")]
    rows = Dataset.from_tensor_slices({"x": [[1, 2], [3, 4]], "y": np.array([0.5, 1.5])})
    assert rows.output_types == {"x": tf.int32, "y": tf.float64}
    assert rows.output_shapes["x"].as_list() == [2]
    assert all_of(rows) == [{"x": [1, 2], "y": 0.5}, {"x": [3, 4], "y": 1.5}]
    both = Dataset.zip((Dataset.range(3), (Dataset.range(10, 20), rows)))
    assert all_of(both)[1] == (1, (11, {"x": [3, 4], "y": 1.5}))
    assert len(all_of(both)) == 2
    with pytest.raises(ShapeError):
        Dataset.from_tensor_slices((1, [2]))
    with pytest.raises(ShapeError):
        Dataset.from_tensor_slices(([1, 2], [1, 2, 3]))


def test_simple_transformations(graph):
    d = Dataset.range(10)
    assert all_of(d.take(3).concatenate(d.skip(8))) == [0, 1, 2, 8, 9]
    assert all_of(d.shard(4, 1)) == [1, 5, 9]
    assert all_of(d.take(2).repeat(3)) == [0, 1] * 3
    assert all_of(d.take(2).repeat(), limit=7) == [0, 1, 0, 1, 0, 1, 0]
    assert all_of(d.take(0).repeat()) == []
    assert all_of(d.batch(4)) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    dropped = d.batch(4, drop_remainder=True)
    assert all_of(dropped) == [[0, 1, 2, 3], [4, 5, 6, 7]] and dropped.output_shapes.as_list() == [4]
    assert all_of(d.apply(tf.contrib.data.batch_and_drop_remainder(6))) == [[0, 1, 2, 3, 4, 5]]
    assert all_of(d.batch(4).apply(tf.contrib.data.unbatch())) == list(range(10))
    assert all_of(d.take(-1)) == list(range(10)) and all_of(d.skip(-1)) == []
    rows = np.arange(12.0).reshape(6, 2)
    assert all_of(Dataset.from_tensor_slices((rows, ["a"] * 6)).batch(4))[1] == (rows[4:].tolist(), [b"a"] * 2)


def test_map_filter_and_captured_tensors(graph):
    k = tf.constant(10, tf.int64)
    d = Dataset.range(6).map(lambda x: (x * k, x + 1))
    assert all_of(d) == [(i * 10, i + 1) for i in range(6)]
    assert all_of(d.filter(lambda a, b: tf.equal(b % 2, 0)).map(lambda a, b: {"s": a + b})) == [
        {"s": 12},
        {"s": 34},
        {"s": 56},
    ]
    assert all_of(Dataset.range(200).map(lambda x: x * 2, num_parallel_calls=4)) == list(range(0, 400, 2))
    assert d.output_shapes[0].as_list() == []
    words = Dataset.from_tensor_slices(["1,2", "3,4"]).map(lambda s: tf.decode_csv(s, [[0], [0.0]])[0])
    assert all_of(words) == [1, 3]
    cond = Dataset.range(4).map(lambda x: tf.cond(x > 1, lambda: x, lambda: -x))
    assert all_of(cond) == [0, -1, 2, 3]
    with pytest.raises(DTypeError, match="boolean"):
        d.filter(lambda a, b: a)
    with pytest.raises(InvalidArgumentError, match="None"):
        d.map(lambda a, b: None)
    assert all(not op.name.startswith("map") or op.type != "Mul" for op in graph.get_operations())


def test_flat_map_and_interleave(graph):
    d = Dataset.range(1, 5)
    assert all_of(d.flat_map(lambda n: Dataset.range(n))) == [0, 0, 1, 0, 1, 2, 0, 1, 2, 3]
    mixed = d.interleave(lambda n: Dataset.from_tensors(n).repeat(3), cycle_length=2, block_length=2)
    assert all_of(mixed) == [1, 1, 2, 2, 1, 2, 3, 3, 4, 4, 3, 4]
    nested = d.flat_map(lambda n: Dataset.range(2).map(lambda k: k + n * 10))
    assert all_of(nested) == [10, 11, 20, 21, 30, 31, 40, 41]


def test_shuffle(graph):
    d = Dataset.range(50)
    twice = all_of(d.shuffle(20, seed=7).repeat(2))
    assert sorted(twice[:50]) == list(range(50)) and twice[:50] != list(range(50))
    assert twice[:50] != twice[50:]
    assert twice == all_of(d.shuffle(20, seed=7).repeat(2))
    same = all_of(d.shuffle(20, seed=7, reshuffle_each_iteration=False).repeat(2))
    assert same[:50] == same[50:]
    assert all(v <= i + 20 for i, v in enumerate(twice[:50]))
    assert sorted(all_of(d.apply(tf.contrib.data.shuffle_and_repeat(1000, 2)))) == sorted([*range(50)] * 2)


def test_padded_batch(graph):
    d = Dataset.range(1, 5).map(lambda n: (tf.fill([n], n), tf.fill([2, n], tf.as_string(n))))
    got = all_of(d.padded_batch(3, ([None], [-1, None]), (np.int64(-1), "?")))
    assert got[0][0] == [[1, -1, -1], [2, 2, -1], [3, 3, 3]]
    assert got[0][1][0] == [[b"1", b"?", b"?"]] * 2
    assert got[1][0] == [[4] * 4]
    fixed = Dataset.range(1, 4).map(lambda n: tf.fill([n], n)).padded_batch(2, [5])
    assert fixed.output_shapes.as_list() == [None, 5] and all_of(fixed)[0][0] == [1, 0, 0, 0, 0]
    with pytest.raises(DataLossError, match="smaller size"):
        all_of(Dataset.range(1, 4).map(lambda n: tf.fill([n], n)).padded_batch(2, [1]))
    with pytest.raises(InvalidArgumentError, match="different shapes in component 0"):
        all_of(Dataset.range(1, 4).map(lambda n: tf.fill([n], n)).batch(2))


def test_generators(graph):
    def numbers(n):
        for i in range(n):
            yield {"i": i, "t": ("x" * i, [i, i + 0.5])}

    d = Dataset.from_generator(
        numbers, {"i": tf.int32, "t": (tf.string, tf.float32)}, {"i": [], "t": ([], [None])}, args=[3]
    )
    assert all_of(d)[2] == {"i": 2, "t": (b"xx", [2.0, 2.5])}
    assert len(all_of(d.repeat(2))) == 6
    for bad, text in (
        (lambda: iter([(1, 2)]), "(?s)structure|shape"),
        (lambda: iter(["a"]), "expected type"),
        (lambda: iter([[1, 2]]), "shape"),
        (lambda: iter([1.5]), "expected type"),
    ):
        with pytest.raises(InvalidArgumentError, match=text):
            all_of(Dataset.from_generator(bad, tf.int32, []))
    with pytest.raises(OpError, match="generator raised ZeroDivisionError"):
        all_of(Dataset.from_generator(lambda: (1 // 0 for _ in range(1)), tf.int32))


def test_cache_reads_once(graph):
    walks = []

    def once():
        walks.append(1)
        yield from range(3)

    d = Dataset.from_generator(once, tf.int32, []).cache().repeat(3)
    assert all_of(d) == [0, 1, 2] * 3 and len(walks) == 1


def test_files(graph, tmp_path):
    (tmp_path / "a.txt").write_text("1\n2\n3")
    (tmp_path / "b.txt").write_text("4\n")
    names = [str(tmp_path / n) for n in ("a.txt", "b.txt")]
    assert all_of(tf.data.TextLineDataset(names)) == [b"1", b"2", b"3", b"4"]
    each = Dataset.from_tensor_slices(names).flat_map(lambda n: tf.data.TextLineDataset(n).skip(1))
    assert all_of(each) == [b"2", b"3"]
    assert all_of(tf.data.FixedLengthRecordDataset(names[:1], 2, header_bytes=1)) == [b"\n2", b"\n3"]
    with tf.python_io.TFRecordWriter(str(tmp_path / "r"), tf.python_io.TFRecordOptions("GZIP")) as w:
        for i in range(5):
            w.write(b"%d" % i)
    records = tf.data.TFRecordDataset(str(tmp_path / "r"), compression_type="GZIP")
    assert all_of(records.batch(2)) == [[b"0", b"1"], [b"2", b"3"], [b"4"]]
    with pytest.raises(DataLossError, match=f"at 0 in {tmp_path / 'a.txt'}"):
        all_of(tf.data.TFRecordDataset(names[0]))


def test_damaged_records_are_skipped_and_counted(graph, tmp_path):
    path = str(tmp_path / "r")
    with tf.python_io.TFRecordWriter(path) as w:
        for i in range(5):
            w.write(b"%d" % i)
    data = bytearray((tmp_path / "r").read_bytes())
    data[17 * 2 + 12] ^= 1
    (tmp_path / "r").write_bytes(data)
    with pytest.raises(DataLossError, match="at 34 in"):
        all_of(tf.data.TFRecordDataset([path]))
    d = tf.data.TFRecordDataset([path], skip_corrupt=True)
    chained = d.map(lambda s: s).batch(10)
    assert all_of(chained) == [[b"0", b"1", b"3", b"4"]]
    assert d.skipped == chained.skipped == 1
    numbers = Dataset.from_tensor_slices(["1", "x", "3"]).map(lambda s: tf.string_to_number(s, tf.int32))
    some = numbers.apply(tf.contrib.data.ignore_errors())
    assert all_of(some) == [1, 3] and some.skipped == 1
    with pytest.raises(InvalidArgumentError):
        all_of(numbers)


def test_initializable_and_reinitializable_iterators(graph):
    n = tf.placeholder(tf.int64, [])
    iterator = Dataset.range(n).make_initializable_iterator()
    x = iterator.get_next()
    with tf.Session() as s:
        with pytest.raises(FailedPreconditionError, match="not been initialized"):
            s.run(x)
        for count in (2, 3):
            s.run(iterator.initializer, {n: count})
            assert [int(s.run(x)) for _ in range(count)] == list(range(count))
            with pytest.raises(OutOfRangeError):
                s.run(x)
        both = tf.data.Iterator.from_structure(tf.int64, [])
        y = both.get_next()
        train, test = (both.make_initializer(Dataset.range(a, a + 2)) for a in (0, 100))
        for init, first in ((train, 0), (test, 100), (train, 0)):
            s.run(init)
            assert int(s.run(y)) == first
        with pytest.raises(DTypeError, match="output types"):
            both.make_initializer(Dataset.from_tensors(1.0))
        with pytest.raises(FailedPreconditionError):
            _ = both.initializer


def test_an_iterator_is_chosen_by_a_fed_string(graph):
    a, b = (Dataset.range(k, k + 5).make_one_shot_iterator() for k in (0, 100))
    text = tf.placeholder(tf.string, [])
    x = tf.data.Iterator.from_string_handle(text, tf.int64, []).get_next()
    with tf.Session() as s:
        ha, hb = s.run([a.string_handle(), b.string_handle()])
        assert [int(s.run(x, {text: h})) for h in (ha, hb, ha, hb)] == [0, 100, 1, 101]
        with pytest.raises(OpError, match="no iterator"):
            s.run(x, {text: b"/nothing"})


@pytest.mark.one_process("two sessions are two clusters, and threads are counted")
def test_each_session_walks_by_itself(graph):
    x = Dataset.range(5).make_one_shot_iterator().get_next()
    with tf.Session() as a, tf.Session() as b:
        assert [int(s.run(x)) for s in (a, a, b, a)] == [0, 1, 0, 2]


def test_prefetch_works_ahead_and_stops_with_the_session(graph):
    made = []

    def slow():
        for i in range(1000):
            made.append(i)
            yield i

    x = Dataset.from_generator(slow, tf.int32, []).prefetch(5).make_one_shot_iterator().get_next()
    with tf.Session() as s:
        for taken in range(1, 21):
            assert s.run(x) == taken - 1
            until(lambda n=taken + 5: len(made) >= n)
            time.sleep(0.005)  # one too many would come now
            assert len(made) == taken + 5
    d = Dataset.range(100).map(lambda v: v * 2).prefetch(3).batch(7).prefetch(None)
    assert [v for batch in all_of(d) for v in batch] == list(range(0, 200, 2))
    bad = Dataset.from_tensor_slices(["1", "2", "x"]).map(lambda t: tf.string_to_number(t)).prefetch(10)
    with pytest.raises(InvalidArgumentError):
        all_of(bad)


@pytest.mark.parametrize("prefetch", [False, True])
def test_an_element_that_does_not_come_obeys_the_timeout(graph, prefetch):
    go = threading.Event()

    def waiting():
        yield 1
        go.wait(20)
        yield 2

    d = Dataset.from_generator(waiting, tf.int32, [])
    x = (d.prefetch(1) if prefetch else d).make_one_shot_iterator().get_next()
    with tf.Session() as s:
        assert s.run(x) == 1
        with pytest.raises(DeadlineExceededError, match="waits for the next element"):
            s.run(x, options=tf.RunOptions(timeout_in_ms=500))
        go.set()
        assert s.run(x) == 2


def test_many_threads_share_an_iterator(graph):
    x = Dataset.range(400).map(lambda v: v + 1).prefetch(8).make_one_shot_iterator().get_next()
    found, lock = [], threading.Lock()
    with tf.Session() as s:

        def work():
            while True:
                try:
                    v = int(s.run(x))
                except OutOfRangeError:
                    return
                with lock:
                    found.append(v)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(60)
    assert sorted(found) == list(range(1, 401))


def test_random_maps_differ_from_element_to_element(graph):
    tf.set_random_seed(3)
    d = Dataset.range(6).map(lambda i: tf.random_uniform([]))
    first = all_of(d)
    assert len(set(first)) == 6 and first == all_of(d)


def test_names_of_files(graph, tmp_path):
    for name in "cab":
        (tmp_path / f"{name}.txt").write_text(name)
    pattern = str(tmp_path / "*.txt")
    sorted_names = [str(tmp_path / f"{n}.txt").encode() for n in "abc"]
    assert all_of(Dataset.list_files(pattern, shuffle=False)) == sorted_names
    assert sorted(all_of(Dataset.list_files(pattern, seed=1))) == sorted_names
    x = tf.data.make_one_shot_iterator(Dataset.range(2)).get_next()
    assert tf.data.get_output_types(Dataset.range(2)) is tf.int64 and x.dtype is tf.int64


def damaged_file(path, n=6, broken=4):
    """A file of `n` records, of which one is damaged."""
    with tf.python_io.TFRecordWriter(path) as w:
        for i in range(n):
            w.write(b"%03d" % i)
    data = bytearray(path.read_bytes())
    data[19 * broken + 12] ^= 1
    path.write_bytes(data)
    return str(path)


def test_columns_and_elements_are_shuffled_and_repeated_alike(graph):
    rows = Dataset.from_tensor_slices(np.arange(300))
    once = all_of(rows.shuffle(64, seed=3))
    assert sorted(once) == list(range(300)) and all(v <= i + 64 for i, v in enumerate(once))
    for n in (1, 7, 300):
        batches = all_of(rows.shuffle(64, seed=3).batch(n))
        assert [v for b in batches for v in b] == once
    twice = all_of(rows.shuffle(1000, seed=3).repeat(2).batch(77))
    assert [len(b) for b in twice] == [77] * 7 + [61]
    assert sorted(v for b in twice for v in b) == sorted([*range(300)] * 2)
    assert all_of(rows.take(0).shuffle(5).batch(2)) == []
    assert all_of(Dataset.from_tensor_slices(np.zeros(0)).shuffle(5).repeat().batch(2)) == []
    # the time in the buffer is geometric, its mean the size of the buffer
    many = all_of(Dataset.from_tensor_slices(np.arange(20000)).shuffle(100, seed=1).batch(1000))
    late = np.arange(18000) - np.argsort(np.concatenate(many))[:18000]
    assert abs(late.mean()) < 5 and 95 < late.std() < 105


def test_an_error_behind_a_shuffle_is_told_once_and_loses_nothing_else(graph, tmp_path):
    names = [damaged_file(tmp_path / "a"), damaged_file(tmp_path / "b", broken=0)]
    for make in (
        lambda d: d.shuffle(3, seed=1).batch(2),
        lambda d: d.repeat(1).batch(2, drop_remainder=True),
        lambda d: d.batch(3, drop_remainder=True),
    ):
        element = make(tf.data.TFRecordDataset(names)).make_one_shot_iterator().get_next()
        found, errors = [], 0
        with tf.Session() as s:
            while errors < 5:
                try:
                    found += s.run(element).tolist()
                except DataLossError:
                    errors += 1
                except OutOfRangeError:
                    break
        assert errors == 2, errors
        assert set(found) <= {b"%03d" % i for i in range(4)} and len(found) >= 3


def test_windows_are_data_sets(graph):
    d = Dataset.range(7)
    assert all_of(d.window(3).flat_map(lambda w: w.batch(3))) == [[0, 1, 2], [3, 4, 5], [6]]
    sliding = d.window(3, shift=1, stride=2, drop_remainder=True)
    assert all_of(sliding.flat_map(lambda w: w.batch(3))) == [[0, 2, 4], [1, 3, 5], [2, 4, 6]]
    assert all_of(d.window(1, shift=3).flat_map(lambda w: w)) == [0, 3, 6]
    both = Dataset.zip((Dataset.range(3), Dataset.range(10, 13))).window(2)
    assert all_of(both.flat_map(lambda a, b: Dataset.zip((a.batch(2), b.batch(2))))) == [
        ([0, 1], [10, 11]),
        ([2], [12]),
    ]
    with pytest.raises(InvalidArgumentError, match="size, shift and stride"):
        all_of(d.window(0).flat_map(lambda w: w))


def test_groups_and_scans(graph):
    by_three = tf.data.experimental.group_by_window(lambda x: x % 3, lambda key, d: d.map(lambda x: x + 100 * key), 2)
    assert all_of(Dataset.range(7).apply(by_three)) == [0, 3, 101, 104, 202, 205, 6]
    sums = tf.data.experimental.scan(np.int64(0), lambda s, x: (s + x, (s, x)))
    assert all_of(Dataset.range(4).apply(sums)) == [(0, 0), (0, 1), (1, 2), (3, 3)]
    rows = Dataset.range(1, 9).map(lambda n: tf.fill([n], n))
    bucketed = rows.apply(tf.contrib.data.bucket_by_sequence_length(lambda x: tf.shape(x)[0], [3, 6], [2, 2, 2]))
    assert [np.shape(b) for b in all_of(bucketed)] == [(2, 2), (2, 4), (2, 7), (1, 5), (1, 8)]
    with pytest.raises(InvalidArgumentError, match="either window_size"):
        tf.data.experimental.group_by_window(lambda x: x, lambda k, d: d)
    with pytest.raises(InvalidArgumentError, match="bucket_batch_sizes"):
        tf.data.experimental.bucket_by_sequence_length(lambda x: x, [3], [1])


@pytest.mark.one_process("a task keeps a session's iterators")
def test_a_walk_that_ends_early_leaves_no_file(graph, tmp_path):
    """Not even until the collector comes."""
    gc.disable()
    try:
        assert len(all_of(Dataset.range(5).cache(str(tmp_path / "cache")).take(3))) == 3
        assert list(tmp_path.iterdir()) == []
    finally:
        gc.enable()


def test_a_cache_in_a_file_outlives_the_walk(graph, tmp_path):
    path, made = tmp_path / "cache", []

    def rows():
        for i in range(5):
            made.append(i)
            yield np.full(i, i), [b"a" * i]

    def cached():
        return Dataset.from_generator(rows, (tf.int32, tf.string)).cache(str(path))

    assert len(all_of(cached().take(3))) == 3 and not path.exists()  # not a whole walk
    first = all_of(cached())
    assert path.exists()
    count = len(made)
    assert all_of(cached()) == first == [([i] * i, [b"a" * i]) for i in range(5)] and len(made) == count
    with pytest.raises(DataLossError, match="no cache of this data set"):
        all_of(Dataset.range(5).cache(str(path)))
    data = bytearray(path.read_bytes())
    data[20] ^= 1
    path.write_bytes(data)
    with pytest.raises(DataLossError):
        all_of(cached())


@pytest.mark.not_compared("numbers without a seed are others in each run")
def test_seeded_numbers_in_map_begin_anew_with_the_iterator():
    with tf.Graph().as_default(), tf.Session() as s:
        tf.set_random_seed(None)  # `make spread` gives each graph a seed
        seeds = {"seeded": 11, "unseeded": None}
        found = {}
        for name, seed in seeds.items():
            data = tf.data.Dataset.from_tensors(0).repeat(3).map(lambda _, seed=seed: tf.random_uniform([], seed=seed))
            iterator = data.make_initializable_iterator()
            value = iterator.get_next()
            rounds = []
            for _ in range(2):
                s.run(iterator.initializer)
                rounds.append([s.run(value) for _ in range(3)])
            assert len(set(rounds[0])) == 3
            found[name] = rounds[0] == rounds[1]
    assert found == {"seeded": True, "unseeded": False}


def test_a_negative_size_of_a_buffer_is_refused():
    with tf.Graph().as_default(), tf.Session() as sess:
        size = tf.placeholder(tf.int64, [])
        iterator = tf.data.Dataset.range(2).prefetch(size).make_initializable_iterator()
        with pytest.raises(tf.errors.InvalidArgumentError, match="buffer_size"):
            sess.run(iterator.initializer, {size: -5})
        sess.run(iterator.initializer, {size: -1})
        assert sess.run(iterator.get_next()) == 0


def test_reduce_gives_the_last_state(graph):
    count = Dataset.range(5).reduce(np.int64(0), lambda n, _: n + 1)
    pairs = Dataset.range(4).map(lambda i: (i, tf.cast(i, tf.float32)))
    offset = tf.placeholder(tf.float32, [])
    total = pairs.reduce((0.0, {"last": np.int64(-1)}), lambda s, e: (s[0] + e[1] + offset, {"last": e[0]}))
    grown = Dataset.range(3).reduce(np.zeros(0, np.int64), lambda s, i: tf.concat([s, [i]], 0))
    nothing = Dataset.range(0).reduce(7, lambda s, i: s + 1)
    assert count.shape == [] and grown.shape.as_list() == [None]
    with tf.Session() as session:
        assert session.run([count, nothing]) == [5, 7]
        assert session.run(total, {offset: 0.5}) == (8.0, {"last": 3})
        assert session.run(grown).tolist() == [0, 1, 2] and session.run(grown).tolist() == [0, 1, 2]
    with pytest.raises(DTypeError, match="must match the initial state"):
        Dataset.range(3).reduce(0.0, lambda s, i: i)
    with pytest.raises(DTypeError, match="must match the initial state"):
        Dataset.range(3).reduce(np.int64(0), lambda s, i: (s, i))


def test_elements_with_their_numbers(graph):
    dataset = Dataset.from_tensor_slices([2.0, 3.0]).enumerate(start=5)
    assert all_of(dataset) == [(5, 2.0), (6, 3.0)]
    legacy = Dataset.range(6).map_with_legacy_function(lambda x: x * 2).filter_with_legacy_function(lambda x: x > 6)
    assert all_of(legacy) == [8, 10]


def test_threads_and_a_buffer_of_map_as_in_1_2():
    with tf.Graph().as_default(), tf.Session() as sess:
        numbers = tf.contrib.data.Dataset.range(5).map(lambda x: x * 2, num_threads=2, output_buffer_size=3)
        ops = {op.type for op in tf.get_default_graph().get_operations()}
        assert {"ParallelMapDataset", "PrefetchDataset"} <= ops
        following = numbers.make_one_shot_iterator().get_next()
        assert [sess.run(following) for _ in range(5)] == [0, 2, 4, 6, 8]
        squares = tf.data.Dataset.range(3).map(lambda x: x * x, output_buffer_size=1)
        following = squares.make_one_shot_iterator().get_next()
        assert [sess.run(following) for _ in range(3)] == [0, 1, 4]
