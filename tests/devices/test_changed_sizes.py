"""Programs that take the kernels of another one with other sizes: what the kernels are bound to must be looked at again."""

from __future__ import annotations

import device_programs as p
import numpy as np
import pytest

from tfnb.codegen.program import F32, Copy, Launch, Program, Slot, VariableUse
from tfnb.devices.buffers import Cell
from tfnb.runtime.values import to_host

pytestmark = pytest.mark.opencl

SIZES = (100, 70, 500, 30, 2000, 8, 100_000, 31)


def chained(device, programs):
    """Loads each program with the kernels of the one before."""
    loaded = None
    for program in programs:
        loaded = device.load(program, loaded)
        yield loaded


def scaled_into(n: int) -> Program:
    """v = 3 * input, by a kernel, as a cluster assigns what it computes."""
    launch = Launch(0, "scale", (p.sized(Slot("input"), n), p.sized(Slot("variable"), n), F32(3.0)), (n, 1, 1))
    use = VariableUse(7, p.vector(n), reads=False, writes=True)
    return Program("scaled_into", (p.ADD,), (launch,), (p.vector(n),), (), (use,), (), (), 0)


def tail(n: int, start: int = 1024) -> Program:
    """2 * v[start : start + n] of a variable with 4,000 elements."""
    part = Slot("variable", 0, 4 * start, 4 * n)
    launch = Launch(0, "scale", (part, p.sized(Slot("output"), n), F32(2.0)), (n, 1, 1))
    use = VariableUse(7, p.vector(4000), reads=True, writes=False)
    return Program("tail", (p.ADD,), (launch,), (), (p.vector(n),), (use,), (), (), 0)


@pytest.mark.parametrize("make", [p.assign, scaled_into])
def test_a_variable_has_the_shape_that_was_written_last(device, make):
    cell = Cell("v")
    factor = 3 if make is scaled_into else 1
    for n, loaded in zip(SIZES, chained(device, map(make, SIZES)), strict=True):
        x = np.full(n, n, np.float32)
        for _ in range(2):  # the second run finds the variable bound
            loaded.run([x], [cell])
            assert cell.tensor.info == p.vector(n)
            np.testing.assert_array_equal(to_host(cell.tensor), x * factor)


def test_a_variable_that_another_program_gave_another_shape(device):
    cell = Cell("v")
    loads = chained(device, map(scaled_into, SIZES))
    for n, loaded in zip(SIZES, loads, strict=True):
        device.load(p.assign(n // 2)).run([np.zeros(n // 2, np.float32)], [cell])
        loaded.run([np.full(n, n, np.float32)], [cell])
        assert to_host(cell.tensor).tolist() == [3 * n] * n


def test_a_read_has_the_shape_of_the_variable(device):
    cell = Cell("v")
    for n, loaded in zip(SIZES, chained(device, map(p.read, SIZES)), strict=True):
        device.load(p.assign(n)).run([np.full(n, n, np.float32)], [cell])
        assert to_host(loaded.run([], [cell])[0]).tolist() == [n] * n


def test_a_part_of_a_variable_is_as_long_as_the_program_says(device):
    """Drivers may limit a kernel to the part of a buffer that was its argument."""
    cell = Cell("v")
    x = np.arange(4000, dtype=np.float32)
    device.load(p.assign(4000)).run([x], [cell])
    sizes = (10, 900, 3, 2000)
    for n, loaded in zip(sizes, chained(device, map(tail, sizes)), strict=True):
        (y,) = loaded.run([], [cell])
        np.testing.assert_array_equal(to_host(y), 2 * x[1024 : 1024 + n])
        if device.memory.has_sized_parts:
            (part,) = loaded._binding._parts.values()
            assert part.size >= 4 * n


@pytest.mark.parametrize("n", [3, 400])
def test_a_program_that_reads_the_old_value_and_writes_another_shape(device, n):
    """v = 3 * input, and the output is the old v of 100 elements, to its last one."""
    cell = Cell("v")
    x = np.arange(100, dtype=np.float32)
    device.load(p.assign(100)).run([x], [cell])
    steps = (
        Copy(p.sized(Slot("variable"), 100), p.sized(Slot("output"), 100), 400),
        *scaled_into(n).steps,
    )
    use = VariableUse(7, p.vector(n), reads=True, writes=True)
    program = Program("turn", (p.ADD,), steps, (p.vector(n),), (p.vector(100),), (use,), (), (), 0)
    (old,) = device.load(program).run([np.ones(n, np.float32)], [cell])
    np.testing.assert_array_equal(to_host(old), x)
    assert to_host(cell.tensor).tolist() == [3] * n
