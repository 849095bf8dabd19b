"""Random numbers for texts of parameters, "n = Li(5, 500); d = Ui(1, 5)". All names of `math` are known there, too.

Invariant: they are drawn from Python's own generator, which `random.seed` sets.
"""

from __future__ import annotations

import math
import random

__all__ = ["Lf", "Li", "Nt", "Uf", "Ui"]


def Uf(lo: float = 0.0, hi: float = 1.0) -> float:
    """Returns a number between `lo` and `hi`."""
    return random.uniform(lo, hi)


def Ui(lo: int, hi: int) -> int:
    """Returns a whole number from `lo` to `hi`, both included."""
    return random.randint(lo, hi)


def Lf(lo: float, hi: float) -> float:
    """Returns a number between `lo` and `hi`, whose logarithm is uniform."""
    return math.exp(random.uniform(math.log(lo), math.log(hi)))


def Li(lo: int, hi: int) -> int:
    """Returns a whole number from `lo` to `hi`, both included, whose logarithm is about uniform."""
    return int(Lf(lo, hi + 1 - 1e-5))


def Nt(mu: float, sigma: float, limit: float = 3.0) -> float:
    """Returns a normal number, at most `limit` deviations `sigma` from the mean `mu`."""
    return min(max(random.gauss(mu, sigma), mu - limit * sigma), mu + limit * sigma)
