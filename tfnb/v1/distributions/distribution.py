"""What every distribution has: samples, probabilities, moments, and divergences between two of them.

A subclass defines `_sample` and the quantities that it knows as methods with an underscore; the public methods give
them names in the graph. Invariant: a sample has the shape `sample_shape + batch_shape + event_shape`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tfnb.client.graph.default_graph import control_dependencies, name_scope
from tfnb.errors import AlreadyExistsError, DTypeError, InvalidArgumentError, UnimplementedError
from tfnb.ir.const import constant_value
from tfnb.ir.default import graph_of
from tfnb.ir.tensor import Tensor, TensorLike, is_tensor_like
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import constant, convert_to_tensor, zeros, zeros_like
from tfnb.ops.array.shape_ops import IDENTITY, RESHAPE, rank
from tfnb.ops.array.shape_ops import shape as shape_op
from tfnb.ops.array.shape_ops import size as size_op
from tfnb.ops.array.where_partition import where
from tfnb.ops.logging.print_assert import assert_that
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import EQUAL, LOGICAL_NOT
from tfnb.ops.math.reduce_functions import reduce_all, reduce_prod
from tfnb.ops.math.unary import EXP, IS_NAN, LOG, LOG1P, SQRT, SQUARE
from tfnb.types import DType, Shape, as_dtype, as_shape, float32, int32
from tfnb.v1.distributions.checks import after, require

__all__ = [
    "FULLY_REPARAMETERIZED",
    "NOT_REPARAMETERIZED",
    "Distribution",
    "Draw",
    "RegisterKL",
    "ReparameterizationType",
    "kl_divergence",
    "tensors_of",
    "where_defined",
]


class ReparameterizationType:
    """How gradients go through samples: fully, from a sample to the parameters, or not at all."""

    def __init__(self, rep_type: str) -> None:
        self._rep_type = rep_type

    def __repr__(self) -> str:
        return f"<Reparameterization Type: {self._rep_type}>"


FULLY_REPARAMETERIZED = ReparameterizationType("FULLY_REPARAMETERIZED")
NOT_REPARAMETERIZED = ReparameterizationType("NOT_REPARAMETERIZED")


class Draw(NamedTuple):
    """What is to be drawn. `shape` is the shape of the sample, `full` that shape + batch_shape + event_shape."""

    shape: Tensor
    full: Tensor
    seed: int | None


def tensors_of(name: str, dtype: DType | None, **parameters: Any) -> list[Any]:
    """Returns the parameters that are not None as tensors of one floating dtype: `dtype`, or that of the first tensor,
    or float32. None stays None."""
    graph = graph_of([p for p in parameters.values() if p is not None])
    given = [as_dtype(p.dtype).base_dtype for p in parameters.values() if is_tensor_like(p) and hasattr(p, "dtype")]
    arrays = [p for p in parameters.values() if isinstance(p, (np.ndarray, np.generic)) and p.dtype.kind == "f"]
    dtype = dtype or (given[0] if given else as_dtype(arrays[0].dtype) if arrays else float32)
    with graph.as_default(), graph.name_scope(name):
        return [
            None
            if p is None
            else convert_to_tensor(p, name=n)
            if isinstance(p, Tensor)
            else constant(p, dtype, name=n)
            if not is_tensor_like(p)
            else cast(p, dtype)
            for n, p in parameters.items()
        ]


def where_defined(distribution: Distribution, defined: Tensor, value: Tensor, message: str) -> Tensor:
    """Returns `value` where `defined`, else NaN; without `allow_nan_stats` the step fails with `message` instead."""
    if distribution.allow_nan_stats:
        return where(defined, value, zeros_like(value) + np.nan)
    return after([require(defined, f"Condition x < y did not hold element-wise: {message}")], value)[0]


class Distribution:
    """A batch of distributions, whose parameters are tensors. Each method computes the results of the whole batch.

    dtype: that of samples. reparameterization_type: how gradients go through samples. parameters: the arguments of the
    constructor by name. graph_parents: tensors whose shapes, broadcast, are the shape of the batch.

    A subclass of a program defines `_batch_shape` and `_event_shape`, the same with `_tensor`, `_sample_n(n, seed)`,
    and what else it has: `_log_prob`, `_prob`, `_cdf`, `_mean`, `_variance`, `_entropy` and so on.
    """

    _ALIKE: tuple[str, ...] = ()  # the parameters that have the shape of a draw

    def __init__(
        self,
        dtype: DType,
        reparameterization_type: ReparameterizationType,
        validate_args: bool,
        allow_nan_stats: bool,
        parameters: Mapping[str, Any] | None = None,
        graph_parents: Sequence[Tensor] | None = None,
        name: str | None = None,
    ) -> None:
        self.dtype = dtype
        self.reparameterization_type = reparameterization_type
        self.validate_args = validate_args
        self.allow_nan_stats = allow_nan_stats
        self.parameters = {k: v for k, v in (parameters or {}).items() if k != "self" and not k.startswith("__")}
        self.name = (name or type(self).__name__).rstrip("/") + "/"
        self._graph_parents = list(graph_parents or ())

    @classmethod
    def param_shapes(cls, sample_shape: TensorLike, name: str = "DistributionParamShapes") -> dict[str, Any]:
        """Returns the shape that each parameter needs so that one draw has the shape `sample_shape`, as tensors.

        Raises `UnimplementedError` for a class whose parameters have other shapes than its draws.
        """
        if not cls._ALIKE:
            raise UnimplementedError(f"{cls.__name__}: the parameters do not have the shape of a draw")
        with name_scope(name):
            shape = cast(sample_shape, int32)
        return dict.fromkeys(cls._ALIKE, shape)

    @classmethod
    def param_static_shapes(cls, sample_shape: Any) -> dict[str, Any]:
        """Returns the shapes of `param_shapes`. Raises `InvalidArgumentError` unless `sample_shape` is known."""
        shape = constant_value(sample_shape) if isinstance(sample_shape, Tensor) else sample_shape
        if shape is None or not as_shape(shape).is_fully_defined():
            raise InvalidArgumentError(f"the shape of a draw must be known, got {sample_shape}")
        return {name: as_shape(shape) for name in cls.param_shapes([])}

    def _call(self, method: str, name: str | None, function: Callable[..., Any], *args: TensorLike) -> Any:
        graph = graph_of([*self._graph_parents, *args])
        with graph.as_default(), graph.name_scope(self.name[:-1]), graph.name_scope(name or method):
            return function(*args)

    def _known(self, quantity: str) -> Callable[..., Any]:
        function = getattr(self, f"_{quantity}", None)
        if function is None and quantity == "sample" and hasattr(self, "_sample_n"):
            return self._sample_by_number
        if function is None:
            raise UnimplementedError(f"{type(self).__name__} has no {quantity}")
        return function

    def _sample_by_number(self, draw: Draw) -> Tensor:
        """Draws as many samples as the shape has elements, for a subclass that counts them."""
        sample_n: Any = self._known("sample_n")
        return RESHAPE(sample_n(reduce_prod(draw.shape), seed=draw.seed), draw.full)

    def _value(self, value: TensorLike) -> Tensor:
        return value if isinstance(value, Tensor) else convert_to_tensor(value, preferred_dtype=self.dtype)

    @property
    def batch_shape(self) -> Any:
        """The shape of the batch of distributions, as far as it is known."""
        known = getattr(self, "_batch_shape", None)
        return self._batch().shape if known is None else as_shape(known())

    @property
    def event_shape(self) -> Shape:
        """The shape of one draw, as far as it is known."""
        known = getattr(self, "_event_shape", None)
        return Shape(()) if known is None else as_shape(known())

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """Returns the shape of the batch, int32."""
        return self._call("batch_shape_tensor", name, lambda: shape_op(self._batch()))

    def event_shape_tensor(self, name: str = "event_shape_tensor") -> Tensor:
        """Returns the shape of one draw, int32."""
        return self._call("event_shape_tensor", name, self._event)

    def is_scalar_event(self, name: str = "is_scalar_event") -> Tensor:
        """Returns whether one draw is a scalar."""
        return self._call("is_scalar_event", name, lambda: EQUAL(size_op(self._event()), 0))

    def is_scalar_batch(self, name: str = "is_scalar_batch") -> Tensor:
        """Returns whether there is one distribution, not a batch."""
        return self._call("is_scalar_batch", name, lambda: EQUAL(rank(self._batch()), 0))

    def _batch(self) -> Tensor:
        """Returns a tensor that has the shape of the batch."""
        known = getattr(self, "_batch_shape_tensor", None)
        if known is not None:
            return zeros(known())
        total = self._graph_parents[0]
        for parent in self._graph_parents[1:]:
            total = total + parent
        return total

    def _event(self) -> Tensor:
        known = getattr(self, "_event_shape_tensor", None)
        return constant(np.zeros(0, np.int32)) if known is None else cast(known(), int32)

    def copy(self, **override_parameters_kwargs: object) -> Any:
        """Returns a distribution of the same kind, with some of the arguments changed."""
        return type(self)(**{**self.parameters, **override_parameters_kwargs})

    def sample(self, sample_shape: TensorLike = (), seed: int | None = None, name: str = "sample") -> Tensor:
        """Returns draws of shape `sample_shape` + batch_shape + event_shape. sample_shape: an integer or a shape."""

        def draw() -> Tensor:
            shape = RESHAPE(cast(sample_shape, int32), [-1])
            full = concat([shape, shape_op(self._batch()), self._event()], 0)
            drawn = self._known("sample")(Draw(shape, full, seed))
            known = constant_value(shape)
            if known is not None:
                static = Shape(tuple(int(size) for size in known))
                drawn.set_shape(static.concatenate(self.batch_shape).concatenate(self.event_shape))
            return drawn

        return self._call("sample", name, draw)

    def log_prob(self, value: TensorLike, name: str = "log_prob") -> Tensor:
        """Returns the logarithm of the density or probability of `value`, of shape sample_shape + batch_shape."""
        if hasattr(self, "_log_prob"):
            return self._call("log_prob", name, lambda v: self._log_prob(self._value(v)), value)
        return self._call("log_prob", name, lambda v: LOG(self._known("prob")(self._value(v))), value)

    def prob(self, value: TensorLike, name: str = "prob") -> Tensor:
        """Returns the density or probability of `value`."""
        if hasattr(self, "_prob"):
            return self._call("prob", name, lambda v: self._prob(self._value(v)), value)
        return self._call("prob", name, lambda v: EXP(self._known("log_prob")(self._value(v))), value)

    def cdf(self, value: TensorLike, name: str = "cdf") -> Tensor:
        """Returns the probability of a draw of at most `value`."""
        if hasattr(self, "_cdf"):
            return self._call("cdf", name, lambda v: self._cdf(self._value(v)), value)
        return self._call("cdf", name, lambda v: EXP(self._known("log_cdf")(self._value(v))), value)

    def log_cdf(self, value: TensorLike, name: str = "log_cdf") -> Tensor:
        """Returns the logarithm of the probability of a draw of at most `value`."""
        if hasattr(self, "_log_cdf"):
            return self._call("log_cdf", name, lambda v: self._log_cdf(self._value(v)), value)
        return self._call("log_cdf", name, lambda v: LOG(self._known("cdf")(self._value(v))), value)

    def survival_function(self, value: TensorLike, name: str = "survival_function") -> Tensor:
        """Returns the probability of a draw larger than `value`."""
        if hasattr(self, "_survival_function"):
            return self._call("survival_function", name, lambda v: self._survival_function(self._value(v)), value)
        return self._call("survival_function", name, lambda v: 1.0 - self.cdf(v), value)

    def log_survival_function(self, value: TensorLike, name: str = "log_survival_function") -> Tensor:
        """Returns the logarithm of the probability of a draw larger than `value`."""
        if hasattr(self, "_log_survival_function"):
            function = self._log_survival_function
            return self._call("log_survival_function", name, lambda v: function(self._value(v)), value)
        return self._call("log_survival_function", name, lambda v: LOG1P(-self.cdf(v)), value)

    def quantile(self, value: TensorLike, name: str = "quantile") -> Tensor:
        """Returns the number that a draw exceeds with probability 1 - `value`."""
        return self._call("quantile", name, lambda v: self._known("quantile")(self._value(v)), value)

    def entropy(self, name: str = "entropy") -> Tensor:
        """Returns the Shannon entropy, in nats."""
        return self._call("entropy", name, self._known("entropy"))

    def mean(self, name: str = "mean") -> Tensor:
        """Returns the mean."""
        return self._call("mean", name, self._known("mean"))

    def variance(self, name: str = "variance") -> Tensor:
        """Returns the variance of each element of a draw."""
        if hasattr(self, "_variance"):
            return self._call("variance", name, self._variance)
        return self._call("variance", name, lambda: SQUARE(self._known("stddev")()))

    def stddev(self, name: str = "stddev") -> Tensor:
        """Returns the standard deviation of each element of a draw."""
        if hasattr(self, "_stddev"):
            return self._call("stddev", name, self._stddev)
        return self._call("stddev", name, lambda: SQRT(self._known("variance")()))

    def covariance(self, name: str = "covariance") -> Tensor:
        """Returns the matrices of covariances between the elements of a draw."""
        return self._call("covariance", name, self._known("covariance"))

    def mode(self, name: str = "mode") -> Tensor:
        """Returns the most probable value."""
        return self._call("mode", name, self._known("mode"))

    def cross_entropy(self, other: Distribution, name: str = "cross_entropy") -> Tensor:
        """Returns the entropy of this distribution plus its divergence from the distribution `other`."""
        return self._call("cross_entropy", name, lambda: self.entropy() + kl_divergence(self, other))

    def kl_divergence(self, other: Distribution, name: str = "kl_divergence") -> Tensor:
        """Returns the Kullback-Leibler divergence from this distribution to the distribution `other`.

        A step fails when it is NaN, unless this distribution has `allow_nan_stats`.
        """
        return self._call("kl_divergence", name, lambda: kl_divergence(self, other, self.allow_nan_stats))

    def __repr__(self) -> str:
        return (
            f"<tfnb distribution {self.name!r} batch_shape={self.batch_shape} event_shape={self.event_shape} "
            f"dtype={self.dtype.name}>"
        )


_DIVERGENCES: dict[tuple[type, type], Callable[..., Any]] = {}


class RegisteredDivergenceError(AlreadyExistsError, ValueError):
    """There is a divergence for these classes already."""


class RegisterKL:
    """Decorates a function (a, b, name) that computes the divergence between distributions of two classes.

    Raises `RegisteredDivergenceError` if these classes have one, and `DTypeError` for something that is no function.
    """

    def __init__(self, dist_cls_a: type, dist_cls_b: type) -> None:
        self._key = (dist_cls_a, dist_cls_b)

    def __call__(self, kl_fn: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(kl_fn):
            raise DTypeError(f"kl_fn must be callable, received: {kl_fn!r}")
        if self._key in _DIVERGENCES:
            names = " and ".join(c.__name__ for c in self._key)
            raise RegisteredDivergenceError(f"KL({names}) has already been registered to: {_DIVERGENCES[self._key]}")
        _DIVERGENCES[self._key] = kl_fn
        return kl_fn


def kl_divergence(
    distribution_a: Distribution,
    distribution_b: Distribution,
    allow_nan_stats: bool = True,
    name: str | None = None,
) -> Tensor:
    """Returns the Kullback-Leibler divergence from `distribution_a` to `distribution_b`, of the shape of the batch.

    Without `allow_nan_stats` a step fails when it is NaN. Raises `UnimplementedError` for classes without a registered
    divergence.
    """
    for a in type(distribution_a).__mro__:
        for b in type(distribution_b).__mro__:
            if (a, b) in _DIVERGENCES:
                with name_scope("KullbackLeibler"):
                    result = _DIVERGENCES[a, b](distribution_a, distribution_b, name=name)
                    if allow_nan_stats:
                        return result
                    numbers = reduce_all(LOGICAL_NOT(IS_NAN(result)))
                    pair = f"{distribution_a.name} and {distribution_b.name}"
                    has_numbers = assert_that(numbers, [f"KL calculation between {pair} returned NaN values"])
                    with control_dependencies([has_numbers]):
                        return IDENTITY(result)
    kinds = f"{type(distribution_a).__name__} and {type(distribution_b).__name__}"
    raise UnimplementedError(f"no divergence is registered for {kinds}; register one with RegisterKL")
