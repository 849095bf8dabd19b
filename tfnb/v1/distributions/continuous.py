"""Distributions of real numbers: normal, uniform, exponential, gamma, beta, Laplace, Student's t.

Invariant: parameters broadcast against each other, and against values.
"""

from __future__ import annotations

import math

import numpy as np

from tfnb.client.graph.default_graph import name_scope
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import ones_like, zeros_like
from tfnb.ops.array.where_partition import where
from tfnb.ops.math.binary import MAXIMUM, MINIMUM
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import LOGICAL_AND
from tfnb.ops.math.special import BETAINC, IGAMMA
from tfnb.ops.math.unary import DIGAMMA, EXP, EXPM1, IS_NAN, LGAMMA, LOG, LOG1P, RSQRT, SIGN, SQUARE, absolute
from tfnb.ops.random.functions import random_normal, random_uniform
from tfnb.ops.random.gamma_poisson import random_gamma
from tfnb.v1.distributions.checks import after, require, require_positive
from tfnb.v1.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    Draw,
    RegisterKL,
    tensors_of,
    where_defined,
)
from tfnb.v1.distributions.normal_functions import log_ndtr, ndtr, ndtri

__all__ = [
    "Beta",
    "Exponential",
    "Gamma",
    "Laplace",
    "Normal",
    "StudentT",
    "Uniform",
]


class Normal(Distribution):
    """Normal distributions of mean `loc` and standard deviation `scale`."""

    _ALIKE: tuple[str, ...] = ("loc", "scale")

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Normal",
    ) -> None:
        parameters = dict(locals())
        self.loc, self.scale = tensors_of(name, None, loc=loc, scale=scale)
        checks = [require_positive(self.scale)] if validate_args else []
        self.loc, self.scale = after(checks, self.loc, self.scale)
        super().__init__(
            self.loc.dtype,
            FULLY_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self.loc, self.scale],
            name,
        )

    def _sample(self, draw: Draw) -> Tensor:
        return self.loc + self.scale * random_normal(draw.full, dtype=self.dtype, seed=draw.seed)

    def _z(self, x: Tensor) -> Tensor:
        return (x - self.loc) / self.scale

    def _log_prob(self, x: Tensor) -> Tensor:
        return -0.5 * SQUARE(self._z(x)) - 0.5 * math.log(2 * math.pi) - LOG(self.scale)

    def _cdf(self, x: Tensor) -> Tensor:
        return ndtr(self._z(x))

    def _survival_function(self, x: Tensor) -> Tensor:
        return ndtr(-self._z(x))

    def _quantile(self, p: Tensor) -> Tensor:
        return self.loc + self.scale * ndtri(p)

    def _log_cdf(self, x: Tensor) -> Tensor:
        return log_ndtr(self._z(x))

    def _log_survival_function(self, x: Tensor) -> Tensor:
        return log_ndtr(-self._z(x))

    def _entropy(self) -> Tensor:
        return 0.5 + 0.5 * math.log(2 * math.pi) + LOG(self.scale * ones_like(self.loc))

    def _mean(self) -> Tensor:
        return self.loc * ones_like(self.scale)

    _mode = _mean

    def _stddev(self) -> Tensor:
        return self.scale * ones_like(self.loc)


class Uniform(Distribution):
    """Uniform distributions over the interval from `low` to `high`, without `high` itself."""

    _ALIKE: tuple[str, ...] = ("low", "high")

    def __init__(
        self,
        low: TensorLike = 0.0,
        high: TensorLike = 1.0,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Uniform",
    ) -> None:
        parameters = dict(locals())
        self.low, self.high = tensors_of(name, None, low=low, high=high)
        if validate_args:
            message = "uniform not defined when low >= high. Condition x < y did not hold element-wise: x, y"
            checks = [require(self.low < self.high, message, self.low, self.high)]
            self.low, self.high = after(checks, self.low, self.high)
        super().__init__(
            self.low.dtype,
            FULLY_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self.low, self.high],
            name,
        )

    def range(self, name: str = "range") -> Tensor:
        """Returns `high` - `low`."""
        return self._call("range", name, lambda: self.high - self.low)

    def _sample(self, draw: Draw) -> Tensor:
        return self.low + (self.high - self.low) * random_uniform(draw.full, dtype=self.dtype, seed=draw.seed)

    def _prob(self, x: Tensor) -> Tensor:
        y = x + zeros_like(self.low + self.high)
        inside = LOGICAL_AND(y >= self.low, y < self.high)
        return where(IS_NAN(y), y, cast(inside, self.dtype) / (self.high - self.low))

    def _cdf(self, x: Tensor) -> Tensor:
        return MINIMUM(MAXIMUM((x - self.low) / (self.high - self.low), 0.0), 1.0)

    def _entropy(self) -> Tensor:
        return LOG(self.high - self.low)

    def _mean(self) -> Tensor:
        return (self.low + self.high) / 2.0

    def _variance(self) -> Tensor:
        return SQUARE(self.high - self.low) / 12.0


