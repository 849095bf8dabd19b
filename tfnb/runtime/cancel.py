"""The cancellation of a running step and of its kernels that wait.

White paper, section 4.6 (queues) and OSDI'16, section 3.3: an operation that waits registers a callback that wakes it.
Invariant: a callback is called at most once and never under the lock. Later errors do not replace the first one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from tfnb.system.interrupts import check_signals, noted

__all__ = ["Cancellation", "raise_stopped"]

Callback = Callable[[BaseException], None]


class Cancellation:
    """The cancellation of one step. All methods may be called from any thread.

    `error` is the reason once the step was cancelled, and None before.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._callbacks: dict[int, Callback] = {}
        self._next = 0
        self.error: BaseException | None = None

    def on_cancel(self, callback: Callback) -> Callable[[], None]:
        """Registers `callback(error)` for the cancellation and calls it at once if that has happened already.

        Returns a function that removes the callback.
        """
        with self._lock:
            error, place = self.error, self._next
            if error is None:
                self._callbacks[place] = callback
                self._next += 1
        if error is not None:
            callback(error)
        return lambda: self._withdraw(place)

    def cancel(self, error: BaseException) -> bool:
        """Cancels the step with this error and calls all callbacks.

        Returns False, and does nothing, if that was done before.
        """
        with self._lock:
            if self.error is not None:
                return False
            self.error = error
            callbacks = list(self._callbacks.values())
            self._callbacks.clear()
        for callback in callbacks:
            callback(error)
        return True

    def _withdraw(self, place: int) -> None:
        with self._lock:
            self._callbacks.pop(place, None)


def raise_stopped(cancellation: Cancellation) -> None:
    """Raises the error of a cancellation, or what the handlers of signals raise that have waited long enough."""
    if cancellation.error is not None:
        raise cancellation.error
    if noted:
        check_signals()
