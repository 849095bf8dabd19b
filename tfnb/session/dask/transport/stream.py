"""`Stream`: one connection between two tasks, which reads and writes messages (OSDI'16, section 3.3).

Small messages are written and read together in one system call. A large tensor is sent from its own memory without a
copy, and is read directly into the memory of the new tensor. Invariant: at any time at most one thread reads and one
writes. A connection on which invalid bytes arrive is closed.
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

_SMALL = 1 << 14  # bytes: a smaller message stays in the buffer until all of it has come
_BUFFER = LONGEST_HEAD + _SMALL
# Bytes that may be read beyond a frame of a large message. They are enough for the next head, but for little of its
# data, because data in the buffer must be copied.
_AHEAD = 4096
_OVERHEAD = 1 << 10  # bytes that an unfinished message takes besides its data
_MOST_BUFFERS = 512  # the most buffers that one system call takes
_WouldBlock = ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError

OnBlocked = Callable[[], None] | None
"""Called while the peer does not read fast enough; None waits until it does."""


class Budget:
    """Limits the bytes that the unfinished messages of several connections take together. Methods are thread-safe."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._used = 0
        self._lock = threading.Lock()

    def take(self, nbytes: int) -> None:
        """Reserves `nbytes` bytes. Raises `ResourceExhaustedError` if the sum would exceed the limit."""
        with self._lock:
            if self._used + nbytes > self.limit:
                raise ResourceExhaustedError(
                    f"unfinished messages have {self._used} bytes; {nbytes} more pass the limit of {self.limit}"
                )
            self._used += nbytes

    def give(self, nbytes: int) -> None:
        """Releases `nbytes` reserved bytes."""
        with self._lock:
            self._used -= nbytes


