"""The part of an OpenCL device that programs, their bindings and their launchers use.

The device creates the programs, so their modules cannot import its class; this protocol gives them its type. Invariant:
everything but `name`, `facts` and `lock` is used only while `lock` is held.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import pyopencl as cl

from tfnb.codegen.program import DeviceFacts
from tfnb.devices.buffers import DeviceTensor, Ticket
from tfnb.devices.interface import Lock
from tfnb.devices.opencl.build import ProgramLibrary
from tfnb.devices.opencl.clock import DeviceClock, RunEvent
from tfnb.devices.opencl.guards import GuardedMemory
from tfnb.devices.opencl.memory import DeviceMemory

__all__ = ["ProgramDevice"]


class ProgramDevice(Protocol):
    """An OpenCL device as its programs see it. `tfnb.devices.opencl.device.OpenCLDevice` implements it.

    `active` is the queue that may hold work for which nobody has waited; `in_flight` keeps the memory of a run alive
    that an interrupt may have cut off, and is None otherwise. `arena` is the scratch memory that all programs share;
    `arenas` is another number for each arena; `guards` looks at the ends of tensors, in tests.
    """

    name: str
    facts: DeviceFacts
    library: ProgramLibrary
    memory: DeviceMemory
    queue: cl.CommandQueue
    inline_queue: cl.CommandQueue | None
    active: cl.CommandQueue
    arena: DeviceTensor | None
    arenas: int
    guards: GuardedMemory | None
    in_flight: object

    @property
    def lock(self) -> Lock: ...

    @property
    def clocks(self) -> Mapping[bool, DeviceClock]:
        """The clock of the queue in the caller's thread (True) and of the main queue (False)."""
        ...

    def download(self, tensor: DeviceTensor) -> np.ndarray:
        """Returns a copy of the tensor's value on the host, or a view where the host can reach the memory."""
        ...

    def constant(self, array: np.ndarray) -> DeviceTensor:
        """Returns a tensor with a copy of a constant array; all requests for the same array get the same tensor."""
        ...

    def scratch(self, nbytes: int, who: str) -> DeviceTensor:
        """Returns the shared arena, enlarged to `nbytes` if it is smaller.

        Raises `ResourceExhaustedError`, with `who` as the name of the program that needs the memory.
        """
        ...

    def settle(self) -> None:
        """Waits for all enqueued work."""
        ...

    def ticket(self, event: RunEvent, keep: object) -> Ticket:
        """Returns the ticket of the work that ends with `event`; it keeps `keep` alive until then."""
        ...

    def profiling_queue(self, inline: bool = False) -> cl.CommandQueue:
        """Returns the queue of traced runs, on the device or in the caller's thread."""
        ...
