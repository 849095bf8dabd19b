"""How often something is drawn beside a training: as often as is wished, unless that takes too much of the time.

Invariant: over any longer while at most `share` of the time is spent; what is dearer than that comes more seldom.
"""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["SHARE", "Pace"]

SHARE = 0.03


class Pace:
    """`spent` is told what each drawing took, `pause` tells how long to wait for the next.

    `seconds`: between drawings that cost little. `ahead`: seconds of work that may be done before their time has come,
    so that a single dear drawing delays nothing. `clock`: what tells the time.
    """

    def __init__(
        self,
        seconds: float,
        share: float = SHARE,
        ahead: float = 0.05,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.seconds, self._share, self._ahead, self._clock = seconds, share, ahead, clock
        self._owed = 0.0  # seconds of work that the time gone by has not earned yet
        self._last = clock()

    def spent(self, took: float) -> None:
        """A drawing took so many seconds."""
        now = self._clock()
        self._owed = max(self._owed - self._share * (now - self._last), 0.0) + took
        self._last = now

    @property
    def pause(self) -> float:
        """Seconds from the last drawing to the next."""
        return max(self.seconds, (self._owed - self._ahead) / self._share)
