"""How far the clocks of other tasks are ahead of this process's, from requests and answers (white paper, section 9.2).

A request arrives at the other task after it was sent, and the answer is sent there before it arrives here. This bounds
the difference of the clocks from both sides. The fastest message of each direction gives the best bound. Bounds widen
with time, because clocks drift. The clock is `time.perf_counter`, which is never set. Invariant: if clocks drift by no
more than DRIFT, the true difference and `ahead` differ by at most `error`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Hashable, Mapping
from typing import NamedTuple, TypeVar

__all__ = ["DRIFT", "Clock", "agreed"]

DRIFT = 50e-6  # seconds per second; the drift of a bad quartz

K = TypeVar("K", bound=Hashable)


class _Bounds(NamedTuple):
    """Bounds of `ahead`, which held at the time `at` of this process's clock."""

    low: float
    high: float
    at: float

    def later(self, at: float) -> _Bounds:
        """The bounds at a later time, widened by the drift until then."""
        grown = DRIFT * max(at - self.at, 0.0)
        return _Bounds(self.low - grown, self.high + grown, max(at, self.at))


class Clock:
    """Estimates how far the clock of another task is ahead of this process's clock. All methods are thread-safe."""

    def __init__(self) -> None:
        self._known = _Bounds(-math.inf, math.inf, 0.0)

    def measure(self, asked: float, arrived: float, left: float, answered: float) -> None:
        """Takes the times of a request and its answer, each by the clock of the process where it happened.

        The request was sent here at `asked` and arrived there at `arrived`. The answer was sent there at `left` and
        arrived here at `answered`. All times are in seconds. Times that contradict each other are ignored.
        """
        low, high = left - answered, arrived - asked
        if low > high:
            return
        drifted = DRIFT * (answered - asked)  # one of the two bounds is as old as that
        new = _Bounds(low - drifted, high + drifted, answered)
        old = self._known.later(answered)
        new = new.later(old.at)
        # Where old and new bounds exclude each other, a clock stood still, as it does while a machine sleeps; then only
        # the new ones hold. Where two threads measure at once, one measurement is lost, which does no harm.
        both = _Bounds(max(old.low, new.low), min(old.high, new.high), new.at)
        self._known = both if both.low <= both.high else new

    @property
    def bounds(self) -> tuple[float, float]:
        """Bounds of the seconds by which the other clock is ahead, as of the last measurement."""
        return self._known.low, self._known.high

    @property
    def ahead(self) -> float:
        """The middle of the bounds; 0 before the first measurement."""
        return _middle(self._known.low, self._known.high)

    def error(self, now: float | None = None) -> float:
        """By how many seconds `ahead` may be wrong at the time `now`; infinite before the first measurement."""
        widened = self._known.later(time.perf_counter() if now is None else now)
        return (widened.high - widened.low) / 2


def agreed(bounds: Mapping[K, tuple[float, float]], late: Mapping[tuple[K, K], float]) -> dict[K, float]:
    """The seconds by which each of several clocks is ahead, within its bounds.

    The results are such that no message arrives before it was sent.

    `late`: for each (sender, receiver) the shortest time that a message took, by the receiver's clock at its arrival
    and the sender's when it left. Where that contradicts the bounds, all messages are ignored.
    """
    low, high = ({k: b[side] for k, b in bounds.items()} for side in (0, 1))
    for _ in bounds:  # the longest chain of messages has as many tasks
        for (a, b), least in late.items():
            high[b] = min(high[b], high[a] + least)
            low[a] = max(low[a], low[b] - least)
    if any(low[k] > high[k] for k in bounds):
        return {k: _middle(*b) for k, b in bounds.items()}
    # The upper ends together agree with all messages, and so do the lower ends. So the middles agree, too.
    return {k: _middle(low[k], high[k]) for k in bounds}


def _middle(low: float, high: float) -> float:
    return (low + high) / 2 if math.isfinite(high - low) else min(max(0.0, low), high)
