"""How far the clocks of other tasks are ahead of this process's, from messages there and back (white paper, 9.2).

A message there and back bounds the difference: the answer was written after the question left and before it came. The
kept measurement is that with the tightest bound, which widens with age, since clocks drift; so it is replaced in time.
Invariant: clocks that drift by no more than DRIFT differ from `ahead` by at most `error`.
"""

from __future__ import annotations

import threading
import time
from typing import NamedTuple

__all__ = ["DRIFT", "Clock"]

DRIFT = 50e-6  # seconds a second: quartz, as bad as it gets


class _Measured(NamedTuple):
    """`ahead` is right to `error`, as of `at` by this process's monotonic clock."""

    ahead: float
    error: float
    at: float

    def bound(self, now: float) -> float:
        return self.error + DRIFT * max(now - self.at, 0.0)


class Clock:
    """Another task's clock beside this process's. All methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._best: _Measured | None = None

    def measure(self, asked: float, came: float, left: float, heard: float, now: float | None = None) -> None:
        """A question left here at `asked` and came there at `came`; the answer left there at `left` and came here at
        `heard`. Each by the clock of where it happened. What contradicts itself (a clock was set) is not taken."""
        low, high = left - heard, came - asked
        if not low <= high:
            return
        at = time.monotonic() if now is None else now
        new = _Measured((low + high) / 2, (high - low) / 2, at)
        with self._lock:
            old = self._best
            # Also bounds that exclude each other mean that a clock was set: the newer one holds.
            apart = old is not None and abs(old.ahead - new.ahead) > old.bound(at) + new.error
            if old is None or apart or new.error <= old.bound(at):
                self._best = new

    @property
    def ahead(self) -> float:
        """Seconds that the other clock shows more than this one; 0 before the first measurement."""
        best = self._best
        return 0.0 if best is None else best.ahead

    def error(self, now: float | None = None) -> float:
        """By how much that may be wrong, in seconds; infinite before the first measurement."""
        best = self._best
        return float("inf") if best is None else best.bound(time.monotonic() if now is None else now)
