"""A training that the builder has started: a thread runs an operation many times, and reports the loss.

It ends after its steps, by `stop`, by an error, with the view, or when the user interrupts the kernel. Invariant: the
last report tells how it ended, and its thread has ended then or ends at once.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from tfnb.ir.tensor import Tensor
from tfnb.notebook.interrupts import watch_interrupts
from tfnb.notebook.protocol.builder import LossPoint

__all__ = ["Training"]

SECONDS_PER_REPORT = 0.1
SECONDS_TO_END = 10.0
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
        done, loss, state, message = 0, math.nan, "done", ""
        last_report = -math.inf
        begin = time.monotonic()
        try:
            while done < self._steps and not self._stop.is_set():
                loss = _number(self._step(self._feeds(done)))
                done += 1
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
        finally:
            unwatch()
            self._ended()
            self._report(self._point(done, loss, state, message))

    def _point(self, step: int, loss: float, state: Any, message: str) -> LossPoint:
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
            "state": state,
            "message": message,
            "needs": [],
        }


def _number(value: object) -> float:
    """Returns the loss as a number: of an array its mean, of nothing NaN."""
    if value is None:
        return math.nan
    array = np.asarray(value)
    return float(array.astype(np.float64).mean()) if array.size and array.dtype.kind in "buifV" else math.nan
