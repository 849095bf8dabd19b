"""Distributions of integers and of vectors: Bernoulli, categorical, Poisson, multinomial, Dirichlet, diagonal normal.

Invariant: logits and probabilities are two forms of the same parameter; whichever is given, both are attributes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tfnb.client.distributions.continuous import Normal, positive
from tfnb.client.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    RegisterKL,
    tensors_of,
    where_defined,
)
from tfnb.client.graph.default_graph import control_dependencies, name_scope
from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.array_functions import lbeta
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import constant, ones_like, zeros_like
from tfnb.ops.array.constants import range_ as range_op
from tfnb.ops.array.shape_ops import IDENTITY, RESHAPE
from tfnb.ops.array.shape_ops import shape as shape_op
from tfnb.ops.array.transpose_pad_tile import transpose
from tfnb.ops.array.where_partition import where
from tfnb.ops.linalg.diag import MATRIX_DIAG, one_hot
from tfnb.ops.logging.print_assert import assert_that
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import EQUAL, LOGICAL_AND, NOT_EQUAL
from tfnb.ops.math.reduce_functions import argmax, reduce_all, reduce_max, reduce_prod, reduce_sum
from tfnb.ops.math.special import IGAMMAC
from tfnb.ops.math.unary import DIGAMMA, EXP, FLOOR, LGAMMA, LOG, LOG1P, SIGMOID, SQUARE, absolute
from tfnb.ops.nn.activations import SOFTPLUS
from tfnb.ops.nn.losses import (
    log_softmax,
    sigmoid_cross_entropy_with_logits,
    softmax,
    sparse_softmax_cross_entropy_with_logits,
)
from tfnb.ops.random.functions import multinomial, random_normal, random_uniform
from tfnb.ops.random.gamma_poisson import random_gamma, random_poisson
from tfnb.types import DTypeLike, as_dtype, int32

__all__ = [
    "Bernoulli",
    "Categorical",
    "Dirichlet",
    "DirichletMultinomial",
    "Multinomial",
    "MultivariateNormalDiag",
    "OneHotCategorical",
    "Poisson",
]


def _logits_and_probs(name: str, logits: Any, probs: Any, many: bool) -> tuple[Any, Any]:
    """Returns both forms of the parameter of which one is given: of classes along the last axis, if `many`."""
    if (logits is None) == (probs is None):
        raise InvalidArgumentError(f"{name}: give either logits or probs")
    logits, probs = tensors_of(name, None, logits=logits, probs=probs)
    if probs is None:
        return logits, softmax(logits) if many else SIGMOID(logits)
    return LOG(probs) if many else LOG(probs) - LOG1P(-probs), probs


def _checked_counts(counts: Any, total: Any, validate_args: bool) -> Any:
    """Returns `counts`, whose step fails unless they are whole, >= 0, and sum to `total`, if `validate_args`."""
    if not validate_args:
        return counts
    right = LOGICAL_AND(EQUAL(counts, FLOOR(counts)), counts >= 0.0)
    sums = EQUAL(reduce_sum(counts, -1), total)
    whole = assert_that(reduce_all(right), ["counts must be whole and not negative"])
    with control_dependencies([whole, assert_that(reduce_all(sums), ["counts must sum to total_count"])]):
        return IDENTITY(counts)


class Bernoulli(Distribution):
    """Distributions of 1 with the probability `probs` = sigmoid(`logits`), else 0."""

    def __init__(
        self,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        dtype: DTypeLike = "int32",
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Bernoulli",
    ) -> None:
        parameters = dict(locals())
        self.logits, self.probs = _logits_and_probs(name, logits, probs, many=False)
        if validate_args:
            inside = LOGICAL_AND(self.probs >= 0.0, self.probs <= 1.0)
            with control_dependencies([assert_that(reduce_all(inside), ["probs must be between 0 and 1"])]):
                self.logits, self.probs = IDENTITY(self.logits), IDENTITY(self.probs)
        super().__init__(
            as_dtype(dtype), NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, [self.logits], name
        )

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Any:
        return cast(random_uniform(full, dtype=self.probs.dtype, seed=seed) < self.probs, self.dtype)

    def _log_prob(self, x: Tensor) -> Any:
        event = cast(x, self.logits.dtype)
        zeros = zeros_like(event + self.logits)
        return -sigmoid_cross_entropy_with_logits(labels=event + zeros, logits=self.logits + zeros)

    def _entropy(self) -> Any:
        return -self.logits * (SIGMOID(self.logits) - 1.0) + SOFTPLUS(-self.logits)

    def _mean(self) -> Any:
        return IDENTITY(self.probs)

    def _variance(self) -> Any:
        return self.probs * (1.0 - self.probs)

    def _mode(self) -> Any:
        return cast(self.probs > 0.5, self.dtype)


class Categorical(Distribution):
    """Distributions of numbers of classes, with the probabilities `probs` = softmax(`logits`) along the last axis."""

    def __init__(
        self,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        dtype: DTypeLike = "int32",
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Categorical",
    ) -> None:
        parameters = dict(locals())
        self.logits, self.probs = _logits_and_probs(name, logits, probs, many=True)
        if validate_args:
            total = absolute(reduce_sum(self.probs, -1) - 1.0)
            with control_dependencies([assert_that(reduce_all(total < 1e-3), ["probs must sum to 1"])]):
                self.logits, self.probs = IDENTITY(self.logits), IDENTITY(self.probs)
        super().__init__(
            as_dtype(dtype), NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, [self.logits], name
        )

    @property
    def event_size(self) -> Any:
        """The number of classes, a scalar int32 tensor."""
        return shape_op(self.logits)[-1]

    def _batch(self) -> Tensor:
        return self.logits[..., 0]

    def _classes_last(self, shape: Tensor, seed: int | None) -> Any:
        classes = shape_op(self.logits)[-1]
        number = reduce_prod(shape)
        drawn = multinomial(RESHAPE(self.logits, [-1, classes]), number, seed)
        return RESHAPE(transpose(drawn), concat([shape, shape_op(self.logits)[:-1]], 0))

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Any:
        return cast(self._classes_last(shape, seed), self.dtype)

    def _log_prob(self, x: Tensor) -> Any:
        zeros = zeros_like(cast(x, self.logits.dtype) + self.logits[..., 0])
        labels = cast(x, int32) + cast(zeros, int32)
        logits = self.logits + zeros[..., None]
        return -sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)

    def _cdf(self, x: Tensor) -> Any:
        zeros = zeros_like(cast(x, self.probs.dtype) + self.probs[..., 0])
        below = range_op(shape_op(self.probs)[-1]) <= (cast(x, int32) + cast(zeros, int32))[..., None]
        return reduce_sum(self.probs * cast(below, self.probs.dtype), -1)

    def _entropy(self) -> Any:
        log_probs = log_softmax(self.logits)
        return -reduce_sum(EXP(log_probs) * where(log_probs > -np.inf, log_probs, zeros_like(log_probs)), -1)

    def _mode(self) -> Any:
        return cast(argmax(self.logits, -1), self.dtype)


class OneHotCategorical(Categorical):
    """Distributions of vectors of one 1, at the class, with the probabilities `probs` = softmax(`logits`)."""

    def __init__(
        self,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        dtype: DTypeLike = "int32",
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "OneHotCategorical",
    ) -> None:
        super().__init__(logits, probs, dtype, validate_args, allow_nan_stats, name)

    @property
    def event_shape(self) -> Any:
        """The number of classes, as a shape."""
        return self.logits.shape[-1:]

    def _event(self) -> Any:
        return shape_op(self.logits)[-1:]

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Any:
        return one_hot(self._classes_last(shape, seed), shape_op(self.logits)[-1], dtype=self.dtype)

    def _log_prob(self, x: Tensor) -> Any:
        return reduce_sum(cast(x, self.logits.dtype) * log_softmax(self.logits), -1)

    def _mean(self) -> Any:
        return softmax(self.logits)

    def _variance(self) -> Any:
        return self._mean() * (1.0 - self._mean())

    def _mode(self) -> Any:
        return one_hot(argmax(self.logits, -1), shape_op(self.logits)[-1], dtype=self.dtype)


class Poisson(Distribution):
    """Poisson distributions of the mean `rate` = exp(`log_rate`).

    With `interpolate_nondiscrete` numbers between integers have a probability too, else they have none.
    """

    def __init__(
        self,
        rate: TensorLike | None = None,
        log_rate: TensorLike | None = None,
        interpolate_nondiscrete: bool = True,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Poisson",
    ) -> None:
        parameters = dict(locals())
        if (rate is None) == (log_rate is None):
            raise InvalidArgumentError("Poisson: give either rate or log_rate")
        given, logarithm = tensors_of(name, None, rate=rate, log_rate=log_rate)
        self.rate = positive(EXP(logarithm) if given is None else given, validate_args)
        self.log_rate = LOG(self.rate) if logarithm is None else logarithm
        self.interpolate_nondiscrete = interpolate_nondiscrete
        super().__init__(
            self.rate.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, [self.rate], name
        )

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Any:
        return random_poisson(self.rate, shape, self.dtype, seed)

    def _log_prob(self, x: Tensor) -> Any:
        value = x * self.log_rate - LGAMMA(1.0 + x) - self.rate
        if self.interpolate_nondiscrete:
            return value
        whole = EQUAL(x + zeros_like(value), FLOOR(x + zeros_like(value)))
        return where(whole, value, zeros_like(value) - np.inf)

    def _cdf(self, x: Tensor) -> Any:
        n = x if self.interpolate_nondiscrete else FLOOR(x)
        return IGAMMAC(1.0 + n + zeros_like(self.rate), self.rate + zeros_like(n))

    def _mean(self) -> Any:
        return IDENTITY(self.rate)

    _variance = _mean

    def _mode(self) -> Any:
        return FLOOR(self.rate)


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
        self.logits, self.probs = _logits_and_probs(name, logits, probs, many=True)
        self.total_count = tensors_of(name, self.probs.dtype, total_count=total_count)[0]
        super().__init__(
            self.probs.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, [self.logits], name
        )

    @property
    def event_shape(self) -> Any:
        """The number of classes, as a shape."""
        return self.logits.shape[-1:]

    def _event(self) -> Any:
        return shape_op(self.logits)[-1:]

    def _batch(self) -> Tensor:
        return self.logits[..., 0] + self.total_count

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Any:
        # enough draws for the largest count; those beyond an element's own count are masked
        most = cast(reduce_max(self.total_count), int32)
        classes = shape_op(self.logits)[-1]
        logits = self.logits + zeros_like(self._batch())[..., None]
        flat = RESHAPE(logits, [-1, classes])
        number = reduce_prod(shape)
        drawn = RESHAPE(multinomial(flat, number * most, seed), [-1, number, most])
        counts = RESHAPE(self.total_count + zeros_like(self._batch()), [-1, 1, 1])
        used = cast(cast(range_op(most), self.dtype) < counts, self.dtype)
        total = reduce_sum(one_hot(drawn, classes, dtype=self.dtype) * used[..., None], -2)
        return RESHAPE(transpose(total, [1, 0, 2]), full)

    def _log_prob(self, x: Tensor) -> Any:
        counts = _checked_counts(x, self.total_count, self.validate_args)
        ways = LGAMMA(self.total_count + 1.0) - reduce_sum(LGAMMA(counts + 1.0), -1)
        return ways + reduce_sum(counts * log_softmax(self.logits), -1)

    def _mean(self) -> Any:
        return self.total_count[..., None] * self.probs

    def _covariance(self) -> Any:
        p = self.probs + zeros_like(self._mean())
        outer = MATRIX_DIAG(p) - p[..., :, None] * p[..., None, :]
        return self.total_count[..., None, None] * outer

    def _variance(self) -> Any:
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
    def event_shape(self) -> Any:
        """The number of classes, as a shape."""
        return self.concentration.shape[-1:]

    def _event(self) -> Any:
        return shape_op(self.concentration)[-1:]

    def _batch(self) -> Tensor:
        return self.total_concentration

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Any:
        drawn = random_gamma(shape, self.concentration, dtype=self.dtype, seed=seed)
        return drawn / reduce_sum(drawn, -1, keepdims=True)

    def _log_prob(self, x: Tensor) -> Any:
        return reduce_sum((self.concentration - 1.0) * LOG(x), -1) - lbeta(self.concentration)

    def _entropy(self) -> Any:
        classes = cast(shape_op(self.concentration)[-1], self.dtype)
        total = self.total_concentration
        powers = reduce_sum((self.concentration - 1.0) * DIGAMMA(self.concentration), -1)
        return lbeta(self.concentration) + (total - classes) * DIGAMMA(total) - powers

    def _mean(self) -> Any:
        return self.concentration / self.total_concentration[..., None]

    def _covariance(self) -> Any:
        mean = self._mean()
        spread = MATRIX_DIAG(mean) - mean[..., :, None] * mean[..., None, :]
        return spread / (1.0 + self.total_concentration[..., None, None])

    def _variance(self) -> Any:
        return self._mean() * (1.0 - self._mean()) / (1.0 + self.total_concentration[..., None])

    def _mode(self) -> Any:
        classes = cast(shape_op(self.concentration)[-1], self.dtype)
        mode = (self.concentration - 1.0) / (self.total_concentration[..., None] - classes)
        defined = reduce_all(self.concentration > 1.0, -1, keepdims=True)
        everywhere = LOGICAL_AND(defined, ones_like(mode) > 0.0)
        return where_defined(self, everywhere, mode, "the mode of a Dirichlet distribution needs concentrations > 1")


class DirichletMultinomial(Dirichlet):
    """Distributions of how often each class occurs in `total_count` draws with probabilities from a Dirichlet one."""

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
        self.total_count = tensors_of(name, self.dtype, total_count=total_count)[0]

    def _batch(self) -> Tensor:
        return self.total_concentration + self.total_count

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Any:
        concentration = self.concentration + zeros_like(self._batch())[..., None]
        probs = Dirichlet(concentration)._sample(shape, full, seed)
        second = None if seed is None else seed + 1
        return Multinomial(self.total_count, probs=probs)._sample(constant(np.zeros(0, np.int32)), full, second)

    def _log_prob(self, x: Tensor) -> Any:
        counts = _checked_counts(x, self.total_count, self.validate_args)
        ways = LGAMMA(self.total_count + 1.0) - reduce_sum(LGAMMA(counts + 1.0), -1)
        return ways + lbeta(self.concentration + counts) - lbeta(self.concentration)

    def _mean(self) -> Any:
        return self.total_count[..., None] * self.concentration / self.total_concentration[..., None]

    def _scale(self) -> Any:
        return (self.total_concentration + self.total_count) / (1.0 + self.total_concentration)

    def _covariance(self) -> Any:
        p = self._mean() / self.total_count[..., None]
        spread = MATRIX_DIAG(p) - p[..., :, None] * p[..., None, :]
        return (self.total_count * self._scale())[..., None, None] * spread

    def _variance(self) -> Any:
        p = self._mean() / self.total_count[..., None]
        return (self.total_count * self._scale())[..., None] * p * (1.0 - p)


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
    def event_shape(self) -> Any:
        """The number of elements, as a shape."""
        return self.loc.shape[-1:]

    def _event(self) -> Any:
        return shape_op(self.loc)[-1:]

    def _batch(self) -> Tensor:
        return self.loc[..., 0]

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Any:
        return self.loc + self._diag * random_normal(full, dtype=self.dtype, seed=seed)

    def _log_prob(self, x: Tensor) -> Any:
        z = (x - self.loc) / self._diag
        each = -0.5 * SQUARE(z) - 0.5 * math.log(2 * math.pi) - LOG(absolute(self._diag))
        return reduce_sum(each, -1)

    def _entropy(self) -> Any:
        return reduce_sum(0.5 + 0.5 * math.log(2 * math.pi) + LOG(absolute(self._diag)), -1)

    def _mean(self) -> Any:
        return IDENTITY(self.loc)

    _mode = _mean

    def _stddev(self) -> Any:
        return absolute(self._diag)

    def _covariance(self) -> Any:
        return MATRIX_DIAG(SQUARE(self._diag))


@RegisterKL(Bernoulli, Bernoulli)
def _bernoullis(a: Bernoulli, b: Bernoulli, name: str | None = None) -> Any:
    with name_scope(name or "kl_bernoulli_bernoulli"):
        no = SOFTPLUS(b.logits) - SOFTPLUS(a.logits)
        yes = SOFTPLUS(-b.logits) - SOFTPLUS(-a.logits)
        return a.probs * yes + (1.0 - a.probs) * no


@RegisterKL(Categorical, Categorical)
def _categoricals(a: Categorical, b: Categorical, name: str | None = None) -> Any:
    with name_scope(name or "kl_categorical_categorical"):
        difference = log_softmax(a.logits) - log_softmax(b.logits)
        return reduce_sum(softmax(a.logits) * difference, -1)


@RegisterKL(Dirichlet, Dirichlet)
def _dirichlets(a: Dirichlet, b: Dirichlet, name: str | None = None) -> Any:
    with name_scope(name or "kl_dirichlet_dirichlet"):
        logarithms = DIGAMMA(a.concentration) - DIGAMMA(a.total_concentration)[..., None]
        powers = reduce_sum((a.concentration - b.concentration) * logarithms, -1)
        return powers - lbeta(a.concentration) + lbeta(b.concentration)


@RegisterKL(MultivariateNormalDiag, MultivariateNormalDiag)
def _diagonals(a: MultivariateNormalDiag, b: MultivariateNormalDiag, name: str | None = None) -> Any:
    with name_scope(name or "kl_mvn_mvn"):
        each = Normal(a.loc, a.stddev()).kl_divergence(Normal(b.loc, b.stddev()))
        return reduce_sum(each, -1)
