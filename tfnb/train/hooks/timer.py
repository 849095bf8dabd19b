"""A timer that triggers after a number of steps or seconds.

Invariant: a timer never triggers twice for one step.
"""

from __future__ import annotations

import time
from typing import Any

from tfnb.errors import InvalidArgumentError

__all__ = ["API", "SecondOrStepTimer"]


class SecondOrStepTimer:
    """A timer that triggers at the first step, then every `every_steps` steps or `every_secs` seconds.

    Raises `InvalidArgumentError` unless exactly one of the two is given and is positive.
    """

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        if (every_secs is None) == (every_steps is None):
            raise InvalidArgumentError(
                f"exactly one of every_secs and every_steps must be given, got {every_secs} and {every_steps}"
            )
        if (every_secs if every_steps is None else every_steps) <= 0:  # type: ignore[operator]
            raise InvalidArgumentError(f"invalid every_n_iter or interval, needed > 0, got {every_secs or every_steps}")
        self._every_secs, self._every_steps = every_secs, every_steps
        self.reset()

    def reset(self) -> None:
        """Resets the timer to its state before the first step."""
        self._last_step: int | None = None
        self._last_time = 0.0

    def should_trigger_for_step(self, step: int) -> bool:
        """Returns whether the timer is due at the step with this number."""
        if self._last_step is None:
            return True
        if step == self._last_step:
            return False
        if self._every_secs is not None:
            return time.time() >= self._last_time + self._every_secs
        return step >= self._last_step + (self._every_steps or 0)

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Records that the timer triggered at a step.

        Returns the seconds and the steps since it triggered before, or (None, None) at the first time.
        """
        now = time.time()
        if self._last_step is None:
            elapsed: tuple[float | None, int | None] = (None, None)
        else:
            elapsed = now - self._last_time, step - self._last_step
        self._last_time, self._last_step = now, step
        return elapsed

    def last_triggered_step(self) -> int | None:
        """Returns the step at which the timer triggered last, or None."""
        return self._last_step


API: dict[str, Any] = {"train.SecondOrStepTimer": SecondOrStepTimer}
