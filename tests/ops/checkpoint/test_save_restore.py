"""SaveV2, RestoreV2 and MergeV2Checkpoints, and the files they make: slices, parts, damage of every kind."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors
from tfnb.ops.checkpoint.files import Checkpoint, merge_checkpoints, write_checkpoint
from tfnb.ops.checkpoint.save_restore import MERGE_V2, RESTORE_V2, SAVE_V2

A, B = np.arange(6, dtype="f").reshape(2, 3), np.array([b"x", b""], object)


@pytest.fixture
def prefix(tmp_path):
    path = str(tmp_path / "m")
    write_checkpoint(path, [("a", "", A), ("b", "", B)])
    return path


def shard(prefix):
    return Checkpoint(prefix).folder + "/" + Checkpoint(prefix).index.shards[0][0]


def test_nodes(tmp_path):
    path = str(tmp_path / "m")
    with tf.Graph().as_default(), tf.Session() as sess:
        sess.run(SAVE_V2(path, ["a", "b"], ["", ""], [A, B]))
        a, b = RESTORE_V2(path, ["a", "b"], ["", ""], dtypes=[tf.float32, tf.string])
        x, y = sess.run([a, b])
        np.testing.assert_array_equal(x, A)
        assert y.tolist() == B.tolist()
        sess.run(SAVE_V2(path + "1", ["w"], ["2 4 0,1:-"], [[[1, 2, 3, 4]]]))
        sess.run(SAVE_V2(path + "2", ["w"], ["2 4 1,1:-"], [[[5, 6, 7, 8]]]))
        sess.run(MERGE_V2([path + "1", path + "2"], path))
        (w,) = RESTORE_V2(path, ["w"], [""], dtypes=[tf.int32])
        (part,) = RESTORE_V2(path, ["w"], ["2 4 -:1,2"], dtypes=[tf.int32])
        assert sess.run(w).tolist() == [[1, 2, 3, 4], [5, 6, 7, 8]]
        assert sess.run(part).tolist() == [[2, 3], [6, 7]]
        assert not tf.train.checkpoint_exists(path + "1")
        for names, dtype, error, words in (
            (["none"], tf.int32, errors.NotFoundError, "Key none not found"),
            (["w"], tf.float32, errors.InvalidArgumentError, "w is int32"),
        ):
            with pytest.raises(error, match=words):
                sess.run(RESTORE_V2(path, names, [""], dtypes=[dtype]))
        with pytest.raises(errors.InvalidArgumentError, match="does not fit"):
            sess.run(RESTORE_V2(path, ["w"], ["2 4 -:3,2"], dtypes=[tf.int32]))
        with pytest.raises(errors.InvalidArgumentError, match="of shape"):
            sess.run(RESTORE_V2(path, ["w"], ["2 5 -:-"], dtypes=[tf.int32]))
        with pytest.raises(errors.InvalidArgumentError, match="saved twice"):
            sess.run(SAVE_V2(path, ["a", "a"], ["", ""], [A, A]))
        with pytest.raises(errors.ShapeError, match="vector of 1"):
            RESTORE_V2(path, ["a", "b"], [""], dtypes=[tf.int32])


def test_safetensors_reads_the_shard(prefix):
    from safetensors.numpy import load_file

    np.testing.assert_array_equal(load_file(shard(prefix))["a"], A)


def test_every_truncation_is_seen(prefix):
    for path in (shard(prefix), prefix + ".index"):
        data = Path(path).read_bytes()
        for n in {0, 1, 7, 9, len(data) // 2, len(data) - 2}:
            with open(path, "wb") as file:
                file.write(data[:n])
            with pytest.raises(errors.DataLossError, match=os.path.basename(path)):
                Checkpoint(prefix).verify()
        with open(path, "wb") as file:
            file.write(data)
    Checkpoint(prefix).verify()


def test_every_flipped_bit_is_seen_or_does_no_harm(prefix):
    """The header of the shard may hold spare bits; wherever a bit flips, values come back right or not at all."""
    rng = np.random.default_rng(0)
    seen = 0
    for path in (shard(prefix), prefix + ".index"):
        data = Path(path).read_bytes()
        for place in rng.choice(len(data) * 8, 60, replace=False):
            flipped = bytearray(data)
            flipped[place // 8] ^= 1 << (place % 8)
            with open(path, "wb") as file:
                file.write(flipped)
            try:
                found = Checkpoint(prefix)
                values = {name: found.read(name) for name in ("a", "b")}
            except (errors.DataLossError, errors.NotFoundError):
                seen += 1
                continue
            np.testing.assert_array_equal(values["a"], A)
            np.testing.assert_array_equal(values["b"], B)
        with open(path, "wb") as file:
            file.write(data)
    assert seen > 100


def test_lost_parts(prefix):
    path = shard(prefix)
    shutil.move(path, path + ".away")
    with pytest.raises(errors.NotFoundError, match="lacks its shard"):
        Checkpoint(prefix).read("a")
    with pytest.raises(errors.NotFoundError, match="no checkpoint"):
        Checkpoint(prefix + "x")
    with open(prefix + "x.index", "w") as file:
        file.write('{"crc32c":1,"content":{}}\n')
    with pytest.raises(errors.DataLossError, match="checksum of the index"):
        Checkpoint(prefix + "x")
    write_checkpoint(prefix + "y", [("w", "2 2 0,1:-", np.zeros((1, 2)))])
    with pytest.raises(errors.DataLossError, match="2 of 4 elements"):
        Checkpoint(prefix + "y").read("w")
    write_checkpoint(prefix + "z", [("w", "2 3 0,1:-", np.zeros((1, 3)))])
    with pytest.raises(errors.InvalidArgumentError, match="two shapes"):
        merge_checkpoints([prefix + "y", prefix + "z"], prefix + "yz")


@pytest.mark.parametrize(
    ("call", "number", "kind"),
    [
        ("mkdir", errno.EROFS, errors.PermissionDeniedError),
        ("mkdir", errno.EACCES, errors.PermissionDeniedError),
        ("fsync", errno.ENOSPC, errors.ResourceExhaustedError),
        ("replace", errno.EDQUOT, errors.ResourceExhaustedError),
        ("replace", errno.EIO, errors.UnknownError),
    ],
)
def test_a_disk_that_refuses_leaves_what_was(prefix, monkeypatch, call, number, kind):
    before = sorted(os.listdir(os.path.dirname(prefix)))

    def refuse(*args, **options):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, call, refuse)
        with pytest.raises(kind):
            write_checkpoint(prefix, [("a", "", A + 1)])
    np.testing.assert_array_equal(Checkpoint(prefix).read("a"), A)
    assert sorted(os.listdir(os.path.dirname(prefix))) == before


DYING = """
import os, signal, sys
import numpy as np
from tfnb.ops.checkpoint.files import write_checkpoint
for moment in range(1000):
    folder = f"{sys.argv[1]}/{moment}"
    os.mkdir(folder)
    for _ in range(2):
        write_checkpoint(folder + "/m", [("a", "", np.zeros(3))])
    for prefix in ("/m", "/new"):
        child = os.fork()
        if not child:
            left = [moment]
            def counted(call):
                def one(*args, **options):
                    left[0] -= 1
                    if left[0] < 0:
                        os.kill(os.getpid(), signal.SIGKILL)
                    return call(*args, **options)
                return one
            for name in ("mkdir", "fsync", "replace", "unlink", "rmdir", "write"):
                setattr(os, name, counted(getattr(os, name)))
            write_checkpoint(folder + prefix, [("a", "", np.ones(3))])
            os._exit(0)
        _, status = os.waitpid(child, 0)
    if not status:
        break
