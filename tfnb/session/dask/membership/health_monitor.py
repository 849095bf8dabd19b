"""How the tasks of a cluster are, for people who look: asked over Dask's comm, in turns (white paper, section 3.3).

A turn never waits for a task that does not answer: its answer counts when it comes. Invariant: looking changes
nothing, neither who hosts a task nor whom a master takes for lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Any

from distributed.comm import CommClosedError
from distributed.core import ConnectionPool
from distributed.utils import LoopRunner, sync

from tfnb.errors import ClosedSessionError
from tfnb.session.dask.membership.rpc_service import HANDLER, report_of
from tfnb.session.dask.task.task import Task

__all__ = ["ALIVE", "LATE", "LOST", "Census"]

ALIVE, LATE, LOST = "alive", "late", "lost"
_TURN = 0.4  # seconds that a turn waits for answers
_LATE = 1.5  # seconds without an answer after which a task is late
_CONNECT = 3.0


class _Known:
    """What is known of a task. Times are of this process's clock."""

    def __init__(self, name: str) -> None:
        self.name = name
        parts = dict(part.split(":", 1) for part in name.strip("/").split("/"))
        self.job, self.index = parts["job"], int(parts["task"])
        self.address = ""
        self.began = time.monotonic()  # when it was asked for the first time
        self.seen: float | None = None
        self.report: dict[str, Any] = {}
        self.before: dict[str, Any] = {}  # the report before
        self.why = ""
        self.lives = 0  # how many processes have had the role
        self.question: asyncio.Task[Any] | None = None

    def heard(self, report: dict[str, Any]) -> None:
        same = self.report.get("incarnation") == report.get("incarnation")
        self.lives += not same
        self.before = self.report if same else {}
        self.report, self.seen, self.why = report, time.monotonic(), ""

    def state(self, patience: float) -> str:
        silent = time.monotonic() - (self.began if self.seen is None else self.seen)
        if self.why or not self.address or silent > patience:
            return LOST
        return LATE if silent > _LATE else ALIVE

    def rate(self, to: str) -> float:
        """Bytes a second that it sends to another, between its last two reports."""
        took = self.report.get("clock", 0.0) - self.before.get("clock", 0.0) if self.before else 0.0
        if took <= 0:
            return 0.0
        now, then = (sum(s["bytes"] for s in r["sent"] if s["to"] == to) for r in (self.report, self.before))
        return (now - then) / took


class Census:
    """`places()`: task -> address of Dask's comm, or None where nobody hosts it; None when the cluster is closed.

    `own`: this process's task. `security`: Dask's, for TLS. `patience`: seconds without an answer after which a task is
    shown as lost. `dashboard`: Dask's own, or "". Close it.
    """

    def __init__(
        self, places: Callable[[], Mapping[str, str | None] | None], own: Task | None, security: Any = None,
        patience: float = 10.0, dashboard: str = "",
    ) -> None:  # fmt: skip
        self._places, self._own, self._patience, self.dashboard = places, own, patience, dashboard
        self._known: dict[str, _Known] = {}
        self._arguments = security.get_connection_args("worker") if security is not None else {}
        self._runner = LoopRunner(asynchronous=False)
        self._runner.start()
        self._pool: ConnectionPool = sync(self._runner.loop, self._make_pool)
        self._closed = False

    async def _make_pool(self) -> ConnectionPool:
        return await ConnectionPool(connection_args=self._arguments, timeout=_CONNECT)

    def take(self) -> dict[str, Any]:
        """One turn; what is known after it, as JSON can hold it: `tasks`, `devices`, `sent` (see `report_of`).

        Raises `ClosedSessionError` when the cluster is closed.
        """
        places = self._places()
        if places is None or self._closed:
            raise ClosedSessionError("the cluster is closed")
        for name in places:
            self._known.setdefault(name, _Known(name))
        sync(self._runner.loop, self._turn, places)
        if self._own is not None and self._own.name not in places:
            here = self._known.setdefault(self._own.name, _Known(self._own.name))
            here.address = "this process"
            here.heard(report_of(self._own, 0))
        return self._told()

    async def _turn(self, places: Mapping[str, str | None]) -> None:
        waiting = []
        for name, address in places.items():
            known = self._known[name]
            if known.address != (address or ""):
                known.address, known.why, known.began = address or "", "", time.monotonic()
                if known.question is not None:
                    known.question.cancel()
                    known.question = None
            if address is None:
                known.why = "no worker hosts it"
            elif known.question is None or known.question.done():
                known.question = asyncio.ensure_future(self._ask(known, address))
            if known.question is not None:
                waiting.append(known.question)
        if waiting:
            await asyncio.wait(waiting, timeout=_TURN)

    async def _ask(self, known: _Known, address: str) -> None:
        try:
            answer = await getattr(self._pool(address), HANDLER)(what="report", arguments={})
        except (OSError, CommClosedError, asyncio.TimeoutError) as e:
            known.why = f"it cannot be reached: {e}"
            return
        found = answer.get("result") if isinstance(answer, dict) else None
        if not isinstance(found, dict) or found.get("name") != known.name:
            known.why = f"at {address} is another"
            return
        known.heard(found)

    def _told(self) -> dict[str, Any]:
        every = sorted(self._known.values(), key=lambda k: (k.job == "client", k.job, k.index))
        return {
            "tasks": [self._task(k) for k in every],
            "devices": [{"task": k.name, **d} for k in every for d in k.report.get("devices", ())],
            "sent": [{"from": k.name, "rate": k.rate(s["to"]), **s} for k in every for s in k.report.get("sent", ())],
            "dashboard": self.dashboard,
        }

    def _task(self, known: _Known) -> dict[str, Any]:
        report = {k: v for k, v in known.report.items() if k not in ("devices", "sent", "name")}
        return {
            "name": known.name, "job": known.job, "index": known.index, "address": known.address, "lives": known.lives,
            "state": known.state(self._patience), "why": known.why,
            "silent": None if known.seen is None else time.monotonic() - known.seen, **report,
        }  # fmt: skip

    def close(self) -> None:
        """Asks no more."""
        if self._closed:
            return
        self._closed = True
        with contextlib.suppress(RuntimeError):  # the loop has ended before
            sync(self._runner.loop, self._end)
        self._runner.stop()

    async def _end(self) -> None:
        questions = [k.question for k in self._known.values() if k.question is not None]
        for question in questions:
            question.cancel()
        await asyncio.gather(*questions, return_exceptions=True)
        await self._pool.close()
