"""The messages of `tf.notebook.LossPlot`. Numbers are sent as the bytes of float64 arrays."""

from __future__ import annotations

from typing import Literal, TypedDict


class LossCurve(TypedDict):
    total: int
    """How many points there are; what is sent may be downsampled."""
    colour: str
    step: bytes
    value: bytes
    smooth: bytes


class AppendLossPoints(TypedDict):
    """New points. The buffer holds per curve its steps, then values, then smoothed values."""

    op: Literal["append"]
    curves: list[tuple[int, int, int, int]]
    """The place of the curve, the total before and now, and how many points come."""


class WholeRequest(TypedDict):
    """The browser lacks the points that new ones belong to."""

    op: Literal["whole"]


class LossState(TypedDict):
    """The traits of the widget's model."""

    key: str
    library: str
    """The id of the model that brings BokehJS."""
    document: str
    curves: list[LossCurve]
