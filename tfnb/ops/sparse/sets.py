"""Set operations on rows along the last dimension of dense or sparse tensors.

The ops run on the host, since sizes depend on the values. Invariant: the elements of a result are in ascending order
and without repetition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from tfnb.errors import DTypeError, InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.record import record
from tfnb.ir.sparse import SparseTensor, SparseTensorValue
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.sparse.arithmetic import check_places, places
from tfnb.types import (
    Shape,
    int8,
    int16,
    int32,
    int64,
    string,
    uint8,
    uint16,
    unknown_shape,
)

__all__ = ["API", "OPS"]

_TYPES = (int8, int16, int32, int64, uint8, uint16, string)
Place = tuple[int, ...]
Sets = Mapping[Place, set[Any]]
_OPERATIONS: dict[str, Callable[[set[Any], set[Any]], set[Any]]] = {
    "a-b": lambda a, b: a - b,
    "b-a": lambda a, b: b - a,
    "intersection": lambda a, b: a & b,
    "union": lambda a, b: a | b,
}


@record
class SetAttrs:
    """`set_operation`: "a-b", "b-a", "intersection" or "union"; `validate_indices`: check the order of indices."""

    set_operation: str
    validate_indices: bool = True


@record
class SizeAttrs:
    """`validate_indices`: check the order of sparse indices."""

    validate_indices: bool = True


def _dense_sets(call: HostCall, x: np.ndarray) -> tuple[list[int], Sets]:
    if x.ndim < 2:
        raise InvalidArgumentError(f"{call.op.type}: sets need at least two dimensions, got shape {x.shape}", call.op)
    return list(x.shape[:-1]), {i: set(x[i].tolist()) for i in np.ndindex(*x.shape[:-1])}


def _sparse_sets(call: HostCall, indices: np.ndarray, values: np.ndarray, shape: np.ndarray) -> tuple[list[int], Sets]:
    if shape.size < 2:
        raise InvalidArgumentError(
            f"{call.op.type}: sets need at least two dimensions, got shape {shape.tolist()}", call.op
        )
    check_places(call, indices, shape)
    numbers = places(indices, shape)
    if call.attrs.validate_indices and (np.diff(numbers) <= 0).any():
        raise InvalidArgumentError(f"{call.op.type}: the sparse indices are out of order or repeated", call.op)
    sets: dict[Place, set[Any]] = {}
    for place, value in zip(indices.tolist(), values.tolist(), strict=True):
        sets.setdefault(tuple(place[:-1]), set()).add(value)
    return shape[:-1].tolist(), sets


def _combined(
    call: HostCall, one: tuple[list[int], Sets], two: tuple[list[int], Sets]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if one[0] != two[0]:
        raise InvalidArgumentError(f"{call.op.type}: sets in the shapes {one[0]} and {two[0]}", call.op)
    combine = _OPERATIONS.get(call.attrs.set_operation.lower())
    if combine is None:
        raise InvalidArgumentError(
            f"{call.op.type}: set_operation must be one of {sorted(_OPERATIONS)}, got {call.attrs.set_operation!r}",
            call.op,
        )
    rows: list[Place] = []
    values: list[Any] = []
    largest = 0
    for place in sorted(set(one[1]) | set(two[1])):
        members = sorted(combine(one[1].get(place, set()), two[1].get(place, set())))
        largest = max(largest, len(members))
        rows.extend((*place, k) for k in range(len(members)))
        values.extend(members)
    dtype = call.types["T"].np
    return (
        np.array(rows, np.int64).reshape(len(rows), len(one[0]) + 1),
        np.array(values, dtype),
        np.array([*one[0], largest], np.int64),
    )


def _two_dense(call: HostCall, a: np.ndarray, b: np.ndarray) -> Any:
    return _combined(call, _dense_sets(call, a), _dense_sets(call, b))


def _dense_sparse(call: HostCall, a: np.ndarray, *b: np.ndarray) -> Any:
    return _combined(call, _dense_sets(call, a), _sparse_sets(call, *b))


def _two_sparse(call: HostCall, *both: np.ndarray) -> Any:
    return _combined(call, _sparse_sets(call, *both[:3]), _sparse_sets(call, *both[3:]))


def _sizes(call: HostCall, indices: np.ndarray, values: np.ndarray, shape: np.ndarray) -> np.ndarray:
    groups, sets = _sparse_sets(call, indices, values, shape)
    out = np.zeros(groups, np.int32)
    for place, members in sets.items():
        out[place] = len(members)
    return out


def _result_shapes(c: Infer) -> tuple[Shape, Shape, Shape]:
    rank = next((r for r in _ranks(c) if r is not None), None)
    if rank is not None and rank < 2:
        raise ShapeError(f"{c.op_name}: sets need at least two dimensions")
    return Shape((None, rank)), Shape((None,)), Shape((rank,))


def _ranks(c: Infer) -> Iterable[int | None]:
    """The known ranks of the inputs: that of a dense tensor, or the length of a sparse tensor's shape."""
    if c.op_name != "SparseToSparseSetOperation":
        yield c.shapes[0].ndims
    last = c.shapes[-1]
    if c.op_name == "DenseToDenseSetOperation":
        yield last.ndims
    else:
        yield last.sizes[0] if last.sizes else None


