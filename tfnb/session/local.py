"""The local worker: the devices of this process, the state of a session, and the execution of compiled steps.

Invariant: devices and state belong to one session and end with it; built OpenCL programs are shared by the process.
"""

from __future__ import annotations

import os
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tfnb.devices import opencl
from tfnb.devices.host import keep_freed_memory
from tfnb.devices.interface import Device
from tfnb.devices.null import NullDevice
from tfnb.errors import CancelledError, ClosedSessionError, InvalidArgumentError
from tfnb.runtime.cancel import Cancellation
from tfnb.runtime.cluster_kernel import ClusterKernel
from tfnb.runtime.deadline import current as current_deadline
from tfnb.runtime.executor import Executor
from tfnb.runtime.host_threads import HostThreads
from tfnb.runtime.resources import ResourceManager
from tfnb.session.compile import CompiledStep, Context
from tfnb.session.config import ConfigProto, RunMetadata, RunOptions
from tfnb.session.functions import Functions
from tfnb.session.placing import Placing
from tfnb.session.recording import Recording, traced
from tfnb.settings import Settings, load_settings
from tfnb.system import process_end, progress, threads
from tfnb.system.interrupts import holding_interrupts, noted

__all__ = ["DeviceDescription", "LocalWorker"]

_PATIENCE = 5.0  # seconds for which `close` waits for steps and Python functions
_POLL, _LATE_POLL = 1e-3, 0.1  # seconds between two checks whether they have ended, before and after that

# Gives up the interpreter's lock and the processor for as long as it takes others that wait for them.
_leave_lock: Callable[[], None] = getattr(os, "sched_yield", partial(time.sleep, 0))

_get_ident = threading.get_ident

_TASK = "/job:localhost/replica:0/task:0"


@dataclass(frozen=True)
class DeviceDescription:
    """A device of a session: full `name`, `device_type`, `memory_limit_bytes`, and `details` of the platform."""

    name: str
    device_type: str
    memory_limit_bytes: int
    details: dict[str, Any]

    @property
    def memory_limit(self) -> int:
        """The same as `memory_limit_bytes`, under the name that TensorFlow's `device_lib` uses."""
        return self.memory_limit_bytes


def _make_devices(config: ConfigProto, settings: Settings) -> list[Device]:
    count = _device_count(config, settings)
    nulls = count.pop("NULL", 0)
    fraction = config.gpu_options.per_process_gpu_memory_fraction
    visible = config.gpu_options.visible_gpus()
    devices: list[Device] = [
        *opencl.make_devices(settings, count, config.memory_limit, gpu_memory_fraction=fraction, visible_gpus=visible)
    ]
    return [*devices, *(NullDevice(f"{_TASK}/device:NULL:{i}") for i in range(nulls))]


def _device_count(config: ConfigProto, settings: Settings) -> dict[str, int]:
    """The number of devices of each kind. TFNB_CPUS sets the number of CPUs if the configuration does not."""
    if not settings.cpus or "CPU" in config.device_count:
        return dict(config.device_count)
    if not settings.cpus.isdigit():
        raise InvalidArgumentError(f"TFNB_CPUS is {settings.cpus!r}; needed a number of logical CPU devices")
    return {**config.device_count, "CPU": int(settings.cpus)}


