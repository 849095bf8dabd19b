"""`tf.gfile`: files and folders of this machine, with the names and errors of TensorFlow, over pathlib and shutil.

Invariant: an error of the operating system is raised as the class of `tfnb/errors.py` that fits it.
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

from tfnb.client.argument_types import FilePath
from tfnb.errors import (
    AlreadyExistsError,
    DTypeError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnknownError,
)
from tfnb.system.files import FULL

__all__ = ["API", "GFile"]

_ERRORS: tuple[tuple[type[OSError], type[OpError]], ...] = (
    (
        io.UnsupportedOperation,
        PermissionDeniedError,
    ),  # a read from a file that is open for writing, or the reverse
    (FileNotFoundError, NotFoundError),
    (FileExistsError, AlreadyExistsError),
    (PermissionError, PermissionDeniedError),
    (NotADirectoryError, FailedPreconditionError),
    (IsADirectoryError, FailedPreconditionError),
)


@contextmanager
def _translated(name: FilePath) -> Iterator[None]:
    try:
        yield
    except OSError as e:
        kind = next((own_error for python_error, own_error in _ERRORS if isinstance(e, python_error)), UnknownError)
        if e.errno in FULL:
            kind = ResourceExhaustedError
        raise kind(f"{os.fspath(name)}: {e.strerror or e}") from e


def _path(name: FilePath) -> Path:
    text = os.fsdecode(name)
    if not text:
        raise NotFoundError("the file name is empty")
    return Path(text)


class GFile:
    """A file with mode "r", "w" or "a" (text, UTF-8); "b" reads bytes, "+" allows both. A context manager.

    It is opened on first use: for reading from its beginning, and for writing as a new file or, with "a", at its end.
    Reading and writing have a position each. Raises `NotFoundError`, `PermissionDeniedError` and the like.
    """

    _reader: Any = None
    _writer: Any = None

    def __init__(self, name: FilePath, mode: str = "r") -> None:
        if mode.replace("b", "").replace("+", "") not in ("r", "w", "a"):
            raise InvalidArgumentError(f"the file mode {mode!r} is none of r, w, a with b or +")
        self._name = os.fsdecode(name)
        self._mode = mode

    @property
    def name(self) -> str:
        """The name of the file."""
        return self._name

    @property
    def mode(self) -> str:
        """The mode in which the file is opened."""
        return self._mode

    def _opened(self, mode: str) -> Any:
        with _translated(self._name):
            return open(_path(self._name), mode)

    def _value(self, data: bytes) -> bytes | str:
        return data if "b" in self._mode else data.decode()

    def _reading(self) -> Any:
        if "r" not in self._mode and "+" not in self._mode:
            raise PermissionDeniedError(f"{self._name}: File isn't open for reading")
        if self._writer is not None:
            self._writer.flush()
        if self._reader is None:
            self._reader = self._opened("rb")
        return self._reader

    def _writing(self) -> Any:
        if self._mode in ("r", "rb"):
            raise PermissionDeniedError(f"{self._name}: File isn't open for writing")
        if self._writer is None:
            self._writer = self._opened("ab" if "a" in self._mode else "wb")
        return self._writer

    def read(self, n: int = -1) -> Any:
        """Reads `n` bytes, which are returned as text or as they are; by default all that are left."""
        with _translated(self._name):
            return self._value(self._reading().read(n))

    def readline(self) -> Any:
        """Reads a line, with its end; an empty text at the end of the file."""
        with _translated(self._name):
            return self._value(self._reading().readline())

    def readlines(self) -> list[Any]:
        """Returns the list of the lines that are left, with their ends."""
        with _translated(self._name):
            return list(map(self._value, self._reading().readlines()))

    def write(self, file_content: str | bytes) -> None:
        """Writes text as UTF-8, or bytes."""
        with _translated(self._name):
            self._writing().write(file_content.encode() if isinstance(file_content, str) else file_content)

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Moves the reading position to an offset in bytes from the start (`whence` 0), from itself (1) or from the end
        (2). `position` is the old name of `offset`."""
        if (offset is None) is (position is None):
            raise DTypeError(f"seek needs an offset or a position, and not both; got {offset} and {position}")
        if whence not in (0, 1, 2):
            raise InvalidArgumentError(f"{self._name}: whence is {whence}, needed 0, 1 or 2")
        with _translated(self._name):
            reader = self._reading()
            place = ((position if offset is None else offset) or 0) + (0, reader.tell(), self.size())[whence]
            if place < 0:
                raise InvalidArgumentError(f"{self._name}: the position {place} is before the beginning of the file")
            reader.seek(place)

    def tell(self) -> int:
        """Returns the reading position in the file, or that of a file that is only written; in bytes."""
        return int((self._writing() if self._mode in ("w", "a", "wb", "ab") else self._reading()).tell())

    def size(self) -> int:
        """Returns the size of the file in bytes."""
        self.flush()
        with _translated(self._name):
            return _path(self._name).stat().st_size

    def flush(self) -> None:
        """Passes the written data to the operating system."""
        if self._writer is not None:
            self._writer.flush()

    def close(self) -> None:
        """Closes the file; a later call of another method opens it again."""
        for file in (self._reader, self._writer):
            if file is not None:
                file.close()
        self._reader = self._writer = None

    def __enter__(self) -> GFile:
        if "+" not in self._mode:
            (self._reading if "r" in self._mode else self._writing)()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Any]:
        return map(self._value, self._reading())

    def __next__(self) -> Any:
        """Returns the next line. Raises `StopIteration` at the end of the file."""
        return self._value(next(iter(self._reading())))

    next = __next__

    def __del__(self) -> None:
        self.close()