def _operation(name: str, inputs: str, host: Callable[..., Any], what: str) -> OpDef[tuple[Tensor, Tensor, Tensor]]:
    return OpDef(
        name,
        inputs,
        "result_indices: int64, result_values: T, result_shape: int64",
        f"""A set operation on each pair of sets of {what}; a set is a row along the last dimension, in any order.

        T: an integer or string type; the leading dimensions must be equal. The result is a sparse tensor, whose
        last dimension is the size of the largest set. Errors: another `set_operation`, different shapes, or sparse
        indices outside the shape or, with `validate_indices`, out of order. Runs on the host.""",
        types={"T": _TYPES},
        attrs=SetAttrs,
        infer=_result_shapes,
        host=host,
        grad=NOT_DIFFERENTIABLE,
        dynamic=True,
    )


DENSE_DENSE = _operation("DenseToDenseSetOperation", "set1: T, set2: T", _two_dense, "dense tensors")
DENSE_SPARSE = _operation(
    "DenseToSparseSetOperation",
    "set1: T, set2_indices: int64, set2_values: T, set2_shape: int64",
    _dense_sparse,
    "a dense and a sparse tensor",
)
SPARSE_SPARSE = _operation(
    "SparseToSparseSetOperation",
    "set1_indices: int64, set1_values: T, set1_shape: int64, set2_indices: int64, set2_values: T, set2_shape: int64",
    _two_sparse,
    "sparse tensors",
)
SET_SIZE: OpDef[Tensor] = OpDef(
    "SetSize",
    "set_indices: int64, set_values: T, set_shape: int64",
    "size: int32",
    """The number of distinct elements of each set of a sparse tensor, along its last dimension.

    T: an integer or string type. size: the shape without the last dimension. Errors: an index is outside the shape or,
    with `validate_indices`, out of order. Runs on the host.""",
    types={"T": _TYPES},
    attrs=SizeAttrs,
    infer=lambda c: unknown_shape,  # as in TensorFlow
    host=_sizes,
    grad=NOT_DIFFERENTIABLE,
    dynamic=True,
)


def _is_sparse(x: object) -> bool:
    return isinstance(x, (SparseTensor, SparseTensorValue))


