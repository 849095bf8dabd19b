"""Cases of operations under their older names; TensorFlow no longer adds these to a graph."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from cases import Case, arr
from cases_linalg import CASES as LINALG

_OLD = {
    "Cholesky",
    "CholeskyGrad",
    "MatrixDeterminant",
    "MatrixInverse",
    "MatrixSolve",
    "MatrixSolveLs",
    "MatrixTriangularSolve",
    "SelfAdjointEigV2",
    "Svd",
}
_LIMITS = (np.int64(1), np.int64(-1))
_SQUARES = (arr(2, 3, 3) + arr(2, 3, 3).swapaxes(-1, -2)).astype(np.float32)
_WAVE = (arr(2, 2, 4) + 1j * arr(2, 2, 4)).astype(np.complex64)

CASES = [
    *(replace(c, op=f"Batch{c.op}", oracle=False) for c in LINALG if c.op in _OLD),
    Case("BatchMatrixBandPart", (arr(2, 3, 4), *_LIMITS), oracle=False),
    Case("BatchMatrixDiag", (arr(2, 3),), oracle=False),
    Case("BatchMatrixDiagPart", (arr(2, 3, 4),), oracle=False),
    Case("BatchMatrixSetDiag", (arr(2, 3, 4), arr(2, 3)), oracle=False),
    *(
        Case(f"Batch{inverse}FFT{rank}", (_WAVE,), oracle=False, rtol=1e-4, atol=1e-4)
        for inverse in ("", "I")
        for rank in ("", "2D", "3D")
    ),
    *(
        Case(op, (_SQUARES,), oracle=False, grad=False, rtol=2e-4, atol=2e-5)
        for op in ("SelfAdjointEig", "BatchSelfAdjointEig")
    ),
    Case("SelfAdjointEig", (np.zeros((0, 2, 2), np.float32),), oracle=False),
]
