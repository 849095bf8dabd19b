"""Limits how often a chart is drawn during a training: at a chosen interval, or less often if drawing is expensive.

Invariant: over any longer interval, drawing takes at most `share` of the time.
"""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["SHARE", "RateLimiter"]

SHARE = 0.03


class RateLimiter:
    """`record` is called with the cost of each drawing; `pause` is the time to wait before the next one.

    `seconds`: the interval between drawings that cost little. `burst`: seconds of work that may be done before the
    elapsed time has paid for them, so that one expensive drawing delays nothing. `clock`: returns the time in seconds.
    """

    def __init__(
        self,
        seconds: float,
        share: float = SHARE,
        burst: float = 0.05,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.seconds, self._share, self._burst, self._clock = seconds, share, burst, clock
        self._debt = 0.0  # seconds of work that the elapsed time has not paid for yet
        self._last = clock()

    def record(self, cost: float) -> None:
        """Records that a drawing took `cost` seconds."""
        now = self._clock()
        self._debt = max(self._debt - self._share * (now - self._last), 0.0) + cost
        self._last = now

    @property
    def pause(self) -> float:
        """Seconds to wait from the last drawing to the next."""
        return max(self.seconds, (self._debt - self._burst) / self._share)
