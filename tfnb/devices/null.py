"""A device that computes nothing, with which the cost of the runtime itself is measured.

Invariant: outputs and written variables are zeros of the right dtype and shape; nothing is compiled or launched.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfnb.caches import Cache
from tfnb.codegen.program import DeviceFacts, Program
from tfnb.devices.buffers import Cell, DeviceTensor, MemoryStats, Ticket
from tfnb.devices.interface import LoadedProgram, Recorder
from tfnb.ir.kernelcall import TensorInfo
from tfnb.types import as_dtype

__all__ = ["NullDevice"]


class NullDevice:
    """A device with the properties `facts` (default: those of a CPU). `name` is a full device name."""

    def __init__(self, name: str, facts: DeviceFacts | None = None) -> None:
        self.name = name
        self.facts = facts or DeviceFacts()
        self.lock = threading.RLock()

    def load(self, program: Program, former: LoadedProgram | None = None, is_spare: bool = True) -> NullProgram:
        return NullProgram(self, program)

    def allocate(self, info: TensorInfo) -> DeviceTensor:
        return DeviceTensor(self, info, None, np.zeros(info.shape, info.dtype.np))

    def from_numpy(self, array: np.ndarray) -> DeviceTensor:
        return DeviceTensor(self, TensorInfo(as_dtype(array.dtype), array.shape), None, array.copy())

    def download(self, tensor: DeviceTensor) -> np.ndarray:
        assert tensor.array is not None
        return tensor.array

    def fence(self) -> Ticket | None:
        return None

    def synchronize(self) -> None:
        pass

    def memory_stats(self) -> MemoryStats:
        return MemoryStats(0, 0, 0, 0)

    def caches(self) -> tuple[Cache[Any, Any], ...]:
        return ()

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "platform": "null", "device": "null", "units": self.facts.units}

    def close(self) -> None:
        pass


class NullProgram:
    """A program whose outputs are zeros."""

    def __init__(self, device: NullDevice, program: Program) -> None:
        self.program = program
        self._device = device

    def run(
        self,
        inputs: Sequence[DeviceTensor | np.ndarray],
        cells: Sequence[Cell],
        rng: np.ndarray | None = None,
        recorder: Recorder | None = None,
    ) -> list[DeviceTensor]:
        with self._device.lock:
            for cell, use in zip(cells, self.program.variables, strict=True):
                if use.writes and (cell.tensor is None or cell.tensor.info != use.info):
                    cell.tensor = self._device.allocate(use.info)
        return [self._device.allocate(info) for info in self.program.outputs]
