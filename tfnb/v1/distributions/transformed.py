"""Distributions of what a bijector makes of draws, and seeds that follow from each other.

Invariant: the density of a value is that of its argument times the change of volume of the inverse.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tfnb.client.graph.default_graph import name_scope
from tfnb.errors import InvalidArgumentError, UnimplementedError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import concat, stack
from tfnb.ops.array.constants import constant, zeros
from tfnb.ops.array.shape_ops import shape as shape_op
from tfnb.ops.math.reduce_functions import reduce_logsumexp, reduce_sum
from tfnb.types import Shape, as_shape
from tfnb.v1.bijectors.bijector import Bijector, Identity
from tfnb.v1.distributions.distribution import Distribution, Draw

__all__ = ["ConditionalDistribution", "ConditionalTransformedDistribution", "SeedStream", "TransformedDistribution"]


class SeedStream:
    """A series of seeds that follow from `seed` and the text `salt`; with None for a seed all are None."""

    def __init__(self, seed: int | None, salt: str) -> None:
        self._seed, self._salt, self._counter = seed, salt, 0

    @property
    def original_seed(self) -> int | None:
        """The seed that was given."""
        return self._seed

    @property
    def salt(self) -> str:
        """The text that was given."""
        return self._salt

    def __call__(self) -> int | None:
        """Returns the next seed."""
        self._counter += 1
        if self._seed is None:
            return None
        text = f"{self._seed!s}{self._counter}{self._salt}".encode()
        return int(hashlib.md5(text, usedforsecurity=False).hexdigest()[:8], 16) & 0x7FFFFFFF


class ConditionalDistribution(Distribution):
    """A distribution whose methods take further arguments by name; for the constructor see `Distribution`."""


class TransformedDistribution(Distribution):
    """The distribution of `bijector.forward(x)` for x of `distribution`.

    batch_shape, event_shape: replace those of a scalar `distribution`, of which so many are drawn. validate_args: as in
    `Distribution`. Raises `InvalidArgumentError` for such shapes and a distribution that is no scalar.
    """

    def __init__(
        self,
        distribution: Distribution,
        bijector: Bijector | None = None,
        batch_shape: ArrayLike | None = None,
        event_shape: ArrayLike | None = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        parameters = dict(locals())
        self.distribution, self.bijector = distribution, bijector or Identity()
        self._new_batch = None if batch_shape is None else as_shape([int(n) for n in np.reshape(batch_shape, -1)])
        self._new_event = None if event_shape is None else as_shape([int(n) for n in np.reshape(event_shape, -1)])
        if (self._new_batch is not None and distribution.batch_shape.ndims != 0) or (
            self._new_event is not None and distribution.event_shape.ndims != 0
        ):
            raise InvalidArgumentError(
                "TransformedDistribution: batch_shape and event_shape need a base distribution that has neither"
            )
        super().__init__(
            distribution.dtype,
            distribution.reparameterization_type,
            validate_args,
            distribution.allow_nan_stats,
            parameters,
            [*distribution._graph_parents, *self.bijector.graph_parents],
            name or f"{self.bijector.name}{distribution.name.rstrip('/')}",
        )

    @property
    def _base_event(self) -> Shape:
        return self.distribution.event_shape if self._new_event is None else self._new_event

    @property
    def event_shape(self) -> Shape:
        """The shape of one draw, as far as it is known."""
        return self.bijector.forward_event_shape(self._base_event)

    def _event(self) -> Tensor:
        base = (
            self.distribution._event()
            if self._new_event is None
            else constant(np.array(self._new_event.known(), np.int32))
        )
        return self.bijector.forward_event_shape_tensor(base)

    def _batch(self) -> Tensor:
        if self._new_batch is not None:
            return zeros(self._new_batch.known(), self.dtype)
        return self.distribution._batch()

    def _sample(self, draw: Draw) -> Tensor:
        return self.bijector.forward(self._base_sample(draw))

    def _base_sample(self, draw: Draw) -> Tensor:
        extra = [int(n) for s in (self._new_batch, self._new_event) if s is not None for n in s.known()]
        shape = concat([draw.shape, constant(np.array(extra, np.int32))], 0) if extra else draw.shape
        return self.distribution.sample(shape, draw.seed)

    def _extra(self) -> list[int]:
        """Dimensions of an event that are a batch of the base distribution."""
        return [] if self._new_event is None else list(range(-(self._new_event.ndims or 0), 0))

    def _log_prob(self, x: Tensor) -> Tensor:
        ndims = self.event_shape.ndims or 0
        before = self.bijector.inverse(x)
        ildj = self.bijector.inverse_log_det_jacobian(x, max(ndims, self.bijector.inverse_min_event_ndims))
        if isinstance(before, tuple):
            parts = [self.distribution.log_prob(b) + d for b, d in zip(before, ildj, strict=True)]
            return reduce_logsumexp(stack(parts), 0)
        base = self.distribution.log_prob(before)
        extra = self._extra()
        return (reduce_sum(base, extra) if extra else base) + ildj

    def _cdf(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(self.bijector.inverse(x))

    def _log_cdf(self, x: Tensor) -> Tensor:
        return self.distribution.log_cdf(self.bijector.inverse(x))

    def _quantile(self, x: Tensor) -> Tensor:
        return self.bijector.forward(self.distribution.quantile(x))

    def _entropy(self) -> Tensor:
        if not self.bijector.is_constant_jacobian:
            raise UnimplementedError("entropy is not implemented for a bijector whose Jacobian is not constant")
        base = self.distribution.entropy()
        if self._new_event is not None:
            base = base * float(math.prod(self._new_event.known()))
        ndims = self.event_shape.ndims or 0
        event = zeros([1 if n is None else n for n in self.event_shape.as_list()], self.dtype)
        return base - self.bijector.inverse_log_det_jacobian(event, max(ndims, self.bijector.inverse_min_event_ndims))

    def _mean(self) -> Tensor:
        if not self.bijector.is_constant_jacobian:
            raise UnimplementedError("mean is not implemented for non-affine bijectors")
        base = self.distribution.mean()
        if self._new_event is not None or self._new_batch is not None:
            base = base + zeros(
                concat([shape_op(self._batch()), constant(np.array(self._base_event.known(), np.int32))], 0), self.dtype
            )
        return self.bijector.forward(base)


class ConditionalTransformedDistribution(TransformedDistribution):
    """A transformed distribution whose methods pass `bijector_kwargs` and `distribution_kwargs` on.

    For the constructor see `TransformedDistribution`.
    """

    def sample(
        self,
        sample_shape: TensorLike = (),
        seed: int | None = None,
        name: str = "sample",
        bijector_kwargs: Mapping[str, Any] | None = None,
        distribution_kwargs: Mapping[str, Any] | None = None,
    ) -> Tensor:
        """Returns draws, with further arguments of the bijector and of the base distribution's `sample`."""
        x = self.distribution.sample(sample_shape, seed, **dict(distribution_kwargs or {}))
        with name_scope(name):
            return self.bijector.forward(x, **dict(bijector_kwargs or {}))

    def log_prob(
        self,
        value: TensorLike,
        name: str = "log_prob",
        bijector_kwargs: Mapping[str, Any] | None = None,
        distribution_kwargs: Mapping[str, Any] | None = None,
    ) -> Tensor:
        """Returns the log density of `value`, with further arguments of the bijector and of the base's `log_prob`."""
        with name_scope(name):
            own, tensor = dict(bijector_kwargs or {}), self._value(value)
            ndims = max(self.event_shape.ndims or 0, self.bijector.inverse_min_event_ndims)
            base = self.distribution.log_prob(self.bijector.inverse(tensor, **own), **dict(distribution_kwargs or {}))
            return base + self.bijector.inverse_log_det_jacobian(tensor, ndims, **own)
