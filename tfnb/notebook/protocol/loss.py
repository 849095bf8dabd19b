"""The messages of `tf.notebook.LossPlot`. Numbers are sent as the bytes of float64 arrays."""

from __future__ import annotations

from typing import Literal, TypedDict


class LossCurve(TypedDict):
    total: int
    """The number of points before downsampling."""
    colour: str
    step: bytes
    value: bytes
    smooth: bytes


class AppendLossPoints(TypedDict):
    """New points. For each curve the buffer contains its steps, then its values, then its smoothed values."""

    op: Literal["append"]
    curves: list[tuple[int, int, int, int]]
    """The index of the curve, its total before and after this message, and the number of points in the buffer."""


class WholeRequest(TypedDict):
    """The browser lacks the points before the new ones, and needs all points."""

    op: Literal["whole"]


class LossState(TypedDict):
    """The traits of the widget's model."""

    key: str
    library: str
    """The id of the model that carries BokehJS."""
    document: str
    curves: list[LossCurve]
