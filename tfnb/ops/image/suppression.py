"""Later forms of non-maximum suppression, boxes in given colours, and JPEG files of a quality that a step knows.

Invariant: the best score comes first, and of equal scores the box that comes first. All run on the host.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import GRADIENT_MISSING, NOT_DIFFERENTIABLE, HostCall, Infer, NoAttrs, OpDef
from tfnb.ir.record import record
from tfnb.ir.shapes import with_rank
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.image.boxes import DRAW_BOUNDING_BOXES, draw_boxes, overlaps_of
from tfnb.ops.image.codecs import DECODE_JPEG, ENCODE_JPEG, EncodeJpegAttrs
from tfnb.ops.image.color import convert_image_dtype
from tfnb.ops.math.compare import EQUAL
from tfnb.ops.random.functions import random_uniform
from tfnb.ops.strings.join_split import SUBSTR
from tfnb.types import Shape, as_dtype, float16, float32, int32, scalar, uint8

__all__ = ["API", "OPS"]

_FLOATS = (float32, float16)


@record
class PadAttrs:
    """`pad_to_max_output_size`: the outputs have the largest size that is allowed, filled up with zeros."""

    pad_to_max_output_size: bool = False


def _checked(call: HostCall, shapes: bool, count: np.ndarray, threshold: float) -> int:
    limit = int(count.reshape(()))
    if not shapes:
        raise InvalidArgumentError(f"{call.op.type}: the shapes of boxes and scores do not match", call.op)
    if not 0 <= threshold <= 1:
        raise InvalidArgumentError(f"{call.op.type}: the threshold must be in [0, 1], got {threshold}", call.op)
    if limit < 0:
        raise InvalidArgumentError(f"{call.op.type}: max_output_size must be >= 0, got {limit}", call.op)
    return limit


def _selected(
    scores: np.ndarray,
    limit: int,
    overlaps: Callable[[int, np.ndarray], np.ndarray],
    threshold: float,
    lowest: float,
    sigma: float = 0.0,
    suppresses: Callable[[Any, float], Any] = operator.ge,
) -> tuple[list[int], list[float]]:
    """The selected boxes and their scores; with `sigma` overlaps lower the scores of others by a Gaussian.

    `suppresses(overlap, threshold)` says whether a box is dropped.
    """
    f = np.float32
    scale = f(-0.5 / sigma) if sigma > 0 else f(0)
    queue = [(-float(v), i, 0) for i, v in enumerate(scores) if v > lowest]
    heapify(queue)
    chosen: list[int] = []
    values: list[float] = []
    while queue and len(chosen) < limit:
        negative, i, seen = heappop(queue)
        score = f(-negative)
        suppressed = False
        newer = np.array(chosen[seen:][::-1], np.int64)
        for overlap in overlaps(i, newer) if newer.size else ():
            if suppresses(overlap, threshold):
                suppressed = True
                break
            score *= np.exp(scale * overlap * overlap)
            if score <= lowest:
                break
        if suppressed:
            continue
        if score == f(-negative):
            chosen.append(i)
            values.append(float(score))
        elif score > lowest:
            heappush(queue, (-float(score), i, len(chosen)))
    return chosen, values


def _by_boxes(boxes: np.ndarray) -> Callable[[int, np.ndarray], np.ndarray]:
    edges = boxes.astype(np.float32)
    return lambda i, others: overlaps_of(edges[i], edges[others])


def _padded(values: ArrayLike, size: int | None, dtype: DTypeLike) -> np.ndarray:
    array = np.asarray(values, dtype)
    return array if size is None else np.pad(array, (0, max(0, size - array.size)))


def _host_v5(
    call: HostCall, boxes: np.ndarray, scores: np.ndarray, *rest: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    count, threshold, lowest, sigma = rest
    fits = boxes.ndim == 2 and boxes.shape[1] == 4 and scores.shape == boxes.shape[:1]
    limit = _checked(call, fits, count, float(threshold))
    found, values = _selected(scores, limit, _by_boxes(boxes), float(threshold), float(lowest), float(sigma))
    size = limit if call.attrs.pad_to_max_output_size else None
    return _padded(found, size, np.int32), _padded(values, size, scores.dtype), np.asarray(len(found), np.int32)


def _host_v4(call: HostCall, boxes: np.ndarray, scores: np.ndarray, *rest: np.ndarray) -> Any:
    indices, _, valid = _host_v5(call, boxes, scores, *rest, np.float32(0))
    return indices, valid


def _one_size(c: Infer) -> Shape:
    count = c.value(2)
    padded = c.attrs.pad_to_max_output_size and count is not None
    return Shape((int(count) if padded else None,))


def _infer_v4(c: Infer) -> tuple[Shape, Shape]:
    with_rank(c, 0, 2)
    with_rank(c, 1, 1)
    return _one_size(c), scalar


_DOC = """Selects boxes with high scores from the best down, suppresses those that overlap them, and counts them.

    boxes: (m, 4), corners in any order. scores: (m,). max_output_size: a scalar. iou_threshold: boxes overlap by less.
    score_threshold: scores must be above it. selected_indices: best first, filled up with zeros with
    `pad_to_max_output_size`. valid_outputs: how many are selected.{more} Errors: the shapes do not match, or the
    threshold is outside [0, 1]. Runs on the host."""

NON_MAX_SUPPRESSION_V4: OpDef[tuple[Tensor, Tensor]] = OpDef(
    "NonMaxSuppressionV4",
    "boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold, score_threshold: T_threshold",
    "selected_indices: int32, valid_outputs: int32",
    _DOC.format(more=""),
    types={"T": _FLOATS, "T_threshold": _FLOATS},
    defaults={"T": float32, "T_threshold": float32},
    attrs=PadAttrs,
    infer=_infer_v4,
    host=_host_v4,
    grad=NOT_DIFFERENTIABLE,
    dynamic=True,
)
NON_MAX_SUPPRESSION_V5: OpDef[tuple[Tensor, Tensor, Tensor]] = OpDef(
    "NonMaxSuppressionV5",
    "boxes: T, scores: T, max_output_size: int32, iou_threshold: T, score_threshold: T, soft_nms_sigma: T",
    "selected_indices: int32, selected_scores: T, valid_outputs: int32",
    _DOC.format(
        more=" With soft_nms_sigma > 0 an overlap does not suppress but lowers\n    a score, to selected_scores, by "
        "the factor exp(-overlap^2 / (2 sigma))."
    ),
    types={"T": _FLOATS},
    defaults={"T": float32},
    attrs=PadAttrs,
    infer=lambda c: (_infer_v4(c)[0], _infer_v4(c)[0], scalar),
    host=_host_v5,
    grad=GRADIENT_MISSING,
    dynamic=True,
)


def _host_overlaps(call: HostCall, overlaps: np.ndarray, scores: np.ndarray, *rest: np.ndarray) -> np.ndarray:
    count, threshold, lowest = rest
    n = scores.size
    limit = int(count.reshape(()))
    if overlaps.shape != (n, n) or limit < 0:
        raise InvalidArgumentError(
            f"NonMaxSuppressionWithOverlaps: needed overlaps ({n}, {n}) and a size >= 0, got {overlaps.shape}, {limit}",
            call.op,
        )
    found, _ = _selected(scores, limit, lambda i, others: overlaps[i, others], float(threshold), float(lowest))
    return np.array(found, np.int32)


def _infer_overlaps(c: Infer) -> Shape:
    with_rank(c, 0, 2)
    with_rank(c, 1, 1)
    return Shape((None,))


NON_MAX_SUPPRESSION_WITH_OVERLAPS: OpDef[Tensor] = OpDef(
    "NonMaxSuppressionWithOverlaps",
    "overlaps: float32, scores: float32, max_output_size: int32, overlap_threshold: float32, score_threshold: float32",
    "selected_indices: int32",
    """Selects boxes with high scores from the best down, and suppresses those whose given overlap is too large.

    overlaps: (m, m). scores: (m,). max_output_size: a scalar. overlap_threshold: overlaps are less. score_threshold:
    scores must be above it. selected_indices: best first. Errors: the shapes do not match. Runs on the host.""",
    infer=_infer_overlaps,
    host=_host_overlaps,
    grad=NOT_DIFFERENTIABLE,
    dynamic=True,
)


@record
class CombinedAttrs:
    """`pad_per_class`: at most max_output_size_per_class times the classes come out; `clip_boxes`: boxes are cut off at
    0 and 1."""

    pad_per_class: bool = False
    clip_boxes: bool = True


def _combined_size(attrs: CombinedAttrs, classes: Any, per_class: Any, total: np.ndarray | None) -> Any:
    if total is None or (attrs.pad_per_class and (classes is None or per_class is None)):
        return None
    return min(int(total), int(per_class) * classes) if attrs.pad_per_class else int(total)


def _infer_combined(c: Infer) -> tuple[Shape, ...]:
    boxes, scores = with_rank(c, 0, 4), with_rank(c, 1, 3)
    batch = (boxes.sizes or (None,))[0]
    classes = scores.sizes[2] if scores.sizes else None
    k = _combined_size(c.attrs, classes, c.value(2), c.value(3))
    return Shape((batch, k, 4)), Shape((batch, k)), Shape((batch, k)), Shape((batch,))


def _host_combined(call: HostCall, boxes: np.ndarray, scores: np.ndarray, *rest: np.ndarray) -> Any:
    per_class, total, threshold, lowest = (x.item() for x in rest)
    batch, n, q, sides = boxes.shape
    classes = scores.shape[-1]
    if scores.shape[:2] != (batch, n) or q not in (1, classes) or sides != 4 or per_class < 1 or total < 1:
        raise InvalidArgumentError(
            f"CombinedNonMaxSuppression: boxes {boxes.shape}, scores {scores.shape} and sizes {per_class}, {total} do "
            "not fit; needed: (batch, m, q, 4) with q 1 or the number of classes, (batch, m, classes), sizes above 0",
            call.op,
        )
    _checked(call, True, rest[1], threshold)
    k = _combined_size(call.attrs, classes, per_class, total)
    out = [np.zeros((batch, k, 4), np.float32), *(np.zeros((batch, k), np.float32) for _ in range(2))]
    valid = np.zeros(batch, np.int32)
    for b in range(batch):
        rows: list[tuple[float, int, int]] = []
        for c in range(classes):
            own = boxes[b, :, c if q > 1 else 0]
            found, values = _selected(scores[b, :, c], per_class, _by_boxes(own), threshold, lowest, 0.0, operator.gt)
            rows += [(v, c, i) for v, i in zip(values, found, strict=True)]
        rows = sorted(rows, key=lambda r: -r[0])[:k]
        valid[b] = len(rows)
        for at, (value, c, i) in enumerate(rows):
            out[0][b, at] = boxes[b, i, c if q > 1 else 0]
            out[1][b, at], out[2][b, at] = value, c
    if call.attrs.clip_boxes:
        out[0] = np.clip(out[0], 0, 1)
    return *out, valid


COMBINED_NON_MAX_SUPPRESSION: OpDef[tuple[Tensor, Tensor, Tensor, Tensor]] = OpDef(
    "CombinedNonMaxSuppression",
    "boxes: float32, scores: float32, max_output_size_per_class: int32, max_total_size: int32,"
    " iou_threshold: float32, score_threshold: float32",
    "nmsed_boxes: float32, nmsed_scores: float32, nmsed_classes: float32, valid_detections: int32",
    """Suppresses overlapping boxes for each class of each image, and keeps those with the best scores.

    boxes: (batch, m, q, 4), q the number of classes or 1. scores: (batch, m, classes). The sizes and thresholds are
    scalars, the sizes above 0. nmsed_boxes: (batch, k, 4); nmsed_scores, nmsed_classes: (batch, k), filled up with
    zeros, with k = max_total_size, or less with `pad_per_class`. valid_detections: (batch,). Errors: the shapes do not
    match. Runs on the host.""",
    attrs=CombinedAttrs,
    infer=_infer_combined,
    host=_host_combined,
    grad=GRADIENT_MISSING,
    shape_inputs=(2, 3),
)


def _host_draw(call: HostCall, images: np.ndarray, boxes: np.ndarray, colors: np.ndarray) -> np.ndarray:
    if colors.ndim != 2 or (colors.size and colors.shape[1] < images.shape[3]):
        raise InvalidArgumentError(
            f"DrawBoundingBoxesV2: colors must be (n, {images.shape[3]}), got {colors.shape}", call.op
        )
    return draw_boxes(call, images, boxes, colors if colors.size else None)


DRAW_BOUNDING_BOXES_V2: OpDef[Tensor] = replace(
    DRAW_BOUNDING_BOXES,
    name="DrawBoundingBoxesV2",
    api="",
    inputs="images: T, boxes: float32, colors: float32",
    doc="""Draws the outlines of boxes on images, in the given colours in turn.

    images: float16 or float32, (n, height, width, channels) with 1, 3 or 4 channels. boxes: (n, boxes, 4). colors:
    (count, channels); ten colours of its own if the count is 0. output: dtype and shape of images. Host only.""",
    host=_host_draw,
    grad=GRADIENT_MISSING,
)


def _host_quality(call: HostCall, images: np.ndarray, quality: np.ndarray) -> np.ndarray:
    value = int(quality.reshape(()))
    if not 0 <= value <= 100:
        raise InvalidArgumentError(f"EncodeJpegVariableQuality: quality must be in [0, 100], got {value}", call.op)
    assert ENCODE_JPEG.host is not None
    encoded: np.ndarray = ENCODE_JPEG.host(replace(call, attrs=EncodeJpegAttrs(quality=value)), images)
    return encoded


ENCODE_JPEG_VARIABLE_QUALITY: OpDef[Tensor] = replace(
    ENCODE_JPEG,
    name="EncodeJpegVariableQuality",
    api="",
    inputs="images: uint8, quality: int32",
    doc="""Encodes an image as a JPEG file of a quality from 0 to 100.

    images: (height, width, channels) with 1 or 3 channels. quality: a scalar. contents: one string. Errors: another
    number of channels, no pixels, a side over 65500, or another quality. Runs on the host.""",
    attrs=NoAttrs,
    host=_host_quality,
)
OPS: tuple[OpDef, ...] = (
    NON_MAX_SUPPRESSION_V4,
    NON_MAX_SUPPRESSION_V5,
    NON_MAX_SUPPRESSION_WITH_OVERLAPS,
    COMBINED_NON_MAX_SUPPRESSION,
    DRAW_BOUNDING_BOXES_V2,
    ENCODE_JPEG_VARIABLE_QUALITY,
)


def non_max_suppression_padded(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: float = 0.5,
    score_threshold: float = float("-inf"),
    pad_to_max_output_size: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Returns the indices of the selected boxes and their number: see the op NonMaxSuppressionV4."""
    x = graph_of((boxes, scores)).to_tensor(boxes)
    limits = (np.float32(iou_threshold), np.float32(score_threshold))
    pad = {"pad_to_max_output_size": pad_to_max_output_size}
    return NON_MAX_SUPPRESSION_V4(x, scores, max_output_size, *limits, name=name, **pad)


