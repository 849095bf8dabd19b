"""The base of all linear operators: products, solutions, determinants and checks, all from the matrix written out.

A structure overrides what it can compute without that. Invariant: every method gives what the same function of
`to_dense()` gives, up to rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, UnimplementedError
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import convert_to_tensor, ones
from tfnb.ops.array.select_broadcast import broadcast_dynamic_shape
from tfnb.ops.array.shape_ops import expand_dims, shape, squeeze
from tfnb.ops.linalg.decompositions import cholesky, cholesky_solve, matrix_solve, svd
from tfnb.ops.linalg.diag import MATRIX_DIAG, MATRIX_DIAG_PART
from tfnb.ops.linalg.inverse_solve import MATRIX_DETERMINANT
from tfnb.ops.linalg.matmul import matmul
from tfnb.ops.linalg.matrix_functions import adjoint_of
from tfnb.ops.logging.assertions import API as ASSERTIONS
from tfnb.ops.logging.assertions import assert_less
from tfnb.ops.math.cast import cast
from tfnb.ops.math.complex_numbers import real
from tfnb.ops.math.reduce_functions import reduce_max, reduce_min, reduce_sum
from tfnb.ops.math.reduce_sum import BROADCAST_TO
from tfnb.ops.math.unary import EXP, LOG, absolute
from tfnb.v1.linear_operators.shapes import OperatorShape

__all__ = ["LinearOperator", "same_batch", "solved"]


def same_batch(a: Tensor, b: Tensor) -> tuple[Any, Any]:
    """Returns two stacks of matrices, broadcast to the same batch."""
    first, second = a.shape.sizes, b.shape.sizes
    if first is not None and second is not None and first[:-2] == second[:-2] and None not in first[:-2]:
        return a, b
    sizes = shape(a), shape(b)
    batch = broadcast_dynamic_shape(sizes[0][:-2], sizes[1][:-2])
    left, right = (concat([batch, size[-2:]], 0) for size in sizes)
    return BROADCAST_TO(a, left), BROADCAST_TO(b, right)


def solved(matrix: Tensor, rhs: Tensor, adjoint: bool, positive: bool = False) -> Tensor:
    """Returns x of matrix @ x = rhs, for batches that broadcast; `positive`: self-adjoint and positive definite."""
    left, right = same_batch(matrix, rhs)
    return cholesky_solve(cholesky(left), right) if positive else matrix_solve(left, right, adjoint=adjoint)


class LinearOperator(OperatorShape):
    """A matrix, or a batch of matrices, of shape (batch..., rows, columns), of which a subclass has the structure.

    A subclass defines `_shape`, `_shape_tensor` and either `_to_dense` or `_matmul`; the properties that it is given
    are assumed, and the `assert_` methods check them. dtype: that of the elements. graph_parents: the tensors that
    the operator was made of. Raises `InvalidArgumentError` for properties that contradict each other.
    """

    def _to_dense(self) -> Tensor:
        if type(self)._matmul is LinearOperator._matmul:
            raise UnimplementedError(f"{self.name}: {type(self).__name__} defines neither _to_dense nor _matmul")
        sides = concat([self.batch_shape_tensor(), [self.domain_dimension_tensor()] * 2], 0)
        return self._matmul(MATRIX_DIAG(ones(sides[:-1], self.dtype)), False, False)

    def _matmul(self, x: Tensor, adjoint: bool, adjoint_arg: bool) -> Tensor:
        left, right = same_batch(self._to_dense(), x)
        return matmul(left, right, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return solved(self._to_dense(), rhs, adjoint, self._uses_cholesky())

    def _diag_part(self) -> Tensor:
        return MATRIX_DIAG_PART(self._to_dense())

    def _determinant(self) -> Tensor:
        return EXP(self._log_abs_determinant()) if self._uses_cholesky() else MATRIX_DETERMINANT(self._to_dense())

    def _log_abs_determinant(self) -> Tensor:
        if self._uses_cholesky():
            return 2.0 * reduce_sum(LOG(real(MATRIX_DIAG_PART(cholesky(self._to_dense())))), -1)
        return LOG(absolute(self._determinant()))

    def _adjoint(self) -> LinearOperator:
        return WRAPPERS["LinearOperatorAdjoint"](self)

    def _inverse(self) -> LinearOperator:
        return WRAPPERS["LinearOperatorInversion"](self)

    def _cholesky(self) -> LinearOperator:
        return WRAPPERS["LinearOperatorLowerTriangular"](cholesky(self._to_dense()), is_non_singular=True)

    def _uses_cholesky(self) -> bool:
        return bool(self.is_self_adjoint and self.is_positive_definite)

    def _need_square(self, what: str) -> None:
        if self.is_square is False:
            raise UnimplementedError(
                f"{self.name}: {what} is not implemented for an operator that is expected to not be square, as one of "
                f"shape {self.shape}"
            )

    def matmul(
        self, x: TensorLike | LinearOperator, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> Any:
        """Returns A @ x, or with `adjoint` A^H @ x.

        x: shape (batch..., columns, k), or with `adjoint_arg` the adjoint of that; or another operator, which makes an
        operator. Batches broadcast. Raises `InvalidArgumentError` when the sizes do not fit.
        """
        if isinstance(x, LinearOperator):
            left = self.adjoint() if adjoint else self
            right = x.adjoint() if adjoint_arg else x
            _check_sides(self.name, left.domain_dimension.value, right.range_dimension.value)
            return WRAPPERS["LinearOperatorComposition"]([left, right])
        with self._name_scope(name):
            tensor = convert_to_tensor(x, dtype=self.dtype)
            side = self.range_dimension.value if adjoint else self.domain_dimension.value
            dims = tensor.shape.sizes
            _check_sides(self.name, side, None if dims is None else dims[-1 if adjoint_arg else -2])
            return self._matmul(tensor, adjoint, adjoint_arg)

    __matmul__ = matmul

    def matvec(self, x: TensorLike, adjoint: bool = False, name: str = "matvec") -> Tensor:
        """Returns A @ x, or with `adjoint` A^H @ x, of vectors x, shape (batch..., columns)."""
        with self._name_scope(name):
            column = expand_dims(convert_to_tensor(x, dtype=self.dtype), -1)
        return squeeze(self.matmul(column, adjoint, name=name), [-1])

    def solve(
        self, rhs: TensorLike | LinearOperator, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"
    ) -> Any:
        """Returns X of A @ X = rhs, or with `adjoint` of A^H @ X = rhs.

        rhs: shape (batch..., rows, k), or with `adjoint_arg` the adjoint of that; or another operator. Batches
        broadcast. Raises `UnimplementedError` for a matrix that is not square, or is known to be singular.
        """
        self._need_square("solve")
        if self.is_non_singular is False:
            raise UnimplementedError(
                f"{self.name}: there is no unique solution for an operator that is expected to be singular"
            )
        if isinstance(rhs, LinearOperator):
            left = self.adjoint() if adjoint else self
            return WRAPPERS["LinearOperatorComposition"]([left.inverse(), rhs.adjoint() if adjoint_arg else rhs])
        with self._name_scope(name):
            tensor = convert_to_tensor(rhs, dtype=self.dtype)
            right = adjoint_of(tensor) if adjoint_arg else tensor
            dims = right.shape.sizes
            _check_sides(self.name, self.range_dimension.value, None if dims is None else dims[-2])
            return self._solve(right, adjoint)

    def solvevec(self, rhs: TensorLike, adjoint: bool = False, name: str = "solve") -> Tensor:
        """Returns x of A @ x = rhs, or with `adjoint` of A^H @ x = rhs, of vectors rhs, shape (batch..., rows)."""
        with self._name_scope(name):
            column = expand_dims(convert_to_tensor(rhs, dtype=self.dtype), -1)
        return squeeze(self.solve(column, adjoint, name=name), [-1])

    def determinant(self, name: str = "det") -> Tensor:
        """Returns the determinants, shape (batch...). Raises `UnimplementedError` unless the matrix is square."""
        self._need_square("determinant")
        with self._name_scope(name):
            return self._determinant()

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        """Returns log |det A|, shape (batch...), in the operator's dtype.

        Raises `UnimplementedError` unless the matrix is square.
        """
        self._need_square("log_abs_determinant")
        with self._name_scope(name):
            return cast(self._log_abs_determinant(), self.dtype)

    def trace(self, name: str = "trace") -> Tensor:
        """Returns the sums of the diagonals, shape (batch...)."""
        with self._name_scope(name):
            return reduce_sum(self._diag_part(), -1)

    def diag_part(self, name: str = "diag_part") -> Tensor:
        """Returns the diagonals, shape (batch..., min(rows, columns))."""
        with self._name_scope(name):
            return self._diag_part()

    def to_dense(self, name: str = "to_dense") -> Tensor:
        """Returns the matrix itself, a tensor of shape (batch..., rows, columns)."""
        with self._name_scope(name):
            return self._to_dense()

    def add_to_tensor(self, x: TensorLike, name: str = "add_to_tensor") -> Tensor:
        """Returns A + x; the shape of x must broadcast with that of A."""
        with self._name_scope(name):
            return self._to_dense() + convert_to_tensor(x, dtype=self.dtype)

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """Returns the operator of the conjugate transpose."""
        with self._name_scope(name):
            return self if self.is_self_adjoint else self._adjoint()

    @property
    def H(self) -> LinearOperator:
        """The operator of the conjugate transpose."""
        return self.adjoint()

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """Returns the operator of the inverse.

        Raises `InvalidArgumentError` for a matrix that is known to be singular or not square.
        """
        if self.is_square is False or self.is_non_singular is False:
            raise InvalidArgumentError(f"{self.name}: Cannot invert a matrix that is not square or is singular")
        with self._name_scope(name):
            return self._inverse()

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """Returns the operator of the lower triangle L of A = L L^H.

        Raises `InvalidArgumentError` unless the matrix is known to be self-adjoint and positive definite.
        """
        if not self._uses_cholesky():
            raise InvalidArgumentError(
                f"{self.name}: Cannot take a Cholesky decomposition: Not a positive definite self adjoint matrix."
            )
        with self._name_scope(name):
            return self._cholesky()

    def assert_non_singular(self, name: str = "assert_non_singular") -> Operation:
        """Returns an operation that fails in a step in which a matrix is singular, up to rounding."""
        with self._name_scope(name):
            return self._assert_non_singular()

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> Operation:
        """Returns an operation that fails in a step in which a matrix is not positive definite."""
        with self._name_scope(name):
            return self._assert_positive_definite()

    def assert_self_adjoint(self, name: str = "assert_self_adjoint") -> Operation:
        """Returns an operation that fails in a step in which a matrix is not its own adjoint."""
        with self._name_scope(name):
            return self._assert_self_adjoint()

    def _assert_non_singular(self) -> Operation:
        if self._uses_cholesky():
            return self._assert_positive_definite()
        values = svd(self._to_dense(), compute_uv=False)
        condition = reduce_max(values, -1) / reduce_min(values, -1)
        side = max(100, self.domain_dimension.value or 0, self.range_dimension.value or 0)
        limit = 1.0 / (side * np.finfo(self.dtype.real_dtype.np).eps)
        bound = np.asarray(limit, condition.dtype.np)
        return assert_less(condition, bound, message="Singular matrix up to precision epsilon.")

    def _assert_positive_definite(self) -> Operation:
        diagonal = real(MATRIX_DIAG_PART(cholesky(self._to_dense())))
        return ASSERTIONS["assert_positive"](diagonal, message="Matrix was not positive definite.")

    def _assert_self_adjoint(self) -> Operation:
        dense = self._to_dense()
        return ASSERTIONS["assert_equal"](dense, adjoint_of(dense), message="Matrix was not equal to its adjoint.")


def _check_sides(name: str, needed: int | None, given: int | None) -> None:
    if needed is not None and given is not None and needed != given:
        raise InvalidArgumentError(f"{name}: Dimensions are not compatible: the operator needs {needed}, got {given}")


# The classes by which methods answer that are defined in later modules, by name; `composed` and `simple` fill it.
WRAPPERS: dict[str, Any] = {}
