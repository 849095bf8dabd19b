"""Further distributions of real numbers: Cauchy, logistic, half-normal, chi-squared, inverse gamma, Kumaraswamy.

Invariant: as in `continuous`, parameters broadcast against each other, and against values.
"""

from __future__ import annotations

import math

import numpy as np

from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import constant, ones_like, zeros_like
from tfnb.ops.math.binary import MINIMUM
from tfnb.ops.math.cast import cast
from tfnb.ops.math.special import ERFINV, IGAMMAC
from tfnb.ops.math.unary import (
    ASINH,
    ATAN,
    DIGAMMA,
    ERF,
    EXP,
    EXPM1,
    FLOOR,
    LGAMMA,
    LOG,
    LOG1P,
    SIGMOID,
    SINH,
    SQUARE,
    TAN,
    absolute,
)
from tfnb.ops.nn.activations import RELU, SOFTPLUS
from tfnb.ops.random.functions import random_normal, random_uniform
from tfnb.ops.random.gamma_poisson import random_gamma
from tfnb.v1.bijectors.bijector import Chain
from tfnb.v1.bijectors.scalar import AffineScalar
from tfnb.v1.bijectors.scalar import SinhArcsinh as SinhArcsinhBijector
from tfnb.v1.distributions.checks import positive
from tfnb.v1.distributions.continuous import Beta, Exponential, Gamma, Laplace, Normal, StudentT
from tfnb.v1.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    Draw,
    tensors_of,
    where_defined,
)
from tfnb.v1.distributions.transformed import TransformedDistribution

__all__ = [
    "BetaWithSoftplusConcentration",
    "Cauchy",
    "Chi2",
    "Chi2WithAbsDf",
    "ExponentialWithSoftplusRate",
    "GammaWithSoftplusConcentrationRate",
    "HalfNormal",
    "InverseGamma",
    "InverseGammaWithSoftplusConcentrationRate",
    "Kumaraswamy",
    "LaplaceWithSoftplusScale",
    "Logistic",
    "NormalWithSoftplusScale",
    "SinhArcsinh",
    "StudentTWithAbsDfSoftplusScale",
]


DIGAMMA_OF_ONE = -0.5772156649015329


class _LocScale(Distribution):
    """A distribution that is moved by `loc` and stretched by `scale`."""

    def __init__(
        self, loc: TensorLike, scale: TensorLike, validate_args: bool, allow_nan_stats: bool, name: str
    ) -> None:
        parameters = {
            "loc": loc,
            "scale": scale,
            "validate_args": validate_args,
            "allow_nan_stats": allow_nan_stats,
            "name": name,
        }
        self.loc, self.scale = tensors_of(name, None, loc=loc, scale=scale)
        self.scale = positive(self.scale, validate_args)
        parents = [self.loc, self.scale]
        super().__init__(
            self.loc.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, parents, name
        )

    def _z(self, x: Tensor) -> Tensor:
        return (x - self.loc) / self.scale


class Cauchy(_LocScale):
    """Cauchy's distributions, around `loc`, with half the width `scale` at half the height."""

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Cauchy",
    ) -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _sample(self, draw: Draw) -> Tensor:
        return self._quantile(random_uniform(draw.full, dtype=self.dtype, seed=draw.seed))

    def _log_prob(self, x: Tensor) -> Tensor:
        return -math.log(math.pi) - LOG(self.scale) - LOG1P(SQUARE(self._z(x)))

    def _cdf(self, x: Tensor) -> Tensor:
        return ATAN(self._z(x)) / math.pi + 0.5

    def _quantile(self, p: Tensor) -> Tensor:
        return self.loc + self.scale * TAN(math.pi * (p - 0.5))

    def _entropy(self) -> Tensor:
        return math.log(4 * math.pi) + LOG(self.scale * ones_like(self.loc))

    def _mode(self) -> Tensor:
        return self.loc * ones_like(self.scale)

    def _mean(self) -> Tensor:
        value = self.loc * ones_like(self.scale)
        return where_defined(self, value > np.inf, value, "the mean of Cauchy's distribution is undefined")

    _stddev = _mean


