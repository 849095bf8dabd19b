"""`Membership`: the tasks that a master has reached, their addresses, and their liveness (white paper, section 3.3).

All requests go over Dask's comm, on an event loop in a thread of its own. Each task is watched over one comm, which
breaks at once when the process dies. A heartbeat detects a process that is paused. Invariant: a task whose comm breaks,
or that does not answer in time, is reported as lost once, and requests that wait for its answer fail then.

Every running step that has a part at a lost task fails with `UnavailableError`, at all tasks, whether or not the lost
task had finished its own part. If no such step was running, the next step that needs the task fails with
`AbortedError`. So a loss is reported once, before anything notices that state is missing, and steps that do not need
the task go on. The next step looks for the task again: for a `Server` at its address, for a role of a `DaskCluster` at
the worker that has it. That is another worker if the former one died, or did not answer for the cluster's `patience`.
If there is no such process, the step waits for one, logs after five seconds which tasks are missing, and raises
`UnavailableError` after a minute. A call that arrives twice is recognised by the number of its step and dropped. A
`MonitoredSession` closes what it has, makes another session, restores the last checkpoint and goes on; with a
`Supervisor` the program's own loop enters `managed_session` again. `python tests/session/dask/chaos.py 50` kills tasks
of a training at random and compares its weights with those of an undisturbed one.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from distributed import Security
from distributed.comm import Comm, CommClosedError
from distributed.core import ConnectionPool
from distributed.utils import LoopRunner, sync

from tfnb.errors import InvalidArgumentError, OpError, PermissionDeniedError, UnavailableError
from tfnb.runtime.deadline import current as current_deadline
from tfnb.session.dask.membership.rpc_service import HANDLER, split_address
from tfnb.session.dask.observability.clocks import Clock
from tfnb.session.dask.transport.channel import Peer
from tfnb.session.dask.transport.comm import WrongSecretError
from tfnb.session.dask.transport.error_codec import error_from_json

__all__ = ["Member", "Membership"]

_RETRY = 0.2  # seconds between attempts to reach a task that is not up yet
_HEARTBEAT = 1.0
_FIRST_ATTEMPT = 3.0  # seconds for the first attempt to reach a task; a paused process accepts connections, too
_LOG_AFTER = 5.0  # seconds of waiting after which a warning names the tasks; a worker that restarts takes 1 to 4
_log = logging.getLogger("tfnb")

Locate = Callable[[str, str | None], str]
Result = TypeVar("Result")


@dataclass(frozen=True)
class Member:
    """A task that was reached. `devices` has the full name, the kind and the memory limit in bytes of each device.

    `incarnation` changes when the task is restarted. `epoch` changes also when the same process is lost and reached
    again, because the process has then dropped the state of this master. `clock` estimates the task's
    `time.perf_counter`.
    """

    name: str
    address: str
    peer: Peer
    incarnation: int
    epoch: int
    devices: tuple[tuple[str, str, int], ...]
    clock: Clock = field(default_factory=Clock, compare=False)


class Membership:
    """The tasks that one master knows. The owner must close it.

    Methods without `async` may be called from any thread except that of the event loop. `locate(task, silent)` returns
    the address of a task's comm, for a private task with its key (see `private_address`), or raises `UnavailableError`
    with the reason why there is none yet. `silent` is an address at which the task did not answer, or None; another
    process may then get its role. `name` and `peer` belong to the master's own task. `security` is Dask's, for TLS.
    `answer_timeout` is the number of seconds without an answer after which a task is lost.
    """

    def __init__(
        self, locate: Locate, name: str, peer: Peer, security: Security | None = None, answer_timeout: float = 10.0
    ) -> None:
        self._locate = locate
        self._lost: Callable[[Member], None] = lambda member: None
        self._name, self._peer, self.answer_timeout, self.security = name, peer, answer_timeout, security
        arguments = security.get_connection_args("worker") if security is not None else {}
        self._runner = LoopRunner(asynchronous=False)
        self._runner.start()
        self._pool: ConnectionPool = self._sync(self._make_pool, arguments)
        self._watchers: dict[str, asyncio.Task[None]] = {}
        self._announcements: set[asyncio.Task[None]] = set()  # only the loop's thread uses it
        self._missing: dict[str, str] = {}  # by name of a task that is searched for: why it has not been reached
        self._silent_since: dict[str, float] = {}  # by address: the time of the first request without an answer
        self._closed = False
        self._epochs = itertools.count(1)
        self._lock = threading.Lock()
        self.members: dict[str, Member] = {}
        self.version = 0  # how often a task was added or removed

    async def _make_pool(self, arguments: dict[str, Any]) -> ConnectionPool:
        return await ConnectionPool(connection_args=arguments, timeout=self.answer_timeout)

    def _sync(self, function: Callable[..., Coroutine[Any, Any, Result]], *args: object) -> Result:
        """Runs a coroutine on the event loop; waits for its result."""
        result: Result = sync(self._runner.loop, function, *args)
        return result

    # ---- reaching tasks --------------------------------------------------------------------

    def wait_for(self, names: list[str], master: int, timeout: float) -> None:
        """Waits until these tasks are reached. They are watched from then on.

        `master` is the number of the master, under which the tasks store its registered steps. Raises
        `UnavailableError`, which names the missing tasks, after `timeout` seconds.
        """
        begin, missing = time.monotonic(), list(names)
        self._missing = dict.fromkeys(names, "nobody has answered yet")
        end = begin + timeout
        silent: dict[str, str] = {}
        was_logged = False
        while missing:
            addresses, why = self._locate_all(missing, silent)
            members = self._sync(self._reach_all, addresses, master, end)
            for (name, address), member in zip(addresses.items(), members, strict=True):
                if member is not None:
                    missing.remove(name)
                    continue
                now = time.monotonic()
                # Another process gets the role only after the whole timeout, because the machine may just be busy.
                if now - self._silent_since.get(address, now) >= self.answer_timeout:
                    silent[name] = address
                why[name] = f"nobody answers at {address}"
            self._missing = {name: why[name] for name in missing}
            if not missing:
                break
            waited = time.monotonic() - begin
            reasons = "; ".join(f"{name}: {why[name]}" for name in missing)
            if waited > timeout:
                self._silent_since.clear()  # a later search begins with short attempts again
                raise UnavailableError(f"these tasks did not answer within {timeout:g} s: {reasons}")
            if waited > _LOG_AFTER and not was_logged:
                _log.warning("waiting for tasks, for %.0f s at most: %s", timeout - waited, reasons)
                was_logged = True
            time.sleep(_RETRY)

    def describe_wait(self) -> str:
        """A text for a step at its deadline: the tasks that it waits for, either to be reached or to answer."""
        missing = dict(self._missing)
        if not missing:
            return "the tasks to answer and to take their parts of the step"
        return "these tasks to come up: " + "; ".join(f"{name}: {why}" for name, why in missing.items())

    def _locate_all(self, names: Iterable[str], silent: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
        """The addresses of the tasks that have one, and the reasons why others have none."""
        addresses, why = {}, {}
        for name in names:
            try:
                addresses[name] = self._locate(name, silent.get(name))
            except UnavailableError as e:
                why[name] = e.message
        return addresses, why

    async def _reach_all(self, addresses: Mapping[str, str], master: int, end: float) -> list[Member | None]:
        return list(await asyncio.gather(*(self._reach(n, a, master, end) for n, a in addresses.items())))

    async def _reach(self, name: str, address: str, master: int, end: float) -> Member | None:
        """Begins to watch the task at this address. Returns None if it does not answer.

        Raises `InvalidArgumentError` for another task.
        """
        own_task = {"name": self._name, "peer": list(self._peer)}
        now = time.monotonic()
        since = self._silent_since.setdefault(address, now)
        # Each attempt takes as long as all attempts before. A slow process never answers many short ones.
        growing_limit = now - since if now - since < self.answer_timeout else 0.0
        limit = min(max(_FIRST_ATTEMPT, growing_limit), self.answer_timeout, max(_FIRST_ATTEMPT, end - now))
        comm: Comm | None = None
        try:
            sent_at = time.perf_counter()
            hello = await asyncio.wait_for(self._request(address, "hello", own_task), limit)
            received_at = time.perf_counter()
            if hello["name"] != name:
                raise InvalidArgumentError(f"at {address} is the task {hello['name']}, not {name}")
            url, private = split_address(address)
            watching = await asyncio.wait_for(self._pool.connect(url), limit)
            comm = watching
            watch = {"op": HANDLER, "what": "watch", "arguments": {"prefix": master, **own_task}, "reply": True}
            await watching.write({**watch, **private})
            await asyncio.wait_for(watching.read(), limit)  # from now on it accepts steps of this master
        except (UnavailableError, OSError, CommClosedError, asyncio.TimeoutError) as e:
            if comm is not None:
                comm.abort()
                self._pool.remove(split_address(address)[0], reason="it did not answer")
            if not isinstance(e, asyncio.TimeoutError):
                # There is no process, or no task, at this address, so the next attempt need not wait for it.
                self._silent_since[address] = now - self.answer_timeout
            return None
        self._silent_since.pop(address, None)
        devices = tuple((str(d), str(k), int(m)) for d, k, m in hello["devices"])
        member = Member(name, address, Peer(*hello["peer"]), hello["incarnation"], next(self._epochs), devices)
        member.clock.measure(sent_at, hello["clock"], hello["clock"], received_at)
        with self._lock:
            self.members[name] = member
            self.version += 1
            self._watchers[name] = asyncio.ensure_future(self._watch(member, watching))
        return member

    # ---- requests --------------------------------------------------------------------------

    def epochs(self, names: Iterable[str]) -> dict[str, int]:
        """The epochs of those tasks among `names` that are members."""
        with self._lock:
            return {n: self.members[n].epoch for n in names if n in self.members}

    def call(self, name: str, what: str, **arguments: object) -> Any:
        """Sends a request to a member; returns its result, which depends on the request (see `RpcService`).

        Raises the error with which the task answers, and `UnavailableError` if it cannot be reached.
        """
        with self._lock:
            member = self.members.get(name)
        if member is None:
            raise UnavailableError(f"the task {name} is not there")
        try:
            return self._sync(self._request, member.address, what, arguments)
        except UnavailableError:
            self._remove(member)
            raise

    def call_address(self, address: str, what: str, **arguments: object) -> Any:
        """Sends a request to the task at an address, which need not be a member.

        Raises as `call`, and `DeadlineExceededError` at the deadline of the step.
        """
        deadline = current_deadline()
        if deadline is None:
            return self._sync(self._request, address, what, arguments)

        async def in_time() -> Any:
            return await asyncio.wait_for(self._request(address, what, arguments), deadline.left())

        try:
            return self._sync(in_time)
        except asyncio.TimeoutError:
            raise deadline.exceeded(f"it waited for the task at {address}") from None

    async def _request(self, address: str, what: str, arguments: Mapping[str, object]) -> Any:
        url, private = split_address(address)
        try:
            answer = await getattr(self._pool(url), HANDLER)(what=what, arguments=arguments, **private)
        except WrongSecretError as e:
            raise PermissionDeniedError(
                f"the task at {address} and this process do not know each other: {e}; needed one user on one machine, "
                "or the same TFNB_CLUSTER_SECRET in all processes of the cluster"
            ) from e
        except (OSError, CommClosedError) as e:
            raise UnavailableError(f"the task at {address} cannot be reached: {e}") from e
        if answer is None:  # the answer of Dask if no handler has this name
            raise UnavailableError(f"there is no task at {address} any more")
        if "error" in answer:
            raise error_from_json(answer["error"])
        return answer["result"]

    # ---- lost tasks ------------------------------------------------------------------------

    def on_lost(self, callback: Callable[[Member], None]) -> None:
        """Sets the function that is called with each lost member.

        The call may come from any thread, often the event loop's.
        """
        self._lost = callback

    async def _watch(self, member: Member, comm: Comm) -> None:
        """Sends heartbeats to a member until it is gone or does not answer. Then removes the member."""
        broken = asyncio.ensure_future(comm.read())
        try:
            # The condition looks superfluous, since `close` cancels this task. But Python 3.11 forgets a cancellation
            # that arrives at the same moment as the answer that `wait_for` waits for.
            while self.members.get(member.name) is member:
                done, _ = await asyncio.wait({broken}, timeout=_HEARTBEAT)
                if done:
                    broken.exception()  # read, so that asyncio does not log it
                    break
                sent_at = time.perf_counter()
                clock = await asyncio.wait_for(self._request(member.address, "beat", {}), self.answer_timeout)
                member.clock.measure(sent_at, clock, clock, time.perf_counter())
        except (OpError, OSError, CommClosedError, asyncio.TimeoutError):
            self._silent_since[member.address] = time.monotonic() - self.answer_timeout
        finally:
            broken.cancel()
            comm.abort()
        self._remove(member)

    def mark_lost(self, name: str) -> None:
        """Removes a member whose connection for tensors has broken.

        Does nothing for a task that is no member any more.
        """
        with self._lock:
            member = self.members.get(name)
        if member is not None:
            self._remove(member)

    def _remove(self, member: Member) -> None:
        """Reports a member as lost, once, and announces it to the others."""
        with self._lock:
            is_member = self.members.get(member.name) is member
            if is_member:
                del self.members[member.name]
                self.version += 1
            others = list(self.members.values())
        if not is_member:
            return
        self._lost(member)
        with self._lock:
            if not self._closed:  # a closed loop takes no calls
                self._runner.loop.asyncio_loop.call_soon_threadsafe(self._start_announcement, member, others)

    def _start_announcement(self, member: Member, others: list[Member]) -> None:
        announcement = asyncio.ensure_future(self._announce(member, others))
        self._announcements.add(announcement)
        announcement.add_done_callback(self._announcements.discard)

    async def _announce(self, member: Member, others: list[Member]) -> None:
        """Fails the requests to a lost member, and informs the other members, which then stop sending to it."""
        url, private = split_address(member.address)
        if not private:  # the process of a private task may still be there, with other tasks
            self._pool.remove(url, reason=f"the task {member.name} is lost")
        for other in others:
            with contextlib.suppress(OpError, asyncio.TimeoutError):
                request = self._request(other.address, "lose", {"peer": list(member.peer)})
                await asyncio.wait_for(request, self.answer_timeout)

    # ---- the end ---------------------------------------------------------------------------

    def close(self) -> None:
        """Leaves the cluster. The tasks notice this and remove the state of this master. May be called twice."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self.members.clear()
            self.version += 1
            watchers, self._watchers = list(self._watchers.values()), {}
        self._sync(self._leave, watchers)
        self._runner.stop()

    async def _leave(self, watchers: list[asyncio.Task[None]]) -> None:
        tasks = [*watchers, *self._announcements]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._pool.close()
