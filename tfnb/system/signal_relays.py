"""Objects that stand between Python and the program's signal handlers, so that all of them can be made to wait at once.

Python calls a handler in the main thread between any two calls. For each signal with a handler in Python there is a
`Relay`, which Python calls instead: it passes the signal on to the handler, or, while handlers must wait, to a function
that notes it. Switching a relay is a single store, so a step pays for it next to nothing, and a relay that passes
signals on adds no frame to tracebacks. Invariant: nobody else sees relays; `signal.signal` and `signal.getsignal` take
and return the program's own handlers, from whichever module they were imported.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import threading
from collections.abc import Callable
from functools import wraps
from types import FrameType
from typing import Any

__all__ = ["Relay", "handler_of", "install", "relays"]

Handler = Callable[[int, "FrameType | None"], object]

# `signal.signal` and `signal.getsignal` are functions in Python that look these two up at each call.
_set_handler: Callable[[int, Any], Any] = _signal.signal
_get_handler: Callable[[int], Any] = _signal.getsignal

relays: list[Relay] = []
"""All relays. For each in turn `relay.__call__ = relay.note` lets handlers wait, and `= relay.handler` ends that."""

_by_number: dict[int, Relay] = {}
_note: Handler  # what relays do with a signal that must wait
_must_wait: Callable[[], bool]  # whether they have to do it now


class Relay:
    """The object that Python has as the handler of one signal: `handler` is the program's own one, `note` the other.

    `__call__` is a slot of the object: Python finds the function to call there without executing any code of Python's.
    """

    __slots__ = ("__call__", "handler", "note")

    def __init__(self, handler: Handler, note: Handler) -> None:
        self.handler = handler
        self.note = note
        self.__call__ = note if _must_wait() else handler


def handler_of(number: int) -> Any:
    """Returns the program's own handler of a signal, or what stands for none, as `signal.getsignal` does."""
    current = _get_handler(number)
    return current.handler if type(current) is Relay else current


def _set(signalnum: int, handler: Handler | int | None, /) -> Any:
    """Sets the handler of a signal as `signal.signal` does, with a relay in front of it."""
    if type(handler) is Relay:
        handler = handler.handler
    relay = Relay(handler, _note) if callable(handler) else None
    before = _set_handler(signalnum, handler if relay is None else relay)
    if relay is not None:
        _by_number[signalnum] = relay
    else:
        _by_number.pop(signalnum, None)
    relays[:] = list(_by_number.values())
    return before.handler if type(before) is Relay else before


def install(note: Handler, must_wait: Callable[[], bool]) -> bool:
    """Puts relays in front of all present and later handlers. `note` is called for signals that must wait.

    `must_wait` says whether a relay that is made now begins so.
    Returns False in threads other than the main one, in which Python sets no handlers: then later handlers only.
    """
    global _note, _must_wait
    _note, _must_wait = note, must_wait
    if _signal.signal is _set_handler:
        _signal.signal = wraps(_set_handler)(_set)
        _signal.getsignal = wraps(_get_handler)(handler_of)
    if threading.current_thread() is not threading.main_thread():
        return False
    for number in _signal.valid_signals():
        handler = _get_handler(number)
        if callable(handler) and type(handler) is not Relay:
            _set(number, handler)
    return True
