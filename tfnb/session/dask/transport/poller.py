"""`Poller`: the thread that runs a step reads the step's connections itself while it waits (OSDI'16, section 3.3).

No message passes through a second thread, so no thread has to be woken for a message. Invariant: an item that another
thread puts into an `Inbox` wakes the thread that waits in `Inbox.get`.
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable
from queue import Empty
from typing import Generic, TypeVar

import numpy as np

from tfnb.errors import OpError
from tfnb.session.dask.transport.stream import Stream
from tfnb.session.dask.transport.wire import Head

__all__ = ["Inbox", "Poller"]

Deliver = Callable[[Head, np.ndarray, Stream], None]
Ended = Callable[[Stream, Exception], None]
Item = TypeVar("Item")


class Poller:
    """Reads `Stream`s for one thread. The owner must close it.

    `deliver` is called for each message, `ended` for each connection that broke. All methods except `wake` belong to
    the thread that owns the poller.
    """

    def __init__(self, deliver: Deliver, ended: Ended) -> None:
        self._deliver, self._ended = deliver, ended
        self._streams: dict[int, Stream] = {}  # by file descriptor
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_write, False)
        self._selector = select.poll()
        self._selector.register(self._wake_read, select.POLLIN)
        self._is_waiting = False
        # `close` closes the pipe under this lock and `wake` writes under it: otherwise `wake` could write into a file
        # that has the number of the closed pipe. The lock is reentrant, because a signal handler may call `wake` in the
        # middle of `wake` or `close`.
        self._pipe_lock = threading.RLock()
        self._closed = False

    def add(self, stream: Stream) -> None:
        """Adds a connection to those that the poller reads."""
        number = stream.fileno()
        self._streams[number] = stream
        self._selector.register(number, select.POLLIN)

    def discard(self, stream: Stream) -> None:
        """Removes a connection from those that the poller reads. Does nothing for one that was not added."""
        number = stream.fileno()
        if self._streams.pop(number, None) is not None:
            self._selector.unregister(number)

    def wake(self) -> None:
        """Ends the wait of the poller's thread, if it waits. May be called from any thread."""
        if self._is_waiting:
            # BlockingIOError means that the pipe is full. Then the thread wakes without one more byte.
            with self._pipe_lock, contextlib.suppress(BlockingIOError):
                if not self._closed:
                    os.write(self._wake_write, b"!")

    def poll(self, is_over: Callable[[], object], timeout: float | None = None) -> None:
        """Waits for a message, for a call of `wake`, or `timeout` seconds. Then delivers the messages that have
        arrived.

        Returns at once if messages had been read before (these are delivered), or if `is_over()` is true.
        """
        if self._deliver_buffered():
            return
        # The flag is set before `is_over` is called. If a thread makes `is_over` true before this line, the call sees
        # it. If a thread does so afterwards, it sees the flag and writes into the pipe. So no wake-up is lost.
        self._is_waiting = True
        try:
            if is_over():
                return
            ready = self._selector.poll(None if timeout is None else math.ceil(max(timeout, 0.0) * 1000))
        finally:
            self._is_waiting = False
        for number, _ in ready:
            stream = self._streams.get(number)
            if stream is not None:
                self._read(stream)
            elif number == self._wake_read:
                os.read(self._wake_read, 4096)

    def wait_until_writable(self, stream: Stream) -> Callable[[], None]:
        """A function that reads messages until `stream` accepts more bytes.

        A sender calls it when the socket is full. Two sides that only write would wait for each other forever once the
        buffers of both sockets are full.
        """

        def wait() -> None:
            self._selector.register(stream.fileno(), select.POLLIN | select.POLLOUT)
            try:
                self.poll(lambda: False)
            finally:
                # Delivering a message may have discarded the stream, or closed it (then its number is -1).
                if stream.fileno() in self._streams:
                    self._selector.modify(stream.fileno(), select.POLLIN)
                elif stream.fileno() >= 0:
                    self._selector.unregister(stream.fileno())

        return wait

    def _deliver_buffered(self) -> bool:
        """Delivers messages that were read together with earlier ones; returns whether there were any."""
        delivered = False
        for stream in list(self._streams.values()):
            while stream.messages:
                delivered = True
                self._deliver(*stream.messages.popleft(), stream)
        return delivered

    def _read(self, stream: Stream) -> None:
        broken: Exception | None = None
        try:
            stream.read(False)
        except (EOFError, OSError, OpError) as e:
            broken = e
        while stream.messages:
            self._deliver(*stream.messages.popleft(), stream)
        if broken is not None:  # only after the messages that came before the connection broke
            self.discard(stream)
            self._ended(stream, broken)

    def close(self) -> None:
        """Closes the wake-up pipe. The connections stay open, because they belong to the pool."""
        self._streams.clear()
        with self._pipe_lock:
            self._closed = True
            os.close(self._wake_read)
            os.close(self._wake_write)


class Inbox(Generic[Item]):
    """A queue for the thread that runs a step, which reads the step's connections while it waits in `get`."""

    def __init__(self, poller: Poller) -> None:
        self._poller = poller
        self._items: deque[Item] = deque()

    def put(self, item: Item) -> None:
        """Adds an item and wakes the thread that waits. May be called from any thread."""
        self._items.append(item)
        self._poller.wake()

    def empty(self) -> bool:
        """Returns whether `get` would have to wait."""
        return not self._items

    def get(self, timeout: float | None = None) -> Item:
        """Waits for the oldest item and removes it. Raises `queue.Empty` after `timeout` seconds."""
        items, end = self._items, None if timeout is None else time.monotonic() + timeout
        while not items:
            if end is None:
                self._poller.poll(items.__len__)
                continue
            seconds_left = end - time.monotonic()
            self._poller.poll(items.__len__, seconds_left)
            if seconds_left <= 0 and not items:
                raise Empty
        return items.popleft()
