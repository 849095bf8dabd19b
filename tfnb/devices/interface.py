"""What every kind of device offers to the runtime (white paper, section 3).

A device loads programs, runs them in the order in which they are given to it, and owns memory. Invariant: while a
thread holds `lock`, no other thread enqueues work on the device or changes a cell that lives there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np

from tfnb.codegen.program import DeviceFacts, Program
from tfnb.devices.buffers import Cell, DeviceTensor, MemoryStats, Ticket
from tfnb.ir.kernelcall import TensorInfo

Lock = AbstractContextManager[Any]
"""A reentrant lock."""

__all__ = ["Device", "DeviceFacts", "LoadedProgram", "Lock", "Program", "Recorder"]


class Recorder(Protocol):
    """Takes the times of a traced step; see `tfnb.runtime.stats`. `begin`: its zero, by `time.perf_counter`."""

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
        """Enqueues all steps and returns the outputs, in fresh memory, without waiting; small ones may be arrays.

        `inputs` are NumPy arrays or tensors of any device, of the program's input infos; `cells` those of
        `program.variables`; `rng` the uint32[n, 4] table for `program.random`. Cells that are
        written hold their new value when the outputs are ready; nothing of it happens if this raises
        `ResourceExhaustedError`. Arrays may be changed once the outputs are ready.
        """
        ...


class Device(Protocol):
    """A device. `name` is complete: "/job:localhost/replica:0/task:0/device:CPU:0"."""

    name: str
    facts: DeviceFacts

    @property
    def lock(self) -> Lock: ...

    def load(self, program: Program) -> LoadedProgram:
        """Builds and binds. Raises `KernelBuildError` or `ResourceExhaustedError`."""
        ...

    def allocate(self, info: TensorInfo) -> DeviceTensor:
        """Fresh memory with any content. Raises `ResourceExhaustedError`."""
        ...

    def from_numpy(self, array: np.ndarray) -> DeviceTensor:
        """A copy of `array` on the device. Raises `ResourceExhaustedError`."""
        ...

    def download(self, tensor: DeviceTensor) -> np.ndarray:
        """A copy of the tensor's value on the host; of the memory itself where the host can reach it, a view."""
        ...

    def fence(self) -> Ticket | None:
        """The ticket of all that was enqueued until now, None when it is done."""
        ...

    def synchronize(self) -> None:
        """Returns when all that was enqueued until now is done, other threads may go on meanwhile."""
        ...

    def memory_stats(self) -> MemoryStats: ...

    def describe(self) -> dict[str, Any]:
        """Facts for people: platform, driver, compute units, memory."""
        ...

    def close(self) -> None:
        """Waits for enqueued work and gives memory back. The device is not used afterwards."""
        ...
