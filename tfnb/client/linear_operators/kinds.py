"""Linear operators of `tf.linalg`: full, diagonal, triangular and identity matrices, and products of operators.

Invariant: each does with the elements that it has what the dense matrix would do, so no zeros are stored or multiplied.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

from tfnb.client.graph.default_graph import control_dependencies
from tfnb.client.linear_operators.operator import LinearOperator, require
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.const import constant_value
from tfnb.ir.operation import Operation
from tfnb.ir.shapes import broadcast_shapes
from tfnb.ir.tensor import TensorLike
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import convert_to_tensor, ones
from tfnb.ops.array.shape_ops import RESHAPE
from tfnb.ops.array.shape_ops import shape as shape_op
from tfnb.ops.array.v1_late_ops import BROADCAST_ARGS
from tfnb.ops.linalg.band_part import MATRIX_BAND_PART
from tfnb.ops.linalg.decompositions import matrix_triangular_solve
from tfnb.ops.linalg.diag import MATRIX_DIAG
from tfnb.ops.linalg.inverse_solve import adjoint as adjoint_of
from tfnb.ops.linalg.matmul import matmul
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import EQUAL, NOT_EQUAL
from tfnb.ops.math.complex_numbers import conj, imag, real
from tfnb.ops.math.reduce_functions import reduce_prod, reduce_sum
from tfnb.ops.math.unary import LOG, absolute
from tfnb.types import DTypeLike, Shape, as_dtype, float32, int32, unknown_shape

__all__ = [
    "LinearOperatorComposition",
    "LinearOperatorDiag",
    "LinearOperatorFullMatrix",
    "LinearOperatorIdentity",
    "LinearOperatorLowerTriangular",
    "LinearOperatorScaledIdentity",
]


def _matrices(matrix: TensorLike, name: str, least: int = 2) -> Any:
    tensor = convert_to_tensor(matrix, name=name)
    if tensor.shape.ndims is not None and tensor.shape.ndims < least:
        raise ShapeError(f"Argument {name} must have at least {least} dimensions. Found: {tensor.shape}")
    return tensor


class LinearOperatorFullMatrix(LinearOperator):
    """The matrices of a tensor [B1,...,Bb, M, N]."""

    def __init__(
        self,
        matrix: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorFullMatrix",
    ) -> None:
        self._matrix = _matrices(matrix, "matrix")
        hints = (is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        super().__init__(self._matrix.dtype, [self._matrix], *hints, name)

    def _shape(self) -> Shape:
        shape: Shape = self._matrix.shape
        return shape

    def _shape_tensor(self) -> Any:
        return shape_op(self._matrix)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return matmul(self._matrix, x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _to_dense(self) -> Any:
        return self._matrix


class LinearOperatorLowerTriangular(LinearOperatorFullMatrix):
    """The lower triangles of a tensor `tril` [B1,...,Bb, N, N]; what is above the diagonal does not count."""

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
        lower = MATRIX_BAND_PART(_matrices(tril, "tril"), -1, 0)
        super().__init__(lower, is_non_singular, is_self_adjoint, is_positive_definite, True, name)

    def _assert_non_singular(self) -> Operation:
        return require(NOT_EQUAL(self._diag_part(), 0), "Singular operator: Diagonal contained zero values.")

    def _determinant(self) -> Any:
        return reduce_prod(self._diag_part(), -1)

    def _log_abs_determinant(self) -> Any:
        return reduce_sum(LOG(absolute(self._diag_part())), -1)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        right = adjoint_of(rhs) if adjoint_arg else rhs
        return matrix_triangular_solve(self._matrix, right, lower=True, adjoint=adjoint)


class LinearOperatorDiag(LinearOperator):
    """The diagonal matrices of a tensor `diag` [B1,...,Bb, N]."""

    def __init__(
        self,
        diag: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorDiag",
    ) -> None:
        if is_square is False:
            raise InvalidArgumentError("Only square diagonal operators currently supported.")
        self._diag = _matrices(diag, "diag", 1)
        if not self._diag.dtype.is_complex:
            if is_self_adjoint is False:
                raise InvalidArgumentError("A real diagonal operator is always self adjoint.")
            is_self_adjoint = True
        hints = (is_non_singular, is_self_adjoint, is_positive_definite, True)
        super().__init__(self._diag.dtype, [self._diag], *hints, name)

    @property
    def diag(self) -> Any:
        """The elements of the diagonals, [B1,...,Bb, N]."""
        return self._diag

    def _shape(self) -> Shape:
        shape: Shape = self._diag.shape
        return shape if shape.ndims is None else shape.concatenate(shape[-1:])

    def _shape_tensor(self) -> Any:
        shape = shape_op(self._diag)
        return concat([shape, shape[-1:]], 0)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return (conj(self._diag) if adjoint else self._diag)[..., None] * (adjoint_of(x) if adjoint_arg else x)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return (adjoint_of(rhs) if adjoint_arg else rhs) / (conj(self._diag) if adjoint else self._diag)[..., None]

    def _to_dense(self) -> Any:
        return MATRIX_DIAG(self._diag)

    def _diag_part(self) -> Any:
        return self._diag

    def _determinant(self) -> Any:
        return reduce_prod(self._diag, -1)

    def _log_abs_determinant(self) -> Any:
        return reduce_sum(LOG(absolute(self._diag)), -1)

    def _assert_non_singular(self) -> Operation:
        return require(NOT_EQUAL(self._diag, 0), "Singular operator: Diagonal contained zero values.")

    def _assert_positive_definite(self) -> Operation:
        diagonal = real(self._diag) if self._diag.dtype.is_complex else self._diag
        return require(diagonal > 0.0, "Operator was not positive definite: its diagonal was not positive.")

    def _assert_self_adjoint(self) -> Operation:
        zero = imag(self._diag) if self._diag.dtype.is_complex else self._diag - self._diag
        return require(EQUAL(zero, 0), "This diagonal operator contained non-zero imaginary values.")


def _rows_of_ones(num_rows: TensorLike, dtype: DTypeLike, check: bool) -> Any:
    """Returns `num_rows` ones. Raises `InvalidArgumentError` unless it is a number >= 0; with `check` a step does."""
    rows = convert_to_tensor(num_rows, name="num_rows")
    known = constant_value(rows)
    if rows.shape.ndims not in (None, 0) or (known is not None and int(known.reshape(())) < 0):
        raise InvalidArgumentError(f"num_rows must be a scalar of at least 0, got {rows if known is None else known}")
    with control_dependencies([require(rows >= 0, "num_rows must be non-negative.")] if check else []):
        return ones(RESHAPE(cast(rows, int32), [1]), dtype)


class LinearOperatorScaledIdentity(LinearOperatorDiag):
    """Identity matrices of `num_rows` rows, times the numbers `multiplier` [B1,...,Bb].

    assert_proper_shapes: a step fails if `num_rows` is negative.
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
        self.multiplier = convert_to_tensor(multiplier, name="multiplier")
        diag = self.multiplier[..., None] * _rows_of_ones(num_rows, self.multiplier.dtype, assert_proper_shapes)
        super().__init__(diag, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name)