class Logistic(_LocScale):
    """Logistic distributions of mean `loc` and scale `scale`."""

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Logistic",
    ) -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _sample(self, draw: Draw) -> Tensor:
        tiny = float(np.finfo(self.dtype.np).tiny)
        u = random_uniform(draw.full, tiny, 1.0, self.dtype, draw.seed)
        return self.loc + self.scale * (LOG(u) - LOG1P(-u))

    def _log_prob(self, x: Tensor) -> Tensor:
        z = self._z(x)
        return -z - 2.0 * SOFTPLUS(-z) - LOG(self.scale)

    def _cdf(self, x: Tensor) -> Tensor:
        return SIGMOID(self._z(x))

    def _log_cdf(self, x: Tensor) -> Tensor:
        return -SOFTPLUS(-self._z(x))

    def _quantile(self, p: Tensor) -> Tensor:
        return self.loc + self.scale * (LOG(p) - LOG1P(-p))

    def _entropy(self) -> Tensor:
        return 2.0 + LOG(self.scale * ones_like(self.loc))

    def _mean(self) -> Tensor:
        return self.loc * ones_like(self.scale)

    _mode = _mean

    def _stddev(self) -> Tensor:
        return self.scale * ones_like(self.loc) * (math.pi / math.sqrt(3))


class HalfNormal(Distribution):
    """The distributions of |x| for normal x of mean 0 and standard deviation `scale`."""

    def __init__(
        self, scale: TensorLike, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "HalfNormal"
    ) -> None:
        parameters = dict(locals())
        self.scale = positive(tensors_of(name, None, scale=scale)[0], validate_args)
        super().__init__(
            self.scale.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, [self.scale], name
        )

    def _sample(self, draw: Draw) -> Tensor:
        return absolute(random_normal(draw.full, dtype=self.dtype, seed=draw.seed) * self.scale)

    def _prob(self, x: Tensor) -> Tensor:
        density = math.sqrt(2 / math.pi) / self.scale * EXP(-0.5 * SQUARE(x / self.scale))
        return density * cast(x >= 0.0, self.dtype)

    def _cdf(self, x: Tensor) -> Tensor:
        return ERF(RELU(x) / self.scale / math.sqrt(2.0))

    def _quantile(self, p: Tensor) -> Tensor:
        return math.sqrt(2.0) * self.scale * ERFINV(p)

    def _entropy(self) -> Tensor:
        return 0.5 * LOG(math.pi * SQUARE(self.scale) / 2.0) + 0.5

    def _mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    def _mode(self) -> Tensor:
        return zeros_like(self.scale)

    def _variance(self) -> Tensor:
        return SQUARE(self.scale) * (1.0 - 2.0 / math.pi)


class Chi2(Gamma):
    """Chi-squared distributions of `df` degrees of freedom."""

    def __init__(
        self, df: TensorLike, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Chi2"
    ) -> None:
        self.df = tensors_of(name, None, df=df)[0]
        super().__init__(0.5 * self.df, constant(0.5, self.df.dtype), validate_args, allow_nan_stats, name)
        self.parameters = {"df": df, "validate_args": validate_args, "allow_nan_stats": allow_nan_stats, "name": name}


