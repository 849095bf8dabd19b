"""What elements of data sets are made of: tensors and sparse tensors, in tuples and dicts (`tf.data`).

Inside a data set every component is one tensor; a sparse one travels as its three parts in strings, which stack into
batches as tensors do. Invariant: `unwired(t, s, wired(x))` is `x`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tfnb.errors import DTypeError
from tfnb.ir.default import get_default_graph
from tfnb.ir.sparse import SparseTensor, SparseTensorValue
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.io.serialized_tensors import DESERIALIZE_SPARSE, serialize_sparse
from tfnb.types import DType, Shape, string, unknown_shape

__all__ = [
    "SparseType",
    "mapped",
    "normal",
    "of_classes",
    "parts",
    "type_of",
    "unwired",
    "value_dtype",
    "wire_dtype",
    "wire_shape",
    "wired",
]


@dataclass(frozen=True)
class SparseType:
    """The type of a component that is a sparse tensor with values of `dtype`."""

    dtype: DType


def parts(value: TensorLike) -> list[Any]:
    """The components of an element (or of a structure of types), in order; a sparse tensor is one."""
    if isinstance(value, Mapping):
        return [p for key in sorted(value) for p in parts(value[key])]
    if isinstance(value, tuple) and not isinstance(value, SparseTensorValue):
        return [p for v in value for p in parts(v)]
    return [value]


def mapped(value: TensorLike, function: Callable[[Any], Any]) -> Any:
    """The same structure of what `function` makes of each component."""
    if isinstance(value, Mapping):
        return {key: mapped(v, function) for key, v in value.items()}
    if isinstance(value, tuple) and not isinstance(value, SparseTensorValue):
        found = [mapped(v, function) for v in value]
        return type(value)(*found) if hasattr(value, "_fields") else tuple(found)
    return function(value)


def normal(value: TensorLike) -> Any:
    """Tuples and dicts stay structures; all else, lists too, becomes one tensor."""

    def one(v: Tensor) -> Any:
        if isinstance(v, (SparseTensor, SparseTensorValue)):
            return SparseTensor.from_value(v)
        return get_default_graph().to_tensor(v)

    return mapped(value, one)


def type_of(component: Any) -> Any:
    """The type of a tensor or sparse tensor; a type's own."""
    if isinstance(component, (DType, SparseType)):
        return component
    return SparseType(component.dtype) if isinstance(component, SparseTensor) else component.dtype


def value_dtype(kind: Any) -> DType:
    """The dtype of a component's values."""
    found: DType = kind.dtype if isinstance(kind, SparseType) else kind
    return found


def of_classes(types: Any, classes: Any) -> Any:
    """The types of components whose classes are `tf.Tensor` or `tf.SparseTensor` (None: all tensors)."""
    if classes is None:
        return types
    given = iter(parts(classes))
    return mapped(types, lambda t: SparseType(t) if next(given) is SparseTensor else t)


def wire_dtype(kind: Any) -> DType:
    """The dtype of the one tensor that a component is inside."""
    return string if isinstance(kind, SparseType) else kind


def wire_shape(kind: Any, shape: Shape) -> Shape:
    return unknown_shape if isinstance(kind, SparseType) else shape


def wired(component: Any) -> Tensor:
    """The one tensor that a component is inside."""
    found: Tensor = serialize_sparse(component) if isinstance(component, SparseTensor) else component
    return found


def unwired(kind: Any, shape: Shape, tensor: Tensor) -> Any:
    """The component of that type and shape in the one tensor."""
    if not isinstance(kind, SparseType):
        return tensor
    if not isinstance(tensor, Tensor):
        raise DTypeError(f"a sparse component needs a tensor, got {tensor!r}")
    indices, values, size = DESERIALIZE_SPARSE(tensor, dtype=kind.dtype)
    indices.set_shape([None, shape.ndims])
    size.set_shape([shape.ndims])
    found = SparseTensor(indices, values, size)
    if shape.dims is not None:
        found.set_shape(shape)
    return found
