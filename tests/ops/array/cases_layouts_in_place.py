"""Cases of seldom used ops that move, copy or update elements."""

from __future__ import annotations

import numpy as np
from cases import Case, arr, ints

_I = np.int32
_MARGINS = np.array([[1, 2], [0, 1]], _I)
_LAYOUT = {"src_format": "NDHWC", "dst_format": "NCDHW"}

CASES = [
    Case("DataFormatDimMap", (np.array([[0, 1], [-1, 3], [2, -4]], _I),)),
    Case("DataFormatDimMap", (_I(3),), {"src_format": "NCHW", "dst_format": "NHWC"}),
    Case("DataFormatDimMap", (np.array([4, 1, -2], np.int64),), _LAYOUT),
    Case("DataFormatDimMap", (ints(0, 3, lo=0, hi=3),)),
    Case("DataFormatVecPermute", (np.array([7, 4, 9, 3], _I),)),
    Case("DataFormatVecPermute", (np.array([[7, 4], [9, 3], [4, 5], [5, 1]], np.int64),)),
    Case("DataFormatVecPermute", (np.array([[7, 4], [9, 3]], _I),), {"src_format": "NCHW", "dst_format": "NHWC"}),
    *(Case(f"Inplace{kind}", (arr(4, 3), np.array([3, 0], _I), arr(2, 3))) for kind in ("Add", "Sub", "Update")),
    Case("InplaceAdd", (arr(5, 1, 2), np.array([2], _I), arr(1, 1, 2)), note="one"),
    Case("InplaceSub", (arr(3, 0), np.array([1], _I), arr(1, 0)), note="empty"),
    *(Case("MirrorPadGrad", (arr(6, 5), _MARGINS), {"mode": mode}) for mode in ("REFLECT", "SYMMETRIC")),
    Case("MirrorPadGrad", (arr(3, 1, 5), np.array([[0, 0], [0, 0], [2, 0]], np.int64)), {"mode": "REFLECT"}),
    Case("MirrorPadGrad", (arr(0, 4), np.array([[0, 0], [1, 1]], _I)), {"mode": "SYMMETRIC"}, oracle=False),
    Case("TileGrad", (arr(6, 4), np.array([3, 2], _I)), oracle=False),  # TensorFlow's new graphs refuse it
    Case("TileGrad", (arr(5, 0), np.array([1, 2], _I)), oracle=False),
    Case("DebugGradientIdentity", (arr(3, 2),), oracle=False),  # TensorFlow's needs a debugger
]
