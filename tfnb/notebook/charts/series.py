"""The points of a loss plot: a series receives one value at a time, is smoothed, and is downsampled for drawing.

Invariant: downsampling (`tfnb.summary.sampling`) keeps the extremes of every interval, so every spike stays visible,
and the first NaN.
The browser smooths the curves of `tf.view` by the same rule; tests/notebook/charts/smoothing.json tests both.
"""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass

import numpy as np

from tfnb.summary.sampling import thinned

__all__ = ["COLOURS", "Break", "Curve", "SmoothedSeries", "break_of", "smoothed"]

# Readable on white and on black, and distinguishable for colour-blind readers (after Okabe and Ito).
COLOURS = ("#1f83c6", "#e08a00", "#00996f", "#c46a9c", "#d55e00", "#4fb0e5")
# A series of fewer points is drawn as it is.
SMOOTHED_FROM = 60


@dataclass(frozen=True, slots=True)
class Break:
    """The first value of a curve that is not finite: its place, its step, and a sentence for readers."""

    place: int
    step: float
    words: str


def break_of(steps: np.ndarray, values: np.ndarray) -> Break | None:
    """Returns where a curve breaks off, as "NaN since step 212", or "inf at step 7" if finite values follow."""
    broken = ~np.isfinite(values)
    if not broken.any():
        return None
    place = int(broken.argmax())
    value, step = float(values[place]), float(steps[place])
    word = "NaN" if math.isnan(value) else f"{value}"
    since = "since" if broken[place:].all() else "at"
    return Break(place, step, f"{word} {since} step {_number(step)}")


def _number(step: float) -> str:
    return f"{step:,.0f}" if step.is_integer() else f"{step:g}"


def smoothed(values: np.ndarray, weight: float) -> np.ndarray:
    """Returns the average that `SmoothedSeries` computes of whole series. `weight` lies in [0, 1)."""
    out = np.array(values, np.float64)
    finite = np.isfinite(out)
    average = (1 - weight) * out[finite]
    # The average of k values and that of the k before them, shifted by k, make that of 2 k values.
    shift, factor = 1, weight
    while shift < len(average) and factor > 0:
        average[shift:] += factor * average[:-shift]
        shift, factor = 2 * shift, factor * factor
    out[finite] = average / -np.expm1(np.arange(1, len(average) + 1) * math.log(weight)) if weight else average
    return out


@dataclass(frozen=True, slots=True)
class Curve:
    """The part of a series that is drawn: steps, values and, for long series, smoothed values."""

    name: str
    steps: np.ndarray
    values: np.ndarray
    smooth: np.ndarray | None

    @property
    def label(self) -> str:
        """The text of the legend: the name, the newest value, and where the curve breaks off."""
        shown_values = self.values if self.smooth is None else self.smooth
        newest = [f"{shown_values[-1]:.4g}"] if len(shown_values) and np.isfinite(shown_values[-1]) else []
        told = [self.break_off.words] if self.break_off is not None else []
        return "  ".join([self.name, ", ".join(newest + told)]).rstrip()

    @property
    def break_off(self) -> Break | None:
        """The first value that is not finite."""
        return break_of(self.steps, self.values)


class SmoothedSeries:
    """The values of one quantity, with their exponential moving average.

    `smoothing` is the weight of earlier values, from 0 (none) up to but not including 1.
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
        """Returns whether the series is long enough for a smoothed line."""
        return bool(self._smoothing) and len(self) >= SMOOTHED_FROM

    def add(self, step: float, value: float) -> None:
        """Appends a point. A value that is not finite is kept, and does not change the average."""
        if math.isfinite(value):
            # Division by the sum of the weights removes the bias of the first values.
            self._mean = self._smoothing * self._mean + (1 - self._smoothing) * value
            self._weight = self._smoothing * self._weight + (1 - self._smoothing)
        self._steps.append(step)
        self._values.append(value)
        self._smooth.append(self._mean / self._weight if math.isfinite(value) else value)

    def curve(self, most: int, start: int = 0) -> Curve:
        """Returns at most `most` (at least 5) points from `start` on. Each interval keeps its two ends and its two
        extremes.
        """
        steps, values = np.array(self._steps[start:]), np.array(self._values[start:])
        indices = thinned(values, max(most, 5))
        smooth = None
        if self.smooth:
            smooth = np.array(self._smooth[start:])[indices]
        return Curve(self.name, steps[indices], values[indices], smooth)
