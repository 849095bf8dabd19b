"""Files that are whole or not there: what the operating system refuses, and replacing a file in one step.

Invariant: `replace_file` leaves the old content or the new one under the name, also when the machine stops in between;
an error of the operating system leaves as the error of ours that fits it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Callable, Iterator
from typing import Any

from tfnb.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnknownError,
)

__all__ = ["TEMPORARY", "os_errors", "replace_file", "sync_folder"]

TEMPORARY = ".tmp-"  # part of the name of a file that is being written
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_KINDS: dict[int, type[OpError]] = {
    **dict.fromkeys(_FULL, ResourceExhaustedError),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), PermissionDeniedError),
    **dict.fromkeys((errno.ENOTDIR, errno.EISDIR, errno.ENOTEMPTY), FailedPreconditionError),
    errno.ENOENT: NotFoundError,
    errno.EEXIST: AlreadyExistsError,
}


@contextlib.contextmanager
def os_errors(what: Any) -> Iterator[None]:
    """OSErrors inside become `NotFoundError`, `PermissionDeniedError`, `ResourceExhaustedError` (disk full), ..."""
    try:
        yield
    except OSError as e:
        kind = _KINDS.get(e.errno or 0, UnknownError)
        raise kind(f"{os.fspath(what)}: {e.strerror or e}") from e


def replace_file(path: str, write: Callable[[str], None]) -> None:
    """`write(temporary name)` makes the file; it is put on disk and then takes the name `path`.

    Raises the errors of `os_errors`; the temporary file is removed then, and `path` is as before.
    """
    temporary = f"{path}{TEMPORARY}{secrets.token_hex(4)}"
    with os_errors(path):
        try:
            write(temporary)
            with open(temporary, "rb") as file:
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise


def sync_folder(path: str) -> None:
    """Puts the names of a folder on disk, where the system can."""
    try:
        handle = os.open(path or ".", os.O_RDONLY)
    except OSError:  # a system that cannot open folders
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
