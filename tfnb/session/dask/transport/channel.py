"""`Channel`: the sockets by which tensors go from task to task (OSDI'16, section 3.3).

Every task has one channel: a listening socket, and one thread for each connection that a peer opened. All pushes to a
peer share one connection. A step of a master leases one more connection to each of its tasks and uses it in both
directions: the thread that reads it at the task also runs the step and answers. Invariant: messages are read from a
peer only after it has sent the password, which travels over Dask's comm; beyond loopback both sides have shown
certificates of Dask's authority before that, and everything is encrypted.
"""

from __future__ import annotations

import contextlib
import hmac
import ipaddress
import secrets
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

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
_GREETING = 5.0  # seconds that a stranger has to say the password
_PASSWORD = 32  # characters
MAX_UNFINISHED = 8 << 30  # bytes of the unfinished messages of all connections together
_BACKLOG = 1024
_WORD = b"tfnb 2 "


class Peer(NamedTuple):
    """How a channel is reached: host and port, the password, whether it speaks TLS."""

    host: str
    port: int
    password: str
    sealed: bool = False

    @property
    def endpoint(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Tls(NamedTuple):
    """Contexts for who is called and who calls: Dask's own for its comm."""

    listening: ssl.SSLContext
    connecting: ssl.SSLContext


Receive = Callable[[Head, np.ndarray, Stream], None]
Refuse = Callable[[OpError], None]


class Channel:
    """`receive` is called in the connection's thread for each whole message, `refuse` for what was none.

    `host`: the address to listen at. `limit`: bytes that unfinished messages may have together. Close it. Raises
    `PermissionDeniedError` for a host that others reach, without `tls`.
    """

    def __init__(
        self, host: str, receive: Receive, refuse: Refuse, tls: Tls | None = None, limit: int = MAX_UNFINISHED
    ) -> None:
        wide = _is_wide(host)
        if wide and tls is None:
            raise PermissionDeniedError(f"tensors would leave {host} without TLS")
        self._receive, self._refuse = receive, refuse
        self._tls = tls
        self._budget = Budget(limit)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host.strip("[]"), 0), family=family, backlog=_BACKLOG)
        password = secrets.token_hex(_PASSWORD // 2)
        self.peer = Peer(host, int(self._listener.getsockname()[1]), password, wide)
        self._lock = threading.Lock()
        self._push_streams: dict[Peer, Stream] = {}  # to push on
        self._streams: set[Stream] = set()  # all of them
        self._gone = 0  # bytes sent on those that were closed
        self._threads: set[threading.Thread] = set()
        self._strangers: set[socket.socket] = set()  # who came and has not said the password yet
        self._closed = False
        try:
            self._start(self._accept)
        except BaseException:
            self._listener.close()
            raise

    # ---- to others -------------------------------------------------------------------------

    def send(self, peer: Peer, *messages: Message) -> int:
        """Pushes messages, small neighbours in one piece; the bytes of their data.

        Messages of one thread to one peer arrive in order. Values may be changed as soon as this returns. Raises
        `UnavailableError` when the peer is gone or was dropped, `ClosedSessionError` when this channel was closed.
        """
        start = time.monotonic()
        with self._lock:
            stream = self._push_streams.get(peer)
        try:
            if stream is None:
                stream = self.connect(peer)
                with self._lock:
                    other, stream = stream, self._push_streams.setdefault(peer, stream)
                if stream is not other:  # another thread was quicker
                    self.close_stream(other)
            return self.post(stream, peer.endpoint, messages)
        except OSError as e:
            with self._lock:
                if self._push_streams.get(peer) is stream:
                    del self._push_streams[peer]
            if stream is not None:
                self.close_stream(stream)
            what = f"{messages[0].key!r} of step {messages[0].step}"
            raise UnavailableError(
                f"{peer.endpoint} cannot be reached: {e}; {what} waited {time.monotonic() - start:.1f} s to be sent"
            ) from e

    def post(self, stream: Stream, endpoint: str, messages: Sequence[Message], on_blocked: OnBlocked = None) -> int:
        """As `Stream.send`, on a connection to or from the peer at `endpoint`."""
        return stream.send(messages, on_blocked)

    @property
    def bytes_sent(self) -> int:
        """Bytes of values that went to peers so far, without what says what they are."""
        with self._lock:
            return self._gone + sum(s.bytes_sent for s in self._streams)

    def connect(self, peer: Peer) -> Stream:
        """A new connection, for who reads and writes it alone. Raises as `send`."""
        if self._closed:
            raise ClosedSessionError("the channel between the tasks was closed")
        try:
            sock = self._open_socket(peer)
        except OSError as e:
            raise UnavailableError(f"{peer.endpoint} cannot be reached: {e}") from e
        stream = Stream(sock, self._budget, peer.endpoint)
        with self._lock:
            self._streams.add(stream)
            closed = self._closed
        if closed:
            self.close_stream(stream)
            raise ClosedSessionError("the channel between the tasks was closed")
        return stream

    def close_stream(self, stream: Stream) -> None:
        """Closes a connection, which nobody reads any more."""
        with self._lock:
            if stream in self._streams:
                self._streams.discard(stream)
                self._gone += stream.bytes_sent
        stream.close()

    def drop(self, peer: Peer) -> None:
        """Gives the connections to a peer up: what waits to be sent to it raises `UnavailableError`. What comes later
        is sent on another."""
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
            sock.sendall(_WORD + peer.password.encode())
        except BaseException:
            sock.close()
            raise
        return sock

    # ---- from others -----------------------------------------------------------------------

    def _start(self, work: Callable[..., None], *args: object) -> None:
        def run() -> None:
            try:
                work(*args)
            finally:
                with self._lock:
                    self._threads.discard(thread)

        thread = threading.Thread(target=run, name="tfnb channel", daemon=True)
        with self._lock:  # what is in the set was started, and leaves it afterwards
            thread.start()
            self._threads.add(thread)

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError as e:
                if self._closed:
                    return
                self._refuse(UnavailableError(f"no connection can be taken: {e}"))
                time.sleep(0.1)  # no file is left for it, perhaps soon
                continue
            if self._closed:
                sock.close()
                return
            self._start(self._serve, sock)

    def _serve(self, sock: socket.socket) -> None:
        """The life of a connection that a peer made."""
        try:
            stream = self._greeted(sock)
        except (OSError, PermissionDeniedError) as e:
            if not self._closed:
                self._refuse(e if isinstance(e, OpError) else PermissionDeniedError(f"a stranger came: {e}"))
            return
        with self._lock:
            self._streams.add(stream)
            closed = self._closed
        try:
            while not closed:
                stream.read(True)
                while stream.messages:
                    self._receive(*stream.messages.popleft(), stream)
        except OpError as e:
            self._refuse(e)
        except (OSError, EOFError):
            pass  # the peer is gone, or this side is
        except Exception as e:  # the connection ends, which is told as any refusal is; the task goes on
            self._refuse(UnknownError(f"{type(e).__name__}: {e}"))
        finally:
            self.close_stream(stream)

    def _greeted(self, sock: socket.socket) -> Stream:
        """The connection of one who knows the password; any other is closed."""
        try:
            with self._strange(sock):
                sock.settimeout(_GREETING)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if self.peer.sealed and self._tls is not None:
                    sock = self._tls.listening.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
            with self._strange(sock):
                if isinstance(sock, ssl.SSLSocket):
                    sock.do_handshake()
                self._hear_password(sock)
            return Stream(sock, self._budget)
        except BaseException:
            sock.close()
            raise

    def _hear_password(self, sock: socket.socket) -> None:
        wanted, said = _WORD + self.peer.password.encode(), b""
        end = time.monotonic() + _GREETING
        while len(said) < len(wanted):
            sock.settimeout(max(end - time.monotonic(), 0.001))  # however slowly it speaks
            more = sock.recv(len(wanted) - len(said))
            if not more:
                break
            said += more
        if not hmac.compare_digest(said, wanted):
            raise PermissionDeniedError("a stranger came who does not know the password")

    @contextlib.contextmanager
    def _strange(self, sock: socket.socket) -> Iterator[None]:
        """Whoever waits for what a stranger says is woken when the channel is closed."""
        with self._lock:
            if self._closed:
                raise ConnectionAbortedError("the channel was closed")
            self._strangers.add(sock)
        try:
            yield
        finally:
            with self._lock:
                self._strangers.discard(sock)

    # ---- the end ---------------------------------------------------------------------------

    def close(self) -> None:
        """Ends the threads and closes every socket; what was not sent yet is lost."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            streams = list(self._streams)
            for stranger in self._strangers:
                with contextlib.suppress(OSError):  # it has gone already
                    socket.socket.shutdown(stranger, socket.SHUT_RDWR)
        with contextlib.suppress(OSError):  # its thread is gone already
            self._wake_up()
        for stream in streams:
            stream.cut()
        while threads := self._others():  # again: the one that accepts may have started another
            for thread in threads:
                thread.join()
        self._listener.close()
        with self._lock:
            left = list(self._streams)
        for stream in left:
            self.close_stream(stream)

    def _others(self) -> list[threading.Thread]:
        with self._lock:
            return [t for t in self._threads if t is not threading.current_thread()]

    def _wake_up(self) -> None:
        """Wakes the thread that accepts: at once where the system lets it, else by a visit."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
            return
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.peer.host, self.peer.host)
        socket.create_connection((host.strip("[]"), self.peer.port), _CONNECT).close()


def _is_wide(host: str) -> bool:
    """Can others than this machine reach the host? Only numbers of loopback, and its name, are known not to be."""
    try:
        return not ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:  # a name: who knows where it leads
        return host != "localhost"
