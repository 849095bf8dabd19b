"""`RpcService`: answers the control requests that masters send to a task over Dask's comm (white paper, section 3.3).

Its handler works in any `distributed.core.Server`: in a Dask worker, or in the comm server of a `Server`. Requests that
take time run in a thread, never on the event loop. Invariant: a task accepts a master's steps only while the comm over
which the master watches it is open. When the comm breaks, the master's steps here are stopped and removed, and the
private task that was made for the master is closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import psutil
from distributed.comm import Comm, CommClosedError

from tfnb.devices.buffers import DeviceTensor
from tfnb.errors import InvalidArgumentError, UnavailableError
from tfnb.runtime.values import nbytes_of
from tfnb.session.compile import plan_part
from tfnb.session.dask.task.assignment import Assignment
from tfnb.session.dask.task.partition_codec import decode_partition
from tfnb.session.dask.task.task import Task
from tfnb.session.dask.task_names import is_task_name
from tfnb.session.dask.transport.channel import Peer
from tfnb.session.dask.transport.error_codec import error_to_json

__all__ = ["HANDLER", "PeerFields", "Report", "RpcService", "private_address", "report_of", "split_address"]

HANDLER = "tfnb"
_MOST_NAMED = 12  # the most variables and tensors that a report names
# The longest time in seconds between two switches of Python's threads. A message that arrives while another thread
# computes waits for this time until it is read.
_SWITCH_INTERVAL = 5e-4
_UNWATCHED = 60.0  # seconds after which a private task is closed if its master has not begun to watch it

Report: TypeAlias = dict[str, Any]
"""What `report_of` returns; empty before the first answer."""
PeerFields: TypeAlias = Sequence[Any]
"""The fields of a `Peer`: Dask's comm carries lists, not named tuples."""


def private_address(address: str, key: str) -> str:
    """Returns the address of the private task with this key in the process whose comm has this address."""
    return f"{address}#{key}"


def split_address(address: str) -> tuple[str, dict[str, str]]:
    """Returns the address of the comm, and the arguments that lead a request there to the task."""
    url, _, key = address.partition("#")
    return url, {"private": key} if key else {}


