"""A training that the builder has started: a thread runs an operation many times, and reports the loss.

It ends after its steps, by `stop`, by an error, with the view, or when the user interrupts the kernel. Invariant: the
last report tells how it ended, and its thread has ended then or ends at once.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from tfnb.ir.tensor import Tensor
from tfnb.notebook.builder.runs.feeds import MissingFeeds
from tfnb.notebook.interrupts import watch_interrupts
from tfnb.notebook.protocol.builder import LossPoint

__all__ = ["Training"]

SECONDS_PER_REPORT = 0.1
SECONDS_TO_END = 10.0
SECONDS_OF_RATE = 3.0
State = Literal["running", "done", "stopped", "failed"]


class Training:
    """`step(feeds)` runs one step and returns the loss; `feeds(k)` returns what step k is fed.

    `report` receives the progress, in the thread; `ended` is called in the thread at the end.
    """

    def __init__(
        self,
        node: str,
        steps: int,
        step: Callable[[Mapping[Tensor, object]], Any],
        feeds: Callable[[int], Mapping[Tensor, object]],
        report: Callable[[LossPoint], None],
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        self._node, self._steps = node, steps
        self._step, self._feeds, self._report, self._ended = step, feeds, report, ended
        self._stop = threading.Event()
        self._message = "stopped"
        self._clock = _Clock(steps)
        self._broken = _Broken()
        self._thread = threading.Thread(target=self._work, name="tfnb-builder-training", daemon=True)

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def start(self) -> None:
        self._thread.start()

    def stop(self, message: str = "stopped") -> None:
        """Ends the training after its present step. Further calls have no effect."""
        if not self._stop.is_set():
            self._message = message
            self._stop.set()

    def join(self) -> None:
        """Waits for the end of the thread, but not for ever if a step hangs."""
        if self._thread is not threading.current_thread() and self._thread.ident is not None:
            self._thread.join(SECONDS_TO_END)

    def _work(self) -> None:
        unwatch = watch_interrupts(lambda: self.stop("stopped by an interrupt of the kernel"))
        state: Literal["running", "done", "stopped", "failed"]
        done, loss, state, message = 0, math.nan, "done", ""
        needs: list[str] = []
        last_report = -math.inf
        begin = time.monotonic()
        try:
            while done < self._steps and not self._stop.is_set():
                loss = _number(self._step(self._feeds(done)))
                done += 1
                self._broken.add(done, loss)
                self._clock.step(done)
                now = time.monotonic()
                if now - last_report > SECONDS_PER_REPORT and done < self._steps:
                    last_report = now
                    self._report(self._point(done, loss, "running", ""))
            if done < self._steps:
                state, message = "stopped", self._message
            else:
                message = f"{done:,} steps in {time.monotonic() - begin:.1f} s"
        except Exception as error:  # of the graph or of a feed: the user's, so it is reported at the node
            state, message = "failed", f"step {done + 1:,}: {type(error).__name__}: {error}"[:1000]
            if isinstance(error, MissingFeeds) and not done:  # nothing has been trained: the feed is asked for again
                needs, message = error.needs, error.message
        finally:
            unwatch()
            self._ended()
            self._report(self._point(done, loss, state, message, needs))

    def _point(
        self,
        step: int,
        loss: float,
        state: Literal["running", "done", "stopped", "failed"],
        message: str,
        needs: Sequence[str] = (),
    ) -> LossPoint:
        # JSON has no NaN; the message tells it in words.
        if math.isfinite(loss):
            value = loss
        else:
            value, message = 0.0, message or f"the loss is {loss}"
        return {
            "type": "training",
            "node": self._node,
            "step": step,
            "value": value,
            "is_finite": math.isfinite(loss),
            "progress": self._clock.words(step, state == "running"),
            "broken": self._broken.words,
            "state": state,
            "message": message,
            "needs": list(needs),
        }


class _Clock:
    """The rate of a training, of its last seconds, so that compiling in the first steps does not count."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._marks: deque[tuple[float, int]] = deque()

    def step(self, done: int) -> None:
        """Must be called after each step."""
        now = time.monotonic()
        if not self._marks or now - self._marks[-1][0] >= SECONDS_PER_REPORT:
            self._marks.append((now, done))
            while now - self._marks[0][0] > SECONDS_OF_RATE and len(self._marks) > 2:
                self._marks.popleft()

    def words(self, done: int, runs: bool) -> str:
        """Returns how far it is: "96 of 3,000 · 35/s · 80 s left"."""
        far = f"{done:,} of {self._steps:,}"
        if not runs or len(self._marks) < 2:
            return far
        (first, before), (last, after) = self._marks[0], self._marks[-1]
        rate = (after - before) / (last - first)
        return f"{far} · {rate:.3g}/s · {duration((self._steps - done) / rate)} left"


class _Broken:
    """The first loss that was not finite, and whether all later ones were not finite either."""

    def __init__(self) -> None:
        self._word, self._first, self._lasts = "", 0, True

    def add(self, step: int, loss: float) -> None:
        """Takes the loss of a step."""
        if not math.isfinite(loss):
            if not self._word:
                self._word, self._first = "NaN" if math.isnan(loss) else f"{loss}", step
        elif self._word:
            self._lasts = False

    @property
    def words(self) -> str:
        """As "NaN since step 212", or "inf at step 7" if finite losses followed; "" if all were finite."""
        return f"{self._word} {'since' if self._lasts else 'at'} step {self._first:,}" if self._word else ""


def duration(seconds: float) -> str:
    """Returns a duration that a person can read: "80 s", "12 min", "3.5 h"."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _number(value: object) -> float:
    """Returns the loss as a number: of an array its mean, of nothing NaN."""
    if value is None:
        return math.nan
    array = np.asarray(value)
    return float(array.astype(np.float64).mean()) if array.size and array.dtype.kind in "buifV" else math.nan
