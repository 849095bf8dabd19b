"""The exact derivatives of the functions of one number, in higher precision.

Invariant: each is written so that it loses no digits in float64, not as the gradient functions of an op are: that of
tanh(x) is 1 / cosh(x)^2 and not 1 - tanh(x)^2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

__all__ = ["SLOPES"]

_SELU_SCALE, _SELU_SCALE_ALPHA = 1.0507009873554805, 1.7580993408473768
_ALPHA = float(np.float32(0.2))
_ROOT_PI = np.sqrt(np.pi)


def _in_domain(inside: Any, values: Any) -> Any:
    return np.where(inside, values, np.nan)


def _bell(x: Any) -> Any:
    """The derivative of the logistic function."""
    e = np.exp(-np.abs(x))
    return e / ((1 + e) * (1 + e))


def _logistic(x: Any) -> Any:
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


def _tanh(x: Any) -> Any:
    e = np.exp(-2 * np.abs(x))
    return 4 * e / ((1 + e) * (1 + e))


def _erfinv(x: Any) -> Any:
    y = special.erfinv(np.asarray(x, np.float64))
    return _ROOT_PI / 2 * np.exp(y * y)


def _trigamma(x: Any) -> Any:
    x = np.asarray(x, np.float64)
    above = special.polygamma(1, np.where(x > 0, x, 1 - x))
    part = np.sin(np.pi * (x - np.rint(x)))
    return np.where(x > 0, above, np.square(np.pi / part) - above)


SLOPES: dict[str, Callable[[Any], Any]] = {
    "abs": np.sign,
    "square": lambda x: 2 * x,
    "reciprocal": lambda x: -1 / (x * x),
    "sqrt": lambda x: 0.5 / np.sqrt(x),
    "rsqrt": lambda x: -0.5 * (1 / np.sqrt(x)) ** 3,
    "exp": np.exp,
    "expm1": np.exp,
    "log": lambda x: 1 / x,
    "log1p": lambda x: 1 / (1 + x),
    "sin": np.cos,
    "cos": lambda x: -np.sin(x),
    "tan": lambda x: 1 / np.square(np.cos(x)),
    "asin": lambda x: 1 / np.sqrt((1 - x) * (1 + x)),
    "acos": lambda x: -1 / np.sqrt((1 - x) * (1 + x)),
    "atan": lambda x: 1 / (1 + x * x),
    "sinh": np.cosh,
    "cosh": np.sinh,
    "asinh": lambda x: 1 / np.hypot(1, x),
    "acosh": lambda x: _in_domain(x >= 1, 1 / (np.sqrt(x - 1) * np.sqrt(x + 1))),
    "atanh": lambda x: 1 / ((1 - x) * (1 + x)),
    "tanh": _tanh,
    "sigmoid": _bell,
    "log_sigmoid": lambda x: _logistic(-x),
    "erf": lambda x: 2 / _ROOT_PI * np.exp(-x * x),
    "erfc": lambda x: -2 / _ROOT_PI * np.exp(-x * x),
    "erfinv": _erfinv,
    "elu": lambda x: np.where(x < 0, np.exp(np.minimum(x, 0)), 1),
    "selu": lambda x: np.where(x < 0, _SELU_SCALE_ALPHA * np.exp(np.minimum(x, 0)), _SELU_SCALE),
    "softplus": _logistic,
    "softsign": lambda x: 1 / np.square(1 + np.abs(x)),
    "leaky_relu": lambda x: np.where(x > 0, 1, _ALPHA),
    "relu": lambda x: np.where(x > 0, 1.0, 0.0),
    "relu6": lambda x: np.where((x > 0) & (x < 6), 1.0, 0.0),
    "lgamma": lambda x: np.where(x == 0, np.nan, special.psi(np.asarray(x, np.float64))),
    "digamma": _trigamma,
}
"""By the name of the function."""