def non_max_suppression_with_scores(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: float = 0.5,
    score_threshold: float = float("-inf"),
    soft_nms_sigma: float = 0.0,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Returns the indices and the scores of at most `max_output_size` boxes: see the op NonMaxSuppressionV5."""
    x = graph_of((boxes, scores)).to_tensor(boxes)
    limits = (np.asarray(v, x.dtype.np) for v in (iou_threshold, score_threshold, soft_nms_sigma))
    indices, values, _ = NON_MAX_SUPPRESSION_V5(x, scores, max_output_size, *limits, name=name)
    return indices, values


def non_max_suppression_overlaps(
    overlaps: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    overlap_threshold: float = 0.5,
    score_threshold: float = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """Returns the indices of at most `max_output_size` boxes, of `scores` and known overlaps, the best first.

    See the op NonMaxSuppressionWithOverlaps.
    """
    limits = (np.float32(overlap_threshold), np.float32(score_threshold))
    return NON_MAX_SUPPRESSION_WITH_OVERLAPS(overlaps, scores, max_output_size, *limits, name=name)


def combined_non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size_per_class: TensorLike,
    max_total_size: TensorLike,
    iou_threshold: float = 0.5,
    score_threshold: float = float("-inf"),
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Returns boxes, scores, classes and the number of detections: see the op CombinedNonMaxSuppression."""
    limits = (np.float32(iou_threshold), np.float32(score_threshold))
    return COMBINED_NON_MAX_SUPPRESSION(
        boxes,
        scores,
        max_output_size_per_class,
        max_total_size,
        *limits,
        pad_per_class=pad_per_class,
        clip_boxes=clip_boxes,
        name=name,
    )


def draw_bounding_boxes(
    images: TensorLike, boxes: TensorLike, name: str | None = None, colors: TensorLike | None = None
) -> Tensor:
    """Draws the outlines of `boxes` (n, count, 4) on float `images` (n, height, width, channels).

    colors: (count, channels), used in turn; ten colours of its own if it is None.
    """
    if colors is None:
        return DRAW_BOUNDING_BOXES(images, boxes, name=name)
    return DRAW_BOUNDING_BOXES_V2(images, boxes, colors, name=name)


def is_jpeg(contents: TensorLike, name: str | None = None) -> Tensor:
    """Returns whether the string begins as a JPEG file does, a bool scalar."""
    graph = graph_of((contents,))
    with graph.as_default(), graph.name_scope(name or "is_jpeg"):
        return EQUAL(SUBSTR(contents, np.int32(0), np.int32(3)), graph.to_tensor(b"\xff\xd8\xff"))


def adjust_jpeg_quality(image: TensorLike, jpeg_quality: TensorLike, name: str | None = None) -> Any:
    """Returns the image as it is after it has been a JPEG file of the given quality, from 0 to 100.

    image: (height, width, channels) with 1 or 3 channels, float in [0, 1] or integer. The result has its dtype.
    """
    graph = graph_of((image, jpeg_quality))
    with graph.as_default(), graph.name_scope(name or "adjust_jpeg_quality"):
        x = graph.to_tensor(image)
        small = convert_image_dtype(x, uint8, saturate=True)
        contents = ENCODE_JPEG_VARIABLE_QUALITY(small, graph.to_tensor(jpeg_quality, int32))
        channels = x.shape[-1] if x.shape.ndims else None
        found = DECODE_JPEG(contents, channels=int(channels) if channels is not None else 0)
        return convert_image_dtype(found, x.dtype, saturate=True)


def random_jpeg_quality(
    image: TensorLike, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None
) -> Any:
    """Returns `adjust_jpeg_quality` of the image with a random quality in [min_jpeg_quality, max_jpeg_quality).

    Raises `InvalidArgumentError` unless 0 <= min_jpeg_quality < max_jpeg_quality <= 100.
    """
    if not 0 <= min_jpeg_quality < max_jpeg_quality <= 100:
        raise InvalidArgumentError(
            f"random_jpeg_quality: needed 0 <= min < max <= 100, got {min_jpeg_quality} and {max_jpeg_quality}"
        )
    quality = random_uniform([], min_jpeg_quality, max_jpeg_quality, dtype=as_dtype(int32), seed=seed)
    return adjust_jpeg_quality(image, quality)


API: dict[str, Any] = {
    "image.non_max_suppression_padded": non_max_suppression_padded,
    "image.non_max_suppression_with_scores": non_max_suppression_with_scores,
    "image.non_max_suppression_overlaps": non_max_suppression_overlaps,
    "image.combined_non_max_suppression": combined_non_max_suppression,
    "image.draw_bounding_boxes": draw_bounding_boxes,
    "image.is_jpeg": is_jpeg,
    "io.is_jpeg": is_jpeg,
    "image.adjust_jpeg_quality": adjust_jpeg_quality,
    "image.random_jpeg_quality": random_jpeg_quality,
}
