"""The OpenCL device: queues, scratch memory, tickets (white paper, section 3).

Each device has one in-order queue, so programs run one after the other and share one arena. Invariant: the ticket of
enqueued work refers to all memory that the work uses, until the work is done.
"""

from __future__ import annotations

import functools
import os
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pyopencl as cl

from tfnb.caches import Cache
from tfnb.codegen.program import Program
from tfnb.devices.buffers import DeviceTensor, MemoryStats
from tfnb.devices.host import capacity_of
from tfnb.devices.interface import LoadedProgram
from tfnb.devices.opencl.build import ProgramLibrary
from tfnb.devices.opencl.clock import DeviceClock, RunEvent
from tfnb.devices.opencl.guards import GuardedMemory
from tfnb.devices.opencl.memory import BufferMemory, DeviceMemory, SharedMemory
from tfnb.devices.opencl.platforms import Unit, units
from tfnb.devices.opencl.program import OpenCLProgram, error_of
from tfnb.errors import DeviceNotFoundError, OpError
from tfnb.ir.kernelcall import TensorInfo
from tfnb.settings import Settings
from tfnb.types import as_dtype, uint8

__all__ = ["OpenCLDevice", "list_devices", "make_devices"]

_MAX_UNWAITED = 4  # runs that may be enqueued at once, since their inputs and outputs stay in memory
_CLOCK_READINGS = 6  # the fastest one is used
_SHARE = 16  # the part of the memory that scratch memory may take to have room for larger shapes


class _Ticket:
    """The work up to an event. A ticket that is done releases the memory that it kept and all earlier tickets."""

    __slots__ = ("_before", "_device", "_event", "_keep", "done")
    done: bool

    def __init__(self, device: str, event: RunEvent, keep: object, before: _Ticket | None) -> None:
        self._device = device
        self._event = event
        self._keep = keep
        self._before = before if before is not None and not before.done else None
        self.done = False

    def wait(self) -> None:
        if not self.done:
            try:
                self._event.wait()
            except cl.Error as e:
                raise error_of(e, self._device) from None
            self.done = True
            self._keep = None
            self._before = None

    def poll(self) -> bool:
        if not self.done and self._event.command_execution_status <= cl.command_execution_status.COMPLETE:
            self.wait()
        return self.done


