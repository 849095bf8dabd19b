"""A trial of the OpenCL installation: which loader and drivers there are, and whether a kernel's result is right.

It uses what a session uses: the devices of `platforms.py`, and their programs as `build.py` builds them. Invariant: the
environment variables and files of others are only read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyopencl as cl

from tfnb.codegen.program import Module
from tfnb.devices.opencl.build import ProgramLibrary
from tfnb.devices.opencl.platforms import Unit
from tfnb.settings import Settings

__all__ = ["VERSION", "DriverFile", "driver_files", "driver_folder", "loader", "try_kernel"]

VERSION: str = cl.VERSION_TEXT
_ICDS = "/etc/OpenCL/vendors"  # where the loader looks unless OCL_ICD_VENDORS says otherwise
_SIZE, _GROUP = 4096, 64
_KERNEL = """__kernel void trial(__global const float *x, __global float *y)
{
  const size_t i = get_global_id(0);
  y[i] = exp(sin(x[i])) + 3.0f * sqrt(x[i]);
}"""


class DriverFile(NamedTuple):
    """A file that tells the loader of a driver, and the library that it names."""

    path: Path
    library: str

    @property
    def is_broken(self) -> bool:
        """Whether the library is named by a path where nothing is; one without a path is looked for by the system."""
        return self.library.startswith("/") and not os.path.exists(self.library)


def loader() -> str:
    """Returns the path of the OpenCL loader that this process has loaded, or "" if the system does not tell it."""
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return ""
    return next((line.split(maxsplit=5)[5] for line in lines if "libOpenCL" in line), "")


def driver_folder() -> Path:
    """Returns the folder, or the file, in which the loader looks for drivers."""
    return Path(os.environ.get("OCL_ICD_VENDORS") or os.environ.get("OPENCL_VENDOR_PATH") or _ICDS)


def driver_files() -> Iterator[DriverFile]:
    """Yields the files of the system's drivers, and of those that were installed with pyopencl."""
    told = driver_folder()
    own = Path(cl.__file__).parent / ".libs"
    paths = [told] if told.is_file() else sorted(told.glob("*.icd")) if told.is_dir() else []
    for path in (*paths, *sorted(own.glob("*.icd"))):
        yield DriverFile(path, path.read_text(errors="replace").strip())


def try_kernel(unit: Unit, settings: Settings, inline: bool) -> float:
    """Compiles a kernel and runs it; returns the largest relative error of its results, which should be below 1e-5.

    inline: on the device that runs kernels in the caller's thread. Raises `KernelBuildError`, `ResourceExhaustedError`,
    and errors of pyopencl.
    """
    x = np.linspace(0.0, 9.0, _SIZE, dtype=np.float32)
    expected = np.exp(np.sin(x, dtype=np.float64)) + 3.0 * np.sqrt(x, dtype=np.float64)
    library = ProgramLibrary(unit, settings)
    queue = cl.CommandQueue(unit.context, unit.device_of(inline))
    flags = cl.mem_flags
    source = cl.Buffer(unit.context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=x)
    target = cl.Buffer(unit.context, flags.WRITE_ONLY, x.nbytes)
    built = library.get(Module(_KERNEL), inline)
    kernel = cl.Kernel(built.program, "trial")
    for i, buffer in enumerate((source, target)):
        kernel.set_arg(i, buffer)
    with library.room(), library.first_launch(built, "trial", (_GROUP,)):
        cl.enqueue_nd_range_kernel(queue, kernel, (_SIZE,), (_GROUP,))
        queue.finish()
    found = np.full_like(x, np.nan)
    cl.enqueue_copy(queue, found, target)
    return float(np.max(np.nan_to_num(np.abs(found - expected) / expected, nan=np.inf)))
