"""The parts of DynamicPartition and DynamicStitch that need the host: the numbers of rows, not the rows themselves.

A step computes these numbers on the host, where sizes must be known, and moves the rows on their device (OSDI'16,
section 4.2, Figure 3). Invariant: every row number is that of a row that exists, or -1 for no row.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.record import record
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.gather import GATHER
from tfnb.types import Shape, bracketed

__all__ = ["API", "OPS", "PARTITION_ROWS", "STITCH_ROWS", "TAKE_ROWS", "DynamicPartitionAttrs", "rows_of_parts"]


@record
class DynamicPartitionAttrs:
    """`num_partitions`: the number of outputs."""

    num_partitions: int

    def __post_init__(self) -> None:
        if self.num_partitions < 1:
            raise InvalidArgumentError(f"num_partitions must be at least 1, got {self.num_partitions}")


def rows_of_parts(call: HostCall, partitions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the row numbers of all partitions, one after the other, and the ends of the partitions among them.

    Raises `InvalidArgumentError` for a partition that is not in [0, num_partitions).
    """
    n = call.attrs.num_partitions
    flat = partitions.reshape(-1)
    if n <= 256:  # numbers of one byte are sorted by counting; numbers that do not fit are refused below
        order = flat.astype(np.uint8).argsort(kind="stable")
    else:
        order = flat.argsort(kind="stable")
    if flat.size and (flat.min() < 0 or flat.max() >= n):
        where = np.argwhere((partitions < 0) | (partitions >= n))[0].tolist()
        index = bracketed(where) if where else ""
        raise InvalidArgumentError(f"partitions{index} = {partitions[tuple(where)]} is not in [0, {n})", call.op)
    return order, np.bincount(flat, minlength=n).cumsum()


def _host_partition_rows(call: HostCall, partitions: np.ndarray) -> list[np.ndarray]:
    order, ends = rows_of_parts(call, partitions)
    return np.split(order.astype(np.int32), ends[:-1])


PARTITION_ROWS: OpDef[list[Tensor]] = OpDef(
    "PartitionRows",
    inputs="partitions: int32",
    outputs="rows: num_partitions*int32",
    attrs=DynamicPartitionAttrs,
    doc="""The row numbers that belong to each partition, in ascending order: a part of DynamicPartition.

    partitions: int32 in [0, num_partitions). rows: for each partition a vector. Errors: a partition is out of range.
    Runs on the host, since the sizes depend on the data.""",
    infer=lambda c: (Shape((None,)),) * c.attrs.num_partitions,
    host=_host_partition_rows,
    grad=NOT_DIFFERENTIABLE,
    dynamic=True,
)


def _stitched_count(c: Infer) -> Shape:
    values = [c.value(i) for i in range(len(c.shapes))]
    if any(v is None for v in values):
        return Shape((None,))
    return Shape((max((int(v.max()) for v in values if v.size), default=-1) + 1,))


def _host_stitch_rows(call: HostCall, *indices: np.ndarray) -> np.ndarray:
    flat = np.concatenate([i.reshape(-1) for i in indices])
    if not flat.size:
        return np.zeros(0, np.int32)
    if flat.min() < 0:
        raise InvalidArgumentError(f"the index {flat.min()} is negative", call.op)
    rows = np.full(flat.max() + 1, -1, np.int32)
    rows[flat] = np.arange(flat.size, dtype=np.int32)  # of equal indices the last one wins
    return rows


STITCH_ROWS: OpDef[Tensor] = OpDef(
    "StitchRows",
    inputs="indices: N*int32",
    outputs="rows: int32",
    doc="""Which row of the joined data each row of a DynamicStitch is: a part of DynamicStitch.

    indices: int32 tensors, not negative. rows: a vector of the largest index plus one numbers: the position of the last
    occurrence of each number among all indices, or -1 for a number that does not occur. Errors: an index is negative.
    Runs on the host, since the size depends on the data.""",
    infer=_stitched_count,
    host=_host_stitch_rows,
    grad=NOT_DIFFERENTIABLE,
    dynamic=True,
)


def _host_take(call: HostCall, params: np.ndarray, indices: np.ndarray) -> np.ndarray:
    inside = (indices >= 0) & (indices < params.shape[0])
    out = np.zeros((*indices.shape, *params.shape[1:]), params.dtype)
    out[inside] = params[indices[inside]]
    return out


TAKE_ROWS: OpDef[Tensor] = replace(
    GATHER,
    name="TakeRows",
    doc="""Takes rows of a tensor by their numbers; a number that is not one of a row gives zeros.

    params: any dtype, rank >= 1. indices: integers, any shape. output: the shape of indices followed by the shape of a
    row. It is a part of DynamicPartition and DynamicStitch.""",
    host=_host_take,
    grad=NOT_DIFFERENTIABLE,
    bounds=None,
    partial=None,
)


OPS: tuple[OpDef, ...] = (PARTITION_ROWS, STITCH_ROWS, TAKE_ROWS)
API: dict[str, Any] = {}
