"""Cases of quantisation."""

from __future__ import annotations

import numpy as np
from cases import Case, arr

_RANGES = ((-1.0, 1.5), (0.5, 2.0), (-2.0, -0.3), (-6.0, 6.0))
_LOW, _HIGH = (np.array(v, np.float32) for v in zip(*_RANGES, strict=True))
_BITS = ({}, {"num_bits": 4, "narrow_range": True})


def _x() -> np.ndarray:
    return arr(3, 5, 4, lo=-3, hi=3)


_F = np.float32


def quantized(*shape: int, kind: str = "quint8", seed: int = 0) -> np.ndarray:
    """Integers that stand for floats; the kind is in the dtype's metadata, where `building` finds it."""
    plain = {"quint8": np.uint8, "qint8": np.int8, "qint32": np.int32}[kind]
    limits = np.iinfo(plain)
    found = np.random.default_rng(seed).integers(limits.min, limits.max, shape)
    return found.astype(np.dtype(plain, metadata={"quantized": kind}))


_RANGE = (_F(-1.5), _F(2))
_WIDE = (_F(-70000), _F(70000))

CASES = [
    *(
        Case("FakeQuantWithMinMaxArgs", (_x(),), {"min": a, "max": b, **bits}, float32_only=True)
        for (a, b), bits in zip(_RANGES, _BITS * 2, strict=True)
    ),
    *(
        Case("FakeQuantWithMinMaxArgsGradient", (_x(), _x()), {"min": a, "max": b}, float32_only=True)
        for a, b in _RANGES[:2]
    ),
    *(
        Case("FakeQuantWithMinMaxVars", (_x(), np.float32(a), np.float32(b)), bits, float32_only=True)
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
    *(Case("FakeQuantWithMinMaxVarsPerChannel", (x, _LOW, _HIGH), _BITS[1], float32_only=True) for x in (_x(), arr(4))),
    Case(
        "FakeQuantWithMinMaxVarsPerChannelGradient",
        (_x(), _x(), _LOW, _HIGH),
        float32_only=True,
        atol=1e-5,
    ),
    # compared with TensorFlow as graphs: tests/oracle/ops/test_quantize.py
    *(
        Case(
            "QuantizeV2",
            (_x(), _F(-1), _F(2)),
            {"T": t, "mode": m},
            oracle=False,
            float32_only=True,
        )
        for t in ("quint8", "qint8", "qint16")
        for m in ("MIN_COMBINED", "MIN_FIRST", "SCALED")
    ),
    *(
        Case(
            "Dequantize",
            (quantized(3, 4, kind=k), *_RANGE),
            {"mode": m, "dtype": "float32"},
            oracle=False,
            float32_only=True,
        )
        for k in ("quint8", "qint8")
        for m in ("MIN_COMBINED", "MIN_FIRST", "SCALED")
    ),
    Case(
        "QuantizedMatMul",
        (quantized(3, 5), quantized(4, 5), *_RANGE, *_RANGE),
        {"Toutput": "qint32", "Tactivation": "quint8", "transpose_b": True},
        oracle=False,
        float32_only=True,
    ),
    Case(
        "QuantizedConv2D",
        (quantized(2, 5, 6, 3), quantized(2, 3, 3, 4), *_RANGE, *_RANGE),
        {"out_type": "qint32", "strides": [1, 2, 1, 1], "padding": "SAME"},
        oracle=False,
        float32_only=True,
    ),
    Case(
        "Requantize",
        (quantized(3, 4, kind="qint32"), *_WIDE, *_RANGE),
        {"out_type": "quint8"},
        oracle=False,
        float32_only=True,
    ),
    Case(
        "RequantizationRange",
        (quantized(3, 4, kind="qint32"), *_WIDE),
        oracle=False,
        float32_only=True,
    ),
    Case(
        "QuantizeDownAndShrinkRange",
        (quantized(3, 4, kind="qint32"), *_WIDE),
        {"out_type": "quint8"},
        oracle=False,
        float32_only=True,
    ),
    *(
        Case(
            op,
            (quantized(3, 4), _F(-7), _F(9)),
            {"out_type": "quint8"},
            oracle=False,
            float32_only=True,
        )
        for op in ("QuantizedRelu", "QuantizedRelu6")
    ),
    Case(
        "QuantizedBiasAdd",
        (quantized(3, 4), quantized(4), *_RANGE, *_RANGE),
        {"out_type": "qint32"},
        oracle=False,
        float32_only=True,
    ),
    Case(
        "QuantizedMaxPool",
        (quantized(2, 4, 5, 2), *_RANGE),
        {"ksize": [1, 2, 2, 1], "strides": [1, 2, 1, 1], "padding": "SAME"},
        oracle=False,
        float32_only=True,
    ),
    Case(
        "QuantizedReshape",
        (quantized(3, 4), np.array([2, -1], np.int32), *_RANGE),
        oracle=False,
        float32_only=True,
    ),
]
