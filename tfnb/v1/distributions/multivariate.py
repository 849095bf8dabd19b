"""Distributions of vectors: normal with any covariance, Laplace, exponential.

Invariant: a draw is a matrix times independent numbers, plus a mean; the last axes are the event.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tfnb.client.graph.default_graph import control_dependencies, name_scope
from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import constant, ones_like, zeros_like
from tfnb.ops.array.shape_ops import IDENTITY
from tfnb.ops.array.shape_ops import shape as shape_op
from tfnb.ops.linalg.band_part import MATRIX_BAND_PART
from tfnb.ops.linalg.decompositions import cholesky, matrix_solve, matrix_triangular_solve, slogdet
from tfnb.ops.linalg.diag import MATRIX_DIAG, MATRIX_DIAG_PART
from tfnb.ops.linalg.matmul import matmul
from tfnb.ops.logging.print_assert import assert_that
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import NOT_EQUAL
from tfnb.ops.math.reduce_functions import reduce_all, reduce_sum
from tfnb.ops.math.unary import ASINH, LOG, SINH, SQUARE, absolute
from tfnb.ops.nn.activations import SOFTPLUS
from tfnb.ops.random.functions import random_normal
from tfnb.types import Shape
from tfnb.v1.bijectors.bijector import Chain
from tfnb.v1.bijectors.scalar import SinhArcsinh as SinhArcsinhBijector
from tfnb.v1.bijectors.vectors import Affine
from tfnb.v1.distributions.continuous import Exponential, Laplace, Normal
from tfnb.v1.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    Distribution,
    Draw,
    RegisterKL,
    tensors_of,
)
from tfnb.v1.distributions.matrix_forms import triangle_solve
from tfnb.v1.distributions.transformed import TransformedDistribution
from tfnb.v1.distributions.vectors import MultivariateNormalDiag

__all__ = [
    "MultivariateNormalDiagPlusLowRank",
    "MultivariateNormalDiagWithSoftplusScale",
    "MultivariateNormalFullCovariance",
    "MultivariateNormalTriL",
    "VectorExponentialDiag",
    "VectorLaplaceDiag",
    "VectorSinhArcsinhDiag",
]


class MultivariateNormalTriL(Distribution):
    """Normal distributions of vectors of mean `loc` and covariance L L^T of the lower triangular `scale_tril` L."""

    def __init__(
        self,
        loc: TensorLike | None = None,
        scale_tril: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalTriL",
    ) -> None:
        parameters = dict(locals())
        mean, tril = tensors_of(name, None, loc=loc, scale_tril=scale_tril)
        if mean is None and tril is None:
            raise InvalidArgumentError("Must specify one or both of `loc`, `scale_tril`.")
        if tril is None:
            tril = MATRIX_DIAG(ones_like(mean))
        tril = MATRIX_BAND_PART(tril, np.int64(-1), np.int64(0))
        diag = MATRIX_DIAG_PART(tril)
        self.loc = zeros_like(diag) if mean is None else mean + zeros_like(diag)
        if validate_args:
            nonzero = reduce_all(NOT_EQUAL(diag, 0.0))
            with control_dependencies([assert_that(nonzero, ["the diagonal of scale_tril must not have zeros"])]):
                tril = IDENTITY(tril)
        self.scale_tril = tril
        super().__init__(
            self.loc.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, [self.loc, diag], name
        )

    @property
    def event_shape(self) -> Shape:
        """The number of elements, as a shape."""
        return self.loc.shape[-1:]

    def _event(self) -> Tensor:
        return shape_op(self.loc)[-1:]

    def _batch(self) -> Tensor:
        return self.loc[..., 0]

    def _sample(self, draw: Draw) -> Tensor:
        z = random_normal(draw.full, dtype=self.dtype, seed=draw.seed)
        return self.loc + reduce_sum(self.scale_tril * z[..., None, :], -1)

    def _log_det(self) -> Tensor:
        return reduce_sum(LOG(absolute(MATRIX_DIAG_PART(self.scale_tril))), -1)

    def _log_prob(self, x: Tensor) -> Tensor:
        z = triangle_solve(self.scale_tril, x - self.loc)
        n = cast(shape_op(self.loc)[-1], self.dtype)
        return -0.5 * reduce_sum(SQUARE(z), -1) - 0.5 * math.log(2 * math.pi) * n - self._log_det()

    def _entropy(self) -> Tensor:
        n = cast(shape_op(self.loc)[-1], self.dtype)
        return 0.5 * (1.0 + math.log(2 * math.pi)) * n + self._log_det() + zeros_like(self._batch())

    def _mean(self) -> Tensor:
        return IDENTITY(self.loc)

    _mode = _mean

    def _covariance(self) -> Tensor:
        return matmul(self.scale_tril, self.scale_tril, transpose_b=True)

    def _variance(self) -> Tensor:
        return reduce_sum(SQUARE(self.scale_tril), -1)


class MultivariateNormalFullCovariance(MultivariateNormalTriL):
    """Normal distributions of vectors of mean `loc` and the symmetric, positive definite `covariance_matrix`."""

    def __init__(
        self,
        loc: TensorLike | None = None,
        covariance_matrix: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalFullCovariance",
    ) -> None:
        mean, covariance = tensors_of(name, None, loc=loc, covariance_matrix=covariance_matrix)
        super().__init__(
            mean, None if covariance is None else cholesky(covariance), validate_args, allow_nan_stats, name
        )
        self.parameters = {
            "loc": loc,
            "covariance_matrix": covariance_matrix,
            "validate_args": validate_args,
            "allow_nan_stats": allow_nan_stats,
            "name": name,
        }


class MultivariateNormalDiagWithSoftplusScale(MultivariateNormalDiag):
    """`MultivariateNormalDiag` with softplus(scale_diag) as the standard deviations."""

    def __init__(
        self,
        loc: TensorLike,
        scale_diag: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalDiagWithSoftplusScale",
    ) -> None:
        super().__init__(
            loc, SOFTPLUS(tensors_of(name, None, scale_diag=scale_diag)[0]), None, validate_args, allow_nan_stats, name
        )
        self.parameters = {
            "loc": loc,
            "scale_diag": scale_diag,
            "validate_args": validate_args,
            "allow_nan_stats": allow_nan_stats,
            "name": name,
        }


class MultivariateNormalDiagPlusLowRank(Distribution):
    """Normal distributions of vectors of mean `loc` and covariance S S^T for a sum S of a diagonal and a product.

    The diagonal is `scale_diag`, plus `scale_identity_multiplier`; the product is V D V^T of `scale_perturb_factor` V
    [..., n, r] and `scale_perturb_diag` D [..., r], by default the identity.
    """

    def __init__(
        self,
        loc: TensorLike | None = None,
        scale_diag: TensorLike | None = None,
        scale_identity_multiplier: TensorLike | None = None,
        scale_perturb_factor: TensorLike | None = None,
        scale_perturb_diag: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalDiagPlusLowRank",
    ) -> None:
        parameters = dict(locals())
        mean, diag, multiplier, factor, inner = tensors_of(
            name,
            None,
            loc=loc,
            scale_diag=scale_diag,
            multiplier=scale_identity_multiplier,
            factor=scale_perturb_factor,
            inner=scale_perturb_diag,
        )
        like = next((t for t in (mean, diag, None if factor is None else factor[..., 0]) if t is not None), None)
        if like is None:
            raise InvalidArgumentError(
                "MultivariateNormalDiagPlusLowRank: give loc, scale_diag or scale_perturb_factor"
            )
        if diag is None and multiplier is None:
            diag = ones_like(like)
        if multiplier is not None:
            diag = multiplier[..., None] * ones_like(like) + (0.0 if diag is None else diag)
        scale = MATRIX_DIAG(diag)
        if factor is not None:
            scale = scale + matmul(factor if inner is None else factor * inner[..., None, :], factor, transpose_b=True)
        self._scale = scale
        self.loc = zeros_like(scale[..., 0]) if mean is None else mean + zeros_like(scale[..., 0])
        super().__init__(
            self.loc.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, [self.loc], name
        )

    @property
    def event_shape(self) -> Shape:
        """The number of elements, as a shape."""
        return self.loc.shape[-1:]

    def _event(self) -> Tensor:
        return shape_op(self.loc)[-1:]

    def _batch(self) -> Tensor:
        return self.loc[..., 0]

    def _sample(self, draw: Draw) -> Tensor:
        z = random_normal(draw.full, dtype=self.dtype, seed=draw.seed)
        return self.loc + reduce_sum(self._scale * z[..., None, :], -1)

    def _log_prob(self, x: Tensor) -> Tensor:
        wide = (x - self.loc)[..., None]
        full = self._scale + zeros_like(wide)
        z = matrix_solve(full, wide + zeros_like(full[..., :1]))[..., 0]
        n = cast(shape_op(self.loc)[-1], self.dtype)
        return -0.5 * reduce_sum(SQUARE(z), -1) - 0.5 * math.log(2 * math.pi) * n - slogdet(self._scale)[1]

    def _entropy(self) -> Tensor:
        n = cast(shape_op(self.loc)[-1], self.dtype)
        return 0.5 * (1.0 + math.log(2 * math.pi)) * n + slogdet(self._scale)[1] + zeros_like(self._batch())

    def _mean(self) -> Tensor:
        return IDENTITY(self.loc)

    _mode = _mean

    def _covariance(self) -> Tensor:
        return matmul(self._scale, self._scale, transpose_b=True)

    def _variance(self) -> Tensor:
        return reduce_sum(SQUARE(self._scale), -1)


class _VectorDiag(TransformedDistribution):
    """Vectors of independent numbers of one distribution, times a diagonal, plus `loc`."""

    _moments: tuple[float, float] = (0.0, 1.0)  # the mean and the variance of the numbers

    def __init__(
        self,
        base: Callable[..., Distribution],
        loc: TensorLike | None,
        scale_diag: TensorLike | None,
        scale_identity_multiplier: TensorLike | None,
        validate_args: bool,
        name: str,
    ) -> None:
        mean, diag, multiplier = tensors_of(
            name, None, loc=loc, scale_diag=scale_diag, multiplier=scale_identity_multiplier
        )
        like = diag if diag is not None else mean
        if like is None:
            raise InvalidArgumentError(f"{name}: give loc or scale_diag, which say how many elements")
        scale = ones_like(like) if diag is None and multiplier is None else diag
        if multiplier is not None:
            scale = multiplier[..., None] * ones_like(like) + (0.0 if diag is None else diag)
        self.loc = zeros_like(scale) if mean is None else mean + zeros_like(scale)
        self._diag = scale + zeros_like(self.loc)
        shape = self._diag.shape.as_list()
        zero = constant(0.0, self.loc.dtype)
        super().__init__(
            base(zero, zero + 1.0), Affine(self.loc, scale_diag=self._diag), shape[:-1], shape[-1:], validate_args, name
        )

    def _mean(self) -> Tensor:
        return self.loc + self._moments[0] * self._diag

    def _variance(self) -> Tensor:
        return self._moments[1] * SQUARE(self._diag)

    def _stddev(self) -> Tensor:
        return math.sqrt(self._moments[1]) * absolute(self._diag)

    def _covariance(self) -> Tensor:
        return MATRIX_DIAG(self._variance())


class VectorExponentialDiag(_VectorDiag):
    """Vectors of independent exponential numbers times a diagonal, plus `loc`.

    The diagonal is `scale_diag`, `scale_identity_multiplier` for each element, or the sum of both.
    """

    _moments = (1.0, 1.0)

    def __init__(
        self,
        loc: TensorLike | None = None,
        scale_diag: TensorLike | None = None,
        scale_identity_multiplier: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "VectorExponentialDiag",
    ) -> None:
        def base(_: Tensor, one: Tensor) -> Distribution:
            return Exponential(one, allow_nan_stats=allow_nan_stats)

        super().__init__(base, loc, scale_diag, scale_identity_multiplier, validate_args, name)

    def _mode(self) -> Tensor:
        return IDENTITY(self.loc)


class VectorLaplaceDiag(_VectorDiag):
    """Vectors of independent numbers of Laplace's distribution times a diagonal, plus `loc`.

    The diagonal is `scale_diag`, `scale_identity_multiplier` for each element, or the sum of both.
    """

    _moments = (0.0, 2.0)

    def __init__(
        self,
        loc: TensorLike | None = None,
        scale_diag: TensorLike | None = None,
        scale_identity_multiplier: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "VectorLaplaceDiag",
    ) -> None:
        def base(zero: Tensor, one: Tensor) -> Distribution:
            return Laplace(zero, one, allow_nan_stats=allow_nan_stats)

        super().__init__(base, loc, scale_diag, scale_identity_multiplier, validate_args, name)

    def _mode(self) -> Tensor:
        return IDENTITY(self.loc)


class VectorSinhArcsinhDiag(TransformedDistribution):
    """Vectors of independent `SinhArcsinh` numbers times a diagonal, plus `loc`.

    The diagonal is `scale_diag`, `scale_identity_multiplier` for each element, or the sum of both. skewness,
    tailweight: of the numbers. distribution: of the numbers before, by default normal.
    """

    def __init__(
        self,
        loc: TensorLike | None = None,
        scale_diag: TensorLike | None = None,
        scale_identity_multiplier: TensorLike | None = None,
        skewness: TensorLike | None = None,
        tailweight: TensorLike | None = None,
        distribution: Distribution | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "VectorSinhArcsinhDiag",
    ) -> None:
        def base(zero: Tensor, one: Tensor) -> Distribution:
            return distribution or Normal(zero, one, allow_nan_stats=allow_nan_stats)

        outline = _VectorDiag(base, loc, scale_diag, scale_identity_multiplier, validate_args, name)
        self.loc = outline.loc
        skew, tail = tensors_of(
            name,
            self.loc.dtype,
            skewness=0.0 if skewness is None else skewness,
            tailweight=1.0 if tailweight is None else tailweight,
        )
        self.skewness, self.tailweight = skew, tail
        two = constant(2.0, self.loc.dtype)
        scale = outline._diag * 2.0 / SINH(ASINH(two) * tail)
        shape = scale.shape.as_list()
        bijector = Chain([Affine(self.loc, scale_diag=scale), SinhArcsinhBijector(skew, tail)])
        super().__init__(outline.distribution, bijector, shape[:-1], shape[-1:], validate_args, name)


def _normals(a: Any, b: Any, name: str | None = None) -> Tensor:
    with name_scope(name or "kl_mvn_mvn"):
        n = cast(shape_op(a.loc)[-1], a.dtype)
        root = _root(b)
        full = root + zeros_like(_root(a))
        mixed = matrix_triangular_solve(full, _root(a) + zeros_like(root), lower=True)
        distance = triangle_solve(root, a.loc - b.loc)
        logs = LOG(absolute(MATRIX_DIAG_PART(root))) - LOG(absolute(MATRIX_DIAG_PART(_root(a))))
        return reduce_sum(logs, -1) + 0.5 * (reduce_sum(SQUARE(mixed), [-2, -1]) + reduce_sum(SQUARE(distance), -1) - n)


def _root(normal: Any) -> Tensor:
    """Returns a lower triangular root of the covariance."""
    return normal.scale_tril if isinstance(normal, MultivariateNormalTriL) else cholesky(normal.covariance())


_NORMAL = (MultivariateNormalTriL, MultivariateNormalDiagPlusLowRank, MultivariateNormalDiag)
for _a in _NORMAL:
    for _b in _NORMAL:
        if (_a, _b) != (MultivariateNormalDiag, MultivariateNormalDiag):
            RegisterKL(_a, _b)(_normals)
