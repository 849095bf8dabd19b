"""`Task`: the devices, state and channel of one process of a cluster (white paper, section 3.3; OSDI'16, section 3.3).

A master registers the parts of a step once and then calls the task for each step. `InboundCalls` receives and answers,
`OutboundCalls` sends, `StepTable` knows which steps run; `Task` holds them together. Invariant: a step that has ended,
here or elsewhere, leaves nothing behind: late messages for it are dropped, and all that waits for it is woken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypedDict

import numpy as np

from tfnb.devices import opencl
from tfnb.devices.interface import Device
from tfnb.errors import CancelledError, OpError
from tfnb.ir.device_spec import DeviceSpec
from tfnb.runtime.executor import Executor, PlanPart
from tfnb.runtime.host_threads import HostThreads
from tfnb.runtime.resources import ResourceManager
from tfnb.runtime.stats import StepStats
from tfnb.runtime.values import Value
from tfnb.session.compile import Context
from tfnb.session.config import ConfigProto
from tfnb.session.dask.observability.transfer_stats import CountingChannel
from tfnb.session.dask.task.assignment import FETCH, Assignment
from tfnb.session.dask.task.inbound_calls import InboundCalls
from tfnb.session.dask.task.outbound_calls import OutboundCalls
from tfnb.session.dask.task.peer_table import PeerTable
from tfnb.session.dask.task.read_only_part import ReadOnlyPart
from tfnb.session.dask.task.registered_steps import RegisteredStep, RegisteredSteps
from tfnb.session.dask.task.step_table import StepTable
from tfnb.session.dask.task.task_rendezvous import Reply, RunningStep
from tfnb.session.dask.transport.channel import Peer, Tls
from tfnb.session.dask.transport.poller import Poller
from tfnb.session.dask.transport.refusals import Refusals
from tfnb.session.dask.transport.stream import Stream
from tfnb.session.dask.transport.wire import Head
from tfnb.session.functions import Functions
from tfnb.session.placing import Placing
from tfnb.settings import load_settings
from tfnb.system import process_end

__all__ = ["Task", "TaskCounts"]

_CLOSE_TIMEOUT = 5.0  # seconds that closing waits for Python functions that do not return


class TaskCounts(TypedDict):
    """The numbers of masters, registered steps and running steps of a task, and of the messages that it has refused."""

    masters: int
    registered: int
    running: int
    refused: int
    refused_last: str


class Task:
    """One task of a cluster, in this process. The owner must close it.

    `name` is for example "/job:ps/replica:0/task:0". `host` is the address at which its channel listens. `config` has
    its devices and their limits. `tls` is needed if other machines can reach `host`. Raises the errors of `Channel`.
    """

    def __init__(self, name: str, host: str, config: ConfigProto | None = None, tls: Tls | None = None) -> None:
        config = config or ConfigProto()
        self.name, self.config, self.tls = name, config, tls
        self.settings = load_settings()
        devices = opencl.make_devices(
            self.settings,
            config.device_count,
            config.memory_limit,
            prefix=name,
            gpu_memory_fraction=config.gpu_options.per_process_gpu_memory_fraction,
            visible_gpus=config.gpu_options.visible_gpus(),
        )
        self.devices: dict[str, Device] = {d.name: d for d in devices}
        self.resources = ResourceManager(shares_containers=False)
        self.threads = HostThreads()
        placing = Placing(dict.fromkeys(self.devices, 0))
        self.context = Context(self.devices, self.resources, self.settings, placing, self.settings.optimize)
        self.resources.compile_function = Functions(self.context, self.threads)
        self.refusals = Refusals(name)
        self.steps = StepTable(name, lambda step: RunningStep(name, self._outbound, step))
        self._registered = RegisteredSteps(name)
        self._peers = PeerTable(name)
        try:
            self.channel = CountingChannel(host, self._receive, self.refusals.add, tls)
        except BaseException:
            for device in devices:
                device.close()
            raise
        # No message can arrive before these two exist, because nobody knows the channel's password so far.
        self._outbound = OutboundCalls(name, self.channel, self._peers, self.steps, self.threads, self._make_poller)
        self._inbound = InboundCalls(
            name, self.channel, self.steps, self._registered, self._outbound, self.refusals.add
        )
        process_end.register(self)

    def _receive(self, head: Head, value: np.ndarray, stream: Stream) -> None:
        self._inbound.receive(head, value, stream)

    def _make_poller(self) -> Poller:
        return Poller(self._inbound.receive, self._connection_broke)

    def _connection_broke(self, stream: Stream, error: Exception) -> None:
        """Handles the end of a connection during a step. The connection belongs to a call to this task or from it."""
        self._inbound.connection_broke(stream, error)
        self._outbound.connection_broke(stream, error)

    # ---- the cluster -----------------------------------------------------------------------

    def meet(self, peers: Mapping[str, Peer]) -> None:
        """Takes the addresses of other tasks. The new address of a task that was restarted replaces the old one."""
        for peer in self._peers.update(peers):
            self.lose(peer)

    def lose(self, peer: Peer) -> None:
        """Closes the connections to a task that is gone, so that sending to it fails. Later sends connect again."""
        self.channel.drop(peer)
        self._outbound.drop(peer)

    def admit(self, master: int, name: str, peer: Peer) -> None:
        """Accepts the steps of the master with the number `master` from now on (see `step_number`).

        `name` and `peer` are the name and the address of the task in the master's process.
        """
        self.steps.admit(master, name, peer)

    def dismiss(self, master: int, error: OpError) -> None:
        """Removes a master that is gone, with its registered steps, and stops its running steps with `error`."""
        self._registered.remove(f"{master} ")
        self.steps.dismiss(master, error)

    def task_names(self) -> dict[str, str]:
        """The name of each task that this one can send to, by the endpoint of its peer."""
        masters = {m.peer.endpoint: m.name for m in self.steps.masters()}
        return {**masters, **self._peers.names()}

    def counts(self) -> TaskCounts:
        """The current counts of this task."""
        return {
            "masters": len(self.steps.masters()),
            "registered": len(self._registered),
            "running": len(self.steps.running()),
            "refused": self.refusals.count,
            "refused_last": self.refusals.last,
        }

    # ---- steps -----------------------------------------------------------------------------

    def register(self, handle: str, parts: Sequence[PlanPart], assignment: Assignment) -> None:
        """Stores the parts of a step that this task will run. `handle` begins with the number of the master."""
        executor = Executor.of_parts(parts, self.threads, self.settings.fast_loops)
        number = handle.partition(" ")[0]
        master = self.steps.master(int(number)) if number.isdigit() else None
        read_only = None
        if master is not None and master.name != self.name:
            read_only = ReadOnlyPart.of(parts, [f"{FETCH}{k}" for k in assignment.fetches], master.name)
        self._registered.add(handle, RegisteredStep(executor, assignment, read_only))

    def deregister(self, prefix: str) -> None:
        """Removes the registered steps whose handles begin with `prefix`: one step, or all steps of a master."""
        self._registered.remove(prefix)

    def begin(self, step: int) -> RunningStep:
        """Begins a step of a master in this process. This thread runs it, and has to call `end`.

        Raises `AbortedError` for a step that has ended.
        """
        run = self.steps.get(step)
        run.was_called = True
        self._outbound.poller_of(run)
        return run

    def run(
        self,
        step: int,
        handle: str,
        feeds: Sequence[Value],
        timeout: float | None = None,
        recorder: StepStats | None = None,
    ) -> list[np.ndarray]:
        """Runs a registered step in this thread; returns the fetches of this task's parts, in order.

        `feeds`: all feeds of the step. For the rest see `RunningStep.execute`. Raises `AbortedError` for a handle that
        is not registered, and for a step that has ended.
        """
        return self.steps.get(step).execute(self._registered.get(handle).executor, feeds, timeout, recorder)

    def call(
        self,
        run: RunningStep,
        assignment: Assignment,
        handle: str,
        feeds: Sequence[np.ndarray],
        timeout: float | None,
        reply: Callable[[Reply], None],
        trace: bool = False,
    ) -> None:
        """Makes another task run its parts of a step; see `OutboundCalls.call`."""
        self._outbound.call(run, assignment, handle, feeds, timeout, reply, trace)

    def stop(self, step: int, error: OpError) -> None:
        """Stops a step here with `error`. If it has not begun, all messages for it that arrive later are dropped."""
        self.steps.stop(step, error)

    def tell_to_stop(self, target: str, step: int, error: OpError) -> None:
        """Orders another task to stop a step. Does nothing if that task cannot be reached."""
        self._outbound.tell_to_stop(target, step, error)

    def end(self, step: int) -> None:
        """Ends a step here, with or without an error."""
        self._outbound.end_step(step)

    # ---- the end ---------------------------------------------------------------------------

    def reset(self, containers: Sequence[str] | None) -> None:
        """Drops the variables, queues and the like in these containers (None: in all).

        What is in no named container is in that of the task's job. The steps of all sessions are forgotten, so their
        next runs end with `AbortedError`.
        """
        if containers is not None and DeviceSpec.from_string(self.name).job in containers:
            containers = [*containers, ""]
        self._registered.remove("")
        self.resources.reset(containers)

    def cancel_steps(self, reason: str) -> None:
        """Stops the running steps, each with an error of its own, and does not wait for their ends."""
        for run in self.steps.running():
            run.stop(CancelledError(reason))

    def close(self) -> None:
        """Stops the running steps, then releases threads, sockets, state and memory. May be called twice."""
        running = self.steps.close()
        if running is None:
            return
        for run in running:
            run.stop(CancelledError(f"the task {self.name} was closed"))
        self._outbound.close()
        self.channel.close()
        self.threads.close(_CLOSE_TIMEOUT)
        self.resources.reset()
        for device in self.devices.values():
            device.close()
