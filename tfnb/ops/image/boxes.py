"""Bounding boxes: drawing, non-maximum suppression, random crops, and glimpses of images.

A box is (y1, x1, y2, x2) in fractions of the image. Invariant: all ops run on the host; random numbers come from the
node's own generator, so they are reproducible by the seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.record import record
from tfnb.ir.shapes import with_rank
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.random.functions import seeds_for
from tfnb.ops.random.uniform_normal import random_words
from tfnb.types import Shape, float16, float32, int8, int16, int32, int64, uint8

__all__ = ["API", "OPS", "draw_boxes", "overlaps_of"]

_COLOURS = np.array(
    [
        (1, 1, 0, 1),
        (0, 0, 1, 1),
        (1, 0, 0, 1),
        (0, 1, 0, 1),
        (0.5, 0, 0.5, 1),
        (0.5, 0.5, 0, 1),
        (0.5, 0, 0, 1),
        (0, 0, 0.5, 1),
        (0, 1, 1, 1),
        (1, 0, 1, 1),
    ],
    np.float32,
)


def _drawn_shape(c: Infer) -> Shape:
    image, boxes = with_rank(c, 0, 4), with_rank(c, 1, 3)
    if image.sizes and image.sizes[3] not in (None, 1, 3, 4):
        raise ShapeError(f"DrawBoundingBoxes: images need 1, 3 or 4 channels, got shape {image}")
    if boxes.sizes and boxes.sizes[2] not in (None, 4):
        raise ShapeError(f"DrawBoundingBoxes: boxes must be (n, boxes, 4), got shape {boxes}")
    return image


def _draw(picture: np.ndarray, box: np.ndarray, colour: np.ndarray) -> None:
    """Draws the part of a box's outline that lies inside the picture."""
    height, width = picture.shape[:2]
    if not np.isfinite(box).all():
        return
    edges = np.clip(box, -1e6, 1e6) * np.array([height - 1, width - 1] * 2, np.float32)
    top, left, bottom, right = (int(v) for v in edges)
    if top > bottom or left > right or top >= height or bottom < 0 or left >= width or right < 0:
        return
    rows = slice(max(top, 0), min(bottom, height - 1) + 1)
    columns = slice(max(left, 0), min(right, width - 1) + 1)
    if top >= 0:
        picture[top, columns] = colour
    if bottom < height:
        picture[bottom, columns] = colour
    if left >= 0:
        picture[rows, left] = colour
    if right < width:
        picture[rows, right] = colour


def draw_boxes(call: HostCall, images: np.ndarray, boxes: np.ndarray, colours: np.ndarray | None = None) -> np.ndarray:
    """Returns the images with the outlines of the boxes, in the rows of `colours` in turn, or in ten others."""
    if boxes.shape[0] != images.shape[0] or boxes.shape[2:] != (4,):
        raise InvalidArgumentError(
            f"DrawBoundingBoxes: boxes must be ({images.shape[0]}, boxes, 4), got {boxes.shape}",
            call.op,
        )
    out, depth = images.copy(), images.shape[3]
    for picture, picture_boxes in zip(out, boxes, strict=True):
        for i, box in enumerate(picture_boxes):
            palette = _COLOURS if colours is None else colours
            colour = palette[i % len(palette), :depth]
            _draw(picture, box, np.ones(1) if depth == 1 and colours is None else colour)
    return np.asarray(out)


DRAW_BOUNDING_BOXES: OpDef[Tensor] = OpDef(
    "DrawBoundingBoxes",
    "images: T, boxes: float32",
    "output: T",
    """Draws the outlines of boxes on images, in ten colours in turn.

    images: float16 or float32, (n, height, width, channels) with 1, 3 or 4 channels. boxes: (n, boxes, 4). output:
    dtype and shape of images. Runs on the host.""",
    types={"T": (float32, float16)},
    defaults={"T": float32},
    infer=_drawn_shape,
    host=draw_boxes,
    grad=NOT_DIFFERENTIABLE,
)


@record
class SuppressionAttrs:
    """`iou_threshold`: boxes that overlap a better one by as much or more are suppressed."""

    iou_threshold: float = 0.5