class InverseGamma(Distribution):
    """The distributions of 1 / x for gamma distributed x of shape `concentration` and inverse scale `rate`."""

    def __init__(
        self,
        concentration: TensorLike,
        rate: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "InverseGamma",
    ) -> None:
        parameters = dict(locals())
        a, b = tensors_of(name, None, concentration=concentration, rate=rate)
        self.concentration, self.rate = positive(a, validate_args), positive(b, validate_args)
        super().__init__(
            a.dtype,
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self.concentration, self.rate],
            name,
        )

    def _sample(self, draw: Draw) -> Tensor:
        ones = ones_like(self.concentration + self.rate)
        return 1.0 / random_gamma(draw.shape, self.concentration * ones, self.rate * ones, self.dtype, draw.seed)

    def _log_prob(self, x: Tensor) -> Tensor:
        a, b = self.concentration, self.rate
        return a * LOG(b) - LGAMMA(a) - (1.0 + a) * LOG(x) - b / x

    def _cdf(self, x: Tensor) -> Tensor:
        y = self.rate / x
        return IGAMMAC(self.concentration + zeros_like(y), y + zeros_like(self.concentration))

    def _entropy(self) -> Tensor:
        a = self.concentration
        return a + LOG(self.rate) + LGAMMA(a) - (1.0 + a) * DIGAMMA(a)

    def _mean(self) -> Tensor:
        mean = self.rate / (self.concentration - 1.0)
        return where_defined(
            self,
            self.concentration * ones_like(mean) > 1.0,
            mean,
            "the mean of an inverse gamma distribution needs concentration > 1",
        )

    def _variance(self) -> Tensor:
        variance = SQUARE(self.rate / (self.concentration - 1.0)) / (self.concentration - 2.0)
        return where_defined(
            self,
            self.concentration * ones_like(variance) > 2.0,
            variance,
            "the variance of an inverse gamma distribution needs concentration > 2",
        )

    def _mode(self) -> Tensor:
        return self.rate / (1.0 + self.concentration)


class Kumaraswamy(Distribution):
    """Kumaraswamy's distributions: density a b x^(a - 1) (1 - x^a)^(b - 1) of a, b = concentration1, concentration0."""

    def __init__(
        self,
        concentration1: TensorLike | None = None,
        concentration0: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Kumaraswamy",
    ) -> None:
        parameters = dict(locals())
        a, b = tensors_of(
            name,
            None,
            a=1.0 if concentration1 is None else concentration1,
            b=1.0 if concentration0 is None else concentration0,
        )
        self.concentration1, self.concentration0 = positive(a, validate_args), positive(b, validate_args)
        parents = [self.concentration1, self.concentration0]
        super().__init__(a.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, parents, name)

    def _sample(self, draw: Draw) -> Tensor:
        u = random_uniform(draw.full, dtype=self.dtype, seed=draw.seed)
        return EXP(LOG1P(-EXP(LOG1P(-u) / self.concentration0)) / self.concentration1)

    def _log_prob(self, x: Tensor) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return LOG(a) + LOG(b) + (a - 1.0) * LOG(x) + (b - 1.0) * LOG1P(-(x**a))

    def _cdf(self, x: Tensor) -> Tensor:
        return -EXPM1(self.concentration0 * LOG1P(-(x**self.concentration1)))

    def _moment(self, n: int) -> Tensor:
        a, b = self.concentration1, self.concentration0
        first = 1.0 + n / a
        return EXP(LOG(b) + LGAMMA(first) + LGAMMA(b) - LGAMMA(first + b))

    def _entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = DIGAMMA(b + 1.0) - DIGAMMA_OF_ONE
        return (1.0 - 1.0 / a) * harmonic + (1.0 - 1.0 / b) - LOG(a) - LOG(b)

    def _mean(self) -> Tensor:
        return self._moment(1)

    def _variance(self) -> Tensor:
        return self._moment(2) - SQUARE(self._moment(1))

    def _mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        mode = ((a - 1.0) / (a * b - 1.0)) ** (1.0 / a)
        defined = MINIMUM(a, b) * ones_like(mode) > 1.0
        return where_defined(self, defined, mode, "the mode of Kumaraswamy's distribution needs concentrations > 1")