def _apply(
    a: TensorLike | SparseTensor | SparseTensorValue,
    b: TensorLike | SparseTensor | SparseTensorValue,
    operation: str,
    validate: bool,
) -> SparseTensor:
    """Applies a set operation; the op takes the dense operand first if one is sparse and the other dense."""
    if _is_sparse(a) and not _is_sparse(b):
        a, b = b, a
        operation = {"a-b": "b-a", "b-a": "a-b"}.get(operation, operation)
    attrs: dict[str, Any] = {"set_operation": operation, "validate_indices": validate}
    if not _is_sparse(b):
        graph = graph_of((a, b))
        a = graph.to_tensor(a)
        return SparseTensor(*DENSE_DENSE(a, graph.to_tensor(b, a.dtype), **attrs))
    sparse_b = SparseTensor.from_value(b)
    parts = sparse_b.indices, sparse_b.values, sparse_b.dense_shape
    if not _is_sparse(a):
        return SparseTensor(*DENSE_SPARSE(sparse_b.indices.graph.to_tensor(a, sparse_b.dtype), *parts, **attrs))
    sparse_a = SparseTensor.from_value(a)
    if sparse_a.dtype is not sparse_b.dtype:
        raise DTypeError(f"sets of {sparse_a.dtype.name} and {sparse_b.dtype.name}")
    return SparseTensor(*SPARSE_SPARSE(sparse_a.indices, sparse_a.values, sparse_a.dense_shape, *parts, **attrs))


def set_intersection(
    a: TensorLike | SparseTensor | SparseTensorValue,
    b: TensorLike | SparseTensor | SparseTensorValue,
    validate_indices: bool = True,
) -> SparseTensor:
    """Returns the elements that are in both sets, for each pair of sets along the last dimension, as a SparseTensor.

    a, b: tensors or SparseTensors of the same integer or string dtype with equal leading dimensions. In each row of the
    result the elements are in ascending order. Raises `InvalidArgumentError` at run time for different shapes or sparse
    indices out of order.
    """
    return _apply(a, b, "intersection", validate_indices)


def set_difference(
    a: TensorLike | SparseTensor | SparseTensorValue,
    b: TensorLike | SparseTensor | SparseTensorValue,
    aminusb: bool = True,
    validate_indices: bool = True,
) -> SparseTensor:
    """Returns the elements of a that are not in b, or without `aminusb` those of b that are not in a.

    The other arguments, the form of the result and the errors are those of `set_intersection`.
    """
    return _apply(a, b, "a-b" if aminusb else "b-a", validate_indices)


def set_union(
    a: TensorLike | SparseTensor | SparseTensorValue,
    b: TensorLike | SparseTensor | SparseTensorValue,
    validate_indices: bool = True,
) -> SparseTensor:
    """Returns the elements that are in at least one of both sets, for each pair of sets.

    The arguments, the form of the result and the errors are those of `set_intersection`.
    """
    return _apply(a, b, "union", validate_indices)


def set_size(a: TensorLike | SparseTensor | SparseTensorValue, validate_indices: bool = True) -> Tensor:
    """Returns the number (int32) of distinct elements of each set along the last dimension of a SparseTensor.

    a: a SparseTensor of integers or strings. The result is dense, with the shape of `a` without its last dimension.
    validate_indices: check at run time that the indices are in order. Raises `DTypeError` when `a` is not sparse.
    """
    if not _is_sparse(a):
        raise DTypeError(f"set_size: needed a SparseTensor, got {type(a).__name__}")
    sets = SparseTensor.from_value(a)
    return SET_SIZE(sets.indices, sets.values, sets.dense_shape, validate_indices=validate_indices)


OPS: tuple[OpDef, ...] = (DENSE_DENSE, DENSE_SPARSE, SPARSE_SPARSE, SET_SIZE)
API: dict[str, Any] = {
    "sets.set_intersection": set_intersection,
    "sets.intersection": set_intersection,
    "sets.set_difference": set_difference,
    "sets.difference": set_difference,
    "sets.set_union": set_union,
    "sets.union": set_union,
    "sets.set_size": set_size,
    "sets.size": set_size,
    "contrib.metrics.set_intersection": set_intersection,
    "contrib.metrics.set_difference": set_difference,
    "contrib.metrics.set_union": set_union,
    "contrib.metrics.set_size": set_size,
}
