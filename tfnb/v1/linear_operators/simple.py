"""Operators that consist of one part: a diagonal, a matrix, a triangle, a multiple of the identity, zeros.

Invariant: a structure that decides a property, as the identity is self-adjoint, does not let it be denied.
"""

from __future__ import annotations

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.const import constant_value
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.array_functions import eye
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import constant, convert_to_tensor, ones, zeros
from tfnb.ops.array.shape_ops import EXPAND_DIMS, shape
from tfnb.ops.control_flow.switch_merge import NO_OP
from tfnb.ops.linalg.band_part import MATRIX_BAND_PART
from tfnb.ops.linalg.decompositions import matrix_triangular_solve
from tfnb.ops.linalg.diag import MATRIX_DIAG, MATRIX_DIAG_PART
from tfnb.ops.linalg.matrix_functions import adjoint_of
from tfnb.ops.logging.assertions import API as ASSERTIONS
from tfnb.ops.math.binary import POW
from tfnb.ops.math.cast import cast
from tfnb.ops.math.complex_numbers import conj, imag, real
from tfnb.ops.math.reduce_functions import reduce_prod, reduce_sum
from tfnb.ops.math.unary import LOG, RECIPROCAL, SQRT, absolute
from tfnb.types import DTypeLike, Shape, as_dtype, as_shape, float32
from tfnb.v1.linear_operators.operator import WRAPPERS, LinearOperator, same_batch
from tfnb.v1.linear_operators.shapes import given_sizes

__all__ = [
    "LinearOperatorDiag",
    "LinearOperatorFullMatrix",
    "LinearOperatorIdentity",
    "LinearOperatorLowerTriangular",
    "LinearOperatorScaledIdentity",
    "LinearOperatorZeros",
]


def as_column(x: TensorLike) -> Tensor:
    """Returns vectors, shape (batch..., n), as matrices of one column each, shape (batch..., n, 1)."""
    return EXPAND_DIMS(x, np.int32(-1))


def as_matrix(x: TensorLike, name: str, least: int) -> Tensor:
    """Returns the argument `name` of an operator as a tensor, which must have at least `least` dimensions."""
    tensor = convert_to_tensor(x, name=name)
    if tensor.shape.ndims is not None and tensor.shape.ndims < least:
        raise InvalidArgumentError(f"Argument {name} must have at least {least} dimensions. Found: {tensor}")
    return tensor


def not_zero(values: Tensor, message: str) -> Operation:
    """Returns an operation that fails in a step in which a value is zero."""
    return ASSERTIONS["assert_none_equal"](values, values * 0, message=message)