class Gamma(Distribution):
    """Gamma distributions of shape `concentration` and inverse scale `rate`."""

    _ALIKE: tuple[str, ...] = ("concentration", "rate")

    def __init__(
        self,
        concentration: TensorLike,
        rate: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Gamma",
    ) -> None:
        parameters = dict(locals())
        self.concentration, self.rate = tensors_of(name, None, concentration=concentration, rate=rate)
        checks = [require_positive(self.concentration), require_positive(self.rate)] if validate_args else []
        self.concentration, self.rate = after(checks, self.concentration, self.rate)
        parents = [self.concentration, self.rate]
        kind = FULLY_REPARAMETERIZED if isinstance(self, Exponential) else NOT_REPARAMETERIZED
        super().__init__(self.rate.dtype, kind, validate_args, allow_nan_stats, parameters, parents, name)

    def _sample(self, draw: Draw) -> Tensor:
        ones = ones_like(self.concentration + self.rate)
        return random_gamma(draw.shape, self.concentration * ones, self.rate * ones, self.dtype, draw.seed)

    def _log_prob(self, x: Tensor) -> Tensor:
        a, b = self.concentration, self.rate
        return (a - 1.0) * LOG(x) - b * x + a * LOG(b) - LGAMMA(a)

    def _cdf(self, x: Tensor) -> Tensor:
        y = self.rate * x
        return IGAMMA(self.concentration * ones_like(y), y + zeros_like(self.concentration))

    def _entropy(self) -> Tensor:
        a = self.concentration
        return a - LOG(self.rate) + LGAMMA(a) + (1.0 - a) * DIGAMMA(a)

    def _mean(self) -> Tensor:
        return self.concentration / self.rate

    def _variance(self) -> Tensor:
        return self.concentration / SQUARE(self.rate)

    def _mode(self) -> Tensor:
        mode = (self.concentration - 1.0) / self.rate
        defined = self.concentration * ones_like(mode) > 1.0
        return where_defined(self, defined, mode, "the mode of a gamma distribution needs concentration > 1")


class Exponential(Gamma):
    """Exponential distributions of inverse scale `rate`."""

    _ALIKE: tuple[str, ...] = ("rate",)

    def __init__(
        self,
        rate: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Exponential",
    ) -> None:
        super().__init__(ones_like(tensors_of(name, None, rate=rate)[0]), rate, validate_args, allow_nan_stats, name)
        self.parameters = {
            "rate": rate,
            "validate_args": validate_args,
            "allow_nan_stats": allow_nan_stats,
            "name": name,
        }

    def _sample(self, draw: Draw) -> Tensor:
        # The smallest number is above 0, so that no draw is infinite.
        tiny = float(np.finfo(self.dtype.np).tiny)
        return -LOG(random_uniform(draw.full, tiny, 1.0, self.dtype, draw.seed)) / self.rate

    def _cdf(self, x: Tensor) -> Tensor:
        return -EXPM1(-self.rate * x)

    def _mode(self) -> Tensor:
        return zeros_like(self.rate)