class Stream:
    """A connection over `sock`, which is encrypted if `sock` is an `SSLSocket`. The owner must close it.

    `budget` limits the memory of unfinished messages. `endpoint` names the peer if this side has opened the connection.
    `messages` has the messages that were read; the reader removes them.
    """

    def __init__(self, sock: socket.socket, budget: Budget, endpoint: str = "") -> None:
        self.endpoint = endpoint
        self.bytes_sent = 0  # of values
        self.is_cut = False
        self.used = -math.inf  # time of the last answer to a step, by `time.monotonic`
        self.messages: deque[tuple[Head, np.ndarray]] = deque()
        self._sock, self._budget = sock, budget
        self._sealed = isinstance(sock, ssl.SSLSocket)
        # TLS may have to read before it can write, and the reverse, so a call could block for the wrong reason.
        sock.settimeout(0.0 if self._sealed else None)
        self._numbers = itertools.count(1)
        self._writing = threading.Lock()
        self._view = memoryview(bytearray(_BUFFER))
        self._begin = self._end = 0  # of the unparsed bytes in the buffer
        self._partial: dict[int, Assembly] = {}
        self._rest: memoryview | None = None  # memory for the missing bytes of a large frame; None between such frames
        self._current = 0  # the number of the message to which this frame belongs

    def fileno(self) -> int:
        """The socket's file descriptor, -1 once it is closed."""
        return self._sock.fileno()

    # ---- reading ---------------------------------------------------------------------------

    def read(self, wait: bool) -> None:
        """Adds the messages that have arrived to `messages`. With `wait`, waits until there is at least one.

        Raises `EOFError` or `OSError` if the connection has ended, `InvalidArgumentError` for invalid bytes, and
        `ResourceExhaustedError` for a message that is too large.
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
            # TLS may hold decrypted bytes that a poll of the socket would not show, so they are read now.
            if self.messages and not (self._sealed and self._sock.pending()):  # type: ignore[attr-defined]
                return

    def _room(self) -> memoryview:
        """Moves the content of the buffer to its begin; returns the free part."""
        length = self._end - self._begin
        if not length and not self._partial:
            self._begin = self._end = 0
            return self._view
        if length and self._begin:
            self._view[:length] = bytes(self._view[self._begin : self._end])
        self._begin, self._end = 0, length
        return self._view[length : length + _AHEAD] if self._partial else self._view[length:]

    def _take(self, place: memoryview, wait: bool) -> int | None:
        """Reads into `place`.

        Returns the number of bytes, 0 at the end of the connection, or None if none have arrived.
        """
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
        """Parses the bytes in the buffer: whole small messages, and the begin of a frame of a large one."""
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
        """Begins to read a frame of a large message, whose first bytes lie in the buffer from `start` to `end`."""
        assembly = self._partial.get(head.number)
        if assembly is None:
            self._budget.take(head.nbytes + _OVERHEAD)
            try:
                assembly = Assembly(head)
            except BaseException:
                self._budget.give(head.nbytes + _OVERHEAD)
                raise
            self._partial[head.number] = assembly
        self._rest, self._current = assembly.place(head), head.number
        self._rest[: end - start] = self._view[start:end]
        self._begin = end
        self._filled(end - start)

    def _filled(self, count: int) -> None:
        """Counts `count` bytes of the current frame that were read.

        Completes its message if they were the last ones.
        """
        assert self._rest is not None
        self._rest = self._rest[count:]
        if len(self._rest):
            return
        self._rest = None
        assembly = self._partial[self._current]
        if assembly.is_placed:
            del self._partial[self._current]
            self._budget.give(assembly.head.nbytes + _OVERHEAD)
            self.messages.append((assembly.head, assembly.value()))

    # ---- writing ---------------------------------------------------------------------------

    def send(self, messages: Sequence[Message], on_blocked: OnBlocked = None) -> int:
        """Sends messages, several small ones in one piece; returns the number of bytes of their values.

        Values may be changed as soon as this returns. Messages of other threads may be sent between two frames of a
        large one. Raises `OSError` when the connection has ended.
        """
        single_frame = in_one(messages[0], next(self._numbers)) if len(messages) == 1 else None
        if single_frame is not None:
            sent_bytes = messages[0].value.nbytes
            self._write([single_frame], len(single_frame), on_blocked, sent_bytes)
            return sent_bytes
        parts: list[bytes | memoryview] = []
        size = sent_bytes = counted = 0
        for message in messages:
            number = next(self._numbers)
            single_frame = in_one(message, number)
            if single_frame is not None:
                sent_bytes += message.value.nbytes
            for head, data in frames(message, number) if single_frame is None else ((single_frame, None),):
                parts.append(head)
                size += len(head)
                if data is not None:
                    parts.append(data)
                    size += len(data)
                    sent_bytes += len(data)
                if size >= CHUNK or len(parts) >= _MOST_BUFFERS:
                    self._write(parts, size, on_blocked, sent_bytes - counted)
                    parts, size, counted = [], 0, sent_bytes
        if parts:
            if size <= _SMALL and len(parts) > 1:
                parts = [b"".join(parts)]
            self._write(parts, size, on_blocked, sent_bytes - counted)
        return sent_bytes

    def _write(self, parts: list[bytes | memoryview], size: int, on_blocked: OnBlocked, count: int) -> None:
        with self._writing:
            # Counted before sending, because a caller may read the count as soon as the peer has the value.
            self.bytes_sent += count
            while True:
                count = self._put(parts, on_blocked is None)
                size -= count
                if not size:
                    return
                parts = _after(parts, count)
                if on_blocked is not None:
                    on_blocked()

    def _put(self, parts: list[bytes | memoryview], wait: bool) -> int:
        """Writes some of the buffers. Returns the number of bytes, or 0 if it would block and `wait` is false."""
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
            except _WouldBlock as e:
                if not wait:
                    return 0
                self._await(select.POLLIN if isinstance(e, ssl.SSLWantReadError) else select.POLLOUT)

    def _await(self, what: int) -> None:
        """Waits until the socket is readable (`select.POLLIN`) or writable (`select.POLLOUT`)."""
        poll = select.poll()
        poll.register(self._sock, what)
        poll.poll()

    # ---- the end ---------------------------------------------------------------------------

    def cut(self) -> None:
        """Ends the connection, so that threads that read or write it raise. May be called from any thread."""
        self.is_cut = True
        with contextlib.suppress(OSError):  # it has ended already
            # `SSLSocket.shutdown` would drop the state of TLS, which another thread may be using.
            socket.socket.shutdown(self._sock, socket.SHUT_RDWR)

    def has_ended(self) -> bool:
        """Returns whether the peer has ended the connection. Reads none of the bytes that have arrived."""
        try:
            return not socket.socket.recv(self._sock, 1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def close(self) -> None:
        """Closes the socket and drops unfinished messages.

        Only the thread that reads may call this, or any thread after that one has ended.
        """
        self.cut()
        self._sock.close()
        for assembly in self._partial.values():
            self._budget.give(assembly.head.nbytes + _OVERHEAD)
        self._partial.clear()


def _after(parts: list[bytes | memoryview], count: int) -> list[bytes | memoryview]:
    """The buffers without their first `count` bytes, which were sent."""
    k = 0
    while count >= len(parts[k]):
        count -= len(parts[k])
        k += 1
    return [memoryview(parts[k])[count:], *parts[k + 1 :]]