def overlaps_of(box: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Returns the intersection over union of a box with others; 0 where a box has no area. Corners have any order."""
    low = np.minimum(others[:, :2], others[:, 2:])
    high = np.maximum(others[:, :2], others[:, 2:])
    own_low, own_high = np.minimum(box[:2], box[2:]), np.maximum(box[:2], box[2:])
    area, own_area = (high - low).prod(1), (own_high - own_low).prod()
    common = np.maximum(np.minimum(high, own_high) - np.maximum(low, own_low), 0).prod(1)
    valid = (area > 0) & (own_area > 0)
    return np.where(valid, common / np.where(valid, area + own_area - common, 1), 0)


def _suppressed(
    call: HostCall,
    boxes: np.ndarray,
    scores: np.ndarray,
    count: np.ndarray,
    overlap: float,
    lowest: float = -np.inf,
) -> np.ndarray:
    if boxes.ndim != 2 or boxes.shape[1] != 4 or scores.shape != boxes.shape[:1]:
        raise InvalidArgumentError(
            f"{call.op.type}: needed boxes (m, 4) and scores (m,), got {boxes.shape} and {scores.shape}",
            call.op,
        )
    if not 0 <= overlap <= 1:
        raise InvalidArgumentError(f"{call.op.type}: iou_threshold must be in [0, 1], got {overlap}", call.op)
    limit = int(count.reshape(()))
    if limit < 0:
        raise InvalidArgumentError(f"{call.op.type}: max_output_size must be >= 0, got {limit}", call.op)
    edges = boxes.astype(np.float32)
    left = np.argsort(-scores.astype(np.float32), kind="stable")
    left = left[scores[left] > lowest]
    selected: list[int] = []
    while left.size and len(selected) < limit:
        best, left = int(left[0]), left[1:]
        selected.append(best)
        left = left[overlaps_of(edges[best], edges[left]) < np.float32(overlap)]
    return np.array(selected, np.int32)


def _chosen(c: Infer) -> Shape:
    boxes = with_rank(c, 0, 2)
    if boxes.sizes and boxes.sizes[1] not in (4, None):
        raise ShapeError(f"{c.op_name}: boxes must be (m, 4), got shape {boxes}")
    return Shape((None,))


_BOX_FLOATS = (float32, float16)
_BOX_DEFAULTS = {"T": float32, "T_threshold": float32}


def _suppression(name: str, inputs: str, host: Callable[..., Any], **more: Any) -> OpDef[Tensor]:
    return OpDef(
        name,
        inputs,
        "selected_indices: int32",
        """Selects boxes with high scores, greedily from the best score down, and suppresses those that overlap them.

    boxes: (m, 4), corners in any order. scores: (m,). max_output_size: a scalar. selected_indices: the indices of at
    most max_output_size boxes, best first. Errors: the shapes do not match, or the threshold is outside [0, 1]. Runs on
    the host.""",
        infer=_chosen,
        host=host,
        grad=NOT_DIFFERENTIABLE,
        dynamic=True,
        **more,
    )


NON_MAX_SUPPRESSION = _suppression(
    "NonMaxSuppression",
    "boxes: float32, scores: float32, max_output_size: int32",
    lambda call, b, s, n: _suppressed(call, b, s, n, call.attrs.iou_threshold),
    attrs=SuppressionAttrs,
)
NON_MAX_SUPPRESSION_V2 = _suppression(
    "NonMaxSuppressionV2",
    "boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold",
    lambda call, b, s, n, t: _suppressed(call, b, s, n, float(t)),
    types={"T": _BOX_FLOATS, "T_threshold": _BOX_FLOATS},
    defaults=_BOX_DEFAULTS,
)
NON_MAX_SUPPRESSION_V3 = _suppression(
    "NonMaxSuppressionV3",
    "boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold, score_threshold: T_threshold",
    lambda call, b, s, n, t, low: _suppressed(call, b, s, n, float(t), float(low)),
    types={"T": _BOX_FLOATS, "T_threshold": _BOX_FLOATS},
    defaults=_BOX_DEFAULTS,
)


@record
class SampleAttrs:
    """`aspect_ratio_range`: the range of width / height; `area_range`: the range of the fraction of the image;
    `max_attempts`: when they all fail, the whole image is taken; `use_image_if_no_bounding_boxes`: the whole image is
    the box when there is none, which is otherwise an error."""

    seed: int = 0
    seed2: int = 0
    aspect_ratio_range: Sequence[float] = (0.75, 1.33)
    area_range: Sequence[float] = (0.05, 1.0)
    max_attempts: int = 100
    use_image_if_no_bounding_boxes: bool = False

    def __post_init__(self) -> None:
        for name, top in (("aspect_ratio_range", np.inf), ("area_range", 1.0)):
            value = tuple(float(v) for v in getattr(self, name))
            if len(value) != 2 or not 0 < value[0] <= value[1] <= top:
                raise InvalidArgumentError(f"{name} must be two ascending positive numbers, got {value}")
            object.__setattr__(self, name, value)
        if self.max_attempts < 1:
            raise InvalidArgumentError(f"max_attempts must be positive, got {self.max_attempts}")


@record
class SampleV1Attrs(SampleAttrs):
    """As SampleDistortedBoundingBoxV2, plus `min_object_covered`: the fraction of a box that a crop must contain."""

    min_object_covered: float = 0.1


def _unit(words: np.ndarray) -> np.ndarray:
    return np.asarray(words / np.float64(2**32))


def _candidates(call: HostCall, height: int, width: int) -> tuple[np.ndarray, ...]:
    """Returns `max_attempts` crops of random shape, size and position as vectors (top, left, height, width).

    Some crops may be empty.
    """
    a = call.attrs
    ratio, area, down, right = (_unit(w) for w in random_words(call, a.max_attempts))
    low, high = a.aspect_ratio_range
    ratio = low + ratio * (high - low)
    least, most = (share * height * width for share in a.area_range)
    # the heights for which the area is in its range and the crop is inside the image
    shortest = np.sqrt(least / ratio)
    tallest = np.minimum(np.minimum(np.sqrt(most / ratio), height), width / ratio)
    heights = np.rint(np.minimum(shortest, tallest) + area * np.maximum(tallest - shortest, 0))
    heights = np.clip(heights, 0, height).astype(np.int64)
    widths = np.clip(np.rint(heights * ratio), 0, width).astype(np.int64)
    size = heights * widths
    valid = (size >= least) & (size <= most) & (size > 0)
    heights, widths = np.where(valid, heights, 0), np.where(valid, widths, 0)
    top = np.floor(down * (height - heights + 1)).astype(np.int64)
    return top, np.floor(right * (width - widths + 1)).astype(np.int64), heights, widths


def _covers(crop: Sequence[int], boxes: np.ndarray, share: float, sides: Sequence[int]) -> bool:
    """Returns whether the crop contains at least the given fraction of one of the boxes."""
    top, left, crop_height, crop_width = crop
    edges = boxes * np.array([sides[0], sides[1]] * 2, np.float64)
    low = np.maximum(edges[:, :2], (top, left))
    high = np.minimum(edges[:, 2:], (top + crop_height, left + crop_width))
    area = (edges[:, 2:] - edges[:, :2]).prod(1)
    common = np.maximum(high - low, 0).prod(1)
    return bool(((area > 0) & (common >= share * area)).any())


def _sample(
    call: HostCall, size: np.ndarray, boxes: np.ndarray, share: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if size.shape != (3,) or size[:2].min() <= 0:
        raise InvalidArgumentError(
            f"{call.op.type}: image_size must be (height, width, channels), got {size.tolist()}",
            call.op,
        )
    height, width = int(size[0]), int(size[1])
    if boxes.ndim != 3 or boxes.shape[2] != 4:
        raise InvalidArgumentError(f"{call.op.type}: bounding_boxes must be (n, boxes, 4), got {boxes.shape}", call.op)
    objects = boxes.reshape(-1, 4).astype(np.float64)
    if not ((objects >= 0) & (objects <= 1)).all() or (objects[:, :2] >= objects[:, 2:]).any():
        raise InvalidArgumentError(
            f"{call.op.type}: boxes must lie in [0, 1], the first corner before the second", call.op
        )
    if not len(objects):
        if not call.attrs.use_image_if_no_bounding_boxes:
            raise InvalidArgumentError(
                f"{call.op.type}: no boxes; set use_image_if_no_bounding_boxes to allow that",
                call.op,
            )
        objects = np.array([[0.0, 0.0, 1.0, 1.0]])
    crop: Sequence[int] = (0, 0, height, width)
    for candidate in zip(*_candidates(call, height, width), strict=True):
        if candidate[2] and _covers(candidate, objects, share, (height, width)):
            crop = candidate
            break
    top, left, crop_height, crop_width = (int(v) for v in crop)
    dtype = size.dtype
    box = [top / height, left / width, (top + crop_height) / height, (left + crop_width) / width]
    return (
        np.array([top, left, 0]).astype(dtype),
        np.array([crop_height, crop_width, -1]).astype(dtype),
        np.array(box, np.float32).reshape(1, 1, 4),
    )


def _sampling(name: str, extra: str, host: Callable[..., Any], attrs: type) -> OpDef[tuple[Tensor, Tensor, Tensor]]:
    return OpDef(
        name,
        "image_size: T, bounding_boxes: float32" + extra,
        "begin: T, size: T, bboxes: float32",
        """A random crop that contains at least a given fraction of one of the boxes.

    image_size: (height, width, channels). bounding_boxes: (n, boxes, 4). begin, size: arguments of `tf.slice`, (3,).
    bboxes: (1, 1, 4), the crop as a box. When no attempt succeeds, the crop is the whole image. Errors: boxes are
    outside [0, 1], or there are none. Runs on the host; the random numbers differ from TensorFlow's.""",
        types={"T": (uint8, int8, int16, int32, int64)},
        attrs=attrs,
        infer=lambda c: (Shape((3,)), Shape((3,)), Shape((1, 1, 4))),
        host=host,
        grad=NOT_DIFFERENTIABLE,
        stateful=True,
    )


