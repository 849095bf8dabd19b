"""Cases of matrix products."""

from __future__ import annotations

import numpy as np
from cases import Case, arr, ints

_FLAGS = [(False, False), (False, True), (True, False), (True, True)]


def _pair(m: int, k: int, n: int, ta: bool, tb: bool, *batch: int) -> tuple[np.ndarray, np.ndarray]:
    return arr(*batch, *((k, m) if ta else (m, k))), arr(*batch, *((n, k) if tb else (k, n)))


CASES: tuple[Case, ...] = (
    *(
        Case(
            "MatMul",
            _pair(m, k, n, ta, tb),
            {"transpose_a": ta, "transpose_b": tb},
            rtol=1e-4,
            atol=1e-5,
        )
        for m, k, n in ((3, 4, 5), (1, 1, 1), (7, 13, 1))
        for ta, tb in _FLAGS
    ),
    Case("MatMul", _pair(0, 3, 2, False, False)),
    Case("MatMul", _pair(2, 0, 3, False, False), note="no_depth"),
    Case("MatMul", _pair(2, 3, 0, False, False)),
    Case("MatMul", (ints(3, 4), ints(4, 2))),
    Case("MatMul", _pair(65, 33, 47, False, False), grad=False, rtol=1e-4, atol=1e-4),
    *(
        Case(
            "BatchMatMul",
            _pair(3, 2, 4, ta, tb, *batch),
            {"adj_x": ta, "adj_y": tb},
            rtol=1e-4,
            atol=1e-5,
        )
        for ta, tb in _FLAGS
        for batch in ((2,), (2, 1))
    ),
    Case("BatchMatMul", _pair(3, 2, 4, False, False)),
    Case("BatchMatMul", _pair(3, 2, 4, False, False, 0)),
    Case("BatchMatMul", _pair(3, 0, 4, False, False, 2), note="no_depth"),
)
