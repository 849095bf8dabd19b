"""`DaskCluster`: the workers of a Dask cluster as the tasks of jobs (white paper, section 3.1).

Each Dask worker with a role hosts one task, no matter how the worker was started. When the worker dies, another worker
gets its role, as soon as there is one without a role. Invariant: at most one living worker has a role, and closing
the cluster removes every task from its worker.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import TypeVar
from urllib.parse import urlsplit

from distributed import Client, Scheduler, Worker
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
from tfnb.session.dask.server import is_loopback, offer, private_master, tls_of, withdraw
from tfnb.session.dask.task.task import Task
from tfnb.session.dask.task_names import task_name

__all__ = ["DaskCluster"]

Result = TypeVar("Result")

_PLUGIN = "tfnb"
_SET_UP = 60.0  # seconds for a worker to set a task up, or to remove it
_FIRST_ANSWER = 3.0  # seconds for the first answer of a worker; then other workers are tried
_RETRY = 0.2  # seconds between checks whether a slow worker has answered
_RESTART = 20.0  # seconds for a nanny to end a worker that does not answer


class _TaskPlugin(WorkerPlugin):
    """Hosts the task named `task` on a Dask worker, as long as the worker lives."""

    name = _PLUGIN

    def __init__(self, task: str, config: ConfigProto) -> None:
        self._name, self._config = task, config
        self._service: RpcService | None = None

    async def setup(self, worker: Worker) -> None:
        """Dask calls this on the worker. Creates the task and serves it."""
        host = urlsplit(worker.address).hostname
        loop = asyncio.get_running_loop()
        task = await loop.run_in_executor(None, Task, self._name, host, self._config, tls_of(worker.security))
        self._service = RpcService(task, {})
        worker.handlers[HANDLER] = self._service.handle

    async def teardown(self, worker: Worker) -> None:
        """Dask calls this on the worker. Closes the task."""
        service, self._service = self._service, None
        worker.handlers.pop(HANDLER, None)
        if service is not None:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(None, service.close)
            await loop.run_in_executor(None, service.task.close)


async def _install(task: str, config: ConfigProto, dask_worker: Worker) -> None:
    """Runs on a worker, which Dask passes as `dask_worker`. Makes the worker host a task."""
    if _PLUGIN in dask_worker.plugins:
        await dask_worker.plugin_remove(name=_PLUGIN)
    answer = await dask_worker.plugin_add(plugin=_TaskPlugin(task, config), name=_PLUGIN)
    if answer.get("status") == "error":
        raise RuntimeError(f"the task {task} could not be set up: {answer.get('exception')}")


async def _remove(dask_worker: Worker) -> None:
    """Runs on a worker, which Dask passes as `dask_worker`. Removes its task."""
    if _PLUGIN in dask_worker.plugins:
        await dask_worker.plugin_remove(name=_PLUGIN)


async def _restart(address: str, dask_scheduler: Scheduler) -> None:
    """Runs on the scheduler, which Dask passes as `dask_scheduler`. Restarts a worker by its nanny.

    A worker without a nanny is removed.
    """
    await dask_scheduler.restart_workers(
        [address], timeout=_RESTART, wait_for_workers=False, on_error="return", stimulus_id=f"tfnb-{uuid.uuid4().hex}"
    )


class DaskCluster:
    """Tasks on the workers of `client`, for example `DaskCluster(client, ps=2, worker=4)`.

    Close the cluster, or use it as a context manager.

    `config` has the devices of each task. Operations without a requested device go to the first task of the job
    "chief", "master" or "worker", or else of the first job. `patience` is the number of seconds without an answer after
    which a task is lost; its worker is then restarted if it has a nanny, and not used any more otherwise. `timeout` is
    the number of seconds to wait until Dask has enough workers. `jobs` are the numbers of tasks of the jobs. Raises
    `ResourceExhaustedError` when Dask has too few workers, `UnavailableError` when it does not answer,
    `PermissionDeniedError` when its comm leaves this machine without TLS.
    """

    def __init__(
        self,
        client: Client,
        config: ConfigProto | None = None,
        patience: float = 10.0,
        timeout: float = 0.0,
        **jobs: int,
    ) -> None:
        if not jobs or any(not isinstance(n, int) or n < 1 for n in jobs.values()):
            raise InvalidArgumentError(f"a cluster needs jobs with a number of tasks each, got {jobs}")
        self._client, self._config, self._answer_timeout = client, config or ConfigProto(), patience
        self.tasks = tuple(task_name(job, i) for job, n in jobs.items() for i in range(n))
        self._lock = threading.RLock()
        self._roles: dict[str, str] = {}  # task -> address of its worker
        self._closed = False
        self._silent: set[str] = set()  # addresses of workers that did not answer and get no role
        self._probed: set[str] = set()  # those of them to which requests are still repeated
        default_job = next((j for j in ("chief", "master", "worker") if j in jobs), next(iter(jobs)))
        self._default = task_name(default_job, 0)
        with contextlib.suppress(TimeoutError, asyncio.TimeoutError):
            if timeout > 0:
                client.wait_for_workers(len(self.tasks), timeout)
        workers = self._workers()
        if len(workers) < len(self.tasks):
            raise ResourceExhaustedError(f"{len(self.tasks)} tasks need as many Dask workers; there are {len(workers)}")
        unsafe = [
            w
            for w in workers
            if not is_loopback(str(urlsplit(w).hostname)) and not w.startswith(("tls://", "tfnbs://"))
        ]
        if unsafe:
            raise PermissionDeniedError(f"Dask's comm leaves this machine without TLS: {unsafe[0]}")
        host = "127.0.0.1" if all(is_loopback(str(urlsplit(w).hostname)) for w in workers) else get_ip()
        self._local_task = Task(task_name("client", 0), host, self._config, tls_of(self._client.security))
        self.target = f"dask://{uuid.uuid4().hex[:12]}"
        try:
            for task in self.tasks:
                self._assign_first(task)
        except BaseException:
            self.close()
            raise
        offer(self.target, self._master)

    def _ask_dask(self, request: Callable[[], Awaitable[Result]], limit: float = _SET_UP) -> Result:
        """Sends a request through Dask's client; returns its result.

        Raises `UnavailableError` when the scheduler or the worker does not answer within `limit` seconds.
        """

        async def ask() -> Result:
            return await asyncio.wait_for(request(), limit)

        if self._client.status != "running":
            raise UnavailableError(f"Dask's scheduler is lost: its client is {self._client.status}")
        try:
            result: Result = self._client.sync(ask)
            return result
        except (OSError, CommClosedError, asyncio.TimeoutError) as e:
            raise UnavailableError(f"Dask does not answer: {type(e).__name__}: {e}") from e

    def _workers(self) -> list[str]:
        """The addresses of all workers that Dask has."""
        return list(self._ask_dask(lambda: self._client.scheduler.identity(n_workers=-1))["workers"])

    def _assign_first(self, task: str) -> None:
        """As `_assign`, but waits for workers that are slow to answer."""
        while True:
            were_probed = bool(self._probed)  # read first: a worker that answers meanwhile is free at the next attempt
            try:
                self._assign(task, self._workers())
                return
            except UnavailableError:
                if not were_probed and not self._probed:
                    raise
            time.sleep(_RETRY)

    def _assign(self, task: str, workers: list[str]) -> str:
        """Gives the role of a task to one of the workers without one; returns its address.

        Raises `UnavailableError` when there is none.
        """
        self._silent.intersection_update(workers)  # a worker that gets the address later is another one
        usable = [w for w in workers if w not in self._silent]
        limit = min(_FIRST_ANSWER, self._answer_timeout)
        for worker in [w for w in usable if w not in self._roles.values()]:
            if self._answers(worker, limit) and self._sets_up(task, worker):
                self._roles[task] = worker
                return worker
            if worker in self._workers():  # otherwise it has died
                self._give_up(worker, self._answer_timeout - limit)
        raise UnavailableError(
            f"Dask has {len(usable)} workers for {len(self.tasks)} tasks; when another one starts, it gets this role"
        )

    def _answers(self, worker: str, limit: float) -> bool:
        """Returns whether a worker answers within `limit` seconds.

        Without a limit, Dask would try for half a minute to reach a worker that has just died, and wait for a paused
        one forever. The worker is asked for nothing of this package, which a new worker would have to import first.
        """
        try:
            self._ask_dask(lambda: self._client.run(os.getpid, workers=[worker]), limit)
        except UnavailableError:
            return False
        return True

    def _sets_up(self, task: str, worker: str) -> bool:
        """Makes a worker host a task. Returns False when the worker is lost before it does."""
        try:
            self._ask_dask(lambda: self._client.run(_install, task, self._config, workers=[worker]))
        except UnavailableError:
            return False
        return True

    def locate(self, task: str, silent: str | None = None) -> str:
        """The address of a task's worker. If the worker has died, another one gets the role.

        `silent` is an address at which the task did not answer; the worker there loses the role. Raises
        `UnavailableError` when no worker is free or there is no scheduler, `ClosedSessionError` once the cluster is
        closed.
        """
        with self._lock:
            if self._closed:  # `close` would not take the role away again
                raise ClosedSessionError("the cluster is closed")
            address, workers = self._roles.get(task), self._workers()
            if address is not None and address in workers:
                if address != silent:
                    return address
                self._give_up(address, 0.0)  # the caller has waited for the whole timeout already
            self._roles.pop(task, None)
            return self._assign(task, workers)

    def _give_up(self, address: str, timeout: float) -> None:
        """Excludes a worker that does not answer from roles until it answers. Restarts it after `timeout` seconds."""
        self._silent.add(address)
        self._probed.add(address)

        def ask_again() -> None:
            end, limit = time.monotonic() + timeout, _FIRST_ANSWER
            while not self._closed and (seconds_left := end - time.monotonic()) > 0:
                if self._answers(address, min(limit, seconds_left)):
                    self._silent.discard(address)
                    return
                limit *= 2  # a slow worker never answers many short requests
            if not self._closed:
                self._client.run_on_scheduler(_restart, address)

        def work() -> None:
            # A closed client raises many classes of errors; the worker is lost either way.
            with contextlib.suppress(Exception, asyncio.CancelledError):
                try:
                    ask_again()
                finally:
                    self._probed.discard(address)

        threading.Thread(target=work, name="tfnb silent worker", daemon=True).start()

    @property
    def roles(self) -> dict[str, str]:
        """The address of the Dask worker that hosts each task, by the names of the tasks."""
        with self._lock:
            return dict(self._roles)

    def _master(self, config: ConfigProto) -> Master:
        if config.cluster_def is not None:
            raise InvalidArgumentError(
                "ConfigProto.cluster_def names servers by their addresses; the tasks of a DaskCluster are its workers"
            )
        if config.isolate_session_state:
            host, security = self._local_task.channel.peer.host, self._client.security
            return private_master(self.locate, self.tasks, self._default, host, config, security, self._answer_timeout)
        membership = Membership(
            self.locate,
            self._local_task.name,
            self._local_task.channel.peer,
            self._client.security,
            self._answer_timeout,
        )
        try:
            return Master(config, self._local_task, membership, [*self.tasks, self._local_task.name], self._default)
        except BaseException:
            membership.close()
            raise

    def cluster_status(self) -> HealthMonitor:
        """A monitor of the tasks, which the caller must close.

        `poll()` returns their state; `tf.show_cluster` displays it.
        """

        def locations() -> dict[str, str | None] | None:
            roles = self.roles
            return None if self._closed else {task: roles.get(task) for task in self.tasks}

        dashboard = str(self._client.dashboard_link or "")
        return HealthMonitor(locations, self._local_task, self._client.security, self._answer_timeout, dashboard)

    def close(self) -> None:
        """Removes the tasks and their variables from their workers. The workers themselves continue."""
        withdraw(self.target)
        self._closed = True
        with self._lock:
            roles, self._roles = list(self._roles.values()), {}
        try:
            with contextlib.suppress(UnavailableError):  # without a scheduler the workers end by themselves
                hosts = set(self._workers()).intersection(roles)
                if hosts:
                    self._ask_dask(lambda: self._client.run(_remove, workers=sorted(hosts)))
        finally:
            self._local_task.close()

    def __enter__(self) -> DaskCluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
