"""The cluster's secret: TFNB_CLUSTER_SECRET, or a file of the user's that is made when it is first needed.

With the file, all processes of one user on one machine form clusters without any setting, and those of other users do
not get in. Invariant: a file that another user could have written or read is refused.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import secrets
import stat
from pathlib import Path

from tfnb.errors import FailedPreconditionError, InvalidArgumentError, PermissionDeniedError
from tfnb.settings import load_settings
from tfnb.system.files import os_errors

__all__ = ["LEAST_LENGTH", "cluster_secret", "given_secret"]

LEAST_LENGTH = 16  # characters: whoever is asked for a proof could try to guess a short one
_HEX = 64


def given_secret() -> bytes | None:
    """Returns the secret that TFNB_CLUSTER_SECRET gives, or None. Raises `InvalidArgumentError` if it is too short."""
    text = load_settings().cluster_secret
    if not text:
        return None
    if len(text) < LEAST_LENGTH:
        raise InvalidArgumentError(
            f"TFNB_CLUSTER_SECRET has {len(text)} characters; needed at least {LEAST_LENGTH}, such as those of "
            "`python -c 'import secrets; print(secrets.token_hex())'`"
        )
    return hashlib.sha256(text.encode(errors="surrogateescape")).digest()


def cluster_secret() -> bytes:
    """Returns the secret of clusters on this machine.

    Raises `InvalidArgumentError` for a setting that is too short, `PermissionDeniedError` for a file that others can
    read or write, and `FailedPreconditionError` if none can be kept.
    """
    given = given_secret()
    if given is not None:
        return given
    paths = _paths()
    for path in paths:
        if os.path.lexists(path):
            return _read_or_made(path)
    for path in paths:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            return _read_or_made(path)
        except OSError:
            continue  # the next folder may be writable
    raise FailedPreconditionError(
        f"the secret by which the processes of a cluster know each other can be kept neither in {paths[0].parent} nor "
        f"in {paths[1].parent}; set TFNB_CLUSTER_SECRET to the same text in all of them"
    )


def _paths() -> tuple[Path, Path]:
    """Where the file may be: with the user's caches, or where these cannot be written."""
    return load_settings().user_path / "cluster-secret", Path("/tmp") / f"tfnb-{os.getuid()}" / "cluster-secret"


def _read_or_made(path: Path) -> bytes:
    """The secret in a file, which is made if there is none. Raises `OSError` if the folder cannot be written.

    Whoever may write to the folder can take the file away, but cannot put another one there that belongs to this user.
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    except OSError as e:
        if e.errno not in (errno.ELOOP, errno.EACCES, errno.EISDIR, errno.ENXIO) or not os.path.lexists(path):
            raise
        raise PermissionDeniedError(_unsafe(path, f"it cannot be opened: {e.strerror}")) from e
    try:
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode) or info.st_uid != os.getuid() or info.st_mode & 0o077:
            raise PermissionDeniedError(
                _unsafe(path, f"its owner is {info.st_uid}, its mode {info.st_mode & 0o7777:o}")
            )
        with os_errors(str(path)):
            fcntl.flock(handle, fcntl.LOCK_EX)  # another process may be making it
            text = os.read(handle, _HEX + 1)
            if not text:
                text = secrets.token_hex(_HEX // 2).encode()
                os.write(handle, text)
    finally:
        os.close(handle)
    if len(text) != _HEX:
        raise FailedPreconditionError(_unsafe(path, f"it has not the {_HEX} bytes that tfnb writes"))
    return bytes(text)


def _unsafe(path: Path, why: str) -> str:
    return (
        f"{path} is not used as the cluster's secret: {why}; needed a regular file that only you can read. Remove it, "
        "and the next cluster makes another, or set TFNB_CLUSTER_SECRET"
    )
