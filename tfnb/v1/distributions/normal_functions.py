"""The distribution function of a standard normal variable, its logarithm and its inverse.

Invariant: values and gradients are finite wherever the function is, also far out: each side of a `where` computes with
numbers that are safe for it.
"""

from __future__ import annotations

import math

import numpy as np

from tfnb.ir.tensor import Tensor
from tfnb.ops.array.constants import ones_like, zeros_like
from tfnb.ops.array.where_partition import where
from tfnb.ops.math.binary import MAXIMUM, MINIMUM
from tfnb.ops.math.compare import EQUAL, LOGICAL_AND
from tfnb.ops.math.special import NDTRI
from tfnb.ops.math.unary import ERFC, LOG, SQUARE
from tfnb.types import float64

__all__ = ["log_ndtr", "ndtr", "ndtri"]

_TERMS = 5  # of the asymptotic series


def ndtr(z: Tensor) -> Tensor:
    """Returns the probability of a number below `z`."""
    return 0.5 * ERFC(-z * math.sqrt(0.5))


def ndtri(p: Tensor) -> Tensor:
    """Returns the number below which the probability is `p`: from -inf for 0 to inf for 1; NaN outside of that."""
    inside = LOGICAL_AND(p > 0.0, p < 1.0)
    ends = where(EQUAL(p, zeros_like(p)), zeros_like(p) - np.inf, zeros_like(p) + np.nan)
    ends = where(EQUAL(p, ones_like(p)), zeros_like(p) + np.inf, ends)
    return where(inside, NDTRI(where(inside, p, 0.5 * ones_like(p))), ends)


def log_ndtr(z: Tensor) -> Tensor:
    """Returns the logarithm of the probability of a number below `z`."""
    lower, upper = (-20.0, 8.0) if z.dtype.base_dtype is float64 else (-10.0, 5.0)
    far = MINIMUM(z, lower)  # where the probability underflows soon
    squared = 1.0 / SQUARE(far)
    series: Tensor | float = 1.0
    for n in range(2 * _TERMS - 1, 0, -2):
        series = 1.0 - n * squared * series
    tail = -0.5 * SQUARE(far) - LOG(-far) - 0.5 * math.log(2 * math.pi) + LOG(series)
    middle = LOG(ndtr(MINIMUM(MAXIMUM(z, lower), upper)))
    high = -ndtr(-MAXIMUM(z, upper))  # where log(1 - q) is -q
    return where(z < lower, tail, where(z > upper, high, middle))
