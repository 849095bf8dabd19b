"""Graphs with queues, readers and data sets come back from a GraphDef, and read the same."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf

pytestmark = pytest.mark.opencl


@pytest.fixture
def files(tmp_path):
    """Two files of lines, and one of records."""
    for name, text in (("a", "1\n2\n3\n"), ("b", "4\n5\n")):
        (tmp_path / name).write_text(text)
    with tf.python_io.TFRecordWriter(str(tmp_path / "records")) as writer:
        for i in range(5):
            writer.write(b"r%d" % i)
    return tmp_path


def queues_and_readers(folder):
    """Lines of files through a reader, a queue in random order and a padding one; how to begin, what to read."""
    names = tf.train.string_input_producer([str(folder / "a"), str(folder / "b")], shuffle=False, num_epochs=1)
    _, line = tf.TextLineReader().read(names)
    number = tf.string_to_number(line, tf.int32)
    lengths = tf.fill([number], number)
    shuffled = tf.train.shuffle_batch([number], 5, 20, 5, seed=3, name="shuffled")
    padded = tf.train.batch([lengths], 5, dynamic_pad=True, allow_smaller_final_batch=True, name="padded")
    tf.identity(tf.reduce_sum(shuffled), name="total")
    tf.identity(padded, name="rows")


def numbers_and_records(folder):
    data = (
        tf.data.Dataset.zip(
            (
                tf.data.TFRecordDataset(str(folder / "records")),
                tf.data.Dataset.range(10, 0, -2).shuffle(2, seed=1).repeat(2),
                tf.data.Dataset.from_tensor_slices(np.arange(12.0).reshape(6, 2)),
            )
        )
        .skip(1)
        .batch(3)
        .prefetch(2)
    )
    iterator = data.make_initializable_iterator()
    tf.group(iterator.initializer, name="begin")
    for k, t in enumerate(iterator.get_next()):
        tf.identity(t, name=f"item{k}")


def read(session, *names):
    found = []
    while True:
        try:
            found.append([np.asarray(x).tolist() for x in session.run([n + ":0" for n in names])])
        except tf.errors.OutOfRangeError:
            return found


def across(program, folder, binary):
    """Two graphs: the program's, and the one that its GraphDef makes, whose collections are copied."""
    first, second = tf.Graph(), tf.Graph()
    with first.as_default():
        program(folder)
        meta = tf.train.export_meta_graph()
    if binary:
        meta = type(meta).FromString(meta.SerializeToString())
    with second.as_default():
        tf.train.import_meta_graph(meta)
    assert second.as_graph_def() == first.as_graph_def()
    names = [[r.name for r in g.get_collection(tf.GraphKeys.QUEUE_RUNNERS)] for g in (first, second)]
    assert names[0] == names[1]
    return first, second


@pytest.mark.parametrize("binary", [False, True])
def test_queues_and_readers(files, binary):
    for fetch in ("total", "rows"):
        found = []
        for graph in across(queues_and_readers, files, binary):
            with graph.as_default(), tf.Session() as session:
                session.run(tf.local_variables_initializer())
                coord = tf.train.Coordinator()
                runners = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
                wanted = (
                    [r for r in runners if "shuffle" in r.name or "producer" in r.name]
                    if fetch == "total"
                    else [r for r in runners if "padd" in r.name or "producer" in r.name]
                )
                assert len(wanted) == 2
                threads = [t for r in wanted for t in r.create_threads(session, coord, daemon=True, start=True)]
                found.append(read(session, fetch))
                coord.request_stop()
                coord.join(threads)
        assert found[0] == found[1]
        assert found[0] == ([[15]] if fetch == "total" else [[[[n] * n + [0] * (5 - n) for n in range(1, 6)]]])


def test_data_sets(files):
    found = []
    for graph in across(numbers_and_records, files, True):
        with tf.Session(graph=graph) as session:
            session.run("begin")
            found.append(read(session, "item0", "item1", "item2"))
    assert found[0] == found[1]
    assert [e[0] for e in found[0]] == [[b"r1", b"r2", b"r3"], [b"r4"]]


def test_damaged_runners_leave_the_graph_as_it_was(files):
    with tf.Graph().as_default():
        queues_and_readers(files)
        meta = tf.train.export_meta_graph()
    stored = meta.collection_def["queue_runners"].bytes_list.value
    good = list(stored)
    with tf.Graph().as_default() as graph:
        for content, error in ((b"\xff\xff", tf.errors.DataLossError), (b"\n\x04none", tf.errors.NotFoundError)):
            stored[0] = content
            with pytest.raises(error):
                tf.train.import_meta_graph(meta)
            assert not graph.get_operations() and not graph.get_all_collection_keys()
        stored[0] = good[0]
        tf.train.import_meta_graph(meta, import_scope="in")
        runner = graph.get_collection("queue_runners")[0]
        assert runner.name == "in/input_producer"
        assert runner.to_proto("in").SerializeToString() == good[0]
        assert runner.to_proto("out") is None
