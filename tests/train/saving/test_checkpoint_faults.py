"""Training that is killed, disks that are full, checkpoints that are damaged: nothing is lost, nothing half restored."""

from __future__ import annotations

import os
import random
import resource
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors
from tfnb.ops.checkpoint.files import Checkpoint

pytestmark = pytest.mark.opencl
ROUNDS = int(os.environ.get("TFNB_KILL_ROUNDS", "4"))


def killed(folder, mode, seconds):
    """The last step that the program said it had saved before it was killed; 0 for none."""
    program = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("dying.py")), str(folder), mode],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with program:
        assert program.stdout.readline() == "ready\n"
        time.sleep(seconds)
        program.send_signal(signal.SIGKILL)
        lines = program.stdout.read().split()
    assert program.returncode == -signal.SIGKILL
    return int(lines[-1]) if lines else 0


@pytest.mark.parametrize("mode", ["numbered", "same", "async"])
def test_killed_at_any_moment(tmp_path, mode):
    rng, told = random.Random(mode), 0
    for _ in range(max(1, ROUNDS // 3)):
        told = killed(tmp_path, mode, rng.uniform(0.0, 0.15)) or told
        latest = tf.train.latest_checkpoint(tmp_path)
        if latest is None:
            assert told == 0
            continue
        found = Checkpoint(latest)
        found.verify()
        step = int(found.read("step"))
        assert told <= step <= told + 1  # a save that was finished but not told of may be there
        assert (found.read("big") == step).all()
        assert len(list(tmp_path.glob("*.tmp-*"))) <= 2
        told = step


def test_full_disk(tmp_path):
    """The limit on a file's size, in a process of its own, is met inside the writing of the shard."""
    program = f"""
import resource, numpy as np, tfnb as tf
from tfnb import errors
v = tf.Variable(np.zeros(10), name="v"); w = tf.Variable(np.zeros(1_000_000), name="w")
small, both = tf.train.Saver([v], max_to_keep=1), tf.train.Saver(max_to_keep=1)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    path = small.save(sess, {str(tmp_path / "m")!r}, 1)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_000_000, 4_000_000))
    for save in (lambda: both.save(sess, {str(tmp_path / "m")!r}, 2),
                 lambda: both.save_async(sess, {str(tmp_path / "m")!r}, 2).result()):
        try:
            save()
        except errors.ResourceExhaustedError as e:
            print("refused", e)
    assert tf.train.latest_checkpoint({str(tmp_path)!r}) == path
    small.restore(sess, path)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("refused") == 2
    assert len(list(tmp_path.iterdir())) == 4  # pointer, index, shard and graph of the first
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_folder(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.Variable(1.0)
        sess.run(tf.global_variables_initializer())
        saver = tf.train.Saver()
        tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
        with pytest.raises(errors.PermissionDeniedError):
            saver.save(sess, str(tmp_path / "m"))
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("options", [{}, {"restore_sequentially": True}, {"sharded": True}], ids=str)
@pytest.mark.parametrize("fault", ["damaged", "truncated", "shape", "dtype", "missing"])
def test_nothing_is_half_restored(tmp_path, fault, options):
    with tf.Graph().as_default(), tf.Session() as sess:
        names = ["a", "b", "c"]
        saved = [tf.Variable(np.full(100, 1.0), name=n) for n in names]
        if fault == "shape":
            saved[2] = tf.Variable(np.zeros(3), name="c3")
        if fault == "dtype":
            saved[2] = tf.Variable(np.zeros(100, "f"), name="cf")
        chosen = dict(zip(names, saved, strict=True))
        if fault == "missing":
            del chosen["c"]
        sess.run(tf.global_variables_initializer())
        path = tf.train.Saver(chosen).save(sess, str(tmp_path / "m"))
    if fault in ("damaged", "truncated"):
        shard = next(tmp_path.glob("*.safetensors"))
        data = bytearray(shard.read_bytes())
        data[-100] ^= 4  # in the last tensor
        shard.write_bytes(data if fault == "damaged" else data[:-8])
    kind = {
        "damaged": errors.DataLossError,
        "truncated": errors.DataLossError,
        "missing": errors.NotFoundError,
    }.get(fault, errors.InvalidArgumentError)
    with tf.Graph().as_default(), tf.Session() as sess:
        variables = [tf.Variable(np.zeros(100), name=n) for n in names]
        saver = tf.train.Saver(**options)
        sess.run(tf.global_variables_initializer())
        with pytest.raises(kind, match=r"c|safetensors"):
            saver.restore(sess, path)
        for value in sess.run(variables):
            assert not value.any()


def test_a_damaged_pointer_file(tmp_path):
    for text in ("\0\0\0", 'model_checkpoint_path "x"', "", 'model_checkpoint_path: "x'):
        (tmp_path / "checkpoint").write_text(text)
        with pytest.raises(errors.DataLossError, match="checkpoint"):
            tf.train.latest_checkpoint(tmp_path)
    (tmp_path / "checkpoint").write_bytes(b"\xff\xfe")
    with pytest.raises(errors.DataLossError, match="checkpoint"):
        tf.train.get_checkpoint_state(tmp_path)
    (tmp_path / "checkpoint").write_text('model_checkpoint_path: "gone-3"\n')
    assert tf.train.latest_checkpoint(tmp_path) is None


def test_a_damaged_list_of_the_best(tmp_path):
    for text in (
        "",
        "[" * 100_000,
        "{}",
        '{"checkpoints":3}',
        '{"checkpoints":[{"path":"../m","metric":1}]}',
        "\xff",
        '{"checkpoints":[{"path":"m","metric":[]}]}',
    ):
        (tmp_path / "best_checkpoints.json").write_text(text)
        with pytest.raises(errors.DataLossError, match="best_checkpoints"):
            tf.train.best_checkpoint(tmp_path)
