"""Specifications of values: dtype and shape of a tensor, of the parts of a composite tensor, or of an array of tensors.

Invariant: a specification is immutable and compared by its contents; it holds no tensors.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tfnb.client.control_flow.tensor_array import TensorArray
from tfnb.client.dataset.dataset import Dataset
from tfnb.client.dataset.iterators import Iterator
from tfnb.client.graph.nest import flatten, pack
from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import Tensor
from tfnb.types import DType, DTypeLike, Shape, ShapeLike, as_dtype, as_shape, float32, int32, int64

__all__ = [
    "IndexedSlicesSpec",
    "RaggedTensorSpec",
    "RaggedTensorStructure",
    "SparseTensorSpec",
    "SparseTensorStructure",
    "TensorArraySpec",
    "TensorArrayStructure",
    "TensorSpec",
    "TensorStructure",
    "TypeSpec",
    "get_structure",
]


class TypeSpec:
    """The specification of a value; the classes below are its kinds."""

    value_type: ClassVar[Any] = None

    def _contents(self) -> tuple[Any, ...]:
        return ()

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Returns whether a value, or each value of another specification, can have this one."""
        other = spec_or_value if isinstance(spec_or_value, TypeSpec) else _spec_of(spec_or_value)
        if type(other) is not type(self):
            return False
        pairs = zip(self._contents(), other._contents(), strict=True)
        return all(a.is_compatible_with(b) if isinstance(a, Shape) else a == b for a, b in pairs)

    def most_specific_compatible_type(self, other: TypeSpec) -> TypeSpec:
        """Returns the specification that has what this one and `other` have in common; other dimensions are unknown.

        Raises `InvalidArgumentError` when something else differs.
        """
        same_kind = type(other) is type(self)
        pairs = list(zip(self._contents(), other._contents(), strict=True)) if same_kind else []
        if not same_kind or any(a != b for a, b in pairs if not isinstance(a, Shape)):
            raise InvalidArgumentError(f"No TypeSpec is compatible with both {self} and {other}")
        return self._with([a.most_specific_compatible_shape(b) if isinstance(a, Shape) else a for a, b in pairs])

    def _with(self, contents: list[Any]) -> TypeSpec:
        return type(self)(*contents)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._contents() == other._contents()

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((type(self).__name__, *map(str, self._contents())))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self._contents()))})"


class TensorSpec(TypeSpec):
    """The shape, dtype and name of a tensor."""

    value_type = Tensor

    def __init__(self, shape: ShapeLike, dtype: DTypeLike = float32, name: str | None = None) -> None:
        self.shape: Shape = as_shape(shape)
        self.dtype: DType = as_dtype(dtype)
        self.name = name

    def _contents(self) -> tuple[Any, ...]:
        return self.shape, self.dtype

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r})"

    @classmethod
    def from_tensor(cls, tensor: Tensor, name: str | None = None) -> TensorSpec:
        """Returns the specification of a tensor."""
        return cls(tensor.shape, tensor.dtype, name or tensor.op.name)

    @classmethod
    def from_spec(cls, spec: TensorSpec, name: str | None = None) -> TensorSpec:
        """Returns the specification with another name."""
        return cls(spec.shape, spec.dtype, name or spec.name)


class SparseTensorSpec(TypeSpec):
    """The shape and dtype of a sparse tensor."""

    value_type = SparseTensor

    def __init__(self, shape: ShapeLike = None, dtype: DTypeLike = float32) -> None:
        self.shape: Shape = as_shape(shape)
        self.dtype: DType = as_dtype(dtype)

    def _contents(self) -> tuple[Any, ...]:
        return self.shape, self.dtype


class IndexedSlicesSpec(TypeSpec):
    """The shape, dtype and dtypes of the indices of `IndexedSlices`; `indices_shape` is the shape of their indices."""

    value_type = IndexedSlices

    def __init__(
        self,
        shape: ShapeLike = None,
        dtype: DTypeLike = float32,
        indices_dtype: DTypeLike = int64,
        dense_shape_dtype: DTypeLike | None = None,
        indices_shape: ShapeLike = None,
    ) -> None:
        self.shape: Shape = as_shape(shape)
        self.dtype: DType = as_dtype(dtype)
        self.indices_dtype = as_dtype(indices_dtype)
        self.dense_shape_dtype = None if dense_shape_dtype is None else as_dtype(dense_shape_dtype)
        self.indices_shape: Shape = as_shape(indices_shape).with_rank(1)

    def _contents(self) -> tuple[Any, ...]:
        return self.shape, self.dtype, self.indices_dtype, self.dense_shape_dtype, self.indices_shape


