"""`tensorflow.python.lib.io.file_io`: the functions of `tf.gfile` under other names, and whole files.

Invariant: what `tf.gfile` does too is the same function; whole files are read, written and compared here.
"""

from __future__ import annotations

import filecmp as python_filecmp
import os
import uuid
import zlib
from typing import Any

from tfnb.client.argument_types import FilePath
from tfnb.client.platform import gfile
from tfnb.client.platform.gfile import FileStatistics, GFile
from tfnb.errors import AlreadyExistsError

__all__ = ["API"]


def read_file_to_string(filename: FilePath, binary_mode: bool = False) -> Any:
    """Returns the text of a file, or its bytes if `binary_mode` is true. Raises `NotFoundError` when there is none."""
    with GFile(filename, "rb" if binary_mode else "r") as file:
        return file.read()


def write_string_to_file(filename: FilePath, file_content: str | bytes) -> None:
    """Writes a file that contains a text, in UTF-8, or bytes; one that is there already is replaced."""
    with GFile(filename, "wb") as file:
        file.write(file_content.encode() if isinstance(file_content, str) else file_content)


def atomic_write_string_to_file(filename: FilePath, contents: str | bytes, overwrite: bool = True) -> None:
    """Writes a file under another name beside it and renames that, so that a reader never finds a part of it.

    Raises `AlreadyExistsError` if there is a file and `overwrite` is false.
    """
    name = os.fsdecode(filename)
    if not overwrite and gfile.Exists(name):
        raise AlreadyExistsError(f"{name} exists already")
    unfinished = f"{name}.tmp{uuid.uuid4().hex}"
    try:
        write_string_to_file(unfinished, contents)
        gfile.Rename(unfinished, name, overwrite)
    finally:
        if gfile.Exists(unfinished):
            gfile.Remove(unfinished)


def filecmp(filename_a: FilePath, filename_b: FilePath) -> bool:
    """Returns whether two files contain the same. Raises `NotFoundError` when one of them is missing."""
    for name in (filename_a, filename_b):
        gfile.Stat(name)
    return python_filecmp.cmp(os.fsdecode(filename_a), os.fsdecode(filename_b), shallow=False)


def file_crc32(filename: FilePath, block_size: int = 1 << 24) -> str:
    """Returns the checksum CRC-32 of a file as a hexadecimal number, such as "0x1c291ca3".

    block_size: the bytes that are read at a time. Raises `NotFoundError` when there is no such file.
    """
    checksum = 0
    with GFile(filename, "rb") as file:
        while block := file.read(block_size):
            checksum = zlib.crc32(block, checksum)
    return hex(checksum)


_FUNCTIONS: dict[str, Any] = {
    "FileIO": GFile,
    "FileStatistics": FileStatistics,
    "atomic_write_string_to_file": atomic_write_string_to_file,
    "copy": gfile.Copy,
    "create_dir": gfile.MkDir,
    "delete_file": gfile.Remove,
    "delete_recursively": gfile.DeleteRecursively,
    "file_crc32": file_crc32,
    "file_exists": gfile.Exists,
    "filecmp": filecmp,
    "get_matching_files": gfile.Glob,
    "is_directory": gfile.IsDirectory,
    "list_directory": gfile.ListDirectory,
    "read_file_to_string": read_file_to_string,
    "recursive_create_dir": gfile.MakeDirs,
    "rename": gfile.Rename,
    "stat": gfile.Stat,
    "walk": gfile.Walk,
    "write_string_to_file": write_string_to_file,
}
API: dict[str, Any] = {f"python.lib.io.file_io.{name}": value for name, value in _FUNCTIONS.items()}
