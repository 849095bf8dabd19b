"""Guards behind tensors: a kernel that writes too far is an error that names its program."""

from __future__ import annotations

import device_programs as p
import numpy as np
import pytest

from tfnb.codegen.program import F32, Launch, Program, Slot, VariableUse
from tfnb.devices.buffers import Cell
from tfnb.devices.opencl.guards import GuardedMemory
from tfnb.errors import InternalError
from tfnb.runtime.values import to_host

pytestmark = pytest.mark.opencl

KINDS = {"output": "float32[10]", "variable": "float32[10]", "arena": "uint8"}


@pytest.fixture(params=[None, False], ids=["shared", "buffers"])
def guarded(settings, unit, request):
    from tfnb.devices.opencl.device import OpenCLDevice, _library

    device = OpenCLDevice("/device:CPU:0", unit, _library(unit, settings), shared=request.param, guard=True)
    yield device
    device.close()


def scale_to(kind: str, n: int) -> Program:
    """Writes 2 * x for n elements into memory of ten, which is no more than there is room for."""
    launch = Launch(0, "scale", (p.sized(Slot("input"), 10), p.sized(Slot(kind), 10), F32(2.0)), (n, 1, 1))
    uses = (VariableUse(7, p.vector(10), reads=False, writes=True),) if kind == "variable" else ()
    outputs = (p.vector(10),) if kind == "output" else ()
    return Program(f"to {kind}", (p.ADD,), (launch,), (p.vector(10),), outputs, uses, (), (), 40)


@pytest.mark.parametrize("kind", KINDS)
def test_a_program_that_writes_too_far_is_named(guarded, kind):
    x = np.ones(10, np.float32)
    cells = [Cell("v")] if kind == "variable" else []
    guarded.load(scale_to(kind, 10)).run([x], cells)
    far = guarded.arena.info.nbytes // 4 + 1 if kind == "arena" else 11
    with pytest.raises(InternalError, match=f"to {kind} wrote past the end of .*{KINDS[kind].replace('[', '.')}"):
        guarded.load(scale_to(kind, far)).run([x], cells)
    guarded.load(scale_to(kind, 10)).run([x], cells)  # the damage is told once


def test_the_memory_is_used_again_and_again(guarded):
    for n in (3, 100, 5000, 100, 3, 70_000):
        a = np.arange(n, dtype=np.float32)
        (y,) = guarded.load(p.add_scale(n)).run([a, a], [])
        np.testing.assert_array_equal(to_host(y), a * 4)


def test_no_guards_without_the_setting(make_device):
    assert make_device().guards is None and not isinstance(make_device().memory, GuardedMemory)
