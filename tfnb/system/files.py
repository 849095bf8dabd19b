"""Files that exist as a whole or not at all: replacing a file in one step, and errors of the operating system.

Invariant: `replace_file` leaves the old content or the new one under the name, also when the machine stops in between;
an error of the operating system becomes the class of `tfnb/errors.py` that fits it.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator

from tfnb.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnknownError,
)
from tfnb.system.scratch import Scratch

__all__ = ["FULL", "make_folder", "os_errors", "replace_file", "sync_file", "sync_folder"]

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""The numbers of errors that say that there is no room for a file."""
_KINDS: dict[int, type[OpError]] = {
    **dict.fromkeys(FULL, ResourceExhaustedError),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), PermissionDeniedError),
    **dict.fromkeys((errno.ENOTDIR, errno.EISDIR, errno.ENOTEMPTY), FailedPreconditionError),
    errno.ENOENT: NotFoundError,
    errno.EEXIST: AlreadyExistsError,
}


@contextlib.contextmanager
def os_errors(what: str | bytes | os.PathLike[str]) -> Iterator[None]:
    """Converts OSErrors inside the block to `NotFoundError`, `PermissionDeniedError` and others of tfnb's classes.

    A full disk becomes a `ResourceExhaustedError`. The messages begin with the path `what`.
    """
    try:
        yield
    except OSError as e:
        kind = _KINDS.get(e.errno or 0, UnknownError)
        raise kind(f"{os.fsdecode(what)}: {e.strerror or e}") from e


def make_folder(path: str) -> None:
    """Makes a folder, and the folders above it, if they do not exist. Raises the errors of `os_errors`."""
    with os_errors(path):
        os.makedirs(path or ".", exist_ok=True)


def replace_file(path: str, write: Callable[[str], None]) -> None:
    """Replaces the file `path` in one step: `write(name)` makes the file in a scratch folder, from which it is moved.

    Raises the errors of `os_errors`; the scratch folder is removed then, and `path` is as before.
    """
    with os_errors(path), Scratch(path) as scratch:
        new_file = scratch.file("file")
        write(new_file)
        sync_file(new_file)
        os.replace(new_file, path)


def sync_file(path: str) -> None:
    """Makes sure that the content of a file is on disk. Raises `OSError`."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())


def sync_folder(path: str) -> None:
    """Makes sure that the names in a folder are on disk, if the system can do that."""
    try:
        handle = os.open(path or ".", os.O_RDONLY)
    except OSError:  # a system that cannot open folders
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
