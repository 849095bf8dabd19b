"""`DaskCluster`: the workers of a Dask cluster as the tasks of jobs (white paper, section 3.1).

Each Dask worker that gets a role hosts one task; whatever starts Dask workers will do. A worker that dies loses its
role to one that has none, where there is one, or as soon as there is. Invariant: a role is held by one living worker
at most, and closing the cluster takes every task off its worker again.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from distributed import Client
from distributed.comm import CommClosedError
from distributed.diagnostics.plugin import WorkerPlugin
from distributed.utils import get_ip

from tfnb.errors import (
    ClosedSessionError,
    InvalidArgumentError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnavailableError,
)
from tfnb.session.config import ConfigProto
from tfnb.session.dask.master.master import Master
from tfnb.session.dask.membership.health_monitor import HealthMonitor
from tfnb.session.dask.membership.membership import Membership
from tfnb.session.dask.membership.rpc_service import HANDLER, RpcService
from tfnb.session.dask.server import is_loopback, offer, tls_of, withdraw
from tfnb.session.dask.task.task import Task
from tfnb.session.dask.task_names import task_name

__all__ = ["DaskCluster"]

_PLUGIN = "tfnb"
_SET_UP = 60.0  # seconds for a worker to become a task, or to be one no longer
_GREETING = 3.0  # seconds for its first answer, until others are asked
_RETRY = 0.2  # seconds between looks whether one that was slow has answered
_RESTART = 20.0  # seconds for a nanny to end a worker that does not answer


class _TaskPlugin(WorkerPlugin):
    """Hosts a task on a Dask worker, as long as the worker lives."""

    name = _PLUGIN

    def __init__(self, task: str, config: ConfigProto) -> None:
        self._name, self._config = task, config
        self._task: Task | None = None

    async def setup(self, worker: Any) -> None:
        host = urlsplit(worker.address).hostname
        loop = asyncio.get_running_loop()
        task = await loop.run_in_executor(None, Task, self._name, host, self._config, tls_of(worker.security))
        worker.handlers[HANDLER] = RpcService(task, {}).handle
        self._task = task

    async def teardown(self, worker: Any) -> None:
        task, self._task = self._task, None
        worker.handlers.pop(HANDLER, None)
        if task is not None:
            await asyncio.get_running_loop().run_in_executor(None, task.close)


async def _install(task: str, config: ConfigProto, dask_worker: Any = None) -> None:
    """On a worker: makes it host a task."""
    if _PLUGIN in dask_worker.plugins:
        await dask_worker.plugin_remove(name=_PLUGIN)
    answer = await dask_worker.plugin_add(plugin=_TaskPlugin(task, config), name=_PLUGIN)
    if answer.get("status") == "error":
        raise RuntimeError(f"the task {task} could not be set up: {answer.get('exception')}")


async def _remove(dask_worker: Any = None) -> None:
    if _PLUGIN in dask_worker.plugins:
        await dask_worker.plugin_remove(name=_PLUGIN)


async def _restart(address: str, dask_scheduler: Any = None) -> None:
    """On the scheduler: a worker that does not answer is ended and begun anew by its nanny; without one it is no
    member any more."""
    await dask_scheduler.restart_workers(
        [address], timeout=_RESTART, wait_for_workers=False, on_error="return", stimulus_id=f"tfnb-{uuid.uuid4().hex}"
    )


class DaskCluster:
    """Tasks on the workers of `client`: `DaskCluster(client, ps=2, worker=4)`. Close it, or use it in `with`.

    `config`: the devices of each task. The first task of the job "chief", "master" or "worker", or of the first job,
    is where operations go that ask for no device. `patience`: seconds without an answer after which a task counts as
    lost, and its worker is restarted, if it has a nanny, or left out. `timeout`: seconds to wait for Dask to have
    enough workers. Raises `ResourceExhaustedError` when Dask has too few workers, `UnavailableError` when it does not
    answer, `PermissionDeniedError` when its comm leaves this machine without TLS.
    """

    def __init__(
        self, client: Client, config: ConfigProto | None = None, patience: float = 10.0, timeout: float = 0.0,
        **jobs: int,
    ) -> None:  # fmt: skip
        if not jobs or any(not isinstance(n, int) or n < 1 for n in jobs.values()):
            raise InvalidArgumentError(f"a cluster needs jobs with a number of tasks each, got {jobs}")
        self._client, self._config, self._patience = client, config or ConfigProto(), patience
        self.tasks = tuple(task_name(job, i) for job, n in jobs.items() for i in range(n))
        self._lock = threading.RLock()
        self._roles: dict[str, str] = {}  # task -> address of its worker
        self._closed = False
        self._silent: set[str] = set()  # addresses of workers that did not answer
        self._doubted: set[str] = set()  # those of them that still may
        first = next((j for j in ("chief", "master", "worker") if j in jobs), next(iter(jobs)))
        self._default = task_name(first, 0)
        with contextlib.suppress(TimeoutError, asyncio.TimeoutError):
            if timeout > 0:
                client.wait_for_workers(len(self.tasks), timeout)
        workers = self._workers()
        if len(workers) < len(self.tasks):
            raise ResourceExhaustedError(f"{len(self.tasks)} tasks need as many Dask workers; there are {len(workers)}")
        wide = [w for w in workers if not is_loopback(str(urlsplit(w).hostname)) and not w.startswith("tls://")]
        if wide:
            raise PermissionDeniedError(f"Dask's comm leaves this machine without TLS: {wide[0]}")
        own = "127.0.0.1" if all(is_loopback(str(urlsplit(w).hostname)) for w in workers) else get_ip()
        self._local_task = Task(task_name("client", 0), own, self._config, tls_of(self._client.security))
        self.target = f"dask://{uuid.uuid4().hex[:12]}"
        try:
            for task in self.tasks:
                self._assign_first(task)
        except BaseException:
            self.close()
            raise
        offer(self.target, self._master)

    def _ask_dask(self, what: Callable[..., Any], *args: Any, limit: float = _SET_UP, **kwargs: Any) -> Any:
        """A method of Dask's client. Raises `UnavailableError` when the scheduler or the worker does not answer within
        `limit` seconds."""

        async def ask() -> Any:
            return await asyncio.wait_for(what(*args, **kwargs), limit)

        if self._client.status != "running":
            raise UnavailableError(f"Dask's scheduler is lost: its client is {self._client.status}")
        try:
            return self._client.sync(ask)
        except (OSError, CommClosedError, asyncio.TimeoutError) as e:
            raise UnavailableError(f"Dask does not answer: {type(e).__name__}: {e}") from e

    def _workers(self) -> list[str]:
        return list(self._ask_dask(self._client.scheduler.identity, n_workers=-1)["workers"])

    def _assign_first(self, task: str) -> None:
        """As `_assign`, and waits for workers that are slow to answer."""
        while True:
            doubted = bool(self._doubted)  # before: who answers meanwhile is free
            try:
                self._assign(task, self._workers())
                return
            except UnavailableError:
                if not doubted and not self._doubted:
                    raise
            time.sleep(_RETRY)

    def _assign(self, task: str, workers: list[str]) -> str:
        """Gives a role to a worker without one; its address. Raises `UnavailableError` when there is none."""
        self._silent.intersection_update(workers)  # who comes to an address later is another
        there = [w for w in workers if w not in self._silent]
        limit = min(_GREETING, self._patience)
        for worker in [w for w in there if w not in self._roles.values()]:
            if not self._answers(worker, limit):
                if worker in self._workers():  # else it has died
                    self._give_up(worker, self._patience - limit)
                continue
            self._ask_dask(self._client.run, _install, task, self._config, workers=[worker])
            self._roles[task] = worker
            return worker
        raise UnavailableError(
            f"Dask has {len(there)} workers for {len(self.tasks)} tasks; when another one starts, it gets this role"
        )

    def _answers(self, worker: str, limit: float) -> bool:
        """Dask tries for half a minute to reach one that died just now, and waits for a paused one forever.

        What is asked is nothing of this package, which a new worker would have to import first.
        """
        try:
            self._ask_dask(self._client.run, os.getpid, workers=[worker], limit=limit)
        except UnavailableError:
            return False
        return True

    def locate(self, task: str, silent: str | None = None) -> str:
        """The address of a task's worker, or of one that takes the role of a dead one.

        `silent`: where nobody answered who should have been the task. Raises `UnavailableError` when no worker is free
        or there is no scheduler, `ClosedSessionError` once the cluster is closed.
        """
        with self._lock:
            if self._closed:  # whoever gets the role now would keep it
                raise ClosedSessionError("the cluster is closed")
            address, workers = self._roles.get(task), self._workers()
            if address is not None and address in workers:
                if address != silent:
                    return address
                self._give_up(address, 0.0)  # the cluster's patience was spent on it
            self._roles.pop(task, None)
            return self._assign(task, workers)

    def _give_up(self, address: str, patience: float) -> None:
        """A worker that does not answer gets no role before it does; after `patience` seconds it is ended."""
        self._silent.add(address)
        self._doubted.add(address)

        def ask_again() -> None:
            end, limit = time.monotonic() + patience, _GREETING
            while not self._closed and (left := end - time.monotonic()) > 0:
                if self._answers(address, min(limit, left)):
                    self._silent.discard(address)
                    return
                limit *= 2  # of questions that come too quickly none would be answered in time
            if not self._closed:
                self._client.run_on_scheduler(_restart, address)

        def work() -> None:
            # Dask's client says in many ways that it is closed; the worker is lost either way.
            with contextlib.suppress(Exception, asyncio.CancelledError):
                try:
                    ask_again()
                finally:
                    self._doubted.discard(address)

        threading.Thread(target=work, name="tfnb silent worker", daemon=True).start()

    @property
    def roles(self) -> dict[str, str]:
        """Task -> address of the Dask worker that hosts it."""
        with self._lock:
            return dict(self._roles)

    def _master(self, config: ConfigProto) -> Master:
        membership = Membership(
            self.locate, self._local_task.name, self._local_task.channel.peer, self._client.security, self._patience
        )
        try:
            return Master(config, self._local_task, membership, [*self.tasks, self._local_task.name], self._default)
        except BaseException:
            membership.close()
            raise

    def cluster_status(self) -> HealthMonitor:
        """A monitor of the tasks: `poll()` returns how they are. Close it; `tf.show_cluster` displays it."""

        def locations() -> dict[str, str | None] | None:
            roles = self.roles
            return None if self._closed else {task: roles.get(task) for task in self.tasks}

        dashboard = str(self._client.dashboard_link or "")
        return HealthMonitor(locations, self._local_task, self._client.security, self._patience, dashboard)

    def close(self) -> None:
        """Takes the tasks off their workers; their variables go with them. Dask's workers stay."""
        withdraw(self.target)
        self._closed = True
        with self._lock:
            roles, self._roles = list(self._roles.values()), {}
        try:
            with contextlib.suppress(UnavailableError):  # then the workers are gone too
                there = set(self._workers()).intersection(roles)
                if there:
                    self._ask_dask(self._client.run, _remove, workers=sorted(there))
        finally:
            self._local_task.close()

    def __enter__(self) -> DaskCluster:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