SAMPLE_DISTORTED_BOUNDING_BOX = _sampling(
    "SampleDistortedBoundingBox",
    "",
    lambda call, size, boxes: _sample(call, size, boxes, call.attrs.min_object_covered),
    SampleV1Attrs,
)
SAMPLE_DISTORTED_BOUNDING_BOX_V2 = _sampling(
    "SampleDistortedBoundingBoxV2",
    ", min_object_covered: float32",
    lambda call, size, boxes, share: _sample(call, size, boxes, float(share)),
    SampleAttrs,
)


@record
class GlimpseAttrs:
    """`centered`: (0, 0) is the image's centre instead of its upper left corner; `normalized`: offsets are in (-1, 1)
    instead of pixels; `uniform_noise`, `noise`: "uniform" or "gaussian" noise, or "zero", outside the image."""

    centered: bool = True
    normalized: bool = True
    uniform_noise: bool = True
    noise: str = "uniform"

    def __post_init__(self) -> None:
        if self.noise not in ("uniform", "gaussian", "zero"):
            raise InvalidArgumentError(f'noise must be "uniform", "gaussian" or "zero", got {self.noise!r}')


def _glimpse_shape(c: Infer) -> Shape:
    x, size = with_rank(c, 0, 4), c.value(1)
    with_rank(c, 2, 2)
    n, _, _, channels = x.sizes or (None,) * 4
    if size is not None and (size.shape != (2,) or any(n <= 0 for n in size.tolist())):
        raise InvalidArgumentError(f"ExtractGlimpse: size must be two positive numbers, got {size}")
    return Shape((n, *((None, None) if size is None else map(int, size)), channels))


