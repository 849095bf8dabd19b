"""The points of a loss plot: a series grows by one value at a time, is smoothed, and is downsampled for drawing.

Invariant: downsampling (`tfnb.summary.sampling`) keeps the extremes of every stretch, so no spike is ever hidden. The
browser smooths the curves of `tf.view` by the same rule: tests/notebook/charts/smoothing.json holds both to it.
"""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass

import numpy as np

from tfnb.summary.sampling import thinned

__all__ = ["COLOURS", "Curve", "SmoothedSeries"]

# Readable on white and on black, and told apart by colour-blind readers (after Okabe and Ito).
COLOURS = ("#1f83c6", "#e08a00", "#00996f", "#c46a9c", "#d55e00", "#4fb0e5")
# A series of fewer points is drawn as it is.
SMOOTHED_FROM = 60


@dataclass(frozen=True, slots=True)
class Curve:
    """What of a series is drawn: steps, values and, for long series, smoothed values."""

    name: str
    steps: np.ndarray
    values: np.ndarray
    smooth: np.ndarray | None

    @property
    def told(self) -> str:
        """The legend: the name and the newest value."""
        newest = self.values if self.smooth is None else self.smooth
        return f"{self.name}  {newest[-1]:.4g}" if len(newest) else self.name


class SmoothedSeries:
    """Values of one quantity, with their exponential moving average.

    `smoothing` is the weight of the past, from 0 (none) up to but not including 1.
    """

    def __init__(self, name: str, smoothing: float) -> None:
        self.name = name
        self._smoothing = smoothing
        self._steps, self._values, self._smooth = array("d"), array("d"), array("d")
        self._mean, self._weight = 0.0, 0.0

    def __len__(self) -> int:
        return len(self._values)

    @property
    def smooth(self) -> bool:
        """Is it long enough for a smoothed line?"""
        return bool(self._smoothing) and len(self) >= SMOOTHED_FROM

    def add(self, step: float, value: float) -> None:
        """Appends a point. A value that is not finite stays as it is, and leaves the average of the others as it is."""
        if math.isfinite(value):
            # Divided by the sum of the weights, so the first values count as they should.
            self._mean = self._smoothing * self._mean + (1 - self._smoothing) * value
            self._weight = self._smoothing * self._weight + (1 - self._smoothing)
        self._steps.append(step)
        self._values.append(value)
        self._smooth.append(self._mean / self._weight if math.isfinite(value) else value)

    def curve(self, most: int, start: int = 0) -> Curve:
        """At most `most` (at least 4) of the points from `start` on: of each stretch both ends and both extremes."""
        steps, values = np.array(self._steps[start:]), np.array(self._values[start:])
        chosen = thinned(values, max(most, 4))
        smooth = None
        if self.smooth:
            smooth = np.array(self._smooth[start:])[chosen]
        return Curve(self.name, steps[chosen], values[chosen], smooth)
