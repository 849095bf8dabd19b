"""Connections and pollers that the steps of masters lease (OSDI'16, section 3.3).

Invariant: a connection serves one step at a time and returns to the pool only after its task has answered, so no
message of an earlier step can arrive on it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from tfnb.session.dask.transport.channel import Channel, Peer
from tfnb.session.dask.transport.poller import Poller
from tfnb.session.dask.transport.stream import Stream

__all__ = ["ConnectionPool"]

_MOST_IDLE = 64  # idle connections to one task, and idle pollers, that are kept


class ConnectionPool:
    """The connections that one process leases to its steps, and the pollers that read them.

    Only a limited number of idle ones is kept, not one for each step that ever ran at the same time. All methods may be
    called from any thread.
    """

    def __init__(self, channel: Channel, make_poller: Callable[[], Poller]) -> None:
        self._channel, self._make_poller = channel, make_poller
        self._lock = threading.Lock()
        self._idle: dict[Peer, list[Stream]] = {}
        self._pollers: list[Poller] = []
        self._closed = False

    def take_stream(self, peer: Peer) -> Stream:
        """Leases a connection to this peer: an idle one, or a new one. Raises as `Channel.connect`."""
        with self._lock:
            idle = self._idle.get(peer)
            if idle:
                return idle.pop()
        return self._channel.connect(peer)

    def return_stream(self, peer: Peer, stream: Stream) -> None:
        """Ends a lease. The connection is kept for later steps, or closed if it broke or enough are idle."""
        with self._lock:
            idle = self._idle.setdefault(peer, [])
            is_kept = not self._closed and not stream.is_cut and len(idle) < _MOST_IDLE
            if is_kept:
                idle.append(stream)
        if not is_kept:
            self._channel.close_stream(stream)

    def drop(self, peer: Peer) -> None:
        """Closes the idle connections to a peer that is gone."""
        with self._lock:
            streams = self._idle.pop(peer, [])
        for stream in streams:
            self._channel.close_stream(stream)

    def take_poller(self) -> Poller:
        """Leases a poller that reads no connection yet."""
        with self._lock:
            if self._pollers:
                return self._pollers.pop()
        return self._make_poller()

    def return_poller(self, poller: Poller) -> None:
        """Ends the lease of a poller, which must not read any connection any more."""
        with self._lock:
            if not self._closed and len(self._pollers) < _MOST_IDLE:
                self._pollers.append(poller)
                return
        poller.close()

    def close(self) -> None:
        """Closes all idle connections and pollers, and from now on each one whose lease ends."""
        with self._lock:
            self._closed = True
            streams = [stream for idle in self._idle.values() for stream in idle]
            pollers = self._pollers
            self._idle, self._pollers = {}, []
        for stream in streams:
            self._channel.close_stream(stream)
        for poller in pollers:
            poller.close()
