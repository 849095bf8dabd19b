"""Cases that once went wrong, found by comparing generated cases with TensorFlow (tests/oracle/test_generated.py)."""

from __future__ import annotations

import numpy as np
from cases import Case, arr

_I, _F = np.int32, np.float32
_COMPLEX = np.array([0.5 + 1j, -1.5 - 0.25j, 2 + 0.5j], np.complex64)
_POLE = np.array([np.inf, 0.0, 2.0, np.inf], _F)
_MASKED = np.array([0.0, 0.0, 1.0, 0.0], _F)

CASES: tuple[Case, ...] = (
    *(
        Case(op, (np.zeros((4, 0), _F), np.zeros((0, 1), _I), np.zeros((0, 0), _F)))
        for op in ("TensorScatterUpdate", "TensorScatterAdd", "TensorScatterMax")
    ),
    Case(
        "DynamicStitch",
        (
            [np.array([0], _I), np.array([2], _I)],
            [np.array([b"b"], object), np.array([b"a"], object)],
        ),
    ),
    Case("Cast", (arr(3),), {"DstT": "complex64"}, float32_only=True),
    Case("UniqueWithCounts", (np.zeros(0, _I),), {"out_idx": "int32"}),
    Case("UniqueV2", (np.zeros((2, 0), _I), np.array([0], _I)), {"out_idx": "int32"}),
    # TensorFlow's own gradient refuses this one.
    Case("GatherNd", (arr(2, 3), np.zeros((2, 0), _I)), oracle=False),
    Case("GatherNd", (np.zeros((0, 0), _F), np.zeros((0, 0), _I))),
    Case("ResizeArea", (arr(1, 3, 1, 2), np.array([2, 4], _I)), {"align_corners": True}),
    Case(
        "ExtractImagePatches",
        (arr(2, 2, 5, 2),),
        {
            "ksizes": [1, 2, 3, 1],
            "strides": [1, 2, 1, 1],
            "rates": [1, 2, 1, 1],
            "padding": "VALID",
        },
        note="none_fits",
    ),
    Case("Cumprod", ((arr(2, 3) + 1j * arr(2, 3)).astype(np.complex64), _I(1)), note="complex"),
    Case("Cumsum", ((arr(2, 3) + 1j * arr(2, 3)).astype(np.complex64), _I(0)), note="complex"),
    # TensorFlow takes them too, but refuses them in the gradient
    Case("Transpose", (arr(2, 3, 4), np.array([-1, 0, -2], _I)), note="negative", oracle=False),
    Case("GatherNd", (_COMPLEX, np.array([[1], [0]], _I)), note="complex"),
    *(
        Case(op, (_COMPLEX, _COMPLEX * 2), note="complex", float32_only=True)
        for op in ("ReciprocalGrad", "InvGrad", "SqrtGrad", "RsqrtGrad", "TanhGrad", "SigmoidGrad")
    ),
    *(Case(op, (_COMPLEX,), note="complex") for op in ("Reciprocal", "Sqrt", "Rsqrt")),
    Case("Substr", (np.array([b"hello"], object), np.array([1], _I), np.array([-1], _I))),
    Case("Digamma", (np.array([0.0, -0.0, -1.0, 2.5], _F),), note="poles", grad=False),
    Case("ClipByValue", (arr(7), _F(0.5), _F(-0.5)), note="inverted", grad=False),
    Case("Lgamma", (np.array([-np.inf, np.inf, np.nan, 2.5], _F),), note="special", grad=False),
    *(
        Case(op, (_POLE, _MASKED), note="masked_pole", grad=False)
        for op in ("ReciprocalGrad", "InvGrad", "SqrtGrad", "RsqrtGrad")
    ),
)