class OpenCLDevice:
    """A logical device on a unit; several may share one. `memory_limit` is in bytes (0: the memory of the unit).

    With `shared=False`, tensors are kept in buffers that are copied to the host, as on a GPU; with `guard`, the ends of
    tensors are looked at after each program (`guards.py`).
    """

    def __init__(
        self,
        name: str,
        unit: Unit,
        library: ProgramLibrary,
        memory_limit: int = 0,
        shared: bool | None = None,
        guard: bool = False,
    ) -> None:
        self.name = name
        self.unit = unit
        self.facts = unit.facts
        self.library = library
        self.lock = threading.RLock()
        self.queue = cl.CommandQueue(unit.context, unit.device)
        shared = unit.shares_memory if shared is None else shared
        has_inline = unit.inline is not None and shared
        self.inline_queue = cl.CommandQueue(unit.context, unit.inline) if has_inline else None
        limit = memory_limit or _memory_of(unit)
        self.memory: DeviceMemory
        if shared:
            self.memory = SharedMemory(self, unit.context, limit, unit.reads_any_pointer)
        else:
            self.memory = BufferMemory(self, self.queue, limit)
        self.guards = GuardedMemory(self.memory) if guard else None
        self.memory = self.guards or self.memory
        self._most_room = limit // _SHARE
        self.arena: DeviceTensor | None = None
        self.arenas = 1
        self.in_flight: object = None  # memory of a run that an interrupt may have ended early
        self._last: _Ticket | None = None
        self._profiling: dict[bool, cl.CommandQueue] = {}
        self.clocks = {False: DeviceClock(), True: DeviceClock()}
        self.active = self.queue  # the queue that may hold work for which nobody has waited
        self._constants: dict[int, tuple[weakref.ref[np.ndarray], DeviceTensor]] = {}

    # ---- the Device interface --------------------------------------------------------------

    def load(self, program: Program, former: LoadedProgram | None = None, is_spare: bool = True) -> OpenCLProgram:
        with self.lock:
            return OpenCLProgram(self, program, former if isinstance(former, OpenCLProgram) else None, is_spare)

    def allocate(self, info: TensorInfo) -> DeviceTensor:
        with self.lock:
            return self.memory.allocate(info, capacity_of(info.nbytes))

    def from_numpy(self, array: np.ndarray) -> DeviceTensor:
        info = self.info_of(array)
        with self.lock:
            return self.memory.upload(array, info, capacity_of(info.nbytes))

    def download(self, tensor: DeviceTensor) -> np.ndarray:
        return self.memory.download(tensor)

    def fence(self) -> _Ticket | None:
        with self.lock:
            if self.in_flight is not None:
                self.settle()
            return self._last

    def synchronize(self) -> None:
        last = self.fence()
        if last is not None:
            last.wait()

    def memory_stats(self) -> MemoryStats:
        with self.lock:
            return self.memory.stats()

    def caches(self) -> tuple[Cache[Any, Any], ...]:
        return self.library.caches()

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, **self.unit.describe(), "in_use": self.memory_stats().in_use}

    def close(self) -> None:
        with self.lock:
            self.settle()
            self._drop_arena()
            self._constants.clear()
            self.memory.trim()

    # ---- for its programs, under the lock --------------------------------------------------

    def settle(self) -> None:
        """Waits for all enqueued work."""
        if self.in_flight is not None:
            self.active.finish()
            self.in_flight = None
        last = self._last
        if last is not None:
            last.wait()
            self._last = None

    def ticket(self, event: RunEvent, keep: object) -> _Ticket:
        """Returns the ticket of the work that was just enqueued and that ends with `event`."""
        ticket = _Ticket(self.name, event, keep, self._last)
        self._last = ticket
        self.in_flight = None
        older: _Ticket | None = ticket
        for _ in range(_MAX_UNWAITED):
            older = None if older is None else older._before
        if older is not None:
            older.wait()
        return ticket

    def scratch(self, nbytes: int, who: str) -> DeviceTensor:
        """Returns the arena that all programs share, enlarged to `nbytes` if it is smaller.

        Raises `ResourceExhaustedError`, with `who` as the name of the program that needs the memory.
        """
        arena = self.arena
        if arena is None or arena.info.nbytes < nbytes:
            self.settle()
            self._drop_arena()
            # Larger shapes often follow, and each new arena has to be bound again and is slow at its first use.
            has_room = self.memory.is_lazy and 2 * nbytes <= self._most_room
            info = TensorInfo(uint8, (2 * nbytes if has_room else nbytes,))
            try:
                self.arena = arena = self.memory.allocate(info, capacity_of(info.nbytes))
            except OpError as e:
                e.message = f"scratch memory of {who}: {e.message}"
                raise
        return arena

    def _drop_arena(self) -> None:
        self.arena = None
        self.arenas += 1

    def constant(self, array: np.ndarray) -> DeviceTensor:
        """Returns a copy of an array that never changes. All programs that use the array share the copy."""
        reference, tensor = self._constants.get(id(array), (None, None))
        if tensor is None or reference is None or reference() is not array:
            tensor = self.from_numpy(array)
            forget = functools.partial(self._forget, id(array))
            self._constants[id(array)] = weakref.ref(array, forget), tensor
        return tensor

    def _forget(self, key: int, _: weakref.ref[np.ndarray]) -> None:
        entry = self._constants.get(key)
        if entry is not None and entry[0]() is None:
            del self._constants[key]

    def profiling_queue(self, inline: bool = False) -> cl.CommandQueue:
        """Returns the queue of traced runs, on the device or in the caller's thread."""
        if inline not in self._profiling:
            properties = cl.command_queue_properties.PROFILING_ENABLE
            device = self.unit.device_of(inline)
            queue = cl.CommandQueue(self.unit.context, device, properties)
            _read_clock(queue, self.clocks[inline])
            self._profiling[inline] = queue
        return self._profiling[inline]

    @staticmethod
    def info_of(array: np.ndarray) -> TensorInfo:
        return TensorInfo(as_dtype(array.dtype), tuple(array.shape))