class SinhArcsinh(TransformedDistribution):
    """Normal numbers, or those of `distribution`, made skew and heavy tailed by the sinh of their arsinh.

    loc, scale: move and stretch the result. skewness: 0 leaves it symmetric. tailweight: 1 leaves the tails.
    """

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        skewness: TensorLike | None = None,
        tailweight: TensorLike | None = None,
        distribution: Distribution | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "SinhArcsinh",
    ) -> None:
        moved, stretch, skew, tail = tensors_of(
            name,
            None,
            loc=loc,
            scale=scale,
            skewness=0.0 if skewness is None else skewness,
            tailweight=1.0 if tailweight is None else tailweight,
        )
        self.loc, self.scale, self.skewness, self.tailweight = moved, stretch, skew, tail
        batch = zeros_like(moved + stretch + skew + tail)
        base = distribution or Normal(batch, ones_like(batch), allow_nan_stats=allow_nan_stats)
        # The scale is such that the 98 percent quantile of the symmetric case stays where it is.
        two = constant(2.0, moved.dtype)
        factor = stretch * 2.0 / SINH(ASINH(two) * tail)
        bijector = Chain([AffineScalar(moved, factor), SinhArcsinhBijector(skew, tail)])
        super().__init__(base, bijector, validate_args=validate_args, name=name)


class NormalWithSoftplusScale(Normal):
    """`Normal` with softplus(scale) as the scale."""

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "NormalWithSoftplusScale",
    ) -> None:
        super().__init__(loc, SOFTPLUS(tensors_of(name, None, scale=scale)[0]), validate_args, allow_nan_stats, name)


class LaplaceWithSoftplusScale(Laplace):
    """`Laplace` with softplus(scale) as the scale."""

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "LaplaceWithSoftplusScale",
    ) -> None:
        super().__init__(loc, SOFTPLUS(tensors_of(name, None, scale=scale)[0]), validate_args, allow_nan_stats, name)


class ExponentialWithSoftplusRate(Exponential):
    """`Exponential` with softplus(rate) as the rate."""

    def __init__(
        self,
        rate: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "ExponentialWithSoftplusRate",
    ) -> None:
        super().__init__(SOFTPLUS(tensors_of(name, None, rate=rate)[0]), validate_args, allow_nan_stats, name)


class GammaWithSoftplusConcentrationRate(Gamma):
    """`Gamma` with softplus(concentration) and softplus(rate) as the parameters."""

    def __init__(
        self,
        concentration: TensorLike,
        rate: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "GammaWithSoftplusConcentrationRate",
    ) -> None:
        a, b = tensors_of(name, None, concentration=concentration, rate=rate)
        super().__init__(SOFTPLUS(a), SOFTPLUS(b), validate_args, allow_nan_stats, name)


class InverseGammaWithSoftplusConcentrationRate(InverseGamma):
    """`InverseGamma` with softplus(concentration) and softplus(rate) as the parameters."""

    def __init__(
        self,
        concentration: TensorLike,
        rate: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "InverseGammaWithSoftplusConcentrationRate",
    ) -> None:
        a, b = tensors_of(name, None, concentration=concentration, rate=rate)
        super().__init__(SOFTPLUS(a), SOFTPLUS(b), validate_args, allow_nan_stats, name)


class BetaWithSoftplusConcentration(Beta):
    """`Beta` with softplus(concentration1) and softplus(concentration0) as the parameters."""

    def __init__(
        self,
        concentration1: TensorLike,
        concentration0: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "BetaWithSoftplusConcentration",
    ) -> None:
        a, b = tensors_of(name, None, concentration1=concentration1, concentration0=concentration0)
        super().__init__(SOFTPLUS(a), SOFTPLUS(b), validate_args, allow_nan_stats, name)


class Chi2WithAbsDf(Chi2):
    """`Chi2` with floor(|df|) degrees of freedom."""

    def __init__(
        self, df: TensorLike, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Chi2WithAbsDf"
    ) -> None:
        super().__init__(FLOOR(absolute(tensors_of(name, None, df=df)[0])), validate_args, allow_nan_stats, name)


class StudentTWithAbsDfSoftplusScale(StudentT):
    """`StudentT` with floor(|df|) degrees of freedom and softplus(scale) as the scale."""

    def __init__(
        self,
        df: TensorLike,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "StudentTWithAbsDfSoftplusScale",
    ) -> None:
        degrees, moved, stretch = tensors_of(name, None, df=df, loc=loc, scale=scale)
        super().__init__(FLOOR(absolute(degrees)), moved, SOFTPLUS(stretch), validate_args, allow_nan_stats, name)