class TensorArraySpec(TypeSpec):
    """The shape and dtype of the elements of a tensor array."""

    value_type = TensorArray

    def __init__(
        self,
        element_shape: ShapeLike = None,
        dtype: DTypeLike = float32,
        dynamic_size: bool = False,
        infer_shape: bool = True,
    ) -> None:
        self.element_shape: Shape = as_shape(element_shape)
        self.dtype: DType = as_dtype(dtype)
        self.dynamic_size, self.infer_shape = dynamic_size, infer_shape

    def _contents(self) -> tuple[Any, ...]:
        return self.element_shape, self.dtype, self.dynamic_size, self.infer_shape


class RaggedTensorSpec(TypeSpec):
    """The shape and dtype of a ragged tensor, the number of its ragged dimensions, and the dtype of their limits.

    Raises `InvalidArgumentError` without a shape or `ragged_rank`.
    """

    def __init__(
        self,
        shape: ShapeLike = None,
        dtype: DTypeLike = float32,
        ragged_rank: int | None = None,
        row_splits_dtype: DTypeLike = int64,
    ) -> None:
        self.shape: Shape = as_shape(shape)
        self.dtype: DType = as_dtype(dtype)
        if ragged_rank is None and self.shape.ndims is None:
            raise InvalidArgumentError("RaggedTensorSpec: needed a ragged_rank, or a shape of known rank")
        self.ragged_rank = (self.shape.ndims or 1) - 1 if ragged_rank is None else ragged_rank
        self.row_splits_dtype = as_dtype(row_splits_dtype)
        if self.row_splits_dtype not in (int32, int64):
            raise DTypeError(f"RaggedTensorSpec: row_splits_dtype must be int32 or int64, got {row_splits_dtype!r}")

    def _contents(self) -> tuple[Any, ...]:
        return self.shape, self.dtype, self.ragged_rank, self.row_splits_dtype


def _spec_of(value: object) -> TypeSpec:
    if isinstance(value, SparseTensor):
        return SparseTensorSpec(value.shape, value.dtype)
    if isinstance(value, IndexedSlices):
        indices = value.graph.to_tensor(value.indices)
        has_shape = value.dense_shape is not None
        kind = value.graph.to_tensor(value.dense_shape).dtype if has_shape else None
        return IndexedSlicesSpec(value.shape, value.dtype, indices.dtype, kind, indices.shape)
    if isinstance(value, Tensor):
        return TensorSpec(value.shape, value.dtype)
    array = np.asarray(value)
    return TensorSpec(array.shape, as_dtype(array.dtype))


def TensorStructure(dtype: DTypeLike, shape: ShapeLike) -> TensorSpec:
    """Returns the specification of a tensor, with the arguments in the order of `tf.data`."""
    return TensorSpec(shape, dtype)


def SparseTensorStructure(dtype: DTypeLike, shape: ShapeLike) -> SparseTensorSpec:
    """Returns the specification of a sparse tensor, with the arguments in the order of `tf.data`."""
    return SparseTensorSpec(shape, dtype)


def TensorArrayStructure(
    dtype: DTypeLike, element_shape: ShapeLike, dynamic_size: bool, infer_shape: bool
) -> TensorArraySpec:
    """Returns the specification of a tensor array, with the arguments in the order of `tf.data`."""
    return TensorArraySpec(element_shape, dtype, dynamic_size, infer_shape)


def RaggedTensorStructure(dtype: DTypeLike, shape: ShapeLike, ragged_rank: int) -> RaggedTensorSpec:
    """Returns the specification of a ragged tensor, with the arguments in the order of `tf.data`."""
    return RaggedTensorSpec(shape, dtype, ragged_rank)


def get_structure(dataset_or_iterator: Dataset | Iterator) -> Any:
    """Returns the specifications of the elements of a data set or an iterator, in the structure of the elements."""
    types, shapes = dataset_or_iterator.output_types, dataset_or_iterator.output_shapes
    kinds = flatten(dataset_or_iterator.output_classes)
    made = [
        SparseTensorSpec(shape, kind) if cls is SparseTensor else TensorSpec(shape, kind)
        for cls, kind, shape in zip(kinds, flatten(types), _leaves(shapes, types), strict=True)
    ]
    return pack(types, made)


def _leaves(shapes: Any, types: object) -> list[Shape]:
    """The shapes in the order of `flatten(types)`."""
    if isinstance(types, dict):
        return [leaf for key in sorted(types) for leaf in _leaves(shapes[key], types[key])]
    if isinstance(types, (list, tuple)):
        return [leaf for s, t in zip(shapes, types, strict=True) for leaf in _leaves(s, t)]
    return [as_shape(shapes)]
