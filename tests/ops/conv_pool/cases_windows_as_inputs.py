"""Cases of pooling whose windows are inputs, and of convolutions of resized and mirrored images."""

from __future__ import annotations

import numpy as np
from cases import Case, arr

from tfnb.ops.conv_pool.conv_reference import max_pool_host

_I = np.int32
_K, _S = np.array([1, 2, 3, 1], _I), np.array([1, 2, 1, 1], _I)
_MARGINS = np.array([[0, 0], [1, 2], [2, 1], [0, 0]], _I)
_X = arr(2, 5, 4, 3)
_Y = max_pool_host(_X, (1, 2, 3, 1), (1, 2, 1, 1), "SAME")

CASES = [
    *(Case("MaxPoolV2", (arr(2, 5, 4, 3), _K, _S), {"padding": p}) for p in ("SAME", "VALID")),
    Case("MaxPoolV2", (arr(0, 5, 4, 1), _K, _S), {"padding": "VALID"}, oracle=False),
    Case("MaxPoolGradV2", (_X, _Y, arr(2, 3, 4, 3), _K, _S), {"padding": "SAME"}, grad=False),
    Case("MaxPoolGradGradV2", (_X, _Y, arr(2, 5, 4, 3), _K, _S), {"padding": "SAME"}, grad=False),
    *(
        Case(
            "FusedPadConv2D",
            (arr(n, 4, 5, 2), _MARGINS, arr(3, 2, 2, 3)),
            {"mode": m, "strides": (1, 2, 1, 1), "padding": p},
            oracle=n == 1,  # TensorFlow's kernel takes margins of later images from the first one
        )
        for m, p, n in (("REFLECT", "VALID", 1), ("SYMMETRIC", "SAME", 1), ("REFLECT", "SAME", 2))
    ),
    *(
        Case(
            "FusedResizeAndPadConv2D",
            (arr(1, 4, 5, 2), np.array([6, 7], _I), _MARGINS, arr(3, 2, 2, 3)),
            {"mode": "REFLECT", "strides": (1, 1, 1, 1), "padding": "VALID", "resize_align_corners": corners},
            float32_only=True,
        )
        for corners in (False, True)
    ),
    *(
        Case(
            "_FusedMatMul",
            (arr(3, 2), arr(2, 4) if not b else arr(4, 2), [arr(4)]),
            {"fused_ops": ("BiasAdd", *f), "transpose_b": b},
            oracle=False,  # no function of TensorFlow makes such a node
            grad=False,
        )
        for f, b in (((), True), (("Relu",), False), (("Elu",), False))
    ),
    *(
        Case(
            "_FusedConv2D",
            (arr(2, 5, 5, 2), arr(3, 3, 2, 3), [arr(3, lo=0.5, hi=2) for _ in range(n)]),
            {"fused_ops": f, "padding": p, "strides": (1, 2, 2, 1)},
            oracle=False,
            grad=False,
        )
        for f, n, p in (
            (("BiasAdd", "Relu6"), 1, "SAME"),
            (("FusedBatchNorm",), 4, "VALID"),
            (("FusedBatchNorm", "Relu"), 4, "SAME"),
        )
    ),
]