def Exists(filename: FilePath) -> bool:
    """Returns whether there is a file or folder of this name."""
    return bool(os.fspath(filename)) and _path(filename).exists()


def IsDirectory(dirname: FilePath) -> bool:
    """Returns whether `dirname` is a folder."""
    return bool(os.fspath(dirname)) and _path(dirname).is_dir()


def MakeDirs(dirname: FilePath) -> None:
    """Creates a folder and the folders above it; it may exist already."""
    with _translated(dirname):
        _path(dirname).mkdir(parents=True, exist_ok=True)


def MkDir(dirname: FilePath) -> None:
    """Creates a folder in one that exists. Raises `AlreadyExistsError` or `NotFoundError`."""
    with _translated(dirname):
        _path(dirname).mkdir()


def Remove(filename: FilePath) -> None:
    """Deletes a file. Raises `NotFoundError` when there is none."""
    with _translated(filename):
        _path(filename).unlink()


def DeleteRecursively(dirname: FilePath) -> None:
    """Deletes a folder with everything in it, or a file. Links are deleted, not followed.

    Raises `NotFoundError` when there is no such folder.
    """
    path = _path(dirname)
    with _translated(dirname):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def ListDirectory(dirname: FilePath) -> list[str]:
    """Returns the names in a folder, sorted. Raises `NotFoundError` when there is no such folder."""
    with _translated(dirname):
        return sorted(entry.name for entry in _path(dirname).iterdir())


def Glob(filename: FilePath) -> list[str]:
    """Returns the names of files that match a pattern, or one of several patterns, sorted."""
    patterns = filename if isinstance(filename, (list, tuple)) else [filename]
    return sorted(path for p in patterns for path in glob.glob(os.fsdecode(p)))


def Copy(oldpath: FilePath, newpath: FilePath, overwrite: bool = False) -> None:
    """Copies a file. Raises `AlreadyExistsError` unless `overwrite` is true."""
    if not overwrite and Exists(newpath):
        raise AlreadyExistsError(f"{os.fspath(newpath)} exists already")
    with _translated(oldpath):
        shutil.copyfile(_path(oldpath), _path(newpath))


def Rename(oldname: FilePath, newname: FilePath, overwrite: bool = False) -> None:
    """Moves a file or folder. Raises `AlreadyExistsError` unless `overwrite` is true."""
    if not overwrite and Exists(newname):
        raise AlreadyExistsError(f"{os.fspath(newname)} exists already")
    with _translated(oldname):
        os.replace(_path(oldname), _path(newname))


class FileStatistics(NamedTuple):
    """The size in bytes, the time of the last change in nanoseconds, and whether it is a folder."""

    length: int
    mtime_nsec: int
    is_directory: bool


def Stat(filename: FilePath) -> FileStatistics:
    """Returns the `FileStatistics` of a file or folder. Raises `NotFoundError` when there is none."""
    with _translated(filename):
        status = _path(filename).stat()
        return FileStatistics(status.st_size, status.st_mtime_ns, _path(filename).is_dir())


def Walk(top: FilePath, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yields (folder, names of its folders, names of its files) for `top` and all folders in it.

    With `in_order` a folder comes before the folders in it, else after them.
    """
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