"""


def test_what_a_killed_save_left_goes_with_the_next_save_in_the_folder(tmp_path):
    """A save of a prefix that exists and one of a new prefix are killed before each call that changes the disk."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", DYING, str(tmp_path)], env=environment, check=True)
    moments = sorted(tmp_path.iterdir(), key=lambda path: int(path.name))
    assert len(moments) > 10
    left = unknown = 0
    for folder in moments:
        left += any(".tmp-" in path.name for path in folder.iterdir())
        assert (folder / "m.index").exists()
        write_checkpoint(str(folder / "other"), [("a", "", A)])
        saved = [str(path).removesuffix(".index") for path in folder.glob("*.index")]
        for path in saved:
            Checkpoint(path).verify()
        # Killed between making a scratch folder and writing that it is tfnb's, or between removing what told that and
        # the folder: nobody can tell whose the empty folder is.
        unowned = [path for path in folder.glob("*.tmp-*") if not any(owner.stat().st_size for owner in path.iterdir())]
        unknown += bool(unowned)
        assert len(list(folder.iterdir())) == 2 * len(saved) + len(unowned), sorted(folder.iterdir())
    assert left > 8
    assert unknown <= 3


# ---- of TensorFlow's: the files in tests/data were written by it ---------------------------------

THEIRS = {
    "a": np.arange(6, dtype=np.float32).reshape(2, 3),
    "b": np.array([b"x", b"yy"], object),
    "h": np.array([1.5, 2], np.float16),
    "p/w": np.arange(20, dtype=np.float32).reshape(10, 2),  # in three slices
}
DATA = Path(__file__).parents[2] / "data" / "checkpoints"


