"""Shape, name and assumed properties of a linear operator.

Invariant: a property that is None is unknown; those that contradict each other are refused when the operator is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from tfnb.client.control_flow.primitives import with_dependencies
from tfnb.client.graph.default_graph import name_scope
from tfnb.dimension import Dimension
from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.const import constant_value
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.batch_functions import gather
from tfnb.ops.array.constants import constant, convert_to_tensor
from tfnb.ops.array.shape_ops import size
from tfnb.ops.logging.assertions import API as ASSERTIONS
from tfnb.ops.logging.assertions import assert_non_negative
from tfnb.ops.math.cast import cast
from tfnb.types import DType, DTypeLike, Shape, as_dtype, int32

__all__ = ["OperatorShape", "given_sizes"]


def given_sizes(value: TensorLike, name: str, rank: int, checks: bool) -> tuple[Any, Any]:
    """Returns sizes that a user gives as an int32 tensor of `rank` 0 or 1, and if they are constant as int or list.

    name: the argument, for messages. checks: steps fail for sizes that are negative or have another rank. Raises
    `DTypeError` for sizes that are no integers, `InvalidArgumentError` for constants that are no sizes.
    """
    tensor = convert_to_tensor(value, int32 if isinstance(value, (list, tuple)) and not value else None, name=name)
    if not tensor.dtype.is_integer:
        raise DTypeError(f"Argument {name} must be integer type. Found: {value!r}")
    needed, least = f"Argument {name} must be a {rank}-D Tensor", f"Argument {name} must be non-negative"
    if tensor.shape.ndims not in (None, rank):
        raise InvalidArgumentError(f"{needed}. Found: {value!r}")
    known = constant_value(tensor)
    if known is not None:
        if (known < 0).any():
            raise InvalidArgumentError(f"{least}. Found: {value!r}")
        return cast(tensor, int32), known.tolist()
    if checks:
        asserts = [ASSERTIONS["assert_rank"](tensor, rank, message=needed), assert_non_negative(tensor, message=least)]
        tensor = with_dependencies(asserts, tensor)
    return cast(tensor, int32), None


class OperatorShape:
    """What is known of an operator of shape (batch..., rows, columns) before anything is computed."""

    def __init__(
        self,
        dtype: DTypeLike,
        graph_parents: Sequence[Any] | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        if is_positive_definite:
            if is_non_singular is False:
                raise InvalidArgumentError("A positive definite matrix is always non-singular.")
            is_non_singular = True
        if is_non_singular:
            if is_square is False:
                raise InvalidArgumentError("A non-singular matrix is always square.")
            is_square = True
        if is_self_adjoint:
            if is_square is False:
                raise InvalidArgumentError("A self-adjoint matrix is always square.")
            is_square = True
        self._dtype = as_dtype(dtype)
        self._graph_parents = list(graph_parents or ())
        self._is_non_singular, self._is_self_adjoint = is_non_singular, is_self_adjoint
        self._is_positive_definite, self._is_square = is_positive_definite, is_square
        self._name = name or type(self).__name__

    def _name_scope(self, name: str | None = None) -> AbstractContextManager[Any]:
        """Returns the scope of a method's names: `name` below that of the operator. Operators of programs enter it."""
        return name_scope(self.name if name is None else f"{self.name}/{name}")

    def _check_input_dtype(self, arg: Tensor) -> None:
        """Raises `DTypeError` unless a tensor has the dtype of the operator. Operators of programs call it."""
        if arg.dtype.base_dtype != self.dtype:
            raise DTypeError(f"Expected argument to have dtype {self.dtype}.  Found: {arg.dtype} in tensor {arg}")

    def _shape(self) -> Shape:
        raise NotImplementedError

    def _shape_tensor(self) -> Tensor:
        raise NotImplementedError

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._dtype

    @property
    def name(self) -> str:
        """The name, which begins the names of what methods add to the graph."""
        return self._name

    @property
    def graph_parents(self) -> list[Any]:
        """The tensors that the operator was made of."""
        return self._graph_parents

    @property
    def is_non_singular(self) -> bool | None:
        """Whether there is an inverse; None if unknown."""
        return self._is_non_singular

    @property
    def is_self_adjoint(self) -> bool | None:
        """Whether the matrix is its own adjoint; None if unknown."""
        return self._is_self_adjoint

    @property
    def is_positive_definite(self) -> bool | None:
        """Whether the real part of x^H A x is positive for all x other than 0; None if unknown."""
        return self._is_positive_definite

    @property
    def is_square(self) -> bool | None:
        """Whether there are as many rows as columns; None if unknown."""
        dims = self.shape.sizes
        known = None if dims is None or None in dims[-2:] else dims[-2] == dims[-1]
        if self._is_square is not None and known is not None and known is not self._is_square:
            kind = "square" if known else "not square"
            raise InvalidArgumentError(
                f"{self.name}: is_square was {self._is_square}, but the operator was {kind}: its shape is {self.shape}"
            )
        return self._is_square if known is None else known

    @property
    def shape(self) -> Shape:
        """The static shape (batch..., rows, columns)."""
        return self._shape()

    @property
    def batch_shape(self) -> Shape:
        """The static shape without rows and columns."""
        dims = self.shape.sizes
        return Shape(None) if dims is None else Shape(dims[:-2])

    @property
    def tensor_rank(self) -> int | None:
        """The number of dimensions; None if unknown."""
        return self.shape.ndims

    @property
    def domain_dimension(self) -> Dimension:
        """The number of columns, of which the `value` is None if it is unknown."""
        dims = self.shape.sizes
        return Dimension(None if dims is None else dims[-1])

    @property
    def range_dimension(self) -> Dimension:
        """The number of rows, of which the `value` is None if it is unknown."""
        dims = self.shape.sizes
        return Dimension(None if dims is None else dims[-2])

    def shape_tensor(self, name: str = "shape_tensor") -> Tensor:
        """Returns the shape as an int32 vector."""
        with self._name_scope(name):
            known = self.shape
            if known.is_fully_defined():
                return constant(np.asarray(known.known(), np.int32))
            return self._shape_tensor()

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """Returns the shape without rows and columns, an int32 vector."""
        return self.shape_tensor(name)[:-2]

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Tensor:
        """Returns the number of dimensions, an int32 scalar."""
        rank = self.tensor_rank
        return size(self.shape_tensor(name)) if rank is None else constant(rank, int32)

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Any:
        """Returns the number of columns, an int32 scalar."""
        return self._side(-1, name)

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Any:
        """Returns the number of rows, an int32 scalar."""
        return self._side(-2, name)

    def _side(self, axis: int, name: str) -> Tensor:
        shape = self.shape_tensor(name)
        return gather(shape, size(shape) + np.int32(axis))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} '{self.name}' shape={self.shape} dtype={self.dtype.name}>"
