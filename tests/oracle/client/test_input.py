"""Data sets, queues, readers and accumulators: the same programs under TensorFlow and here give the same values."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as ours

theirs = pytest.importorskip("tensorflow", exc_type=ImportError).compat.v1

pytestmark = [pytest.mark.oracle, pytest.mark.opencl]


def plain(e):
    if isinstance(e, dict):
        return {k: plain(v) for k, v in e.items()}
    if isinstance(e, (tuple, list)):
        return [plain(v) for v in e]
    a = np.asarray(e)
    return (str(a.dtype), a.shape, a.tolist())


def elements(tf, dataset):
    iterator = getattr(dataset, "make_one_shot_iterator", None)
    x = (iterator() if iterator is not None else tf.data.make_one_shot_iterator(dataset)).get_next()
    found = []
    with tf.Session() as s:
        try:
            while len(found) < 100:
                found.append(plain(s.run(x)))
        except tf.errors.OutOfRangeError:
            pass
    return found


def records(tf, folder):
    path = str(folder / "records")
    with tf.python_io.TFRecordWriter(
        path, tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.GZIP)
    ) as w:
        for i in range(7):
            w.write(b"r" * i)
    return tf.data.TFRecordDataset(path, compression_type="GZIP").map(lambda s: (s, tf.strings.length(s)))


def csv_file(folder, text=b'x,name,y,w\n1,"a, ""b""",2.5,3000000000\n,"two\nlines",,\n3,c,NA,4\n'):
    path = folder / "table.csv"
    path.write_bytes(text)
    return str(path)


CHAINS = {
    "slices": lambda tf, d: tf.data.Dataset.from_tensor_slices(
        {"a": np.arange(6.0).reshape(3, 2), "b": [b"x", b"y", b"z"]}
    ),
    "range": lambda tf, d: tf.data.Dataset.range(9, 0, -2),
    "zip": lambda tf, d: tf.data.Dataset.zip((tf.data.Dataset.range(5), tf.data.Dataset.range(3).repeat(2))),
    "concatenate": lambda tf, d: tf.data.Dataset.range(3).concatenate(tf.data.Dataset.range(10, 12)),
    "map": lambda tf, d: tf.data.Dataset.range(5).map(lambda x: (x * x, tf.cast(x, tf.float32) / 2.0)),
    "map_parallel": lambda tf, d: tf.data.Dataset.range(20).map(lambda x: {"y": x + 1}, num_parallel_calls=3),
    "filter": lambda tf, d: tf.data.Dataset.range(10).filter(lambda x: tf.equal(x % 3, 0)),
    "flat_map": lambda tf, d: tf.data.Dataset.range(4).flat_map(lambda x: tf.data.Dataset.range(x)),
    "interleave": lambda tf, d: tf.data.Dataset.range(1, 6).interleave(
        lambda x: tf.data.Dataset.from_tensors(x).repeat(x), cycle_length=3, block_length=2
    ),
    "batch": lambda tf, d: tf.data.Dataset.range(10).batch(4),
    "batch_drop": lambda tf, d: tf.data.Dataset.range(10).batch(4, drop_remainder=True),
    "padded": lambda tf, d: tf.data.Dataset.range(1, 6).map(lambda x: tf.fill([x], x)).padded_batch(2, [None]),
    "padded_values": lambda tf, d: (
        tf.data.Dataset.range(1, 4)
        .map(lambda x: (tf.fill([x], tf.cast(x, tf.int32)), x))
        .padded_batch(3, ([4], []), (tf.constant(-1, tf.int32), tf.constant(0, tf.int64)))
    ),
    "take_skip": lambda tf, d: tf.data.Dataset.range(20).skip(3).take(9).shard(4, 2),
    "repeat_batch": lambda tf, d: tf.data.Dataset.range(3).repeat(3).batch(2).prefetch(2),
    "cache": lambda tf, d: tf.data.Dataset.range(4).map(lambda x: x * 2).cache().repeat(2),
    "unbatch": lambda tf, d: tf.data.Dataset.range(5).batch(2).unbatch(),
    "generator": lambda tf, d: tf.data.Dataset.from_generator(
        lambda: iter([([1, 2], "a"), ([3], "b")]), (tf.float32, tf.string), ([None], [])
    ),
    "records": records,
    "csv": lambda tf, d: tf.data.experimental.CsvDataset(
        csv_file(d),
        [tf.constant([7]), tf.string, tf.constant([0.5]), tf.constant([1], tf.int64)],
        header=True,
        na_value="NA",
    ),
    "csv_columns": lambda tf, d: tf.data.experimental.CsvDataset(
        csv_file(d), [tf.string, [5.5]], header=True, select_cols=[1, 2], na_value="NA"
    ),
    "csv_without_quotes": lambda tf, d: tf.data.experimental.CsvDataset(
        csv_file(d, b'"a;b;\n\n";"";c\n'), [[""], [""], [""]], field_delim=";", use_quote_delim=False
    ).apply(tf.data.experimental.ignore_errors()),
    "csv_empty_lines": lambda tf, d: tf.data.experimental.CsvDataset(csv_file(d, b"1\n\n2\n\r\n3"), [tf.constant([9])]),
    "csv_inferred": lambda tf, d: tf.data.experimental.make_csv_dataset(
        csv_file(d), 2, label_name="w", num_epochs=2, shuffle=False, na_value="NA"
    ),
    "csv_selected": lambda tf, d: tf.data.experimental.make_csv_dataset(
        csv_file(d), 2, select_columns=["w", 0], shuffle=False, na_value="NA", column_defaults=[[3], [4.5]]
    ).take(3),
    "sparse_batches": lambda tf, d: (
        tf.data.Dataset.from_tensor_slices(["a b c", "", "d"]).map(lambda s: (tf.string_split([s]), s)).batch(2)
    ),
    "sparse_rows": lambda tf, d: tf.data.Dataset.from_sparse_tensor_slices(
        tf.SparseTensor([[0, 1], [2, 0], [2, 3]], [1.5, 2.5, 3.5], [4, 5])
    ),
    "sparse_slices": lambda tf, d: (
        tf.data.Dataset.from_tensor_slices(tf.SparseTensor([[0, 1], [2, 0], [2, 3]], [1, 2, 3], [3, 5]))
        .batch(2)
        .unbatch()
        .map(lambda x: (x, tf.sparse_reduce_sum(x)))
    ),
    "window_of_words": lambda tf, d: (
        tf.data.Dataset.from_tensor_slices(["a b", "c"])
        .map(lambda s: tf.sparse_tensor_to_dense(tf.string_split([s]), default_value=""))
        .map(lambda w: tf.squeeze(w, [0]))
        .padded_batch(2, [None])
    ),
}


