"""A cache on disk for results that one process computes and later processes read: compiled programs, archives of
kernels, templates of charts.

Invariant: an entry is complete or absent: it is written under another name and then renamed, and an entry whose
checksum is wrong counts as absent.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["DiskCache", "Entry", "write_atomically"]

_MAGIC = b"tfnb-binary-1\n"
_DIGEST = re.compile("[0-9a-f]{64}")


def write_atomically(path: Path, data: bytes) -> None:
    """Writes a file that other processes see either complete or not at all. Raises `OSError`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


class Entry(NamedTuple):
    """A file of a cache, the bytes that it takes, and whether its checksum is right."""

    path: Path
    nbytes: int
    is_whole: bool


class DiskCache:
    """Stores binaries by key. A failure of the disk is never an error: the entry counts as absent."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, key: str) -> Path:
        return self._folder / f"{key}.bin"

    def get(self, key: str) -> bytes | None:
        try:
            return _content(self.path(key).read_bytes())
        except OSError:
            return None

    def put(self, key: str, binary: bytes) -> None:
        with contextlib.suppress(OSError):
            write_atomically(self.path(key), _MAGIC + hashlib.sha256(binary).digest() + binary)

    def entries(self) -> Iterator[Entry]:
        """Reads all entries, in no particular order, and yields what they are.

        An entry is a file that has a digest as its name or begins as an entry does; other files are somebody else's.
        """
        for path in self._folder.glob("*.bin"):
            with contextlib.suppress(OSError):  # another process has removed it
                data = path.read_bytes()
                if _DIGEST.fullmatch(path.stem) or data.startswith(_MAGIC):
                    yield Entry(path, len(data), _content(data) is not None)

    def has_mark(self, key: str) -> bool:
        return (self._folder / f"{key}.mark").exists()

    def mark(self, key: str) -> None:
        """Notes that something was compiled on this machine; see `build.py`."""
        with contextlib.suppress(OSError):
            write_atomically(self._folder / f"{key}.mark", b"")


def _content(data: bytes) -> bytes | None:
    """Returns what an entry holds; None if its head or its checksum is wrong."""
    head = len(_MAGIC)
    digest, binary = data[head : head + 32], data[head + 32 :]
    if data[:head] != _MAGIC or hashlib.sha256(binary).digest() != digest:
        return None
    return binary
