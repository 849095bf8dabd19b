"""Bijectors of numbers, element by element.

Invariant: each has a Jacobian that is a diagonal matrix, so its log |det| is a sum over elements. event_ndims: over how
many dimensions where a call does not say it, as in TensorFlow until 1.5.
"""

from __future__ import annotations

import math
from typing import Any

from tfnb.client.graph.default_graph import control_dependencies, name_scope
from tfnb.errors import InvalidArgumentError, refuse_given
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import constant
from tfnb.ops.array.shape_ops import IDENTITY
from tfnb.ops.logging.print_assert import assert_that
from tfnb.ops.math.compare import NOT_EQUAL
from tfnb.ops.math.reduce_functions import reduce_all
from tfnb.ops.math.unary import ASINH, COSH, EXP, EXPM1, LOG, LOG1P, SIGMOID, SINH, SQRT, SQUARE, absolute
from tfnb.ops.nn.activations import SOFTPLUS
from tfnb.v1.bijectors.bijector import Bijector
from tfnb.v1.distributions.checks import positive
from tfnb.v1.distributions.distribution import tensors_of
from tfnb.v1.distributions.matrix_forms import softplus_inverse

__all__ = [
    "AbsoluteValue",
    "AffineScalar",
    "Exp",
    "Gumbel",
    "Kumaraswamy",
    "PowerTransform",
    "Sigmoid",
    "SinhArcsinh",
    "Softplus",
    "Softsign",
    "Square",
]


class AffineScalar(Bijector):
    """The function y = scale * x + shift; a shift or scale that is None is left out."""

    def __init__(
        self,
        shift: TensorLike | None = None,
        scale: TensorLike | None = None,
        validate_args: bool = False,
        name: str = "affine_scalar",
    ) -> None:
        self.shift, self.scale = tensors_of(name, None, shift=shift, scale=scale)
        if validate_args and self.scale is not None:
            with control_dependencies(
                [assert_that(reduce_all(NOT_EQUAL(self.scale, 0.0)), ["the scale must not be 0"])]
            ):
                self.scale = IDENTITY(self.scale)
        given = [t for t in (self.shift, self.scale) if t is not None]
        super().__init__(given, True, validate_args, given[0].dtype if given else None, name=name)

    def _forward(self, x: Tensor) -> Tensor:
        y = x if self.scale is None else x * self.scale
        return y if self.shift is None else y + self.shift

    def _inverse(self, y: Tensor) -> Tensor:
        x = y if self.shift is None else y - self.shift
        return x if self.scale is None else x / self.scale

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return constant(0.0, x.dtype) if self.scale is None else LOG(absolute(self.scale))


class PowerTransform(Bijector):
    """The function y = (1 + c x)^(1/c) of the `power` c, which is exp for c = 0. Raises for a negative power."""

    def __init__(
        self, power: float = 0.0, validate_args: bool = False, name: str = "power_transform", event_ndims: int = 0
    ) -> None:
        if power is None or power < 0:
            raise InvalidArgumentError(f"`power` must be a non-negative TensorFlow constant, got {power}")
        self.power = float(power)
        super().__init__(validate_args=validate_args, name=name)
        self.event_ndims = event_ndims

    def _forward(self, x: Tensor) -> Tensor:
        return EXP(x) if not self.power else EXP(LOG1P(x * self.power) / self.power)

    def _inverse(self, y: Tensor) -> Tensor:
        return LOG(y) if not self.power else EXPM1(LOG(y) * self.power) / self.power

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return (self.power - 1.0) * LOG(y)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return x if not self.power else (1.0 / self.power - 1.0) * LOG1P(x * self.power)


class Exp(PowerTransform):
    """The function y = exp(x)."""

    def __init__(self, validate_args: bool = False, name: str = "exp", event_ndims: int = 0) -> None:
        super().__init__(0.0, validate_args, name, event_ndims)


