"""`tf.io.gfile`: the file functions of `tf.gfile` under their later names and with their later arguments.

Invariant: each calls the function of `tf.gfile` that does the same, so errors are the same too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

from tfnb.client.argument_types import FilePath
from tfnb.client.platform import gfile
from tfnb.client.platform.gfile import FileStatistics
from tfnb.errors import NotFoundError

__all__ = [
    "copy",
    "exists",
    "glob",
    "isdir",
    "listdir",
    "makedirs",
    "mkdir",
    "remove",
    "rename",
    "rmtree",
    "stat",
    "walk",
]


def copy(src: FilePath, dst: FilePath, overwrite: bool = False) -> None:
    """Copies the file `src` to `dst`. Raises `AlreadyExistsError` when `dst` exists, unless `overwrite`."""
    gfile.Copy(src, dst, overwrite)


def exists(path: FilePath) -> bool:
    """Returns whether there is a file or folder `path`."""
    return gfile.Exists(path)


def glob(pattern: Any) -> list[str]:
    """Returns the files that match `pattern`, or one of a list of patterns, sorted."""
    return gfile.Glob(pattern)


def isdir(path: FilePath) -> bool:
    """Returns whether `path` is a folder."""
    return gfile.IsDirectory(path)


def listdir(path: FilePath) -> list[str]:
    """Returns the names in the folder `path`, sorted. Raises `NotFoundError` when there is none."""
    return gfile.ListDirectory(path)


def makedirs(path: FilePath) -> None:
    """Creates the folder `path` and those above it; it may exist already."""
    gfile.MakeDirs(path)


def mkdir(path: FilePath) -> None:
    """Creates the folder `path` in one that exists. Raises `AlreadyExistsError` or `NotFoundError`."""
    gfile.MkDir(path)


def remove(path: FilePath) -> None:
    """Deletes the file `path`. Raises `NotFoundError` when there is none."""
    gfile.Remove(path)


def rename(src: FilePath, dst: FilePath, overwrite: bool = False) -> None:
    """Moves the file or folder `src`. Raises `AlreadyExistsError` when `dst` exists, unless `overwrite`."""
    gfile.Rename(src, dst, overwrite)


def rmtree(path: FilePath) -> None:
    """Deletes the folder `path` with everything in it."""
    gfile.DeleteRecursively(path)


def stat(path: FilePath) -> FileStatistics:
    """Returns the `FileStatistics` of the file `path`. Raises `NotFoundError` when there is none."""
    return gfile.Stat(path)


def walk(
    top: FilePath,
    topdown: bool = True,
    onerror: Callable[[NotFoundError], Any] | None = None,
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Returns an iterator of (folder, names of its folders, names of its files) for `top` and all below it.

    A folder comes before those in it if `topdown`, else after them. `onerror` is called with the `NotFoundError` of a
    folder that cannot be listed; such a folder is left out.
    """

    def report(e: OSError) -> None:
        if onerror is not None:
            onerror(NotFoundError(f"cannot list {e.filename}: {e.strerror}"))

    return os.walk(os.fsdecode(top), topdown, report)
