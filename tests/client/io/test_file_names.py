"""tf.train.match_filenames_once, read_file, write_file, matching_files in a session."""

from __future__ import annotations

import pytest

import tfnb as tf


@pytest.fixture
def folder(tmp_path):
    for name in ("b.txt", "a.txt", "c.png"):
        (tmp_path / name).write_bytes(name.encode())
    (tmp_path / "d.txt").mkdir()
    return tmp_path


def test_names_are_looked_up_once(folder):
    with tf.Graph().as_default(), tf.Session() as session:
        names = tf.train.match_filenames_once(str(folder / "*.txt"))
        session.run(tf.local_variables_initializer())
        (folder / "z.txt").write_text("later")
        found = session.run(names)
    assert [n.rpartition(b"/")[2] for n in found] == [b"a.txt", b"b.txt"]


def test_read_write_match(folder):
    target = str(folder / "new" / "x.bin")
    with tf.Graph().as_default(), tf.Session() as session:
        session.run(tf.write_file(target, b"\x00\xff"))
        assert session.run(tf.read_file(target)) == b"\x00\xff"
        pattern = tf.matching_files([str(folder / "*.png"), str(folder / "a*")])
        assert [n[-5:] for n in session.run(pattern)] == [b"a.txt", b"c.png"]
        assert session.run(tf.matching_files(str(folder / "nothing*"))).shape == (0,)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("missing", tf.errors.NotFoundError),
        ("", tf.errors.FailedPreconditionError),
        ("a.txt/b", tf.errors.FailedPreconditionError),
    ],
)
def test_unreadable(folder, name, error):
    with tf.Graph().as_default(), tf.Session() as session, pytest.raises(error, match="ReadFile"):
        session.run(tf.read_file(str(folder / name)))


def test_a_name_with_a_zero_byte_and_an_empty_one():
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(tf.errors.UnknownError, match="null"):
            session.run(tf.read_file(b"a\0b"))
        with pytest.raises(tf.errors.NotFoundError, match="empty"):
            session.run(tf.read_file(""))
