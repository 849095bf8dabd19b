"""Signals while a step runs: their handlers are called where nothing is half done (white paper, section 3.3).

Python calls a signal's handler in the main thread between any two calls. It may raise anything there, or use a session,
and no `try` block protects locks, queues and counters against that. Inside `with HeldInterrupts(wake):` signals are
only noted, and `wake` is called so that a waiting loop looks at them. Their handlers are called at checks, or when the
outermost block is left, as after a call of C; at once in functions of the user's, inside `interruptible()`. What a
handler raises leaves the outermost block as it is. Invariant: inside of a block no handler is called elsewhere, but for
a second Ctrl-C after a second in which nothing has reacted.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from signal import SIGINT, default_int_handler
from types import FrameType, TracebackType

from tfnb.errors import OpError
from tfnb.system.signal_relays import handler_of, install, relays

__all__ = [
    "LONGEST_WAIT",
    "HeldInterrupts",
    "check_signals",
    "ctrl_c_at_once",
    "hold",
    "holding_handlers",
    "holding_interrupts",
    "interruptible",
    "is_from_handler",
    "noted",
    "raise_if_held",
    "raise_if_overdue",
    "release",
    "seconds_until_due",
]

_get_ident = threading.get_ident
_PATIENCE = 1.0  # seconds after which a second Ctrl-C is raised wherever the main thread is
_SOON = 0.1  # seconds for which a handler waits for the step to end, so that it is called between two steps
LONGEST_WAIT = 0.1
"""Seconds for which the main thread may wait for a lock or a file without executing code of Python's. A signal ends
such a wait, but not if it comes when the thread has just decided to wait."""

_main_thread = threading.main_thread().ident
_innermost: HeldInterrupts | None = None  # of the main thread

noted: dict[int, float] = {}
"""The signals whose handlers wait, each with the time at which it came; `if noted:` is the fastest test for them."""

_ctrl_c: KeyboardInterrupt | None = None  # what Python's own handler of SIGINT, which is among them, will raise
_raised: BaseException | None = None  # the latest exception that a handler has raised within the outermost block


class HeldInterrupts:
    """A context manager inside which signals are noted instead of handled.

    It does nothing in threads other than the main one, because handlers are never called there. `wake` must not wait
    for a lock that the main thread may hold. Without `runs_handlers`, something is half done or locked in the whole
    block, so `check` raises KeyboardInterrupt for Ctrl-C, but calls no handler of the program's. With `passes_ctrl_c`,
    Ctrl-C raises KeyboardInterrupt at once: the block is protected only against handlers of the program's.
    """

    __slots__ = ("_is_entered", "_outer", "allowed", "passes_ctrl_c", "runs_handlers", "wake")

    def __init__(
        self, wake: Callable[[], None] | None = None, runs_handlers: bool = True, passes_ctrl_c: bool = False
    ) -> None:
        self.wake = wake
        self.runs_handlers = runs_handlers
        self.passes_ctrl_c = passes_ctrl_c
        self.allowed = False  # whether a function of the user's is running
        self._is_entered = False

    def __enter__(self) -> HeldInterrupts:
        global _innermost
        if _get_ident() == _main_thread:
            self._outer = outer = _innermost
            if outer is None:
                if not _is_complete:
                    _complete()
                for relay in relays:
                    relay.__call__ = relay.note
            elif not outer.allowed and not outer.runs_handlers:
                self.runs_handlers = False
            self._is_entered = True
            _innermost = self
        return self

    def as_outermost(self) -> HeldInterrupts:
        """Makes this a block that is never entered by itself."""
        self._outer = None
        self._is_entered = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        global _innermost, _raised
        if not self._is_entered:
            return
        self._is_entered = self is _of_session
        _innermost = outer = self._outer
        if outer is None:
            for relay in relays:
                relay.__call__ = relay.handler
        elif not outer.allowed:
            return
        if noted:
            _call_handlers(list(noted))
        if _raised is not None:
            own = _raised
            if outer is None:
                _raised = None
            if error is not None and error is not own and _reports(error, own):
                _raise_again(own)

    @property
    def error(self) -> KeyboardInterrupt | None:
        """The KeyboardInterrupt of a Ctrl-C that was noted."""
        return _ctrl_c

    @property
    def is_holding(self) -> bool:
        """Whether signals would come here: not in threads other than the main one."""
        return self._is_entered

    def check(self) -> None:
        """Calls handlers that wait, whatever step is running; the caller holds no lock."""
        if noted and self._is_entered:
            if self.runs_handlers:
                _call_amid(self, list(noted))
            else:
                raise_if_held()


_of_session = HeldInterrupts().as_outermost()  # the block of a call of a session that is the outermost one


def hold() -> HeldInterrupts | None:
    """Begins a block around a call of a session, for `release`; None in threads other than the main one.

    The same as `HeldInterrupts().__enter__()` in less time: a small step takes 15 us.
    """
    global _innermost
    if _get_ident() != _main_thread:
        return None
    if _innermost is not None or not _is_complete:
        return HeldInterrupts().__enter__()
    for relay in relays:
        relay.__call__ = relay.note
    _innermost = _of_session
    return _of_session


def release(held: HeldInterrupts) -> None:
    """Ends a block that `hold` has begun; for a `finally` clause."""
    global _innermost
    if held is _of_session and _raised is None:
        _innermost = None
        for relay in relays:
            relay.__call__ = relay.handler
        if noted:
            _call_handlers(list(noted))
    else:
        error = sys.exc_info()[1]
        held.__exit__(None if error is None else type(error), error, None)


def check_signals() -> None:
    """Calls handlers that have waited so long that the running step will not end soon, or raises Ctrl-C.

    The caller holds no lock, and nothing is half done. Does nothing in threads other than the main one.
    """
    held = _innermost
    if held is None or _get_ident() != _main_thread:
        return
    raise_if_held()
    if held.runs_handlers and not held.allowed:
        now = time.monotonic()
        due = [number for number, since in list(noted.items()) if now - since >= _SOON]
        if due:
            _call_amid(held, due)


def seconds_until_due() -> float | None:
    """The seconds after which `check_signals` will call a handler; None if no handler waits for this thread."""
    held = _innermost
    if not noted or held is None or not held.runs_handlers or _get_ident() != _main_thread:
        return None
    return max(min(noted.values()) + _SOON - time.monotonic(), 0.0)


def is_from_handler(error: BaseException) -> bool:
    """Returns whether this is what a signal handler has raised while a step ran, or what the step made of that.

    A KeyboardInterrupt of the main thread counts as one, whoever has raised it.
    """
    if isinstance(error, KeyboardInterrupt) and _get_ident() == _main_thread:
        return True
    own = _raised
    return own is not None and (error is own or _reports(error, own))


def _call_amid(held: HeldInterrupts, numbers: list[int]) -> None:
    """Calls handlers within a block, as a function of the user's."""
    before, held.allowed = held.allowed, True
    try:
        _call_handlers(numbers)
    finally:
        held.allowed = before


