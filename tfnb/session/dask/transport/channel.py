"""`Channel`: the sockets through which tasks exchange tensors (OSDI'16, section 3.3).

Every task has one channel: a listening socket, and one thread for each connection that a peer opened. All pushes to a
peer share one connection. A step of a master leases one more connection to each of its tasks and uses it in both
directions: the thread that reads it at the task also runs the step and answers. Invariant: messages are read from a
peer only after it has sent the password, which travels over Dask's comm; beyond loopback both sides have shown
certificates of Dask's authority before that, and everything is encrypted.
"""

from __future__ import annotations

import contextlib
import errno
import hmac
import ipaddress
import os
import secrets
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tfnb.errors import (
    ClosedSessionError,
    OpError,
    PermissionDeniedError,
    UnavailableError,
    UnknownError,
)
from tfnb.session.dask.transport.stream import Budget, OnBlocked, Stream
from tfnb.session.dask.transport.wire import Head, Message

__all__ = ["MAX_UNFINISHED", "Channel", "Peer", "Receive", "Refuse", "Tls"]

_CONNECT = 3.0  # seconds to reach a peer
_GREETING = 5.0  # seconds in which a new connection must have sent the password
_PASSWORD = 32  # characters
MAX_UNFINISHED = 8 << 30  # bytes of the unfinished messages of all connections together
_BACKLOG = 1024
_PREAMBLE = b"tfnb 2 "  # sent before the password: the version of the protocol


class Peer(NamedTuple):
    """The address of a channel: host, port, password, and whether it uses TLS (`sealed`)."""

    host: str
    port: int
    password: str
    sealed: bool = False

    @property
    def endpoint(self) -> str:
        """Host and port as one text."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Tls(NamedTuple):
    """The TLS contexts of both sides of a connection, with the keys of Dask's comm. They belong to one channel."""

    listening: ssl.SSLContext
    connecting: ssl.SSLContext


class _TlsSocket(ssl.SSLSocket):
    """A TLS socket that closes itself if its peer has gone before the handshake.

    `wrap_socket` asks for the peer's name first, and leaves an `SSLSocket` of a peer that has gone open.
    """

    def getpeername(self) -> Any:
        try:
            return super().getpeername()
        except OSError:
            self.close()
            raise ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET)) from None


Receive = Callable[[Head, np.ndarray, Stream], None]
"""Takes a message, in the thread that has read it from the connection."""
Refuse = Callable[[OpError], None]