@pytest.mark.parametrize("name", CHAINS)
def test_chain(name, tmp_path):
    found = []
    for tf in (theirs, ours):
        folder = tmp_path / tf.__name__
        folder.mkdir()
        with tf.Graph().as_default():
            found.append(elements(tf, CHAINS[name](tf, folder)))
    assert found[0] == found[1]
    assert found[0]


def lines(tf, folder):
    """Readers: keys, values, counts."""
    (folder / "x.txt").write_bytes(b"head\na\r\n\nlast")
    (folder / "x.bin").write_bytes(b"HHaabbccddF")
    found = []
    for reader, name in (
        (tf.TextLineReader(skip_header_lines=1), "x.txt"),
        (tf.FixedLengthRecordReader(2, 2, 1), "x.bin"),
        (tf.FixedLengthRecordReader(2, 2, 1, hop_bytes=3), "x.bin"),
        (tf.WholeFileReader(), "x.bin"),
        (tf.IdentityReader(), "x.bin"),
    ):
        q = tf.FIFOQueue(5, tf.string, shapes=[()])
        read, several = reader.read(q), reader.read_up_to(q, 2)
        counts = [reader.num_records_produced(), reader.num_work_units_completed()]
        with tf.Session() as s:
            s.run(q.enqueue_many([[str(folder / name)] * 2]))
            s.run(q.close())
            try:
                for fetch in (read, several) * 9:
                    key, value = s.run(fetch)
                    names = [k.rpartition(b"/")[2] for k in np.ravel(key).tolist()]
                    found.append((names, plain(value)))
            except tf.errors.OutOfRangeError:
                found.append(plain(s.run(counts)))
    return found


