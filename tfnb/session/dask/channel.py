"""The tensors' own way from task to task, on ZeroMQ (OSDI'16, section 3.3).

Every task has one `Channel`: a socket that all peers push to, read by one thread, and a socket to each peer. `send`
copies what it is given before it returns, chunk by chunk, and waits while the peer does not keep up. Messages of one
thread to one peer arrive in order. Invariant: only who was told how is heard, which Dask's own comm does: a password
on loopback, elsewhere CURVE keys of both sides and encryption.
"""

from __future__ import annotations

import itertools
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import zmq
from zmq.auth.thread import ThreadAuthenticator

from tfnb.errors import (
    ClosedSessionError,
    InvalidArgumentError,
    OpError,
    ResourceExhaustedError,
    UnavailableError,
)
from tfnb.session.dask.wire import Assembly, Head, Message, bundled, chunks, unbundled, unpack

__all__ = ["Channel", "Peer"]

_QUEUED = 32  # chunks on the way to a peer before its senders wait
_PATIENCE_MS = 200  # how long a waiting sender does not look whether its channel was closed
_SMALL = 1 << 14  # bytes: what is sent in one piece with its neighbours
_LIMIT = 8 << 30


class Peer(NamedTuple):
    """How a channel is reached: a ZeroMQ endpoint, its public CURVE key or, on loopback, its password."""

    endpoint: str
    public_key: bytes = b""
    password: bytes = b""


class _Members:
    """Whose public keys a channel hears; ZeroMQ's thread asks."""

    def __init__(self) -> None:
        self.keys: set[bytes] = set()

    def callback(self, domain: str, key: bytes) -> bool:
        return key in self.keys


Receive = Callable[[Head, np.ndarray], None]
Refuse = Callable[[OpError], None]


