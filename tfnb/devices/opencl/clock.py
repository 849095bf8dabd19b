"""How a device's clock reads in the host's time (OpenCL gives event times by a clock of its own).

Each batch of launches bounds the difference from both sides; bounds of before stay good but for the clocks' drift.
Invariant: a time is never mapped outside the bounds of its own batch.
"""

from __future__ import annotations

import math
import time

import pyopencl as cl

__all__ = ["DeviceClock", "RunEvent", "SeenEvent"]

_DRIFT = 1e-4  # the two clocks run apart by less than this


class DeviceClock:
    """Times are microseconds."""

    def __init__(self) -> None:
        self._low, self._high, self._when = float("-inf"), float("inf"), 0.0

    def zero(self, before: float, first: float, last: float, after: float, most: float = float("inf")) -> float:
        """What to add to the device's times to have the host's.

        The first launch was queued at `first` on the device, after `before` on the host; the last one at `last`,
        which was before `after`. `most` is another upper bound.
        """
        low, high = before - first, min(after - last, most)
        drift = _DRIFT * abs(after - self._when)
        self._when = after
        known_low, known_high = self._low - drift, self._high + drift
        if known_low <= high and known_high >= low:
            low, high = max(low, known_low), min(high, known_high)
        self._low, self._high = low, high
        return (low + high) / 2


class SeenEvent:
    """The last event of a traced run. `seen`: when the first who waited for it went on, by `time.perf_counter`; what
    that one did afterwards comes after the run."""

    __slots__ = ("_event", "seen")

    def __init__(self, event: cl.Event) -> None:
        self._event = event
        self.seen = math.inf

    def wait(self) -> None:
        self._event.wait()
        self.seen = min(self.seen, time.perf_counter())

    @property
    def command_execution_status(self) -> cl.command_execution_status:
        return self._event.command_execution_status


RunEvent = cl.Event | SeenEvent
"""What a run ends with: the event of its last launch, or that of a traced run."""
