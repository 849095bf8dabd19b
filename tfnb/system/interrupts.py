"""Delaying Ctrl-C while a step runs, so that it interrupts nothing half done (white paper, section 3.3).

Python raises KeyboardInterrupt in the main thread between any two calls, and no `try` block can protect the bookkeeping
of locks, queues and counters against that. Inside `with HeldInterrupts(wake) as held:` the signal is only noted in
`held.error`, and `wake` is called so that a waiting loop looks at it; the loop raises it where nothing is half done.
Functions of the user's run inside `interruptible()`, where Ctrl-C is raised at once as everywhere in Python.
Invariant: between entering and leaving the block, Ctrl-C raises nothing outside of `interruptible()`, unless the user
presses it again after a second in which nothing has reacted.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import os
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from signal import SIGINT
from types import FrameType, TracebackType

__all__ = ["HeldInterrupts", "holding_interrupts", "interruptible", "raise_if_held", "raise_if_overdue"]

_set_handler = _signal.signal  # `signal.signal` is a wrapper around it that costs ten times as much
_get_ident = threading.get_ident
_PATIENCE = 1.0  # seconds after which a second Ctrl-C is raised wherever the main thread is
_main_thread = threading.main_thread().ident
_innermost: HeldInterrupts | None = None  # of the main thread


def _note_main_thread() -> None:
    global _main_thread, _innermost
    _main_thread = threading.main_thread().ident
    _innermost = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_main_thread)


class HeldInterrupts:
    """A context manager inside which Ctrl-C is noted in `error` instead of raised.

    It does nothing in threads other than the main one, because these never get a KeyboardInterrupt. The signal handler
    calls the handler that was installed before, and stores the exception that this raises in `error`; then it calls
    `wake`, which must not wait for a lock that the main thread may hold. Leaving the block raises `error`, unless the
    block is left by an exception of the same class.
    """

    __slots__ = ("_before", "_handler", "_outer", "allowed", "error", "since", "wake")

    since: float  # when `error` came, by the monotonic clock in seconds

    def __init__(self, wake: Callable[[], None] | None = None) -> None:
        self.wake = wake
        self.error: BaseException | None = None
        self.allowed = False  # whether a function of the user's is running
        self._handler: Callable[[int, FrameType | None], None] | None = None

    def __enter__(self) -> HeldInterrupts:
        global _innermost
        if _get_ident() == _main_thread:
            self._before = None  # a signal may arrive during the next line, and its handler needs this
            self._outer = _innermost
            self._handler = handler = self._caught
            self._before = before = _set_handler(SIGINT, handler)
            if not callable(before):  # Ctrl-C is ignored, or ends the process
                _set_handler(SIGINT, before)
                self._handler = None
            else:
                _innermost = self
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        global _innermost
        handler, self._handler = self._handler, None  # the handler refers to this object
        if handler is None:
            return
        _innermost = self._outer
        current_handler = _set_handler(SIGINT, self._before)
        if current_handler is not handler:  # the user has set another one meanwhile
            _set_handler(SIGINT, current_handler)
        interrupt = self.error
        if interrupt is not None and interrupt is not error and not isinstance(error, type(interrupt)):
            raise interrupt

    @property
    def is_holding(self) -> bool:
        """Whether a Ctrl-C would come here: not in threads other than the main one."""
        return self._handler is not None

    def check(self) -> None:
        """Raises the interrupt that was held back, if there is one."""
        if self.error is not None:
            raise self.error

    def _caught(self, number: int, frame: FrameType | None) -> None:
        """Handles SIGINT: notes the interrupt, or raises it where that is allowed or overdue."""
        interrupt: BaseException | None = None
        try:
            if self._before is None:
                raise KeyboardInterrupt
            self._before(number, frame)
            if self._outer is not None:
                interrupt = self._outer.error
        except BaseException as e:
            interrupt = e
        if interrupt is None:
            return  # a handler of the user's, which took note of the signal and raised nothing
        now = time.monotonic()
        if self.allowed or (self.error is not None and now - self.since > _PATIENCE):
            raise interrupt
        if self.error is None:
            self.error, self.since = interrupt, now
        if self.wake is not None:
            self.wake()


def holding_interrupts() -> AbstractContextManager[object]:
    """Returns a context in which Ctrl-C is noted. Inside of another one it is raised where that one raises it."""
    return HeldInterrupts() if _innermost is None and _get_ident() == _main_thread else _NOTHING


_NOTHING = nullcontext()


class interruptible:
    """A context manager around a function of the user's that a step calls; inside of it Ctrl-C is raised at once."""

    __slots__ = ("_held",)

    def __enter__(self) -> None:
        self._held = held = _innermost if _get_ident() == _main_thread else None
        if held is not None:
            held.check()
            held.allowed = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._held is not None:
            self._held.allowed = False


def raise_if_held() -> None:
    """Raises an interrupt that is held back. Long work calls this where nothing is half done."""
    held = _innermost
    if held is not None and held.error is not None and _get_ident() == _main_thread:
        raise held.error


def raise_if_overdue() -> None:
    """Raises an interrupt that has been held back for a second. Work that may never end calls this."""
    held = _innermost
    if held is None or held.error is None or _get_ident() != _main_thread:
        return
    if time.monotonic() - held.since > _PATIENCE:
        raise held.error
