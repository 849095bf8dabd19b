"""Ragged rows as a vector of splits and their values, the form that `RaggedTensor` has in graphs.

Row i holds the values from splits[i] to splits[i + 1]. Invariant: splits begin with 0, do not fall, and end with the
number of values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.opdef import GRADIENT_MISSING, NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.record import record
from tfnb.ir.tensor import Tensor
from tfnb.types import ALL_AND_QUANTIZED, INDEX, Shape, bfloat16, float32, float64, int32, int64, unknown_shape

__all__ = ["OPS"]


@record
class RaggedGatherAttrs:
    """`OUTPUT_RAGGED_RANK`: the number of ragged dimensions of the result."""

    OUTPUT_RAGGED_RANK: int


def _vector(c: Infer) -> tuple[Shape, ...]:
    return Shape((None,)), Shape((None,))


def _host_range(
    call: HostCall, starts: np.ndarray, limits: np.ndarray, deltas: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    lengths = {x.shape[0] for x in (starts, limits, deltas) if x.ndim}
    if len(lengths) > 1 or any(x.ndim > 1 for x in (starts, limits, deltas)):
        raise InvalidArgumentError(
            f"RaggedRange: starts, limits and deltas must be scalars or vectors of one length, got shapes "
            f"{starts.shape}, {limits.shape} and {deltas.shape}",
            call.op,
        )
    rows = []
    for start, limit, delta in zip(*np.broadcast_arrays(*map(np.atleast_1d, (starts, limits, deltas))), strict=True):
        if delta == 0:
            raise InvalidArgumentError("RaggedRange: Requires delta != 0", call.op)
        count = max(0, int(np.ceil((float(limit) - float(start)) / float(delta))))
        rows.append((start + np.arange(count, dtype=starts.dtype) * delta).astype(starts.dtype))
    splits = np.cumsum([0, *(r.size for r in rows)], dtype=call.types["Tsplits"].np)
    return splits, np.concatenate(rows) if rows else np.zeros(0, starts.dtype)


def checked_splits(call: HostCall, splits: Sequence[np.ndarray], count: int) -> None:
    """Raises `InvalidArgumentError` unless each vector of splits fits the next, and the last one `count` values."""
    ends = [*(len(s) - 1 for s in splits[1:]), count]
    for s, end in zip(splits, ends, strict=True):
        if s.ndim != 1 or not s.size or s[0] != 0 or s[-1] != end or (np.diff(s) < 0).any():
            raise InvalidArgumentError(
                f"{call.op.type}: splits must begin with 0, not fall, and end with {end}, got {s.tolist()[:20]}",
                call.op,
            )


def _host_gather(call: HostCall, *inputs: np.ndarray) -> Any:
    *splits, values, indices = inputs
    checked_splits(call, splits, len(values))
    rows = len(splits[0]) - 1
    if indices.size and not (0 <= indices.min() and indices.max() < rows):
        raise InvalidArgumentError(f"RaggedGather: indices must be in [0, {rows}), got {indices.tolist()}", call.op)
    ranks = len(splits) + indices.ndim - 1, call.attrs.OUTPUT_RAGGED_RANK
    if not indices.ndim or ranks[0] != ranks[1]:
        raise InvalidArgumentError(f"RaggedGather: OUTPUT_RAGGED_RANK must be {ranks[0]}, got {ranks[1]}", call.op)
    shape, taken = indices.shape, indices.reshape(-1).astype(np.int64)
    made: list[np.ndarray] = []
    for n in shape[1:]:  # the dimensions of the indices become ragged ones of equal rows
        outer = made[-1][-1] if made else shape[0]
        made.append(np.arange(outer + 1) * n)
    for s in splits:
        made.append(np.cumsum([0, *(s[taken + 1] - s[taken])]))
        parts = [np.arange(s[i], s[i + 1]) for i in taken]
        taken = np.concatenate(parts).astype(np.int64) if parts else np.zeros(0, np.int64)
    return *(m.astype(splits[0].dtype) for m in made), values[taken]


def _gather_shapes(c: Infer) -> tuple[Shape, ...]:
    values = c.shapes[-2].sizes
    rest = unknown_shape if values is None else Shape((None, *values[1:]))
    return *(Shape((None,)) for _ in range(c.attrs.OUTPUT_RAGGED_RANK)), rest


def _host_sparse(call: HostCall, *inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    *splits, values = inputs
    checked_splits(call, splits, len(values))
    sizes = [len(splits[0]) - 1, *(int(np.diff(s).max(initial=0)) for s in splits), *values.shape[1:]]
    rows = np.arange(len(splits[0]) - 1)[:, None]
    for s in splits:
        counts = np.diff(s)
        places = np.concatenate([np.arange(n) for n in counts]) if counts.size else np.zeros(0, np.int64)
        rows = np.hstack([np.repeat(rows, counts, axis=0), places.astype(np.int64)[:, None]])
    inner = np.stack(np.unravel_index(np.arange(values[:1].size), values.shape[1:]), 1) if values.ndim > 1 else None
    if inner is not None:
        count = len(rows)
        rows = np.hstack([np.repeat(rows, len(inner), axis=0), np.tile(inner, (count, 1))])
    return rows.astype(np.int64), values.reshape(-1), np.array(sizes, np.int64)


def _sparse_shapes(c: Infer) -> tuple[Shape, ...]:
    values = c.shapes[-1].sizes
    rank = None if values is None else len(c.shapes) - 1 + len(values)
    return Shape((None, rank)), Shape((None,)), Shape((rank,))


RAGGED_RANGE: OpDef[tuple[Tensor, Tensor]] = OpDef(
    "RaggedRange",
    "starts: T, limits: T, deltas: T",
    "rt_nested_splits: Tsplits, rt_dense_values: T",
    """The ranges from each start to its limit, as ragged rows.

    starts, limits, deltas: vectors of one length, or scalars, which hold for all rows. rt_nested_splits: where the rows
    begin and end; rt_dense_values: the numbers of all rows. Errors: a delta is 0, or the lengths differ. Runs on the
    host.""",
    types={"T": (bfloat16, float32, float64, int32, int64), "Tsplits": INDEX},
    defaults={"T": int32, "Tsplits": int64},
    infer=_vector,
    host=_host_range,
    grad=NOT_DIFFERENTIABLE,
    dynamic=True,
)
RAGGED_GATHER: OpDef[tuple[list[Tensor], Tensor]] = OpDef(
    "RaggedGather",
    "params_nested_splits: PARAMS_RAGGED_RANK*Tsplits, params_dense_values: Tvalues, indices: Tindices",
    "output_nested_splits: OUTPUT_RAGGED_RANK*Tsplits, output_dense_values: Tvalues",
    """The ragged rows with the given numbers.

    indices: integers of any shape, whose dimensions but the first become ragged ones of equal rows. Errors: an index is
    no number of a row, or the splits do not fit. Runs on the host.""",
    types={"Tvalues": ALL_AND_QUANTIZED, "Tindices": INDEX, "Tsplits": INDEX},
    defaults={"Tsplits": int64},
    attrs=RaggedGatherAttrs,
    infer=_gather_shapes,
    host=_host_gather,
    grad=GRADIENT_MISSING,
    dynamic=True,
)
RAGGED_TO_SPARSE: OpDef[tuple[Tensor, Tensor, Tensor]] = OpDef(
    "RaggedTensorToSparse",
    "rt_nested_splits: RAGGED_RANK*Tsplits, rt_dense_values: T",
    "sparse_indices: int64, sparse_values: T, sparse_dense_shape: int64",
    """Ragged rows as a sparse tensor, whose dimensions are as long as the longest row.

    Errors: the splits do not fit. Runs on the host.""",
    types={"T": ALL_AND_QUANTIZED, "Tsplits": INDEX},
    defaults={"Tsplits": int64},
    infer=_sparse_shapes,
    host=_host_sparse,
    grad=GRADIENT_MISSING,
    dynamic=True,
)

OPS: tuple[OpDef, ...] = (RAGGED_RANGE, RAGGED_GATHER, RAGGED_TO_SPARSE)
