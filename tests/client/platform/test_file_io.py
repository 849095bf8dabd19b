"""`tensorflow.python.lib.io.file_io`: whole files, and files by the names of TensorFlow's source."""

from __future__ import annotations

import pytest
from tfnb.python.lib.io import file_io

import tfnb as tf


def test_whole_files(tmp_path):
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    file_io.write_string_to_file(a, "héllo")
    file_io.atomic_write_string_to_file(b, b"h\xc3\xa9llo")
    assert file_io.read_file_to_string(a) == "héllo" and file_io.read_file_to_string(a, True) == b"h\xc3\xa9llo"
    assert file_io.filecmp(a, b)
    assert file_io.file_crc32(a) == "0x9e3b8236" == file_io.file_crc32(b, block_size=2)  # as TensorFlow 1.15
    with pytest.raises(tf.errors.AlreadyExistsError):
        file_io.atomic_write_string_to_file(a, "x", overwrite=False)
    file_io.atomic_write_string_to_file(a, "")
    assert file_io.file_crc32(a) == "0x0" and not file_io.filecmp(a, b)
    assert file_io.list_directory(str(tmp_path)) == ["a", "b"]


def test_files_that_are_missing(tmp_path):
    none = str(tmp_path / "none")
    file_io.write_string_to_file(str(tmp_path / "a"), "x")
    for call in (
        lambda: file_io.filecmp(str(tmp_path / "a"), none),
        lambda: file_io.file_crc32(none),
        lambda: file_io.read_file_to_string(none),
        lambda: file_io.delete_file(none),
    ):
        with pytest.raises(tf.errors.NotFoundError):
            call()


def test_names_of_the_source(tmp_path):
    folder = str(tmp_path / "x" / "y")
    file_io.recursive_create_dir(folder)
    file_io.create_dir(f"{folder}/z")
    with file_io.FileIO(f"{folder}/t.txt", "w") as file:
        file.write("text")
    assert file_io.get_matching_files([f"{folder}/*.txt", f"{folder}/z"]) == [f"{folder}/t.txt", f"{folder}/z"]
    file_io.rename(f"{folder}/t.txt", f"{folder}/u")
    file_io.copy(f"{folder}/u", f"{folder}/v")
    assert file_io.file_exists(f"{folder}/v") and not file_io.is_directory(f"{folder}/v")
    file_io.delete_file(f"{folder}/u")
    assert [names for _, names, _ in file_io.walk(folder)] == [["z"], []]
    file_io.delete_recursively(folder)
    assert not file_io.file_exists(folder)
    with pytest.raises(tf.errors.FailedPreconditionError):
        file_io.delete_file(str(tmp_path / "x"))


def test_a_file_for_both_is_written_anew_and_read_from_its_beginning(tmp_path):
    path = tmp_path / "both"
    with tf.gfile.GFile(path, "r+") as f:
        f.write("one\ntwo\n")
        assert f.readline() == "one\n" and f.tell() == 4
        f.write("three\n")
        assert list(f) == ["two\n", "three\n"]
        f.seek(-4, 1)
        assert f.tell() == 10
        for wrong in ((-1,), (0, 3)):
            with pytest.raises(tf.errors.InvalidArgumentError):
                f.seek(*wrong)
        with pytest.raises(TypeError, match="an offset or a position"):
            f.seek(0, position=0)
        f.seek(position=0)
        assert f.read() == "one\ntwo\nthree\n" and f.size() == 14
    with tf.gfile.GFile(path, "a+") as f:
        f.write("four")
        assert f.read().endswith("three\nfour")
    with tf.gfile.GFile(path, "wb") as f:
        f.write("text in a binary file")
    assert tf.gfile.GFile(path, "rb").read() == b"text in a binary file"


def test_the_mode_is_checked_before_the_file_is_opened(tmp_path):
    path = tmp_path / "missing"
    with pytest.raises(tf.errors.PermissionDeniedError, match="isn't open for writing"):
        tf.gfile.GFile(path, "r").write("x")
    with pytest.raises(tf.errors.PermissionDeniedError, match="isn't open for reading"):
        tf.gfile.GFile(path, "w").read()
    assert not path.exists()
