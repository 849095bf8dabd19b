"""Coordinator: threads that stop together (white paper, sections 4.6 and 6; OSDI'16, section 3.3).

Any thread can request the stop, all threads check `should_stop`, and `join` raises the first error. Invariant: the
first reported error is kept; an error that means a clean end, such as OutOfRangeError, is not raised.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeAlias

from tfnb.errors import DTypeError, FailedPreconditionError, OutOfRangeError

__all__ = ["API", "Coordinator", "ExcInfo", "LooperThread"]

# The value of `sys.exc_info()`.
ExcInfo: TypeAlias = tuple[type[BaseException] | None, BaseException | None, TracebackType | None]

_LOOK = 1.0  # seconds between checks of the threads that are waited for


class StoppedThreadsError(FailedPreconditionError, RuntimeError):
    """Threads were still running when the grace period of their coordinator ended."""


class Coordinator:
    """Coordinates the stop of the threads of a training.

    clean_stop_exception_types: classes of errors that request the stop but are not raised by `join`; by default
    OutOfRangeError, the end of an input.
    """

    def __init__(
        self, clean_stop_exception_types: type[BaseException] | tuple[type[BaseException], ...] | None = None
    ) -> None:
        types = OutOfRangeError if clean_stop_exception_types is None else clean_stop_exception_types
        self._clean: tuple[type[BaseException], ...] = types if isinstance(types, tuple) else (types,)
        self._lock = threading.RLock()  # a signal handler may come while it is held
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._joined = False
        self._registered: set[threading.Thread] = set()

    @property
    def joined(self) -> bool:
        """Returns whether `join` has returned and the stop was not cleared since."""
        return self._joined

    def request_stop(self, ex: BaseException | ExcInfo | None = None) -> None:
        """Requests that all threads stop.

        `ex` is the reason, an exception or the value of `sys.exc_info()`, which `join` raises. After `join` has
        returned, `ex` is raised here, since nothing else would raise it.
        """
        if isinstance(ex, tuple):
            ex = ex[1]
        with self._lock:
            if ex is not None and not isinstance(ex, self._clean):
                if self._joined:
                    raise ex
                if self._error is None:
                    self._error = ex
            self._stop.set()

    def clear_stop(self) -> None:
        """Clears the request to stop and the reported error."""
        with self._lock:
            self._joined = False
            self._error = None
            self._stop.clear()

    def should_stop(self) -> bool:
        """Returns whether the stop was requested."""
        return self._stop.is_set()

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Waits at most `timeout` seconds for a request to stop. Returns True if there was one."""
        return self._stop.wait(timeout)

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Returns a context in which an exception requests the stop and is not propagated."""
        try:
            yield
        except BaseException as e:
            self.request_stop(e)

    def register_thread(self, thread: threading.Thread) -> None:
        """Adds a thread for which `join` waits."""
        with self._lock:
            self._registered.add(thread)

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Waits for `threads` and the registered threads, then raises the error that was reported, if any.

        After the stop was requested the threads have `stop_grace_period_secs` seconds to end. Then an error that is
        also a RuntimeError names those that are still running, unless `ignore_live_threads` is set. An interrupt during
        the wait requests the stop.
        """
        with self._lock:
            joined_threads = [*dict.fromkeys([*self._registered, *(threads or ())])]
        while any(t.is_alive() for t in joined_threads) and not self.wait_for_stop(_LOOK if joined_threads else 0):
            pass
        if self._stop.is_set():
            end = time.monotonic() + stop_grace_period_secs
            for t in joined_threads:
                if t.ident is not None:  # a thread that was not started cannot be joined
                    t.join(max(0.0, end - time.monotonic()))
        running = [t.name for t in joined_threads if t.is_alive()]
        with self._lock:
            self._joined = True
            self._registered.clear()
            error = self._error
        if error is not None:
            raise error
        if running and not ignore_live_threads:
            raise StoppedThreadsError(f"Coordinator stopped with threads still running: {' '.join(running)}")

    def raise_requested_exception(self) -> None:
        """Raises the error that was reported, if any."""
        with self._lock:
            error = self._error
        if error is not None:
            raise error


class LooperThread(threading.Thread):
    """A thread that calls `target(*args, **kwargs)` every `timer_interval_secs` seconds until its coordinator stops.

    An interval of None means without a pause. A subclass may override `run_loop` in place of giving a target. An
    exception in a call stops the coordinator.
    """

    def __init__(
        self,
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any] | None = None,
        args: Sequence[Any] | None = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(daemon=True)
        if not isinstance(coord, Coordinator):
            raise DTypeError(f"coord must be a tf.train.Coordinator, got {type(coord).__name__}")
        self._coord = coord
        self._interval = timer_interval_secs
        self._call = (target, tuple(args or ()), dict(kwargs or {}))
        coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:
        """Starts and returns a thread that calls `target(*args, **kwargs)` every `timer_interval_secs` seconds.

        It runs until the coordinator `coord` stops.
        """
        thread = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        thread.start()
        return thread

    def run(self) -> None:
        """Calls `run_loop` until the stop; the thread itself calls this method."""
        with self._coord.stop_on_exception():
            self.start_loop()
            next_time = time.monotonic()
            while not self._coord.should_stop():
                self.run_loop()
                if self._interval is not None:
                    next_time += self._interval
                    if self._coord.wait_for_stop(max(0.0, next_time - time.monotonic())):
                        break
            self.stop_loop()

    def start_loop(self) -> None:
        """The thread calls this method once, before the first call of the target."""

    def stop_loop(self) -> None:
        """The thread calls this method once, after the last call of the target."""

    def run_loop(self) -> None:
        """Calls the target once."""
        target, args, kwargs = self._call
        if target is not None:
            target(*args, **kwargs)


API: dict[str, Any] = {"train.Coordinator": Coordinator, "train.LooperThread": LooperThread}
