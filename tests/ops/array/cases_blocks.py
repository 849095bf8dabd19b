"""Cases of blocks moved between space, depth and batch, and of arithmetic on bits."""

from __future__ import annotations

import numpy as np
from cases import Case, arr, ints

_PADS = np.array([[0, 1], [2, 0]], np.int32)
_NONE = np.zeros((2, 2), np.int32)
_BLOCK = np.array([2, 3], np.int32)

_BLOCKS = [
    *(
        Case(op, (x,), {"block_size": 2, "data_format": f}, oracle=f == "NHWC")
        for op, x, f in (
            ("SpaceToDepth", arr(1, 4, 2, 3), "NHWC"),
            ("SpaceToDepth", arr(2, 3, 2, 4), "NCHW"),
            ("DepthToSpace", arr(1, 2, 3, 8), "NHWC"),
            ("DepthToSpace", arr(2, 8, 1, 2), "NCHW"),
        )
    ),
    Case("DepthToSpace", (ints(1, 1, 1, 9),), {"block_size": 3}),
    Case("SpaceToBatchND", (arr(2, 3, 4, 2), _BLOCK, _PADS)),
    Case("SpaceToBatchND", (arr(1, 6), np.array([3], np.int64), np.array([[0, 0]], np.int32))),
    Case("SpaceToBatchND", (ints(1, 4, 3), _BLOCK, _NONE)),
    Case("BatchToSpaceND", (arr(6, 2, 2, 2), _BLOCK, np.array([[0, 1], [2, 1]], np.int32))),
    Case("BatchToSpaceND", (arr(12, 2, 1), _BLOCK, _NONE)),
    Case("SpaceToBatch", (arr(1, 3, 4, 1), np.array([[1, 0], [0, 0]], np.int32)), {"block_size": 2}),
    Case("BatchToSpace", (arr(4, 2, 2, 1), np.array([[1, 0], [0, 1]], np.int32)), {"block_size": 2}),
]

_BITS = [
    *(
        Case(op, (x, y))
        for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")
        for x, y in (
            (ints(3, 4), ints(4)),
            (ints(5, lo=0, hi=255, dtype=np.uint8), ints(5, lo=0, hi=255, dtype=np.uint8)),
        )
    ),
    *(
        Case(op, (x, y))
        for op in ("LeftShift", "RightShift")
        for x, y in (
            (ints(6), np.array([0, 1, 2, 31, 3, 4], np.int32)),
            (np.array([-128, 127, 5, 77], np.int8), np.array([1, 7, 0, 2], np.int8)),
            (np.array([2**63, 3], np.uint64), np.array([63, 1], np.uint64)),
        )
    ),
    Case("Invert", (ints(5),)),
    Case("Invert", (ints(5, lo=0, hi=255, dtype=np.uint8),)),
    *(
        Case("PopulationCount", (x,))
        for x in (
            ints(6),
            np.array([-1, 2**62 + 5, -(2**63)], np.int64),
            np.array([-1, -128, 3], np.int8),
            np.array([65535, 4097], np.uint16),
        )
    ),
    *(
        Case("Bitcast", (x,), {"type": t})
        for x, t in (
            (arr(2, 3, dtype=np.float64), "int64"),
            (ints(2, 2), "uint8"),
            (ints(3, 4, lo=0, hi=255, dtype=np.uint8), "int32"),
            (ints(3, 2), "float64"),
            (np.array([1.5 + 2j], np.complex64), "float32"),
        )
    ),
]

CASES: tuple[Case, ...] = (*_BLOCKS, *_BITS)
