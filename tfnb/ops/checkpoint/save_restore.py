"""Save and restore as nodes of a graph (white paper, section 3.3; OSDI'16, section 4.3).

One SaveV2 writes a checkpoint, or one of its shards; RestoreV2 reads tensors by name, and Assign copies them to the
variables. Invariant: RestoreV2 returns all its tensors, each with a matching checksum, or fails.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.shapes import no_outputs, scalar_shape
from tfnb.ir.tensor import Tensor
from tfnb.ops.checkpoint.files import merge_checkpoints, write_checkpoint
from tfnb.ops.checkpoint.parts import claim_folder, remove_folders
from tfnb.ops.checkpoint.tensorflow_v2 import open_checkpoint
from tfnb.types import ALL_AND_QUANTIZED, Shape, unknown_shape

__all__ = ["API", "MERGE_V2", "OPS", "RESTORE_V2", "SAVE_V2", "SHARDED_FILENAME"]


@record
class RestoreAttrs:
    """RestoreV2 has no attributes except its dtypes."""


@record
class MergeAttrs:
    """`delete_old_dirs`: remove the parts, and the folders that sharded saves created for them."""

    delete_old_dirs: bool = True


def _texts(call: HostCall, what: str, array: np.ndarray, count: int | None = None) -> list[str]:
    if array.ndim != 1 or (count is not None and array.size != count):
        length = "" if count is None else f" of {count}"
        raise InvalidArgumentError(f"{what} must be a vector{length}, got shape {array.shape}", call.op)
    return [x.decode() for x in array]


def _prefix(call: HostCall, array: np.ndarray) -> str:
    if array.size != 1:
        raise InvalidArgumentError(f"the prefix must be one string, got shape {array.shape}", call.op)
    return str(array.reshape(-1)[0].decode())


def _save(call: HostCall, prefix: np.ndarray, names: np.ndarray, slices: np.ndarray, *tensors: np.ndarray) -> tuple[()]:
    target = _prefix(call, prefix)
    texts = _texts(call, "tensor_names", names, len(tensors))
    specs = _texts(call, "shape_and_slices", slices, len(tensors))
    claim_folder(target)
    write_checkpoint(target, zip(texts, specs, tensors, strict=True))
    return ()


def _restore(call: HostCall, prefix: np.ndarray, names: np.ndarray, slices: np.ndarray) -> tuple[np.ndarray, ...]:
    dtypes = call.types["dtypes"]
    checkpoint = open_checkpoint(_prefix(call, prefix))
    texts = _texts(call, "tensor_names", names, len(dtypes))
    specs = _texts(call, "shape_and_slices", slices, len(dtypes))
    for name, dtype in zip(texts, dtypes, strict=True):
        stored_dtype = checkpoint.entry(name).dtype
        if stored_dtype is not dtype:
            raise InvalidArgumentError(
                f"{name} is {stored_dtype.name} in {checkpoint.prefix}, needed {dtype.name}", call.op
            )
    return tuple(checkpoint.read(n, s) for n, s in zip(texts, specs, strict=True))


def _restored_shapes(c: Infer) -> tuple[Shape, ...]:
    count = len(c.types["dtypes"])
    for i, argument in ((1, "tensor_names"), (2, "shape_and_slices")):
        if not c.shapes[i].is_compatible_with((count,)):
            raise ShapeError(f"{c.op_name}: {argument} must be a vector of {count}, got {c.shapes[i]}")
    return (unknown_shape,) * count


def _merge(call: HostCall, prefixes: np.ndarray, destination: np.ndarray) -> tuple[()]:
    parts = _texts(call, "checkpoint_prefixes", prefixes)
    merge_checkpoints(parts, _prefix(call, destination), call.attrs.delete_old_dirs)
    if call.attrs.delete_old_dirs:
        remove_folders(parts)
    return ()


def _sharded(call: HostCall, basename: np.ndarray, shard: np.ndarray, num_shards: np.ndarray) -> np.ndarray:
    name = f"{basename.item().decode()}-{int(shard):05d}-of-{int(num_shards):05d}"
    return np.array(name.encode(), object)


SAVE_V2: OpDef[Operation] = OpDef(
    "SaveV2",
    "prefix: string, tensor_names: string, shape_and_slices: string, tensors: [dtypes]",
    "",
    """Writes `tensors` to the checkpoint `prefix`: a safetensors shard, and then its index.

    prefix: a scalar. tensor_names, shape_and_slices: vectors with one string per tensor ("" for a whole tensor, or "10
    4 0,5:-" for the full shape and the start,length of each dimension). Missing folders are created. Errors:
    PermissionDeniedError, ResourceExhaustedError (disk full), InvalidArgumentError (a name occurs twice).""",
    types={"dtypes": ALL_AND_QUANTIZED},
    infer=no_outputs,
    host=_save,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)

RESTORE_V2: OpDef[list[Tensor]] = OpDef(
    "RestoreV2",
    "prefix: string, tensor_names: string, shape_and_slices: string",
    "tensors: [dtypes]",
    """Reads tensors of the checkpoint `prefix` by the names that SaveV2 used, after verifying their checksums.

    Errors: NotFoundError (no checkpoint, or no such tensor), DataLossError (damaged), InvalidArgumentError (another
    dtype). The output shapes are unknown until the op runs.""",
    types={"dtypes": ALL_AND_QUANTIZED},
    attrs=RestoreAttrs,
    infer=_restored_shapes,
    host=_restore,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
    dynamic=True,
)

MERGE_V2: OpDef[Operation] = OpDef(
    "MergeV2Checkpoints",
    "checkpoint_prefixes: string, destination_prefix: string",
    "",
    """Merges checkpoints of several SaveV2 ops into one: moves their shards and writes one index.

    checkpoint_prefixes: a vector; destination_prefix: a scalar.""",
    attrs=MergeAttrs,
    infer=no_outputs,
    host=_merge,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)

SHARDED_FILENAME: OpDef[Tensor] = OpDef(
    "ShardedFilename",
    "basename: string, shard: int32, num_shards: int32",
    "filename: string",
    "The prefix of a shard, such as basename-00001-of-00004; inputs and output are scalars.",
    infer=scalar_shape,
    host=_sharded,
    grad=NOT_DIFFERENTIABLE,
)

OPS: tuple[OpDef, ...] = (SAVE_V2, RESTORE_V2, MERGE_V2, SHARDED_FILENAME)
API: dict[str, Any] = {}
