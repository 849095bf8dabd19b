"""`tf.linalg.LinearOperator`: a batch of matrices that is known by its shape and its products.

A subclass defines `_shape`, `_shape_tensor` and `_matmul`, and whatever it can do better than by the dense matrix.
Invariant: what is said of the matrix when it is made (square, non-singular, ...) never contradicts itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError, UnimplementedError
from tfnb.ir.default import graph_of
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.array_functions import eye
from tfnb.ops.array.constants import constant, convert_to_tensor
from tfnb.ops.array.shape_ops import size
from tfnb.ops.linalg.decompositions import cholesky, cholesky_solve, matrix_solve, slogdet, svd
from tfnb.ops.linalg.diag import MATRIX_DIAG_PART
from tfnb.ops.linalg.inverse_solve import MATRIX_DETERMINANT
from tfnb.ops.linalg.inverse_solve import adjoint as adjoint_of
from tfnb.ops.logging.print_assert import assert_that
from tfnb.ops.math.compare import EQUAL
from tfnb.ops.math.reduce_functions import reduce_all, reduce_max, reduce_min, reduce_sum
from tfnb.ops.math.unary import EXP, LOG, absolute
from tfnb.types import DTypeLike, Shape, as_dtype, int32

__all__ = ["LinearOperator", "require"]


def require(holds: Any, message: str) -> Operation:
    """Returns an operation that fails with `message` unless all of `holds` are true."""
    return assert_that(reduce_all(holds), [message])


def _check(own: Shape, x: Tensor, adjoint: bool, adjoint_arg: bool, axes: tuple[int, int]) -> None:
    """Raises `ShapeError` if x is known not to have as many rows as matrices of the shape `own` need."""
    if own.ndims is None or x.shape.ndims is None:
        return
    rows, needed = x.shape[-1 if adjoint_arg else -2].value, own[axes[1] if adjoint else axes[0]].value
    if None not in (rows, needed) and rows != needed:
        raise ShapeError(f"Dimensions {needed} and {rows} are not compatible: {own} and {x.shape}")


def _needs_square(operator: LinearOperator, what: str) -> None:
    if operator.is_square is False:
        raise UnimplementedError(f"{what} not implemented for an operator that is expected to not be square.")


class _Sizes:
    """The shape [B1,...,Bb, M, N] of a batch of matrices, as far as it is known, and as tensors."""

    name: str
    dtype: Any
    graph_parents: list[Any]

    def _shape(self) -> Shape:
        raise UnimplementedError("_shape is not implemented.")

    def _shape_tensor(self) -> Any:
        raise UnimplementedError("_shape_tensor is not implemented.")

    def _call(self, name: str, function: Callable[..., Any], *args: Any) -> Any:
        graph = graph_of([*self.graph_parents, *args])
        with graph.as_default(), graph.name_scope(self.name), graph.name_scope(name):
            return function(*args)

    @property
    def shape(self) -> Shape:
        """The shape, as far as it is known."""
        return self._shape()

    @property
    def batch_shape(self) -> Shape:
        """The shape without the last two dimensions, as far as it is known."""
        return self.shape[:-2]

    @property
    def tensor_rank(self) -> int | None:
        """The number of dimensions, None if it is not known."""
        return self.shape.ndims

    @property
    def domain_dimension(self) -> Any:
        """N, the number of columns; a dimension without a value if it is not known."""
        return Shape((None,))[0] if self.shape.ndims is None else self.shape[-1]

    @property
    def range_dimension(self) -> Any:
        """M, the number of rows; a dimension without a value if it is not known."""
        return Shape((None,))[0] if self.shape.ndims is None else self.shape[-2]

    def shape_tensor(self, name: str = "shape_tensor") -> Any:
        """Returns the shape, int32."""
        known = self.shape
        if known.is_fully_defined():
            return self._call(name, lambda: constant(known.as_list(), int32))
        return self._call(name, self._shape_tensor)

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Any:
        """Returns the shape without the last two dimensions, int32."""
        return self._call(name, lambda: self.shape_tensor()[:-2])

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Any:
        """Returns the number of dimensions, int32."""
        return self._call(name, lambda: size(self.shape_tensor()))

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Any:
        """Returns the number of columns, int32."""
        return self._call(name, lambda: self.shape_tensor()[-1])

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Any:
        """Returns the number of rows, int32."""
        return self._call(name, lambda: self.shape_tensor()[-2])


class LinearOperator(_Sizes):
    """A batch of matrices [B1,...,Bb, M, N]; see the methods for what it does.

    dtype: that of the elements. graph_parents: tensors whose graph the results go to. is_non_singular, is_self_adjoint,
    is_positive_definite, is_square: what is known of the matrices, None if nothing is. Raises `InvalidArgumentError`
    when that contradicts itself: a positive definite matrix is not singular, and that and a self-adjoint one is square.
    """

    def __init__(
        self,
        dtype: DTypeLike,
        graph_parents: Sequence[Tensor] | None = None,
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
        for kind, holds in (("non-singular", is_non_singular), ("self-adjoint", is_self_adjoint)):
            if holds:
                if is_square is False:
                    raise InvalidArgumentError(f"A {kind} matrix is always square.")
                is_square = True
        self.dtype, self.name = as_dtype(dtype), name or type(self).__name__
        self.graph_parents = list(graph_parents or ())
        self.is_non_singular, self.is_self_adjoint = is_non_singular, is_self_adjoint
        self.is_positive_definite, self._is_square = is_positive_definite, is_square

    @property
    def is_square(self) -> bool | None:
        """Whether the matrices are square, None if that is not known. Raises `InvalidArgumentError` if it is denied."""
        rows, columns = self.range_dimension.value, self.domain_dimension.value
        known = None if None in (rows, columns) else rows == columns
        if self._is_square is False and known:
            raise InvalidArgumentError("User set is_square hint to False, but the operator was square.")
        return known if self._is_square is None else self._is_square

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        raise UnimplementedError("_matmul is not implemented.")

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        right = adjoint_of(rhs) if adjoint_arg else rhs
        if self.is_positive_definite and self.is_self_adjoint:
            return cholesky_solve(cholesky(self.to_dense()), right)
        return matrix_solve(self.to_dense(), right, adjoint=adjoint)

    def _to_dense(self) -> Any:
        batch = self.batch_shape_tensor()
        return self.matmul(eye(self.domain_dimension_tensor(), batch_shape=batch, dtype=self.dtype))

    def _diag_part(self) -> Any:
        return MATRIX_DIAG_PART(self.to_dense())

    def _log_abs_determinant(self) -> Any:
        if self.is_positive_definite and self.is_self_adjoint:
            return 2.0 * reduce_sum(LOG(MATRIX_DIAG_PART(cholesky(self.to_dense()))), -1)
        return slogdet(self.to_dense())[1]

    def _determinant(self) -> Any:
        if self.is_positive_definite and self.is_self_adjoint:
            return EXP(self.log_abs_determinant())
        return MATRIX_DETERMINANT(self.to_dense())

    def _assert_non_singular(self) -> Operation:
        values = svd(self.to_dense(), compute_uv=False)
        smallest = reduce_max(absolute(values), -1) * float(np.finfo(values.dtype.np).eps)
        return require(reduce_min(absolute(values), -1) > smallest, "Singular matrix encountered.")

    def _assert_positive_definite(self) -> Operation:
        diagonal = MATRIX_DIAG_PART(cholesky(self.to_dense()))
        return require(diagonal > 0.0, "Matrix was not positive definite.")

    def _assert_self_adjoint(self) -> Operation:
        dense = self.to_dense()
        return require(EQUAL(dense, adjoint_of(dense)), "Matrix was not equal to its adjoint.")

    def _tensor(self, x: TensorLike, what: str) -> Tensor:
        tensor: Tensor = convert_to_tensor(x, None if hasattr(x, "dtype") else self.dtype, name=what)
        if tensor.dtype.base_dtype is not self.dtype:
            raise InvalidArgumentError(f"Expected {what} of dtype {self.dtype.name}, got {tensor.dtype.name}")
        return tensor

    def matmul(self, x: TensorLike, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul") -> Any:
        """Returns the product with x [..., N, R], or with its adjoint; of the adjoint matrix with `adjoint`."""

        def product(value: Any) -> Any:
            tensor = self._tensor(value, "x")
            _check(self.shape, tensor, adjoint, adjoint_arg, (-1, -2))
            return self._matmul(tensor, adjoint=adjoint, adjoint_arg=adjoint_arg)

        return self._call(name, product, x)

    def matvec(self, x: TensorLike, adjoint: bool = False, name: str = "matvec") -> Any:
        """Returns the product with the vectors x [..., N]; of the adjoint matrix with `adjoint`."""
        return self._call(name, lambda v: self.matmul(self._tensor(v, "x")[..., None], adjoint)[..., 0], x)

    def solve(self, rhs: TensorLike, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve") -> Any:
        """Returns the X for which the product with X is rhs [..., M, R], or its adjoint with `adjoint_arg`.

        Raises `UnimplementedError` for matrices that are known to be singular or not square.
        """
        if self.is_non_singular is False:
            raise UnimplementedError("Exact solve not implemented for an operator that is expected to be singular.")
        _needs_square(self, "Exact solve")

        def solution(value: Any) -> Any:
            tensor = self._tensor(value, "rhs")
            _check(self.shape, tensor, adjoint, adjoint_arg, (-2, -1))
            return self._solve(tensor, adjoint=adjoint, adjoint_arg=adjoint_arg)

        return self._call(name, solution, rhs)

    def solvevec(self, rhs: TensorLike, adjoint: bool = False, name: str = "solve") -> Any:
        """Returns the vectors whose product is rhs [..., M]; errors as of `solve`."""
        return self._call(name, lambda v: self.solve(self._tensor(v, "rhs")[..., None], adjoint)[..., 0], rhs)

    def determinant(self, name: str = "det") -> Any:
        """Returns the determinants [B1,...,Bb]. Raises `UnimplementedError` for matrices that are not square."""
        _needs_square(self, "Determinant")
        return self._call(name, self._determinant)

    def log_abs_determinant(self, name: str = "log_abs_det") -> Any:
        """Returns log |determinant| [B1,...,Bb]. Raises `UnimplementedError` for matrices that are not square."""
        _needs_square(self, "Determinant")
        return self._call(name, self._log_abs_determinant)

    def to_dense(self, name: str = "to_dense") -> Any:
        """Returns the matrices as a tensor [B1,...,Bb, M, N]."""
        return self._call(name, self._to_dense)

    def diag_part(self, name: str = "diag_part") -> Any:
        """Returns the elements of the main diagonals, [B1,...,Bb, min(M, N)]."""
        return self._call(name, self._diag_part)

    def trace(self, name: str = "trace") -> Any:
        """Returns the sums of the main diagonals, [B1,...,Bb]."""
        return self._call(name, lambda: reduce_sum(self.diag_part(), -1))

    def add_to_tensor(self, x: TensorLike, name: str = "add_to_tensor") -> Any:
        """Returns the sum of the matrices and x, of a shape that broadcasts."""
        return self._call(name, lambda v: self.to_dense() + self._tensor(v, "x"), x)

    def assert_non_singular(self, name: str = "assert_non_singular") -> Any:
        """Returns an operation that fails if a matrix is singular, by its singular values."""
        return self._call(name, self._assert_non_singular)

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> Any:
        """Returns an operation that fails if a matrix is not positive definite, by its Cholesky decomposition."""
        return self._call(name, self._assert_positive_definite)

    def assert_self_adjoint(self, name: str = "assert_self_adjoint") -> Any:
        """Returns an operation that fails if a matrix does not equal its adjoint."""
        return self._call(name, self._assert_self_adjoint)
