"""Distributions of vectors: counts of classes, probabilities of classes, independent normal elements.

Invariant: the last axis of a draw is the vector; its length is the only event dimension.
"""

from __future__ import annotations

import math

import numpy as np

from tfnb.client.graph.default_graph import control_dependencies, name_scope
from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.array_functions import lbeta
from tfnb.ops.array.constants import constant, ones_like, zeros_like
from tfnb.ops.array.constants import range_ as range_op
from tfnb.ops.array.shape_ops import IDENTITY, RESHAPE, SQUEEZE, shape
from tfnb.ops.array.transpose_pad_tile import transpose
from tfnb.ops.linalg.diag import MATRIX_DIAG, one_hot
from tfnb.ops.logging.print_assert import assert_that
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import LOGICAL_AND, NOT_EQUAL
from tfnb.ops.math.reduce_functions import reduce_all, reduce_max, reduce_prod, reduce_sum
from tfnb.ops.math.unary import DIGAMMA, LGAMMA, LOG, SQUARE, absolute
from tfnb.ops.nn.losses import log_softmax
from tfnb.ops.random.functions import multinomial, random_normal
from tfnb.ops.random.gamma_poisson import random_gamma
from tfnb.types import Shape, int32
from tfnb.v1.distributions.checks import after, checked_counts, positive, require, require_positive
from tfnb.v1.distributions.continuous import Normal
from tfnb.v1.distributions.discrete import logits_and_probs
from tfnb.v1.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    Draw,
    RegisterKL,
    tensors_of,
    where_defined,
)

__all__ = ["Dirichlet", "DirichletMultinomial", "Multinomial", "MultivariateNormalDiag"]


class Multinomial(Distribution):
    """Distributions of how often each class occurs in `total_count` draws, with `probs` = softmax(`logits`)."""

    def __init__(
        self,
        total_count: TensorLike,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Multinomial",
    ) -> None:
        parameters = dict(locals())
        self.logits, self.probs = logits_and_probs(name, logits, probs, many=True)
        self.total_count = tensors_of(name, self.probs.dtype, total_count=total_count)[0]
        super().__init__(
            self.probs.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, [self.logits], name
        )

    @property
    def event_shape(self) -> Shape:
        """The number of classes, as a shape."""
        return self.logits.shape[-1:]

    def _event(self) -> Tensor:
        return shape(self.logits)[-1:]

    def _batch(self) -> Tensor:
        return self.logits[..., 0] + self.total_count

    def _sample(self, draw: Draw) -> Tensor:
        # enough draws for the largest count; those beyond an element's own count are masked
        most = cast(reduce_max(self.total_count), int32)
        classes = shape(self.logits)[-1]
        logits = self.logits + zeros_like(self._batch())[..., None]
        flat = RESHAPE(logits, [-1, classes])
        number = reduce_prod(draw.shape)
        drawn = RESHAPE(multinomial(flat, number * most, draw.seed), [-1, number, most])
        counts = RESHAPE(self.total_count + zeros_like(self._batch()), [-1, 1, 1])
        used = cast(cast(range_op(most), self.dtype) < counts, self.dtype)
        total = reduce_sum(one_hot(drawn, classes, dtype=self.dtype) * used[..., None], -2)
        return RESHAPE(transpose(total, [1, 0, 2]), draw.full)

    def _log_prob(self, x: Tensor) -> Tensor:
        sums = "counts must sum to `self.total_count`"
        counts = checked_counts(x, self.total_count, sums, self.validate_args)
        ways = LGAMMA(self.total_count + 1.0) - reduce_sum(LGAMMA(counts + 1.0), -1)
        return ways + reduce_sum(counts * log_softmax(self.logits), -1)

    def _mean(self) -> Tensor:
        return self.total_count[..., None] * self.probs

    def _covariance(self) -> Tensor:
        p = self.probs + zeros_like(self._mean())
        outer = MATRIX_DIAG(p) - p[..., :, None] * p[..., None, :]
        return self.total_count[..., None, None] * outer

    def _variance(self) -> Tensor:
        return self._mean() * (1.0 - self.probs)


