"""Further discrete distributions: binomial, geometric, negative binomial, fixed values, relaxed classes.

Invariant: logits and probabilities are two forms of the same parameter; whichever is given, both are attributes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tfnb.errors import UnimplementedError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import constant, convert_to_tensor, ones_like, zeros_like
from tfnb.ops.array.constants import range_ as range_op
from tfnb.ops.array.shape_ops import EXPAND_DIMS, IDENTITY
from tfnb.ops.array.shape_ops import shape as shape_op
from tfnb.ops.array.where_partition import where
from tfnb.ops.math.binary import MAXIMUM
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import EQUAL, LOGICAL_AND
from tfnb.ops.math.reduce_functions import reduce_all, reduce_max, reduce_sum
from tfnb.ops.math.reduce_sum import BROADCAST_TO
from tfnb.ops.math.special import BETAINC
from tfnb.ops.math.unary import EXP, EXPM1, FLOOR, LGAMMA, LOG, LOG1P, absolute
from tfnb.ops.nn.activations import SOFTPLUS
from tfnb.ops.nn.losses import log_softmax
from tfnb.ops.random.functions import random_uniform
from tfnb.ops.random.gamma_poisson import random_gamma, random_poisson
from tfnb.types import DTypeLike, Shape, as_shape, int32
from tfnb.v1.bijectors.scalar import Exp, Sigmoid
from tfnb.v1.distributions.checks import positive, within_one
from tfnb.v1.distributions.discrete import logits_and_probs
from tfnb.v1.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    Draw,
    tensors_of,
)
from tfnb.v1.distributions.further_continuous import Logistic
from tfnb.v1.distributions.transformed import TransformedDistribution

__all__ = [
    "Binomial",
    "Deterministic",
    "ExpRelaxedOneHotCategorical",
    "Geometric",
    "NegativeBinomial",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "VectorDeterministic",
]


class _Logits(Distribution):
    """Distributions of the parameter `probs` = sigmoid(`logits`) and a `total_count`."""

    def __init__(
        self,
        total_count: TensorLike | None,
        logits: TensorLike | None,
        probs: TensorLike | None,
        validate_args: bool,
        allow_nan_stats: bool,
        name: str,
        parameters: Mapping[str, Any],
    ) -> None:
        self.logits, self.probs = logits_and_probs(name, logits, probs, many=False)
        parents = [self.logits]
        if total_count is not None:
            self.total_count = tensors_of(name, self.probs.dtype, total_count=total_count)[0]
            parents.append(self.total_count)
        if validate_args:
            self.probs, self.logits = within_one(self.probs, self.logits)
        super().__init__(
            self.probs.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, parents, name
        )


class Binomial(_Logits):
    """Distributions of how often an event of the probability `probs` = sigmoid(`logits`) occurs in `total_count`."""

    def __init__(
        self,
        total_count: TensorLike,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Binomial",
    ) -> None:
        super().__init__(total_count, logits, probs, validate_args, allow_nan_stats, name, dict(locals()))

    def _sample(self, draw: Draw) -> Tensor:
        most = cast(reduce_max(self.total_count), int32)
        u = random_uniform(concat([draw.full, EXPAND_DIMS(most, 0)], 0), dtype=self.dtype, seed=draw.seed)
        used = cast(range_op(most), self.dtype) < (self.total_count + zeros_like(self._batch()))[..., None]
        hits = LOGICAL_AND(u < (self.probs + zeros_like(self._batch()))[..., None], used)
        return reduce_sum(cast(hits, self.dtype), -1)

    def _log_prob(self, x: Tensor) -> Tensor:
        n = self.total_count
        ways = LGAMMA(n + 1.0) - LGAMMA(x + 1.0) - LGAMMA(n - x + 1.0)
        return ways + x * LOG(self.probs) + (n - x) * LOG1P(-self.probs)

    def _cdf(self, x: Tensor) -> Tensor:
        n, zeros = self.total_count, zeros_like(x + self._batch())
        full = BETAINC(MAXIMUM(n - x, 1e-6) + zeros, 1.0 + x + zeros, 1.0 - self.probs + zeros)
        return where(x + zeros >= n + zeros, ones_like(full), full)

    def _mean(self) -> Tensor:
        return self.total_count * self.probs

    def _variance(self) -> Tensor:
        return self._mean() * (1.0 - self.probs)

    def _mode(self) -> Tensor:
        return FLOOR((1.0 + self.total_count) * self.probs)


class Geometric(_Logits):
    """Distributions of the number of failures before a success, of the probability `probs` = sigmoid(`logits`)."""

    def __init__(
        self,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Geometric",
    ) -> None:
        super().__init__(None, logits, probs, validate_args, allow_nan_stats, name, dict(locals()))

    def _sample(self, draw: Draw) -> Tensor:
        tiny = float(np.finfo(self.dtype.np).tiny)
        return FLOOR(LOG(random_uniform(draw.full, tiny, 1.0, self.dtype, draw.seed)) / LOG1P(-self.probs))

    def _log_prob(self, x: Tensor) -> Tensor:
        zeros = zeros_like(x + self.probs)
        safe = where(EQUAL(x + zeros, 0.0), zeros, self.probs + zeros)
        return x * LOG1P(-safe) + LOG(self.probs)

    def _cdf(self, x: Tensor) -> Tensor:
        return where(
            x + zeros_like(self.probs) < 0.0, zeros_like(x + self.probs), -EXPM1((1.0 + FLOOR(x)) * LOG1P(-self.probs))
        )

    def _entropy(self) -> Tensor:
        return SOFTPLUS(self.logits) / self.probs - self.logits

    def _mean(self) -> Tensor:
        return EXP(-self.logits)

    def _variance(self) -> Tensor:
        return self._mean() / self.probs

    def _mode(self) -> Tensor:
        return zeros_like(self.probs)


class NegativeBinomial(_Logits):
    """Distributions of the number of successes, of the probability `probs`, before `total_count` failures."""

    def __init__(
        self,
        total_count: TensorLike,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "NegativeBinomial",
    ) -> None:
        super().__init__(total_count, logits, probs, validate_args, allow_nan_stats, name, dict(locals()))

    def _sample(self, draw: Draw) -> Tensor:
        rate = random_gamma(
            draw.shape,
            self.total_count + zeros_like(self._batch()),
            EXP(-self.logits) + zeros_like(self._batch()),
            self.dtype,
            draw.seed,
        )
        second = None if draw.seed is None else draw.seed + 1
        return random_poisson(rate, constant(np.zeros(0, np.int32)), self.dtype, second)

    def _log_prob(self, x: Tensor) -> Tensor:
        n = self.total_count
        ways = LGAMMA(n + x) - LGAMMA(1.0 + x) - LGAMMA(n)
        return ways + n * LOG1P(-self.probs) + x * LOG(self.probs)

    def _cdf(self, x: Tensor) -> Tensor:
        zeros = zeros_like(x + self._batch())
        return BETAINC(self.total_count + zeros, 1.0 + FLOOR(x) + zeros, 1.0 - self.probs + zeros)

    def _mean(self) -> Tensor:
        return self.total_count * EXP(self.logits)

    def _variance(self) -> Tensor:
        return self._mean() / (1.0 - self.probs)

    def _mode(self) -> Tensor:
        above = FLOOR((self.total_count - 1.0) * EXP(self.logits))
        return where(self.total_count + zeros_like(above) > 1.0, above, zeros_like(above))


class Deterministic(Distribution):
    """The distributions of the value `loc` alone.

    Values count as `loc` up to the distance atol + rtol |loc|.
    """

    _rank = 0

    def __init__(
        self,
        loc: TensorLike,
        atol: TensorLike | None = None,
        rtol: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Deterministic",
    ) -> None:
        parameters = dict(locals())
        self.loc = convert_to_tensor(loc)
        self.atol, self.rtol = tensors_of(
            name, self.loc.dtype, atol=0 if atol is None else atol, rtol=0 if rtol is None else rtol
        )
        super().__init__(
            self.loc.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, [self.loc], name
        )

    @property
    def event_shape(self) -> Shape:
        """The last dimension of a vector, else none."""
        return self.loc.shape[-1:] if self._rank else as_shape(())

    def _event(self) -> Tensor:
        return shape_op(self.loc)[-1:] if self._rank else constant(np.zeros(0, np.int32))

    def _batch(self) -> Tensor:
        return self.loc[..., 0] if self._rank else self.loc

    def _sample(self, draw: Draw) -> Tensor:
        return BROADCAST_TO(self.loc, draw.full)

    def _near(self, x: Tensor) -> Tensor:
        return absolute(x - self.loc) <= self.atol + self.rtol * absolute(self.loc)

    def _prob(self, x: Tensor) -> Tensor:
        near = self._near(x)
        return cast(reduce_all(near, -1) if self._rank else near, self.dtype)

    def _cdf(self, x: Tensor) -> Tensor:
        return cast(x >= self.loc - self.atol - self.rtol * absolute(self.loc), self.dtype)

    def _entropy(self) -> Tensor:
        return zeros_like(self._batch())

    def _mean(self) -> Tensor:
        return IDENTITY(self.loc)

    _mode = _mean

    def _variance(self) -> Tensor:
        return zeros_like(self.loc)


class VectorDeterministic(Deterministic):
    """The distributions of the vector `loc` alone; for the other arguments see `Deterministic`."""

    _rank = 1

    def __init__(
        self,
        loc: TensorLike,
        atol: TensorLike | None = None,
        rtol: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "VectorDeterministic",
    ) -> None:
        super().__init__(loc, atol, rtol, validate_args, allow_nan_stats, name)

    def cdf(self, value: TensorLike, name: str = "cdf") -> Tensor:
        """Raises `UnimplementedError`: vectors have no order."""
        raise UnimplementedError(f"VectorDeterministic has no {name}: vectors have no order")


class RelaxedBernoulli(TransformedDistribution):
    """Sigmoids of logistic numbers around `logits` (or of `probs`), near to 0 or 1 at low `temperature`."""

    def __init__(
        self,
        temperature: TensorLike,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "RelaxedBernoulli",
    ) -> None:
        self.logits, self.probs = logits_and_probs(name, logits, probs, many=False)
        self.temperature = tensors_of(name, self.logits.dtype, temperature=temperature)[0]
        base = Logistic(self.logits / self.temperature, 1.0 / self.temperature, validate_args, allow_nan_stats)
        super().__init__(base, Sigmoid(validate_args), validate_args=validate_args, name=name)


class ExpRelaxedOneHotCategorical(Distribution):
    """The logarithms of `RelaxedOneHotCategorical`'s vectors, which keep their accuracy at low temperatures.

    temperature, logits, probs: see there. dtype: of draws, by default that of the logits.
    """

    def __init__(
        self,
        temperature: TensorLike,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        dtype: DTypeLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "ExpRelaxedOneHotCategorical",
    ) -> None:
        parameters = dict(locals())
        self.logits, self.probs = logits_and_probs(name, logits, probs, many=True)
        if dtype is not None:
            self.logits, self.probs = cast(self.logits, dtype), cast(self.probs, dtype)
        given = tensors_of(name, self.logits.dtype, temperature=temperature)[0]
        self.temperature = positive(given, validate_args)
        parents = [self.logits]
        super().__init__(
            self.logits.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, parents, name
        )

    @property
    def event_shape(self) -> Shape:
        """The number of classes, as a shape."""
        return self.logits.shape[-1:]

    def _event(self) -> Tensor:
        return shape_op(self.logits)[-1:]

    def _batch(self) -> Tensor:
        return self.logits[..., 0]

    def _over(self) -> Tensor:
        return EXPAND_DIMS(self.temperature, -1)

    def _sample(self, draw: Draw) -> Tensor:
        tiny = float(np.finfo(self.dtype.np).tiny)
        u = random_uniform(draw.full, tiny, 1.0, self.dtype, draw.seed)
        return log_softmax((self.logits - LOG(-LOG(u))) / self._over())

    def _log_prob(self, x: Tensor) -> Tensor:
        n = cast(shape_op(self.logits)[-1], self.dtype)
        constant_part = LGAMMA(n) + (n - 1.0) * LOG(self.temperature)
        scaled = self.logits - x * self._over()
        return constant_part + reduce_sum(log_softmax(scaled), -1)


class RelaxedOneHotCategorical(TransformedDistribution):
    """Softmaxes of `logits` plus Gumbel noise over `temperature`, which nears one-hot vectors at low temperatures.

    logits, probs: of the classes along the last dimension. dtype: of draws, by default that of the logits.
    """

    def __init__(
        self,
        temperature: TensorLike,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        dtype: DTypeLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "RelaxedOneHotCategorical",
    ) -> None:
        base = ExpRelaxedOneHotCategorical(temperature, logits, probs, dtype, validate_args, allow_nan_stats)
        self.logits, self.probs, self.temperature = base.logits, base.probs, base.temperature
        super().__init__(base, Exp(validate_args), validate_args=validate_args, name=name)
