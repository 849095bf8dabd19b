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
    """A handle of enqueued work: one run and all earlier work on the same device.

    `wait` returns when the work is done. `poll` asks the device whether the work is done and does not wait; `done` is
    the last known answer.
    """

    done: bool

    def wait(self) -> None: ...

    def poll(self) -> bool: ...


class Holder(Protocol):
    """The part of a device that a `DeviceTensor` uses."""

    name: str

    def download(self, tensor: DeviceTensor) -> np.ndarray: ...


class DeviceTensor:
    """A dense, row-major tensor on a device. Kernels may read up to 256 bytes past its end.

    `arg` is the argument by which the device binds it to a kernel, `array` the host's view of the same memory (None if
    the host cannot access it), and `ticket` the work that still writes it.
    """

    __slots__ = ("__weakref__", "arg", "array", "device", "info", "shape", "ticket")

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
        self.arg: Any = arg  # of a type that only the device knows
        self.array = array
        self.ticket = ticket

    def wait(self) -> None:
        """Waits until the value has been computed."""
        # The ticket is not removed, because another thread may have set a newer one for a variable's tensor.
        ticket = self.ticket
        if ticket is not None and not ticket.done:
            ticket.wait()

    @property
    def is_computed(self) -> bool:
        """Whether the value has been computed; reading this asks the device and does not wait."""
        ticket = self.ticket
        return ticket is None or ticket.done or ticket.poll()

    def numpy(self) -> np.ndarray:
        """Waits for the value and returns it: a view of the memory on a CPU device (no copy), else a copy."""
        if self.ticket is not None:
            self.wait()
        if self.array is not None:
            return self.array
        return self.device.download(self)

    def __repr__(self) -> str:
        return f"<DeviceTensor {self.info.dtype.name}{list(self.shape)} on {self.device.name}>"


class Cell:
    """The state of one variable: `tensor` is None until it is initialised.

    It is changed only while the lock of the tensor's device is held.
    """

    __slots__ = ("name", "tensor")

    def __init__(self, name: str, tensor: DeviceTensor | None = None) -> None:
        self.name = name
        self.tensor = tensor

    def __repr__(self) -> str:
        return f"<Cell {self.name}: {self.tensor or 'uninitialised'}>"


@dataclass(frozen=True, slots=True)
class MemoryStats:
    """The memory of a device in bytes.

    `in_use` is held by live tensors, `peak` is the largest value of `in_use` so far, `cached` is kept for reuse, and
    `limit` is the most that may be in use (0: there is no limit).
    """

    in_use: int
    peak: int
    cached: int
    limit: int
