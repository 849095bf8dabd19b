"""The points of a chart: a series grows by one value at a time and is thinned for drawing.

Invariant: thinning keeps the extremes of every stretch, so no spike of a loss is ever hidden.
"""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass

import numpy as np

__all__ = ["COLOURS", "Curve", "Series"]

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


class Series:
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
        """Appends a point. Values that are not finite are kept, but leave the average as it is."""
        if math.isfinite(value):
            # Divided by the sum of the weights, so the first values count as they should.
            self._mean = self._smoothing * self._mean + (1 - self._smoothing) * value
            self._weight = self._smoothing * self._weight + (1 - self._smoothing)
        self._steps.append(step)
        self._values.append(value)
        self._smooth.append(self._mean / self._weight if self._weight else value)

    def curve(self, most: int, start: int = 0) -> Curve:
        """At most about `most` of the points from `start` on: of each stretch both extremes, and the newest."""
        steps, values = np.array(self._steps[start:]), np.array(self._values[start:])
        chosen = _extremes(values, most)
        smooth = None
        if self.smooth:
            smooth = np.array(self._smooth[start:])[chosen]
        return Curve(self.name, steps[chosen], values[chosen], smooth)


def _extremes(values: np.ndarray, most: int) -> np.ndarray:
    n = len(values)
    if n <= max(most, 2):
        return np.arange(n)
    length = -(-2 * n // most)
    whole = n // length * length
    stretches = values[:whole].reshape(-1, length)
    starts = np.arange(0, whole, length)
    chosen = [starts + stretches.argmin(axis=1), starts + stretches.argmax(axis=1)]
    chosen.append(np.array([n - 1]))
    rest = values[whole:]
    if len(rest):
        chosen.append(whole + np.array([rest.argmin(), rest.argmax()]))
    return np.unique(np.concatenate(chosen))
