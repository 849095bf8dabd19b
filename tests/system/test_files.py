"""Files that are replaced whole, and errors of the operating system by their names."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tfnb import errors
from tfnb.system.files import os_errors, replace_file, sync_folder


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, errors.ResourceExhaustedError),
        (errno.EROFS, errors.PermissionDeniedError),
        (errno.EACCES, errors.PermissionDeniedError),
        (errno.ENOENT, errors.NotFoundError),
        (errno.ENOTDIR, errors.FailedPreconditionError),
        (errno.EEXIST, errors.AlreadyExistsError),
        (errno.EIO, errors.UnknownError),
    ],
)
def test_errors_of_the_system_get_names(number, kind):
    with pytest.raises(kind, match="some/file: "), os_errors("some/file"):
        raise OSError(number, os.strerror(number))


def test_a_file_is_replaced_whole_or_not(tmp_path):
    path = tmp_path / "file"
    replace_file(str(path), lambda p: Path(p).write_text("old"))

    def fail(temporary):
        Path(temporary).write_text("half")
        raise OSError(errno.ENOSPC, "full")

    with pytest.raises(errors.ResourceExhaustedError, match="full"):
        replace_file(str(path), fail)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    replace_file(str(path), lambda p: Path(p).write_text("new"))
    assert path.read_text() == "new"
    with pytest.raises(errors.NotFoundError):
        replace_file(str(tmp_path / "no" / "file"), lambda p: Path(p).write_text("x"))
    sync_folder(str(tmp_path))
    sync_folder(str(tmp_path / "no"))
