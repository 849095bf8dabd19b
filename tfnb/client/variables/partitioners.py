"""Partitioners, which decide how many parts a variable has, for `get_variable` and scopes (OSDI'16, section 4.2).

A partitioner is a function of shape and dtype that returns a number of parts for each dimension. Invariant: at most one
of these numbers is greater than 1.

A variable that is too large for one device becomes several variables, each with a place of its own, and each says which
slice of the whole it is (`save_slices.py`). Optimizers give its slots the same slice. A checkpoint holds the whole
variable under one name, and reading a slice touches only the parts that it meets, so a model can be restored into
another number of parts. `embedding_lookup` over parts is Gather, Part and Stitch: rows are read where their part lives,
so rows travel and parts do not, and the gradient of each part is sparse.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tfnb.client.argument_types import InitializerLike
from tfnb.client.variables.scope import get_variable_scope, variable_scope
from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import is_tensor_like
from tfnb.types import DTypeLike, ShapeLike, as_dtype, as_shape, float32

__all__ = ["API"]

Partitioner = Callable[..., list[int]]


def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Partitioner:
    """Returns a partitioner for `num_shards` parts along `axis`, or fewer where the dimension has fewer elements."""

    def partition(shape: ShapeLike, **_: object) -> list[int]:
        dims = as_shape(shape).known()
        return _along(axis, min(num_shards, dims[_checked(axis, dims)]), len(dims))

    return partition


def variable_axis_size_partitioner(
    max_shard_bytes: int, axis: int = 0, bytes_per_string_element: int = 16, max_shards: int | None = None
) -> Partitioner:
    """Returns a partitioner for as few parts along `axis` as keep each part within `max_shard_bytes` bytes.

    There are at most `max_shards` parts. A string counts as `bytes_per_string_element` bytes. Raises
    `InvalidArgumentError` for sizes that are not positive.
    """
    if max_shard_bytes < 1 or bytes_per_string_element < 1 or (max_shards is not None and max_shards < 1):
        raise InvalidArgumentError(
            f"needed positive sizes, got max_shard_bytes={max_shard_bytes}, "
            f"bytes_per_string_element={bytes_per_string_element}, max_shards={max_shards}"
        )

    def partition(shape: ShapeLike, dtype: DTypeLike) -> list[int]:
        dims = as_shape(shape).known()
        rows = dims[_checked(axis, dims)]
        row_bytes = math.prod(dims) / max(rows, 1) * _bytes(dtype, bytes_per_string_element)
        rows_each = max(1, math.floor(max_shard_bytes / row_bytes)) if row_bytes else max(rows, 1)
        parts = max(1, math.ceil(rows / rows_each))
        return _along(axis, parts if max_shards is None else min(parts, max_shards), len(dims))

    return partition


def min_max_variable_partitioner(
    max_partitions: int = 1, axis: int = 0, min_slice_size: int = 256 << 10, bytes_per_string_element: int = 16
) -> Partitioner:
    """Returns a partitioner for as many parts along `axis`, up to `max_partitions`, as have `min_slice_size` bytes
    each.

    A string counts as `bytes_per_string_element` bytes.
    """

    def partition(shape: ShapeLike, dtype: DTypeLike) -> list[int]:
        dims = as_shape(shape).known()
        rows = dims[_checked(axis, dims)]
        size = math.prod(dims) * _bytes(dtype, bytes_per_string_element)
        return _along(axis, max(1, min(rows, max_partitions, math.ceil(size / min_slice_size))), len(dims))

    return partition


def _checked(axis: int, dims: Sequence[int]) -> int:
    if not -len(dims) <= axis < len(dims):
        raise InvalidArgumentError(f"cannot partition along axis {axis}: the shape is {tuple(dims)}")
    return axis


def _bytes(dtype: DTypeLike, of_string: int) -> int:
    checked_dtype = as_dtype(dtype)
    return of_string if checked_dtype.is_string else checked_dtype.size


def _along(axis: int, parts: int, rank: int) -> list[int]:
    partitions = [1] * rank
    partitions[axis] = parts
    return partitions


def create_partitioned_variables(
    shape: Sequence[int],
    slicing: Sequence[int],
    initializer: InitializerLike | None,
    dtype: DTypeLike = float32,
    trainable: bool = True,
    collections: Sequence[str] | str | None = None,
    name: str | None = None,
    reuse: bool | None = None,
) -> list[Any]:
    """Returns the list of parts of a variable of `shape`, which `slicing` cuts: the number of parts per dimension.

    `get_variable` with a partitioner replaces this older function. `initializer` is a value of the whole shape, or a
    callable that is called for each part. Raises `InvalidArgumentError` for a slicing that does not fit the shape, and
    inside a scope with a custom getter.
    """
    if len(shape) != len(slicing) or not shape:
        raise InvalidArgumentError(f"shape and slicing must have one length, 1 or more; got {shape} and {slicing}")
    if is_tensor_like(initializer):
        dtype = initializer.dtype.base_dtype  # type: ignore[union-attr]
    with variable_scope(name, "PartitionedVariable", reuse=reuse):
        scope = get_variable_scope()
        if scope.custom_getter is not None:
            raise InvalidArgumentError(
                "create_partitioned_variables does not call custom getters: use get_variable with a partitioner"
            )
        variable = scope.get_variable(
            "",
            shape=list(shape),
            dtype=dtype,
            initializer=initializer,
            trainable=trainable,
            collections=collections,
            partitioner=lambda **_: list(slicing),
        )
        return list(variable)


API: dict[str, Any] = {
    "fixed_size_partitioner": fixed_size_partitioner,
    "variable_axis_size_partitioner": variable_axis_size_partitioner,
    "min_max_variable_partitioner": min_max_variable_partitioner,
    "create_partitioned_variables": create_partitioned_variables,
}
