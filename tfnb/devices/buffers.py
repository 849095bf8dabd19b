"""Tensors on a device, and the cells that hold the state of variables.

White paper, sections 2 and 3: a tensor's memory belongs to one device; a variable is a cell whose tensor outlives
the step. Invariant: a `DeviceTensor` never changes its memory or shape; only programs that write a cell change
the contents, and only a cell changes which tensor it holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tfnb.ir.kernelcall import TensorInfo

__all__ = ["Cell", "DeviceTensor", "Holder", "MemoryStats", "Ticket"]


class Ticket(Protocol):
    """Stands for work that was enqueued: it and all before it on its device.

    `wait` returns when it is done, `poll` says whether it is; `done` may lag behind.
    """

    done: bool

    def wait(self) -> None: ...

    def poll(self) -> bool: ...


class Holder(Protocol):
    """What a `DeviceTensor` needs of its device."""

    name: str

    def download(self, tensor: DeviceTensor) -> np.ndarray: ...


class DeviceTensor:
    """A dense, row-major tensor on a device, readable 256 bytes past its end by kernels.

    `arg` is what the device binds to a kernel, `array` the host's view of the same memory (None where the host
    cannot reach it), `ticket` the work that still writes it.
    """

    __slots__ = ("arg", "array", "device", "info", "shape", "ticket")

    def __init__(
        self,
        device: Holder,
        info: TensorInfo,
        arg: object,
        array: np.ndarray | None = None,
        ticket: Ticket | None = None,
    ) -> None:
        self.device = device
        self.info = info
        self.shape = info.shape
        self.arg: Any = arg  # a device's own type, which only that device uses
        self.array = array
        self.ticket = ticket

    def wait(self) -> None:
        """Returns when the value is there."""
        # The ticket stays: another thread may have given a variable's tensor a newer one meanwhile.
        ticket = self.ticket
        if ticket is not None and not ticket.done:
            ticket.wait()

    @property
    def is_computed(self) -> bool:
        """Is the value there? Asks the device, without waiting."""
        ticket = self.ticket
        return ticket is None or ticket.done or ticket.poll()

    def numpy(self) -> np.ndarray:
        """The value, waiting for it: the memory itself on a CPU device (no copy), else a copy of it."""
        if self.ticket is not None:
            self.wait()
        if self.array is not None:
            return self.array
        return self.device.download(self)

    def __repr__(self) -> str:
        return f"<DeviceTensor {self.info.dtype.name}{list(self.shape)} on {self.device.name}>"


class Cell:
    """The state of one variable: `tensor` is None until it is initialised.

    Changed only by who holds the lock of the tensor's device.
    """

    __slots__ = ("name", "tensor")

    def __init__(self, name: str, tensor: DeviceTensor | None = None) -> None:
        self.name = name
        self.tensor = tensor

    def __repr__(self) -> str:
        return f"<Cell {self.name}: {self.tensor or 'uninitialised'}>"


@dataclass(frozen=True, slots=True)
class MemoryStats:
    """Bytes: `in_use` by live tensors, `peak` of that, `cached` for reuse, `limit` (0: none)."""

    in_use: int
    peak: int
    cached: int
    limit: int
