"""What the second process of `second_compiler.py` runs: it compiles the kernels that are requested on its input.

Each line is a `Request` as JSON. A kernel is compiled by a launch that does nothing, and archived. The process gives
way to others, and ends with its input, or when no request has come for a while.
"""

from __future__ import annotations

import json
import os
import select
import signal
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress

import pyopencl as cl

from tfnb.codegen.program import Module
from tfnb.devices.opencl.build import ProgramLibrary
from tfnb.devices.opencl.platforms import Unit, units
from tfnb.devices.opencl.second_compiler import Request
from tfnb.settings import load_settings

__all__ = ["compile_kernel", "main"]

_IDLE = 20.0  # seconds without a request after which the process ends
_POLITENESS = 10  # of the process, as of the command `nice`
_ONE_ITEM = (1,)


_libraries: dict[str, ProgramLibrary] = {}  # by the fingerprint of their unit


def _unit(fingerprint: str) -> Unit | None:
    return next((u for u in units(load_settings()) if u.fingerprint() == fingerprint), None)


def compile_kernel(request: Request) -> None:
    """Compiles and archives a kernel. Raises errors of OpenCL and of tfnb."""
    unit = _unit(request.unit)
    if unit is None:
        return
    if request.unit not in _libraries:
        _libraries[request.unit] = ProgramLibrary(unit, load_settings())
    library = _libraries[request.unit]
    built = library.get(Module(request.source), request.inline)
    kernel = cl.Kernel(built.program, request.entry)
    for place, kind in enumerate(request.kinds):
        kernel.set_arg(place, None if kind == "p" else struct.pack(kind, 0))
    queue = cl.CommandQueue(unit.context, unit.device_of(request.inline))
    with library.room(), library.first_launch(built, request.entry, _ONE_ITEM):
        cl.enqueue_nd_range_kernel(queue, kernel, _ONE_ITEM, _ONE_ITEM)
        queue.finish()
    library.launched([(built, request.entry, _ONE_ITEM, _ONE_ITEM)])


def _lines() -> Iterator[bytes]:
    with open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as lines:
        while select.select([lines], [], [], _IDLE)[0]:
            line = lines.readline()
            if not line:
                return
            yield line


def main() -> None:
    """Compiles all kernels that are requested. What cannot be read or compiled is left out."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(_POLITENESS)
    for line in _lines():
        with suppress(Exception):
            compile_kernel(Request(**json.loads(line)))


if __name__ == "__main__":
    main()
