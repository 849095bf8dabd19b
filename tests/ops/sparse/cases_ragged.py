"""Cases of ragged rows and buckets; test_ragged.py has their values of TensorFlow 1.15.5."""

from __future__ import annotations

import numpy as np
from cases import Case, arr

_SPLITS = np.array([0, 2, 2, 5], np.int64)
_ONLY = {"grad": False, "oracle": False, "device": False}

CASES = [
    Case(
        "RaggedRange",
        tuple(np.array(v, np.int32) for v in ([0, 5, 8], [3, 5, 2], [1, 1, -2])),
        {"Tsplits": "int64"},
        **_ONLY,
    ),
    Case("RaggedTensorToSparse", ([_SPLITS], arr(5)), **_ONLY),
    Case("RaggedGather", ([_SPLITS], arr(5), np.array([2, 0, 1, 2], np.int64)), {"OUTPUT_RAGGED_RANK": 1}, **_ONLY),
    Case(
        "BoostedTreesBucketize",
        ([arr(5), arr(5)], [np.array([-1.0, 0.0, 1.0], np.float32), np.array([0.5], np.float32)]),
        float32_only=True,
        **_ONLY,
    ),
]