class LinearOperatorIdentity(LinearOperatorDiag):
    """Identity matrices of `num_rows` rows, `batch_shape` of them (by default one), of `dtype` (float32 by default).

    assert_proper_shapes: a step fails if `num_rows` is negative. Raises `InvalidArgumentError` for a hint of False.
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
        if not (is_non_singular and is_self_adjoint and is_positive_definite and is_square):
            raise InvalidArgumentError("An identity operator is always non-singular, positive definite and square.")
        kind = float32 if dtype is None else as_dtype(dtype)
        row = _rows_of_ones(num_rows, kind, assert_proper_shapes)
        diag = row if batch_shape is None else ones(batch_shape, kind)[..., None] * row
        super().__init__(diag, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name)


class LinearOperatorComposition(LinearOperator):
    """The product of the matrices of several `operators`, of which the last is applied first.

    Raises `InvalidArgumentError` without operators or for different dtypes, `ShapeError` for sizes that do not fit.
    """

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        if not operators:
            raise InvalidArgumentError(f"Expected a non-empty list of operators. Found: {operators}")
        self.operators = list(operators)
        if len({o.dtype for o in self.operators}) > 1:
            raise InvalidArgumentError(
                f"Expected all operators of one dtype. Found: {[o.dtype.name for o in operators]}"
            )
        for left, right in itertools.pairwise(self.operators):
            if None not in (left.domain_dimension.value, right.range_dimension.value):
                left.shape[-1:].assert_is_compatible_with(right.shape[-2:-1])
        if is_non_singular is None and all(o.is_non_singular for o in operators):
            is_non_singular = True
        parents = [tensor for o in operators for tensor in o.graph_parents]
        own = name or "_o_".join(o.name for o in operators)
        hints = (is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        super().__init__(self.operators[0].dtype, parents, *hints, own)

    def _shape(self) -> Shape:
        first, last = self.operators[0].shape, self.operators[-1].shape
        if any(o.shape.ndims is None for o in self.operators):
            return unknown_shape
        batch = functools.reduce(broadcast_shapes, [o.batch_shape for o in self.operators])
        return batch.concatenate(first[-2:-1]).concatenate(last[-1:])

    def _shape_tensor(self) -> Any:
        batches = [o.batch_shape_tensor() for o in self.operators]
        batch = functools.reduce(lambda a, b: BROADCAST_ARGS(a, b), batches)
        first, last = self.operators[0].shape_tensor(), self.operators[-1].shape_tensor()
        return concat([batch, first[-2:-1], last[-1:]], 0)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = adjoint_of(x) if adjoint_arg else x
        for o in self.operators if adjoint else reversed(self.operators):
            x = o.matmul(x, adjoint=adjoint)
        return x

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = adjoint_of(rhs) if adjoint_arg else rhs
        for o in reversed(self.operators) if adjoint else self.operators:
            x = o.solve(x, adjoint=adjoint)
        return x

    def _determinant(self) -> Any:
        return functools.reduce(lambda a, b: a * b, [o.determinant() for o in self.operators])

    def _log_abs_determinant(self) -> Any:
        return functools.reduce(lambda a, b: a + b, [o.log_abs_determinant() for o in self.operators])
