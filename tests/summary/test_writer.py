"""FileWriter: what TensorBoard's loader reads of its files, threads, rotation, disks that refuse."""

from __future__ import annotations

import gc
import os
import resource
import stat
import subprocess
import sys
import threading
import warnings

import pytest
from open_files import open_files_under

import tfnb as tf
from tfnb.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    PermissionDeniedError,
    ResourceExhaustedError,
)
from tfnb.summary.event_file import EventFile


def scalar(tag: str, value: float) -> bytes:
    return tf.Summary(value=[tf.Summary.Value(tag=tag, simple_value=value)]).SerializeToString()


def steps(found):
    return [e.step for e in found if e.HasField("summary")]


def test_tensorboard_reads_it(tmp_path, events):
    with tf.summary.FileWriter(tmp_path / "a" / "b", filename_suffix=".x") as writer:
        for i in range(100):
            writer.add_summary(scalar("loss", i / 2), i)
        writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="t", simple_value=1)]))
        writer.add_session_log(tf.SessionLog(status=tf.SessionLog.START), 7)
        writer.add_event(tf.Event(wall_time=5.0, step=9))
        metadata = tf.RunMetadata()
        writer.add_run_metadata(metadata, "step 3", 3)
        with pytest.raises(InvalidArgumentError, match="step 3"):
            writer.add_run_metadata(metadata, "step 3", 4)
    assert os.path.basename(writer.path).startswith("events.out.tfevents.")
    assert writer.path.endswith(".x")
    found = events(tmp_path / "a" / "b")
    assert found[0].file_version == "brain.Event:2"
    assert steps(found)[:101] == [*range(100), 0]
    assert found[-3].session_log.status == tf.SessionLog.START and found[-3].step == 7
    assert (found[-2].wall_time, found[-2].step) == (5.0, 9)
    # TensorBoard's loader turns tagged run metadata into a summary of that tag.
    assert (found[-1].step, found[-1].summary.value[0].tag) == (3, "step 3")


def test_flush_close_reopen(tmp_path, events):
    writer = tf.train.SummaryWriter(str(tmp_path))
    writer.add_summary(scalar("a", 1), 1)
    writer.flush()
    assert steps(events(tmp_path)) == [1]
    writer.close()
    writer.close()
    with pytest.warns(UserWarning, match="closed"):
        writer.add_summary(scalar("a", 2), 2)
    writer.flush()
    writer.reopen()
    writer.reopen()
    writer.add_summary(scalar("a", 3), 3)
    writer.close()
    assert steps(events(tmp_path)) == [1, 3]
    assert len(list(tmp_path.iterdir())) == 2
    assert writer.get_logdir() == str(tmp_path)


def test_files_rotate(tmp_path, events):
    with tf.summary.FileWriter(tmp_path, max_file_bytes=500) as writer:
        for i in range(100):
            writer.add_summary(scalar("a", i), i)
    assert len(list(tmp_path.iterdir())) > 5
    assert steps(events(tmp_path)) == list(range(100))


