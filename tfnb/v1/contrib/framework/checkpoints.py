"""Checkpoints under the names of arguments that `tf.contrib.framework` has.

Invariant: these functions are those of `tf.train`; only their arguments have other names.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.argument_types import FilePath
from tfnb.train.saving import checkpoint_reader
from tfnb.train.saving.checkpoint_reader import CheckpointReader

__all__ = ["init_from_checkpoint", "list_variables", "load_checkpoint", "load_variable"]


def load_checkpoint(filepattern: FilePath) -> CheckpointReader:
    """Returns the reader of a checkpoint file, or of the latest one of a folder. Raises `NotFoundError` without one."""
    return checkpoint_reader.load_checkpoint(filepattern)


def list_variables(checkpoint_dir: FilePath) -> list[tuple[str, list[int]]]:
    """Returns the sorted pairs (name, shape) of a checkpoint's tensors. Raises `NotFoundError` without a checkpoint."""
    return checkpoint_reader.list_variables(checkpoint_dir)


def load_variable(checkpoint_dir: FilePath, name: str) -> Any:
    """Returns the value of the tensor `name` of a checkpoint. Raises `NotFoundError` without it."""
    return checkpoint_reader.load_variable(checkpoint_dir, name)


def init_from_checkpoint(checkpoint_dir: FilePath, assignment_map: Any) -> None:
    """Makes values of a checkpoint the initial values of variables; see `tf.train.init_from_checkpoint`."""
    checkpoint_reader.init_from_checkpoint(checkpoint_dir, assignment_map)
