"""How far the clocks of other tasks are ahead of this process's, from messages there and back (white paper, 9.2).

A question reached the other after it left here, and its answer left there before it came: that bounds the difference
from both sides, each by the quickest way in its direction. Bounds widen with age, since clocks drift. The clock is
`time.perf_counter`, which nobody sets. Invariant: clocks that drift by no more than DRIFT differ from `ahead` by at
most `error`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Hashable, Mapping
from typing import NamedTuple, TypeVar

__all__ = ["DRIFT", "Clock", "agreed"]

DRIFT = 50e-6  # seconds a second: quartz, as bad as it gets

K = TypeVar("K", bound=Hashable)


class _Bounds(NamedTuple):
    """Of `ahead`, as of `at` by this process's clock."""

    low: float
    high: float
    at: float

    def later(self, at: float) -> _Bounds:
        grown = DRIFT * max(at - self.at, 0.0)
        return _Bounds(self.low - grown, self.high + grown, max(at, self.at))


class Clock:
    """Another task's clock beside this process's. All methods may be called from any thread."""

    def __init__(self) -> None:
        self._known = _Bounds(-math.inf, math.inf, 0.0)

    def measure(self, asked: float, came: float, left: float, heard: float) -> None:
        """A question left here at `asked` and came there at `came`; the answer left there at `left` and came here at
        `heard`. Each by the clock of where it happened. What contradicts itself is not taken."""
        low, high = left - heard, came - asked
        if low > high:
            return
        drifted = DRIFT * (heard - asked)  # since one of the two bounds was right
        new = _Bounds(low - drifted, high + drifted, heard)
        old = self._known.later(heard)
        new = new.later(old.at)
        # Bounds that exclude each other: one clock stood still, as that of a machine that sleeps. The newer ones hold.
        # Where two threads measure at once, one measurement is lost, and nothing is wrong.
        both = _Bounds(max(old.low, new.low), min(old.high, new.high), new.at)
        self._known = both if both.low <= both.high else new

    @property
    def bounds(self) -> tuple[float, float]:
        """Of the seconds that the other clock shows more than this one, as of the last measurement."""
        return self._known.low, self._known.high

    @property
    def ahead(self) -> float:
        """The middle of that; 0 before the first measurement."""
        return _middle(self._known.low, self._known.high)

    def error(self, now: float | None = None) -> float:
        """By how much that may be wrong, in seconds; infinite before the first measurement."""
        known = self._known.later(time.perf_counter() if now is None else now)
        return (known.high - known.low) / 2


def agreed(bounds: Mapping[K, tuple[float, float]], late: Mapping[tuple[K, K], float]) -> dict[K, float]:
    """By how much each of several clocks is ahead, within its bounds and so that no message came before it left.

    `late`: for (sender, receiver) the least of what the receiver's clock showed when a message came, less what the
    sender's showed when it left. What contradicts the bounds is left out.
    """
    low, high = ({k: b[side] for k, b in bounds.items()} for side in (0, 1))
    for _ in bounds:  # the longest chain of messages has as many tasks
        for (a, b), least in late.items():
            high[b] = min(high[b], high[a] + least)
            low[a] = max(low[a], low[b] - least)
    if any(low[k] > high[k] for k in bounds):
        return {k: _middle(*b) for k, b in bounds.items()}
    # All the upper ends agree with the messages, and all the lower ends: so do the middles.
    return {k: _middle(low[k], high[k]) for k in bounds}


def _middle(low: float, high: float) -> float:
    return (low + high) / 2 if math.isfinite(high - low) else min(max(0.0, low), high)