class LinearOperatorFullMatrix(LinearOperator):
    """The operator of a `matrix` that is given, shape (batch..., rows, columns)."""

    def __init__(
        self,
        matrix: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorFullMatrix",
    ) -> None:
        self._matrix = as_matrix(matrix, "matrix", 2)
        hints = (is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        super().__init__(self._matrix.dtype, [self._matrix], *hints, name)

    def _shape(self) -> Shape:
        return self._matrix.shape

    def _shape_tensor(self) -> Tensor:
        return shape(self._matrix)

    def _to_dense(self) -> Tensor:
        return self._matrix


class LinearOperatorLowerTriangular(LinearOperator):
    """The operator of the lower triangle of `tril`, shape (batch..., n, n); what stands above it is not read."""

    def __init__(
        self,
        tril: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowerTriangular",
    ) -> None:
        if is_square is False:
            raise InvalidArgumentError("Only square lower triangular operators supported at this time.")
        given = as_matrix(tril, "tril", 2)
        self._tril = MATRIX_BAND_PART(given, np.int64(-1), np.int64(0))
        super().__init__(self._tril.dtype, [given], is_non_singular, is_self_adjoint, is_positive_definite, True, name)

    def _shape(self) -> Shape:
        return self._tril.shape

    def _shape_tensor(self) -> Tensor:
        return shape(self._tril)

    def _to_dense(self) -> Tensor:
        return self._tril

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        left, right = same_batch(self._tril, rhs)
        return matrix_triangular_solve(left, right, lower=True, adjoint=adjoint)

    def _determinant(self) -> Tensor:
        return reduce_prod(MATRIX_DIAG_PART(self._tril), -1)

    def _log_abs_determinant(self) -> Tensor:
        return reduce_sum(LOG(absolute(MATRIX_DIAG_PART(self._tril))), -1)

    def _assert_non_singular(self) -> Operation:
        return not_zero(MATRIX_DIAG_PART(self._tril), "Singular operator:  Diagonal contained zero values.")


class LinearOperatorDiag(LinearOperator):
    """The operator of a matrix with the diagonal `diag`, shape (batch..., n), and zeros elsewhere."""

    def __init__(
        self,
        diag: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorDiag",
    ) -> None:
        self._diag = as_matrix(diag, "diag", 1)
        if is_square is False:
            raise InvalidArgumentError("Only square diagonal operators currently supported.")
        if not self._diag.dtype.is_complex:
            if is_self_adjoint is False:
                raise InvalidArgumentError("A real diagonal operator is always self adjoint.")
            is_self_adjoint = True
        hints = (is_non_singular, is_self_adjoint, is_positive_definite, True)
        super().__init__(self._diag.dtype, [self._diag], *hints, name)

    @property
    def diag(self) -> Tensor:
        """The diagonal."""
        return self._diag

    def _shape(self) -> Shape:
        dims = self._diag.shape.sizes
        return Shape(None) if dims is None else Shape((*dims, dims[-1]))

    def _shape_tensor(self) -> Tensor:
        sizes = shape(self._diag)
        return concat([sizes, sizes[-1:]], 0)

    def _to_dense(self) -> Tensor:
        return MATRIX_DIAG(self._diag)

    def _matmul(self, x: Tensor, adjoint: bool, adjoint_arg: bool) -> Tensor:
        factors = conj(self._diag) if adjoint else self._diag
        return as_column(factors) * (adjoint_of(x) if adjoint_arg else x)

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return rhs / as_column(conj(self._diag) if adjoint else self._diag)

    def _diag_part(self) -> Tensor:
        return self._diag

    def _determinant(self) -> Tensor:
        return reduce_prod(self._diag, -1)

    def _log_abs_determinant(self) -> Tensor:
        return reduce_sum(LOG(absolute(self._diag)), -1)

    def _same(self, diag: Tensor, positive: bool | None = None) -> LinearOperatorDiag:
        definite = self.is_positive_definite if positive is None else positive
        return LinearOperatorDiag(diag, self.is_non_singular, self.is_self_adjoint, definite)

    def _adjoint(self) -> LinearOperator:
        return self._same(conj(self._diag))

    def _inverse(self) -> LinearOperator:
        return self._same(RECIPROCAL(self._diag))

    def _cholesky(self) -> LinearOperator:
        return self._same(SQRT(self._diag), positive=True)

    def _assert_non_singular(self) -> Operation:
        return not_zero(self._diag, "Singular operator:  Diagonal contained zero values.")

    def _assert_positive_definite(self) -> Operation:
        message = "A diagonal entry has a non-positive real part: the operator is not positive definite."
        return ASSERTIONS["assert_positive"](real(self._diag), message=message)

    def _assert_self_adjoint(self) -> Operation:
        parts = imag(self._diag) if self._diag.dtype.is_complex else self._diag * 0
        message = "This diagonal operator contained non-zero imaginary values.  Thus it was not self-adjoint."
        return ASSERTIONS["assert_equal"](parts, parts * 0, message=message)


class _OfSides(LinearOperator):
    """Sizes that are given as numbers or tensors: rows, columns and a batch."""

    def _set_sides(
        self, rows: TensorLike, columns: TensorLike | None, batch: TensorLike | None, checks: bool = False
    ) -> None:
        """With `checks`, a step fails in which a size that is a tensor is negative, or has another rank."""
        self._checks = checks
        self._rows = given_sizes(rows, "num_rows", 0, checks)
        self._columns = self._rows if columns is None else given_sizes(columns, "num_columns", 0, checks)
        self._batch = None if batch is None else given_sizes(batch, "batch_shape", 1, checks)[0]

    def _batch_shape(self) -> Shape:
        if self._batch is None:
            return Shape(())
        known = constant_value(self._batch)
        if known is not None:
            return as_shape(known.tolist())
        return Shape(None if self._batch.shape.sizes is None else (None,) * (self._batch.shape.sizes[0] or 0))

    def _shape(self) -> Shape:
        return self._batch_shape().concatenate(Shape((self._rows[1], self._columns[1])))

    def _shape_tensor(self) -> Tensor:
        sides = [as_column(self._rows[0]), as_column(self._columns[0])]
        return concat(sides if self._batch is None else [self._batch, *sides], 0)

    def _sizes(self, *last: TensorLike) -> Tensor:
        """The batch followed by other sizes."""
        parts = [as_column(part) for part in last]
        if not parts:
            return self.batch_shape_tensor()
        return concat(parts if self._batch is None else [self._batch, *parts], 0)


class LinearOperatorIdentity(_OfSides):
    """The operator of the identity of `num_rows` rows, one for each element of a batch of shape `batch_shape`.

    dtype: that of the elements. assert_proper_shapes: sizes that are tensors are checked in each step.
    """

    def __init__(
        self,
        num_rows: TensorLike,
        batch_shape: TensorLike | None = None,
        dtype: DTypeLike | None = None,
        is_non_singular: bool | None = True,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = True,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorIdentity",
    ) -> None:
        given = (("self adjoint", is_self_adjoint), ("square", is_square), ("non-singular", is_non_singular))
        for word, value in given:
            if not value:
                raise InvalidArgumentError(f"An identity operator is always {word}.")
        if not is_positive_definite:
            raise InvalidArgumentError("An identity operator is always positive-definite.")
        self._set_sides(num_rows, None, batch_shape, assert_proper_shapes)
        super().__init__(as_dtype(dtype or float32), None, True, True, True, True, name)

    def _to_dense(self) -> Tensor:
        return eye(self._rows[0], batch_shape=self._batch, dtype=self.dtype)

    def _matmul(self, x: Tensor, adjoint: bool, adjoint_arg: bool) -> Tensor:
        right = adjoint_of(x) if adjoint_arg else x
        if self._batch is None and not self._checks:
            return right
        return right + zeros(self._sizes(self._rows[0], np.int32(1)), dtype=self.dtype)

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return self._matmul(rhs, False, False)

    def _diag_part(self) -> Tensor:
        return ones(self._sizes(self._rows[0]), dtype=self.dtype)

    def _determinant(self) -> Tensor:
        return ones(self._sizes(), dtype=self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return zeros(self._sizes(), dtype=self.dtype.real_dtype)

    def _inverse(self) -> LinearOperator:
        return self

    def _cholesky(self) -> LinearOperator:
        return self

    def _assert_non_singular(self) -> Operation:
        return NO_OP()

    _assert_positive_definite = _assert_self_adjoint = _assert_non_singular


class LinearOperatorScaledIdentity(_OfSides):
    """The operator of the identity of `num_rows` rows times each of `multiplier`, shape (batch...).

    assert_proper_shapes: sizes that are tensors are checked in each step.
    """

    def __init__(
        self,
        num_rows: TensorLike,
        multiplier: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorScaledIdentity",
    ) -> None:
        if not is_square:
            raise InvalidArgumentError("A ScaledIdentity operator is always square.")
        self._multiplier = convert_to_tensor(multiplier, name="multiplier")
        if not self._multiplier.dtype.is_complex:
            if is_self_adjoint is False:
                raise InvalidArgumentError("A real diagonal operator is always self adjoint.")
            is_self_adjoint = True
        self._set_sides(num_rows, None, None, assert_proper_shapes)
        self._batch = shape(self._multiplier)
        hints = (is_non_singular, is_self_adjoint, is_positive_definite, True)
        super().__init__(self._multiplier.dtype, [self._multiplier], *hints, name)

    @property
    def multiplier(self) -> Tensor:
        """The multiplier."""
        return self._multiplier

    def _batch_shape(self) -> Shape:
        return self._multiplier.shape

    def _factor(self, adjoint: bool, dimensions: int) -> Tensor:
        factor = conj(self._multiplier) if adjoint else self._multiplier
        for _ in range(dimensions):
            factor = as_column(factor)
        return factor

    def _to_dense(self) -> Tensor:
        return eye(self._rows[0], dtype=self.dtype) * self._factor(False, 2)

    def _checked(self, x: Tensor) -> Tensor:
        return x + zeros(concat([as_column(self._rows[0]), constant([1])], 0), dtype=self.dtype) if self._checks else x

    def _matmul(self, x: Tensor, adjoint: bool, adjoint_arg: bool) -> Tensor:
        return self._checked(adjoint_of(x) if adjoint_arg else x) * self._factor(adjoint, 2)

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return self._checked(rhs) / self._factor(adjoint, 2)

    def _diag_part(self) -> Tensor:
        return ones(as_column(self._rows[0]), dtype=self.dtype) * self._factor(False, 1)

    def _determinant(self) -> Tensor:
        return POW(self._multiplier, cast(self._rows[0], self.dtype))

    def _log_abs_determinant(self) -> Tensor:
        return LOG(absolute(self._multiplier)) * cast(self._rows[0], self.dtype.real_dtype)

    def _same(self, multiplier: Tensor) -> LinearOperator:
        hints = (self.is_non_singular, self.is_self_adjoint, self.is_positive_definite)
        return LinearOperatorScaledIdentity(self._rows[0], multiplier, *hints)

    def _adjoint(self) -> LinearOperator:
        return self._same(conj(self._multiplier))

    def _inverse(self) -> LinearOperator:
        return self._same(RECIPROCAL(self._multiplier))

    def _cholesky(self) -> LinearOperator:
        return self._same(SQRT(self._multiplier))

    def _assert_non_singular(self) -> Operation:
        return not_zero(self._multiplier, "LinearOperator was singular")

    def _assert_positive_definite(self) -> Operation:
        return ASSERTIONS["assert_positive"](
            real(self._multiplier), message="LinearOperator was not positive definite."
        )


class LinearOperatorZeros(_OfSides):
    """The operator of zeros of `num_rows` rows and `num_columns` columns, for each element of a batch.

    num_columns: None for as many as rows. assert_proper_shapes: sizes that are tensors are checked in each step.
    """

    def __init__(
        self,
        num_rows: TensorLike,
        num_columns: TensorLike | None = None,
        batch_shape: TensorLike | None = None,
        dtype: DTypeLike | None = None,
        is_non_singular: bool | None = False,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = False,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorZeros",
    ) -> None:
        if is_non_singular:
            raise InvalidArgumentError("A zero operator is always singular.")
        if is_positive_definite:
            raise InvalidArgumentError("A zero operator is always not positive-definite.")
        self._set_sides(num_rows, num_columns, batch_shape, assert_proper_shapes)
        super().__init__(as_dtype(dtype or float32), None, False, is_self_adjoint, False, is_square, name)

    def _to_dense(self) -> Tensor:
        return zeros(self.shape_tensor(), dtype=self.dtype)

    def _diag_part(self) -> Tensor:
        return MATRIX_DIAG_PART(self._to_dense())

    def _determinant(self) -> Tensor:
        return zeros(self._sizes(), dtype=self.dtype)

    def _adjoint(self) -> LinearOperator:
        square = self.is_square
        return LinearOperatorZeros(
            self._columns[0], self._rows[0], self._batch, self.dtype, False, square, False, square, self._checks
        )

    def _assert_non_singular(self) -> Operation:
        raise InvalidArgumentError("Zeros operators are always non-invertible.")

    def _assert_positive_definite(self) -> Operation:
        raise InvalidArgumentError("Zeros operators are always non-positive definite.")


WRAPPERS["LinearOperatorLowerTriangular"] = LinearOperatorLowerTriangular