def _call_handlers(numbers: list[int]) -> None:
    """Calls the handlers of these noted signals, in their order, as Python does, also if one of them raises."""
    global _ctrl_c
    try:
        while waiting := sorted(n for n in numbers if n in noted):
            number = waiting[0]
            del noted[number]
            if number == SIGINT:
                _ctrl_c = None
            handler = handler_of(number)
            if callable(handler):  # else the program has meanwhile decided to ignore the signal
                _call(handler, number, sys._getframe())
    finally:
        if any(n in noted for n in numbers):
            _call_handlers(numbers)


def _call(handler: Callable[[int, FrameType | None], object], number: int, frame: FrameType | None) -> None:
    global _raised
    try:
        handler(number, frame)
    except BaseException as e:
        if _innermost is not None:
            _raised = e
        raise


def _note(number: int, frame: FrameType | None) -> None:
    """Handles a signal while handlers must wait."""
    global _ctrl_c
    held, handler = _innermost, handler_of(number)
    if held is None or held.allowed:  # the outermost block is being entered or left, or a function of the user's runs
        noted.setdefault(number, 0.0)
        _call_handlers(list(noted))
        return
    is_ctrl_c = number == SIGINT and handler is default_int_handler
    now = time.monotonic()
    is_overdue = number == SIGINT and number in noted and now - noted[number] > _PATIENCE
    if is_overdue or (is_ctrl_c and held.passes_ctrl_c):
        noted.pop(number, None)
        _ctrl_c = None
        _call(handler, number, frame)
        return
    if is_ctrl_c and _ctrl_c is None:
        _ctrl_c = KeyboardInterrupt()
    noted.setdefault(number, now)
    block: HeldInterrupts | None = held
    while block is not None:
        if block.wake is not None:
            block.wake()
        block = block._outer