class Channel:
    """The sockets of one task. The owner must close it. All methods may be called from any thread.

    `host` is the address at which the channel listens. `receive` is called for each message, in the thread of its
    connection. `refuse` is called with an error for invalid bytes and for connections without the password. `limit` is
    the number of bytes that all unfinished messages may take together. Raises `PermissionDeniedError` if other machines
    can reach `host` and there is no `tls`.
    """

    def __init__(
        self, host: str, receive: Receive, refuse: Refuse, tls: Tls | None = None, limit: int = MAX_UNFINISHED
    ) -> None:
        is_wide = _is_wide(host)
        if is_wide and tls is None:
            raise PermissionDeniedError(f"tensors would leave {host} without TLS")
        self._receive, self._refuse = receive, refuse
        self._tls = tls
        for context in tls or ():
            context.sslsocket_class = _TlsSocket
        self._budget = Budget(limit)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host.strip("[]"), 0), family=family, backlog=_BACKLOG)
        password = secrets.token_hex(_PASSWORD // 2)
        self.peer = Peer(host, int(self._listener.getsockname()[1]), password, is_wide)
        self._lock = threading.Lock()
        self._push_streams: dict[Peer, Stream] = {}  # the connection for pushes to each peer
        self._streams: set[Stream] = set()  # all open connections
        self._sent_before = 0  # bytes that were sent on connections that are closed now
        self._threads: list[threading.Thread] = []
        self._unauthenticated: set[socket.socket] = set()  # connections that have not sent the password yet
        self._closed = False
        try:
            self._start(self._accept)
        except BaseException:
            self._listener.close()
            raise

    # ---- messages to peers -----------------------------------------------------------------

    def send(self, peer: Peer, *messages: Message) -> int:
        """Pushes messages to a peer, several small ones in one piece; returns the number of bytes of their values.

        Messages of one thread to one peer arrive in order. Values may be changed as soon as this returns. Raises
        `UnavailableError` if the peer is gone or was dropped, and `ClosedSessionError` if this channel was closed.
        """
        start = time.monotonic()
        with self._lock:
            stream = self._push_streams.get(peer)
        try:
            if stream is None:
                stream = self.connect(peer)
                with self._lock:
                    other, stream = stream, self._push_streams.setdefault(peer, stream)
                if stream is not other:  # another thread has connected meanwhile
                    self.close_stream(other)
            return self.post(stream, peer.endpoint, messages)
        except OSError as e:
            with self._lock:
                if self._push_streams.get(peer) is stream:
                    del self._push_streams[peer]
            if stream is not None:
                self.close_stream(stream)
            subject = f"{messages[0].key!r} of step {messages[0].step}"
            raise UnavailableError(
                f"{peer.endpoint} cannot be reached: {e}; {subject} waited {time.monotonic() - start:.1f} s to be sent"
            ) from e

    def post(self, stream: Stream, endpoint: str, messages: Sequence[Message], on_blocked: OnBlocked = None) -> int:
        """As `Stream.send`, on a connection to or from the peer at `endpoint`.

        All messages are sent through this method.
        """
        return stream.send(messages, on_blocked)

    @property
    def bytes_sent(self) -> int:
        """The number of bytes of values that were sent to peers so far, without heads."""
        with self._lock:
            return self._sent_before + sum(s.bytes_sent for s in self._streams)

    def connect(self, peer: Peer) -> Stream:
        """Opens a connection for the caller, who reads it and closes it with `close_stream`. Raises as `send`."""
        if self._closed:
            raise ClosedSessionError("the channel between the tasks was closed")
        try:
            sock = self._open_socket(peer)
        except OSError as e:
            raise UnavailableError(f"{peer.endpoint} cannot be reached: {e}") from e
        stream = Stream(sock, self._budget, peer.endpoint)
        with self._lock:
            self._streams.add(stream)
            is_closed = self._closed
        if is_closed:
            self.close_stream(stream)
            raise ClosedSessionError("the channel between the tasks was closed")
        return stream

    def close_stream(self, stream: Stream) -> None:
        """Closes a connection that no thread reads any more."""
        with self._lock:
            if stream in self._streams:
                self._streams.discard(stream)
                self._sent_before += stream.bytes_sent
        stream.close()

    def drop(self, peer: Peer) -> None:
        """Ends the connections to a peer: threads that send on them raise `UnavailableError`. A later send connects."""
        with self._lock:
            self._push_streams.pop(peer, None)
            streams = [s for s in self._streams if s.endpoint == peer.endpoint]
        for stream in streams:
            stream.cut()

    def _open_socket(self, peer: Peer) -> socket.socket:
        sock = socket.create_connection((peer.host.strip("[]"), peer.port), _CONNECT)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if peer.sealed:
                if self._tls is None:
                    raise ConnectionError("it speaks TLS, for which this task has no keys")
                sock = self._tls.connecting.wrap_socket(sock, server_hostname=peer.host.strip("[]"))
            sock.sendall(_PREAMBLE + peer.password.encode())
        except BaseException:
            sock.close()
            raise
        return sock

    # ---- messages from peers ---------------------------------------------------------------

    def _start(self, work: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=work, args=args, name="tfnb channel", daemon=True)
        with self._lock:
            self._threads = [t for t in self._threads if t.is_alive()]  # a thread that is ending is still joined
            thread.start()
            self._threads.append(thread)

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError as e:
                if self._closed:
                    return
                self._refuse(UnavailableError(f"no connection can be taken: {e}"))
                time.sleep(0.1)  # there was no free file descriptor; there may be one later
                continue
            if self._closed:
                sock.close()
                return
            self._start(self._serve, sock)

    def _serve(self, sock: socket.socket) -> None:
        """Authenticates a connection that a peer opened, and reads its messages until it ends."""
        try:
            stream = self._authenticate(sock)
        except (OSError, PermissionDeniedError) as e:
            if not self._closed:
                self._refuse(e if isinstance(e, OpError) else PermissionDeniedError(f"a stranger came: {e}"))
            return
        with self._lock:
            self._streams.add(stream)
            is_closed = self._closed
        try:
            while not is_closed:
                stream.read(True)
                while stream.messages:
                    self._receive(*stream.messages.popleft(), stream)
        except OpError as e:
            self._refuse(e)
        except (OSError, EOFError):
            pass  # the peer is gone, or this side is
        except Exception as e:  # the connection ends and is counted as a refusal; the task continues
            self._refuse(UnknownError(f"{type(e).__name__}: {e}"))
        finally:
            self.close_stream(stream)

    def _authenticate(self, sock: socket.socket) -> Stream:
        """Creates the stream of a new socket after its peer has sent the password.

        If that fails, closes it and raises.
        """
        try:
            with self._as_unauthenticated(sock):
                sock.settimeout(_GREETING)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if self.peer.sealed and self._tls is not None:
                    sock = self._tls.listening.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
            with self._as_unauthenticated(sock):
                if isinstance(sock, ssl.SSLSocket):
                    sock.do_handshake()
                self._check_password(sock)
            return Stream(sock, self._budget)
        except BaseException:
            sock.close()
            raise

    def _check_password(self, sock: socket.socket) -> None:
        """Raises `PermissionDeniedError` for a wrong password, and `OSError` if none arrives in time."""
        expected, received = _PREAMBLE + self.peer.password.encode(), b""
        end = time.monotonic() + _GREETING
        while len(received) < len(expected):
            sock.settimeout(max(end - time.monotonic(), 0.001))  # a limit for all bytes together
            chunk = sock.recv(len(expected) - len(received))
            if not chunk:
                break
            received += chunk
        if not hmac.compare_digest(received, expected):
            raise PermissionDeniedError("a stranger came who does not know the password")

    @contextlib.contextmanager
    def _as_unauthenticated(self, sock: socket.socket) -> Iterator[None]:
        """Within this context `close` shuts `sock` down, which wakes a thread that waits for its peer."""
        with self._lock:
            if self._closed:
                raise ConnectionAbortedError("the channel was closed")
            self._unauthenticated.add(sock)
        try:
            yield
        finally:
            with self._lock:
                self._unauthenticated.discard(sock)

    # ---- the end ---------------------------------------------------------------------------

    def close(self) -> None:
        """Ends all threads and closes all sockets. Messages that were not sent yet are lost. May be called twice."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            streams = list(self._streams)
            for sock in self._unauthenticated:
                with contextlib.suppress(OSError):  # the peer has ended it already
                    socket.socket.shutdown(sock, socket.SHUT_RDWR)
        with contextlib.suppress(OSError):  # the accepting thread has ended already
            self._wake_up()
        for stream in streams:
            stream.cut()
        while threads := self._others():  # repeated, since the accepting thread may just have started another
            for thread in threads:
                thread.join()
        self._listener.close()
        with self._lock:
            self._threads = [t for t in self._threads if t.is_alive()]  # at most the calling thread
            open_streams = list(self._streams)
        for stream in open_streams:
            self.close_stream(stream)

    def _others(self) -> list[threading.Thread]:
        """The threads of this channel except the calling one, because handling a message may close the channel."""
        with self._lock:
            return [t for t in self._threads if t is not threading.current_thread() and t.is_alive()]

    def _wake_up(self) -> None:
        """Wakes the accepting thread by shutting the listener down, or by connecting to it if that fails."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
            return
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.peer.host, self.peer.host)
        socket.create_connection((host.strip("[]"), self.peer.port), _CONNECT).close()


def _is_wide(host: str) -> bool:
    """Returns whether other machines may reach the host. Only addresses of loopback and "localhost" are safe."""
    try:
        return not ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:  # a name, which may resolve to any address
        return host != "localhost"
