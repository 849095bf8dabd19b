"""Cases of ops that later versions of TensorFlow 1.x write in place of older ones."""

from __future__ import annotations

import numpy as np
from cases import Case, arr, ints

_FLAGS = ints(3, 1, lo=0, hi=2).astype(np.bool_)

CASES: tuple[Case, ...] = (
    Case("AddV2", (arr(3, 4), arr(4))),
    Case("SelectV2", (_FLAGS, arr(3, 4), arr(4))),
    Case("SelectV2", (np.True_, arr(2, 3), np.float32(2.0))),
    Case("ShapeN", ([arr(3, 4), arr(2)],), {"out_type": "int64"}),
    Case("BroadcastArgs", (np.array([3, 1], np.int32), np.array([2, 1, 4], np.int32))),
    Case("BatchMatMulV2", (arr(2, 1, 3, 4), arr(5, 4, 2))),
    Case("BatchMatMulV2", (arr(2, 4, 3), arr(2, 2, 4)), {"adj_x": True, "adj_y": True}),
)