def _host_glimpse(call: HostCall, x: np.ndarray, size: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    a, (n, height, width, channels) = call.attrs, x.shape
    if offsets.shape != (n, 2) or size.shape != (2,) or size.min() <= 0:
        raise InvalidArgumentError(
            f"ExtractGlimpse: needed offsets ({n}, 2) and two positive sizes, got {offsets.shape}, {size}",
            call.op,
        )
    sides, window = np.array([height, width]), size.astype(np.int64)
    at = offsets.astype(np.float32) * (sides if a.normalized else 1)
    at = at / 2 + sides / 2 if a.centered else at
    corner = np.clip(at - window / 2, -(2.0**31), 2.0**31).astype(np.int64)
    out = np.zeros((n, *window, channels), np.float32)
    if a.noise != "zero":
        low, high = x.min((1, 2), keepdims=True), x.max((1, 2), keepdims=True)
        words = [_unit(w).reshape(out.shape) for w in random_words(call, out.size)[:2]]
        if a.uniform_noise and a.noise == "uniform":
            out[...] = low + words[0] * (high - low)
        else:
            normal = np.sqrt(-2 * np.log(np.maximum(words[0], 1e-12))) * np.cos(2 * np.pi * words[1])
            out[...] = x.mean((1, 2), keepdims=True) + normal * x.std((1, 2), keepdims=True)
    for i in range(n):
        first, last = np.maximum(corner[i], 0), np.minimum(corner[i] + window, sides)
        if (first < last).all():
            inner = tuple(slice(b - c, e - c) for b, e, c in zip(first, last, corner[i], strict=True))
            out[i][inner] = x[i, first[0] : last[0], first[1] : last[1]]
    return out


EXTRACT_GLIMPSE: OpDef[Tensor] = OpDef(
    "ExtractGlimpse",
    "input: float32, size: int32, offsets: float32",
    "glimpse: float32",
    """Extracts from each image a window centred at `offsets`; pixels outside the image are filled with noise.

    input: (n, height, width, channels). size: (height, width). offsets: (n, 2), pairs (y, x). glimpse: (n, *size,
    channels). Errors: the shapes do not match. Runs on the host; the random numbers differ from TensorFlow's.""",
    attrs=GlimpseAttrs,
    infer=_glimpse_shape,
    host=_host_glimpse,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
    api="image.extract_glimpse",
)


def non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """Selects at most `max_output_size` boxes and returns their indices (int32), best score first.

    boxes: (m, 4); scores: (m,). Any two selected boxes overlap by less than `iou_threshold`, and all their scores are
    above `score_threshold`.
    """
    graph = graph_of((boxes, scores))
    thresholds = (graph.to_tensor(t, float32) for t in (iou_threshold, score_threshold))
    return NON_MAX_SUPPRESSION_V3(boxes, scores, max_output_size, *thresholds, name=name, graph=graph)


def sample_distorted_bounding_box(
    image_size: TensorLike,
    bounding_boxes: TensorLike,
    seed: int | None = None,
    seed2: int | None = None,
    min_object_covered: float = 0.1,
    aspect_ratio_range: Sequence[float] | None = None,
    area_range: Sequence[float] | None = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Draws a random crop of an image that contains at least `min_object_covered` of one of the given boxes.

    image_size: (height, width, channels), integers. bounding_boxes: (n, boxes, 4) in fractions of the image. The result
    holds `begin` and `size` for `tf.slice`, and `bboxes`, the crop as a box for `tf.image.draw_bounding_boxes`.
    """
    graph = graph_of((image_size, bounding_boxes))
    seeds = seeds_for(graph, seed) if seed2 is None else {"seed": seed or 0, "seed2": seed2}
    outputs = SAMPLE_DISTORTED_BOUNDING_BOX_V2(
        image_size,
        bounding_boxes,
        min_object_covered,
        aspect_ratio_range=aspect_ratio_range or (0.75, 1.33),
        area_range=area_range or (0.05, 1.0),
        max_attempts=max_attempts or 100,
        use_image_if_no_bounding_boxes=bool(use_image_if_no_bounding_boxes),
        name=name,
        **seeds,
    )
    return outputs


OPS: tuple[OpDef, ...] = (
    DRAW_BOUNDING_BOXES,
    NON_MAX_SUPPRESSION,
    NON_MAX_SUPPRESSION_V2,
    NON_MAX_SUPPRESSION_V3,
    SAMPLE_DISTORTED_BOUNDING_BOX,
    SAMPLE_DISTORTED_BOUNDING_BOX_V2,
    EXTRACT_GLIMPSE,
)
API: dict[str, Any] = {
    "image.non_max_suppression": non_max_suppression,
    "image.sample_distorted_bounding_box": sample_distorted_bounding_box,
}
