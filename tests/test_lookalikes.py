"""Everything that writes files, run in folders full of files and folders whose names look like tfnb's own.

Every byte of what was there before must be there afterwards (docs/decisions/files-of-others.md).
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import tfnb as tf
from tfnb.datasets.vocabulary import VocabularyProcessor
from tfnb.disk_cache import DiskCache
from tfnb.ops.checkpoint.save_restore import MERGE_V2, SAVE_V2
from tfnb.system.scratch import Claim, Scratch

pytestmark = pytest.mark.opencl
TOKEN, OLD_TOKEN, LONG_TOKEN = "0123456789abcdef", "0a1b2c3d", "0123456789abcdef" * 2
PREFIXES = (
    "m",
    "m-1",
    "m-2",
    "m-3",
    "n-1",
    "model.ckpt-1",
    "saved",
    "cache",
    "graph.pbtxt",
    "graph.meta",
    "checkpoint",
    "best_checkpoints.json",
    "trace.json",
    "key.bin",
    "part",
    "merged",
)
FILES = (
    "{}.data-00000-of-00001.safetensors",
    f"{{}}.data-00000-of-00001-{OLD_TOKEN}.safetensors",
    "{}.bak",
    ".{}.abcd1234",
    f"{{}}.data-00000-of-00001-{TOKEN}.safetensors",
    "{}_temp_notes.txt",
    f"{{}}.tmp-{OLD_TOKEN}",
    "{}.lock",
    "{}.tmp",
    f"{{}}.index.tmp-{TOKEN}",
    "{}.data-notes",
    "{}.meta.txt",
    "{}xdata-00000-of-00001.safetensors",
    "{}.tmp-",
)
FOLDERS = (
    "{}_temp_results",
    f"{{}}_temp_{LONG_TOKEN}",
    "{}.tmp-mine",
    f"{{}}.tmp-{TOKEN}",
    f"{{}}.tmp-{TOKEN[::-1]}",
    "{}.data-00000-of-00001-abcdef01.safetensors",
    "{}.old",
    f"{{}}.meta.tmp-{TOKEN}",
)
INSIDE = ("shard", "index", "old", "file", "part-00000-of-00001.index", f"tfnb-owner-{TOKEN}", "deep/thesis.txt")


def plant(folder):
    """Fills a folder with look-alikes."""
    for prefix in PREFIXES:
        for name in FILES:
            (folder / name.format(prefix)).write_text(f"precious {prefix} {name}")
        for name in FOLDERS:
            for inside in INSIDE:
                path = folder / name.format(prefix) / inside
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"precious {prefix} {name} {inside}")
        (folder / f"{prefix}.tmp-{'0' * 16}").mkdir()
        (folder / f"{prefix}.tmp-{'1' * 16}").symlink_to(folder / f"{prefix}.old")
        (folder / f"{prefix}_temp_{'1' * 32}").symlink_to(folder / f"{prefix}.old")
    for name in (
        "n-1.meta",
        "events.out.tfevents.0000000001.host.1.0001",
        "events.out.tfevents",
        "checkpoint2",
        "m.pbtxt",
    ):
        (folder / name).write_text(f"\nprecious {name}")


def seen(folder):
    """Every file, folder and link below a folder, with its content."""
    found = {}
    for path in folder.rglob("*"):
        found[str(path.relative_to(folder))] = (
            f"link to {os.readlink(path)}" if path.is_symlink() else None if path.is_dir() else path.read_bytes()
        )
    return found


@pytest.fixture
def folder(tmp_path):
    """A folder of look-alikes, the same afterwards; and of what a killed save left, which is gone afterwards."""
    plant(tmp_path)
    before = seen(tmp_path)
    killed = Scratch(str(tmp_path / "m"))
    Path(killed.file("shard")).write_text("half a shard")
    killed._claim.leave()
    parts = tmp_path / f"m-9_temp_{'9' * 32}"
    parts.mkdir()
    Claim(str(parts)).leave()
    yield tmp_path
    after = seen(tmp_path)
    assert {name: after.get(name, "gone") for name in before} == before
    assert not Path(killed.folder).exists() and not parts.exists()


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as session:
        tf.Variable(np.arange(4.0), name="v")
        session.run(tf.global_variables_initializer())
        yield session


@pytest.mark.parametrize("sharded", [False, True])
def test_savers(folder, sess, sharded):
    other = tf.train.Saver(sharded=sharded).save(sess, str(folder / "m.data-aug"), write_state=False)
    others = {name: content for name, content in seen(folder).items() if name.startswith("m.data-aug")}
    saver = tf.train.Saver(max_to_keep=1, keep_best=1, sharded=sharded)
    for step in (None, 1, 2, 3):
        saver.save(sess, str(folder / "m"), step, metric=float(step or 0))
        saver.save(sess, str(folder / "m"), step)
    bare = tf.train.Saver(max_to_keep=1, sharded=sharded)
    for step in (1, 2):
        bare.save(sess, str(folder / "n"), step, write_meta_graph=False)
    saver.save_async(sess, str(folder / "m"), 3).result()
    saver.close()
    tf.train.remove_checkpoint(str(folder / "m"))
    saver.restore(sess, other)
    assert {name: seen(folder)[name] for name in others} == others
    assert not list(folder.glob("n-1.index")) and not list(folder.glob("m-1.index"))


def test_parts_that_are_merged(folder, sess):
    for k in range(2):
        sess.run(SAVE_V2(str(folder / f"part{k}"), ["w"], [f"2 {k},1"], [[float(k)]]))
    sess.run(MERGE_V2([str(folder / "part0"), str(folder / "part1")], str(folder / "merged")))
    assert tf.train.load_variable(str(folder / "merged"), "w").tolist() == [0.0, 1.0]
    (folder / "parts").mkdir()
    sess.run(SAVE_V2(str(folder / "parts" / "m"), ["w"], [""], [[1.0]]))
    sess.run(MERGE_V2([str(folder / "parts" / "m")], str(folder / "merged")))
    assert (folder / "parts").is_dir() and not list((folder / "parts").iterdir())


def test_models_and_graphs(folder, sess):
    x = tf.placeholder(tf.float32, [None], name="x")
    tf.saved_model.simple_save(sess, str(folder / "saved"), {"x": x}, {"y": x + 1.0})
    for _ in range(2):
        tf.train.write_graph(sess.graph, str(folder), "graph.pbtxt")
        tf.train.export_meta_graph(str(folder / "graph.meta"))
    tf.train.Saver().save(sess, str(folder / "other"))


def test_records_and_caches(folder, sess):
    with tf.python_io.TFRecordWriter(str(folder / "m.records")) as writer:
        writer.write(b"one")
    step = tf.data.Dataset.range(3).cache(str(folder / "cache")).make_one_shot_iterator().get_next()
    for k in range(3):
        assert sess.run(step) == k
    with pytest.raises(tf.errors.OutOfRangeError):
        sess.run(step)
    sess.run(tf.write_file(str(folder / "m.txt"), "text"))
    cache = DiskCache(folder)
    cache.put("key", b"program")
    cache.mark("key")
    VocabularyProcessor(4).save(folder / "m.vocabulary")
    writer = tf.summary.FileWriter(str(folder), sess.graph)
    writer.add_summary(tf.Summary(value=[{"tag": "a", "simple_value": 1.0}]), 1)
    writer.reopen()
    writer.close()


def test_trainings(folder):
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        v = tf.Variable(1.0, name="v")
        train = tf.group(step.assign_add(1), v.assign_add(1.0))
        tf.summary.scalar("v", v)
        for _ in range(2):
            with tf.train.MonitoredTrainingSession(
                checkpoint_dir=str(folder), save_checkpoint_secs=None, save_checkpoint_steps=1, save_summaries_steps=1
            ) as session:
                for _ in range(4):
                    session.run(train)
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        count, v = step.assign_add(1), tf.Variable(1.0, name="v")
        supervisor = tf.train.Supervisor(logdir=str(folder), global_step=step, save_model_secs=0)
        with supervisor.managed_session() as session:
            session.run(count)
            supervisor.saver.save(session, supervisor.save_path, step)
            data = tf.RunMetadata()
            session.run(v, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=data)
        tf.timeline(data).save(folder / "m.trace.json")
