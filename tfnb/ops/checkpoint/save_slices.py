"""The operations that save and restore in graphs of 2015 and 2016: Save, SaveSlices, Restore and RestoreSlice.

They read TensorFlow's first format of checkpoints (V1) and all others, and write what SaveV2 writes. Invariant: a name
of which several shards exist is a pattern, such as `model-?????-of-00002`, and stands for all of them.
"""

from __future__ import annotations

import glob
from dataclasses import replace
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.shapes import no_outputs, with_rank
from tfnb.ir.tensor import Tensor
from tfnb.ops.checkpoint.files import Checkpoint
from tfnb.ops.checkpoint.index import index_path
from tfnb.ops.checkpoint.save_restore import SAVE_V2
from tfnb.ops.checkpoint.tensorflow_v2 import is_checkpoint, open_checkpoint
from tfnb.types import ALL_AND_QUANTIZED, Shape, unknown_shape

__all__ = ["OPS", "RESTORE", "RESTORE_SLICE", "SAVE", "SAVE_SLICES"]


# which file is looked into first has no effect: the index says where a tensor is
_HINTS = {"preferred_shard": None}


def _opened(pattern: str, name: str) -> Checkpoint:
    """Returns the checkpoint with the tensor: that of the name, or the one of those that the pattern stands for."""
    if not is_checkpoint(pattern):
        ending = index_path("")
        for path in sorted(glob.glob(index_path(pattern))):
            checkpoint = open_checkpoint(path.removesuffix(ending))
            if name in checkpoint.entries:
                return checkpoint
    return open_checkpoint(pattern)


def _restored(call: HostCall, pattern: np.ndarray, tensor_name: np.ndarray, text: str) -> np.ndarray:
    for what, given in (("file_pattern", pattern), ("tensor_name", tensor_name)):
        if given.size != 1:
            raise InvalidArgumentError(f"{what} must be one string, got shape {given.shape}", call.op)
    name, dtype = tensor_name.item().decode(), call.types["dt"]
    checkpoint = _opened(pattern.item().decode(), name)
    stored = checkpoint.entry(name).dtype
    if stored is not dtype:
        raise InvalidArgumentError(f"{name} is {stored.name} in {checkpoint.prefix}, needed {dtype.name}", call.op)
    return np.asarray(checkpoint.read(name, text))


def _save_whole(call: HostCall, filename: np.ndarray, names: np.ndarray, *data: np.ndarray) -> Any:
    assert SAVE_V2.host is not None
    return SAVE_V2.host(call, filename, names, np.full(names.shape, b"", object), *data)


def _one_shape(c: Infer) -> Shape:
    for i in range(len(c.shapes)):
        with_rank(c, i, 0)
    return unknown_shape


SAVE_SLICES: OpDef[Operation] = replace(
    SAVE_V2,
    name="SaveSlices",
    inputs="filename: string, tensor_names: string, shapes_and_slices: string, data: [T]",
    doc="SaveV2 under the name and with the inputs that it had before TensorFlow 0.12; it writes what SaveV2 writes.",
    types={"T": ALL_AND_QUANTIZED},
)
SAVE: OpDef[Operation] = OpDef(
    "Save",
    "filename: string, tensor_names: string, data: [T]",
    "",
    "SaveSlices of whole tensors.",
    types={"T": ALL_AND_QUANTIZED},
    infer=no_outputs,
    host=_save_whole,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)
RESTORE: OpDef[Tensor] = OpDef(
    "Restore",
    "file_pattern: string, tensor_name: string",
    "tensor: dt",
    """One tensor of a checkpoint, which may be several files that a pattern stands for.

    Both inputs are scalars. Errors: NotFoundError (no checkpoint, or no such tensor), DataLossError (damaged),
    InvalidArgumentError (another dtype). The output's shape is unknown until the op runs.""",
    types={"dt": ALL_AND_QUANTIZED},
    defaults=_HINTS,
    infer=_one_shape,
    host=lambda call, pattern, name: _restored(call, pattern, name, ""),
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
    dynamic=True,
)
RESTORE_SLICE: OpDef[Tensor] = OpDef(
    "RestoreSlice",
    "file_pattern: string, tensor_name: string, shape_and_slice: string",
    "tensor: dt",
    """A part of one tensor of a checkpoint, which may be several files that a pattern stands for.

    All inputs are scalars; `shape_and_slice` is as for SaveV2. Errors: as of Restore. The output's shape is unknown
    until the op runs.""",
    types={"dt": ALL_AND_QUANTIZED},
    defaults=_HINTS,
    infer=_one_shape,
    host=lambda call, pattern, name, text: _restored(call, pattern, name, text.item().decode()),
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
    dynamic=True,
)

OPS: tuple[OpDef, ...] = (SAVE_SLICES, SAVE, RESTORE, RESTORE_SLICE)
