"""Cases of quantised products, averages and limits."""

from __future__ import annotations

import numpy as np
from cases import Case
from cases_quantize import quantized

_F = np.float32
_RANGE, _OTHER = (_F(-1.5), _F(2)), (_F(-3), _F(1))
_OWN = {"oracle": False, "float32_only": True}  # compared as graphs: tests/oracle/ops/test_quantize.py

CASES = [
    Case("QuantizedMul", (quantized(3, 4), quantized(4), *_RANGE, *_OTHER), {"Toutput": "qint32"}, **_OWN),
    Case("QuantizedReluX", (quantized(3, 4), _F(0.8), *_RANGE), {"out_type": "quint8"}, **_OWN),
    *(
        Case(
            "QuantizedAvgPool",
            (quantized(2, 5, 4, 3), *_RANGE),
            {"ksize": [1, 3, 2, 1], "strides": [1, 2, 1, 1], "padding": padding},
            **_OWN,
        )
        for padding in ("SAME", "VALID")
    ),
]