@pytest.mark.parametrize("name", ["old", "slices"])
def test_old_and_sliced_checkpoints_are_read(name):
    prefix = str(DATA / name)
    assert tf.train.checkpoint_exists(prefix)
    assert dict(tf.train.list_variables(prefix)) == {k: list(v.shape) for k, v in THEIRS.items()}
    for key, value in THEIRS.items():
        found = tf.train.load_variable(prefix, key)
        assert found.dtype == value.dtype
        np.testing.assert_array_equal(found, value)
    with tf.Graph().as_default(), tf.Session() as session:
        whole = tf.get_variable("p/w", [10, 2])
        tf.train.Saver().restore(session, prefix)
        np.testing.assert_array_equal(session.run(whole), THEIRS["p/w"])


@pytest.mark.parametrize("name", ["old", "slices.index"])
def test_damage_in_their_files_is_told(tmp_path, name):
    for file in DATA.iterdir():
        shutil.copy(file, tmp_path / file.name)
    path = tmp_path / name
    prefix, data = str(path).removesuffix(".index"), path.read_bytes()
    seen, places = 0, range(0, len(data) - 48, 7)
    for place in places:
        path.write_bytes(data[:place] + bytes([data[place] ^ 64]) + data[place + 1 :])
        try:
            for key, value in THEIRS.items():
                np.testing.assert_array_equal(tf.train.load_variable(prefix, key), value)
        except errors.DataLossError:
            seen += 1
    assert seen >= 0.8 * len(places)  # the rest is not read: an empty block, and where it is
    for end in (0, len(data) // 2):
        path.write_bytes(data[:end])
        with pytest.raises((errors.DataLossError, errors.NotFoundError)):
            tf.train.load_variable(prefix, "a")


def test_saves_and_reads_of_one_prefix_at_once(prefix):
    """Two writers and two readers: nobody meets an error, each reader gets the values of one save."""
    left = threading.Semaphore(20)

    def save(k):
        while left.acquire(blocking=False):
            parts = [("y", f"4 {start},2", np.full(2, k)) for start in (0, 2)]
            write_checkpoint(prefix, [("x", "", np.full(5000, k)), *parts])

    def read():
        found = 0
        while not done.is_set() or not found:
            opened = Checkpoint(prefix)
            values = {*opened.read("x"), *opened.read("y")} if "x" in opened.entries else {0}
            assert len(values) == 1
            found += 1

    done = threading.Event()
    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        try:
            for writer in [pool.submit(save, k) for k in range(2)]:
                writer.result()
        finally:
            done.set()
        for reader in readers:
            reader.result()
    assert len(os.listdir(os.path.dirname(prefix))) == 2
