"""tensordot: the product of two tensors, summed over pairs of axes.

Invariant: it is one product of matrices, with the summed axes as the columns of one and the rows of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.opdef import OpDef
from tfnb.ir.shapes import normalize_axis
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import CONCAT_V2
from tfnb.ops.array.constants import RANGE
from tfnb.ops.array.gather import GATHER
from tfnb.ops.array.pack import UNPACK
from tfnb.ops.array.shape_ops import RANK, RESHAPE, SHAPE, shape_of
from tfnb.ops.array.transpose_pad_tile import TRANSPOSE
from tfnb.ops.linalg.matmul import MAT_MUL
from tfnb.ops.math.binary import operands
from tfnb.ops.math.compare import SELECT
from tfnb.ops.math.reduce import PROD
from tfnb.ops.math.unique_bincount import LIST_DIFF
from tfnb.types import int32

__all__ = ["API", "OPS", "tensordot"]


def tensordot(a: Any, b: Any, axes: TensorLike, name: str | None = None) -> Tensor:
    """Multiplies two tensors and sums over pairs of axes.

    axes: an integer n (the last n axes of a with the first n of b), or two lists of axes. The result has the other
    axes of a, then those of b. `axes` may be a tensor of two rows, and ranks may be unknown, until the step runs.
    Errors: an axis is out of range, or the sizes of a pair differ.
    """
    a, b, name = operands(a, b, name or "Tensordot", ("a", "b"))
    if isinstance(axes, Tensor) or None in (a.shape.ndims, b.shape.ndims):
        return _of_unknown_axes(a, b, axes, name)
    first, second = _contracted(axes, a.shape.ndims, b.shape.ndims)
    with a.graph.name_scope(name) as scope:
        left, free_a = _as_matrix(a, first, last=True)
        right, free_b = _as_matrix(b, second, last=False)
        product = MAT_MUL(left, right)
        if None not in free_a and None not in free_b:
            return RESHAPE(product, np.asarray([*free_a, *free_b], np.int32), name=scope)
        dims = [d for x, contracted in ((a, first), (b, second)) for d in _free_sizes(x, contracted)]
        return RESHAPE(product, dims, name=scope)


def _two_lists(axes: TensorLike) -> tuple[list[int], list[int]]:
    sides: list[Any] = list(axes) if isinstance(axes, (list, tuple, np.ndarray)) else []
    if len(sides) != 2:
        raise InvalidArgumentError(f"'axes' must be an integer or have length 2, got {axes!r}")
    first, second = (np.asarray(x).reshape(-1).tolist() for x in sides)
    if len(first) != len(second):
        raise InvalidArgumentError(f"tensordot: {len(first)} axes of a for {len(second)} axes of b")
    return first, second


def _contracted(axes: TensorLike, rank_a: int, rank_b: int) -> tuple[list[int], list[int]]:
    if isinstance(axes, (int, np.integer)):
        if axes < 0 or axes > min(rank_a, rank_b):
            raise InvalidArgumentError(f"'axes' must be from 0 to {min(rank_a, rank_b)}, the smaller rank, got {axes}")
        return list(range(rank_a - axes, rank_a)), list(range(axes))
    first, second = _two_lists(axes)
    return [normalize_axis(int(i), rank_a) for i in first], [normalize_axis(int(i), rank_b) for i in second]


def _as_matrix(x: Any, summed: Sequence[int], last: bool) -> tuple[Any, list[int | None]]:
    """`x` reshaped to a matrix with the summed axes last (or first), and the sizes of its other axes."""
    free = [i for i in range(x.shape.ndims) if i not in summed]
    perm = [*free, *summed] if last else [*summed, *free]
    if perm != sorted(perm):
        x = TRANSPOSE(x, np.asarray(perm, np.int32))
    at = (lambda i: free.index(i)) if last else (lambda i: len(summed) + free.index(i))
    sizes = [x.shape.sizes[at(i)] for i in free]
    inner = [x.shape.sizes[i + len(free) if last else i] for i in range(len(summed))]
    if None not in inner:
        k = int(np.prod(inner, dtype=np.int64))
        if k:
            return RESHAPE(x, np.asarray([-1, k] if last else [k, -1], np.int32)), sizes
    if None not in sizes:
        n = int(np.prod(sizes, dtype=np.int64))
        if n:
            return RESHAPE(x, np.asarray([n, -1] if last else [-1, n], np.int32)), sizes
    count: Tensor | int = 1
    for i in free:
        count = count * shape_of(x)[at(i)]
    return RESHAPE(x, [count, -1] if last else [-1, count]), sizes


def _free_sizes(x: Any, summed: Sequence[int]) -> list[Any]:
    shape = shape_of(x)
    return [shape[i] for i in range(x.shape.ndims) if i not in summed]


def _of_unknown_axes(a: Tensor, b: Tensor, axes: TensorLike, name: str) -> Tensor:
    """The product of tensors whose ranks, or whose axes, a step computes."""
    graph = a.graph
    with graph.as_default(), graph.name_scope(name):
        rank_a, rank_b = RANK(a), RANK(b)
        first: TensorLike
        second: TensorLike
        if isinstance(axes, (int, np.integer)):
            zero, n = np.int32(0), np.int32(axes)
            first, second = RANGE(rank_a - n, rank_a, np.int32(1)), RANGE(zero, n, np.int32(1))
        elif isinstance(axes, Tensor):
            first, second = UNPACK(axes, num=2)
        else:
            first, second = _two_lists(axes)
        left, free_a = _matrix_of(a, rank_a, first, last=True)
        right, free_b = _matrix_of(b, rank_b, second, last=False)
        return RESHAPE(MAT_MUL(left, right), CONCAT_V2([free_a, free_b], np.int32(0)))


def _matrix_of(x: Tensor, rank: Tensor, axes: TensorLike, last: bool) -> tuple[Any, Any]:
    """`x` as a matrix with the summed axes last (or first), and the sizes of its other axes."""
    summed = x.graph.to_tensor(axes, None if isinstance(axes, Tensor) else int32)
    summed = SELECT(summed < 0, summed + rank, summed)
    free = LIST_DIFF(RANGE(np.int32(0), rank, np.int32(1)), summed, out_idx=int32)[0]
    sizes = SHAPE(x, out_type=int32)
    free_sizes, summed_size = GATHER(sizes, free), PROD(GATHER(sizes, summed), np.int32(0))
    order, shape = ([free, summed], [-1, summed_size]) if last else ([summed, free], [summed_size, -1])
    return RESHAPE(TRANSPOSE(x, CONCAT_V2(order, np.int32(0))), shape), free_sizes


OPS: tuple[OpDef, ...] = ()
API: dict[str, Any] = {"tensordot": tensordot}
