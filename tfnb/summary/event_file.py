"""The thread that writes an event file, so that training does not wait for the disk (white paper, section 9.1).

Callers put serialized events into a queue, which one thread per file empties. Invariant: events reach the file in the
order in which they were added, all before `close` returns; the error of a failed write is raised by the next call.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from queue import Empty
from typing import Any, NamedTuple

from tfnb.errors import FailedPreconditionError
from tfnb.ir.protos import proto
from tfnb.summary.records import frame
from tfnb.system import threads
from tfnb.system.files import os_errors
from tfnb.system.interrupts import holding_handlers
from tfnb.system.live_objects import LiveObjects
from tfnb.system.timed_queue import TimedQueue

__all__ = ["EventFile"]

_VERSION = "brain.Event:2"
_numbers = itertools.count()


_open_files: LiveObjects[EventFile] = LiveObjects()


def _after_fork() -> None:
    for file in _open_files.list():
        file.leave_to_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class _Flush(NamedTuple):
    """A request to the thread to flush the file; it sets `done` afterwards."""

    done: threading.Event


class EventFile:
    """Writes serialized events to a file of `folder`, and to the next one once it is larger than `max_bytes`.

    max_queue: the number of waiting events at which `add` blocks. flush_secs: the seconds for which an event may stay
    in memory. Raises `PermissionDeniedError`, `ResourceExhaustedError` and the like when a write fails.
    """

    def __init__(self, folder: str, max_queue: int, flush_secs: float, suffix: str, max_bytes: int | None) -> None:
        self._folder, self._suffix, self._max_bytes = folder, suffix, max_bytes
        self._flush_secs = flush_secs
        # A garbage-collected writer calls `close` from any point of any thread, so the queue must be reentrant.
        self._queue: TimedQueue[bytes | _Flush | None] = TimedQueue()
        self._room = threading.Semaphore(max(max_queue, 1))
        self._error: BaseException | None = None
        self._closed = False
        self._lock = threading.Lock()  # no event is queued after the end mark of `close`
        with os_errors(folder):
            Path(folder).mkdir(parents=True, exist_ok=True)
            self._file = self._open()
        self._thread = threading.Thread(target=self._work, name="tfnb-events", daemon=True)
        if not threads.are_over():
            self._thread.start()
        _open_files.add(self)

    def leave_to_parent(self) -> None:
        """Drops the events in a forked process: the thread runs only in the parent, which writes them."""
        self._closed, self._lock, self._room = True, threading.Lock(), threading.Semaphore(1)
        if self._file.closed:
            return
        null_device = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null_device, self._file.fileno())
        os.close(null_device)

    def _open(self) -> Any:
        """Creates the next file and writes its first record."""
        name = f"{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.{next(_numbers):04d}"
        self.path = os.path.join(self._folder, f"events.out.tfevents.{name}{self._suffix}")
        first = proto("event").Event(wall_time=time.time(), file_version=_VERSION)
        with contextlib.ExitStack() as stack:
            file = stack.enter_context(open(self.path, "xb"))
            file.write(frame(first.SerializeToString()))
            file.flush()
            stack.pop_all()
            return file

    def add(self, event: bytes) -> None:
        """Queues a serialized event. Raises the error of an earlier write, or `FailedPreconditionError` if closed."""
        self._raise_error()
        with holding_handlers():
            self._room.acquire()
            with self._lock:
                if not self._closed:
                    self._put(event)
                    return
            self._room.release()
        raise FailedPreconditionError(f"{self.path}: the event file is closed, or was opened before a fork")

    def flush(self) -> None:
        """Waits until all events that were added before are in the file. Raises the error of an earlier write."""
        flush_request = _Flush(threading.Event())
        with holding_handlers(), self._lock:
            is_open = not self._closed
            if is_open:
                self._put(flush_request)
        while is_open and not flush_request.done.wait(0.1) and self._thread.is_alive():
            pass
        self._raise_error()

    def close(self) -> None:
        """Writes all queued events, ends the thread and closes the file. Raises the error of an earlier write."""
        with holding_handlers(), self._lock:
            if self._closed:
                return
            self._closed = True
            self._put(None)
        if self._thread is not threading.current_thread() and not threads.are_over():
            self._thread.join()
        self._raise_error()

    def _put(self, item: bytes | _Flush | None) -> None:
        """Lets the thread serve an item, or serves it at once while Python is ending, when no thread begins."""
        if threads.are_over():
            self._serve(item)
        else:
            self._queue.put(item)

    def _raise_error(self) -> None:
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    # ---- the thread ------------------------------------------------------------------------------

    def _work(self) -> None:
        flush_time: float | None = None  # the time at which the file must be flushed
        while True:
            try:
                timeout = None if flush_time is None else max(flush_time - time.monotonic(), 0.0)
                item = self._queue.get(timeout=timeout)
            except Empty:
                flush_time = None
                self._guarded(self._file.flush)
                continue
            self._serve(item)
            if item is None:
                return
            if isinstance(item, _Flush):
                flush_time = None
            elif flush_time is None:
                flush_time = time.monotonic() + self._flush_secs

    def _serve(self, item: bytes | _Flush | None) -> None:
        if item is None:
            self._guarded(self._file.close)
        elif isinstance(item, _Flush):
            self._guarded(self._file.flush)
            item.done.set()
        else:
            self._room.release()
            self._guarded(self._write, item)

    def _write(self, event: bytes) -> None:
        self._file.write(frame(event))
        if self._max_bytes is not None and self._file.tell() >= self._max_bytes:
            self._file.close()
            self._file = self._open()

    def _guarded(self, act: Callable[..., object], *args: object) -> None:
        """Keeps an error for the next call of the user; the thread continues, as the disk may have room again later."""
        try:
            with os_errors(self.path):
                act(*args)
        except Exception as e:
            self._error = e
