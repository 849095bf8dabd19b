"""Distributions made of others: independent parts as one event, another batch shape, integers, autoregression.

Invariant: each asks the distribution that it is made of, and draws nothing by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tfnb.client.graph.default_graph import control_dependencies
from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import ones_like, zeros_like
from tfnb.ops.array.shape_ops import IDENTITY, RESHAPE, rank
from tfnb.ops.array.shape_ops import shape as shape_op
from tfnb.ops.array.shape_ops import size as size_op
from tfnb.ops.array.where_partition import where
from tfnb.ops.logging.print_assert import assert_that
from tfnb.ops.math.cast import cast
from tfnb.ops.math.reduce_functions import reduce_all, reduce_sum
from tfnb.ops.math.unary import CEIL, FLOOR, LOG
from tfnb.types import Shape, float32
from tfnb.v1.distributions.distribution import NOT_REPARAMETERIZED, Distribution, Draw, tensors_of
from tfnb.v1.distributions.transformed import SeedStream

__all__ = ["Autoregressive", "BatchReshape", "Independent", "QuantizedDistribution"]


class Independent(Distribution):
    """The distribution whose event has the last dimensions of the batch of `distribution`, which are independent.

    reinterpreted_batch_ndims: how many, by default all but the first. Raises `InvalidArgumentError` for more than there
    are.
    """

    def __init__(
        self,
        distribution: Distribution,
        reinterpreted_batch_ndims: int | None = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        parameters = dict(locals())
        self.distribution = distribution
        rank_of_batch = distribution.batch_shape.ndims
        given = (
            max(0, (rank_of_batch or 0) - 1) if reinterpreted_batch_ndims is None else int(reinterpreted_batch_ndims)
        )
        if rank_of_batch is None or given > rank_of_batch:
            raise InvalidArgumentError(
                f"reinterpreted_batch_ndims({given}) cannot exceed distribution.batch_ndims({rank_of_batch})"
            )
        self.reinterpreted_batch_ndims = given
        super().__init__(
            distribution.dtype,
            distribution.reparameterization_type,
            validate_args,
            distribution.allow_nan_stats,
            parameters,
            distribution._graph_parents,
            name or f"Independent{distribution.name.rstrip('/')}",
        )

    @property
    def event_shape(self) -> Shape:
        """The last dimensions of the batch, and the event of the distribution."""
        batch = self.distribution.batch_shape
        return batch[batch.ndims - self.reinterpreted_batch_ndims :].concatenate(self.distribution.event_shape)

    def _event(self) -> Tensor:
        batch = shape_op(self.distribution._batch())
        return concat(
            [batch[self.distribution.batch_shape.ndims - self.reinterpreted_batch_ndims :], self.distribution._event()],
            0,
        )

    def _batch(self) -> Tensor:
        inner: Any = self.distribution._batch()
        return reduce_sum(inner, self._axes()) if self.reinterpreted_batch_ndims else inner

    def _axes(self) -> list[int]:
        return list(range(-self.reinterpreted_batch_ndims, 0))

    def _sample(self, draw: Draw) -> Tensor:
        return self.distribution.sample(draw.shape, draw.seed)

    def _log_prob(self, x: Tensor) -> Tensor:
        each = self.distribution.log_prob(x)
        return reduce_sum(each, self._axes()) if self.reinterpreted_batch_ndims else each

    def _entropy(self) -> Tensor:
        each = self.distribution.entropy() + zeros_like(cast(self.distribution._batch(), float32))
        return reduce_sum(each, self._axes()) if self.reinterpreted_batch_ndims else each

    def _mean(self) -> Tensor:
        return self.distribution.mean()

    def _variance(self) -> Tensor:
        return self.distribution.variance()

    def _stddev(self) -> Tensor:
        return self.distribution.stddev()

    def _mode(self) -> Tensor:
        return self.distribution.mode()


class BatchReshape(Distribution):
    """The distributions `distribution` in a batch of another shape, `batch_shape`, of which one size may be -1."""

    def __init__(
        self,
        distribution: Distribution,
        batch_shape: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str | None = None,
    ) -> None:
        parameters = dict(locals())
        self.distribution = distribution
        shape = np.reshape(np.asarray(batch_shape), -1).astype(np.int32)
        if -1 in shape:
            total, rest = math.prod(distribution.batch_shape.known()), int(np.prod(shape[shape != -1]))
            shape = np.where(shape == -1, total // max(rest, 1), shape)
        self._shape = shape.astype(np.int32)
        super().__init__(
            distribution.dtype,
            distribution.reparameterization_type,
            validate_args,
            allow_nan_stats,
            parameters,
            distribution._graph_parents,
            name or f"BatchReshape{distribution.name.rstrip('/')}",
        )

    @property
    def event_shape(self) -> Shape:
        """That of the distribution."""
        return self.distribution.event_shape

    def _event(self) -> Tensor:
        return self.distribution._event()

    def _batch(self) -> Tensor:
        result: Tensor = RESHAPE(self.distribution._batch(), self._shape)
        return result

    def _sample(self, draw: Draw) -> Tensor:
        return RESHAPE(self.distribution.sample(draw.shape, draw.seed), draw.full)

    def _back(self, x: Tensor) -> tuple[Any, Any]:
        """(x in the shape of the distribution's batch, the shape of the sample)."""
        inner = concat([shape_op(self.distribution._batch()), self.distribution._event()], 0)
        lead = shape_op(x)[: rank(x) - len(self._shape) - size_op(self.distribution._event())]
        return RESHAPE(x, concat([lead, inner], 0)), lead

    def _log_prob(self, x: Tensor) -> Tensor:
        inner, lead = self._back(x)
        return RESHAPE(self.distribution.log_prob(inner), concat([lead, self._shape], 0))

    def _cdf(self, x: Tensor) -> Tensor:
        inner, lead = self._back(x)
        return RESHAPE(self.distribution.cdf(inner), concat([lead, self._shape], 0))

    def _statistic(self, value: Tensor) -> Tensor:
        full = value + zeros_like(self.distribution._batch()) if not self.event_shape.ndims else value
        return RESHAPE(full, concat([self._shape, self.distribution._event()], 0))

    def _entropy(self) -> Tensor:
        return RESHAPE(self.distribution.entropy() + zeros_like(self.distribution._batch()), self._shape)

    def _mean(self) -> Tensor:
        return self._statistic(self.distribution.mean())

    def _mode(self) -> Tensor:
        return self._statistic(self.distribution.mode())

    def _stddev(self) -> Tensor:
        return self._statistic(self.distribution.stddev())

    def _variance(self) -> Tensor:
        return self._statistic(self.distribution.variance())


class QuantizedDistribution(Distribution):
    """The numbers of `distribution` rounded up to integers, and cut to `low` and `high` where these are given."""

    def __init__(
        self,
        distribution: Distribution,
        low: TensorLike | None = None,
        high: TensorLike | None = None,
        validate_args: bool = False,
        name: str = "QuantizedDistribution",
    ) -> None:
        parameters = dict(locals())
        self.distribution = distribution
        self._low, self._high = tensors_of(name, distribution.dtype, low=low, high=high)
        if validate_args and None not in (self._low, self._high):
            with control_dependencies(
                [assert_that(reduce_all(self._low < self._high), ["low must be less than high"])]
            ):
                self._low = IDENTITY(self._low)
        super().__init__(
            distribution.dtype,
            NOT_REPARAMETERIZED,
            validate_args,
            distribution.allow_nan_stats,
            parameters,
            distribution._graph_parents,
            name,
        )

    def _batch(self) -> Tensor:
        return self.distribution._batch()

    def _sample(self, draw: Draw) -> Tensor:
        x = CEIL(self.distribution.sample(draw.shape, draw.seed))
        x = x if self._high is None else where(x + zeros_like(self._high) < self._high, x, ones_like(x) * self._high)
        return x if self._low is None else where(x < self._low + zeros_like(x), ones_like(x) * self._low, x)

    def _cdf(self, x: Tensor) -> Tensor:
        j = FLOOR(x)
        result = self.distribution.cdf(j)
        if self._low is not None:
            result = where(j + zeros_like(result) < self._low, zeros_like(result), result)
        if self._high is not None:
            result = where(j + zeros_like(result) >= self._high, ones_like(result), result)
        return result

    def _prob(self, x: Tensor) -> Tensor:
        return self._cdf(x) - self._cdf(x - 1.0)

    def _log_prob(self, x: Tensor) -> Tensor:
        return LOG(self._prob(x))


class Autoregressive(Distribution):
    """A distribution whose elements depend on those before, by `distribution_fn(sample)`, a distribution.

    sample0: the first argument of `distribution_fn`; by default a sample of what it gives without arguments. num_steps:
    how often a sample is given to it again, by default as often as an event has elements.
    """

    def __init__(
        self,
        distribution_fn: Callable[..., Distribution],
        sample0: TensorLike | None = None,
        num_steps: int | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Autoregressive",
    ) -> None:
        parameters = dict(locals())
        self.distribution_fn = distribution_fn
        self._first = distribution_fn() if sample0 is None else distribution_fn(sample0)
        elements = self._first.event_shape.num_elements()
        self.num_steps = int(num_steps) if num_steps is not None else max(1, int(elements or 1))
        super().__init__(
            self._first.dtype,
            self._first.reparameterization_type,
            validate_args,
            allow_nan_stats,
            parameters,
            self._first._graph_parents,
            name,
        )

    @property
    def event_shape(self) -> Shape:
        """That of the distribution of the first argument."""
        return self._first.event_shape

    def _event(self) -> Tensor:
        return self._first._event()

    def _batch(self) -> Tensor:
        return self._first._batch()

    def _sample(self, draw: Draw) -> Tensor:
        seeds = SeedStream(draw.seed, "Autoregressive")
        x = self._first.sample(draw.shape, seeds())
        seed = seeds()  # the same numbers in each step, so that what is fixed stays as it is
        for _ in range(self.num_steps):
            x = self.distribution_fn(x).sample((), seed)
        return x

    def _log_prob(self, x: Tensor) -> Tensor:
        return self.distribution_fn(x).log_prob(x)
