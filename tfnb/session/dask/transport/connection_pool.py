"""Connections that a master's steps lease, one to each task (OSDI'16, section 3.3).

Invariant: a connection serves one step at a time and returns to the pool only after its task has answered, so no
message of an earlier step can arrive on it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from tfnb.session.dask.transport.channel import Channel, Peer
from tfnb.session.dask.transport.pump import Pump
from tfnb.session.dask.transport.stream import Stream

__all__ = ["ConnectionPool"]

_MOST_IDLE = 64  # connections to one task, and pumps, that are kept for steps to come


class ConnectionPool:
    """Those of one task, and the pumps that read them: as many as steps that ran at once, up to a limit."""

    def __init__(self, channel: Channel, make_pump: Callable[[], Pump]) -> None:
        self._channel, self._make_pump = channel, make_pump
        self._lock = threading.Lock()
        self._idle: dict[Peer, list[Stream]] = {}
        self._pumps: list[Pump] = []
        self._closed = False

    def take(self, peer: Peer) -> Stream:
        """A connection to this peer, an idle one if there is one. Raises as `Channel.connect`."""
        with self._lock:
            idle = self._idle.get(peer)
            if idle:
                return idle.pop()
        return self._channel.connect(peer)

    def put_back(self, peer: Peer, stream: Stream) -> None:
        """For steps to come."""
        with self._lock:
            idle = self._idle.setdefault(peer, [])
            kept = not self._closed and not stream.is_cut and len(idle) < _MOST_IDLE
            if kept:
                idle.append(stream)
        if not kept:
            self._channel.close_stream(stream)

    def drop(self, peer: Peer) -> None:
        """The peer is gone, or seems so."""
        with self._lock:
            streams = self._idle.pop(peer, [])
        for stream in streams:
            self._channel.close_stream(stream)

    def take_pump(self) -> Pump:
        """What a step waits with."""
        with self._lock:
            if self._pumps:
                return self._pumps.pop()
        return self._make_pump()

    def put_pump_back(self, pump: Pump) -> None:
        """It reads no connection any more."""
        with self._lock:
            if not self._closed and len(self._pumps) < _MOST_IDLE:
                self._pumps.append(pump)
                return
        pump.close()

    def close(self) -> None:
        """What comes back from now on is closed."""
        with self._lock:
            self._closed = True
            streams = [stream for idle in self._idle.values() for stream in idle]
            pumps = self._pumps
            self._idle, self._pumps = {}, []
        for stream in streams:
            self._channel.close_stream(stream)
        for pump in pumps:
            pump.close()
