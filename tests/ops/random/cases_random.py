"""Cases of random ops. Their numbers are tfnb's own: test_random.py has their statistics."""

from __future__ import annotations

from typing import Any

import numpy as np
from cases import Case, arr, ints

_OWN: dict[str, Any] = {"grad": False, "oracle": False, "device": False}
_SHAPES = (
    np.array([3, 4], np.int32),
    np.array([], np.int32),
    np.array([0, 3], np.int64),
    np.array([5], np.int64),
)

CASES: tuple[Case, ...] = (
    *(
        Case(op, (shape,), {"dtype": dtype, "seed": 1, "seed2": 2}, **_OWN)
        for op in ("RandomUniform", "RandomStandardNormal", "TruncatedNormal")
        for shape in _SHAPES
        for dtype in ("float32", "float64", "float16")
    ),
    *(
        Case("RandomUniformInt", (shape, np.asarray(-3, t), np.asarray(5, t)), {"seed": 1}, **_OWN)
        for shape in _SHAPES
        for t in (np.int32, np.int64)
    ),
    *(Case("RandomShuffle", (x,), {"seed": 3}, **_OWN) for x in (ints(7), arr(5, 2), arr(0, 2), arr(1))),
    *(
        Case("Multinomial", (arr(3, 4), np.int32(n)), {"seed": 3, "output_dtype": t}, **_OWN)
        for n in (0, 1, 6)
        for t in ("int64", "int32")
    ),
    *(
        Case("RandomGamma", (shape, a), {"seed": 3}, **_OWN)
        for shape, a in (
            (np.array([3], np.int32), arr(2, lo=0.5)),
            (np.zeros(0, np.int64), arr(lo=1)),
        )
    ),
    Case("RandomPoisson", (np.array([2], np.int32), arr(3, lo=0.5)), {"seed": 3}, **_OWN),
    Case(
        "RandomPoissonV2",
        (np.array([2], np.int32), arr(3, lo=0.5)),
        {"seed": 3, "dtype": "int32"},
        **_OWN,
    ),
    Case(
        "ParameterizedTruncatedNormal",
        (np.array([2, 3], np.int32), arr(2), arr(lo=0.5), arr(hi=-1), arr(lo=1)),
        {"seed": 3},
        **_OWN,
    ),
)
