"""Distributions of integers and classes: Bernoulli, categorical, one-hot, Poisson.

Invariant: logits and probabilities are two forms of the same parameter; whichever is given, both are attributes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.client.graph.default_graph import control_dependencies, name_scope
from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import range_ as range_op
from tfnb.ops.array.constants import zeros_like
from tfnb.ops.array.shape_ops import IDENTITY, RESHAPE
from tfnb.ops.array.shape_ops import shape as shape_op
from tfnb.ops.array.transpose_pad_tile import transpose
from tfnb.ops.array.where_partition import where
from tfnb.ops.linalg.diag import one_hot
from tfnb.ops.logging.print_assert import assert_that
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import EQUAL
from tfnb.ops.math.reduce_functions import argmax, reduce_all, reduce_prod, reduce_sum
from tfnb.ops.math.special import IGAMMAC
from tfnb.ops.math.unary import EXP, FLOOR, LGAMMA, LOG, LOG1P, SIGMOID, absolute
from tfnb.ops.nn.activations import SOFTPLUS
from tfnb.ops.nn.losses import (
    log_softmax,
    sigmoid_cross_entropy_with_logits,
    softmax,
    sparse_softmax_cross_entropy_with_logits,
)
from tfnb.ops.random.functions import multinomial, random_uniform
from tfnb.ops.random.gamma_poisson import random_poisson
from tfnb.types import DTypeLike, Shape, as_dtype, int32
from tfnb.v1.distributions.checks import after, positive, require, within_one
from tfnb.v1.distributions.distribution import (
    NOT_REPARAMETERIZED,
    Distribution,
    Draw,
    RegisterKL,
    tensors_of,
)

__all__ = [
    "Bernoulli",
    "Categorical",
    "OneHotCategorical",
    "Poisson",
    "logits_and_probs",
]


def logits_and_probs(name: str, logits: Any, probs: Any, many: bool) -> tuple[Any, Any]:
    """Returns (logits, probs), of which one is given and the other is None.

    With `many` they belong to the classes along the last axis, else to single events. Raises `InvalidArgumentError` if
    both or none are given.
    """
    if (logits is None) == (probs is None):
        raise InvalidArgumentError(f"{name}: give either logits or probs")
    logits, probs = tensors_of(name, None, logits=logits, probs=probs)
    if probs is None:
        return logits, softmax(logits) if many else SIGMOID(logits)
    return LOG(probs) if many else LOG(probs) - LOG1P(-probs), probs


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
        self.logits, self.probs = logits_and_probs(name, logits, probs, many=False)
        if validate_args:
            self.probs, self.logits = within_one(self.probs, self.logits)
        super().__init__(
            as_dtype(dtype), NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, [self.logits], name
        )

    def _sample(self, draw: Draw) -> Tensor:
        return cast(random_uniform(draw.full, dtype=self.probs.dtype, seed=draw.seed) < self.probs, self.dtype)

    def _log_prob(self, x: Tensor) -> Tensor:
        event = cast(x, self.logits.dtype)
        if self.validate_args:
            low = require(event >= 0.0, "Elements must be non-negative.", x)
            event = after([low, require(event <= 1.0, "Elements cannot exceed 1.", x)], event)[0]
        zeros = zeros_like(event + self.logits)
        return -sigmoid_cross_entropy_with_logits(labels=event + zeros, logits=self.logits + zeros)

    def _entropy(self) -> Tensor:
        return -self.logits * (SIGMOID(self.logits) - 1.0) + SOFTPLUS(-self.logits)

    def _mean(self) -> Tensor:
        return IDENTITY(self.probs)

    def _variance(self) -> Tensor:
        return self.probs * (1.0 - self.probs)

    def _mode(self) -> Tensor:
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
        self.logits, self.probs = logits_and_probs(name, logits, probs, many=True)
        if validate_args:
            total = absolute(reduce_sum(self.probs, -1) - 1.0)
            with control_dependencies([assert_that(reduce_all(total < 1e-3), ["probs must sum to 1"])]):
                self.logits, self.probs = IDENTITY(self.logits), IDENTITY(self.probs)
        super().__init__(
            as_dtype(dtype), NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, [self.logits], name
        )

    @property
    def event_size(self) -> Tensor:
        """The number of classes, a scalar int32 tensor."""
        return shape_op(self.logits)[-1]

    def _batch(self) -> Tensor:
        return self.logits[..., 0]

    def _classes_last(self, shape: Tensor, seed: int | None) -> Tensor:
        classes = shape_op(self.logits)[-1]
        number = reduce_prod(shape)
        drawn = multinomial(RESHAPE(self.logits, [-1, classes]), number, seed)
        return RESHAPE(transpose(drawn), concat([shape, shape_op(self.logits)[:-1]], 0))

    def _sample(self, draw: Draw) -> Tensor:
        return cast(self._classes_last(draw.shape, draw.seed), self.dtype)

    def _log_prob(self, x: Tensor) -> Tensor:
        zeros = zeros_like(cast(x, self.logits.dtype) + self.logits[..., 0])
        labels = cast(x, int32) + cast(zeros, int32)
        logits = self.logits + zeros[..., None]
        return -sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)

    def _cdf(self, x: Tensor) -> Tensor:
        zeros = zeros_like(cast(x, self.probs.dtype) + self.probs[..., 0])
        # TensorFlow's: the probability of a class below x, without x itself
        below = range_op(shape_op(self.probs)[-1]) < (cast(x, int32) + cast(zeros, int32))[..., None]
        return reduce_sum(self.probs * cast(below, self.probs.dtype), -1)

    def _entropy(self) -> Tensor:
        log_probs = log_softmax(self.logits)
        return -reduce_sum(EXP(log_probs) * where(log_probs > -np.inf, log_probs, zeros_like(log_probs)), -1)

    def _mode(self) -> Tensor:
        return cast(argmax(self.logits, -1), self.dtype)


class OneHotCategorical(Categorical):
    """Distributions of vectors, 1 at the class and else 0, with the probabilities `probs` = softmax(`logits`)."""

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
    def event_shape(self) -> Shape:
        """The number of classes, as a shape."""
        return self.logits.shape[-1:]

    def _event(self) -> Tensor:
        return shape_op(self.logits)[-1:]

    def _sample(self, draw: Draw) -> Tensor:
        return one_hot(self._classes_last(draw.shape, draw.seed), shape_op(self.logits)[-1], dtype=self.dtype)

    def _log_prob(self, x: Tensor) -> Tensor:
        return reduce_sum(cast(x, self.logits.dtype) * log_softmax(self.logits), -1)

    def _mean(self) -> Tensor:
        return softmax(self.logits)

    def _variance(self) -> Tensor:
        return self._mean() * (1.0 - self._mean())

    def _mode(self) -> Tensor:
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

    def _sample(self, draw: Draw) -> Tensor:
        return random_poisson(self.rate, draw.shape, self.dtype, draw.seed)

    def _log_prob(self, x: Tensor) -> Tensor:
        value = x * self.log_rate - LGAMMA(1.0 + x) - self.rate
        if self.interpolate_nondiscrete:
            return value
        whole = EQUAL(x + zeros_like(value), FLOOR(x + zeros_like(value)))
        return where(whole, value, zeros_like(value) - np.inf)

    def _cdf(self, x: Tensor) -> Tensor:
        n = x if self.interpolate_nondiscrete else FLOOR(x)
        return IGAMMAC(1.0 + n + zeros_like(self.rate), self.rate + zeros_like(n))

    def _mean(self) -> Tensor:
        return IDENTITY(self.rate)

    _variance = _mean

    def _mode(self) -> Tensor:
        return FLOOR(self.rate)


def _bernoullis(a: Bernoulli, b: Bernoulli, name: str | None = None) -> Tensor:
    with name_scope(name or "kl_bernoulli_bernoulli"):
        no = SOFTPLUS(b.logits) - SOFTPLUS(a.logits)
        yes = SOFTPLUS(-b.logits) - SOFTPLUS(-a.logits)
        return a.probs * yes + (1.0 - a.probs) * no


def _categoricals(a: Categorical, b: Categorical, name: str | None = None) -> Tensor:
    with name_scope(name or "kl_categorical_categorical"):
        difference = log_softmax(a.logits) - log_softmax(b.logits)
        return reduce_sum(softmax(a.logits) * difference, -1)


RegisterKL(Bernoulli, Bernoulli)(_bernoullis)
RegisterKL(Categorical, Categorical)(_categoricals)
