"""A master's view of a cluster: which tasks there are, where, and whether they live (white paper, section 3.3).

Everything goes over Dask's comm, on its event loop, in a thread of its own or a client's. Each task is watched over a
comm of its own: it breaks at once when the process dies, and a heartbeat finds one that is paused. Invariant: a task
whose comm breaks, or that does not answer in time, is reported lost once; what was asked of it fails then.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from distributed.comm import CommClosedError
from distributed.core import ConnectionPool
from distributed.utils import LoopRunner, sync

from tfnb.errors import InvalidArgumentError, OpError, UnavailableError
from tfnb.session.dask.membership.rpc_service import HANDLER
from tfnb.session.dask.observability.clocks import Clock
from tfnb.session.dask.transport.channel import Peer
from tfnb.session.dask.transport.error_codec import error_from_json

__all__ = ["Directory", "Entry"]

_RETRY = 0.2  # seconds between attempts to reach a task that is not up yet
_HEARTBEAT = 1.0
_GREETING = 3.0  # seconds for the first try to greet a task; a paused process accepts connections too
_TELL = 5.0  # seconds after which it is told whom the program waits for; a worker that begins anew takes 1 to 4
_log = logging.getLogger("tfnb")

Locate = Callable[[str, str | None], str]


@dataclass(frozen=True)
class Entry:
    """A task that was reached. `devices`: full name, kind, memory limit in bytes of each.

    `incarnation` is another after a restart of the task, `link` also when the same one was lost and found again: it has
    then forgotten what it was told before. `clock` is its `time.perf_counter` beside that of this process.
    """

    name: str
    address: str
    peer: Peer
    incarnation: int
    link: int
    devices: tuple[tuple[str, str, int], ...]
    clock: Clock = field(default_factory=Clock, compare=False)


class Directory:
    """`locate(task, silent)`: where it is, or where a new one in its place is, an address of Dask's comm; or raises
    `UnavailableError`, which says why it is nowhere yet. `silent` is the address where it was, if nobody answers there.

    `security`: Dask's, for TLS. `patience`: seconds without an answer after which a task counts as lost. `loop`:
    Dask's event loop, in another thread; None for a new one.
    """

    def __init__(
        self, locate: Locate, name: str, peer: Peer, security: Any = None,
        patience: float = 10.0, loop: Any = None,
    ) -> None:  # fmt: skip
        self._locate = locate
        self._lost: Callable[[Entry], None] = lambda entry: None
        self._name, self._peer, self.patience, self.security = name, peer, patience, security
        arguments = security.get_connection_args("worker") if security is not None else {}
        self._runner = LoopRunner(asynchronous=False) if loop is None else None
        if self._runner is not None:
            self._runner.start()
        self._loop = loop or self._runner.loop  # type: ignore[union-attr]
        self._pool: ConnectionPool = self._sync(self._make_pool, arguments)
        self._watchers: dict[str, Any] = {}
        self._spreading: set[Any] = set()  # of the loop's thread
        self._sought: dict[str, str] = {}  # task that is looked for -> why it has not been found
        self._asked: dict[str, float] = {}  # address -> since when it has not answered
        self._closed = False
        self._links = itertools.count(1)
        self._lock = threading.Lock()
        self.entries: dict[str, Entry] = {}
        self.changes = 0  # how often a task came or went

    async def _make_pool(self, arguments: dict[str, Any]) -> ConnectionPool:
        return await ConnectionPool(connection_args=arguments, timeout=self.patience)

    def _sync(self, function: Callable[..., Any], *args: Any) -> Any:
        return sync(self._loop, function, *args)

    def find(self, names: list[str], prefix: int, timeout: float) -> None:
        """Waits until these tasks are up, and watches them.

        `prefix`: the master's number, which the tasks forget with it. Raises `UnavailableError` that names who is
        missing.
        """
        begin, missing = time.monotonic(), list(names)
        self._sought = dict.fromkeys(names, "nobody has answered yet")
        end = begin + timeout
        silent: dict[str, str] = {}
        told = False
        while missing:
            there, why = self._whereabouts(missing, silent)
            found = self._sync(self._greet_all, there, prefix, end)
            for (name, address), entry in zip(there.items(), found, strict=True):
                if entry is None:
                    now = time.monotonic()
                    if now - self._asked.get(address, now) >= self.patience:  # a machine may be busy
                        silent[name] = address
                    why[name] = f"nobody answers at {address}"
                else:
                    missing.remove(name)
            self._sought = {name: why[name] for name in missing}
            if not missing:
                break
            waited = time.monotonic() - begin
            reasons = "; ".join(f"{name}: {why[name]}" for name in missing)
            if waited > timeout:
                self._asked.clear()  # nobody asks on
                raise UnavailableError(f"these tasks did not answer within {timeout:g} s: {reasons}")
            if waited > _TELL and not told:
                _log.warning("waiting for tasks, for %.0f s at most: %s", timeout - waited, reasons)
                told = True
            time.sleep(_RETRY)

    def what_is_sought(self) -> str:
        """What a call that has not returned waits for: tasks to come up, or an answer of those that are there."""
        sought = dict(self._sought)
        if not sought:
            return "the tasks to answer and to take their parts of the step"
        return "these tasks to come up: " + "; ".join(f"{name}: {why}" for name, why in sought.items())

    def _whereabouts(self, names: Iterable[str], silent: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
        """(where tasks are, why others are nowhere)."""
        there, why = {}, {}
        for name in names:
            try:
                there[name] = self._locate(name, silent.get(name))
            except UnavailableError as e:
                why[name] = e.message
        return there, why

    def on_lost(self, callback: Callable[[Entry], None]) -> None:
        """`callback(entry)` is called, in some thread, when a task that was found is gone."""
        self._lost = callback

    def links(self, names: Iterable[str]) -> dict[str, int]:
        """Those of the tasks that are there; a task that was lost since has another link, or none."""
        with self._lock:
            return {n: self.entries[n].link for n in names if n in self.entries}

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
        if answer is None:  # Dask's answer where nobody handles the question
            raise UnavailableError(f"there is no task at {address} any more")
        if "error" in answer:
            raise error_from_json(answer["error"])
        return answer["result"]

    async def _greet_all(self, addresses: Mapping[str, str], prefix: int, end: float) -> list[Entry | None]:
        return list(await asyncio.gather(*(self._greet(n, a, prefix, end) for n, a in addresses.items())))

    async def _greet(self, name: str, address: str, prefix: int, end: float) -> Entry | None:
        """The task, watched from now on, if it is up at this address and is the one that is sought."""
        me = {"name": self._name, "peer": list(self._peer)}
        now = time.monotonic()
        since = self._asked.setdefault(address, now)
        # Each try is as long as all before it: of many short ones none would reach who is slow.
        longer = now - since if now - since < self.patience else 0.0
        limit = min(max(_GREETING, longer), self.patience, max(_GREETING, end - now))
        comm = None
        try:
            asked = time.perf_counter()
            said = await asyncio.wait_for(self._call(address, "hello", me), limit)
            heard = time.perf_counter()
            if said["name"] != name:
                raise InvalidArgumentError(f"at {address} is the task {said['name']}, not {name}")
            comm = await asyncio.wait_for(self._pool.connect(address), limit)
            await comm.write({"op": HANDLER, "what": "watch", "arguments": {"prefix": prefix, **me}, "reply": True})
            await asyncio.wait_for(comm.read(), limit)  # it knows this master from now on
        except (UnavailableError, OSError, CommClosedError, asyncio.TimeoutError) as e:
            if comm is not None:
                comm.abort()
                self._pool.remove(address, reason="it did not answer")
            if not isinstance(e, asyncio.TimeoutError):
                self._asked[address] = now - self.patience  # nobody is there, or no task
            return None
        self._asked.pop(address, None)
        devices = tuple((str(d), str(k), int(m)) for d, k, m in said["devices"])
        entry = Entry(name, address, Peer(*said["peer"]), said["incarnation"], next(self._links), devices)
        entry.clock.measure(asked, said["clock"], said["clock"], heard)
        with self._lock:
            self.entries[name] = entry
            self.changes += 1
            self._watchers[name] = asyncio.ensure_future(self._watch(entry, comm))
        return entry

    async def _watch(self, entry: Entry, comm: Any) -> None:
        """Returns when the task is gone, or does not answer."""
        broken = asyncio.ensure_future(comm.read())
        try:
            # Python 3.11 forgets that `close` cancelled this task where the answer comes at that moment.
            while self.entries.get(entry.name) is entry:
                done, _ = await asyncio.wait({broken}, timeout=_HEARTBEAT)
                if done:
                    broken.exception()
                    break
                asked = time.perf_counter()
                told = await asyncio.wait_for(self._call(entry.address, "beat", {}), self.patience)
                entry.clock.measure(asked, told, told, time.perf_counter())
        except (OpError, OSError, CommClosedError, asyncio.TimeoutError):
            self._asked[entry.address] = time.monotonic() - self.patience
        finally:
            broken.cancel()
            comm.abort()
        self._gone(entry)

    def _gone(self, entry: Entry) -> None:
        with self._lock:
            known = self.entries.get(entry.name) is entry
            if known:
                del self.entries[entry.name]
                self.changes += 1
            others = list(self.entries.values())
        if not known:
            return
        self._lost(entry)
        with self._lock:
            if not self._closed:  # then there is no loop any more
                self._loop.asyncio_loop.call_soon_threadsafe(self._spread_soon, entry, others)

    def _spread_soon(self, entry: Entry, others: list[Entry]) -> None:
        spreading = asyncio.ensure_future(self._spread(entry, others))
        self._spreading.add(spreading)
        spreading.add_done_callback(self._spreading.discard)

    async def _spread(self, entry: Entry, others: list[Entry]) -> None:
        """What waits for an answer of the lost task fails; the others wait no longer to send to it."""
        self._pool.remove(entry.address, reason=f"the task {entry.name} is lost")
        for other in others:
            with contextlib.suppress(OpError, asyncio.TimeoutError):
                tell = self._call(other.address, "lose", {"peer": list(entry.peer)})
                await asyncio.wait_for(tell, self.patience)

    def lose(self, name: str) -> None:
        """A task's own connection broke: it counts as lost."""
        with self._lock:
            entry = self.entries.get(name)
        if entry is not None:
            self._gone(entry)

    def close(self) -> None:
        """Leaves the cluster; the tasks forget what this master registered."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self.entries.clear()
            self.changes += 1
            watchers, self._watchers = list(self._watchers.values()), {}
        self._sync(self._leave, watchers)
        if self._runner is not None:
            self._runner.stop()

    async def _leave(self, watchers: list[Any]) -> None:
        waited = [*watchers, *self._spreading]
        for task in waited:
            task.cancel()
        await asyncio.gather(*waited, return_exceptions=True)
        await self._pool.close()
