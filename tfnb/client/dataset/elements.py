"""The components of the elements of data sets: tensors and sparse tensors, in nested tuples and dicts (`tf.data`).

Between the operations of data sets every component is carried by one tensor: a dense component by itself, a sparse one
by a vector of three variants, so that batches of it can be stacked. Invariant: `unwired(t, s, wired(x))` equals
`x`, if `t` and `s` are the type and the shape of `x`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from tfnb.errors import DTypeError
from tfnb.ir.default import get_default_graph
from tfnb.ir.sparse import SparseTensor, SparseTensorValue
from tfnb.ir.tensor import Tensor
from tfnb.ops.io.serialized_tensors import DESERIALIZE_SPARSE, serialize_sparse
from tfnb.types import DType, Shape, unknown_shape, variant

__all__ = [
    "Component",
    "ComponentType",
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


Component: TypeAlias = Tensor | SparseTensor
ComponentType: TypeAlias = DType | SparseType


def parts(value: object) -> list[Any]:
    """Returns the components of an element, or the leaves of a structure like it, in order. A sparse tensor is one
    component.

    The values of a dict come in the order of its sorted keys.
    """
    if isinstance(value, Mapping):
        return [p for key in sorted(value) for p in parts(value[key])]
    if isinstance(value, tuple) and not isinstance(value, SparseTensorValue):
        return [p for v in value for p in parts(v)]
    return [value]


def mapped(value: object, function: Callable[[Any], Any]) -> Any:
    """Returns the same structure with `function(component)` in place of each component."""
    if isinstance(value, Mapping):
        return {key: mapped(v, function) for key, v in value.items()}
    if isinstance(value, tuple) and not isinstance(value, SparseTensorValue):
        results = [mapped(v, function) for v in value]
        return type(value)(*results) if hasattr(value, "_fields") else tuple(results)
    return function(value)


def normal(value: object) -> Any:
    """Returns the element that a user's value stands for. Tuples and dicts stay; anything else, lists too, becomes a
    tensor.
    """

    def one(v: object) -> Component:
        if isinstance(v, (SparseTensor, SparseTensorValue)):
            return SparseTensor.from_value(v)
        return get_default_graph().to_tensor(v)

    return mapped(value, one)


def type_of(component: Component | ComponentType) -> ComponentType:
    """Returns the type of a component, or a component type unchanged."""
    if isinstance(component, (DType, SparseType)):
        return component
    return SparseType(component.dtype) if isinstance(component, SparseTensor) else component.dtype


def value_dtype(kind: ComponentType) -> DType:
    """Returns the dtype of the values of a component."""
    return kind.dtype if isinstance(kind, SparseType) else kind


def of_classes(types: object, classes: object) -> object:
    """Returns the component types for a structure of dtypes and a structure of `tf.Tensor` and `tf.SparseTensor` like
    it.

    `classes` is None if all components are dense.
    """
    if classes is None:
        return types
    class_iterator = iter(parts(classes))
    return mapped(types, lambda t: SparseType(t) if next(class_iterator) is SparseTensor else t)


def wire_dtype(kind: ComponentType) -> DType:
    """Returns the dtype of the tensor that carries a component."""
    return variant if isinstance(kind, SparseType) else kind


def wire_shape(kind: ComponentType, shape: Shape) -> Shape:
    """Returns the static shape of the tensor that carries a component of static shape `shape`."""
    return unknown_shape if isinstance(kind, SparseType) else shape


def wired(component: Component) -> Tensor:
    """Returns the tensor that carries a component."""
    tensor: Tensor = serialize_sparse(component, out_type=variant) if isinstance(component, SparseTensor) else component
    return tensor


def unwired(kind: ComponentType, shape: Shape, tensor: Tensor) -> Component:
    """Returns the component of type `kind` and static shape `shape` that a tensor carries.

    Raises `DTypeError` when a sparse component is carried by anything other than a tensor.
    """
    if not isinstance(kind, SparseType):
        return tensor
    if not isinstance(tensor, Tensor):
        raise DTypeError(f"a sparse component needs a tensor, got {tensor!r}")
    indices, values, size = DESERIALIZE_SPARSE(tensor, dtype=kind.dtype)
    indices.set_shape([None, shape.ndims])
    size.set_shape([shape.ndims])
    sparse = SparseTensor(indices, values, size)
    if shape.sizes is not None:
        sparse.set_shape(shape)
    return sparse
