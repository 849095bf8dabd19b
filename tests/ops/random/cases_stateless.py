"""Cases of random numbers that depend on shape and seed alone: TensorFlow's own numbers."""

from __future__ import annotations

import numpy as np
from cases import Case, arr

_I = np.int32
_SHAPES = (np.array([3, 5], _I), np.array([0, 2], np.int64), np.zeros(0, _I))
_SEEDS = (np.array([1, 2], _I), np.array([-5, 2**40 + 7], np.int64))

CASES = [
    *(
        Case(op, (shape, seed), {"dtype": dtype}, rtol=1e-4, atol=1e-5)
        for op in ("StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal")
        for shape in _SHAPES
        for seed, dtype in zip(_SEEDS, ("float32", "float64"), strict=True)
    ),
    Case("StatelessRandomUniform", (_SHAPES[0], _SEEDS[0]), {"dtype": "float16"}),
    *(
        Case("StatelessRandomUniformInt", (_SHAPES[0], _SEEDS[0], np.asarray(-3, t), np.asarray(50, t)))
        for t in (np.int32, np.int64)
    ),
    *(
        Case("StatelessMultinomial", (arr(3, 4), _I(n), _SEEDS[0]), {"output_dtype": t}, float32_only=True)
        for n, t in ((6, "int64"), (0, "int32"))
    ),
]
