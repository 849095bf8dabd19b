"""`tf.io.gfile`: files by the names and arguments of late 1.x."""

from __future__ import annotations

import pytest

import tfnb as tf

files = tf.io.gfile


def test_files_are_written_moved_and_deleted(tmp_path):
    folder = str(tmp_path / "a" / "b")
    files.makedirs(folder)
    with files.GFile(f"{folder}/x", "w") as file:
        file.write("text")
    files.copy(src=f"{folder}/x", dst=f"{folder}/y")
    with pytest.raises(tf.errors.AlreadyExistsError):
        files.copy(f"{folder}/x", f"{folder}/y")
    files.rename(f"{folder}/x", f"{folder}/z", overwrite=True)
    files.mkdir(f"{folder}/c")
    assert (
        files.listdir(folder) == ["c", "y", "z"]
        and files.isdir(f"{folder}/c")
        and files.stat(f"{folder}/z").length == 4
    )
    assert files.glob([f"{folder}/y", f"{folder}/z*"]) == [f"{folder}/y", f"{folder}/z"]
    assert [names for _, names, _ in files.walk(str(tmp_path), topdown=False)] == [[], ["c"], ["b"], ["a"]]
    files.remove(f"{folder}/z")
    files.rmtree(str(tmp_path / "a"))
    assert not files.exists(folder)


def test_a_folder_that_is_missing_is_reported(tmp_path):
    errors = []
    assert list(files.walk(str(tmp_path / "none"), onerror=errors.append)) == []
    assert isinstance(errors[0], tf.errors.NotFoundError)
