"""Operations that wait for a resource to change, and are retried whenever it does (white paper, section 4.6).

This is the core of queues, accumulators and locks. An attempt is tried at once; if it cannot proceed it is queued in
order of arrival, and the operation that changes the resource retries it. No thread waits. Invariant: an attempt is
answered once and never under the lock; one that fails or is cancelled returns what it had taken.

An attempt that waits can say what it waits for, and a step that runs into its deadline prints that. Cancelling a step
or closing a session ends all waiting.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from tfnb.errors import CancelledError
from tfnb.ir.opdef import AsyncCall

__all__ = ["Attempt", "Lines"]


class Attempt:
    """One operation on a resource.

    `step()` tries the operation under the resource's lock. It returns True when the attempt is finished (with `result`
    or `error` set), and False to wait; it sets `moved` if it changed the resource without finishing. `undo()` returns
    what was taken so far. A `result` that is a function is called outside the lock.
    """

    __slots__ = ("call", "error", "moved", "result", "step", "undo", "withdraw")

    def __init__(
        self, call: AsyncCall, step: Callable[[Attempt], bool], undo: Callable[[], None] | None = None
    ) -> None:
        self.call = call
        self.step = step
        self.undo = undo
        self.moved = False
        self.result: Any = ()
        self.error: BaseException | None = None
        self.withdraw: Callable[[], None] | None = None

    def fail(self, error: BaseException) -> bool:
        self.error = error
        return True

    def answer(self) -> None:
        if self.withdraw is not None:
            self.withdraw()
        if self.error is not None:
            self.call.fail(self.error)
            return
        try:
            result = self.result() if callable(self.result) else self.result
        except Exception as e:
            self.call.fail(e)
            return
        self.call.done(result)


class Lines:
    """The waiting lists of one resource under one lock; after a change, the head of each list is retried."""

    def __init__(self, *names: str) -> None:
        self.lock = threading.Lock()
        self._lines: dict[str, deque[Attempt]] = {name: deque() for name in names}
        self._poked = False

    def waiting(self, line: str) -> int:
        """Returns the number of attempts in a list. To be called under the lock."""
        return len(self._lines[line])

    def submit(self, line: str, attempt: Attempt) -> bool:
        """Queues `attempt` at the end of its list and retries; True if it was answered at once."""
        with self.lock:
            self._lines[line].append(attempt)
            settled = self._flush()
            left = attempt in self._lines[line]
        self._settle(settled)
        if left:
            self._watch(line, attempt)
        return not left

    def poke(self) -> None:
        """Retries the waiting attempts after a change of the resource."""
        with self.lock:
            settled = self._flush()
        self._settle(settled)

    def poke_from_anywhere(self) -> None:
        """As `poke`, also when this thread may be inside a method of this object, as in `__del__`."""
        self._poked = True
        self._settle([])

    def _settle(self, done: list[Attempt]) -> None:
        """Answers attempts outside the lock; then handles any pokes that arrived meanwhile."""
        while True:
            for a in done:
                a.answer()
            # A thread that finds the lock taken leaves: the holder of the lock runs this loop afterwards.
            if not self._poked or not self.lock.acquire(blocking=False):
                return
            try:
                self._poked = False
                done = self._flush()
            finally:
                self.lock.release()

    def cancel_line(self, line: str, text: str) -> None:
        """Fails all attempts in a list; the parts that they have already done remain."""
        with self.lock:
            cancelled = list(self._lines[line])
            self._lines[line].clear()
            for a in cancelled:
                a.error = CancelledError(text)
                if a.undo is not None:
                    a.undo()
            settled = [*cancelled, *self._flush()]
        self._settle(settled)

    def _watch(self, line: str, attempt: Attempt) -> None:
        withdraw = attempt.call.on_cancel(lambda error: self._cancel(line, attempt, error))
        with self.lock:
            attempt.withdraw = withdraw
            waits = attempt in self._lines[line]
        self._settle([])
        if not waits:
            withdraw()

    def _cancel(self, line: str, attempt: Attempt, reason: BaseException) -> None:
        with self.lock:
            if attempt not in self._lines[line]:
                return
            if isinstance(reason, CancelledError) and "operation was cancelled" not in reason.message:
                reason.prefix(f"{line} operation was cancelled: ")
            self._lines[line].remove(attempt)
            if attempt.undo is not None:
                attempt.undo()
            attempt.error = CancelledError(f"{line} operation was cancelled")
            settled = [attempt, *self._flush()]
        self._settle(settled)

    def _flush(self) -> list[Attempt]:
        """Retries the heads until none can proceed; returns the finished attempts, to be answered outside the lock."""
        settled: list[Attempt] = []
        progress = True
        while progress:
            progress = False
            for line in self._lines.values():
                while line:
                    head = line[0]
                    ended = self._try(head)
                    progress = progress or ended or head.moved
                    head.moved = False
                    if not ended:
                        break
                    settled.append(line.popleft())
        return settled

    def _try(self, attempt: Attempt) -> bool:
        try:
            return attempt.step(attempt)
        except Exception as e:
            return attempt.fail(e)
