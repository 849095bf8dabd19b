"""The check of OpenCL: loader, drivers and devices, and for each device a kernel whose result is compared.

The kernels are compiled into a folder of their own, so that nothing of an earlier run is used. Invariant: it runs in a
process of its own, since a driver may end the process, or not answer.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace

from tfnb.devices.opencl.advice import pocl_command
from tfnb.devices.opencl.platforms import Unit, units
from tfnb.devices.opencl.trial import VERSION, driver_files, driver_folder, loader, try_kernel
from tfnb.doctor.records import Record, unset
from tfnb.errors import DeviceNotFoundError
from tfnb.settings import Settings, load_settings

__all__ = ["check"]

_TOLERANCE = 1e-5  # relative, of a kernel of float32
_FOR_LOADER = ("OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH")
_FOR_DEVICES = ("POCL_DEVICES", "TFNB_DEVICES")


def check(fix: bool) -> Iterator[Record]:
    """Yields records on the loader, the drivers' files, the devices, and a kernel on each of them."""
    yield Record("opencl", "ok", f"pyopencl {VERSION}, loader {loader() or 'found'}")
    yield from _drivers()
    with tempfile.TemporaryDirectory(prefix="tfnb-doctor-", ignore_cleanup_errors=True) as folder:
        settings = replace(load_settings(), cache_dir=folder)
        try:
            found = units(settings)
        except DeviceNotFoundError as error:
            yield Record("opencl", "wrong", str(error).partition("\n")[0], _without_device())
            return
        for unit in found:
            yield from _unit(unit, settings)


def _drivers() -> Iterator[Record]:
    files, folder = list(driver_files()), driver_folder()
    variable = next((name for name in _FOR_LOADER if os.environ.get(name)), "")
    if variable and not os.path.exists(folder):
        yield Record("opencl", "wrong", f"{variable} names {folder}, which is not there", unset(variable))
    for file in files:
        if file.is_broken:
            command = f"sudo rm {file.path}, or install the driver again"
            yield Record("opencl", "warning", f"{file.path} names {file.library}, which is not there", command)
    if not files:
        yield Record(
            "opencl", "wrong", f"no driver is installed: no .icd file in {folder} or with pyopencl", pocl_command()
        )


def _without_device() -> str:
    """The command that most likely brings a device."""
    given = [name for name in (*_FOR_LOADER, *_FOR_DEVICES) if os.environ.get(name) is not None]
    return unset(*given) if given else pocl_command()


def _unit(unit: Unit, settings: Settings) -> Iterator[Record]:
    if unit.is_pocl and unit.inline is None and unit.kind == "cpu":
        what = f"PoCL has the device {unit.device.name.strip()} alone; tfnb uses two, one of them for small steps"
        yield Record(
            "opencl", "warning", what, unset("POCL_DEVICES") if "POCL_DEVICES" in os.environ else pocl_command()
        )
    for inline in (False, True) if unit.inline is not None else (False,):
        device = unit.device_of(inline)
        name = f"{device.name.strip()} ({unit.platform.name.strip()} {unit.platform.version.split(',')[0].strip()})"
        error = try_kernel(unit, settings, inline)
        if error <= _TOLERANCE:
            yield Record("opencl", "ok", f"{name}: a kernel was compiled, and its result is right")
        else:
            text = f"{name}: the result of a kernel is wrong, by a factor of up to {1 + error:g}"
            yield Record("opencl", "wrong", text, "export TFNB_DEVICES=pocl, or a newer driver of this device")