class Beta(Distribution):
    """Beta distributions, with a density proportional to x^(concentration1 - 1) (1 - x)^(concentration0 - 1)."""

    _ALIKE: tuple[str, ...] = ("concentration1", "concentration0")

    def __init__(
        self,
        concentration1: TensorLike | None = None,
        concentration0: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Beta",
    ) -> None:
        parameters = dict(locals())
        ones = 1.0 if concentration1 is None else concentration1
        zeros = 1.0 if concentration0 is None else concentration0
        a, b = tensors_of(name, None, concentration1=ones, concentration0=zeros)
        checks = [require_positive(a), require_positive(b)] if validate_args else []
        self.concentration1, self.concentration0 = after(checks, a, b)
        self.total_concentration = self.concentration1 + self.concentration0
        parents = [self.concentration1, self.concentration0]
        super().__init__(a.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, parents, name)

    def _sample(self, draw: Draw) -> Tensor:
        ones = ones_like(self.total_concentration)
        x = random_gamma(draw.shape, self.concentration1 * ones, dtype=self.dtype, seed=draw.seed)
        second = None if draw.seed is None else draw.seed + 1
        y = random_gamma(draw.shape, self.concentration0 * ones, dtype=self.dtype, seed=second)
        return x / (x + y)

    def _log_normalization(self) -> Tensor:
        return LGAMMA(self.concentration1) + LGAMMA(self.concentration0) - LGAMMA(self.total_concentration)

    def _inside(self, x: Tensor) -> Tensor:
        if not self.validate_args:
            return x
        below = require(x < 1.0, "sample must be no larger than `1`. Condition x < y did not hold: x", x)
        return after([require_positive(x, "sample must be positive."), below], x)[0]

    def _log_prob(self, value: Tensor) -> Tensor:
        x = self._inside(value)
        powers = (self.concentration1 - 1.0) * LOG(x) + (self.concentration0 - 1.0) * LOG1P(-x)
        return powers - self._log_normalization()

    def _cdf(self, value: Tensor) -> Tensor:
        x = self._inside(value)
        zeros = zeros_like(x + self.total_concentration)
        return BETAINC(self.concentration1 + zeros, self.concentration0 + zeros, x + zeros)

    def _entropy(self) -> Tensor:
        a, b, total = self.concentration1, self.concentration0, self.total_concentration
        powers = (a - 1.0) * DIGAMMA(a) + (b - 1.0) * DIGAMMA(b) - (total - 2.0) * DIGAMMA(total)
        return self._log_normalization() - powers

    def _mean(self) -> Tensor:
        return self.concentration1 / self.total_concentration

    def _variance(self) -> Tensor:
        return self._mean() * (1.0 - self._mean()) / (1.0 + self.total_concentration)

    def _mode(self) -> Tensor:
        mode = (self.concentration1 - 1.0) / (self.total_concentration - 2.0)
        defined = MINIMUM(self.concentration1, self.concentration0) * ones_like(mode) > 1.0
        return where_defined(self, defined, mode, "the mode of a beta distribution needs concentrations > 1")


def _log_cdf_laplace(z: Tensor) -> Tensor:
    # Each side computes with numbers that are safe for it, so that no gradient is infinite times 0.
    return where(z < 0.0, z - math.log(2.0), LOG1P(-0.5 * EXP(-absolute(z))))


class Laplace(Distribution):
    """Laplace distributions of mean `loc`; at the distance `scale` from it the density is 1/e of that at `loc`."""

    _ALIKE: tuple[str, ...] = ("loc", "scale")

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Laplace",
    ) -> None:
        parameters = dict(locals())
        self.loc, self.scale = tensors_of(name, None, loc=loc, scale=scale)
        checks = [require_positive(self.scale)] if validate_args else []
        self.loc, self.scale = after(checks, self.loc, self.scale)
        super().__init__(
            self.loc.dtype,
            FULLY_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self.loc, self.scale],
            name,
        )

    def _sample(self, draw: Draw) -> Tensor:
        # The smallest number is the next one above -1, so that no draw is infinite.
        low = float(np.nextafter(np.asarray(-1, self.dtype.np), np.asarray(0, self.dtype.np)))
        u = random_uniform(draw.full, low, 1.0, self.dtype, draw.seed)
        return self.loc - self.scale * SIGN(u) * LOG1P(-absolute(u))

    def _z(self, x: Tensor) -> Tensor:
        return (x - self.loc) / self.scale

    def _log_prob(self, x: Tensor) -> Tensor:
        return -absolute(self._z(x)) - math.log(2.0) - LOG(self.scale)

    def _cdf(self, x: Tensor) -> Tensor:
        z = self._z(x)
        return 0.5 - 0.5 * SIGN(z) * EXPM1(-absolute(z))

    def _log_cdf(self, x: Tensor) -> Tensor:
        return _log_cdf_laplace(self._z(x))

    def _log_survival_function(self, x: Tensor) -> Tensor:
        return _log_cdf_laplace(-self._z(x))

    def _entropy(self) -> Tensor:
        return math.log(2.0) + 1.0 + LOG(self.scale * ones_like(self.loc))

    def _mean(self) -> Tensor:
        return self.loc * ones_like(self.scale)

    _mode = _mean

    def _stddev(self) -> Tensor:
        return math.sqrt(2.0) * self.scale * ones_like(self.loc)