def _read_clock(queue: cl.CommandQueue, clock: DeviceClock) -> None:
    """Reads the device's time several times, so that the first traced run is accurate too.

    The fastest answer bounds the difference of the two clocks best.
    """
    for _ in range(_CLOCK_READINGS):
        before = 1e6 * time.perf_counter()
        event = cl.enqueue_marker(queue)
        after = 1e6 * time.perf_counter()
        event.wait()
        queued_at = 1e-3 * cast(int, event.get_profiling_info(cl.profiling_info.QUEUED))
        clock.zero(before, queued_at, queued_at, after)


def _memory_of(unit: Unit) -> int:
    """Returns the bytes of a unit's memory.

    A CPU may use the whole memory of the machine, although its driver may report less.
    """
    if unit.kind != "cpu":
        return int(unit.device.global_mem_size)
    return host_memory() or int(unit.device.global_mem_size)


def host_memory() -> int:
    """Returns the bytes of the machine's memory; 0 if the system does not report them."""
    try:
        return int(os.sysconf("SC_PHYS_PAGES")) * int(os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return 0


_libraries: dict[tuple[Unit, Settings], ProgramLibrary] = {}
_libraries_lock = threading.Lock()


def _after_fork() -> None:
    global _libraries_lock
    _libraries_lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _library(unit: Unit, settings: Settings) -> ProgramLibrary:
    """Returns the library of a unit. All sessions of a process with the same settings share it."""
    settings = replace(settings, guard=False)  # it is the devices' alone
    with _libraries_lock:
        key = unit, settings
        if key not in _libraries:
            _libraries[key] = ProgramLibrary(unit, settings)
        return _libraries[key]


def list_devices(settings: Settings) -> list[dict[str, Any]]:
    """Returns the descriptions of the devices that sessions of this process have. Raises `DeviceNotFoundError`."""
    counts = {"cpu": 0, "gpu": 0}
    descriptions = []
    for unit in units(settings):
        descriptions.append({"name": f"/device:{unit.kind.upper()}:{counts[unit.kind]}", **unit.describe()})
        counts[unit.kind] += 1
    return descriptions


def make_devices(
    settings: Settings,
    device_count: Mapping[str, int] | None = None,
    memory_limit: int = 0,
    prefix: str = "/job:localhost/replica:0/task:0",
    gpu_memory_fraction: float = 0.0,
    visible_gpus: Sequence[int] | None = None,
) -> list[OpenCLDevice]:
    """Returns the devices of a session, CPUs first.

    `device_count` is the number of devices of each kind ("CPU", "GPU"). More CPUs than exist share the existing ones;
    with fewer GPUs the rest is not used. `visible_gpus` are the numbers of the GPUs to use, in this order; the list has
    no effect if there is no GPU, as in TensorFlow. Raises `DeviceNotFoundError` if a requested kind has no device.
    """
    requested_counts = {kind.lower(): n for kind, n in (device_count or {}).items()}
    all_units = units(settings)
    devices: list[OpenCLDevice] = []
    for kind in ("cpu", "gpu"):
        kind_units = [u for u in all_units if u.kind == kind]
        if kind == "gpu" and kind_units and visible_gpus is not None:
            if max(visible_gpus) >= len(kind_units):
                raise DeviceNotFoundError(
                    f"visible_device_list names GPU {max(visible_gpus)}; OpenCL has {len(kind_units)}, numbered from 0"
                )
            kind_units = [kind_units[i] for i in visible_gpus]
        n = requested_counts.get(kind, len(kind_units))
        if n > len(kind_units) and (kind == "gpu" or not kind_units):
            raise DeviceNotFoundError(
                f"device_count asks for {n} {kind.upper()} devices; OpenCL has {len(kind_units)}: "
                f"{', '.join(u.device.name.strip() for u in all_units)}"
            )
        for i in range(n):
            unit = kind_units[i % len(kind_units)]
            limit = memory_limit
            if kind == "gpu" and gpu_memory_fraction > 0 and not limit:
                limit = int(gpu_memory_fraction * unit.device.global_mem_size)
            devices.append(
                OpenCLDevice(
                    f"{prefix}/device:{kind.upper()}:{i}", unit, _library(unit, settings), limit, guard=settings.guard
                )
            )
    return devices
