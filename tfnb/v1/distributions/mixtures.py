"""Mixtures of distributions: a class is drawn, and then a value of the distribution of the class.

Invariant: all components are drawn, and one is taken, so shapes do not depend on the class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfnb.client.graph.default_graph import name_scope
from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.concat import concat, stack
from tfnb.ops.array.constants import zeros_like
from tfnb.ops.array.shape_ops import EXPAND_DIMS
from tfnb.ops.array.shape_ops import shape as shape_op
from tfnb.ops.array.shape_ops import size as size_op
from tfnb.ops.linalg.diag import one_hot
from tfnb.ops.math.reduce_functions import reduce_logsumexp, reduce_sum
from tfnb.ops.math.unary import SQUARE
from tfnb.ops.nn.losses import log_softmax, softmax
from tfnb.types import Shape
from tfnb.v1.distributions.distribution import NOT_REPARAMETERIZED, Distribution, Draw
from tfnb.v1.distributions.transformed import SeedStream

__all__ = ["Mixture", "MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture of the distributions along the last dimension of the batch of `components_distribution`.

    mixture_distribution: a `Categorical` of their probabilities.
    """

    def __init__(
        self,
        mixture_distribution: Distribution,
        components_distribution: Distribution,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MixtureSameFamily",
    ) -> None:
        parameters = dict(locals())
        self.mixture_distribution: Any = mixture_distribution
        self.components_distribution = components_distribution
        super().__init__(
            components_distribution.dtype,
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [*mixture_distribution._graph_parents, *components_distribution._graph_parents],
            name,
        )

    @property
    def event_shape(self) -> Shape:
        """That of the components."""
        return self.components_distribution.event_shape

    def _event(self) -> Tensor:
        return self.components_distribution._event()

    def _batch(self) -> Tensor:
        return self.components_distribution._batch()[..., 0]

    def _over(self, probs: Tensor) -> Tensor:
        for _ in range(self.event_shape.ndims or 0):
            probs = EXPAND_DIMS(probs, -1)
        return probs

    def _axis(self) -> int:
        return -1 - (self.event_shape.ndims or 0)

    def _sample(self, draw: Draw) -> Tensor:
        x = self.components_distribution.sample(draw.shape, draw.seed)
        second = None if draw.seed is None else draw.seed + 1
        n = shape_op(self.components_distribution._batch())[-1]
        count = concat(
            [draw.shape, shape_op(self._batch())[: size_op(shape_op(self._batch())) - self._mixture_rank()]], 0
        )
        chosen = one_hot(self.mixture_distribution.sample(count, second), n, dtype=self.dtype)
        return reduce_sum(x * self._over(chosen), self._axis())

    def _mixture_rank(self) -> int:
        return self.mixture_distribution.batch_shape.ndims or 0

    def _log_prob(self, x: Tensor) -> Tensor:
        spread = EXPAND_DIMS(x, self._axis())
        return reduce_logsumexp(
            self.components_distribution.log_prob(spread) + log_softmax(self.mixture_distribution.logits), -1
        )

    def _cdf(self, x: Tensor) -> Tensor:
        return reduce_sum(
            self.components_distribution.cdf(EXPAND_DIMS(x, self._axis())) * self.mixture_distribution.probs, -1
        )

    def _mean(self) -> Tensor:
        return reduce_sum(
            self._over(self.mixture_distribution.probs) * self.components_distribution.mean(), self._axis()
        )

    def _variance(self) -> Tensor:
        probs, mean = self._over(self.mixture_distribution.probs), self.components_distribution.mean()
        within = reduce_sum(probs * self.components_distribution.variance(), self._axis())
        between = reduce_sum(probs * SQUARE(mean - EXPAND_DIMS(self._mean(), self._axis())), self._axis())
        return within + between


class Mixture(Distribution):
    """A mixture of the distributions `components`, of one batch shape, by the `Categorical` `cat`.

    use_static_graph: whether all components are drawn and one is taken, which is done here in any case. Raises
    `InvalidArgumentError` without components, or for another number of classes.
    """

    def __init__(
        self,
        cat: Any,
        components: Sequence[Distribution],
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        use_static_graph: bool = False,
        name: str = "Mixture",
    ) -> None:
        parameters = dict(locals())
        if not components:
            raise InvalidArgumentError("components must be a non-empty list or tuple")
        self.cat: Any = cat
        self.components, self.num_components = list(components), len(components)
        classes = self.cat.logits.shape.sizes[-1]
        if classes not in (None, len(components)):
            raise InvalidArgumentError(
                f"components must have the same number of classes as cat, got {len(components)} and {classes}"
            )
        kind = NOT_REPARAMETERIZED
        super().__init__(components[0].dtype, kind, validate_args, allow_nan_stats, parameters, [self.cat.logits], name)

    @property
    def event_shape(self) -> Shape:
        """That of the components."""
        return self.components[0].event_shape

    def _event(self) -> Tensor:
        return self.components[0]._event()

    def _batch(self) -> Tensor:
        return self.cat._batch()

    def _all(self, values: Sequence[Any], event: bool) -> Tensor:
        """Stacks what the components gave at a new last axis of the batch."""
        full = [
            v + zeros_like(self.components[0]._batch()) if not event or not self.event_shape.ndims else v
            for v in values
        ]
        return stack(full, -1 - (self.event_shape.ndims or 0) if event else -1)

    def _probs(self, event: bool) -> Tensor:
        probs = softmax(self.cat.logits)
        for _ in range((self.event_shape.ndims or 0) if event else 0):
            probs = EXPAND_DIMS(probs, -1)
        return probs

    def _sample(self, draw: Draw) -> Tensor:
        seeds = SeedStream(draw.seed, "Mixture")
        own = seeds()
        drawn = stack([c.sample(draw.shape, seeds()) for c in self.components], -1 - (self.event_shape.ndims or 0))
        chosen = one_hot(self.cat.sample(draw.shape, own), self.num_components, dtype=self.dtype)
        for _ in range(self.event_shape.ndims or 0):
            chosen = EXPAND_DIMS(chosen, -1)
        return reduce_sum(drawn * chosen, -1 - (self.event_shape.ndims or 0))

    def _log_prob(self, x: Tensor) -> Tensor:
        each = stack([c.log_prob(x) for c in self.components], -1)
        return reduce_logsumexp(each + log_softmax(self.cat.logits), -1)

    def _cdf(self, x: Tensor) -> Tensor:
        return reduce_sum(stack([c.cdf(x) for c in self.components], -1) * self._probs(False), -1)

    def _mean(self) -> Tensor:
        return reduce_sum(
            self._all([c.mean() for c in self.components], True) * self._probs(True), -1 - (self.event_shape.ndims or 0)
        )

    def _variance(self) -> Tensor:
        axis = -1 - (self.event_shape.ndims or 0)
        means, deviations = (
            self._all([c.mean() for c in self.components], True),
            self._all([c.stddev() for c in self.components], True),
        )
        probs = self._probs(True)
        mean = reduce_sum(means * probs, axis)
        return reduce_sum((SQUARE(deviations) + SQUARE(means)) * probs, axis) - SQUARE(mean)

    def entropy_lower_bound(self, name: str = "entropy_lower_bound") -> Tensor:
        """Returns the mean entropy of the components, which the entropy of the mixture is not below."""
        with name_scope(name):
            return reduce_sum(self._all([c.entropy() for c in self.components], False) * self._probs(False), -1)
