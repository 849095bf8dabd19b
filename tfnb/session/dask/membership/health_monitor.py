"""`HealthMonitor`: polls the tasks of a cluster for displays such as `tf.show_cluster` (white paper, section 3.3).

A poll does not wait long for a task that does not answer; a later poll uses the answer. Invariant: polling has no
effect on the cluster: neither on the workers that host the tasks, nor on the tasks that a master considers lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Any

from distributed import Security
from distributed.comm import CommClosedError
from distributed.core import ConnectionPool
from distributed.utils import LoopRunner, sync

from tfnb.errors import ClosedSessionError
from tfnb.session.dask.membership.rpc_service import HANDLER, Report, report_of, split_address
from tfnb.session.dask.task.task import Task

__all__ = ["ALIVE", "LATE", "LOST", "HealthMonitor"]

ALIVE, LATE, LOST = "alive", "late", "lost"
_POLL_TIMEOUT = 0.4  # seconds that a poll waits for answers
_LATE_AFTER = 1.5  # seconds without an answer
_CONNECT = 3.0


class _TaskHealth:
    """The known state of one task. Times are in seconds of this process's `time.monotonic`."""

    def __init__(self, name: str) -> None:
        self.name = name
        parts = dict(part.split(":", 1) for part in name.strip("/").split("/"))
        self.job, self.index = parts["job"], int(parts["task"])
        self.address = ""
        self.first_asked = time.monotonic()
        self.answered: float | None = None  # when the latest answer came
        self.report: Report = {}
        self.previous: Report = {}  # the report before, of the same process; empty if there is none
        self.failure = ""  # why the task cannot be reached
        self.processes = 0  # how many processes have had the role so far
        self.request: asyncio.Task[None] | None = None

    def update(self, report: Report) -> None:
        """Takes a new answer of the task."""
        is_same = self.report.get("incarnation") == report.get("incarnation")
        self.processes += not is_same
        self.previous = self.report if is_same else {}
        self.report, self.answered, self.failure = report, time.monotonic(), ""

    def state(self, lost_after: float) -> str:
        """The state of the task: `ALIVE`, `LATE` or `LOST`.

        A task is lost if it cannot be reached, or after `lost_after` seconds without an answer.
        """
        silence = time.monotonic() - (self.first_asked if self.answered is None else self.answered)
        if self.failure or not self.address or silence > lost_after:
            return LOST
        return LATE if silence > _LATE_AFTER else ALIVE

    def rate(self, to: str) -> float:
        """The bytes per second that the task has sent to the task `to` between its latest two reports."""
        seconds = self.report.get("clock", 0.0) - self.previous.get("clock", 0.0) if self.previous else 0.0
        if seconds <= 0:
            return 0.0
        now, earlier = (sum(s["bytes"] for s in r["sent"] if s["to"] == to) for r in (self.report, self.previous))
        return float((now - earlier) / seconds)


class HealthMonitor:
    """Polls tasks over Dask's comm. The owner must close it.

    `locations()` returns a dict with the address of each task, or None for a task that no worker hosts. It returns None
    instead of the dict if the cluster is closed. `own` is the task of this process, which is polled without the
    network. `security` is Dask's, for TLS. `lost_after` is the number of seconds without an answer after which a task
    is shown as lost. `dashboard` is the address of Dask's dashboard, or "".
    """

    def __init__(
        self,
        locations: Callable[[], Mapping[str, str | None] | None],
        own: Task | None,
        security: Security | None = None,
        lost_after: float = 10.0,
        dashboard: str = "",
    ) -> None:
        self._locations, self._own, self._lost_after, self.dashboard = locations, own, lost_after, dashboard
        self._tasks: dict[str, _TaskHealth] = {}
        self._arguments = security.get_connection_args("worker") if security is not None else {}
        self._runner = LoopRunner(asynchronous=False)
        self._runner.start()
        self._pool: ConnectionPool = sync(self._runner.loop, self._make_pool)
        self._closed = False

    async def _make_pool(self) -> ConnectionPool:
        return await ConnectionPool(connection_args=self._arguments, timeout=_CONNECT)

    def poll(self) -> dict[str, Any]:
        """Requests reports from all tasks, waits a moment for answers, and returns the known state of the tasks.

        The result can be written as JSON: `tasks`, `devices` and `sent` hold the reports (see `report_of`), with the
        state of each task. Raises `ClosedSessionError` when the cluster or the monitor is closed.
        """
        locations = self._locations()
        if locations is None or self._closed:
            raise ClosedSessionError("the cluster is closed")
        for name in locations:
            self._tasks.setdefault(name, _TaskHealth(name))
        sync(self._runner.loop, self._ask_all, locations)
        if self._own is not None and self._own.name not in locations:
            own_health = self._tasks.setdefault(self._own.name, _TaskHealth(self._own.name))
            own_health.address = "this process"
            own_health.update(report_of(self._own, 0))
        return self._summary()

    async def _ask_all(self, locations: Mapping[str, str | None]) -> None:
        requests = []
        for name, address in locations.items():
            task = self._tasks[name]
            if task.address != (address or ""):
                task.address, task.failure, task.first_asked = address or "", "", time.monotonic()
                if task.request is not None:
                    task.request.cancel()
                    task.request = None
            if address is None:
                task.failure = "no worker hosts it"
            elif task.request is None or task.request.done():  # a request without an answer is not repeated
                task.request = asyncio.ensure_future(self._ask(task, address))
            if task.request is not None:
                requests.append(task.request)
        if requests:
            await asyncio.wait(requests, timeout=_POLL_TIMEOUT)

    async def _ask(self, task: _TaskHealth, address: str) -> None:
        url, private = split_address(address)
        try:
            answer = await getattr(self._pool(url), HANDLER)(what="report", arguments={}, **private)
        except (OSError, CommClosedError, asyncio.TimeoutError) as e:
            task.failure = f"it cannot be reached: {e}"
            return
        report = answer.get("result") if isinstance(answer, dict) else None
        if not isinstance(report, dict) or report.get("name") != task.name:
            task.failure = f"at {address} is another"
            return
        task.update(report)

    def _summary(self) -> dict[str, Any]:
        tasks = sorted(self._tasks.values(), key=lambda t: (t.job == "client", t.job, t.index))
        return {
            "tasks": [self._describe(t) for t in tasks],
            "devices": [{"task": t.name, **d} for t in tasks for d in t.report.get("devices", ())],
            "sent": [{"from": t.name, "rate": t.rate(s["to"]), **s} for t in tasks for s in t.report.get("sent", ())],
            "dashboard": self.dashboard,
        }

    def _describe(self, task: _TaskHealth) -> dict[str, Any]:
        report = {k: v for k, v in task.report.items() if k not in ("devices", "sent", "name")}
        return {
            "name": task.name,
            "job": task.job,
            "index": task.index,
            "address": task.address,
            "lives": task.processes,
            "state": task.state(self._lost_after),
            "why": task.failure,
            "silent": None if task.answered is None else time.monotonic() - task.answered,
            **report,
        }

    def close(self) -> None:
        """Cancels open requests and closes the connections. May be called twice."""
        if self._closed:
            return
        self._closed = True
        with contextlib.suppress(RuntimeError):  # the loop has ended already
            sync(self._runner.loop, self._end)
        self._runner.stop()

    async def _end(self) -> None:
        requests = [t.request for t in self._tasks.values() if t.request is not None]
        for request in requests:
            request.cancel()
        await asyncio.gather(*requests, return_exceptions=True)
        await self._pool.close()
