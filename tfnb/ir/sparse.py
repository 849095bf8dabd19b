"""SparseTensor: the elements of a tensor that are not zero, and their places (OSDI'16, section 3.1).

A sparse tensor is three dense tensors, so devices, feeds and gradients treat it as these. Invariant: row i of `indices`
is the place of `values[i]` in a tensor of shape `dense_shape`. Some ops need the rows in row-major order; they say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tfnb.errors import DTypeError, InvalidArgumentError, ShapeError
from tfnb.ir.const import constant_shape
from tfnb.ir.default import graph_of
from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.tensor import GraphLike, Runner, Tensor, TensorLike, is_tensor_like
from tfnb.types import DType, Shape, as_shape, int64
from tfnb.upcalls import upcall

__all__ = ["IndexedSlicesValue", "SparseTensor", "SparseTensorValue", "parts_of", "value_type"]


class _SparseParts(NamedTuple):
    indices: Any
    values: Any
    dense_shape: Any


class SparseTensorValue(_SparseParts):
    """The value of a `SparseTensor`, which a fetch returns and which may be fed. `shape` is the 0.x name of
    `dense_shape`.
    """

    __slots__ = ()

    def __new__(
        cls, indices: object, values: object, dense_shape: object = None, shape: object = None
    ) -> SparseTensorValue:
        if (dense_shape is None) == (shape is None):
            raise InvalidArgumentError("SparseTensorValue needs dense_shape (in 0.x: shape), once")
        return super().__new__(cls, indices, values, shape if dense_shape is None else dense_shape)

    @property
    def shape(self) -> Any:
        """The 0.x name of `dense_shape`."""
        return self.dense_shape


class IndexedSlicesValue(NamedTuple):
    """The value of fetched `IndexedSlices`: rows `values` of a tensor, at `indices`."""

    values: Any
    indices: Any
    dense_shape: Any


class DenseShape(Shape):
    """The static shape of a sparse tensor. Where a tensor is needed, it is the tensor `dense_shape`, as in 0.x."""

    def __init__(self, static: Shape, tensor: Tensor) -> None:
        super().__init__(static.sizes)
        object.__setattr__(self, "_tensor", tensor)

    def __tensor__(self, dtype: DType | None = None, as_ref: bool = False) -> Tensor:
        """Returns the tensor `dense_shape`; `dtype` and `as_ref` change nothing."""
        return self._tensor  # type: ignore[attr-defined]

    def eval(self, feed_dict: Mapping[Any, Any] | None = None, session: Runner | None = None) -> Any:
        """Returns the value of the tensor `dense_shape`."""
        return self.__tensor__().eval(feed_dict, session)

    def get_shape(self) -> Shape:
        """Returns the static shape of the tensor `dense_shape`, which is a vector."""
        return self.__tensor__().shape


class SparseTensor:
    """A tensor that is zero except for some elements.

    Row i of `indices` (n, rank) is the place of element i of `values` (n,); `dense_shape` (rank,) is the tensor's
    shape. `indices` and `dense_shape` are int64. `shape` is the 0.x name of `dense_shape`. Raises `ShapeError` when the
    three do not fit each other and `DTypeError` for indices or a shape of another dtype.
    """

    def __init__(
        self,
        indices: TensorLike,
        values: TensorLike,
        dense_shape: TensorLike | None = None,
        shape: TensorLike | None = None,
    ) -> None:
        size = shape if dense_shape is None else dense_shape
        if size is None or (dense_shape is not None and shape is not None):
            raise InvalidArgumentError("SparseTensor needs dense_shape (in 0.x: shape), once")
        graph = graph_of((values, indices, size))
        with graph.as_default(), graph.name_scope("SparseTensor"):
            self._indices = _as_int64(graph, indices, "indices")
            self._values: Tensor = graph.to_tensor(values)
            self._dense_shape = _as_int64(graph, size, "dense_shape")
        self._shape: Shape | None = None
        self._check()

    def _check(self) -> None:
        try:
            n, rank = self._indices.shape.with_rank(2).sizes or (None, None)
            self._values.shape.merge_with(Shape((n,)))
            self._dense_shape.shape.merge_with(Shape((rank,)))
        except (ShapeError, InvalidArgumentError):
            raise ShapeError(
                f"SparseTensor needs indices (n, rank), values (n,) and dense_shape (rank,); got "
                f"{self._indices.shape}, {self._values.shape} and {self._dense_shape.shape}"
            ) from None

    @classmethod
    def from_value(cls, value: object) -> SparseTensor:
        """Returns the tensor of a `SparseTensorValue`; a `SparseTensor` is returned as it is.

        Raises `DTypeError` for any other value.
        """
        if isinstance(value, SparseTensor):
            return value
        if not isinstance(value, SparseTensorValue):
            raise DTypeError(f"needed a SparseTensor or a SparseTensorValue, got {type(value).__name__}")
        return cls(value.indices, value.values, value.dense_shape)

    @property
    def indices(self) -> Tensor:
        """The places of the values: int64 (n, rank)."""
        return self._indices

    @property
    def values(self) -> Tensor:
        """The values: (n,)."""
        return self._values

    @property
    def dense_shape(self) -> Tensor:
        """The shape of the dense tensor: int64 (rank,)."""
        return self._dense_shape

    @property
    def graph(self) -> Any:
        """The graph of the three tensors."""
        return self._values.graph

    @property
    def op(self) -> Any:
        """The operation that makes the values."""
        return self._values.op

    @property
    def name(self) -> str:
        """The name of the values."""
        return self._values.name

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        return self._values.dtype

    @property
    def shape(self) -> Shape:
        """The static shape of the dense tensor, which stands for the tensor `dense_shape` where one is needed."""
        constant = constant_shape(self._dense_shape)
        return DenseShape(constant if self._shape is None else self._shape.merge_with(constant), self._dense_shape)

    def get_shape(self) -> Shape:
        """Returns the static shape of the dense tensor."""
        return self.shape

    def set_shape(self, shape: object) -> None:
        """Merges `shape` into the static shape. Raises `ShapeError` if the two contradict each other."""
        self._shape = self.shape.merge_with(as_shape(shape))

    def with_values(self, new_values: TensorLike) -> SparseTensor:
        """Returns a sparse tensor with other values at the same places."""
        return SparseTensor(self._indices, new_values, self._dense_shape)

    def consumers(self) -> list[Any]:
        """Returns the operations that read one of its three tensors, each once."""
        operations = [op for t in parts_of(self) for op in t.consumers()]
        return list(dict.fromkeys(operations))

    def eval(self, feed_dict: Mapping[Any, Any] | None = None, session: Runner | None = None) -> SparseTensorValue:
        """Returns the value, computed by `session` or the default session."""
        return upcall("eval", self, feed_dict, session)

    def __mul__(self, other: TensorLike) -> SparseTensor:
        return upcall("sparse_mul", self, other)

    def __rmul__(self, other: TensorLike) -> SparseTensor:
        return upcall("sparse_mul", self, other)

    def __truediv__(self, other: TensorLike) -> SparseTensor:
        return upcall("sparse_div", self, other)

    def __repr__(self) -> str:
        return f"<tf.SparseTensor indices={self._indices!r} values={self._values!r} dense_shape={self._dense_shape!r}>"


def _as_int64(graph: GraphLike, value: TensorLike, what: str) -> Tensor:
    t = graph.to_tensor(value, None if is_tensor_like(value) else int64)
    if t.dtype is not int64:
        raise DTypeError(f"SparseTensor: {what} must be int64, got {t.dtype.name} ({t.name})", t.op)
    return t


def parts_of(composite: SparseTensor | IndexedSlices) -> tuple[Any, ...]:
    """Returns the tensors of a composite, in the order of the fields of its `value_type`; a dense shape may be None."""
    if isinstance(composite, SparseTensor):
        return composite.indices, composite.values, composite.dense_shape
    return composite.values, composite.indices, composite.dense_shape


def value_type(composite: SparseTensor | IndexedSlices) -> type[tuple[Any, ...]]:
    """Returns the class of a composite's value, a named tuple."""
    return SparseTensorValue if isinstance(composite, SparseTensor) else IndexedSlicesValue