class Sigmoid(Bijector):
    """The function y = 1 / (1 + exp(-x))."""

    def __init__(self, validate_args: bool = False, name: str = "sigmoid") -> None:
        super().__init__(validate_args=validate_args, name=name)

    def _forward(self, x: Tensor) -> Tensor:
        return SIGMOID(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return LOG(y) - LOG1P(-y)

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return -LOG(y) - LOG1P(-y)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return -SOFTPLUS(-x) - SOFTPLUS(x)


class Softplus(Bijector):
    """The function y = h log(1 + exp(x / h)) of the `hinge_softness` h, by default 1."""

    def __init__(
        self,
        hinge_softness: TensorLike | None = None,
        validate_args: bool = False,
        name: str = "softplus",
        event_ndims: int = 0,
    ) -> None:
        self.hinge_softness = tensors_of(name, None, hinge_softness=hinge_softness)[0]
        super().__init__(validate_args=validate_args, name=name)
        self.event_ndims = event_ndims

    def _forward(self, x: Tensor) -> Tensor:
        h = self.hinge_softness
        return SOFTPLUS(x) if h is None else h * SOFTPLUS(x / h)

    def _inverse(self, y: Tensor) -> Tensor:
        h = self.hinge_softness
        return softplus_inverse(y) if h is None else h * softplus_inverse(y / h)

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        z = y if self.hinge_softness is None else y / self.hinge_softness
        return -LOG(-EXPM1(-z))

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return -SOFTPLUS(-x if self.hinge_softness is None else -x / self.hinge_softness)


class Softsign(Bijector):
    """The function y = x / (1 + |x|)."""

    def __init__(self, validate_args: bool = False, name: str = "softsign") -> None:
        super().__init__(validate_args=validate_args, name=name)

    def _forward(self, x: Tensor) -> Tensor:
        return x / (1.0 + absolute(x))

    def _inverse(self, y: Tensor) -> Tensor:
        return y / (1.0 - absolute(y))

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return -2.0 * LOG1P(absolute(x))

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return -2.0 * LOG1P(-absolute(y))


class Square(Bijector):
    """The function y = x^2 of numbers that are not negative."""

    def __init__(self, validate_args: bool = False, name: str = "square") -> None:
        super().__init__(validate_args=validate_args, name=name)

    def _checked(self, x: Tensor) -> Tensor:
        if not self.validate_args:
            return x
        with control_dependencies(
            [assert_that(reduce_all(x >= 0.0), ["square: needed numbers that are not negative"])]
        ):
            return IDENTITY(x)

    def _forward(self, x: Tensor) -> Tensor:
        return SQUARE(self._checked(x))

    def _inverse(self, y: Tensor) -> Tensor:
        return SQRT(self._checked(y))

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return math.log(2.0) + LOG(self._checked(x))


class AbsoluteValue(Bijector):
    """The function y = |x|, whose inverse is the pair (-y, y). The Jacobians of the pair are 1, so their log is 0."""

    def __init__(self, validate_args: bool = False, name: str = "absolute_value") -> None:
        super().__init__(is_constant_jacobian=True, validate_args=validate_args, name=name)

    def _forward(self, x: Tensor) -> Tensor:
        return absolute(x)

    def inverse(self, y: TensorLike, name: str = "inverse", **condition: Any) -> tuple[Tensor, Tensor]:
        """Returns (-y, y). There are no conditions."""
        refuse_given("AbsoluteValue.inverse", "it takes no further arguments", **condition)
        with name_scope(f"{self.name}/{name}"):
            value = self._tensor(y)
            return -value, value

    def inverse_log_det_jacobian(
        self,
        y: TensorLike,
        event_ndims: int | Tensor | None = None,
        name: str = "inverse_log_det_jacobian",
        **condition: Any,
    ) -> tuple[Tensor, Tensor]:
        """Returns (0, 0). Raises `InvalidArgumentError` for event_ndims other than 0, as in TensorFlow."""
        refuse_given(
            "AbsoluteValue.inverse_log_det_jacobian",
            "only scalar events are supported",
            event_ndims=event_ndims or None,
            **condition,
        )
        with name_scope(f"{self.name}/{name}"):
            zero = constant(0.0, self._tensor(y).dtype)
            return zero, zero

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return constant(0.0, x.dtype)


class Gumbel(Bijector):
    """The function y = exp(-exp(-(x - loc) / scale)), the distribution function of Gumbel's distribution."""

    def __init__(
        self,
        loc: TensorLike = 0.0,
        scale: TensorLike = 1.0,
        validate_args: bool = False,
        name: str = "gumbel",
        event_ndims: int = 0,
    ) -> None:
        self.loc, self.scale = tensors_of(name, None, loc=loc, scale=scale)
        self.scale = positive(self.scale, validate_args)
        super().__init__([self.loc, self.scale], validate_args=validate_args, name=name)
        self.event_ndims = event_ndims

    def _forward(self, x: Tensor) -> Tensor:
        return EXP(-EXP(-(x - self.loc) / self.scale))

    def _inverse(self, y: Tensor) -> Tensor:
        return self.loc - self.scale * LOG(-LOG(y))

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return LOG(self.scale / (-LOG(y) * y))

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        z = (x - self.loc) / self.scale
        return -z - EXP(-z) - LOG(self.scale)


class Kumaraswamy(Bijector):
    """The function y = (1 - (1 - x)^(1 / b))^(1 / a), which makes uniform numbers Kumaraswamy's.

    concentration1, concentration0: the positive numbers a and b, by default 1.
    """

    def __init__(
        self,
        concentration1: TensorLike | None = None,
        concentration0: TensorLike | None = None,
        validate_args: bool = False,
        name: str = "kumaraswamy",
    ) -> None:
        a, b = tensors_of(
            name,
            None,
            a=1.0 if concentration1 is None else concentration1,
            b=1.0 if concentration0 is None else concentration0,
        )
        self.concentration1, self.concentration0 = positive(a, validate_args), positive(b, validate_args)
        super().__init__([self.concentration1, self.concentration0], validate_args=validate_args, name=name)

    def _forward(self, x: Tensor) -> Tensor:
        return EXP(LOG1P(-EXP(LOG1P(-x) / self.concentration0)) / self.concentration1)

    def _inverse(self, y: Tensor) -> Tensor:
        return -EXPM1(LOG1P(-(y**self.concentration1)) * self.concentration0)

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return LOG(a) + LOG(b) + (a - 1.0) * LOG(y) + (b - 1.0) * LOG1P(-(y**a))


class SinhArcsinh(Bijector):
    """The function y = sinh((arsinh(x) + skewness) * tailweight), of a positive `tailweight`."""

    def __init__(
        self,
        skewness: TensorLike | None = None,
        tailweight: TensorLike | None = None,
        validate_args: bool = False,
        name: str = "SinhArcsinh",
        event_ndims: int = 0,
    ) -> None:
        self.skewness, tail = tensors_of(
            name,
            None,
            skewness=0.0 if skewness is None else skewness,
            tailweight=1.0 if tailweight is None else tailweight,
        )
        self.tailweight = positive(tail, validate_args)
        super().__init__([self.skewness, self.tailweight], validate_args=validate_args, name=name)
        self.event_ndims = event_ndims

    def _forward(self, x: Tensor) -> Tensor:
        return SINH((ASINH(x) + self.skewness) * self.tailweight)

    def _inverse(self, y: Tensor) -> Tensor:
        return SINH(ASINH(y) / self.tailweight - self.skewness)

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return LOG(COSH(ASINH(y) / self.tailweight - self.skewness)) - 0.5 * LOG1P(SQUARE(y)) - LOG(self.tailweight)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return LOG(COSH((ASINH(x) + self.skewness) * self.tailweight)) + LOG(self.tailweight) - 0.5 * LOG1P(SQUARE(x))