def queues(tf, folder):
    """Padded, prioritised, up to; the texts of errors."""
    found = []
    with tf.Session() as s:

        def run(fetch):
            try:
                found.append(plain(s.run(fetch)))
            except tf.errors.OpError as e:
                found.append(type(e).__name__)

        q = tf.PaddingFIFOQueue(10, [tf.float32, tf.int32], shapes=[[None, 2], []])
        for n in (1, 3):
            s.run(q.enqueue([np.full((n, 2), n, np.float32), n]))
        run(q.dequeue_many(2))
        p = tf.PriorityQueue(10, [tf.string], shapes=[()])
        s.run(p.enqueue_many([np.array([3, 1, 2], np.int64), ["c", "a", "b"]]))
        run(p.dequeue_many(2))
        f = tf.FIFOQueue(3, [tf.int32], shapes=[()])
        s.run(f.enqueue_many([[1, 2, 3]]))
        for fetch in (
            f.dequeue_up_to(2),
            f.size(),
            f.close(),
            f.enqueue(1),
            f.dequeue_many(2),
            f.dequeue_up_to(2),
            f.dequeue(),
            f.close(),
        ):
            run(fetch)
    return found


def accumulators(tf, folder):
    found = []
    with tf.Session() as s:
        a = tf.ConditionalAccumulator(tf.float32, shape=[2])
        for step, grad in ((0, [1.0, 2.0]), (-1, [9.0, 9.0]), (3, [3.0, 5.0])):
            s.run(a.apply_grad(grad, local_step=step))
        found.append(plain(s.run([a.num_accumulated(), a.take_grad(1)])[1]))
        sparse = tf.SparseConditionalAccumulator(tf.float32, shape=[None, 2])
        s.run(sparse.apply_grad([1, 0], [[1.0, 2.0], [3.0, 4.0]]))
        s.run(sparse.apply_grad([1, 3], [[10.0, 20.0], [30.0, 40.0]]))
        found.append(plain(list(s.run(sparse.take_grad(2)))))
    return found


def barriers(tf, folder):
    if tf is theirs:
        from tensorflow.python.ops.data_flow_ops import Barrier
    else:
        Barrier = tf.Barrier
    found = []
    with tf.Session() as s:

        def run(fetch):
            try:
                got = s.run(fetch)
                found.append(plain(list(got)) if isinstance(got, tuple) else plain(got))
            except tf.errors.OpError as e:
                found.append(type(e).__name__)

        b = Barrier([tf.float32, tf.string], shapes=[(), (2,)])
        words = np.array([[c, c + c] for c in "abcd"], object)
        run(b.insert_many(1, ["k0", "k1", "k2"], words[:3]))
        run([b.ready_size(), b.incomplete_size()])
        run(b.insert_many(0, ["k2", "k1"], [2.0, 1.0]))
        run(b.insert_many(0, ["k3"], [3.0]))
        run(b.insert_many(0, ["k3"], [4.0]))
        run([b.ready_size(), b.incomplete_size()])
        run(b.close())
        run(b.insert_many(0, ["new"], [3.0]))
        run(b.insert_many(1, ["k3"], words[3:]))
        run([b.ready_size(), b.incomplete_size()])
        for fetch in (b.take_many(1), b.take_many(5), b.take_many(5, True), b.take_many(1, True)):
            run((fetch[0], fetch[2][0], fetch[2][1]))
        run(b.close())
        run(b.close(cancel_pending_enqueues=True))
        run(b.insert_many(0, ["k0"], [0.0]))
        run(b.take_many(1)[1])
    # k1 and k2 came in one insertion: their order is free
    return [sorted(f) if isinstance(f, list) and f and isinstance(f[0], bytes) else f for f in found]


def sparse_batches(tf, folder):
    """Sparse examples through queues of batches."""
    i = tf.train.range_input_producer(5, num_epochs=1, shuffle=False).dequeue()
    one = tf.SparseTensor(tf.cast([[i]], tf.int64), tf.cast([i], tf.float32), tf.cast([i + 2], tf.int64))
    rows = tf.SparseTensor([[0, 1], [2, 0]], ["x", "y"], [3, 2])
    made = [
        tf.train.batch([i, one], 2, allow_smaller_final_batch=True),
        tf.train.batch({"rows": rows}, 3, enqueue_many=True),
    ]
    found = []
    with tf.Session() as s:
        s.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(s, coord)
        for fetch in (made[0], made[1], made[0], made[0], made[0]):
            try:
                found.append(plain(s.run(fetch)))
            except tf.errors.OutOfRangeError:
                found.append("end")
        coord.request_stop()
        coord.join(threads)
    return found


@pytest.mark.parametrize("program", [lines, queues, accumulators, barriers, sparse_batches], ids=lambda p: p.__name__)
def test_program(program, tmp_path):
    found = []
    for tf in (theirs, ours):
        with tf.Graph().as_default():
            found.append(program(tf, tmp_path))
    assert found[0] == found[1]
