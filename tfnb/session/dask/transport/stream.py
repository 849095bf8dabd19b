"""One connection between two tasks: messages into a socket, and out of it (OSDI'16, section 3.3).

What is small is written and read with its neighbours, in one call of the system; a large tensor goes from the sender's
memory to where it will stay. Invariant: at any time one thread reads and one writes, and a connection on which
anything else than messages came is given up.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import select
import socket
import ssl
import threading
from collections import deque
from collections.abc import Callable, Sequence

import numpy as np

from tfnb.errors import ResourceExhaustedError
from tfnb.session.dask.transport.wire import (
    CHUNK,
    LONGEST_HEAD,
    Assembly,
    Head,
    Message,
    as_array,
    frames,
    in_one,
    unpack,
)

__all__ = ["Budget", "OnBlocked", "Stream"]

_SMALL = 1 << 14  # bytes: what waits in the buffer until all of it is there
_BUFFER = LONGEST_HEAD + _SMALL
_AHEAD = 4096  # bytes read beyond a large frame: the next head, not much of its data, which would be copied
_BESIDE = 1 << 10  # bytes that an unfinished message takes beside its data
_PARTS = 512  # buffers that one call of the system takes
_Waits = ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError

OnBlocked = Callable[[], None] | None


class Budget:
    """Bytes that the unfinished messages of several connections may have together."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._used = 0
        self._lock = threading.Lock()

    def take(self, nbytes: int) -> None:
        """Raises `ResourceExhaustedError` where the limit is passed."""
        with self._lock:
            if self._used + nbytes > self.limit:
                raise ResourceExhaustedError(
                    f"unfinished messages have {self._used} bytes; {nbytes} more pass the limit of {self.limit}"
                )
            self._used += nbytes

    def give(self, nbytes: int) -> None:
        with self._lock:
            self._used -= nbytes


