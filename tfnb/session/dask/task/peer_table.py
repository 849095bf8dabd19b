"""The addresses of the other tasks of a cluster, which masters send (white paper, section 3.3)."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from tfnb.errors import UnavailableError
from tfnb.session.dask.transport.channel import Peer

__all__ = ["PeerTable"]


class PeerTable:
    """Peers by the names of their tasks, without the task named `task` itself. All methods are thread-safe."""

    def __init__(self, task: str) -> None:
        self._task = task
        self._lock = threading.Lock()
        self._peers: dict[str, Peer] = {}

    def update(self, peers: Mapping[str, Peer]) -> list[Peer]:
        """Adds peers; returns the old peers that they have replaced, because the tasks of these were restarted."""
        with self._lock:
            replaced = [p for name, p in self._peers.items() if name in peers and peers[name] != p]
            self._peers.update({name: p for name, p in peers.items() if name != self._task})
        return replaced

    def get(self, name: str) -> Peer:
        """The peer of a task. Raises `UnavailableError` for a task whose address no master has sent."""
        peer = self._peers.get(name)
        if peer is None:
            raise UnavailableError(f"the task {name} cannot be reached from {self._task}")
        return peer

    def names(self) -> dict[str, str]:
        """The name of each task, by the endpoint of its peer."""
        with self._lock:
            return {peer.endpoint: name for name, peer in self._peers.items()}
