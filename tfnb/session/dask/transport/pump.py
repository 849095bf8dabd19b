"""How the thread that runs a step waits: it reads the step's connections itself (OSDI'16, section 3.3).

No message passes through another thread on its way, so none has to be woken. Invariant: what is put into an `Inbox`
from elsewhere wakes the thread that waits.
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
from typing import Any

import numpy as np

from tfnb.errors import OpError
from tfnb.session.dask.transport.stream import Stream
from tfnb.session.dask.transport.wire import Head

__all__ = ["Inbox", "Pump"]

Deliver = Callable[[Head, np.ndarray, Stream], None]
Ended = Callable[[Stream, Exception], None]


class Pump:
    """Reads `Stream`s for one thread: `deliver` gets what came, `ended` the connections that broke. Close it."""

    def __init__(self, deliver: Deliver, ended: Ended) -> None:
        self._deliver, self._ended = deliver, ended
        self._streams: dict[int, Stream] = {}
        self._bell, self._rope = os.pipe()
        os.set_blocking(self._rope, False)
        self._poll = select.poll()
        self._poll.register(self._bell, select.POLLIN)
        self._asleep = False
        self._closing = threading.RLock()  # who wakes finds the bell's rope, or knows that it is gone
        self._closed = False

    def add(self, stream: Stream) -> None:
        """From now on reads this connection, too."""
        number = stream.fileno()
        self._streams[number] = stream
        self._poll.register(number, select.POLLIN)

    def discard(self, stream: Stream) -> None:
        """Reads it no more."""
        number = stream.fileno()
        if self._streams.pop(number, None) is not None:
            self._poll.unregister(number)

    def wake(self) -> None:
        """Ends the wait of the thread, if it waits; from any thread."""
        if self._asleep:
            with self._closing, contextlib.suppress(BlockingIOError):  # it was pulled often enough
                if not self._closed:
                    os.write(self._rope, b"!")

    def turn(self, is_over: Callable[[], Any], timeout: float | None = None) -> None:
        """Waits until something came, was woken, or `timeout` seconds are over, unless `is_over` already."""
        if self._hand_out():
            return
        self._asleep = True
        try:
            if is_over():
                return
            found = self._poll.poll(None if timeout is None else math.ceil(max(timeout, 0.0) * 1000))
        finally:
            self._asleep = False
        for number, _ in found:
            stream = self._streams.get(number)
            if stream is not None:
                self._read(stream)
            elif number == self._bell:
                os.read(self._bell, 4096)

    def room(self, stream: Stream) -> Callable[[], None]:
        """What to call while `stream` takes no more: reads meanwhile, until it does."""

        def wait() -> None:
            self._poll.register(stream.fileno(), select.POLLIN | select.POLLOUT)
            try:
                self.turn(lambda: False)
            finally:
                if stream.fileno() in self._streams:
                    self._poll.modify(stream.fileno(), select.POLLIN)
                elif stream.fileno() >= 0:
                    self._poll.unregister(stream.fileno())

        return wait

    def _hand_out(self) -> bool:
        """Delivers what was read already; was there anything?"""
        some = False
        for stream in list(self._streams.values()):
            while stream.messages:
                some = True
                self._deliver(*stream.messages.popleft(), stream)
        return some

    def _read(self, stream: Stream) -> None:
        broken: Exception | None = None
        try:
            stream.read(False)
        except (EOFError, OSError, OpError) as e:
            broken = e
        while stream.messages:
            self._deliver(*stream.messages.popleft(), stream)
        if broken is not None:
            self.discard(stream)
            self._ended(stream, broken)

    def close(self) -> None:
        self._streams.clear()
        with self._closing:
            self._closed = True
            os.close(self._bell)
            os.close(self._rope)


class Inbox:
    """A queue for a step's own thread, which reads its connections while it waits."""

    def __init__(self, pump: Pump) -> None:
        self._pump = pump
        self._items: deque[Any] = deque()

    def put(self, item: Any) -> None:
        self._items.append(item)
        self._pump.wake()

    def empty(self) -> bool:
        return not self._items

    def get(self, timeout: float | None = None) -> Any:
        """Raises `Empty` after `timeout` seconds."""
        items, end = self._items, None if timeout is None else time.monotonic() + timeout
        while not items:
            if end is None:
                self._pump.turn(items.__len__)
                continue
            left = end - time.monotonic()
            self._pump.turn(items.__len__, left)
            if left <= 0 and not items:
                raise Empty
        return items.popleft()
