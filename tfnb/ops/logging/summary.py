"""Summary ops, which turn tensors into serialized `Summary` messages for event files (white paper, section 9.1).

They run on the host; a training loop fetches the string and passes it to a `tf.summary.FileWriter`. Invariant: each op
produces the same message as TensorFlow's op of that name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, Infer, OpDef
from tfnb.ir.record import record
from tfnb.ir.tensor import Tensor
from tfnb.ops.logging import summary_messages as kernels
from tfnb.types import ALL, REALS, Shape, float16, float32, float64, scalar, uint8

__all__ = [
    "API",
    "AUDIO_SUMMARY",
    "AUDIO_SUMMARY_V2",
    "HISTOGRAM_SUMMARY",
    "IMAGE_SUMMARY",
    "MERGE_SUMMARY",
    "OPS",
    "SCALAR_SUMMARY",
    "TENSOR_SUMMARY",
    "TENSOR_SUMMARY_V2",
]


def _red() -> np.ndarray:
    return np.array([255, 0, 0, 255], np.uint8)


def _at_least_one(name: str, value: int) -> None:
    if value < 1:
        raise InvalidArgumentError(f"{name} must be at least 1, got {value}")


@dataclass(frozen=True, eq=False)
class ImageAttrs:
    """`max_images`: the largest number of images per batch; `bad_color`: uint8 RGBA for pixels that are not finite."""

    max_images: int = 3
    bad_color: np.ndarray = field(default_factory=_red)

    def __post_init__(self) -> None:
        _at_least_one("max_images", self.max_images)


@record
class AudioAttrs:
    """`sample_rate`: in hertz; `max_outputs`: the largest number of clips per batch."""

    sample_rate: float
    max_outputs: int = 3

    def __post_init__(self) -> None:
        _at_least_one("max_outputs", self.max_outputs)


@record
class AudioV2Attrs:
    """`max_outputs`: the largest number of clips per batch."""

    max_outputs: int = 3

    def __post_init__(self) -> None:
        _at_least_one("max_outputs", self.max_outputs)


@record
class TensorSummaryAttrs:
    """`description`: a JSON SummaryDescription; `labels`, `display_name`: stored with the node."""

    description: str = ""
    labels: tuple[str, ...] = ()
    display_name: str = ""


def _one_text(c: Infer) -> Shape:
    """The shape of a Summary; what a step cannot use is an error of the step, for a program may never ask for it."""
    return scalar


SCALAR_SUMMARY: OpDef[Tensor] = OpDef(
    "ScalarSummary",
    "tags: string, values: T",
    "summary: string",
    """A Summary with one number per tag.

    tags: strings; values: real numbers of the same shape, stored as float32. Errors: InvalidArgumentError when the
    shapes differ.""",
    types={"T": REALS},
    infer=_one_text,
    host=kernels.scalar_summary,
    grad=NOT_DIFFERENTIABLE,
)

HISTOGRAM_SUMMARY: OpDef[Tensor] = OpDef(
    "HistogramSummary",
    "tag: string, values: T",
    "summary: string",
    """A Summary with a histogram: min, max, count, sum, sum of squares and the counts of exponential buckets.

    tag: a scalar; values: real numbers of any shape. Errors: InvalidArgumentError for NaN and infinite values.""",
    types={"T": REALS},
    defaults={"T": float32},
    infer=_one_text,
    host=kernels.histogram_summary,
    grad=NOT_DIFFERENTIABLE,
)

IMAGE_SUMMARY: OpDef[Tensor] = OpDef(
    "ImageSummary",
    "tag: string, tensor: T",
    "summary: string",
    """A Summary with at most `max_images` PNG images, tagged tag/image (max_images 1) or tag/image/0, /1, ...

    tensor: [batch, height, width, channels] with 1 (grey), 3 (RGB) or 4 (RGBA) channels. uint8 is used unchanged;
    floats are scaled for each image: so that the largest becomes 255 if none is negative, else so that 0 becomes 128.
    Pixels with NaN or infinities get `bad_color`. Errors: InvalidArgumentError for other shapes.""",
    types={"T": (float32, uint8, float16, float64)},
    defaults={"T": float32},
    attrs=ImageAttrs,
    infer=_one_text,
    host=kernels.image_summary,
    grad=NOT_DIFFERENTIABLE,
)

_AUDIO = """A Summary with at most `max_outputs` audio clips (16-bit WAV).

    Their tags are tag/audio (max_outputs 1) or tag/audio/0, /1, ...

    tensor: float32 [batch, frames] or [batch, frames, channels] from -1 to 1; other values are clipped.
    `sample_rate`: in hertz. Errors: InvalidArgumentError for other shapes, or a rate that is not positive."""

AUDIO_SUMMARY: OpDef[Tensor] = OpDef(
    "AudioSummary",
    "tag: string, tensor: float32",
    "summary: string",
    _AUDIO,
    attrs=AudioAttrs,
    infer=_one_text,
    host=kernels.audio_summary,
    grad=NOT_DIFFERENTIABLE,
)

AUDIO_SUMMARY_V2: OpDef[Tensor] = OpDef(
    "AudioSummaryV2",
    "tag: string, tensor: float32, sample_rate: float32",
    "summary: string",
    _AUDIO,
    attrs=AudioV2Attrs,
    infer=_one_text,
    host=kernels.audio_summary,
    grad=NOT_DIFFERENTIABLE,
)

TENSOR_SUMMARY: OpDef[Tensor] = OpDef(
    "TensorSummary",
    "tensor: T",
    "summary: string",
    "A Summary with a whole tensor of any shape and dtype, under the node's name.",
    types={"T": ALL},
    attrs=TensorSummaryAttrs,
    infer=lambda c: scalar,
    host=kernels.tensor_summary,
    grad=NOT_DIFFERENTIABLE,
)

TENSOR_SUMMARY_V2: OpDef[Tensor] = OpDef(
    "TensorSummaryV2",
    "tag: string, tensor: T, serialized_summary_metadata: string",
    "summary: string",
    """A Summary with a whole tensor of any shape and dtype.

    serialized_summary_metadata: a scalar, a SummaryMetadata that names the plugin that displays it. Errors:
    InvalidArgumentError when it is not such a message.""",
    types={"T": ALL},
    infer=_one_text,
    host=kernels.tensor_summary_v2,
    grad=NOT_DIFFERENTIABLE,
)

MERGE_SUMMARY: OpDef[Tensor] = OpDef(
    "MergeSummary",
    "inputs: N*string",
    "summary: string",
    """One Summary with the values of all `inputs`, which are serialized Summaries of any shape.

    Errors: InvalidArgumentError when a tag occurs twice, or an input is not a Summary.""",
    infer=lambda c: scalar,
    host=kernels.merge_summary,
    grad=NOT_DIFFERENTIABLE,
)

OPS: tuple[OpDef, ...] = (
    SCALAR_SUMMARY,
    HISTOGRAM_SUMMARY,
    IMAGE_SUMMARY,
    AUDIO_SUMMARY,
    AUDIO_SUMMARY_V2,
    TENSOR_SUMMARY,
    TENSOR_SUMMARY_V2,
    MERGE_SUMMARY,
)
API: dict[str, Any] = {}
