"""Cases of bands of diagonals by 1.15's operations, and of tridiagonal matrices."""

from __future__ import annotations

import numpy as np
from cases import Case, arr

_I = np.int32
_ZERO = np.float32(0)
LOOSE = {"rtol": 2e-4, "atol": 2e-5}


def diagonals(*lead: int, m: int) -> np.ndarray:
    x = arr(*lead, 3, m)
    x[..., 1, :] += 5
    return x


CASES = [
    *(Case("NearestNeighbors", (arr(5, 3), arr(4, 3), np.int64(k)), float32_only=True) for k in (1, 2, 9)),
    Case("MatrixDiagV2", (arr(2, 3), _I(1), _I(-1), _I(-1), _ZERO), grad=False),
    # The gradients are those of the third forms; padding has none, as in TensorFlow.
    Case("MatrixDiagV2", (arr(2, 3, 4), np.array([-1, 1], _I), _I(4), _I(4), np.float32(7)), grad=False),
    Case("MatrixDiagPartV2", (arr(2, 3, 4), np.array([-1, 2], _I), np.float32(9)), grad=False),
    Case("MatrixDiagPartV2", (arr(3, 3), _I(-1), _ZERO), grad=False),
    Case("MatrixSetDiagV2", (arr(2, 3, 4), arr(2, 2, 3), np.array([0, 1], _I))),
    Case("MatrixSetDiagV2", (arr(3, 3), arr(2), _I(-1))),
    Case("TridiagonalMatMul", (arr(2, 1, 4), arr(2, 1, 4), arr(2, 1, 4), arr(2, 4, 3)), **LOOSE),
    Case("TridiagonalMatMul", (arr(1, 1), arr(1, 1), arr(1, 1), arr(1, 2)), **LOOSE),
    Case("TridiagonalSolve", (diagonals(2, m=4), arr(2, 4, 3)), **LOOSE),
    Case("TridiagonalSolve", (diagonals(m=5), arr(5, 2)), {"partial_pivoting": False}, **LOOSE),
    Case("TridiagonalSolve", (np.zeros((0, 3, 2), np.float32), np.zeros((0, 2, 1), np.float32)), oracle=False),
]
