"""A master's view of a cluster: which tasks there are, where, and whether they live (white paper, section 3.3).

Everything goes over Dask's comm, on its event loop, in a thread of its own or a client's. Invariant: a task whose comm
breaks, or that does not answer in time, is reported lost once, and is not asked again.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from distributed.comm import CommClosedError
from distributed.core import ConnectionPool
from distributed.utils import LoopRunner, sync

from tfnb.errors import DeadlineExceededError, InvalidArgumentError, UnavailableError
from tfnb.session.dask.channel import Peer
from tfnb.session.dask.failures import decode_error
from tfnb.session.dask.hosting import HANDLER

__all__ = ["Directory", "Entry"]

_RETRY = 0.2  # seconds between attempts to reach a task that is not up yet
_HEARTBEAT = 1.0
_CONNECT = 3.0  # seconds to reach an address


@dataclass(frozen=True)
class Entry:
    """A task that was reached. `devices`: full name, kind, memory limit in bytes of each."""

    name: str
    address: str
    peer: Peer
    incarnation: int
    devices: tuple[tuple[str, str, int], ...]


class Directory:
    """`locate(task)`: where it is, or where a new one in its place is (an address of Dask's comm; None: nowhere yet).

    `security`: Dask's, for TLS. `patience`: seconds without an answer after which a task counts as lost. `loop`:
    Dask's event loop, in another thread; None for a new one.
    """

    def __init__(
        self, locate: Callable[[str], str | None], name: str, peer: Peer, security: Any = None,
        patience: float = 10.0, loop: Any = None,
    ) -> None:  # fmt: skip
        self._locate = locate
        self._lost: Callable[[str], None] = lambda name: None
        self._name, self._peer, self.patience, self.security = name, peer, patience, security
        self._runner = LoopRunner(asynchronous=False) if loop is None else None
        if self._runner is not None:
            self._runner.start()
        self._loop = loop or self._runner.loop  # type: ignore[union-attr]
        arguments = security.get_connection_args("worker") if security is not None else {}
        self._pool: ConnectionPool = self._sync(self._make_pool, arguments)
        self._watchers: dict[str, Any] = {}
        self._lock = threading.Lock()
        self.entries: dict[str, Entry] = {}

    async def _make_pool(self, arguments: dict[str, Any]) -> ConnectionPool:
        return await ConnectionPool(connection_args=arguments, timeout=_CONNECT)

    def _sync(self, function: Callable[..., Any], *args: Any) -> Any:
        return sync(self._loop, function, *args)

    def find(self, names: list[str], prefix: int, timeout: float) -> None:
        """Waits until these tasks are up, and watches them.

        `prefix`: the master's number, which the tasks forget with it. Raises `DeadlineExceededError` that names who is
        missing.
        """
        end, missing = time.monotonic() + timeout, list(names)
        while missing:
            asked = {n: self._locate(n) for n in missing}
            for entry in self._sync(self._greet_all, {n: a for n, a in asked.items() if a is not None}):
                if entry is not None:
                    missing.remove(entry.name)
                    self._enter(entry, prefix)
            if missing and time.monotonic() > end:
                raise DeadlineExceededError(f"these tasks did not answer within {timeout:g} s: {asked}")
            if missing:
                time.sleep(_RETRY)

    def on_lost(self, callback: Callable[[str], None]) -> None:
        """`callback(task)` is called, in some thread, when a task that was found is gone."""
        self._lost = callback

    def _enter(self, entry: Entry, prefix: int) -> None:
        with self._lock:
            self.entries[entry.name] = entry
        watcher = asyncio.run_coroutine_threadsafe(self._watch(entry, prefix), self._loop.asyncio_loop)
        self._watchers[entry.name] = watcher

    def call(self, name: str, what: str, **arguments: Any) -> Any:
        """Asks a task. Raises its error, or `UnavailableError` when it cannot be reached."""
        with self._lock:
            entry = self.entries.get(name)
        if entry is None:
            raise UnavailableError(f"the task {name} is not there")
        try:
            return self._sync(self._call, entry.address, what, arguments)
        except UnavailableError:
            self._gone(entry)
            raise

    def ask(self, address: str, what: str, **arguments: Any) -> Any:
        """Asks whoever is at an address. Raises `UnavailableError` when nobody is."""
        return self._sync(self._call, address, what, arguments)

    async def _call(self, address: str, what: str, arguments: dict[str, Any]) -> Any:
        try:
            answer = await getattr(self._pool(address), HANDLER)(what=what, arguments=arguments)
        except (OSError, CommClosedError) as e:
            raise UnavailableError(f"the task at {address} cannot be reached: {e}") from e
        if "error" in answer:
            raise decode_error(answer["error"])
        return answer["result"]

    async def _greet_all(self, addresses: Mapping[str, str]) -> list[Entry | None]:
        return list(await asyncio.gather(*(self._greet(n, a) for n, a in addresses.items())))

    async def _greet(self, name: str, address: str) -> Entry | None:
        """The task, if it is up at this address and is the one that is sought."""
        hello = self._call(address, "hello", {"name": self._name, "peer": list(self._peer)})
        try:
            said = await asyncio.wait_for(hello, self.patience)
        except (UnavailableError, asyncio.TimeoutError):
            return None
        if said["name"] != name:
            raise InvalidArgumentError(f"at {address} is the task {said['name']}, not {name}")
        devices = tuple((str(d), str(k), int(m)) for d, k, m in said["devices"])
        return Entry(name, address, Peer(*said["peer"]), said["incarnation"], devices)

    async def _watch(self, entry: Entry, prefix: int) -> None:
        """Returns when the task is gone, was replaced, or does not answer."""
        comm = broken = None
        try:
            comm = await self._pool.connect(entry.address)
            await comm.write({"op": HANDLER, "what": "watch", "arguments": {"prefix": prefix}, "reply": True})
            broken = asyncio.ensure_future(comm.read())
            while True:
                done, _ = await asyncio.wait({broken}, timeout=_HEARTBEAT)
                if done:
                    broken.exception()
                    break
                await asyncio.wait_for(self._call(entry.address, "status", {}), self.patience)
        except (OSError, CommClosedError, UnavailableError, asyncio.TimeoutError):
            pass
        finally:
            if broken is not None:
                broken.cancel()
            if comm is not None:
                comm.abort()
        self._gone(entry)

    def _gone(self, entry: Entry) -> None:
        with self._lock:
            known = self.entries.get(entry.name) is entry
            if known:
                del self.entries[entry.name]
        if known:
            self._lost(entry.name)

    def close(self) -> None:
        """Leaves the cluster; the tasks forget what this master registered."""
        with self._lock:
            self.entries.clear()
        for watcher in self._watchers.values():
            watcher.cancel()
        self._sync(self._pool.close)
        if self._runner is not None:
            self._runner.stop()
