"""Calls functions when the user interrupts the kernel, for work that views have started in threads.

While no cell runs, ipykernel ignores the signal of an interrupt; `watch_interrupts` sets a handler for that time, in
the main thread between two messages. While a cell runs, the interrupt ends the cell with a `KeyboardInterrupt`, which
is reported here as well. Invariant: a running cell is interrupted as always.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Protocol

from IPython import get_ipython

from tfnb.notebook.replaceable_output import in_kernel

__all__ = ["watch_interrupts"]

SECONDS_TO_RETRY = 0.2  # while a cell runs, the handler is the cell's

_watching: list[Callable[[], None]] = []


def watch_interrupts(act: Callable[[], None]) -> Callable[[], None]:
    """Calls `act` at each interrupt, until the returned function is called. Outside of a kernel it does nothing.

    Both functions may be called in any thread.
    """
    if not in_kernel():
        return lambda: None
    shell = get_ipython()

    def cell_ended(result: object = None) -> None:
        if isinstance(getattr(result, "error_in_exec", None), KeyboardInterrupt):
            act()

    def end() -> None:
        if act in _watching:
            _watching.remove(act)
            shell.events.unregister("post_run_cell", cell_ended)
            shell.kernel.io_loop.add_callback(_set_handler, shell.kernel.io_loop)

    _watching.append(act)
    shell.events.register("post_run_cell", cell_ended)
    shell.kernel.io_loop.add_callback(_set_handler, shell.kernel.io_loop)
    return end


class EventLoop(Protocol):
    """The loop of the kernel's main thread."""

    def call_later(self, delay: float, callback: Callable[..., None], /, *args: object) -> object: ...


def _set_handler(loop: EventLoop) -> None:
    """Sets the handler if somebody watches, and else removes it; in the main thread."""
    needed, other = (_interrupted, signal.SIG_IGN) if _watching else (signal.SIG_IGN, _interrupted)
    current = signal.getsignal(signal.SIGINT)
    if current is other:
        signal.signal(signal.SIGINT, needed)
    elif current is not needed:  # a cell runs, and ipykernel restores the handler at its end
        loop.call_later(SECONDS_TO_RETRY, _set_handler, loop)


def _interrupted(_number: int, _frame: object) -> None:
    for act in list(_watching):
        act()
