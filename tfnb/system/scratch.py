"""Scratch folders, in which files are made before they get their names, and the removal of abandoned ones.

A scratch folder stands beside the file that it is for, under that file's name, `.tmp-` and a random token. Inside it
is an owner file, which its maker keeps locked for as long as it works. The operating system gives the lock back when
the process ends, however it ends. Invariant: a folder is removed only by the process that made it, or when its name
has the exact form, it holds an owner file that tfnb wrote on this machine, and nobody holds a lock on that file. In any
other case the folder stays.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import shutil
import socket
import stat
import weakref
from collections.abc import Iterator
from functools import cache
from pathlib import Path

__all__ = ["PART_FOLDER", "Claim", "Scratch", "abandoned", "remove_owners"]

_TOKEN_BYTES = 8
_SCRATCH = re.compile(r".+\.tmp-[0-9a-f]{16}", re.DOTALL)
PART_FOLDER = re.compile(r".+_temp_[0-9a-f]{32}", re.DOTALL)  # the parts of a sharded checkpoint, as in TensorFlow
_OWNER = re.compile(r"tfnb-owner-[0-9a-f]{16}")
_OWNER_BYTES = 1024  # an owner file is shorter


@cache
def _machine() -> tuple[str, str]:
    """Returns the host name, and the kernel's identifier of the machine's last start ("" if there is none)."""
    try:
        boot_id = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        boot_id = ""
    return socket.gethostname(), boot_id


class Claim:
    """A locked owner file in a folder: the folder belongs to a save that is at work.

    Where the file system has no locks the owner file stays empty, so nobody will ever take the folder for abandoned.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._path = os.path.join(folder, f"tfnb-owner-{secrets.token_hex(_TOKEN_BYTES)}")
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        self._close = weakref.finalize(self, os.close, handle)
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
            os.write(handle, "\n".join(("tfnb scratch 1", *_machine(), "")).encode())

    def is_there(self) -> bool:
        """Returns whether the owner file is still in the folder."""
        return os.path.exists(self._path)

    def leave(self) -> None:
        """Gives the lock back and leaves the owner file: the folder is abandoned."""
        self._close()

    def release(self) -> None:
        """Removes the owner file and gives the lock back."""
        with contextlib.suppress(OSError):
            os.unlink(self._path)
        self._close()


def remove_owners(folder: str) -> None:
    """Removes the owner files of a folder on which several processes worked and which none of them needs any more."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _OWNER.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                os.unlink(entry.path)


class Scratch:
    """A new scratch folder for the file or folder `path`; leaving the context removes it. Raises `OSError`."""

    def __init__(self, path: str) -> None:
        self.token = secrets.token_hex(_TOKEN_BYTES)
        self.folder = f"{path}.tmp-{self.token}"
        os.mkdir(self.folder)
        try:
            self._claim = Claim(self.folder)
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def file(self, name: str) -> str:
        """Returns the path of a file or folder of that name inside."""
        return os.path.join(self.folder, name)

    def remove(self) -> None:
        """Removes the folder, which this object has made, with its content.

        The owner file is removed last. If the process is killed before, the folder is still recognised as abandoned.
        """
        with contextlib.suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                elif not _OWNER.fullmatch(entry.name):
                    os.unlink(entry.path)
        self._claim.release()
        with contextlib.suppress(OSError):
            os.rmdir(self.folder)

    def __enter__(self) -> Scratch:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


def abandoned(folder: str) -> Iterator[str]:
    """Yields the paths of the scratch folders, and of folders of parts, in `folder` whose makers have ended.

    Each folder is removed when the caller asks for the next one. Until then this process holds the locks of its owner
    files, so that no other process removes the folder too.
    """
    try:
        with os.scandir(folder or ".") as entries:
            folders = [
                os.path.join(folder, e.name)
                for e in entries
                if (_SCRATCH.fullmatch(e.name) or PART_FOLDER.fullmatch(e.name)) and e.is_dir(follow_symlinks=False)
            ]
    except OSError:  # a folder that cannot be listed is left as it is
        return
    for path in sorted(folders):
        with contextlib.ExitStack() as locks:
            if _lock_owners(path, locks):
                yield path
                shutil.rmtree(path, ignore_errors=True)


def _lock_owners(path: str, held: contextlib.ExitStack) -> bool:
    """Locks all owner files of a folder, until `held` is closed; returns whether the folder is abandoned.

    It is not abandoned if it has no owner file, if an owner file was not written by tfnb on this machine, or if the
    process that made one is alive and so holds its lock.
    """
    try:
        names = [n for n in os.listdir(path) if _OWNER.fullmatch(n)]
        for name in names:
            handle = os.open(os.path.join(path, name), os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
            held.callback(os.close, handle)
            if not stat.S_ISREG(os.fstat(handle).st_mode) or not _is_of_here(os.read(handle, _OWNER_BYTES)):
                return False
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # not ours to open, or locked
        return False
    return bool(names)


def _is_of_here(content: bytes) -> bool:
    """Returns whether the owner file was written on this machine; locks of other machines may be invisible here."""
    host, boot_id = _machine()
    match content.decode("utf-8", "replace").split("\n"):
        case ["tfnb scratch 1", its_host, its_boot_id, ""]:
            return its_host == host or (its_boot_id == boot_id != "")
    return False
