"""Readers over queues of file names, and TFRecord files in Python."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import (
    DataLossError,
    DeadlineExceededError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
)

pytestmark = pytest.mark.opencl


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as s:
        yield s


def names_queue(sess, names, close=True):
    q = tf.FIFOQueue(100, tf.string, shapes=[()])
    sess.run(q.enqueue_many([[str(n) for n in names]]))
    if close:
        sess.run(q.close())
    return q


def all_of(sess, fetch):
    found = []
    try:
        while True:
            found.append(sess.run(fetch))
    except OutOfRangeError:
        return found


@pytest.fixture
def files(tmp_path):
    for i in range(3):
        with tf.python_io.TFRecordWriter(tmp_path / f"{i}.tfr") as w:
            for k in range(i * 2):
                w.write(b"record %d of %d" % (k, i))
    (tmp_path / "x.txt").write_bytes(b"head\na\r\nb")
    (tmp_path / "x.bin").write_bytes(b"HHaabbccF")
    return tmp_path


def test_tf_records(sess, files):
    q = names_queue(sess, [files / f"{i}.tfr" for i in range(3)])
    reader = tf.TFRecordReader()
    key, value = reader.read(q)
    got = all_of(sess, [key, value])
    assert [v for _, v in got] == [b"record %d of %d" % (k, i) for i in range(3) for k in range(i * 2)]
    assert got[0][0] == str(files / "1.tfr").encode() + b":0"
    assert got[1][0].endswith(b"1.tfr:29")
    counts = [reader.num_records_produced(), reader.num_work_units_completed()]
    assert sess.run(counts) == [6, 3]
    sess.run(reader.reset())
    assert sess.run(counts) == [0, 0]


def test_many_at_once(sess, files):
    q = names_queue(sess, [files / f"{i}.tfr" for i in (2, 1)])
    keys, values = tf.TFRecordReader().read_up_to(q, 3)
    got = all_of(sess, values)
    assert [len(v) for v in got] == [3, 1, 2]
    assert keys.shape.as_list() == [None]


def test_lines_fixed_lengths_whole_files_and_names(sess, files):
    text, binary = files / "x.txt", files / "x.bin"
    got = all_of(sess, tf.TextLineReader(skip_header_lines=1).read(names_queue(sess, [text])))
    assert got == [(f"{text}:2".encode(), b"a"), (f"{text}:3".encode(), b"b")]
    fixed = tf.FixedLengthRecordReader(2, header_bytes=2, footer_bytes=1)
    assert [v for _, v in all_of(sess, fixed.read(names_queue(sess, [binary])))] == [b"aa", b"bb", b"cc"]
    assert all_of(sess, tf.WholeFileReader().read(names_queue(sess, [binary]))) == [
        (str(binary).encode(), b"HHaabbccF")
    ]
    assert all_of(sess, tf.IdentityReader().read(names_queue(sess, ["work"]))) == [(b"work", b"work")]


def test_a_reader_waits_for_a_name(sess, files):
    q = tf.FIFOQueue(10, tf.string, shapes=[()])
    _, value = tf.TFRecordReader().read(q)
    sess.make_callable(value)  # compiled, so that all of the time limit is for the wait
    with pytest.raises(DeadlineExceededError, match="waits for work from FIFOQueue"):
        sess.run(value, options=tf.RunOptions(timeout_in_ms=500))
    got = []
    threads = [threading.Thread(target=lambda: got.append(sess.run(value))) for _ in range(4)]
    for t in threads:
        t.start()
    put = q.enqueue(tf.constant(str(files / "2.tfr")))
    sess.run(put)
    for t in threads:
        t.join(20)
    assert sorted(got) == [b"record %d of 2" % k for k in range(4)]


def test_many_empty_files(sess, files):
    q = tf.FIFOQueue(3000, tf.string, shapes=[()])
    sess.run(q.enqueue_many([[str(files / "0.tfr")] * 2000 + [str(files / "1.tfr")]]))
    _, value = tf.TFRecordReader().read(q)
    assert sess.run(value) == b"record 0 of 1"


def test_state_is_kept_and_restored(sess, files):
    q = names_queue(sess, [files / "2.tfr"] * 2)
    reader = tf.TFRecordReader()
    _, value = reader.read(q)
    sess.run(value)
    sess.run(value)
    state = sess.run(reader.serialize_state())
    assert [sess.run(value) for _ in range(2)] == [b"record 2 of 2", b"record 3 of 2"]
    text = tf.placeholder(tf.string, [])
    restore = reader.restore_state(text)
    sess.run(restore, {text: state})
    assert sess.run(value) == b"record 2 of 2"
    for bad in (b"", b"{}", b"[1]", state.replace(b"TFRecordReader", b"TextLineReader"), state[:-5]):
        with pytest.raises(InvalidArgumentError, match="parse state"):
            sess.run(restore, {text: bad})
    assert sess.run(value) == b"record 3 of 2"


def test_broken_files(sess, files):
    path = files / "2.tfr"
    data = bytearray(path.read_bytes())
    data[14] ^= 1
    path.write_bytes(data)
    _, value = tf.TFRecordReader().read(names_queue(sess, [path, files / "1.tfr"]))
    with pytest.raises(DataLossError, match=f"corrupted record at 0 in {path}"):
        sess.run(value)
    assert sess.run(value) == b"record 0 of 1"
    reader = tf.TFRecordReader(skip_corrupt=True)
    _, value = reader.read(names_queue(sess, [path]))
    assert len(all_of(sess, value)) == 3
    assert sess.run(reader.num_records_skipped()) == 1
    _, value = tf.TextLineReader().read(names_queue(sess, [files / "nowhere"]))
    with pytest.raises(NotFoundError, match="nowhere"):
        sess.run(value)
    numbers = tf.FIFOQueue(5, tf.int32)
    with pytest.raises(InvalidArgumentError, match="queue of strings"):
        sess.run(tf.TextLineReader().read(numbers))


@pytest.mark.parametrize("kind", ["", "GZIP", "ZLIB"])
def test_writer_and_iterator(tmp_path, kind):
    path = tmp_path / "x"
    options = tf.python_io.TFRecordOptions(getattr(tf.python_io.TFRecordCompressionType, kind or "NONE"))
    records = [bytes([i % 256]) * i for i in range(300)]
    writer = tf.python_io.TFRecordWriter(path, options)
    for r in records:
        writer.write(r)
    writer.flush()
    writer.close()
    assert list(tf.python_io.tf_record_iterator(path, options)) == records
    with pytest.raises(FailedPreconditionError, match="closed"):
        writer.write(b"")
    with pytest.raises(InvalidArgumentError, match="compression"):
        tf.python_io.TFRecordOptions("LZ4")
    with pytest.raises(NotFoundError):
        tf.python_io.TFRecordWriter(tmp_path / "no" / "x")


def test_an_input_pipeline_of_the_time(files):
    """String producer, reader, decoding, batches."""
    with tf.Graph().as_default():
        q = tf.train.string_input_producer([str(files / "x.bin")], num_epochs=3, shuffle=False)
        _, value = tf.FixedLengthRecordReader(2, header_bytes=2, footer_bytes=1).read(q)
        pixels = tf.reshape(tf.decode_raw(value, tf.uint8), [2])
        batch = tf.train.batch([pixels], 3)
        with tf.Session() as s:
            s.run(tf.local_variables_initializer())
            coord = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(s, coord)
            got = all_of(s, batch)
            coord.request_stop()
            coord.join(threads)
    assert np.array_equal(got, [[[97] * 2, [98] * 2, [99] * 2]] * 3)