class Stream:
    """`messages` holds what was read and not taken yet. Over TLS where `sock` is an `SSLSocket`."""

    def __init__(self, sock: socket.socket, budget: Budget, endpoint: str = "") -> None:
        self.endpoint = endpoint
        self.bytes_sent = 0  # of values
        self.is_cut = False
        self.used = -math.inf  # when a step ended on it last, by `time.monotonic`
        self.messages: deque[tuple[Head, np.ndarray]] = deque()
        self._sock, self._budget = sock, budget
        self._sealed = isinstance(sock, ssl.SSLSocket)
        sock.settimeout(0.0 if self._sealed else None)  # TLS may want to read when it writes
        self._numbers = itertools.count(1)
        self._writing = threading.Lock()
        self._view = memoryview(bytearray(_BUFFER))
        self._begin = self._end = 0  # of what lies in the buffer
        self._partial: dict[int, Assembly] = {}
        self._rest: memoryview | None = None  # of a frame, where it goes
        self._current = 0  # the message that it is of

    def fileno(self) -> int:
        return self._sock.fileno()

    # ---- reading ---------------------------------------------------------------------------

    def read(self, wait: bool) -> None:
        """Puts the messages that have come into `messages`; with `wait`, until there is one.

        Raises `EOFError` or `OSError` at the connection's end, our own errors for what is no message.
        """
        while True:
            place = self._rest
            if place is None:
                place = self._room()
            count = self._take(place, wait and not self.messages)
            if count is None:
                return
            if not count:
                raise EOFError("the connection has ended")
            if self._rest is None:
                self._end += count
            else:
                self._filled(count)
            self._parse()
            if self.messages and not (self._sealed and self._sock.pending()):  # type: ignore[attr-defined]
                return

    def _room(self) -> memoryview:
        """The free part of the buffer."""
        left = self._end - self._begin
        if not left and not self._partial:
            self._begin = self._end = 0
            return self._view
        if left and self._begin:
            self._view[:left] = bytes(self._view[self._begin : self._end])
        self._begin, self._end = 0, left
        return self._view[left : left + _AHEAD] if self._partial else self._view[left:]

    def _take(self, place: memoryview, wait: bool) -> int | None:
        """Reads into `place`; how many bytes, 0 at the end; None when there is nothing yet."""
        if not self._sealed:
            try:
                return self._sock.recv_into(place, 0, 0 if wait else socket.MSG_DONTWAIT)
            except BlockingIOError:
                return None
        while True:
            try:
                return self._sock.recv_into(place)
            except ssl.SSLWantReadError:
                if not wait:
                    return None
                self._await(select.POLLIN)
            except ssl.SSLWantWriteError:
                self._await(select.POLLOUT)
            except ssl.SSLEOFError:
                return 0

    def _parse(self) -> None:
        """Takes what lies in the buffer apart."""
        while self._begin < self._end and self._rest is None:
            parsed = unpack(self._view[self._begin : self._end], self._budget.limit)
            if parsed is None:
                return
            head, size = parsed
            start = self._begin + size
            end = start + head.length
            if head.length == head.nbytes and (end <= self._end or head.nbytes <= _SMALL):
                if end > self._end:
                    return
                self._begin = end
                self.messages.append((head, as_array(head, bytearray(self._view[start:end]))))
            else:
                self._place(head, start, min(end, self._end))

    def _place(self, head: Head, start: int, end: int) -> None:
        """A frame of a large message begins; so much of it lies in the buffer."""
        assembly = self._partial.get(head.number)
        if assembly is None:
            self._budget.take(head.nbytes + _BESIDE)
            try:
                assembly = Assembly(head)
            except BaseException:
                self._budget.give(head.nbytes + _BESIDE)
                raise
            self._partial[head.number] = assembly
        self._rest, self._current = assembly.place(head), head.number
        self._rest[: end - start] = self._view[start:end]
        self._begin = end
        self._filled(end - start)

    def _filled(self, count: int) -> None:
        """So many bytes more lie where they will stay."""
        assert self._rest is not None
        self._rest = self._rest[count:]
        if len(self._rest):
            return
        self._rest = None
        assembly = self._partial[self._current]
        if assembly.is_placed:
            del self._partial[self._current]
            self._budget.give(assembly.head.nbytes + _BESIDE)
            self.messages.append((assembly.head, assembly.value()))

    # ---- writing ---------------------------------------------------------------------------

    def send(self, messages: Sequence[Message], on_blocked: OnBlocked = None) -> int:
        """Sends messages, small neighbours in one piece; the bytes of their data. Other threads may send in between.

        Values may be changed as soon as this returns. While the peer does not keep up, it calls `on_blocked`, or waits
        where there is none. Raises `OSError` at the connection's end.
        """
        whole = in_one(messages[0], next(self._numbers)) if len(messages) == 1 else None
        if whole is not None:
            sent = messages[0].value.nbytes
            self._write([whole], len(whole), on_blocked, sent)
            return sent
        parts: list[bytes | memoryview] = []
        size = sent = counted = 0
        for message in messages:
            number = next(self._numbers)
            whole = in_one(message, number)
            if whole is not None:
                sent += message.value.nbytes
            for head, data in frames(message, number) if whole is None else ((whole, None),):
                parts.append(head)
                size += len(head)
                if data is not None:
                    parts.append(data)
                    size += len(data)
                    sent += len(data)
                if size >= CHUNK or len(parts) >= _PARTS:
                    self._write(parts, size, on_blocked, sent - counted)
                    parts, size, counted = [], 0, sent
        if parts:
            if size <= _SMALL and len(parts) > 1:
                parts = [b"".join(parts)]
            self._write(parts, size, on_blocked, sent - counted)
        return sent

    def _write(self, parts: list[bytes | memoryview], size: int, on_blocked: OnBlocked, count: int) -> None:
        with self._writing:
            self.bytes_sent += count  # before: who has received it may ask
            while True:
                count = self._put(parts, on_blocked is None)
                size -= count
                if not size:
                    return
                parts = _after(parts, count)
                if on_blocked is not None:
                    on_blocked()

    def _put(self, parts: list[bytes | memoryview], wait: bool) -> int:
        """Writes some of it; how many bytes."""
        if not self._sealed:
            try:
                flags = 0 if wait else socket.MSG_DONTWAIT
                return self._sock.send(parts[0], flags) if len(parts) == 1 else self._sock.sendmsg(parts, (), flags)
            except BlockingIOError:
                return 0
        data = parts[0] if len(parts[0]) >= _SMALL else b"".join(parts)
        while True:
            try:
                return self._sock.send(data)
            except _Waits as e:
                if not wait:
                    return 0
                self._await(select.POLLIN if isinstance(e, ssl.SSLWantReadError) else select.POLLOUT)

    def _await(self, what: int) -> None:
        poll = select.poll()
        poll.register(self._sock, what)
        poll.poll()

    # ---- the end ---------------------------------------------------------------------------

    def cut(self) -> None:
        """Ends the connection; who reads or writes learns it. From any thread."""
        self.is_cut = True
        with contextlib.suppress(OSError):  # it has ended already
            socket.socket.shutdown(self._sock, socket.SHUT_RDWR)  # TLS's own is for its own thread

    def has_ended(self) -> bool:
        """Has the other side ended the connection already, though not everything that it sent was read?"""
        try:
            return not socket.socket.recv(self._sock, 1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def close(self) -> None:
        """Gives the socket and what came in parts back; for who read last."""
        self.cut()
        self._sock.close()
        for assembly in self._partial.values():
            self._budget.give(assembly.head.nbytes + _BESIDE)
        self._partial.clear()


def _after(parts: list[bytes | memoryview], count: int) -> list[bytes | memoryview]:
    """What is left when so many bytes are gone."""
    k = 0
    while count >= len(parts[k]):
        count -= len(parts[k])
        k += 1
    return [memoryview(parts[k])[count:], *parts[k + 1 :]]
