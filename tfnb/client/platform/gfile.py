"""`tf.gfile`: files and folders of this machine, under the names and errors of TensorFlow, over pathlib and shutil.

Invariant: an error of the operating system leaves as the error of ours that fits it.
"""

from __future__ import annotations

import glob
import io
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tfnb.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    UnknownError,
)

__all__ = ["API", "GFile"]

_ERRORS: tuple[tuple[type[OSError], type[OpError]], ...] = (
    (
        io.UnsupportedOperation,
        PermissionDeniedError,
    ),  # reading what was opened for writing, or the reverse
    (FileNotFoundError, NotFoundError),
    (FileExistsError, AlreadyExistsError),
    (PermissionError, PermissionDeniedError),
    (NotADirectoryError, FailedPreconditionError),
    (IsADirectoryError, FailedPreconditionError),
)


@contextmanager
def _translated(name: Any) -> Iterator[None]:
    try:
        yield
    except OSError as e:
        kind = next((ours for theirs, ours in _ERRORS if isinstance(e, theirs)), UnknownError)
        raise kind(f"{os.fspath(name)}: {e.strerror or e}") from e


def _path(name: Any) -> Path:
    text = os.fsdecode(name)
    if not text:
        raise NotFoundError("the file name is empty")
    return Path(text)


class GFile:
    """A file; mode "r", "w", "a" (text, UTF-8), or with "b" bytes; "+" for both. A context manager.

    It is opened on first use. Raises `NotFoundError`, `PermissionDeniedError` and the like.
    """

    _file: Any = None

    def __init__(self, name: Any, mode: str = "r") -> None:
        if mode.replace("b", "").replace("+", "") not in ("r", "w", "a"):
            raise InvalidArgumentError(f"the file mode {mode!r} is none of r, w, a with b or +")
        self._name = os.fsdecode(name)
        self._mode = mode

    @property
    def name(self) -> str:
        return self._name

    @property
    def mode(self) -> str:
        return self._mode

    def _open(self) -> Any:
        if self._file is None:
            with _translated(self._name):
                text = None if "b" in self._mode else "utf-8"
                self._file = open(_path(self._name), self._mode, encoding=text)  # noqa: SIM115
        return self._file

    def read(self, n: int = -1) -> Any:
        """`n` characters or bytes; all that is left by default."""
        with _translated(self._name):
            return self._open().read(n)

    def readline(self) -> Any:
        with _translated(self._name):
            return self._open().readline()

    def readlines(self) -> list[Any]:
        with _translated(self._name):
            return list(self._open().readlines())

    def write(self, file_content: Any) -> None:
        with _translated(self._name):
            self._open().write(file_content)

    def seek(self, offset: int, whence: int = 0) -> None:
        with _translated(self._name):
            self._open().seek(offset, whence)

    def tell(self) -> int:
        return int(self._open().tell())

    def size(self) -> int:
        """The file's size in bytes."""
        self.flush()
        with _translated(self._name):
            return _path(self._name).stat().st_size

    def flush(self) -> None:
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> GFile:
        self._open()
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._open())

    def next(self) -> Any:
        return next(iter(self._open()))

    def __del__(self) -> None:
        self.close()


def Exists(filename: Any) -> bool:
    """Is there a file or folder of that name?"""
    return bool(os.fspath(filename)) and _path(filename).exists()


def IsDirectory(dirname: Any) -> bool:
    return bool(os.fspath(dirname)) and _path(dirname).is_dir()


def MakeDirs(dirname: Any) -> None:
    """Makes a folder and those above it; it may exist."""
    with _translated(dirname):
        _path(dirname).mkdir(parents=True, exist_ok=True)


def MkDir(dirname: Any) -> None:
    """Makes a folder in one that exists. Raises `AlreadyExistsError`, `NotFoundError`."""
    with _translated(dirname):
        _path(dirname).mkdir()


def Remove(filename: Any) -> None:
    """Deletes a file. Raises `NotFoundError`."""
    with _translated(filename):
        _path(filename).unlink()


def DeleteRecursively(dirname: Any) -> None:
    """Deletes a folder with all it holds, or a file. Links are deleted, not followed. Raises `NotFoundError`."""
    path = _path(dirname)
    with _translated(dirname):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def ListDirectory(dirname: Any) -> list[str]:
    """The names in a folder, sorted. Raises `NotFoundError`."""
    with _translated(dirname):
        return sorted(entry.name for entry in _path(dirname).iterdir())


def Glob(filename: Any) -> list[str]:
    """The names that match a pattern (or one of several), sorted."""
    patterns = filename if isinstance(filename, (list, tuple)) else [filename]
    return sorted(found for p in patterns for found in glob.glob(os.fsdecode(p)))


def Copy(oldpath: Any, newpath: Any, overwrite: bool = False) -> None:
    """Copies a file. Raises `AlreadyExistsError` unless `overwrite`."""
    if not overwrite and Exists(newpath):
        raise AlreadyExistsError(f"{os.fspath(newpath)} exists already")
    with _translated(oldpath):
        shutil.copyfile(_path(oldpath), _path(newpath))


def Rename(oldname: Any, newname: Any, overwrite: bool = False) -> None:
    """Moves a file or folder. Raises `AlreadyExistsError` unless `overwrite`."""
    if not overwrite and Exists(newname):
        raise AlreadyExistsError(f"{os.fspath(newname)} exists already")
    with _translated(oldname):
        os.replace(_path(oldname), _path(newname))


class FileStatistics(NamedTuple):
    """Size in bytes, time of the last change in nanoseconds, and whether it is a folder."""

    length: int
    mtime_nsec: int
    is_directory: bool


def Stat(filename: Any) -> FileStatistics:
    with _translated(filename):
        found = _path(filename).stat()
        return FileStatistics(found.st_size, found.st_mtime_ns, _path(filename).is_dir())


def Walk(top: Any, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """(folder, its folders, its files) for `top` and all below it; from the bottom up if not `in_order`."""
    return os.walk(os.fsdecode(top), topdown=in_order)


_FUNCTIONS: dict[str, Any] = {
    "GFile": GFile,
    "FastGFile": GFile,
    "Open": GFile,
    "Exists": Exists,
    "IsDirectory": IsDirectory,
    "MakeDirs": MakeDirs,
    "MkDir": MkDir,
    "Remove": Remove,
    "DeleteRecursively": DeleteRecursively,
    "ListDirectory": ListDirectory,
    "Glob": Glob,
    "Copy": Copy,
    "Rename": Rename,
    "Stat": Stat,
    "Walk": Walk,
}
API: dict[str, Any] = {f"gfile.{name}": value for name, value in _FUNCTIONS.items()}