def test_many_threads(tmp_path, events):
    with tf.summary.FileWriter(tmp_path, max_queue=3) as writer:

        def add(k):
            for i in range(50):
                writer.add_summary(scalar(f"t{k}", i), i)

        threads = [threading.Thread(target=add, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    found = [(e.summary.value[0].tag, e.step) for e in events(tmp_path) if e.HasField("summary")]
    assert sorted(found) == sorted((f"t{k}", i) for k in range(4) for i in range(50))
    for k in range(4):
        assert [s for t, s in found if t == f"t{k}"] == list(range(50))


def test_nobody_waits_longer_than_flush_secs(tmp_path, events):
    with tf.summary.FileWriter(tmp_path, flush_secs=0.05) as writer:
        writer.add_summary(scalar("a", 1), 1)
        for _ in range(100):
            if steps(events(tmp_path)) == [1]:
                break
            threading.Event().wait(0.02)
        else:
            pytest.fail("not flushed")


def test_the_thread_ends_with_its_writer(tmp_path, events):
    def threads():
        return [t for t in threading.enumerate() if t.name == "tfnb-events"]

    before = len(threads())
    writer = tf.summary.FileWriter(tmp_path)
    writer.add_summary(scalar("a", 1), 1)
    assert len(threads()) == before + 1
    del writer
    gc.collect()
    assert len(threads()) == before
    assert steps(events(tmp_path)) == [1]


def test_a_program_that_forgets_to_close_loses_nothing(tmp_path, events):
    program = (
        "import tfnb as tf\n"
        f"w = tf.summary.FileWriter({str(tmp_path)!r})\n"
        "for i in range(100): w.add_summary(tf.Summary(), i)\n"
    )
    subprocess.run(
        [sys.executable, "-c", program], check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )
    assert steps(events(tmp_path)) == list(range(100))


def test_listeners_see_what_is_added(tmp_path):
    seen = []
    with tf.summary.FileWriter(tmp_path) as writer:
        end = writer.listen(lambda data: seen.append(tf.Event.FromString(data).step))
        writer.add_summary(scalar("a", 1), 4)
        end()
        writer.add_summary(scalar("a", 1), 5)
    assert seen == [4]


def test_metadata_is_written_with_the_first_value_of_a_tag(tmp_path):
    value = tf.Summary.Value(tag="words", tensor=tf.make_tensor_proto(["a"]))
    value.metadata.plugin_data.plugin_name = "text"
    message = tf.Summary(value=[value])
    with tf.summary.FileWriter(tmp_path) as writer:
        writer.add_summary(message, 0)
        writer.add_summary(message, 1)
        writer.add_summary(message.SerializeToString(), 2)
        writer.close()
        writer.reopen()
        writer.add_summary(message, 3)
    assert message.value[0].metadata.plugin_data.plugin_name == "text"  # the caller's message is as it was
    found = [e for path in sorted(tmp_path.iterdir()) for e in tf.train.summary_iterator(str(path))]
    values = [e.summary.value[0] for e in found if e.HasField("summary")]
    assert [v.metadata.plugin_data.plugin_name for v in values] == ["text", "", "", "text"]
    assert [v.tensor.string_val[0] for v in values] == [b"a"] * 4
    assert [item.step for item in tf.read_events(tmp_path).runs["."].items["words"]] == [0, 1, 2, 3]


def test_cache_of_writers(tmp_path):
    cache = tf.summary.FileWriterCache
    a = cache.get(str(tmp_path))
    assert cache.get(str(tmp_path)) is a and cache.get(str(tmp_path / "b")) is not a
    cache.clear()
    b = cache.get(str(tmp_path))
    assert b is not a
    cache.clear()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folder_that_cannot_be_written(tmp_path):
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(PermissionDeniedError, match=str(tmp_path)):
        tf.summary.FileWriter(tmp_path / "x")


def test_folder_that_is_a_file(tmp_path):
    (tmp_path / "x").write_text("")
    with pytest.raises((FailedPreconditionError, tf.errors.AlreadyExistsError), match="x"):
        tf.summary.FileWriter(tmp_path / "x")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux's full device")
def test_full_disk_is_told(tmp_path):
    writer = tf.summary.FileWriter(tmp_path)
    writer._file._file.close()
    writer._file._file = open("/dev/full", "wb", buffering=0)  # noqa: SIM115
    writer.add_summary(scalar("a", 1), 1)
    with pytest.raises(ResourceExhaustedError, match="No space"):
        writer.flush()
    writer._file._file.close()
    writer._file._file = open(writer.path, "ab")  # noqa: SIM115
    writer.add_summary(scalar("a", 2), 2)
    writer.close()


def test_what_is_no_summary(tmp_path):
    with warnings.catch_warnings(), tf.summary.FileWriter(tmp_path) as writer:
        for bad in (b"\xff\xff\xff", 3.0, "text"):
            with pytest.raises(InvalidArgumentError, match="Summary"):
                writer.add_summary(bad, 1)
        for add in (writer.add_graph, writer.add_meta_graph):
            with pytest.raises(InvalidArgumentError, match="needs a"):
                add(3)
        with pytest.raises(InvalidArgumentError, match="RunMetadata"):
            writer.add_run_metadata(3, "t")
    with pytest.raises(InvalidArgumentError, match="empty"):
        tf.summary.FileWriter("")


def test_importing_tfnb_loads_no_protobuf():
    program = "import sys, tfnb; print([m for m in sys.modules if m.partition('.')[0] in ('google', 'tensorboard')])"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout.strip() == "[]"


def test_tensorboard_reads_the_graph_and_the_metadata(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with tf.Graph().as_default() as graph, tf.Session() as session:
        with tf.name_scope("layer"):
            y = tf.matmul(tf.placeholder(tf.float32, [None, 3], name="x"), tf.Variable(tf.ones([3, 2])))
        session.run(tf.global_variables_initializer())
        metadata = tf.RunMetadata()
        traced = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(y, {"layer/x:0": [[1.0, 2.0, 3.0]]}, options=traced, run_metadata=metadata)
        with tf.summary.FileWriter(tmp_path, graph) as writer:
            writer.add_run_metadata(metadata, "step 1", 1)
            writer.add_meta_graph(tf.train.export_meta_graph())
    found = EventAccumulator(str(tmp_path)).Reload()
    nodes = {n.name: n for n in found.Graph().node}
    assert set(nodes) == {op.name for op in graph.get_operations()}
    shape = nodes["layer/x"].attr["_output_shapes"].list.shape[0]
    assert [d.size for d in shape.dim] == [-1, 3]
    stats = found.RunMetadata("step 1").step_stats.dev_stats
    # What the host did besides (launching, waiting) has names of its own.
    ran = {n.node_name for d in stats if d.device != "host" for n in d.node_stats}
    assert y.op.name in ran <= set(nodes) and all(d.device for d in stats)
    assert found.MetaGraph().graph_def == graph.as_graph_def()


def test_nobody_who_adds_waits_for_a_file_that_was_closed(tmp_path):
    """However many there are: each adds or hears that it is closed."""
    for k in range(20):
        file = EventFile(str(tmp_path / str(k)), max_queue=1, flush_secs=9, suffix="", max_bytes=None)
        told, begun = [], threading.Barrier(7)

        def add(file=file, told=told, begun=begun):
            begun.wait()
            try:
                while True:
                    file.add(b"event")
            except FailedPreconditionError as e:
                told.append(e)

        threads = [threading.Thread(target=add, daemon=True) for _ in range(6)]
        for t in threads:
            t.start()
        begun.wait()
        file.close()
        for t in threads:
            t.join(120)
        assert not any(t.is_alive() for t in threads)
        assert len(told) == 6


def test_a_writer_may_be_collected_by_its_own_thread(tmp_path, events):
    class Collecting(bytes):
        """Its length is asked by the thread that writes it."""

        def __len__(self):
            gc.collect()
            return super().__len__()

    writer = tf.summary.FileWriter(tmp_path)
    writer.itself = writer
    file = writer._file
    data = Collecting(
        tf.Event(wall_time=1.0, step=8, summary=tf.Summary.FromString(scalar("a", 1))).SerializeToString()
    )
    gc.disable()
    try:
        del writer
        file.add(data)
        file._thread.join(120)
    finally:
        gc.enable()
    assert not file._thread.is_alive()
    assert file._file.closed
    assert steps(events(tmp_path)) == [8]


def test_a_disk_that_refuses_the_first_event_leaves_no_open_file(tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        with pytest.raises(ResourceExhaustedError) as refused:
            tf.summary.FileWriter(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert open_files_under(tmp_path) == [], refused


def test_both_forms_of_a_graph_are_refused(tmp_path):
    graph = tf.Graph()
    with pytest.raises(ValueError, match="not both"):
        tf.summary.FileWriter(str(tmp_path), graph=graph, graph_def=graph.as_graph_def())
    with pytest.raises(TypeError, match="needs a graph, got str"):
        tf.summary.FileWriter(str(tmp_path), "a text")