class RpcService:
    """Answers the requests of masters to `task`.

    `addresses` are the addresses of all tasks of the cluster, for clients that are not members. Each request is
    answered by a method; the names and parameters of these methods are the protocol. `unwatched` is called, on the
    event loop, when the last master has ceased to watch the task. The owner must close the service before its task.
    """

    def __init__(
        self, task: Task, addresses: Mapping[str, str], unwatched: Callable[[], object] = lambda: None
    ) -> None:
        self.task = task
        self._unwatched = unwatched
        self._private: dict[str, RpcService] = {}  # the services of private tasks, by their keys
        self._lock = threading.Lock()
        self._closed = False
        self.addresses = dict(addresses)
        self.incarnation = secrets.randbits(48)  # a random number, which is different after a restart
        self._watchers: dict[int, Comm] = {}  # by the master's number: the comm over which it watches
        self._methods: dict[str, Callable[..., object]] = {
            "hello": self.hello,
            "meet": self.meet,
            "register": self.register,
            "forget": task.deregister,
            "reset": task.reset,
            "status": self.status,
            "report": self.report,
            "lose": self.lose,
        }
        sys.setswitchinterval(min(sys.getswitchinterval(), _SWITCH_INTERVAL))

    async def handle(
        self, comm: Comm, what: str, arguments: dict[str, Any] | None = None, private: str = ""
    ) -> dict[str, object]:
        """The handler for `distributed.core.Server.handlers`: `rpc(address).tfnb(what=..., arguments=...)`.

        `private` is the key of the private task for which the request is, "" for the task itself. Returns "result", or
        "error" as `error_to_json` describes it.
        """
        try:
            if private:
                service = self._private.get(private)
                if service is None:
                    raise UnavailableError(f"{self.task.name} has no private task with this key any more")
                return await service.handle(comm, what, arguments)
            if what == "host":
                return {"result": await self._host(**(arguments or {}))}
            if what == "watch":
                await self._watch(comm, **(arguments or {}))
                return {}
            if what == "beat":  # answered by the event loop itself, since all threads may be busy for long
                return {"result": time.perf_counter()}
            method = self._methods.get(what)
            if method is None:
                raise InvalidArgumentError(f"a task does not know {what!r}")
            loop = asyncio.get_running_loop()
            result = await loop.run_in_executor(None, lambda: method(**(arguments or {})))
        except Exception as e:  # otherwise Dask would send it pickled
            return {"error": error_to_json(e, self.task.name)}
        return {"result": result}

    async def _watch(self, comm: Comm, prefix: int, name: str, peer: PeerFields) -> None:
        """Accepts the steps of the master with number `prefix`, until `comm` breaks or the master watches again."""
        error = UnavailableError(f"the master of the step, {name}, is gone")
        if prefix in self._watchers:  # the master has lost this task and reached it again, so it begins anew
            self.task.dismiss(prefix, error)
        self._watchers[prefix] = comm
        self.task.admit(prefix, name, Peer(*peer))
        with contextlib.suppress(CommClosedError, OSError):
            await comm.write({"result": None})
            await comm.read()
        if self._watchers.get(prefix) is comm:
            del self._watchers[prefix]
            self.task.dismiss(prefix, error)
            if not self._watchers:
                self._unwatched()

    # ---- private tasks ---------------------------------------------------------------------

    async def _host(self, name: str) -> str:
        """Makes a task with devices and state of its own for one master, and returns the key of its requests.

        `name` is its full name in the cluster of that master. It has the configuration of the task of this service. It
        is closed when the master is gone.
        """
        if not is_task_name(name):
            raise InvalidArgumentError(f"{name!r} is no full name of a task, such as '/job:worker/replica:0/task:0'")
        loop, key = asyncio.get_running_loop(), secrets.token_hex(16)
        arguments = name, self.task.channel.peer.host, self.task.config, self.task.tls
        task = await loop.run_in_executor(None, Task, *arguments)
        service = RpcService(task, {}, lambda: loop.run_in_executor(None, self._drop, key))
        with self._lock:
            is_closed = self._closed
            if not is_closed:
                self._private[key] = service
        if is_closed:
            await loop.run_in_executor(None, task.close)
            raise UnavailableError(f"the task {self.task.name} was closed")
        loop.call_later(_UNWATCHED, self._drop_unwatched, key)
        return key

    def _drop_unwatched(self, key: str) -> None:
        service = self._private.get(key)
        if service is not None and not service._watchers:
            service._unwatched()

    def _drop(self, key: str) -> None:
        """Closes a private task. Does nothing if it was closed."""
        with self._lock:
            service = self._private.pop(key, None)
        if service is not None:
            service.close()
            service.task.close()

    def close(self) -> None:
        """Closes the private tasks. May be called twice."""
        with self._lock:
            self._closed = True
        for key in list(self._private):
            self._drop(key)

    # ---- requests of masters ---------------------------------------------------------------

    def hello(self, name: str, peer: PeerFields) -> dict[str, object]:
        """The name, the address of the channel and the devices of this task, and the tasks of its cluster."""
        return {
            "name": self.task.name,
            "peer": list(self.task.channel.peer),
            "incarnation": self.incarnation,
            "devices": [[d.name, d.facts.kind, d.memory_stats().limit] for d in self.task.devices.values()],
            "cluster": self.addresses,
            "clock": time.perf_counter(),
        }

    def meet(self, peers: dict[str, PeerFields]) -> None:
        """Takes the addresses of the other tasks."""
        self.task.meet({name: Peer(*p) for name, p in peers.items()})

    def register(self, handle: str, parts: Sequence[tuple[bytes, bytes]], share: Sequence[Any]) -> None:
        """Compiles and registers the task's parts of a step.

        `parts` are results of `encode_partition`, in which fetches are numbered from 0. `share` has the fields of an
        `Assignment`.
        """
        decoded = [decode_partition(*p) for p in parts]
        plans = [plan_part(part, grouping, self.task.context) for part, grouping in decoded]
        task, feeds, fetches, n_feeds = share
        self.task.register(handle, plans, Assignment(task, tuple(feeds), tuple(fetches), n_feeds))

    def lose(self, peer: PeerFields) -> None:
        """Closes the connections to another task, which a master has lost."""
        self.task.lose(Peer(*peer))

    def status(self) -> dict[str, object]:
        """The memory of each device in bytes, as [in use, peak, cached, limit], and the counts of the task."""
        stats = {d.name: d.memory_stats() for d in self.task.devices.values()}
        memory = {name: [s.in_use, s.peak, s.cached, s.limit] for name, s in stats.items()}
        return {"name": self.task.name, "memory": memory, **self.task.counts()}

    def report(self) -> Report:
        """See `report_of`."""
        return report_of(self.task, self.incarnation)


def report_of(task: Task, incarnation: int) -> Report:
    """A report on a task for displays: its process and devices, its variables, and its messages to other tasks.

    The report can be written as JSON. `incarnation` is a number that is different after each restart. Sizes are in
    bytes.
    """
    cells = task.resources.variables().items()
    variables = sorted(
        ((f"{container}/{name}".lstrip("/"), cell.tensor) for (container, name), cell in cells),
        key=lambda variable: -_size(variable[1]),
    )
    stats = [(d, d.memory_stats()) for d in task.devices.values()]
    return {
        "name": task.name,
        "incarnation": incarnation,
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "memory": psutil.Process().memory_info().rss,
        "steps": task.steps.completed,
        **task.counts(),
        "variables": len(variables),
        "variable_bytes": sum(_size(t) for _, t in variables),
        "largest": [[name, _size(t), list(t.shape)] for name, t in variables[:_MOST_NAMED] if t is not None],
        "devices": [
            {
                "name": d.name,
                "kind": d.facts.kind,
                "in_use": s.in_use,
                "peak": s.peak,
                "cached": s.cached,
                "limit": s.limit,
            }
            for d, s in stats
        ],
        "sent": task.channel.transfers.report(task.task_names(), _MOST_NAMED),
        "clock": time.monotonic(),
    }


def _size(tensor: DeviceTensor | None) -> int:
    """The bytes of a variable, 0 before it is initialized."""
    return 0 if tensor is None else nbytes_of(tensor)
