"""Conversion of device times to host times; OpenCL measures the times of events with a clock of the device.

Each batch of launches gives a lower and an upper bound of the difference. Earlier bounds stay valid up to the drift.
Invariant: a time is never mapped outside the bounds of its own batch.
"""

from __future__ import annotations

import math
import time

import pyopencl as cl

__all__ = ["DeviceClock", "RunEvent", "SeenEvent"]

_DRIFT = 1e-4  # the largest relative drift of the two clocks


class DeviceClock:
    """The difference between the clocks of a device and of the host. All times are microseconds."""

    def __init__(self) -> None:
        self._low, self._high, self._when = float("-inf"), float("inf"), 0.0

    def zero(self, before: float, first: float, last: float, after: float, most: float = float("inf")) -> float:
        """Returns the number to add to a time of the device to get the time of the host.

        The first launch was queued at the device's time `first`, which was after the host's time `before`; the last one
        at the device's time `last`, which was before the host's time `after`. `most` is another upper bound.
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
    """The last event of a traced run. `seen` is the time, by `time.perf_counter`, at which the first thread that waited
    for the event continued, so the run ended before it."""

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
"""The event at the end of a run: that of the last launch, or that of a traced run."""