class Channel:
    """`receive` is called in the channel's thread for each whole message, `refuse` for each that is dropped.

    `host`: the address to listen at. `limit`: bytes that unfinished messages may have together. Close it.
    """

    def __init__(self, host: str, receive: Receive, refuse: Refuse, limit: int = _LIMIT) -> None:
        self._receive, self._refuse, self._limit = receive, refuse, limit
        self._curve = zmq.curve_keypair() if _is_wide(host) else None
        self._password = secrets.token_hex(16)
        self._members = _Members()
        self._context = zmq.Context()
        self._authenticator = self._authenticate()
        self._inbox = self._context.socket(zmq.PULL)
        self._inbox.setsockopt(zmq.RCVHWM, _QUEUED)
        self._guard(self._inbox)
        port = self._inbox.bind_to_random_port(f"tcp://{host}")
        self._inbox.bind("inproc://stop")
        endpoint = f"tcp://{host}:{port}"
        self.peer = Peer(endpoint, self._curve[0]) if self._curve else Peer(endpoint, b"", self._password.encode())
        self.sender = secrets.randbits(63)
        self._messages = itertools.count(1)
        self._lock = threading.Lock()
        self._ways: dict[Peer, _Way] = {}
        self._closed = False
        self._partial: dict[tuple[int, int], Assembly] = {}
        self._partial_bytes = 0
        self._reader = threading.Thread(target=self._read, name="tfnb channel", daemon=True)
        self._reader.start()

    def allow(self, peer: Peer) -> None:
        """From now on hears this peer."""
        if peer.public_key:
            self._members.keys.add(peer.public_key)

    def send(self, peer: Peer, *messages: Message) -> int:
        """Sends messages, small neighbours in one piece; the bytes of their data.

        Values may be changed as soon as this returns. Raises `UnavailableError` when the peer was dropped,
        `ClosedSessionError` when this channel was closed.
        """
        way, sent, small = self._way(peer), 0, []
        what = f"{messages[0].key!r} of step {messages[0].step}"
        waiting = 0  # bytes in `small`
        for message in messages:
            pairs = chunks(message, self.sender, next(self._messages))
            if message.value.nbytes <= _SMALL and message.value.dtype != object:
                head, data = next(pairs)
                small.append((head, data))
                waiting += len(data)
                continue
            if small:
                way.push((bundled(small),), what, waiting)
                sent, waiting, small = sent + waiting, 0, []
            for head, data in pairs:
                way.push((head, data), what, len(data))
                sent += len(data)
        if small:
            way.push((bundled(small),), what, waiting)
        return sent + waiting

    @property
    def bytes_sent(self) -> int:
        """Bytes of values that went to peers so far, without what says what they are."""
        with self._lock:
            ways = list(self._ways.values())
        return sum(way.bytes_sent() for way in ways)

    def drop(self, peer: Peer) -> None:
        """Gives the way to a peer up: what waits to be sent to it raises `UnavailableError`. What comes later goes
        another way."""
        with self._lock:
            way = self._ways.pop(peer, None)
        if way is not None:
            way.drop()

    def forget(self, step: int) -> None:
        """Drops the unfinished messages of a step that was aborted."""
        with self._lock:
            for name in [n for n, a in self._partial.items() if a.head.step == step]:
                self._partial_bytes -= self._partial.pop(name).head.nbytes

    def close(self) -> None:
        """Ends the thread and closes every socket; what was not sent yet is lost."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            ways = list(self._ways.values())
        for way in ways:
            way.drop()
        stop = self._context.socket(zmq.PUSH)
        stop.connect("inproc://stop")
        stop.send_multipart([self._stop_word, b""])
        self._reader.join()
        stop.close(linger=0)
        self._inbox.close(linger=0)
        self._authenticator.stop()
        self._context.destroy(linger=0)

    @property
    def _stop_word(self) -> bytes:
        return b"stop %d" % self.sender

    def _authenticate(self) -> ThreadAuthenticator:
        found = ThreadAuthenticator(self._context)
        found.start()
        if self._curve is None:
            found.configure_plain(domain="*", passwords={"tfnb": self._password})
        else:
            found.configure_curve_callback(domain="*", credentials_provider=self._members)
        return found

    def _guard(self, socket: zmq.Socket[bytes]) -> None:
        if self._curve is None:
            socket.plain_server = True
        else:
            socket.curve_publickey, socket.curve_secretkey = self._curve
            socket.curve_server = True

    def _way(self, peer: Peer) -> _Way:
        with self._lock:
            if self._closed:
                raise ClosedSessionError("the channel between the tasks was closed")
            way = self._ways.get(peer)
            if way is None:
                way = self._ways[peer] = _Way(self._connect(peer), peer)
        return way

    def _connect(self, peer: Peer) -> zmq.Socket[bytes]:
        socket = self._context.socket(zmq.PUSH)
        socket.setsockopt(zmq.SNDHWM, _QUEUED)
        socket.setsockopt(zmq.SNDTIMEO, _PATIENCE_MS)
        socket.setsockopt(zmq.LINGER, 0)
        if peer.public_key:
            own = self._curve or zmq.curve_keypair()
            socket.curve_publickey, socket.curve_secretkey = own
            socket.curve_serverkey = peer.public_key
        else:
            socket.plain_username, socket.plain_password = b"tfnb", peer.password
        socket.connect(peer.endpoint)
        return socket

    def _read(self) -> None:
        while True:
            frames = self._inbox.recv_multipart(copy=False)
            if len(frames) == 2 and frames[0].bytes == self._stop_word:
                return
            try:
                for head, data in self._pairs(frames):
                    whole = self._assembled(unpack(head, self._limit), data)
                    if whole is not None:
                        self._receive(*whole)
            except OpError as e:
                self._refuse(e)

    def _pairs(self, frames: Sequence[Any]) -> Iterable[tuple[bytes, memoryview]]:
        if len(frames) == 1:
            return unbundled(memoryview(frames[0].buffer))
        if len(frames) == 2:
            return ((frames[0].bytes, memoryview(frames[1].buffer)),)
        raise InvalidArgumentError(f"a message of {len(frames)} frames came from a peer; needed 1 or 2")

    def _assembled(self, head: Head, data: memoryview) -> tuple[Head, np.ndarray] | None:
        """The message that this chunk completes, if it does."""
        if not head.offset and len(data) == head.nbytes:  # most come whole
            whole = Assembly(head)
            whole.add(head, data)
            return head, whole.value()
        name = head.sender, head.message
        with self._lock:
            assembly = self._partial.get(name)
            if assembly is None and head.offset:
                return None  # the rest of a message that was forgotten
            if assembly is None:
                if self._partial_bytes + head.nbytes > self._limit:
                    raise ResourceExhaustedError(
                        f"unfinished messages have {self._partial_bytes} bytes; {head.nbytes} more pass the limit "
                        f"of {self._limit}"
                    )
                assembly = self._partial[name] = Assembly(head)
                self._partial_bytes += head.nbytes
        complete = False
        try:
            complete = assembly.add(head, data)
            return (assembly.head, assembly.value()) if complete else None
        except OpError:
            complete = True  # what cannot go on is over
            raise
        finally:
            if complete:
                with self._lock:
                    if self._partial.pop(name, None) is not None:
                        self._partial_bytes -= head.nbytes


class _Way:
    """To one peer. ZeroMQ's sockets serve one thread at a time, hence the lock; it is held for a chunk only."""

    def __init__(self, socket: zmq.Socket[bytes], peer: Peer) -> None:
        self._socket, self._peer = socket, peer
        self._lock = threading.Lock()
        self._dropped = False
        self._sent = 0

    def bytes_sent(self) -> int:
        with self._lock:  # what was received has been counted
            return self._sent

    def push(self, frames: Sequence[bytes | memoryview], what: str, size: int = 0) -> None:
        """Sends a message with `size` bytes of values."""
        start = time.monotonic()
        while True:
            with self._lock:
                if self._dropped:
                    seconds = time.monotonic() - start
                    raise UnavailableError(
                        f"{self._peer.endpoint} cannot be reached; {what} waited {seconds:.1f} s to be sent to it"
                    )
                try:
                    self._socket.send_multipart(frames)
                    self._sent += size
                    return
                except zmq.Again:
                    pass  # the peer does not keep up, or is gone: whoever knows will drop it

    def drop(self) -> None:
        self._dropped = True  # seen by who waits with the lock in its hands
        with self._lock:
            self._socket.close(linger=0)


def _is_wide(host: str) -> bool:
    return not (host.startswith("127.") or host in ("localhost", "[::1]"))