def _reports(error: BaseException, own: BaseException) -> bool:
    """Returns whether an error says nothing but that `own` was raised in a function that a step has called."""
    while isinstance(error, OpError) and error.__cause__ is not None:
        error = error.__cause__
        if error is own:
            return True
    return False


def _raise_again(own: BaseException) -> None:
    """Raises what a handler has raised, without the error that the step made of it as its context."""
    context = own.__context__
    try:
        raise own
    finally:
        own.__context__ = context


def holding_interrupts() -> HeldInterrupts:
    """Returns a context in which signals are noted, and in which something is locked or half done."""
    return HeldInterrupts(runs_handlers=False)


def holding_handlers() -> HeldInterrupts:
    """Returns a context in which handlers of the program's wait, and Ctrl-C raises KeyboardInterrupt as it does there.

    For functions that hold a lock which a handler may ask for.
    """
    held = _innermost
    passes = held is None or held.allowed or held.passes_ctrl_c
    return HeldInterrupts(runs_handlers=False, passes_ctrl_c=passes)


class interruptible:
    """A context manager around a function of the user's that a step calls; inside of it handlers are called at once."""

    __slots__ = ("_before", "_held")

    def __enter__(self) -> None:
        self._held = held = _innermost if _get_ident() == _main_thread else None
        if held is not None:
            if noted:
                _call_amid(held, list(noted))
            self._before = held.allowed
            held.allowed = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._held is not None:
            self._held.allowed = self._before


class ctrl_c_at_once:
    """A context manager around work that changes nothing but its own results: Ctrl-C raises KeyboardInterrupt there."""

    __slots__ = ("_before", "_held")

    def __enter__(self) -> None:
        self._held = held = _innermost if _get_ident() == _main_thread else None
        if held is not None:
            self._before = held.passes_ctrl_c
            held.passes_ctrl_c = True
            raise_if_held()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._held is not None:
            self._held.passes_ctrl_c = self._before


def raise_if_held() -> None:
    """Raises KeyboardInterrupt if Ctrl-C is held back. Long work calls this where nothing is half done."""
    global _ctrl_c, _raised
    if _ctrl_c is not None and _get_ident() == _main_thread:
        interrupt, _ctrl_c = _ctrl_c, None
        noted.pop(SIGINT, None)
        if _innermost is not None:
            _raised = interrupt
        raise interrupt


def raise_if_overdue() -> None:
    """Calls handlers that have waited for a second. Work of the user's that may never end calls this."""
    held = _innermost
    if not noted or held is None or held.allowed or _get_ident() != _main_thread:
        return
    now = time.monotonic()
    due = [number for number, since in list(noted.items()) if now - since > _PATIENCE]
    if due:
        _call_amid(held, due)


def _after_fork() -> None:
    global _main_thread, _innermost, _ctrl_c, _raised
    _main_thread = threading.main_thread().ident
    _innermost = _ctrl_c = _raised = None
    noted.clear()
    for relay in relays:
        relay.__call__ = relay.handler


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _complete() -> None:
    """Puts relays before handlers that were set before this module was imported, if another thread has imported it."""
    global _is_complete
    _is_complete = install(_note, lambda: _innermost is not None)


_is_complete = install(_note, lambda: _innermost is not None)
