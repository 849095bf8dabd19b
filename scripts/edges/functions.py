"""The elementwise functions whose edges are measured, each with its reference in higher precision.

A reference takes arrays of float64, or of NumPy's long double where float64 is measured. It is written with NumPy and
SciPy only, so it shares nothing with the kernels. Invariant: every elementwise op of the catalogue over floats is in
`ONE` or `TWO`, or in `LEFT_OUT` with the reason (tests/strangers/test_edges.py compares).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gradients import SLOPES
from measure import Format, Wanted, wanted
from scipy import special

__all__ = ["LEFT_OUT", "ONE", "TWO", "Reference", "exact", "public", "reference"]

Array = Any
Reference = Callable[..., Array]

_SELU_SCALE, _SELU_SCALE_ALPHA = 1.0507009873554805, 1.7580993408473768
_ALPHA = float(np.float32(0.2))


def _softplus(x: Array) -> Array:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _sigmoid(x: Array) -> Array:
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


def _double(name: str) -> Reference:
    function = getattr(special, name)
    return lambda x: function(np.asarray(x, np.float64))


def _digamma(x: Array) -> Array:
    return np.where(x == 0, np.nan, special.psi(np.asarray(x, np.float64)))


def _lgamma(x: Array) -> Array:
    values = special.gammaln(np.asarray(x, np.float64))
    return np.where(np.isneginf(x), np.inf, values)


def _elu(x: Array) -> Array:
    return np.where(x < 0, np.expm1(np.minimum(x, 0)), x)


def _clip(x: Array, low: float, high: float) -> Array:
    return np.where(x < low, low, np.where(x > high, high, x))


ONE: dict[str, Reference] = {
    "abs": np.abs,
    "neg": np.negative,
    "sign": np.sign,
    "reciprocal": lambda x: 1 / x,
    "square": lambda x: x * x,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "tanh": np.tanh,
    "sigmoid": _sigmoid,
    "log_sigmoid": lambda x: -_softplus(-x),
    "erf": _double("erf"),
    "erfc": _double("erfc"),
    "erfinv": lambda x: np.copysign(special.erfinv(np.asarray(x, np.float64)), x),
    "ndtri": _double("ndtri"),
    "lgamma": _lgamma,
    "digamma": _digamma,
    "bessel_i0e": _double("i0e"),
    "bessel_i1e": _double("i1e"),
    "floor": np.floor,
    "ceil": np.ceil,
    "rint": np.rint,
    "round": np.rint,
    "is_nan": np.isnan,
    "is_inf": np.isinf,
    "is_finite": np.isfinite,
    "relu": lambda x: _clip(x, 0, np.inf),
    "relu6": lambda x: _clip(x, 0, 6),
    "elu": _elu,
    "selu": lambda x: np.where(x < 0, np.expm1(np.minimum(x, 0)) * _SELU_SCALE_ALPHA, x * _SELU_SCALE),
    "softplus": _softplus,
    "softsign": lambda x: np.where(np.isinf(x), np.nan, x / (1 + np.abs(x))),
    "leaky_relu": lambda x: np.where(x > 0, x, x * _ALPHA),
}
"""Functions of one number by the name of the public function."""


def _flushed(x: Array, tiny: float) -> Array:
    return np.where(np.abs(x) < tiny, np.copysign(0, x), x)


def _floormod(x: Array, y: Array, tiny: float) -> Array:
    r = _flushed(np.fmod(x, y), tiny)
    return np.where((r != 0) & ((r < 0) != (y < 0)), r + y, r)


def _floordiv(x: Array, y: Array, tiny: float) -> Array:
    narrow = np.float32 if x.dtype == np.float64 else np.float64
    return np.floor(_flushed(x.astype(narrow) / y.astype(narrow), tiny))


# What is rounded on the way, in TensorFlow as well: a quotient may become whole, and what is subnormal counts as zero.
_ROUNDED = {"mod": _floormod, "floordiv": _floordiv}

TWO: dict[str, Reference] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "realdiv": np.divide,
    "div_no_nan": lambda x, y: np.where(y == 0, 0, x / y),
    "floordiv": lambda x, y: np.floor(x / y),
    "mod": np.mod,
    "truncatemod": np.fmod,
    "pow": np.power,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "squared_difference": lambda x, y: (x - y) * (x - y),
    "atan2": np.arctan2,
    "xdivy": lambda x, y: np.where(x == 0, 0, x / y),
    "xlogy": lambda x, y: np.where(x == 0, 0, x * np.log(y)),
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "equal": np.equal,
    "not_equal": np.not_equal,
}
"""Functions of two numbers."""

LEFT_OUT: dict[str, str] = dict.fromkeys(
    ("Div", "RealDiv", "AddV2", "Inv", "Mod", "AddN", "AccumulateNV2"), "the same expression as one that is measured"
)
LEFT_OUT |= dict.fromkeys(("Xlog1py", "MulNoNan", "ApproximateEqual"), "a choice and a function that is measured")
LEFT_OUT |= dict.fromkeys(
    ("FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxArgsGradient", "Bucketize"), "steps, not a curve"
)
LEFT_OUT |= dict.fromkeys(
    """ReciprocalGrad InvGrad SqrtGrad RsqrtGrad TanhGrad SigmoidGrad ReluGrad Relu6Grad EluGrad SoftplusGrad
    SoftsignGrad LeakyReluGrad""".split(),
    "a few products and sums; gradients are compared where they have edges",
)
"""Ops by their names, with the reason."""


def public(tf: Any, name: str) -> Any:
    """Returns the public function of this name: of tf itself, of tf.math or of tf.nn."""
    for root in (tf, tf.math, tf.nn):
        if hasattr(root, name):
            return getattr(root, name)
    raise AttributeError(name)


def reference(name: str, form: Format) -> Callable[[list[Array]], Array]:
    """Returns the function of operands in a wider type; "gradient:NAME" is the derivative of NAME."""
    if name.startswith("gradient:"):
        slope = SLOPES[name.partition(":")[2]]
        return lambda xs: np.where(np.isnan(xs[0]), np.nan, slope(xs[0]))
    if name in _ROUNDED:
        tiny = 0.0 if form.name == "float16" else form.tiny  # float16 is computed as float32
        return lambda xs: _ROUNDED[name](*xs, tiny)
    function = ONE.get(name) or TWO[name]
    return lambda xs: function(*xs)


def exact(name: str, form: Format, bits: list[np.ndarray]) -> Wanted:
    """Returns what is wanted of a function of operands with these bits."""
    return wanted(bits, form, reference(name, form))
