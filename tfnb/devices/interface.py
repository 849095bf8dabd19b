"""The interface of all devices (white paper, section 3).

A device loads programs, runs them in the order of the calls, and owns memory. Invariant: while a
thread holds `lock`, no other thread enqueues work on the device or changes a cell that lives there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np

from tfnb.caches import Cache
from tfnb.codegen.program import DeviceFacts, Program
from tfnb.codegen.program_class import ProgramClass
from tfnb.devices.buffers import Cell, DeviceTensor, MemoryStats, Ticket
from tfnb.ir.kernelcall import TensorInfo

Lock = AbstractContextManager[Any]
"""A reentrant lock."""

__all__ = [
    "Device",
    "DeviceFacts",
    "LoadedProgram",
    "Lock",
    "Program",
    "ProgramClass",
    "ProgramTakenError",
    "Recorder",
]


class Recorder(Protocol):
    """Receives the times of a traced step, in microseconds since `begin`, which is a `time.perf_counter` in seconds.

    `tfnb.runtime.stats` implements it."""

    begin: float

    def launch(
        self,
        device: str,
        queue: str,
        label: str,
        nodes: tuple[int, ...],
        start_us: float,
        end_us: float,
        nbytes: int,
    ) -> None: ...

    def later(self, report: Callable[[], None]) -> None: ...

    def span(self, kind: str, label: str, start_us: float, nbytes: int = 0, detail: str = "") -> None: ...

    def now_us(self) -> float: ...


class ProgramTakenError(Exception):
    """The kernels of a program were given to another one before it was run."""


class LoadedProgram(Protocol):
    """A program bound to a device. `run` may be called from many threads at once."""

    program: Program

    def run(
        self,
        inputs: Sequence[DeviceTensor | np.ndarray],
        cells: Sequence[Cell],
        rng: np.ndarray | None = None,
        recorder: Recorder | None = None,
    ) -> Sequence[DeviceTensor | np.ndarray]:
        """Enqueues all steps and returns the outputs, in new memory, without waiting; small outputs may be arrays.

        `inputs` are NumPy arrays or tensors of any device, with the dtypes and shapes of `program.inputs`; `cells` are
        the cells of `program.variables`; `rng` is the uint32[n, 4] table for `program.random`. The cells have their new
        values when the outputs are ready, and keep the old ones if this raises `ResourceExhaustedError`. The caller may
        change input arrays when the outputs are ready. Raises `ProgramTakenError`, and does nothing, if another program
        was loaded with this one as its spare `former`.
        """
        ...


class Device(Protocol):
    """A device. `name` is a full name, as "/job:localhost/replica:0/task:0/device:CPU:0"."""

    name: str
    facts: DeviceFacts

    @property
    def lock(self) -> Lock: ...

    def load(self, program: Program, former: LoadedProgram | None = None, is_spare: bool = True) -> LoadedProgram:
        """Builds a program and binds it to the device. Raises `KernelBuildError` or `ResourceExhaustedError`.

        `former` is a program of this device whose steps may differ in nothing but sizes, or None. If they do, the new
        one shares with it what does not depend on sizes. If `former` is not needed any more, as `is_spare` says, the
        new one takes its kernels, which is faster than making others.
        """
        ...

    def allocate(self, info: TensorInfo) -> DeviceTensor:
        """Returns a new tensor with arbitrary content. Raises `ResourceExhaustedError`."""
        ...

    def from_numpy(self, array: np.ndarray) -> DeviceTensor:
        """Returns a copy of `array` on the device. Raises `ResourceExhaustedError`."""
        ...

    def download(self, tensor: DeviceTensor) -> np.ndarray:
        """Returns the tensor's value on the host: a view where the host can access the memory, else a copy."""
        ...

    def fence(self) -> Ticket | None:
        """Returns the ticket of all work that was enqueued until now; None if it is done."""
        ...

    def synchronize(self) -> None:
        """Waits for all work that was enqueued until now. Other threads may enqueue more meanwhile."""
        ...

    def memory_stats(self) -> MemoryStats: ...

    def caches(self) -> tuple[Cache[Any, Any], ...]:
        """The caches of built programs, with their counters. Devices of several sessions may share them."""
        ...

    def describe(self) -> dict[str, Any]:
        """Properties of the device for users: platform, driver, compute units, memory in bytes."""
        ...

    def close(self) -> None:
        """Waits for enqueued work and releases memory. The device is not used afterwards."""
        ...