class Dirichlet(Distribution):
    """Dirichlet distributions, over vectors of probabilities, of the positive vectors `concentration`."""

    def __init__(
        self,
        concentration: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Dirichlet",
    ) -> None:
        parameters = dict(locals())
        self.concentration = positive(tensors_of(name, None, concentration=concentration)[0], validate_args)
        self.total_concentration = reduce_sum(self.concentration, -1)
        parents = [self.concentration]
        super().__init__(
            self.concentration.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, parents, name
        )

    @property
    def event_shape(self) -> Shape:
        """The number of classes, as a shape."""
        return self.concentration.shape[-1:]

    def _event(self) -> Tensor:
        return shape(self.concentration)[-1:]

    def _batch(self) -> Tensor:
        return self.total_concentration

    def _sample(self, draw: Draw) -> Tensor:
        drawn = random_gamma(draw.shape, self.concentration, dtype=self.dtype, seed=draw.seed)
        return drawn / reduce_sum(drawn, -1, keepdims=True)

    def _log_prob(self, x: Tensor) -> Tensor:
        if self.validate_args:
            near = absolute(reduce_sum(x, -1) - 1.0) < 1e-5
            total = require(near, "sample last-dimension must sum to `1`. Condition x ~= y did not hold: x", x)
            x = after([require_positive(x, "samples must be positive."), total], x)[0]
        return reduce_sum((self.concentration - 1.0) * LOG(x), -1) - lbeta(self.concentration)

    def _entropy(self) -> Tensor:
        classes = cast(shape(self.concentration)[-1], self.dtype)
        total = self.total_concentration
        powers = reduce_sum((self.concentration - 1.0) * DIGAMMA(self.concentration), -1)
        return lbeta(self.concentration) + (total - classes) * DIGAMMA(total) - powers

    def _mean(self) -> Tensor:
        return self.concentration / self.total_concentration[..., None]

    def _covariance(self) -> Tensor:
        mean = self._mean()
        spread = MATRIX_DIAG(mean) - mean[..., :, None] * mean[..., None, :]
        return spread / (1.0 + self.total_concentration[..., None, None])

    def _variance(self) -> Tensor:
        return self._mean() * (1.0 - self._mean()) / (1.0 + self.total_concentration[..., None])

    def _mode(self) -> Tensor:
        classes = cast(shape(self.concentration)[-1], self.dtype)
        mode = (self.concentration - 1.0) / (self.total_concentration[..., None] - classes)
        defined = reduce_all(self.concentration > 1.0, -1, keepdims=True)
        everywhere = LOGICAL_AND(defined, ones_like(mode) > 0.0)
        return where_defined(self, everywhere, mode, "the mode of a Dirichlet distribution needs concentrations > 1")


class DirichletMultinomial(Dirichlet):
    """Distributions of how often each class occurs in `total_count` draws with probabilities from a Dirichlet one.

    total_count: numbers of draws. Their shape broadcasts to that of `concentration` without its last dimension, or to
    that of `concentration` with a last dimension of 1, as TensorFlow's moments need it.
    """

    def __init__(
        self,
        total_count: TensorLike,
        concentration: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "DirichletMultinomial",
    ) -> None:
        super().__init__(concentration, validate_args, allow_nan_stats, name)
        self.parameters["total_count"] = total_count
        self.total_count = count = tensors_of(name, self.dtype, total_count=total_count)[0]
        sizes = count.shape.sizes
        if sizes and sizes[-1] == 1 and len(sizes) == self.concentration.shape.ndims:
            count = SQUEEZE(count, squeeze_dims=(-1,))
        self._count = count

    def _batch(self) -> Tensor:
        return self.total_concentration + self._count

    def _sample(self, draw: Draw) -> Tensor:
        concentration = self.concentration + zeros_like(self._batch())[..., None]
        probs = Dirichlet(concentration)._sample(draw)
        second = None if draw.seed is None else draw.seed + 1
        return Multinomial(self._count, probs=probs)._sample(Draw(constant(np.zeros(0, np.int32)), draw.full, second))

    def _log_prob(self, x: Tensor) -> Tensor:
        sums = "counts last-dimension must sum to `self.total_count`"
        counts = checked_counts(x, self._count, sums, self.validate_args)
        ways = LGAMMA(self._count + 1.0) - reduce_sum(LGAMMA(counts + 1.0), -1)
        return ways + lbeta(self.concentration + counts) - lbeta(self.concentration)

    def _mean(self) -> Tensor:
        return self._count[..., None] * self.concentration / self.total_concentration[..., None]

    def _scale(self) -> Tensor:
        return (self.total_concentration + self._count) / (1.0 + self.total_concentration)

    def _covariance(self) -> Tensor:
        p = self._mean() / self._count[..., None]
        spread = MATRIX_DIAG(p) - p[..., :, None] * p[..., None, :]
        return (self._count * self._scale())[..., None, None] * spread

    def _variance(self) -> Tensor:
        p = self._mean() / self._count[..., None]
        return (self._count * self._scale())[..., None] * p * (1.0 - p)


