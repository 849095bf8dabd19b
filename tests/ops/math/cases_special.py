"""Cases of the special functions."""

from __future__ import annotations

import numpy as np
from cases import Case, arr, ints

_ZEROS = np.array([0.0, 2.0, 0.0, -1.5], np.float32)

CASES: tuple[Case, ...] = (
    *(
        Case(op, (x, y), grad=smooth)
        for op in ("Xdivy", "Xlogy", "Xlog1py")
        for x, y, smooth in (
            (_ZEROS, arr(4, lo=0.5), False),
            (arr(2, 3, lo=0.5), arr(3, lo=0.5), True),
        )
    ),
    Case(
        "MulNoNan",
        (np.array([np.nan, np.inf, 2, 3], np.float32), np.array([0, 0, 0, 2], np.float32)),
        grad=False,
    ),
    Case("MulNoNan", (arr(2, 3), arr(3, lo=0.5))),
    Case("Erfinv", (arr(6, lo=-0.9, hi=0.9),), rtol=5e-5),
    Case("Ndtri", (arr(6, lo=0.05, hi=0.95),), rtol=5e-5, atol=5e-6),
    Case(
        "ApproximateEqual",
        (np.array([1, 2, 3], np.float32), np.array([1, 2.5, 3.000001], np.float32)),
    ),
    Case(
        "ApproximateEqual", (np.array([1, 2, 3], np.float32), np.array([4, -1.5, -1], np.float32)), {"tolerance": 3.0}
    ),
    Case(
        "ApproximateEqual",
        (ints(5, lo=0, hi=3, dtype=np.uint8), ints(5, lo=0, hi=3, dtype=np.uint8)),
        oracle=False,
    ),
    Case("ApproximateEqual", (ints(4), ints(4)), {"tolerance": 3.0}, oracle=False),
    Case("Igamma", (arr(2, 3, lo=0.5, hi=4), arr(3, lo=0.5, hi=5)), rtol=1e-4),
    Case("Igammac", (arr(2, 3, lo=0.5, hi=4), arr(3, lo=0.5, hi=5)), rtol=1e-4),
    Case("IgammaGradA", (arr(5, lo=0.2, hi=8), arr(5, lo=0.1, hi=20)), rtol=1e-4),
    Case("RandomGammaGrad", (arr(5, lo=0.5, hi=4), arr(5, lo=0.5, hi=5)), rtol=1e-4),
    Case(
        "Betainc",
        (arr(3, lo=0.5, hi=4), arr(3, lo=0.5, hi=4), arr(3, lo=0.1, hi=0.9)),
        grad=False,
        rtol=1e-4,
    ),
)
