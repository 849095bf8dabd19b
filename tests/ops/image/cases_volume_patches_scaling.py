"""Cases of patches of volumes, of scaling and of the early contrast."""

from __future__ import annotations

import numpy as np
from cases import Case, arr, ints

_F = np.float32
_SIZE = np.array([5, 8], np.int32)
_SHAPES = ((1, 2, 1, 3, 1), (1, 1, 2, 2, 1))
_KERNELS = ("lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic")


def _pair(a: float, b: float) -> np.ndarray:
    return np.array([a, b], _F)


CASES = [
    *(
        Case("ExtractVolumePatches", (arr(2, 3, 4, 5, 2),), {"ksizes": k, "strides": t, "padding": p})
        for k, t, p in ((*_SHAPES, "SAME"), (*_SHAPES, "VALID"), (_SHAPES[1], _SHAPES[0], "SAME"))
    ),
    Case(
        "ExtractVolumePatches", (arr(0, 3, 2, 2, 1),), {"ksizes": _SHAPES[1], "strides": _SHAPES[1], "padding": "SAME"}
    ),
    *(
        Case(
            "ScaleAndTranslate",
            (arr(2, 7, 6, 2), _SIZE, _pair(0.7, 1.3), _pair(0.25, -0.6)),
            {"kernel_type": kernel, "antialias": smooth},
            float32_only=True,
            grad=False,
            rtol=1e-4,
            atol=1e-5,
        )
        for kernel in _KERNELS
        for smooth in (True, False)
    ),
    Case(
        "ScaleAndTranslate",
        (ints(1, 3, 4, 1), _SIZE, _pair(2, 2), _pair(0, 0)),
        float32_only=True,
        rtol=1e-4,
        atol=1e-4,
        oracle=False,
    ),
    Case(
        "ScaleAndTranslateGrad",
        (arr(1, 5, 8, 2), arr(1, 7, 6, 2), _pair(0.7, 1.3), _pair(0.25, -0.6)),
        float32_only=True,
        rtol=1e-4,
        atol=1e-5,
    ),
    # TensorFlow 2 does not run it
    Case("AdjustContrast", (arr(2, 3, 4, 2), _F(1.7), _F(-1), _F(1.5)), oracle=False, float32_only=True),
    Case("AdjustContrast", (ints(3, 4, 1), _F(0.5), _F(-3), _F(4)), oracle=False, float32_only=True),
    Case("AdjustContrast", (arr(0, 3, 4, 2), _F(0.5), _F(0), _F(1)), oracle=False, float32_only=True),
]
