"""The first run of a program: kernels are launched one by one, because the driver compiles each at its first launch.

That may take seconds, so the progress is shown, and Ctrl-C ends the run after the present kernel. Invariant: a run that
ends early has changed no variable, because their old values were copied before the first launch that writes one.

At most 256 MB of variables are copied in this way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import starmap
from typing import Any

import pyopencl as cl

from tfnb.devices.buffers import Cell, DeviceTensor
from tfnb.devices.host import capacity_of
from tfnb.devices.interface import Recorder
from tfnb.devices.opencl.binding import BoundLaunch
from tfnb.devices.opencl.program_device import ProgramDevice
from tfnb.errors import ResourceExhaustedError
from tfnb.system.interrupts import holding_interrupts
from tfnb.system.progress import compiling

__all__ = ["first_run"]

_WATCH = 64  # launches after which the library notes which kernels PoCL has loaded
_MAX_COPIED = 256 << 20  # bytes of variables that are copied, which takes a tenth of a second

Copies = list[tuple[DeviceTensor, DeviceTensor]]  # pairs of a copy and the tensor that was copied


def first_run(
    device: ProgramDevice,
    launches: Sequence[BoundLaunch],
    calls: Sequence[Any],
    written: Sequence[Cell],
    changes: Sequence[Any],
    recorder: Recorder | None,
) -> tuple[list[Any], BaseException | None]:
    """Performs `calls`, those of `launches`, and then the `setattr` calls of `changes`; returns the events.

    The kernels write the variables `written`. An interrupt ends the run at once, unless the variables are too large to
    be copied: then it ends the run only before their first change, and is returned with the events otherwise. Errors
    are raised after the variables have their old values again, if these were copied.
    """
    events: list[Any] = []
    copies: Copies | None = []  # None: variables are being changed and cannot be restored
    has_copied = has_ended = False
    library = device.library
    what = _title(launches[0]) if launches else "a program without kernels"
    try:
        with holding_interrupts() as held, compiling(what) as wait, library.room():
            try:
                for i, (b, call) in enumerate(zip(launches, calls, strict=True)):
                    if copies is not None:
                        held.check()
                    if b.writes and not has_copied:
                        copies = _copies(device, written, changes) if held.is_holding else None
                        has_copied = True
                    wait.text = _title(b)
                    start = recorder.now_us() if recorder is not None else 0.0
                    with library.first_launch(b.built, b.step.entry, call[3]) as is_compiled:
                        events.append(cl.enqueue_nd_range_kernel(*call))
                        call[0].finish()
                    if recorder is not None and not is_compiled:
                        recorder.span("compile", b.label, start, detail=f"the device compiles {b.step.entry}")
                    if i % _WATCH == _WATCH - 1 or i == len(calls) - 1:
                        some = launches[i - i % _WATCH : i + 1]
                        library.launched((x.built, x.step.entry, x.call[2], x.call[3]) for x in some)
                if copies is not None:
                    held.check()
                deque(starmap(setattr, changes), 0)
                has_ended = True
            except BaseException:
                _copy(device, copies or ())
                raise
    except BaseException as e:
        if not has_ended:
            raise
        return events, e
    return events, None


def _title(launch: BoundLaunch) -> str:
    """Returns what a launch compiles, for the user."""
    title = launch.built.title
    return f"{launch.step.entry} of {title} (once per machine)" if title else f"the kernel of {launch.label}"


def _copies(device: ProgramDevice, written: Sequence[Cell], changes: Sequence[Any]) -> Copies | None:
    """Copies the variables that the run writes in place; returns None if there is no room for the copies."""
    fresh = {id(cell) for cell, _, _ in changes}  # they get new memory, and keep the old one if the run fails
    tensors = [c.tensor for c in written if c.tensor is not None and id(c) not in fresh]
    if sum(t.info.nbytes for t in tensors) > _MAX_COPIED:
        return None
    try:
        copies = [(device.memory.allocate(t.info, capacity_of(t.info.nbytes)), t) for t in tensors]
    except ResourceExhaustedError:
        return None
    _copy(device, [(tensor, copy) for copy, tensor in copies])
    return copies


def _copy(device: ProgramDevice, pairs: Sequence[tuple[DeviceTensor, DeviceTensor]]) -> None:
    """Copies the first tensor of each pair to the second one, and waits until that is done."""
    if pairs:
        device.active.finish()
        keep = device.in_flight
        for source, target in pairs:
            device.memory.copy(source, target)
        device.queue.finish()
        device.in_flight = keep  # `copy` may have settled the device, but this run goes on
