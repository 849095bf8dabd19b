"""Coordinator: threads that stop together (white paper, sections 4.6 and 6; OSDI'16, section 3.3).

Any thread asks for the stop; all look at `should_stop`, and the first error is raised where they are joined.
Invariant: the first reported error is kept; errors of a clean end (OutOfRangeError) are no errors.
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

_LOOK = 1.0  # seconds between looks at threads that are waited for


class StoppedThreadsError(FailedPreconditionError, RuntimeError):
    """Threads still ran when their coordinator's grace was over."""


class Coordinator:
    """Lets threads of a training stop together.

    clean_stop_exception_types: errors that ask for the stop but are not raised by `join` (OutOfRangeError, the end of
    an input, by default).
    """

    def __init__(
        self, clean_stop_exception_types: type[BaseException] | tuple[type[BaseException], ...] | None = None
    ) -> None:
        types = OutOfRangeError if clean_stop_exception_types is None else clean_stop_exception_types
        self._clean: tuple[type[BaseException], ...] = types if isinstance(types, tuple) else (types,)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._joined = False
        self._registered: set[threading.Thread] = set()

    @property
    def joined(self) -> bool:
        return self._joined

    def request_stop(self, ex: BaseException | ExcInfo | None = None) -> None:
        """Asks all threads to stop. `ex`: the exception (or `sys.exc_info()`) that made it necessary, for `join`.

        Raises `ex` itself after `join` has returned: nobody else would see it.
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
        """Starts anew: no stop is asked for, no error known."""
        with self._lock:
            self._joined = False
            self._error = None
            self._stop.clear()

    def should_stop(self) -> bool:
        return self._stop.is_set()

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Waits until the stop is asked for, at most `timeout` seconds; was it?"""
        return self._stop.wait(timeout)

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """An exception inside asks for the stop, and goes no further."""
        try:
            yield
        except Exception as e:
            self.request_stop(e)

    def register_thread(self, thread: threading.Thread) -> None:
        """`join` waits for this thread too."""
        with self._lock:
            self._registered.add(thread)

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Waits for `threads` and the registered ones; raises the error that was reported.

        Once the stop is asked for they have `stop_grace_period_secs` left; then an error, also a RuntimeError, names
        those that still run, unless `ignore_live_threads`. An interrupt of the waiting asks for the stop.
        """
        with self._lock:
            waited = [*dict.fromkeys([*self._registered, *(threads or ())])]
        while any(t.is_alive() for t in waited) and not self.wait_for_stop(_LOOK if waited else 0):
            pass
        if self._stop.is_set():
            end = time.monotonic() + stop_grace_period_secs
            for t in waited:
                if t.ident is not None:  # one that nobody has started yet cannot be joined
                    t.join(max(0.0, end - time.monotonic()))
        left = [t.name for t in waited if t.is_alive()]
        with self._lock:
            self._joined = True
            self._registered.clear()
            error = self._error
        if error is not None:
            raise error
        if left and not ignore_live_threads:
            raise StoppedThreadsError(f"Coordinator stopped with threads still running: {' '.join(left)}")

    def raise_requested_exception(self) -> None:
        """Raises the error that was reported, if any."""
        with self._lock:
            error = self._error
        if error is not None:
            raise error


class LooperThread(threading.Thread):
    """A thread that runs `target(*args, **kwargs)` every `timer_interval_secs` seconds until its coordinator stops.

    Subclasses override `run_loop`. An exception in it stops the coordinator. None: without a pause.
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
        """A started LooperThread."""
        thread = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        thread.start()
        return thread

    def run(self) -> None:
        with self._coord.stop_on_exception():
            self.start_loop()
            due = time.monotonic()
            while not self._coord.should_stop():
                self.run_loop()
                if self._interval is not None:
                    due += self._interval
                    if self._coord.wait_for_stop(max(0.0, due - time.monotonic())):
                        break
            self.stop_loop()

    def start_loop(self) -> None:
        """Called once before the first turn."""

    def stop_loop(self) -> None:
        """Called once after the last turn."""

    def run_loop(self) -> None:
        """One turn."""
        target, args, kwargs = self._call
        if target is not None:
            target(*args, **kwargs)


API: dict[str, Any] = {"train.Coordinator": Coordinator, "train.LooperThread": LooperThread}
