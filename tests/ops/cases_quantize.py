"""Cases of quantisation."""

from __future__ import annotations

import numpy as np
from cases import Case, arr

_RANGES = ((-1.0, 1.5), (0.5, 2.0), (-2.0, -0.3), (-6.0, 6.0))
_LOW, _HIGH = (np.array(v, np.float32) for v in zip(*_RANGES, strict=True))
_BITS = ({}, {"num_bits": 4, "narrow_range": True})


def _x() -> np.ndarray:
    return arr(3, 5, 4, lo=-3, hi=3)


CASES = [
    *(
        Case("FakeQuantWithMinMaxArgs", (_x(),), {"min": a, "max": b, **bits}, float32_only=True)
        for (a, b), bits in zip(_RANGES, _BITS * 2, strict=True)
    ),
    *(
        Case(
            "FakeQuantWithMinMaxArgsGradient", (_x(), _x()), {"min": a, "max": b}, float32_only=True
        )
        for a, b in _RANGES[:2]
    ),
    *(
        Case(
            "FakeQuantWithMinMaxVars", (_x(), np.float32(a), np.float32(b)), bits, float32_only=True
        )
        for (a, b), bits in zip(_RANGES, _BITS * 2, strict=True)
    ),
    *(
        Case(
            "FakeQuantWithMinMaxVarsGradient",
            (_x(), _x(), np.float32(a), np.float32(b)),
            float32_only=True,
            atol=1e-5,
        )
        for a, b in _RANGES[:2]
    ),
    *(
        Case("FakeQuantWithMinMaxVarsPerChannel", (x, _LOW, _HIGH), _BITS[1], float32_only=True)
        for x in (_x(), arr(4))
    ),
    Case(
        "FakeQuantWithMinMaxVarsPerChannelGradient",
        (_x(), _x(), _LOW, _HIGH),
        float32_only=True,
        atol=1e-5,
    ),
]
