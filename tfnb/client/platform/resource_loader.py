"""Files beside a program, libraries of ops, and the one op of `tf.user_ops`.

Invariant: no library that was compiled for TensorFlow is loaded into this process; loading one raises an error.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tfnb.errors import NotFoundError, UnimplementedError
from tfnb.ir.default import get_default_graph
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.constants import constant
from tfnb.ops.array.shape_ops import IDENTITY

__all__ = ["API", "load_op_library"]


def _caller() -> Path:
    """Returns the folder of the program that calls the function which calls this one."""
    name = sys._getframe(2).f_globals.get("__file__")
    return Path(name).resolve().parent if name else Path.cwd()


def get_data_files_path() -> str:
    """Returns the folder of the calling program's file."""
    return str(_caller())


def get_path_to_datafile(path: str) -> str:
    """Returns the path of a file beside the calling program's file."""
    return str(_caller() / path)


def load_resource(path: str) -> bytes:
    """Returns the bytes of the file at `path`, relative to the calling program's file. Raises `NotFoundError`."""
    file = _caller() / path
    try:
        return file.read_bytes()
    except OSError as e:
        raise NotFoundError(f"cannot read the resource {file}: {e}") from None


def load_op_library(library_filename: str) -> Any:
    """Raises an error, because a shared library holds kernels for TensorFlow's own runtime.

    It is `NotFoundError` where there is no such file, else `UnimplementedError`, which says what to do instead.
    """
    if not Path(library_filename).exists():
        raise NotFoundError(f"{library_filename}: there is no such library")
    raise UnimplementedError(
        f"{library_filename} is a library of TensorFlow's kernels, which need TensorFlow's own runtime. Define the op "
        "here instead, with its kernel as OpenCL or Python text (docs: add an op), or wrap a function by tf.py_func"
    )


def load_library(library_location: str) -> Any:
    """Raises the errors of `load_op_library` for the file `library_location`."""
    return load_op_library(library_location)


def get_root_dir_with_all_resources() -> str:
    """Returns the folder of the calling program's file."""
    return str(_caller())


def readahead_file_path(path: str, readahead: str = "128M") -> str:
    """Returns the path. `readahead` is a hint for file systems of the cloud, without effect here."""
    return path


def my_fact(name: str | None = None) -> Tensor:
    """Returns a scalar string: the fact of `tf.user_ops`."""
    with get_default_graph().name_scope(name or "Fact"):
        return IDENTITY(constant(b"0! == 1"))


API: dict[str, Any] = {
    "resource_loader.get_data_files_path": get_data_files_path,
    "resource_loader.get_root_dir_with_all_resources": get_root_dir_with_all_resources,
    "resource_loader.readahead_file_path": readahead_file_path,
    "resource_loader.get_path_to_datafile": get_path_to_datafile,
    "resource_loader.load_resource": load_resource,
    "load_op_library": load_op_library,
    "load_library": load_library,
    "user_ops.my_fact": my_fact,
}
