"""What the second process of `second_compiler.py` runs: it compiles the kernels that are requested on its input.

Each line is a `Request`. A kernel is compiled by a launch, and archived. The process gives way to others, and ends with
its input, or when no request has come for a while.
"""

from __future__ import annotations

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
from tfnb.devices.opencl.interpreted import INTERPRETER, INTERPRETER_KERNEL
from tfnb.devices.opencl.platforms import Unit, units
from tfnb.devices.opencl.second_compiler import Request
from tfnb.settings import load_settings

__all__ = ["compile_interpreter", "compile_kernels", "main"]

_IDLE = 20.0  # seconds without a request after which the process ends
_POLITENESS = 10  # of the process, as of the command `nice`
_ONE_ITEM = (1,)
_MEMORY = 1 << 16  # bytes to which a pointer points


_libraries: dict[str, ProgramLibrary] = {}  # by the fingerprint of their unit


def _unit(fingerprint: str) -> Unit | None:
    return next((u for u in units(load_settings()) if u.fingerprint() == fingerprint), None)


def compile_kernels(request: Request) -> None:
    """Compiles and archives the kernels of a request. Raises errors of OpenCL and of tfnb."""
    unit = _unit(request.unit)
    if unit is None:
        return
    if request.unit not in _libraries:
        _libraries[request.unit] = ProgramLibrary(unit, load_settings())
    library = _libraries[request.unit]
    built = library.get(Module(request.source), request.inline)
    queue = cl.CommandQueue(unit.context, unit.device_of(request.inline))
    for entry, kinds in request.kernels:
        kernel = cl.Kernel(built.program, entry)
        memory = []  # a kernel keeps no reference to its arguments
        for place, kind in enumerate(kinds):
            if kind != "p":
                kernel.set_arg(place, struct.pack(kind, 0 if request.on_nothing else 1))
            elif request.on_nothing:
                kernel.set_arg(place, None)
            else:
                memory.append(_memory(unit))
                kernel.set_arg(place, memory[-1])
        with library.room(), library.first_launch(built, entry, _ONE_ITEM):
            cl.enqueue_nd_range_kernel(queue, kernel, _ONE_ITEM, _ONE_ITEM)
            queue.finish()
    library.launched([(built, entry, _ONE_ITEM, _ONE_ITEM) for entry, _ in request.kernels])


def compile_interpreter() -> None:
    """Compiles and archives the interpreter for each unit on which kernels are interpreted."""
    for unit in units(load_settings()):
        if unit.is_pocl and unit.kind == "cpu":
            for inline in (False, True) if unit.inline is not None else (False,):
                compile_kernels(Request(unit.fingerprint(), inline, INTERPRETER.source, [INTERPRETER_KERNEL], True))


def _memory(unit: Unit) -> cl.Buffer:
    """Returns memory of zeros, of which a kernel reads the beginning when all sizes are 1."""
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    return cl.Buffer(unit.context, flags, hostbuf=bytes(_MEMORY))


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
            compile_kernels(Request.decoded(line))


if __name__ == "__main__":
    main()