class StudentT(Distribution):
    """Student's t distributions of `df` degrees of freedom, moved by `loc` and stretched by `scale`."""

    _ALIKE: tuple[str, ...] = ("df", "loc", "scale")

    def __init__(
        self,
        df: TensorLike,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "StudentT",
    ) -> None:
        parameters = dict(locals())
        self.df, self.loc, self.scale = tensors_of(name, None, df=df, loc=loc, scale=scale)
        checks = [require_positive(self.df)] if validate_args else []
        self.df, self.loc, self.scale = after(checks, self.df, self.loc, self.scale)
        parents = [self.df, self.loc, self.scale]
        super().__init__(
            self.loc.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, parents, name
        )

    def _sample(self, draw: Draw) -> Tensor:
        second = None if draw.seed is None else draw.seed + 1
        df = self.df * ones_like(self._batch())
        chi2 = random_gamma(draw.shape, 0.5 * df, 0.5 * ones_like(df), self.dtype, second)
        return self.loc + self.scale * random_normal(draw.full, dtype=self.dtype, seed=draw.seed) * RSQRT(chi2 / df)

    def _log_prob(self, x: Tensor) -> Tensor:
        z = (x - self.loc) / self.scale
        constant = LGAMMA(0.5 * self.df) + 0.5 * LOG(self.df * math.pi) - LGAMMA(0.5 * (self.df + 1.0))
        return -0.5 * (self.df + 1.0) * LOG1P(SQUARE(z) / self.df) - constant - LOG(absolute(self.scale))

    def _cdf(self, x: Tensor) -> Tensor:
        z = (x - self.loc) / absolute(self.scale)
        df = self.df + zeros_like(z)
        tail = 0.5 * BETAINC(0.5 * df, 0.5 * ones_like(df), df / (df + SQUARE(z)))
        return where(z + zeros_like(df) < 0.0, tail, 1.0 - tail)

    def _entropy(self) -> Tensor:
        half, more = 0.5 * self.df, 0.5 * (self.df + 1.0)
        log_beta = LGAMMA(half) + math.lgamma(0.5) - LGAMMA(more)
        powers = more * (DIGAMMA(more) - DIGAMMA(half))
        stretched = LOG(absolute(self.scale)) + zeros_like(self.loc)
        return stretched + 0.5 * LOG(self.df) + log_beta + powers

    def _mean(self) -> Tensor:
        mean = self.loc * ones_like(self.df * self.scale)
        defined = self.df * ones_like(mean) > 1.0
        return where_defined(self, defined, mean, "the mean of Student's t distribution needs df > 1")

    def _variance(self) -> Tensor:
        df = self.df * ones_like(self._batch())
        finite = SQUARE(self.scale) * df / where(df > 2.0, df - 2.0, ones_like(df))
        variance = where(df > 2.0, finite, ones_like(df) * np.inf)
        return where_defined(self, df > 1.0, variance, "the variance of Student's t distribution needs df > 1")

    def _mode(self) -> Tensor:
        return self.loc * ones_like(self.df * self.scale)


def _normals(a: Normal, b: Normal, name: str | None = None) -> Tensor:
    with name_scope(name or "kl_normal_normal"):
        ratio = SQUARE(a.scale / b.scale)
        return SQUARE(a.loc - b.loc) / (2.0 * SQUARE(b.scale)) + 0.5 * (ratio - 1.0 - LOG(ratio))


def _gammas(a: Gamma, b: Gamma, name: str | None = None) -> Tensor:
    with name_scope(name or "kl_gamma_gamma"):
        shapes = (a.concentration - b.concentration) * DIGAMMA(a.concentration)
        normalisers = LGAMMA(b.concentration) - LGAMMA(a.concentration)
        rates = b.concentration * (LOG(a.rate) - LOG(b.rate)) + a.concentration * (b.rate / a.rate - 1.0)
        return shapes + normalisers + rates


def _betas(a: Beta, b: Beta, name: str | None = None) -> Tensor:
    with name_scope(name or "kl_beta_beta"):

        def part(x: Tensor, y: Tensor) -> Tensor:
            return LGAMMA(y) - LGAMMA(x) + (x - y) * DIGAMMA(x)

        each = part(a.concentration1, b.concentration1) + part(a.concentration0, b.concentration0)
        return each - part(a.total_concentration, b.total_concentration)


RegisterKL(Normal, Normal)(_normals)
RegisterKL(Gamma, Gamma)(_gammas)
RegisterKL(Beta, Beta)(_betas)
