"""Discovery and selection of OpenCL devices.

Devices are discovered when one is first needed, once in each process. Invariant: the order is stable: CPUs in the
order of the user's selection, then GPUs.

A forked process has none of the threads of its parent. Sessions and event files from before the fork raise
`FailedPreconditionError` in it. A new session there uses PoCL's driver without threads of its own; other drivers cannot
be used. A fork while another thread runs a step may copy a lock that is held, as in any program with threads.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyopencl as cl

from tfnb.codegen.program import DeviceFacts
from tfnb.devices.opencl import pocl
from tfnb.devices.opencl.advice import with_advice
from tfnb.errors import DeviceNotFoundError, FailedPreconditionError
from tfnb.settings import Settings
from tfnb.system.group_signals import kept_from_children

__all__ = ["Unit", "units"]

_lock = threading.Lock()


@dataclass(frozen=True, eq=False)
class Unit:
    """An OpenCL device in use, with its context.

    `inline` is a second device with the same memory that runs kernels in the caller's thread, or None. `twins` has for
    each of the two an equal device that tfnb does not use otherwise, if there is one.
    """

    platform: cl.Platform
    device: cl.Device
    inline: cl.Device | None
    context: cl.Context
    facts: DeviceFacts
    twins: Mapping[cl.Device, cl.Device] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        return self.facts.kind

    @property
    def is_pocl(self) -> bool:
        return pocl.is_pocl(self.platform)

    @property
    def shares_memory(self) -> bool:
        """Whether host and kernels can use the same pointers, without mapping."""
        fine_grain = cl.device_svm_capabilities.FINE_GRAIN_BUFFER
        devices = [self.device] if self.inline is None else [self.device, self.inline]
        return self.kind == "cpu" and all(_svm(d) & fine_grain for d in devices)

    @property
    def reads_any_pointer(self) -> bool:
        """Whether kernels may access the host's ordinary memory.

        The kernels of PoCL's CPU device may, because the device calls them as functions of this process.
        """
        fine_grain_system = cl.device_svm_capabilities.FINE_GRAIN_SYSTEM
        devices = [self.device] if self.inline is None else [self.device, self.inline]
        return self.shares_memory and (self.is_pocl or all(_svm(d) & fine_grain_system for d in devices))

    def device_of(self, inline: bool) -> cl.Device:
        """Returns the device that runs kernels in the caller's thread if `inline` is set, else the main device."""
        if not inline:
            return self.device
        assert self.inline is not None, "only a program of a device with a companion is inline"
        return self.inline

    def fingerprint(self) -> str:
        """Returns a text with all properties of platform and device on which a compiled program depends."""
        p, d = self.platform, self.device
        return "\n".join((p.name, p.version, d.name, d.version, d.driver_version))

    def describe(self) -> dict[str, Any]:
        d = self.device
        return {
            "platform": self.platform.name.strip(),
            "device": d.name.strip(),
            "version": d.version.strip(),
            "driver": d.driver_version.strip(),
            "kind": self.kind,
            "units": self.facts.units,
            "memory": d.global_mem_size,
        }


def _svm(device: cl.Device) -> int:
    try:
        return int(device.svm_capabilities)
    except (cl.Error, AttributeError):
        return 0


def units(settings: Settings) -> tuple[Unit, ...]:
    """Returns the devices that `settings.devices` selects, CPUs first. Raises `DeviceNotFoundError`."""
    with _lock:
        all_units = _discover(str(settings.cache_path))
        if _discovered_by[0] != os.getpid():
            all_units = _of_fork(all_units)
    return _choose(all_units, settings.devices)


def _of_fork(all_units: tuple[Unit, ...]) -> tuple[Unit, ...]:
    """Returns the devices that a forked process can use: PoCL's devices that run kernels in the caller's thread.

    The threads of a driver do not exist in the fork. Raises `FailedPreconditionError` if no device can be used.
    """
    if not _fork_units:
        _fork_units.extend(replace(u, device=u.inline, inline=None) for u in all_units if u.inline is not None)
    if not _fork_units:
        raise FailedPreconditionError(
            "this process was forked from one that had used its OpenCL devices, whose threads are not in this one. "
            "Start it with multiprocessing's 'spawn' method, or make no session before the fork"
        )
    return tuple(_fork_units)


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    _fork_units.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@functools.cache
def _platforms() -> tuple[cl.Platform, ...]:
    try:
        return tuple(cl.get_platforms())
    except cl.Error as e:  # the OpenCL loader raises this if there is no platform
        raise DeviceNotFoundError(with_advice(f"no OpenCL platform was found ({e})")) from None


