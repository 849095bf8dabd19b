"""Cases of linear algebra, Fourier transforms and complex numbers."""

from __future__ import annotations

import numpy as np
from cases import Case, arr


def near_identity(*shape):
    n = shape[-1]
    return (arr(*shape) * np.float32(0.3) + 2 * np.eye(n, dtype=np.float32)).astype(np.float32)


def positive(*shape):
    a = arr(*shape)
    return (a @ a.swapaxes(-1, -2) + 2 * np.eye(shape[-1])).astype(np.float32)


def spread_out(*shape):
    """Symmetric, with eigenvalues far apart."""
    n = shape[-1]
    q = np.linalg.qr(arr(*shape).astype(np.float64))[0]
    return ((q * np.arange(1.0, n + 1)) @ q.swapaxes(-1, -2)).astype(np.float32)


def number(*shape):
    return (arr(*shape) + 1j * arr(*shape)).astype(np.complex64)


LOOSE = {"rtol": 2e-4, "atol": 2e-5}
CASES = [
    *(Case("MatrixInverse", (near_identity(2, 3, 3),), {"adjoint": a}, **LOOSE) for a in (False, True)),
    Case("MatrixInverse", (np.zeros((0, 2, 2), np.float32),)),
    Case("MatrixDeterminant", (near_identity(2, 3, 3),), **LOOSE),
    Case("MatrixDeterminant", (near_identity(1, 1),), **LOOSE),
    Case("LogMatrixDeterminant", (near_identity(2, 3, 3),), **LOOSE),
    # The gradient is spread over both triangles, as in TensorFlow, though one is read.
    Case("Cholesky", (positive(2, 3, 3),), grad=False, **LOOSE),
    Case("CholeskyGrad", (np.tril(near_identity(3, 3)), arr(3, 3)), **LOOSE),
    *(Case("MatrixSolve", (near_identity(2, 3, 3), arr(2, 3, 2)), {"adjoint": a}, **LOOSE) for a in (False, True)),
    *(
        Case("MatrixTriangularSolve", (near_identity(2, 3, 3), arr(2, 3, 2)), {"lower": low, "adjoint": a}, **LOOSE)
        for low in (False, True)
        for a in (False, True)
    ),
    Case("MatrixSolveLs", (arr(4, 2), arr(4, 3), np.float64(0.3)), note="tall", grad=False, **LOOSE),
    Case("MatrixSolveLs", (arr(2, 4), arr(2, 3), np.float64(0.3)), note="wide", grad=False, **LOOSE),
    Case("MatrixSolveLs", (arr(4, 2), arr(4, 3), np.float64(0.0)), {"fast": False}, grad=False, **LOOSE),
    Case("Qr", (near_identity(2, 3, 3),), oracle=False, **LOOSE),
    Case("Qr", (arr(4, 2),), note="tall", oracle=False, **LOOSE),
    Case("Qr", (arr(2, 4),), {"full_matrices": True}, grad=False, oracle=False, **LOOSE),
    Case("Svd", (near_identity(3, 3) * np.float32([1, 2, 4]),), oracle=False, **LOOSE),
    Case("Svd", (arr(4, 2),), note="tall", oracle=False, **LOOSE),
    Case("Svd", (arr(2, 2, 3),), {"compute_uv": False}, oracle=False, **LOOSE),
    Case("Svd", (arr(2, 4),), {"full_matrices": True}, grad=False, oracle=False, **LOOSE),
    Case("SelfAdjointEigV2", (spread_out(2, 3, 3),), oracle=False, **LOOSE),
    Case("SelfAdjointEigV2", (spread_out(3, 3),), {"compute_v": False}, oracle=False, **LOOSE),
    Case("Complex", (arr(2, 3), arr(3)), {"Tout": "complex64"}, oracle=False, float32_only=True),
    *(Case(name, (number(2, 3),), {"Tout": "float32"}) for name in ("Real", "Imag", "Angle", "ComplexAbs")),
    Case("Conj", (number(2, 3),)),
    *(Case(name, (number(2, 3), number(3)), note="complex", **LOOSE) for name in ("Add", "Sub", "Mul", "RealDiv")),
    *(
        Case(name, (number(3, 2),), note="complex", **LOOSE)
        for name in ("Neg", "Square", "Exp", "Log", "Sqrt", "Sin", "Cos", "Tanh", "Sigmoid", "Reciprocal")
    ),
    Case("MatMul", (number(2, 3), number(3, 2)), note="complex", **LOOSE),
    Case("BatchMatMul", (number(2, 3, 2), number(2, 3, 2)), {"adj_x": True}, note="complex", **LOOSE),
    Case("Sum", (number(2, 3), np.int32([1])), note="complex", **LOOSE),
    Case("Prod", (number(2, 3), np.int32([1])), note="complex", **LOOSE),
    Case("Mean", (number(2, 3), np.int32([0])), note="complex", **LOOSE),
    *(Case(name, (number(2, 5),), atol=1e-5) for name in ("FFT", "IFFT")),
    *(Case(name, (number(2, 3, 5),), atol=1e-5) for name in ("FFT2D", "IFFT2D")),
    *(Case(name, (number(2, 3, 2),), atol=1e-5) for name in ("FFT3D", "IFFT3D")),
    # TensorFlow's op does not pad nor cut, its Python function does.
    *(
        Case("RFFT", (arr(2, 6), np.int32([n])), {"Tcomplex": "complex64"}, float32_only=True, oracle=n < 7, atol=1e-5)
        for n in (4, 6, 7)
    ),
    *(
        Case("IRFFT", (number(2, 4), np.int32([n])), {"Treal": "float32"}, float32_only=True, oracle=n == 6, atol=1e-5)
        for n in (5, 6, 9)
    ),
    Case("RFFT2D", (arr(4, 6), np.int32([4, 6])), {"Tcomplex": "complex64"}, float32_only=True, atol=1e-5),
    Case("IRFFT2D", (number(4, 4), np.int32([4, 6])), {"Treal": "float32"}, float32_only=True, atol=1e-5),
    Case(
        "RFFT2D",
        (arr(2, 5, 7), np.int32([4, 9])),
        {"Tcomplex": "complex64"},
        float32_only=True,
        oracle=False,
        atol=1e-5,
    ),
    Case(
        "IRFFT2D", (number(2, 5, 4), np.int32([4, 9])), {"Treal": "float32"}, float32_only=True, oracle=False, atol=1e-5
    ),
    Case("IRFFT2D", (number(3, 3), np.int32([3, 5])), {"Treal": "float32"}, float32_only=True, atol=1e-5),
    Case("RFFT3D", (arr(2, 4, 6), np.int32([2, 4, 6])), {"Tcomplex": "complex64"}, float32_only=True, atol=1e-5),
    Case("IRFFT3D", (number(2, 4, 4), np.int32([2, 4, 6])), {"Treal": "float32"}, float32_only=True, atol=1e-5),
]