class LocalWorker:
    """Runs steps on this machine."""

    def __init__(self, config: ConfigProto) -> None:
        if config.cluster_def is not None:
            raise InvalidArgumentError(
                "ConfigProto.cluster_def needs a session on a server, as tf.Session(server.target, config=config)"
            )
        settings = load_settings()
        if settings.keep_memory:
            keep_freed_memory()
        devices = _make_devices(config, settings)
        self.config = config
        self.resources = ResourceManager()
        limits = {d.name: d.memory_stats().limit for d in devices}
        self.context = Context(
            {d.name: d for d in devices},
            self.resources,
            settings,
            Placing(limits, config.allow_soft_placement, config.graph_options.placement or settings.placement),
            settings.optimize and config.graph_options.optimize and config.graph_options.optimizer_options.optimizes(),
            config.graph_options.enable_bfloat16_sendrecv,
            config.graph_options.enable_recv_scheduling,
        )
        self._threads = HostThreads()
        self.resources.compile_function = self._functions = Functions(self.context, self._threads)
        self._executors: weakref.WeakKeyDictionary[CompiledStep, Executor] = weakref.WeakKeyDictionary()
        self.recording: Recording | None = None  # collects the times of all steps while it is set
        # The running steps, each with its cancellation (None: the step never waits). A step adds and removes itself
        # by a single operation of the dictionary inside a `try` block, so an interrupt cannot leave it here.
        # The keys begin with the thread.
        self._running: dict[tuple[int, object], Cancellation | None] = {}
        self._runners: set[int] = set()  # the threads that have run steps
        self._closed = False
        process_end.register(self)

    def execute(
        self,
        step: CompiledStep,
        feeds: Sequence[np.ndarray],
        options: RunOptions | None,
        metadata: RunMetadata | None,
    ) -> list[np.ndarray]:
        """Runs a step and returns the values of its fetches. Raises the first error of the step.

        A step of small kernels is computed inside calls into C that keep the interpreter's lock. Where several threads
        run steps, each step ends by leaving the lock to the others, which TensorFlow's steps do not hold at all.
        """
        executor = self._executors.get(step)
        if executor is None:
            executor = self._executors.setdefault(step, self._executor(step))
            progress.expect("cluster", sum(isinstance(kernel, ClusterKernel) for kernel in executor.payloads))
        deadline = current_deadline()
        is_traced = options is not None or metadata is not None or self.recording is not None
        trace = traced(options, metadata, self.recording) if is_traced else None
        recorder = None if trace is None else trace.recorder
        cancellation = Cancellation() if executor.is_cancellable else None
        thread = _get_ident()
        self._runners.add(thread)
        key = thread, object()
        try:
            self._running[key] = cancellation
            if self._closed:  # after the line above, so `close` sees this step or this step sees `close`
                raise ClosedSessionError("Attempted to use a closed Session.")
            return executor.run(
                feeds,
                timeout=None if deadline is None else deadline.left(),
                recorder=recorder,
                cancellation=cancellation,
            )
        except KeyboardInterrupt:
            if progress.shown:
                progress.finish("stopped")  # the interrupt may have come between two compilations
            raise
        finally:
            self._running.pop(key, None)  # first in the block, because Python handles no signal before the first call
            if progress.shown:
                progress.finish()
            if trace is not None:
                trace.keep(step.graph, self.context.placing.costs)
            if len(self._runners) > 1:
                _leave_lock()

    def _executor(self, step: CompiledStep) -> Executor:
        return Executor.of_parts(step.parts, self._threads, self.context.settings.fast_loops)

    def describe_devices(self) -> list[DeviceDescription]:
        """The descriptions of all devices, in order."""
        return [
            DeviceDescription(d.name, d.name.split(":")[-2], d.memory_stats().limit, d.describe())
            for d in self.context.devices.values()
        ]

    def close(self) -> None:
        """Cancels running steps, including those that wait, and releases threads, state and memory when they have
        ended.

        Warns (`RuntimeWarning`) if some steps do not end within 5 seconds. A step in whose Python function this is
        called, or in a signal handler while it runs, ends afterwards."""
        self._closed = True
        with holding_interrupts():
            self.cancel_steps("the session was closed while the step ran")
            end = time.monotonic() + _PATIENCE
            while (running := self._others()) and not process_end.has_begun and time.monotonic() < end and not noted:
                time.sleep(_POLL)
            if not self._running:
                self._release()
            elif not threads.are_over():
                threading.Thread(target=self._release_late, daemon=True, name="tfnb-close").start()
        if running and not process_end.has_begun:  # else they are held where they leave their steps
            warnings.warn(
                f"the session is closed, but {running} of its steps still run, in a Python function or data set that "
                f"does not return; the session's memory comes back when they end",
                RuntimeWarning,
                stacklevel=3,
            )

    def _others(self) -> int:
        """The number of running steps that do not wait for the calling thread."""
        if self._threads.has(threading.current_thread()):
            return 0  # it runs a Python function, for which any of them may wait
        own = _get_ident()
        return sum(thread != own for thread, _ in list(self._running))

    def cancel_steps(self, reason: str) -> None:
        """Cancels running steps, including those that wait, each with an error of its own; does not wait for their
        ends."""
        for cancellation in list(self._running.values()):
            if cancellation is not None:
                cancellation.cancel(CancelledError(reason))

    def _release_late(self) -> None:
        while self._running:
            time.sleep(_LATE_POLL)
        self._release()

    def _release(self) -> None:
        """Releases threads, state and memory after the last step. A Python function that a step has left behind may
        still run."""
        self._threads.close(_PATIENCE)
        self.resources.reset()
        self._executors.clear()
        self._functions.clear()
        for device in self.context.devices.values():
            device.close()