def _all(cache: str) -> tuple[Unit, ...]:
    all_units: list[Unit] = []
    for platform in _platforms():
        try:
            with kept_from_children():  # for the driver's threads, which start here and compile later
                all_units += _units_of(platform, Path(cache))
        except cl.Error:
            continue  # the driver has no devices, or does not start
    if not all_units:
        names = ", ".join(p.name for p in _platforms()) or "none"
        selected = os.environ.get("POCL_DEVICES")
        note, command = ("", "") if selected is None else (f"; POCL_DEVICES is {selected!r}", "unset POCL_DEVICES")
        raise DeviceNotFoundError(with_advice(f"no OpenCL device was found (platforms: {names}){note}", command))
    return tuple(all_units)


_discovered: list[tuple[Unit, ...]] = []  # filled once, by the process that first needs a device
_discovered_by = [0]  # the id of that process
_fork_units: list[Unit] = []


def _discover(cache: str) -> tuple[Unit, ...]:
    # PoCL reads its cache folder once in a process, so later values have no effect.
    if not _discovered:
        _discovered.append(_all(cache))
        _discovered_by[0] = os.getpid()
    return _discovered[0]


def _units_of(platform: cl.Platform, cache: Path) -> list[Unit]:
    if not pocl.is_pocl(platform):
        return [_unit(platform, d, None, {}) for d in platform.get_devices()]
    with pocl.environment(platform, cache):
        all_devices = platform.get_devices()
    for d in all_devices:
        pocl.teach_avx512(d)
    last = {d.name: d for d in all_devices}  # other code of this process would rather take the first of equal ones
    devices = list(last.values())
    twins = {last[d.name]: d for d in all_devices if d != last[d.name]}
    inline = next((d for d in devices if d.name.startswith(pocl.INLINE_NAMES)), None)
    main_devices = [d for d in devices if not d.name.startswith(pocl.INLINE_NAMES)]
    if not main_devices:
        return [_unit(platform, d, None, twins) for d in devices]
    return [_unit(platform, d, inline if d.type & cl.device_type.CPU else None, twins) for d in main_devices]


def _unit(
    platform: cl.Platform,
    device: cl.Device,
    inline: cl.Device | None,
    twins: Mapping[cl.Device, cl.Device],
) -> Unit:
    context = cl.Context([device] if inline is None else [device, inline])
    kind = "cpu" if device.type & cl.device_type.CPU else "gpu"
    try:
        fp64 = bool(device.double_fp_config)
    except cl.Error:
        fp64 = False
    facts = DeviceFacts(kind, int(device.max_compute_units), fp64)
    return Unit(platform, device, inline, context, facts, twins)


def _choose(all_units: tuple[Unit, ...], wish: str) -> tuple[Unit, ...]:
    cpus = [u for u in all_units if u.kind == "cpu"]
    gpus = [u for u in all_units if u.kind == "gpu"]
    default = next((u for u in cpus if u.is_pocl), cpus[0] if cpus else None)
    parts = [part.strip().lower() for part in wish.split(",") if part.strip()]
    if not parts:
        return (*(() if default is None else (default,)), *gpus)
    selection: dict[Unit, None] = {}
    for part in parts:
        matching = [u for u in all_units if part in _names(u)]
        if not matching:
            descriptions = "; ".join(f"{u.device.name.strip()} ({u.platform.name.strip()})" for u in all_units)
            raise DeviceNotFoundError(
                with_advice(
                    f"TFNB_DEVICES: no OpenCL device matches {part!r}; there are: {descriptions}", "unset TFNB_DEVICES"
                )
            )
        selection.update(dict.fromkeys(matching))
    # Nodes without a kernel for GPUs need a CPU.
    if default is not None and not any(u.kind == "cpu" for u in selection):
        selection[default] = None
    return tuple(sorted(selection, key=lambda u: u.kind != "cpu"))


def _names(unit: Unit) -> str:
    p, d = unit.platform, unit.device
    kind = "pocl " if unit.is_pocl else ""
    return f"{kind}{unit.kind} {p.name} {p.vendor} {d.name} {d.vendor}".lower()
