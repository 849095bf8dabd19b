"""Cases of floats rounded to quantised steps, and of quantised tensors joined."""

from __future__ import annotations

import numpy as np
from cases import Case, arr
from cases_quantize import quantized

_F, _I = np.float32, np.int32
_OPTIONS = (
    {},
    {"signed_input": False},
    {"num_bits": 4, "range_given": True},
    {"num_bits": 3, "narrow_range": True, "range_given": True},
    {"round_mode": "HALF_UP"},
)


def _x() -> np.ndarray:
    return arr(3, 5, lo=-1.7, hi=2.2)


CASES = [
    Case("QuantizeAndDequantize", (_x(),), {"num_bits": 4}, grad=False, oracle=False),  # TensorFlow 2 refuses it
    Case(
        "QuantizeAndDequantize",
        (_x(),),
        {"range_given": True, "input_min": -1.0, "input_max": 1.5},
        grad=False,
        oracle=False,
    ),
    *(Case("QuantizeAndDequantizeV2", (_x(), _F(-1), _F(1.5)), options, grad=False) for options in _OPTIONS),
    Case("QuantizeAndDequantizeV2", (arr(0, 3), _F(0), _F(0)), grad=False),
    *(
        Case("QuantizeAndDequantizeV3", (_x(), _F(-1), _F(1.5), _I(5)), {"range_given": given}, grad=False)
        for given in (True, False)
    ),
    *(
        Case(
            "QuantizedConcat",
            (
                _I(1),
                [quantized(2, n, kind=kind, seed=n) for n in (3, 1)],
                [_F(-1), _F(low)],
                [_F(2), _F(3)],
            ),
            float32_only=True,
            oracle=False,  # tests/oracle/ops/test_quantize.py makes the dtypes that NumPy lacks
        )
        for kind, low in (("quint8", -1), ("quint8", -4), ("qint32", -1))
    ),
]
