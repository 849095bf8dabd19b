"""Cases of later forms of non-maximum suppression, and of boxes in given colours."""

from __future__ import annotations

import numpy as np
from cases import Case, arr

_F, _I = np.float32, np.int32


def boxes(*shape: int) -> np.ndarray:
    corner = arr(*shape, 2, lo=0, hi=0.6)
    return np.concatenate([corner, corner + arr(*shape, 2, lo=0.2, hi=0.6)], -1)


_BOXES, _SCORES = boxes(12), arr(12, lo=0, hi=1)
_SIZE, _OVER, _LOW = np.array(6, _I), np.array(0.3, _F), np.array(0.1, _F)
_MANY, _CLASSES = boxes(2, 8, 3), arr(2, 8, 3, lo=0, hi=1)
_MATRIX = arr(9, 9, lo=0, hi=1)
_EMPTY = np.zeros((0, 4), _F), np.zeros(0, _F)

CASES = [
    *(
        Case(
            "NonMaxSuppressionV4",
            (_BOXES, _SCORES, _SIZE, _OVER, _LOW),
            {"pad_to_max_output_size": pad},
            float32_only=True,
        )
        for pad in (False, True)
    ),
    Case("NonMaxSuppressionV4", (*_EMPTY, _SIZE, _OVER, _LOW), {"pad_to_max_output_size": True}, float32_only=True),
    *(
        Case(
            "NonMaxSuppressionV5",
            (_BOXES, _SCORES, _SIZE, np.array(over, _F), _LOW, np.array(sigma, _F)),
            {"pad_to_max_output_size": pad},
            note=f"{sigma}",
            float32_only=True,
        )
        for over, sigma, pad in ((0.3, 0.0, False), (1.0, 0.5, False), (0.4, 0.3, True))
    ),
    Case(
        "NonMaxSuppressionWithOverlaps",
        (_MATRIX, arr(9), _SIZE, np.array(0.7, _F), np.array(-1, _F)),
        float32_only=True,
    ),
    *(
        Case(
            "CombinedNonMaxSuppression",
            (_MANY[:, :, :q], _CLASSES, np.array(2, _I), np.array(total, _I), _OVER, _LOW),
            {"pad_per_class": pad, "clip_boxes": clip},
            float32_only=True,
        )
        for q, total, pad, clip in ((3, 5, False, True), (1, 9, True, False))
    ),
    Case("DrawBoundingBoxesV2", (arr(2, 6, 7, 3, lo=0, hi=1), boxes(2, 3), arr(2, 3, lo=0, hi=1)), float32_only=True),
    Case("DrawBoundingBoxesV2", (arr(1, 6, 7, 1, lo=0, hi=1), boxes(1, 2), np.zeros((0, 1), _F)), float32_only=True),
    # the encoders are different libraries
    Case("EncodeJpegVariableQuality", (np.full((8, 8, 3), 100, np.uint8), np.array(50, _I)), oracle=False),
]
