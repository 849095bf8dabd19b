"""Exercises of 12_convolutions: shapes before a run, a convolution out of slices, how far an element sees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfnb.lessons.case import Case
from tfnb.lessons.graph_function import Built, GraphFunction
from tfnb.lessons.plain_function import PlainFunction

__all__ = ["EXERCISES"]

_PADDED = [("conv", 5, 1, "SAME", 8), ("pool", 2, 2, "SAME"), ("conv", 5, 1, "SAME", 16), ("pool", 2, 2, "SAME")]
_UNPADDED = [("conv", 7, 2, "VALID", 12), ("pool", 3, 2, "VALID"), ("conv", 3, 1, "VALID", 20)]
_MIXED = [("conv", 3, 2, "SAME", 4), ("conv", 4, 3, "VALID", 6), ("pool", 3, 2, "SAME")]
_NETWORKS: list[tuple[object, ...]] = [([28, 28, 1], _PADDED), ([64, 48, 3], _UNPADDED), ([33, 50, 2], _MIXED)]


def _shapes(image: Sequence[int], layers: Sequence[tuple[str, int, int, str, int]]) -> list[list[int]]:
    height, width, channels = image
    shapes = []
    for kind, side, stride, padding, *filters in layers:
        less = 0 if padding == "SAME" else side - 1
        height, width = -(-(height - less) // stride), -(-(width - less) // stride)
        channels = filters[0] if kind == "conv" else channels
        shapes.append([height, width, channels])
    return shapes


_PREDICT = (
    "Look at one layer at a time: on how many places of a row can its filter begin?",
    "Without padding its side less one places are lost; of those that are left, every stride-th is used.",
    "For each side: its length, less the filter's side less one if it is VALID, divided by the stride and rounded up.",
)


def _convolution(images: np.ndarray, filters: np.ndarray) -> np.ndarray:
    height, width = filters.shape[:2]
    n, rows, columns, _ = images.shape
    around = [(0, 0), (height // 2, height // 2), (width // 2, width // 2), (0, 0)]
    padded = np.pad(images.astype(np.float64), around)
    total = np.zeros((n, rows, columns, filters.shape[3]))
    for r in range(height):
        for c in range(width):
            total += padded[:, r : r + rows, c : c + columns] @ filters[r, c]
    return total.astype(np.float32)


def _without_convolution(built: Built) -> str:
    types = {op.type for op in built.operations if op.type.startswith(("Conv", "DepthwiseConv", "Dilation"))}
    return f"{', '.join(sorted(types))} computes it; slices, products and sums are asked for" if types else ""


def _pictures(n: int, rows: int, columns: int, filters: tuple[int, ...], seed: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    shapes = [(n, rows, columns, filters[2]), filters]
    return tuple(rng.normal(size=shape).astype(np.float32) for shape in shapes)


_SLICES = (
    "Look at `convolve` above: it loses a border. What must be around the image so that nothing is lost?",
    "Put zeros around the rows and columns first, half of the filter at each side; the sizes come from tf.shape.",
    "tf.pad the images by half of the filter's sides, rounded down; then each slice is as large as the images were.",
)


def _side(layers: Sequence[tuple[int, int]]) -> int:
    side, apart = 1, 1
    for filter_side, stride in layers:
        side += (filter_side - 1) * apart
        apart *= stride
    return side


_LAYERS: list[tuple[object, ...]] = [
    ([(5, 1), (2, 2), (5, 1), (2, 2)],),
    ([(3, 1), (3, 1)],),
    ([(7, 2), (3, 2), (3, 1), (3, 1), (1, 1)],),
    ([],),
]
_FAR = (
    "Look at two convolutions of 3 by 3: an element of the second one sees 3 elements in a row, each of which sees 3.",
    "Neighbours in a later layer are further apart in the image: by the product of the strides before them.",
    "Begin with 1. Each layer adds its filter's side less one, times the product of all strides before it.",
)

EXERCISES: tuple[tuple[str, tuple[Case, ...]], ...] = (
    (
        "the shapes of a network",
        (
            Case(
                "three networks",
                PlainFunction(_NETWORKS, _shapes),
                _PREDICT,
                points=2,
                success_message="tfnb does the same for each node when a graph is built.",
            ),
        ),
    ),
    (
        "a convolution as large as the picture",
        (
            Case(
                "filters of 3 by 3",
                GraphFunction(
                    [_pictures(2, 6, 5, (3, 3, 2, 4), 1), _pictures(3, 4, 9, (3, 3, 2, 4), 2)],
                    _convolution,
                    _without_convolution,
                    atol=1e-4,
                ),
                _SLICES,
                points=2,
                success_message="Its gradient follows from those of the slices and sums, without another line.",
            ),
            Case(
                "filters of 5 by 1",
                GraphFunction([_pictures(1, 8, 7, (5, 1, 1, 3), 3)], _convolution, _without_convolution, atol=1e-4),
                _SLICES,
                hidden=True,
            ),
        ),
    ),
    (
        "how far an element sees",
        (
            Case(
                "the network above, and others",
                PlainFunction(_LAYERS, _side),
                _FAR,
                points=2,
                success_message="So strides and pooling widen the view of later layers more than larger filters do.",
            ),
        ),
    ),
)
