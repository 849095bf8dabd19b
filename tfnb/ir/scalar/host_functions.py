"""NumPy functions of the scalar primitives that are not NumPy's own.

Invariant: integers have the values of C, and division by zero gives 0 (TensorFlow raises an error, a kernel cannot).
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["digamma", "divide", "floordiv", "floormod", "flushed", "lgamma", "power", "sigmoid", "special", "truncmod"]

Array = NDArray[Any]


def flushed(x: Array) -> Array:
    """Returns the floats with zeros of their sign in place of subnormal numbers, as which devices count them."""
    if x.dtype not in (np.float32, np.float64):
        return x
    small = np.abs(x) < np.finfo(x.dtype).tiny
    return np.where(small, np.copysign(0, x), x).astype(x.dtype, copy=False) if small.any() else x


def _int_div(a: Array, b: Array) -> Array:
    """Returns the quotient of C, rounded towards zero; 0 for the divisor 0."""
    divisor = np.where(b == 0, 1, b).astype(b.dtype)
    q = np.floor_divide(a, divisor)
    if a.dtype.kind == "i":
        q = q + ((q * divisor != a) & ((a < 0) != (b < 0)))
    return np.where(b == 0, 0, q).astype(a.dtype)


def divide(a: Array, b: Array) -> Array:
    """Divides floats and complex numbers, and integers as C does, with the quotient rounded towards zero."""
    return a / b if a.dtype.kind in "fc" else _int_div(a, b)


def floordiv(a: Array, b: Array) -> Array:
    """Returns the quotient, rounded down."""
    if a.dtype.kind == "f":
        return np.floor(flushed(a / b))
    return np.where(b == 0, 0, np.floor_divide(a, np.where(b == 0, 1, b)))


def floormod(a: Array, b: Array) -> Array:
    """Returns the remainder of `floordiv`, which has the sign of the divisor."""
    if a.dtype.kind == "f":
        r = flushed(np.fmod(a, b))
        return np.where((r != 0) & ((r < 0) != (b < 0)), r + b, r)
    return np.where(b == 0, 0, np.mod(a, np.where(b == 0, 1, b)))


def truncmod(a: Array, b: Array) -> Array:
    """Returns the remainder of C, which has the sign of the dividend."""
    if a.dtype.kind == "f":
        return np.fmod(a, b)
    return np.where(b == 0, 0, np.fmod(a, np.where(b == 0, 1, b)))


def power(a: Array, b: Array) -> Array:
    """Returns `a` to the power of `b`; for integers and a negative exponent, the exact value rounded towards zero."""
    if a.dtype.kind in "iu":
        return np.where(
            b < 0, np.where(a == 1, 1, np.where(a == -1, np.where(b % 2 == 0, 1, -1), 0)), np.power(a, np.maximum(b, 0))
        )
    found = np.power(a, b)
    if a.dtype.kind == "f":  # NumPy takes the root for an exponent of 1/2, which differs at these two
        found = np.where((b == 0.5) & ((a == 0) | np.isneginf(a)), np.abs(a), found)
        # On some processors NumPy gives NaN for a signalling NaN here.
        found = np.where((b == 0) | (a == 1), found.dtype.type(1), found)
    return found


def special(name: str) -> Callable[[Array], Array]:
    """Returns a function of scipy.special.

    The first call of the function imports scipy.special, because that takes longer than importing tfnb.
    """
    return lambda x: getattr(import_module("scipy.special"), name)(x)


def lgamma(x: Array) -> Array:
    """Returns the logarithm of the absolute value of the gamma function."""
    values = special("gammaln")(x)
    return np.where(np.isneginf(x), np.abs(values), values)  # infinite on both sides, as in C


def digamma(x: Array) -> Array:
    """Returns the derivative of `lgamma`; NaN at 0, which is a pole like the negative integers."""
    return np.where(x == 0, x.dtype.type(np.nan), special("digamma")(x))  # a pole like the others


def sign(x: Array) -> Array:
    """-1, 0 or 1; x / |x| of a complex number, which NumPy computes from version 2 on."""
    if not np.iscomplexobj(x):
        return np.sign(x)
    size = np.abs(x)
    return np.divide(x, size, out=np.zeros_like(x), where=size != 0)


def sigmoid(x: Array) -> Array:
    """Computes 1 / (1 + exp(-x)); for real x no intermediate value overflows."""
    if x.dtype.kind == "c":
        return 1 / (1 + np.exp(-x))
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))
