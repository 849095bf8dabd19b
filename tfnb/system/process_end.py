"""The end of the process: before Python ends, daemon threads leave the devices.

A daemon thread that asks for the interpreter's lock after Python has begun to end is ended by unwinding its stack.
OpenCL's compiler and queues are C++, whose frames cannot be unwound so: the process aborts. Programs with queues leave
such threads running. Invariant: when the exit handler of this module returns, no thread but the main one begins or
leaves a step or its compilation: running steps are cancelled, and their threads are held where they leave them. A
thread that Python stops inside would keep its locks for ever, and the last `__del__` that runs a step would wait for
them.

The main thread can still run steps afterwards: in exit handlers that were registered before tfnb was imported, and in
the `__del__` of the last objects (`threads.py`, `late_imports.py`). The folder of kernels is removed after all of them.
"""

from __future__ import annotations

import atexit
import concurrent.futures.thread  # noqa: F401 (Python cannot import it any more when exit functions run)
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Protocol

from tfnb.system import late_imports
from tfnb.system.live_objects import LiveObjects

__all__ = ["StepOwner", "call_last", "has_begun", "hold", "register", "register_step_code"]

_ON_DEVICES = ("tfnb.devices.opencl", "pyopencl")  # modules whose functions leave the interpreter's lock to others
_PATIENCE = 0.5  # seconds for steps that wait, for example in a function of the program's that does not return
_LONGEST = 30.0  # seconds for kernels and for the compiler, which nothing can stop
_POLL = 1e-3

has_begun = False
"""Whether Python is about to end. Read it as an attribute of the module."""


class StepOwner(Protocol):
    """An object whose steps may run in other threads."""

    def cancel_steps(self, reason: str) -> None:
        """Cancels all steps that run, and does not wait for them."""


_owners: LiveObjects[StepOwner] = LiveObjects()
_step_codes: set[CodeType] = set()
_compiling_codes: set[CodeType] = set()


def register(owner: StepOwner) -> None:
    """Lets the steps of `owner` be cancelled when Python ends, as long as the object exists."""
    _owners.add(owner)


def register_step_code(code: CodeType) -> None:
    """Declares a function whose calls are steps: a thread has left them when no frame of its stack runs `code`."""
    _step_codes.add(code)


def register_compiling_code(code: CodeType) -> None:
    """Declares a function whose calls compile: they cannot be cancelled, and end by themselves."""
    _compiling_codes.add(code)


class _Last:
    """An object that is destroyed after all others: Python clears the module `sys` when the others are gone."""

    def __init__(self) -> None:
        self.functions: list[Callable[[], None]] = []

    def __del__(self) -> None:
        for function in reversed(self.functions):
            function()


def call_last(function: Callable[[], None]) -> None:
    """Lets `function` be called after all exit handlers and all `__del__`, which may run steps; the last comes first.

    It must use nothing but its own object and the functions in C that this has, since all modules are empty by then.
    """
    _last.functions.append(function)


_last: _Last = sys.__dict__.setdefault("_tfnb_last", _Last())


def hold() -> None:
    """Keeps this thread until the process is gone, unless it is the main thread."""
    if threading.current_thread() is not threading.main_thread():
        threading.Event().wait()


def _end() -> None:
    global has_begun
    has_begun = True
    late_imports.keep()
    for owner in _owners.list():
        owner.cancel_steps("the process ends")
    _wait_for_steps()


def _wait_for_steps() -> None:
    start = time.monotonic()
    while in_steps := list(_threads_in_steps()):
        time.sleep(_POLL)
        waited = time.monotonic() - start
        if waited > (_LONGEST if any(in_steps) else _PATIENCE):
            return


def _threads_in_steps() -> Iterator[bool]:
    """For each of the other threads that run steps and are not held: whether it is sure to leave its step soon."""
    own = threading.get_ident()
    for thread, innermost in sys._current_frames().items():
        frame: FrameType | None = innermost
        codes = set()
        while frame is not None:
            codes.add(frame.f_code)
            frame = frame.f_back
        if thread != own and hold.__code__ not in codes and codes & (_step_codes | _compiling_codes):
            yield bool(codes & _compiling_codes) or _is_on_device(innermost)


def _is_on_device(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith(_ON_DEVICES)


atexit.register(_end)
