"""Operators that change another one in a few directions only: a mirror, an update of low rank.

Invariant: the change is kept as its factors, and never written out for a product.
"""

from __future__ import annotations

import numpy as np

from tfnb.dimension import Dimension
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.shapes import broadcast_all
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.array_functions import eye
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import convert_to_tensor, ones, zeros
from tfnb.ops.array.select_broadcast import broadcast_dynamic_shape, broadcast_static_shape
from tfnb.ops.array.shape_ops import EXPAND_DIMS, shape
from tfnb.ops.linalg.matmul import matmul
from tfnb.ops.linalg.matrix_functions import adjoint_of
from tfnb.ops.math.cast import cast
from tfnb.ops.math.complex_numbers import conj, real
from tfnb.ops.math.reduce_functions import reduce_sum
from tfnb.ops.math.unary import SQRT
from tfnb.types import Shape
from tfnb.v1.linear_operators.composed import operators_of
from tfnb.v1.linear_operators.operator import LinearOperator, same_batch
from tfnb.v1.linear_operators.simple import (
    LinearOperatorDiag,
    LinearOperatorIdentity,
    as_column,
    as_matrix,
)

__all__ = ["LinearOperatorHouseholder", "LinearOperatorLowRankUpdate"]


class LinearOperatorHouseholder(LinearOperator):
    """The operator of the mirror I - 2 v v^H / |v|^2 with the axis v = `reflection_axis`, shape (batch..., n)."""

    def __init__(
        self,
        reflection_axis: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorHouseholder",
    ) -> None:
        self._axis = as_matrix(reflection_axis, "reflection_axis", 1)
        given = (("self adjoint", is_self_adjoint), ("square", is_square), ("non-singular", is_non_singular))
        for word, value in given:
            if value is False:
                raise InvalidArgumentError(f"A Householder operator is always {word}.")
        if is_positive_definite is True:
            raise InvalidArgumentError("A Householder operator is always non-positive definite.")
        super().__init__(self._axis.dtype, [self._axis], True, True, False, True, name)

    @property
    def reflection_axis(self) -> Tensor:
        """The axis."""
        return self._axis

    def _shape(self) -> Shape:
        dims = self._axis.shape.sizes
        return Shape(None) if dims is None else Shape((*dims, dims[-1]))

    def _shape_tensor(self) -> Tensor:
        sizes = shape(self._axis)
        return concat([sizes, sizes[-1:]], 0)

    def _unit(self) -> Tensor:
        norm = SQRT(reduce_sum(real(self._axis * conj(self._axis)), -1, keepdims=True))
        return as_column(self._axis / cast(norm, self.dtype))

    def _to_dense(self) -> Tensor:
        unit = self._unit()
        return eye(shape(self._axis)[-1], dtype=self.dtype) - 2 * matmul(unit, unit, adjoint_b=True)

    def _matmul(self, x: Tensor, adjoint: bool, adjoint_arg: bool) -> Tensor:
        unit, right = same_batch(self._unit(), adjoint_of(x) if adjoint_arg else x)
        return right - 2 * matmul(unit, matmul(unit, right, adjoint_a=True))

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return self._matmul(rhs, False, False)

    def _inverse(self) -> LinearOperator:
        return self

    def _diag_part(self) -> Tensor:
        unit = self._unit()
        return 1 - 2 * reduce_sum(unit * conj(unit), -1)

    def _determinant(self) -> Tensor:
        return -ones(self.batch_shape_tensor(), dtype=self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return zeros(self.batch_shape_tensor(), dtype=self.dtype.real_dtype)


def _check_update(base: LinearOperator, u: Tensor, v: Tensor, diag: Tensor | None) -> None:
    """Raises `ShapeError` where the static shapes of the parts of L + U D V^H do not fit."""
    batch, rank = base.batch_shape, Dimension(None)
    sides = ((u, (base.range_dimension,)), (v, (base.domain_dimension,)), *(() if diag is None else ((diag, ()),)))
    for part, lengths in sides:
        if part.shape.ndims is None:
            continue
        rank = rank.merge_with(part.shape[-1])
        for length in lengths:
            length.merge_with(part.shape[-2])
        others = part.shape[: -1 - len(lengths)]
        try:
            batch = broadcast_static_shape(batch, others)
        except ShapeError:
            raise ShapeError(f"Incompatible shapes for broadcasting: {batch} and {others}") from None


class LinearOperatorLowRankUpdate(LinearOperator):
    """The operator of L + U D V^H: a `base_operator` L, and an update of low rank k.

    u: shape (batch..., rows, k). diag_update: the diagonal of D, shape (batch..., k); None for the identity. v: shape
    (batch..., columns, k); None for u. is_diag_update_positive: whether D is known to be positive.
    """

    def __init__(
        self,
        base_operator: LinearOperator,
        u: TensorLike,
        diag_update: TensorLike | None = None,
        v: TensorLike | None = None,
        is_diag_update_positive: bool | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowRankUpdate",
    ) -> None:
        operators_of([base_operator], name)
        dtype = base_operator.dtype
        self._base, self._u = base_operator, convert_to_tensor(u, dtype=dtype, name="u")
        self._v = self._u if v is None else convert_to_tensor(v, dtype=dtype, name="v")
        self._diag = None if diag_update is None else convert_to_tensor(diag_update, dtype=dtype, name="diag_update")
        _check_update(base_operator, self._u, self._v, self._diag)
        if diag_update is None:
            if is_diag_update_positive is False:
                raise InvalidArgumentError("Default diagonal is the identity, which is positive.")
            is_diag_update_positive = True
        self._positive = is_diag_update_positive
        symmetric = v is None and base_operator.is_self_adjoint and (self._diag is None or not dtype.is_complex)
        if symmetric and base_operator.is_positive_definite and is_diag_update_positive:
            is_non_singular = True if is_non_singular is None else is_non_singular
            is_positive_definite = True if is_positive_definite is None else is_positive_definite
        if symmetric and is_self_adjoint is None:
            is_self_adjoint = True
        parents = [*base_operator.graph_parents, self._u, self._v, *([] if self._diag is None else [self._diag])]
        super().__init__(dtype, parents, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name)

    @property
    def u(self) -> Tensor:
        """The left factor of the update."""
        return self._u

    @property
    def v(self) -> Tensor:
        """The right factor of the update."""
        return self._v

    @property
    def is_diag_update_positive(self) -> bool | None:
        """Whether the diagonal of the update is known to be positive."""
        return self._positive

    @property
    def diag_update(self) -> Tensor | None:
        """The diagonal of the update, or None for the identity."""
        return self._diag

    @property
    def diag_operator(self) -> LinearOperator:
        """The operator of the diagonal of the update."""
        if self._diag is None:
            return LinearOperatorIdentity(shape(self._u)[-1], dtype=self.dtype)
        return LinearOperatorDiag(self._diag, is_positive_definite=self._positive)

    @property
    def base_operator(self) -> LinearOperator:
        """The operator that is updated."""
        return self._base

    def _shape(self) -> Shape:
        dims = self._u.shape.sizes
        batch = broadcast_all([self._base.batch_shape, Shape(None if dims is None else dims[:-2])])
        return batch.concatenate(Shape((self._base.range_dimension.value, self._base.domain_dimension.value)))

    def _shape_tensor(self) -> Tensor:
        batch = broadcast_dynamic_shape(self._base.batch_shape_tensor(), shape(self._u)[:-2])
        return concat([batch, self._base.shape_tensor()[-2:]], 0)

    def _weighted(self, adjoint: bool) -> Tensor:
        factor = self._v if adjoint else self._u
        if self._diag is None:
            return factor
        return factor * EXPAND_DIMS(conj(self._diag) if adjoint else self._diag, np.int32(-2))

    def _to_dense(self) -> Tensor:
        return self._base.to_dense() + matmul(*same_batch(self._weighted(False), self._v), adjoint_b=True)

    def _matmul(self, x: Tensor, adjoint: bool, adjoint_arg: bool) -> Tensor:
        right = adjoint_of(x) if adjoint_arg else x
        inner = matmul(*same_batch(self._u if adjoint else self._v, right), adjoint_a=True)
        return self._base.matmul(right, adjoint) + matmul(*same_batch(self._weighted(adjoint), inner))

    def _uses_cholesky(self) -> bool:  # as the parts say: libraries give this operator properties that it has not
        parts = self._base.is_self_adjoint and self._base.is_positive_definite and self._positive
        return bool(parts and self._u is self._v)