class MultivariateNormalDiag(Distribution):
    """Normal distributions of vectors whose elements are independent, of mean `loc`.

    The standard deviations are `scale_diag`, `scale_identity_multiplier` for each element, or the sum of both.
    """

    def __init__(
        self,
        loc: TensorLike | None = None,
        scale_diag: TensorLike | None = None,
        scale_identity_multiplier: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalDiag",
    ) -> None:
        parameters = dict(locals())
        mean, diag, multiplier = tensors_of(
            name, None, loc=loc, scale_diag=scale_diag, scale_identity_multiplier=scale_identity_multiplier
        )
        if mean is None and diag is None:
            raise InvalidArgumentError("MultivariateNormalDiag: give loc or scale_diag, which say how many elements")
        scale = ones_like(mean) if diag is None and multiplier is None else diag
        if multiplier is not None:
            scale = multiplier[..., None] * ones_like(mean if diag is None else diag)
            scale = scale if diag is None else scale + diag
        mean = zeros_like(scale) if mean is None else mean
        self.loc, self._diag = mean + zeros_like(scale), scale + zeros_like(mean)
        if validate_args:
            nonzero = reduce_all(NOT_EQUAL(self._diag, 0.0))
            with control_dependencies([assert_that(nonzero, ["the scale must not be 0"])]):
                self._diag = IDENTITY(self._diag)
        super().__init__(
            self.loc.dtype,
            FULLY_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self.loc, self._diag],
            name,
        )

    @property
    def event_shape(self) -> Shape:
        """The number of elements, as a shape."""
        return self.loc.shape[-1:]

    def _event(self) -> Tensor:
        return shape(self.loc)[-1:]

    def _batch(self) -> Tensor:
        return self.loc[..., 0]

    def _sample(self, draw: Draw) -> Tensor:
        return self.loc + self._diag * random_normal(draw.full, dtype=self.dtype, seed=draw.seed)

    def _log_prob(self, x: Tensor) -> Tensor:
        z = (x - self.loc) / self._diag
        each = -0.5 * SQUARE(z) - 0.5 * math.log(2 * math.pi) - LOG(absolute(self._diag))
        return reduce_sum(each, -1)

    def _entropy(self) -> Tensor:
        return reduce_sum(0.5 + 0.5 * math.log(2 * math.pi) + LOG(absolute(self._diag)), -1)

    def _mean(self) -> Tensor:
        return IDENTITY(self.loc)

    _mode = _mean

    def _stddev(self) -> Tensor:
        return absolute(self._diag)

    def _covariance(self) -> Tensor:
        return MATRIX_DIAG(SQUARE(self._diag))


def _dirichlets(a: Dirichlet, b: Dirichlet, name: str | None = None) -> Tensor:
    with name_scope(name or "kl_dirichlet_dirichlet"):
        logarithms = DIGAMMA(a.concentration) - DIGAMMA(a.total_concentration)[..., None]
        powers = reduce_sum((a.concentration - b.concentration) * logarithms, -1)
        return powers - lbeta(a.concentration) + lbeta(b.concentration)


def _diagonals(a: MultivariateNormalDiag, b: MultivariateNormalDiag, name: str | None = None) -> Tensor:
    with name_scope(name or "kl_mvn_mvn"):
        each = Normal(a.loc, a.stddev()).kl_divergence(Normal(b.loc, b.stddev()))
        return reduce_sum(each, -1)


RegisterKL(Dirichlet, Dirichlet)(_dirichlets)
RegisterKL(MultivariateNormalDiag, MultivariateNormalDiag)(_diagonals)
