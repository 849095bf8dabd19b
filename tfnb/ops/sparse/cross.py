"""Crosses of features: for each example one value for every combination of its values in several columns.

Hashed crosses mix the columns' fingerprints as TensorFlow's kernel does, so that its checkpoints keep their meaning.
Invariant: the op runs on the host, since the shape of the result depends on the data.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.record import record
from tfnb.ir.tensor import Tensor
from tfnb.ops.strings.hashing import fingerprint64
from tfnb.types import DType, Shape, int64, string

__all__ = ["API", "DEFAULT_HASH_KEY", "OPS", "SPARSE_CROSS"]

DEFAULT_HASH_KEY = 0xDECAFCAFFE
_MULTIPLIER = 0xC6A4A7935BD1E995
_WORD = (1 << 64) - 1
_LARGEST = (1 << 63) - 1


@record
class CrossAttrs:
    """`hashed_output`: numbers instead of joined texts; `num_buckets`: their range, 0 for no limit."""

    hashed_output: bool
    num_buckets: int
    hash_key: int
    internal_type: DType

    def __post_init__(self) -> None:
        if self.num_buckets < 0:
            raise InvalidArgumentError(f"num_buckets must be at least 0, got {self.num_buckets}")


def _folded(x: int) -> int:
    return x ^ (x >> 47)


def _joined(a: int, b: int) -> int:
    """One fingerprint of two, whose order matters."""
    mixed = a ^ _MULTIPLIER
    mixed ^= _folded(b * _MULTIPLIER & _WORD) * _MULTIPLIER & _WORD
    mixed = mixed * _MULTIPLIER & _WORD
    return _folded(_folded(mixed) * _MULTIPLIER & _WORD)


def _rows(batch: int, at: np.ndarray, values: np.ndarray) -> list[list[Any]]:
    rows: list[list[Any]] = [[] for _ in range(batch)]
    for i, value in zip(at[:, 0].tolist(), values.tolist(), strict=True):
        rows[i].append(value)
    return rows


def _columns(call: HostCall, arrays: Sequence[np.ndarray]) -> tuple[int, list[list[list[Any]]]]:
    """(number of examples, for each column the values of each example)."""
    n = len(call.types["sparse_types"])
    indices, values, shapes, dense = arrays[:n], arrays[n : 2 * n], arrays[2 * n : 3 * n], arrays[3 * n :]
    for size in shapes:
        if size.shape != (2,):
            raise ShapeError(f"needed sparse matrices, got one with a shape of {size.shape} numbers", call.op)
    for d in dense:
        if d.ndim != 2:
            raise ShapeError(f"needed dense matrices, got shape {d.shape}", call.op)
    sizes = {int(s[0]) for s in shapes} | {len(d) for d in dense}
    if len(sizes) != 1:
        raise InvalidArgumentError(f"the columns have {sorted(sizes)} examples; needed one number", call.op)
    batch = sizes.pop()
    columns = []
    for at, of in zip(indices, values, strict=True):
        if of.ndim != 1 or at.shape != (len(of), 2):
            raise ShapeError(f"needed sparse matrices, got indices {at.shape} for {len(of)} values", call.op)
        if len(at) and (at[:, 0].min() < 0 or at[:, 0].max() >= batch):
            raise InvalidArgumentError(f"a row is outside of the {batch} examples", call.op)
        columns.append(_rows(batch, at, of))
    return batch, [*columns, *([list(row) for row in d.tolist()] for d in dense)]


def _cross(call: HostCall, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    batch, columns = _columns(call, arrays)
    a = call.attrs
    at: list[tuple[int, int]] = []
    crossed: list[Any] = []
    for i in range(batch):
        combinations = itertools.product(*(c[i] for c in columns))
        for k, parts in enumerate(combinations):
            at.append((i, k))
            crossed.append(_hashed(a, parts) if a.hashed_output else b"_X_".join(map(_text, parts)))
    widest = max((k + 1 for _, k in at), default=0)
    values = np.empty(len(crossed), object) if not a.hashed_output else np.zeros(len(crossed), np.int64)
    values[:] = crossed
    return np.asarray(at, np.int64).reshape(-1, 2), values, np.asarray([batch, widest], np.int64)


def _text(part: bytes | int) -> bytes:
    return part if isinstance(part, bytes) else str(part).encode()


def _hashed(a: CrossAttrs, parts: Sequence[Any]) -> int:
    total = a.hash_key & _WORD
    for part in parts:
        total = _joined(total, fingerprint64(part) if isinstance(part, bytes) else int(part) & _WORD)
    return total % (a.num_buckets or _LARGEST)


def _shapes(c: Infer) -> tuple[Shape, Shape, Shape]:
    given, needed = c.types["out_type"], int64 if c.attrs.hashed_output else string
    if given is not needed:
        what = f"hashed_output={c.attrs.hashed_output} needs {needed.name}"
        raise InvalidArgumentError(f"{c.op_name}: out_type is {given.name}; {what}")
    return Shape((None, 2)), Shape((None,)), Shape((2,))


SPARSE_CROSS: OpDef[tuple[Tensor, Tensor, Tensor]] = OpDef(
    "SparseCross",
    inputs="indices: N*int64, values: [sparse_types], shapes: N*int64, dense_inputs: [dense_types]",
    outputs="output_indices: int64, output_values: out_type, output_shape: int64",
    types={"sparse_types": (int64, string), "dense_types": (int64, string), "out_type": (int64, string)},
    attrs=CrossAttrs,
    doc="""One value for each combination of an example's values in several columns.

    indices, values, shapes: N sparse matrices, one row for each example; dense_inputs: matrices of the same number of
    rows. Values are strings or int64. With `hashed_output` the output is a fingerprint of the combination, modulo
    `num_buckets` unless that is 0, else the values joined by "_X_". Errors: the columns have different numbers of
    rows. Runs on the host.""",
    infer=_shapes,
    host=_cross,
    grad=NOT_DIFFERENTIABLE,
    dynamic=True,
)

OPS: tuple[OpDef, ...] = (SPARSE_CROSS,)
API: dict[str, Any] = {}
