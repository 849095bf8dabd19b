"""What every bijector has: a function, its inverse, and the logarithm of the determinant of their Jacobians.

A subclass defines `_forward`, `_inverse`, and one of `_forward_log_det_jacobian(x)` and
`_inverse_log_det_jacobian(y)` for events of the smallest rank. Invariant: `inverse(forward(x))` is the tensor x itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfnb.client.graph.default_graph import name_scope
from tfnb.errors import InvalidArgumentError, UnimplementedError
from tfnb.ir.const import constant_value
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import constant, convert_to_tensor, ones_like, range_, zeros_like
from tfnb.ops.array.shape_ops import rank
from tfnb.ops.math.cast import cast
from tfnb.ops.math.reduce_functions import reduce_sum
from tfnb.types import DTypeLike, Shape, ShapeLike, as_shape, float32, int32

__all__ = ["Bijector", "Chain", "ConditionalBijector", "Identity", "Inline", "Invert"]


class Bijector:
    """An invertible function of tensors.

    graph_parents: tensors that it depends on. is_constant_jacobian: whether the Jacobian does not depend on the
    argument. validate_args: whether steps fail for arguments outside of the domain. forward_min_event_ndims,
    inverse_min_event_ndims: the rank of the smallest argument and value, by default 0 and the same. event_ndims: both
    of them, by the name that TensorFlow had for them until 1.5; the functions of the log of the Jacobian take it where
    a call does not say how many dimensions are one event. Raises `InvalidArgumentError` for both names at once.
    """

    def __init__(
        self,
        graph_parents: Sequence[Any] | None = None,
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        dtype: DTypeLike | None = None,
        forward_min_event_ndims: int = 0,
        inverse_min_event_ndims: int | None = None,
        name: str | None = None,
        event_ndims: int | None = None,
    ) -> None:
        if event_ndims is not None:
            if forward_min_event_ndims or inverse_min_event_ndims is not None:
                raise InvalidArgumentError(
                    f"Bijector: event_ndims={event_ndims} is the older name of forward_min_event_ndims="
                    f"{forward_min_event_ndims} and inverse_min_event_ndims={inverse_min_event_ndims}: give one name"
                )
            forward_min_event_ndims = event_ndims
        self.graph_parents = list(graph_parents or ())
        self.is_constant_jacobian, self.validate_args, self.dtype = is_constant_jacobian, validate_args, dtype
        self.forward_min_event_ndims = forward_min_event_ndims
        self.inverse_min_event_ndims = (
            forward_min_event_ndims if inverse_min_event_ndims is None else inverse_min_event_ndims
        )
        self.event_ndims = forward_min_event_ndims
        self.name = name or type(self).__name__.lower()
        self._arguments: list[tuple[Any, Any]] = []

    # ---- what a bijector defines -------------------------------------------------------------------

    _forward: Callable[..., Any]
    _inverse: Callable[..., Any]
    _forward_log_det_jacobian: Callable[..., Any]
    _inverse_log_det_jacobian: Callable[..., Any]

    def _own(self, name: str) -> Callable[..., Any]:
        """Returns the method `name`. Raises `UnimplementedError` when the bijector has none."""
        function = getattr(self, name, None)
        if function is None:
            raise UnimplementedError(f"the bijector {self.name} has no {name.strip('_')}")
        return function

    def _forward_event_shape(self, shape: Shape) -> Shape:
        return shape

    def _inverse_event_shape(self, shape: Shape) -> Shape:
        return shape

    def _forward_event_shape_tensor(self, shape: Tensor) -> Tensor:
        return shape

    def _inverse_event_shape_tensor(self, shape: Tensor) -> Tensor:
        return shape

    # ---- what users call ---------------------------------------------------------------------------

    def _tensor(self, value: TensorLike) -> Tensor:
        return convert_to_tensor(value, None if hasattr(value, "graph") else self.dtype or float32)

    def forward(self, x: TensorLike, name: str = "forward", **condition: Any) -> Tensor:
        """Returns the value at `x`. condition: further arguments of a conditional bijector."""
        with name_scope(f"{self.name}/{name}"):
            argument = self._tensor(x)
            for known, value in self._arguments:
                if known is argument and not condition:
                    return value
            value = self._own("_forward")(argument, **condition)
            self._remember(argument, value)
            return value

    def inverse(self, y: TensorLike, name: str = "inverse", **condition: Any) -> Any:
        """Returns the argument whose value is `y`. condition: further arguments of a conditional bijector."""
        with name_scope(f"{self.name}/{name}"):
            value = self._tensor(y)
            for argument, known in self._arguments:
                if known is value and not condition:
                    return argument
            argument = self._own("_inverse")(value, **condition)
            self._remember(argument, value)
            return argument

    def _remember(self, argument: Tensor, value: object) -> None:
        self._arguments = [*self._arguments[-15:], (argument, value)]

    def forward_log_det_jacobian(
        self,
        x: TensorLike,
        event_ndims: int | Tensor | None = None,
        name: str = "forward_log_det_jacobian",
        **condition: Any,
    ) -> Tensor:
        """Returns log |det| of the Jacobian at `x`, whose last `event_ndims` dimensions are one event.

        By default that number is the `event_ndims` of the bijector.
        Raises `InvalidArgumentError` for fewer dimensions than the bijector needs.
        """
        with name_scope(f"{self.name}/{name}"):
            argument = self._tensor(x)
            if hasattr(self, "_forward_log_det_jacobian"):
                each = self._forward_log_det_jacobian(argument, **condition)
            else:
                each = -self._own("_inverse_log_det_jacobian")(self.forward(argument, **condition), **condition)
            ndims = self.event_ndims if event_ndims is None else event_ndims
            return self._summed(each, argument, ndims, self.forward_min_event_ndims)

    def inverse_log_det_jacobian(
        self,
        y: TensorLike,
        event_ndims: int | Tensor | None = None,
        name: str = "inverse_log_det_jacobian",
        **condition: Any,
    ) -> Any:
        """Returns log |det| of the inverse's Jacobian at `y`, whose last `event_ndims` dimensions are one event.

        By default that number is the `event_ndims` of the bijector.
        Raises `InvalidArgumentError` for fewer dimensions than the bijector needs.
        """
        with name_scope(f"{self.name}/{name}"):
            value = self._tensor(y)
            if hasattr(self, "_inverse_log_det_jacobian"):
                each = self._inverse_log_det_jacobian(value, **condition)
            else:
                each = -self._own("_forward_log_det_jacobian")(self.inverse(value, **condition), **condition)
            added = self.inverse_min_event_ndims - self.forward_min_event_ndims
            ndims = self.event_ndims + added if event_ndims is None else event_ndims
            return self._summed(each, value, ndims, self.inverse_min_event_ndims)

    def _summed(self, each: Tensor, value: Tensor, event_ndims: int | Tensor | None, least: int) -> Tensor:
        ndims = constant_value(event_ndims) if isinstance(event_ndims, Tensor) else event_ndims
        if ndims is None or int(ndims) < least:
            raise InvalidArgumentError(f"{self.name}: event_ndims={event_ndims}; needed a number, at least {least}")
        extra = int(ndims) - least
        if not extra:
            return each
        if self.is_constant_jacobian:
            ones = ones_like(value)
            each = each + zeros_like(reduce_sum(ones, list(range(-least, 0)))) if least else each + zeros_like(ones)
        return reduce_sum(each, list(range(-extra, 0)))

    def _event_dims_tensor(self, sample: TensorLike) -> Tensor:
        """Returns the dimensions of one event; subclasses of the time sum the log of their Jacobian over them."""
        return convert_to_tensor(range_(-self.event_ndims, 0) + rank(sample), int32)

    def forward_event_shape(self, input_shape: ShapeLike) -> Shape:
        """Returns the static shape of the value for an argument of `input_shape`."""
        return self._forward_event_shape(as_shape(input_shape))

    def inverse_event_shape(self, output_shape: ShapeLike) -> Shape:
        """Returns the static shape of the argument for a value of `output_shape`."""
        return self._inverse_event_shape(as_shape(output_shape))

    def forward_event_shape_tensor(self, input_shape: TensorLike, name: str = "forward_event_shape_tensor") -> Tensor:
        """Returns the shape of the value for an argument of `input_shape`, int32."""
        with name_scope(f"{self.name}/{name}"):
            return self._forward_event_shape_tensor(cast(input_shape, int32))

    def inverse_event_shape_tensor(self, output_shape: TensorLike, name: str = "inverse_event_shape_tensor") -> Tensor:
        """Returns the shape of the argument for a value of `output_shape`, int32."""
        with name_scope(f"{self.name}/{name}"):
            return self._inverse_event_shape_tensor(cast(output_shape, int32))


class ConditionalBijector(Bijector):
    """A bijector whose methods take further arguments by name, which its functions get."""


class Identity(Bijector):
    """The function y = x."""

    def __init__(self, validate_args: bool = False, name: str = "identity", event_ndims: int = 0) -> None:
        super().__init__(is_constant_jacobian=True, validate_args=validate_args, name=name)
        self.event_ndims = event_ndims

    def _forward(self, x: Tensor) -> Tensor:
        return x

    def _inverse(self, y: Tensor) -> Tensor:
        return y

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return constant(0.0, x.dtype)


class Invert(Bijector):
    """The inverse of the bijector `bijector`."""

    def __init__(self, bijector: Bijector, validate_args: bool = False, name: str | None = None) -> None:
        self.bijector = bijector
        super().__init__(
            bijector.graph_parents,
            bijector.is_constant_jacobian,
            validate_args,
            bijector.dtype,
            bijector.inverse_min_event_ndims,
            bijector.forward_min_event_ndims,
            name or f"invert_{bijector.name}",
        )
        self.event_ndims = bijector.event_ndims + self.forward_min_event_ndims - self.inverse_min_event_ndims

    def _forward(self, x: Tensor, **condition: Any) -> Tensor:
        return self.bijector.inverse(x, **condition)

    def _inverse(self, y: Tensor, **condition: Any) -> Tensor:
        return self.bijector.forward(y, **condition)

    def _forward_log_det_jacobian(self, x: Tensor, **condition: Any) -> Tensor:
        return self.bijector.inverse_log_det_jacobian(x, self.forward_min_event_ndims, **condition)

    def _inverse_log_det_jacobian(self, y: Tensor, **condition: Any) -> Tensor:
        return self.bijector.forward_log_det_jacobian(y, self.inverse_min_event_ndims, **condition)

    def _forward_event_shape(self, shape: Shape) -> Shape:
        return self.bijector.inverse_event_shape(shape)

    def _inverse_event_shape(self, shape: Shape) -> Shape:
        return self.bijector.forward_event_shape(shape)

    def _forward_event_shape_tensor(self, shape: Tensor) -> Tensor:
        return self.bijector.inverse_event_shape_tensor(shape)

    def _inverse_event_shape_tensor(self, shape: Tensor) -> Tensor:
        return self.bijector.forward_event_shape_tensor(shape)


class Chain(Bijector):
    """The composition of `bijectors`, of which the last one is applied first; of none it is the identity."""

    def __init__(
        self, bijectors: Sequence[Bijector] | None = None, validate_args: bool = False, name: str | None = None
    ) -> None:
        self.bijectors = list(bijectors or ())
        least = 0
        for b in self.bijectors:  # from the last value back to the first argument
            least = max(least, b.inverse_min_event_ndims) + b.forward_min_event_ndims - b.inverse_min_event_ndims
        after = least
        for b in reversed(self.bijectors):
            after = max(after, b.forward_min_event_ndims) + b.inverse_min_event_ndims - b.forward_min_event_ndims
        super().__init__(
            [p for b in self.bijectors for p in b.graph_parents],
            all(b.is_constant_jacobian for b in self.bijectors),
            validate_args,
            None,
            least,
            after,
            name or "chain_of_" + "_of_".join(b.name for b in self.bijectors) if self.bijectors else name or "identity",
        )
        self.event_ndims = max([least, *(b.event_ndims for b in self.bijectors)])

    def _forward(self, x: Tensor, **condition: Any) -> Tensor:
        for b in reversed(self.bijectors):
            x = b.forward(x, **condition.get(b.name, {}))
        return x

    def _inverse(self, y: Tensor, **condition: Any) -> Tensor:
        for b in self.bijectors:
            y = b.inverse(y, **condition.get(b.name, {}))
        return y

    def _forward_log_det_jacobian(self, x: Tensor, **condition: Any) -> Tensor:
        total: Any = constant(0.0, x.dtype)
        ndims = self.forward_min_event_ndims
        for b in reversed(self.bijectors):
            own = condition.get(b.name, {})
            total = total + b.forward_log_det_jacobian(x, ndims, **own)
            x, ndims = b.forward(x, **own), ndims + b.inverse_min_event_ndims - b.forward_min_event_ndims
        return total

    def _inverse_log_det_jacobian(self, y: Tensor, **condition: Any) -> Tensor:
        total: Any = constant(0.0, y.dtype)
        ndims = self.inverse_min_event_ndims
        for b in self.bijectors:
            own = condition.get(b.name, {})
            total = total + b.inverse_log_det_jacobian(y, ndims, **own)
            y, ndims = b.inverse(y, **own), ndims + b.forward_min_event_ndims - b.inverse_min_event_ndims
        return total

    def _forward_event_shape(self, shape: Shape) -> Shape:
        for b in reversed(self.bijectors):
            shape = b.forward_event_shape(shape)
        return shape

    def _inverse_event_shape(self, shape: Shape) -> Shape:
        for b in self.bijectors:
            shape = b.inverse_event_shape(shape)
        return shape

    def _forward_event_shape_tensor(self, shape: Tensor) -> Tensor:
        for b in reversed(self.bijectors):
            shape = b.forward_event_shape_tensor(shape)
        return shape

    def _inverse_event_shape_tensor(self, shape: Tensor) -> Tensor:
        for b in self.bijectors:
            shape = b.inverse_event_shape_tensor(shape)
        return shape


class Inline(Bijector):
    """A bijector of given functions: of the argument, of the value, and their log |det| of the Jacobian.

    Functions that are not given cannot be called; shapes stay the same where there is no function for them. For the
    other arguments see `Bijector`.
    """

    def __init__(
        self,
        forward_fn: Callable[..., Any] | None = None,
        inverse_fn: Callable[..., Any] | None = None,
        inverse_log_det_jacobian_fn: Callable[..., Any] | None = None,
        forward_log_det_jacobian_fn: Callable[..., Any] | None = None,
        forward_event_shape_fn: Callable[..., Any] | None = None,
        forward_event_shape_tensor_fn: Callable[..., Any] | None = None,
        inverse_event_shape_fn: Callable[..., Any] | None = None,
        inverse_event_shape_tensor_fn: Callable[..., Any] | None = None,
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        forward_min_event_ndims: int = 0,
        inverse_min_event_ndims: int | None = None,
        name: str = "inline",
    ) -> None:
        super().__init__(
            None, is_constant_jacobian, validate_args, None, forward_min_event_ndims, inverse_min_event_ndims, name
        )
        given = {
            "_forward": forward_fn,
            "_inverse": inverse_fn,
            "_inverse_log_det_jacobian": inverse_log_det_jacobian_fn,
            "_forward_log_det_jacobian": forward_log_det_jacobian_fn,
            "_forward_event_shape": forward_event_shape_fn,
            "_forward_event_shape_tensor": forward_event_shape_tensor_fn,
            "_inverse_event_shape": inverse_event_shape_fn,
            "_inverse_event_shape_tensor": inverse_event_shape_tensor_fn,
        }
        for method, function in given.items():
            if function is not None:
                setattr(self, method, function)
