"""Cases of images: resizing, windows, colours, boxes."""

from __future__ import annotations

import itertools

import numpy as np
from cases import Case, arr, ints

_CORNERS = ({}, {"align_corners": True}, {"half_pixel_centers": True})
_BYTES = ints(2, 4, 5, 3, lo=0, hi=256, dtype=np.uint8)
# up, down, both, one pixel; few, since each is a kernel of its own
_SIZES = ((7, 3), (2, 9), (1, 1))


def size(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int32)


# what ResizeTaps makes: first pixel, how many, their weights
_ROWS = np.array([[0, 2, 0.5, 0.25], [3, 1, 1, 0], [0, 0, 0, 0], [2, 1, 2, 0]], np.float32)
_COLUMNS = np.array([[4, 1, 1, 0, 0], [1, 3, 0.5, -1, 0.25], [0, 2, 1, 2, 0]], np.float32)

_RESIZE = [
    *(
        Case(op, (arr(2, 4, 5, 2), size(*to)), attrs, float32_only=op.startswith("ResizeBi"))
        for op in ("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic")
        for to, attrs in itertools.product(_SIZES, _CORNERS)
        if to != (1, 1) or not attrs
    ),
    *(
        Case("ResizeArea", (arr(2, 4, 5, 2), size(*to)), attrs)
        for to, attrs in itertools.product(_SIZES, _CORNERS[:2])
        if to != (1, 1) or not attrs
    ),
    *(
        Case(op, (_BYTES, size(6, 4)), rtol=1e-4)
        for op in ("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea")
    ),
    Case("ResizeNearestNeighbor", (arr(1, 2, 3, 1), size(4, 9))),
    *(
        # TensorFlow takes their gradients for zero; their values are compared as gradients of the resizing
        Case(op, (arr(2, *to, 2), arr(2, 4, 5, 2)), attrs, float32_only=True, oracle=False)
        for op in ("ResizeBilinearGrad", "ResizeBicubicGrad")
        for to, attrs in zip(_SIZES, _CORNERS, strict=True)
    ),
    *(
        Case("ResizeNearestNeighborGrad", (arr(2, *to, 2), size(4, 5)), attrs)
        for to, attrs in zip(_SIZES, _CORNERS, strict=True)
    ),
    *(
        Case("ResizeTaps", (size(3, 4),), {"dtype": "float32", "method": m, "back": b}, oracle=False)
        for m, b in (("bilinear", False), ("nearest", True), ("bicubic", True), ("area", False))
    ),
    *(Case("ResizeLines", (arr(1, 4, 5, c), _ROWS, _COLUMNS), oracle=False) for c in (1, 3, 6, 17)),
    *(
        Case("ResizeAreaGrad", (arr(2, *to, 2), arr(2, 4, 5, 2)), oracle=False, float32_only=True)
        for to in ((3, 7), (9, 2))
    ),
]

_COLOURS = [
    *(Case(op, (arr(3, 4, 3, lo=0, hi=1),)) for op in ("RGBToHSV", "HSVToRGB")),
    # ties between channels, grey, black
    Case("RGBToHSV", (ints(8, 3, lo=0, hi=2).astype(np.float32),), note="ties", grad=False),
    Case("HSVToRGB", (ints(8, 3, lo=0, hi=7).astype(np.float32) / 6,), note="sixths"),
    *(Case("AdjustHue", (arr(2, 4, 3, lo=0, hi=1), np.float32(d)), float32_only=True) for d in (-0.3, 0.6)),
    *(Case("AdjustSaturation", (arr(2, 4, 3, lo=0, hi=1), np.float32(d)), float32_only=True) for d in (0.4, 3)),
    Case("AdjustContrastv2", (arr(2, 3, 4, 2), np.float32(1.7)), float32_only=True),
]

_BOXES = np.array([[0.1, 0.2, 0.7, 0.9], [0.8, 0, 0.1, 1], [-0.3, 0.5, 0.4, 1.2], [0, 0, 1, 1]], np.float32)
_OF = np.array([1, 0, 1, 0], np.int32)


def _grid(k: tuple[int, int], s: tuple[int, int], r: tuple[int, int], padding: str) -> dict:
    wrapped = {n: [1, *v, 1] for n, v in (("ksizes", k), ("strides", s), ("rates", r))}
    return {**wrapped, "padding": padding}


_WINDOWS = [
    *(
        Case("ExtractImagePatches", (arr(2, 5, 6, 2),), _grid((2, 3), (2, 1), r, p))
        for r in ((1, 1), (2, 1))
        for p in ("SAME", "VALID")
    ),
    Case("ExtractImagePatches", (ints(1, 3, 3, 1),), _grid((1, 1), (3, 2), (1, 1), "VALID")),
    *(
        Case(
            "CropAndResize",
            (arr(2, 5, 6, 2), _BOXES, _OF, size(*to)),
            {"method": m, "extrapolation_value": 0.5},
            float32_only=True,
            atol=1e-5,
        )
        for to, m in (((3, 4), "bilinear"), ((1, 2), "bilinear"), ((3, 4), "nearest"))
    ),
    *(
        Case(
            "CropAndResizeGradImage",
            (arr(4, 3, 2, 2), _BOXES, _OF, size(2, 5, 6, 2)),
            {"T": "float32", "method": m},
            float32_only=True,
        )
        for m in ("bilinear", "nearest")
    ),
    *(
        Case(
            "CropAndResizeGradBoxes",
            (arr(4, *to, 2), arr(2, 5, 6, 2), _BOXES, _OF),
            float32_only=True,
            atol=1e-4,
        )
        for to in ((3, 2), (1, 4))
    ),
]

_SCORES = np.array([0.5, 0.9, 0.5, 0.2, 0.7], np.float32)
_NEAR = np.array([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [1, 0, 0, -0.1], [0, 10, 1, 11], [0, 10.1, 1, 11]], np.float32)
_DRAWN = [
    *(Case("DrawBoundingBoxes", (arr(2, 9, 8, c), _BOXES.reshape(2, 2, 4)), float32_only=True) for c in (1, 3, 4)),
    *(
        Case(
            "NonMaxSuppression",
            (_NEAR, _SCORES, np.int32(n)),
            {"iou_threshold": t},
            float32_only=True,
        )
        for n, t in ((3, 0.5), (9, 0.01), (0, 1.0))
    ),
    Case("NonMaxSuppressionV2", (_NEAR, _SCORES, np.int32(4), np.float32(0.3)), float32_only=True),
    Case(
        "NonMaxSuppressionV3",
        (_NEAR, _SCORES, np.int32(4), np.float32(1), np.float32(0.4)),
        float32_only=True,
    ),
]

CASES = [*_RESIZE, *_COLOURS, *_WINDOWS, *_DRAWN]
