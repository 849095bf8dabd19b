"""A task's side of Dask's comm: what masters ask of it that is no step (white paper, section 3.3).

The handler works in any `distributed.core.Server`: a Dask worker, or a server of our own. Requests that take time run
in a thread, never on the event loop. Invariant: a master is heard as long as the comm stands over which it watches;
when it breaks, the master's steps here are stopped and forgotten.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import psutil
from distributed.comm import CommClosedError

from tfnb.errors import InvalidArgumentError, UnavailableError
from tfnb.runtime.values import nbytes_of
from tfnb.session.compile import plan_part
from tfnb.session.dask.task.assignment import Assignment
from tfnb.session.dask.task.partition_codec import decode_partition
from tfnb.session.dask.task.task import Task
from tfnb.session.dask.transport.channel import Peer
from tfnb.session.dask.transport.error_codec import error_to_json

__all__ = ["HANDLER", "Host", "report_of"]

HANDLER = "tfnb"
_MOST = 12  # variables and tensors that a report names
_SWITCH = 5e-4  # seconds: a tensor that arrives while Python is busy waits for the next switch of threads


class Host:
    """Serves a task to masters; `directory` is what it knows of the cluster, for clients that ask."""

    def __init__(self, task: Task, directory: Mapping[str, str]) -> None:
        self.task = task
        self.directory = dict(directory)
        self.incarnation = secrets.randbits(48)  # another one after a restart
        self._watching: dict[int, Any] = {}  # master -> the comm over which it watches
        self._methods: dict[str, Callable[..., Any]] = {
            "hello": self.hello, "meet": self.meet, "register": self.register, "forget": task.deregister,
            "reset": task.reset, "status": self.status, "report": self.report, "lose": self.lose,
        }  # fmt: skip
        sys.setswitchinterval(min(sys.getswitchinterval(), _SWITCH))

    async def handle(self, comm: Any, what: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        """The handler for `distributed.core.Server.handlers`: `rpc(address).tfnb(what=..., arguments=...)`."""
        try:
            if what == "watch":
                await self._watch(comm, **(arguments or {}))
                return {}
            if what == "beat":  # answered by the loop itself: threads may be long at work
                return {"result": time.perf_counter()}
            method = self._methods.get(what)
            if method is None:
                raise InvalidArgumentError(f"a task does not know {what!r}")
            loop = asyncio.get_running_loop()
            found = await loop.run_in_executor(None, lambda: method(**(arguments or {})))
        except Exception as e:  # Dask would pickle it
            return {"error": error_to_json(e, self.task.name)}
        return {"result": found}

    async def _watch(self, comm: Any, prefix: int, name: str, peer: list[Any]) -> None:
        """Ends when the master is gone, and its steps with it."""
        gone = UnavailableError(f"the master of the step, {name}, is gone")
        if prefix in self._watching:  # it lost this task, and has found it again: nothing of before is left
            self.task.dismiss(prefix, gone)
        self._watching[prefix] = comm
        self.task.admit(prefix, name, Peer(*peer))
        with contextlib.suppress(CommClosedError, OSError):
            await comm.write({"result": None})
            await comm.read()
        if self._watching.get(prefix) is comm:
            del self._watching[prefix]
            self.task.dismiss(prefix, gone)

    # ---- what masters ask ------------------------------------------------------------------

    def hello(self, name: str, peer: list[Any]) -> dict[str, Any]:
        """Who this task is, and how it is reached."""
        return {
            "name": self.task.name, "peer": list(self.task.channel.peer), "incarnation": self.incarnation,
            "devices": [[d.name, d.facts.kind, d.memory_stats().limit] for d in self.task.devices.values()],
            "cluster": self.directory, "clock": time.perf_counter(),
        }  # fmt: skip

    def meet(self, peers: dict[str, list[Any]]) -> None:
        """Learns how the other tasks are reached."""
        self.task.meet({name: Peer(*p) for name, p in peers.items()})

    def register(self, handle: str, parts: list[Any], share: list[Any]) -> None:
        """Compiles the task's parts of a step, as `encode_partition` made them. Their fetches count from 0 here."""
        decoded = [decode_partition(*p) for p in parts]
        plans = [plan_part(part, known, self.task.context) for part, known in decoded]
        task, feeds, fetches, n_feeds = share
        self.task.register(handle, plans, Assignment(task, tuple(feeds), tuple(fetches), n_feeds))

    def lose(self, peer: list[Any]) -> None:
        """A master lost another task: whoever waits to send to it waits no longer."""
        self.task.lose(Peer(*peer))

    def status(self) -> dict[str, Any]:
        """For tables: bytes in use, at their peak, cached and allowed of each device; how many masters it has, steps
        it knows and runs; how many messages it refused, and why the last."""
        stats = {d.name: d.memory_stats() for d in self.task.devices.values()}
        memory = {name: [s.in_use, s.peak, s.cached, s.limit] for name, s in stats.items()}
        return {"name": self.task.name, "memory": memory, **self.task.counts()}

    def report(self) -> dict[str, Any]:
        """See `report_of`."""
        return report_of(self.task, self.incarnation)


def report_of(task: Task, incarnation: int) -> dict[str, Any]:
    """For people who look: the process, its devices, what it holds, what it has sent to whom, as JSON can hold it."""
    cells = task.resources.variables().items()
    held = sorted(((f"{c}/{name}".lstrip("/"), cell.tensor) for (c, name), cell in cells), key=lambda v: -_size(v[1]))
    stats = [(d, d.memory_stats()) for d in task.devices.values()]
    return {
        "name": task.name, "incarnation": incarnation, "host": socket.gethostname(), "pid": os.getpid(),
        "memory": psutil.Process().memory_info().rss, "steps": task.steps.completed, **task.counts(),
        "variables": len(held), "variable_bytes": sum(_size(t) for _, t in held),
        "largest": [[name, _size(t), list(t.shape)] for name, t in held[:_MOST] if t is not None],
        "devices": [
            {"name": d.name, "kind": d.facts.kind, "in_use": s.in_use, "peak": s.peak, "cached": s.cached,
             "limit": s.limit} for d, s in stats
        ],
        "sent": task.channel.transfers.report(task.task_names(), _MOST), "clock": time.monotonic(),
    }  # fmt: skip


def _size(tensor: Any) -> int:
    return 0 if tensor is None else nbytes_of(tensor)
