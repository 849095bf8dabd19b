"""Programs run on real OpenCL devices: values, memory, state, threads, interrupts."""

from __future__ import annotations

import _thread
import gc
import itertools
import mmap
import sys
import threading
import time
from dataclasses import replace

import device_programs as p
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfnb.codegen.program import F32, Copy, Launch, Module, Program, Slot, VariableUse
from tfnb.devices.buffers import Cell
from tfnb.devices.host import HostPool, capacity_of, numpy_block
from tfnb.devices.interface import ProgramTakenError
from tfnb.devices.opencl import build
from tfnb.devices.opencl import program as opencl_program
from tfnb.devices.opencl.program import _spread
from tfnb.errors import ResourceExhaustedError
from tfnb.ir.kernelcall import TensorInfo
from tfnb.runtime.values import to_host
from tfnb.types import bfloat16, bool_, float32, int8, uint8

pytestmark = pytest.mark.opencl


def floats(n, seed=0):
    return np.random.default_rng(seed).standard_normal(n).astype(np.float32)


def value_of(device, cell, n):
    return to_host(device.load(p.read(n)).run([], [cell])[0])


@pytest.mark.parametrize("n", [1, 3, 1000])
def test_values(device, n):
    a, b = floats(n), floats(n, 1)
    (y,) = device.load(p.add_scale(n)).run([a, b], [])
    np.testing.assert_array_equal(y.numpy(), (a + b) * 2)
    assert y.info == p.vector(n)


def test_strided_input(device):
    a = floats(6).reshape(3, 2).T[0]
    (y,) = device.load(p.add_scale(3)).run([a, a], [])
    np.testing.assert_array_equal(y.numpy(), a * 4)


def test_empty_tensors(device):
    empty = Program(
        "empty",
        (p.ADD,),
        (
            Launch(0, "add", (Slot("input"), Slot("input"), Slot("output")), (0, 1, 1)),
            Copy(Slot("input"), Slot("output"), 0),
        ),
        (p.vector(0),),
        (TensorInfo(float32, (3, 0)),),
        (),
        (),
        (),
        0,
    )
    (y,) = device.load(empty).run([np.zeros(0, np.float32)], [])
    assert y.numpy().shape == (3, 0)


def test_a_program_without_steps(device):
    nothing = Program("nothing", (), (), (), (), (), (), (), 0)
    assert device.load(nothing).run([], []) == []
    device.synchronize()


def test_outputs_are_inputs_of_other_devices(make_device):
    one, other, far = make_device(), make_device(), make_device(shared=False)
    a = floats(100)
    (x,) = one.load(p.add_scale(100)).run([a, a], [])
    (y,) = other.load(p.add_scale(100)).run([x, x], [])
    (z,) = far.load(p.add_scale(100)).run([y, x], [])
    (w,) = one.load(p.add_scale(100)).run([z, x], [])
    np.testing.assert_allclose(w.numpy(), ((a * 16 + a * 4) * 2 + a * 4) * 2, rtol=1e-6)


def test_an_output_fed_again_is_not_copied(make_device):
    device = make_device()
    program = device.load(p.add_scale(1000))
    x = program.run([floats(1000), floats(1000)], [])[0].numpy()
    before = device.memory_stats().in_use
    y = program.run([x, x], [])[0]
    assert device.memory_stats().in_use - before == capacity_of(4000)  # the new output only
    np.testing.assert_array_equal(y.numpy(), x * 4)


def test_a_large_input_is_read_where_it_lies(make_device):
    """Unless what follows its end may be no memory, or NumPy forbids to write to it."""
    device = make_device()
    program = device.load(p.add_scale(100_000))
    memory = np.zeros(110_000, np.float32)
    end_of_page = 1024 - (memory.ctypes.data // 4 + 100_000) % 1024
    far, near = memory[end_of_page + 512 :][:100_000], memory[end_of_page:][:100_000]
    locked = floats(100_000)
    locked.flags.writeable = False
    for a, copies in ((far, 0), (near, 1), (locked, 1)):
        if a is not locked:
            a[:] = floats(100_000)
        device.synchronize()
        before = device.memory_stats().in_use
        value = device.memory.admit(a, device.info_of(a), capacity_of(a.nbytes))
        assert device.memory_stats().in_use - before == copies * capacity_of(400_000)
        np.testing.assert_array_equal(program.run([value, a], [])[0].numpy(), a * 4)
        del value


def test_a_value_of_another_device_is_read_where_it_lies(make_device):
    """Wherever it ends in its page: blocks of all devices are padded."""
    device = make_device()
    program = device.load(p.add_scale(100_000))

    def ends_with_its_page(capacity):
        block = numpy_block(capacity + mmap.PAGESIZE)
        block.start = -(block.ctypes.data + 400_000) % mmap.PAGESIZE
        return block

    a, _ = HostPool("another", 0, ends_with_its_page).take(capacity_of(400_000), (100_000,), np.dtype(np.float32))
    a[:] = floats(100_000)
    before = device.memory_stats().in_use
    value = device.memory.admit(a, device.info_of(a), capacity_of(a.nbytes))
    assert device.memory_stats().in_use == before
    np.testing.assert_array_equal(program.run([value, a], [])[0].numpy(), a * 4)


@pytest.mark.parametrize("n", [10, 100_000])
def test_inputs_may_change_after_the_outputs_came(device, n):
    a = floats(n)
    before = a.copy()
    (y,) = device.load(p.add_scale(n)).run([a, a], [])
    result = y.numpy()
    a[:] = 0
    np.testing.assert_array_equal(result, before * 4)


def test_constants_scalars_and_offsets(device):
    c = np.arange(256, dtype=np.float32)
    program = Program(
        "offsets",
        (p.ADD,),
        (
            Launch(0, "scale", (Slot("const", 0, 512, 256), Slot("arena", 0, 512, 256), F32(3.0)), (64, 1, 1)),
            Launch(
                0,
                "add",
                (Slot("arena", 0, 512, 256), Slot("input", 0, 512, 256), Slot("output", 0, 512, 256)),
                (64, 1, 1),
            ),
            Copy(Slot("const", 0), Slot("output", 0), 512),
        ),
        (p.vector(256),),
        (p.vector(256),),
        (),
        (c,),
        (),
        1024,
    )
    x = floats(256)
    (y,) = device.load(program).run([x], [])
    np.testing.assert_array_equal(y.numpy()[:128], c[:128])
    np.testing.assert_array_equal(y.numpy()[128:192], c[128:192] * 3 + x[128:192])


def test_a_program_does_not_keep_the_arena_that_a_larger_one_has_replaced(make_device):
    device = make_device()
    programs = [device.load(p.add_scale(n)) for n in range(10_000, 20_000, 1_000)]
    for n, program in zip(range(10_000, 20_000, 1_000), programs, strict=True):
        (y,) = program.run([floats(n), floats(n)], [])
        np.testing.assert_array_equal(y.numpy(), floats(n) * 4)
    del y
    device.synchronize()
    assert device.memory_stats().in_use < 2 * programs[-1].program.arena_nbytes
    (y,) = programs[0].run([floats(10_000), floats(10_000)], [])
    np.testing.assert_array_equal(y.numpy(), floats(10_000) * 4)


@pytest.mark.parametrize(("shared", "arenas"), [(True, 1), (False, 10)])
def test_scratch_memory_has_room_for_larger_shapes(make_device, shared, arenas):
    device = make_device(shared=shared)
    before = device.arenas
    for n in range(10_000, 20_000, 1_000):
        device.load(p.add_scale(n)).run([floats(n), floats(n)], [])
    assert device.arenas - before == arenas


def test_scratch_memory_takes_no_room_that_others_may_need(make_device):
    device = make_device(limit=30 * 40_000)
    device.load(p.add_scale(10_000)).run([floats(10_000), floats(10_000)], [])
    assert device.arena.info.nbytes == 40_000


def test_programs_share_constants(make_device):
    device = make_device()
    c = np.arange(1000, dtype=np.float32)

    def give(c, n):
        steps = (Copy(Slot("const"), Slot("output"), 4 * n),)
        return device.load(Program("c", (), steps, (), (p.vector(n),), (), (c,), (), 0))

    programs = [give(c, n) for n in (10, 20, 30)]
    assert device.memory_stats().in_use == capacity_of(c.nbytes)
    assert programs[1].run([], [])[0].numpy().tolist() == list(range(20))
    del c, programs
    gc.collect()
    assert device.memory_stats().in_use == 0


@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 1000, 70001, 1 << 20])
def test_copies_of_any_size(device, n):
    info = TensorInfo(uint8, (n,))
    program = Program("copy", (), (Copy(Slot("input"), Slot("output"), n),), (info,), (info,), (), (), (), 0)
    x = np.random.default_rng(n).integers(0, 255, n, np.uint8)
    np.testing.assert_array_equal(device.load(program).run([x], [])[0].numpy(), x)


@pytest.mark.parametrize("dtype", [bool_, int8, bfloat16])
def test_dtypes_pass_unchanged(device, dtype):
    info = TensorInfo(dtype, (5, 3))
    steps = (Copy(Slot("input"), Slot("output"), info.nbytes),)
    x = np.arange(15).reshape(5, 3).astype(dtype.np)
    (y,) = device.load(Program("p", (), steps, (info,), (info,), (), (), (), 0)).run([x], [])
    assert y.numpy().dtype == dtype.np
    np.testing.assert_array_equal(y.numpy(), x)


def test_random_states_by_row(device):
    rows = np.array([[1, 2, 3, 0], [4, 5, 6, 0], [7, 8, 9, 0]], np.uint32)
    steps = tuple(Launch(0, "bits", (Slot("rng", i), Slot("output", i))) for i in (0, 1, 2))
    program = Program("rng", (p.ADD,), steps, (), (p.vector(4),) * 3, (), (), (10, 11, 12), 0)
    outputs = device.load(program).run([], [], rows)
    assert [y.numpy().tolist() for y in outputs] == rows.tolist()


@given(
    st.lists(st.tuples(st.integers(0, 2000), st.integers(1, 600)), max_size=12),
    st.sampled_from([1, 128, 512]),
)
def test_spread_keeps_apart_what_was_apart(blocks, align):
    moved, more = _spread((128 * o for o, _ in blocks), align)
    assert all(m % align == 0 and o <= m <= o + more for o, m in moved.items())
    for (a, n), (b, _) in itertools.product(blocks, blocks):
        if a < b and 128 * a + n <= 128 * b:
            assert moved[128 * a] + n <= moved[128 * b]


def test_scratch_on_devices_that_align_coarsely(make_device, monkeypatch):
    device = make_device(shared=False)
    monkeypatch.setattr(device.memory, "align", 512)
    n = 30
    a, b, out, one, two = (
        p.sized(Slot(*where), n)
        for where in (
            ("input", 0),
            ("input", 1),
            ("output", 0),
            ("arena", 0, 128),
            ("arena", 0, 256),
        )
    )
    steps = (
        Launch(0, "add", (a, b, one), (n, 1, 1)),
        Launch(0, "scale", (one, two, F32(2.0)), (n, 1, 1)),
        Launch(0, "add", (one, two, out), (n, 1, 1)),
    )
    v = p.vector(n)
    x = floats(n)
    (y,) = device.load(Program("p", (p.ADD,), steps, (v, v), (v,), (), (), (), 512)).run([x, x], [])
    np.testing.assert_array_equal(y.numpy(), x * 6)


def test_parts_of_buffers_live_as_long_as_the_kernels_that_have_them_as_arguments(make_device, monkeypatch):
    device = make_device(shared=False)
    parts, part = [], device.memory.part

    def recorded(*arguments):
        parts.append(part(*arguments))
        return parts[-1]

    monkeypatch.setattr(device.memory, "part", recorded)
    n = 30
    a, out = p.sized(Slot("input", 0), n), p.sized(Slot("output", 0), n)
    one, two = (Slot("arena", 0, offset, 4 * n) for offset in (512, 1024))
    steps = (
        Launch(0, "scale", (a, one, F32(2.0)), (n, 1, 1)),
        Launch(0, "scale", (one, two, F32(2.0)), (n, 1, 1)),
        Launch(0, "add", (one, two, out), (n, 1, 1)),
    )
    v = p.vector(n)
    program = device.load(Program("p", (p.ADD,), steps, (v,), (v,), (), (), (), 2048))
    x = floats(n)
    np.testing.assert_array_equal(program.run([x], [])[0].numpy(), x * 6)
    only_here = [object()]
    assert len(parts) == 2
    assert all(sys.getrefcount(parts[k]) > sys.getrefcount(only_here[0]) for k in range(2))


# ---- variables ---------------------------------------------------------------------------------


def test_variables_keep_their_value(device):
    cell = Cell("v")
    x = floats(20)
    device.load(p.assign(20)).run([x], [cell])
    assert cell.tensor.info == p.vector(20)
    for _ in range(3):
        (y,) = device.load(p.train(20)).run([x], [cell])
    np.testing.assert_allclose(y.numpy(), x * 4, rtol=1e-6)
    np.testing.assert_array_equal(value_of(device, cell, 20), y.numpy())


def test_a_fetched_variable_is_a_snapshot(device):
    cell = Cell("v")
    device.load(p.assign(8)).run([np.zeros(8, np.float32)], [cell])
    before = value_of(device, cell, 8)
    device.load(p.train(8)).run([np.ones(8, np.float32)], [cell])
    device.synchronize()
    assert not before.any()


def test_a_variable_takes_another_shape(device):
    cell = Cell("v")
    for n in (4, 9):
        device.load(p.assign(n)).run([np.full(n, n, np.float32)], [cell])
        assert cell.tensor.shape == (n,)
        assert value_of(device, cell, n).tolist() == [n] * n


def test_a_new_shape_in_a_program_that_reads_the_old_value(device):
    cell = Cell("v")
    device.load(p.assign(4)).run([np.arange(4, dtype=np.float32)], [cell])
    program = Program(
        "regrow",
        (p.ADD,),
        (
            Copy(Slot("variable", 0, 0, 16), Slot("output", 0), 16),
            Copy(Slot("input", 0), Slot("variable", 0), 40),
        ),
        (p.vector(10),),
        (p.vector(4),),
        (VariableUse(7, p.vector(10), True, True),),
        (),
        (),
        0,
    )
    (old,) = device.load(program).run([np.ones(10, np.float32)], [cell])
    assert old.numpy().tolist() == [0, 1, 2, 3]
    assert cell.tensor.numpy().tolist() == [1] * 10


def test_programs_of_one_device_share_cells_and_scratch(device):
    cells = [Cell("v"), Cell("w")]
    small, large = device.load(p.train(10)), device.load(p.add_scale(100_000))
    x, big = floats(10), floats(100_000)
    for c in cells:
        device.load(p.assign(10)).run([x], [c])
    for i in range(6):
        (y,) = small.run([x], [cells[i % 2]])
        (z,) = large.run([big, big], [])
    np.testing.assert_allclose(y.numpy(), x * 4, rtol=1e-6)
    np.testing.assert_array_equal(z.numpy(), big * 4)


# ---- memory ------------------------------------------------------------------------------------


@pytest.mark.parametrize("shared", [True, False])
def test_the_limit_is_an_error_and_the_device_works_on(make_device, shared):
    device = make_device(limit=1 << 20, shared=shared)
    with pytest.raises(ResourceExhaustedError, match=r"CPU:0.*float32\[400000\].*limit is 1,048,576"):
        device.load(p.train(400_000)).run([floats(400_000)], [Cell("v")])
    with pytest.raises(ResourceExhaustedError, match="scratch memory of big"):
        device.load(p.add_scale(300_000, name="big")).run([floats(300_000)] * 2, [])
    a = floats(1000)
    for _ in range(100):
        (y,) = device.load(p.add_scale(1000)).run([a, a], [])
        np.testing.assert_array_equal(y.numpy(), a * 4)


def test_a_failed_run_leaves_the_variable(make_device):
    device = make_device(limit=1 << 20)
    cell = Cell("v")
    device.load(p.assign(10)).run([np.ones(10, np.float32)], [cell])
    with pytest.raises(ResourceExhaustedError):
        device.load(p.assign(300_000)).run([floats(300_000)], [cell])
    assert value_of(device, cell, 10).tolist() == [1] * 10


def test_memory_comes_back(make_device):
    device = make_device()
    program = load_built(device, p.add_scale(1000))  # one that stays where it runs first keeps the same memory
    program.run([floats(1000)] * 2, [])[0].numpy()
    gc.collect()
    before = device.memory_stats().in_use
    kept = [program.run([floats(1000)] * 2, [])[0].numpy() for _ in range(10)]
    views = [k[5:] for k in kept]
    values = [k.copy() for k in kept]
    del kept
    assert device.memory_stats().in_use > before
    for v, w in zip(views, values, strict=True):  # still theirs
        np.testing.assert_array_equal(v, w[5:])
    del views, v
    device.synchronize()
    assert device.memory_stats().in_use == before


def test_close_gives_memory_back(make_device):
    device = make_device()
    device.load(p.add_scale(1000)).run([floats(1000)] * 2, [])
    device.close()
    stats = device.memory_stats()
    assert (stats.in_use, stats.cached) == (0, 0)


# ---- threads and interrupts --------------------------------------------------------------------


def test_sixteen_threads(device):
    programs = [device.load(p.add_scale(n, by)) for n, by in ((10, 2.0), (3000, 3.0), (50_000, 4.0))]
    wrong = []

    def work(seed):
        for i in range(12):
            program = programs[(seed + i) % 3]
            a = floats(program.program.inputs[0].size, seed * 100 + i)
            (y,) = program.run([a, a], [])
            by = (2.0, 3.0, 4.0)[(seed + i) % 3]
            if not np.array_equal(y.numpy(), (a + a) * np.float32(by)):
                wrong.append((seed, i))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_updates_from_threads_all_count(device):
    cell, program = Cell("v"), device.load(p.train(100))
    device.load(p.assign(100)).run([np.zeros(100, np.float32)], [cell])
    one = np.ones(100, np.float32)

    def work():
        for _ in range(25):
            program.run([one], [cell])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert value_of(device, cell, 100).tolist() == [200] * 100


def test_many_runs_that_nobody_waits_for(device):
    cell, program = Cell("v"), device.load(p.train(10))
    device.load(p.assign(10)).run([np.zeros(10, np.float32)], [cell])
    for _ in range(500):
        program.run([np.ones(10, np.float32)], [cell])
    device.synchronize()
    assert value_of(device, cell, 10)[0] == 500


def _is_interrupted(run, delay):
    """Calls `run` again and again, and returns whether an interrupt after `delay` seconds ends that."""
    timer = threading.Timer(delay, _thread.interrupt_main)
    try:
        timer.start()
        end = time.monotonic() + 20
        while time.monotonic() < end:
            run()
    except KeyboardInterrupt:
        return True
    finally:
        timer.join()
    return False


@pytest.mark.usefixtures("no_collector")
def test_an_interrupt_never_splits_a_run(device):
    """Two variables are updated by one program; whatever Ctrl-C hits, they stay equal."""
    n = 64
    info = p.vector(n)
    slots = [Slot("variable", i, 0, 4 * n) for i in (0, 1)]
    add = tuple(Launch(0, "update", (slots[i % 2], Slot("input", 0, 0, 4 * n), F32(1.0)), (n, 1, 1)) for i in range(20))
    copies = tuple(Copy(Slot("variable", i, 0, 4 * n), Slot("output", i, 0, 4 * n), 4 * n) for i in (0, 1))
    uses = (VariableUse(7, info, True, True), VariableUse(8, info, True, True))
    program = device.load(Program("both", (p.ADD,), add, (info,), (), uses, (), (), 0))
    reader = device.load(Program("read", (p.ADD,), copies, (), (info, info), uses, (), (), 0))
    cells = [Cell("v"), Cell("w")]
    for c in cells:
        device.load(p.assign(n)).run([np.zeros(n, np.float32)], [c])
    one = np.ones(n, np.float32)
    program.run([one], cells)
    hits = 0
    rng = np.random.default_rng(0)
    for delay in rng.uniform(0, 4e-3, 30):
        hits += _is_interrupted(lambda: program.run([one], cells), delay)
        device.synchronize()
        v, w = (y.numpy() for y in reader.run([], cells))
        assert v.tolist() == w.tolist()
        assert v[0] % 10 == 0
    assert hits == 30


def test_more_kernels_than_pocl_keeps_loaded(make_device, monkeypatch):
    """With PoCL's 128 kernels exceeded, the libraries of all stay mapped, and values are right."""
    from tfnb.devices.opencl import build, pocl

    pins = pocl.Pins()
    monkeypatch.setattr(pocl.Pins, "_MANY", 10)
    monkeypatch.setattr(build, "_pins", pins)
    monkeypatch.setattr("tfnb.devices.opencl.first_run._WATCH", 5)
    text = "__kernel void k{0}(__global const float *a, __global float *b) {{ b[0] = a[0] + {0}; }}"
    module = Module("".join(text.format(i) for i in range(20)))
    at = Slot("input"), Slot("output")
    device = make_device()
    steps = tuple(Launch(0, f"k{i}", at) for i in range(20))
    program = device.load(Program("many", (module,), steps, (p.vector(1),), (p.vector(1),), (), (), (), 0))
    for _ in range(2):
        assert program.run([np.ones(1, np.float32)], [])[0].numpy().tolist() == [20]
    assert len(pins) >= 20 or not device.unit.is_pocl


# ---- times -------------------------------------------------------------------------------------


class Recorder:
    def __init__(self):
        self.begin = time.perf_counter()
        self.seen, self.reports, self.spans = [], [], []

    def now_us(self):
        return (time.perf_counter() - self.begin) * 1e6

    def launch(self, *what):
        self.seen.append(what)

    def later(self, report):
        self.reports.append(report)

    def span(self, kind, label, *what, **more):
        self.spans.append((kind, label))


def test_a_program_takes_the_kernels_of_a_spare_one(device):
    """The same steps with other sizes and scratch memory; copies as well."""

    def both(n, by=0.5):
        program = p.add_scale(n, by)
        copy = Copy(Slot("output", 0, 0, 4 * n), Slot("output", 1, 0, 4 * n), 4 * n)
        return replace(program, steps=(*program.steps, copy), outputs=(p.vector(n),) * 2, arena_nbytes=4 * n)

    spare = device.load(both(5))
    for n, by in ((5, 0.5), (70_001, 0.5), (3, -0.0), (3, 0.0)):
        a, b = floats(n), floats(n, 1)
        spare.run([floats(k := spare.program.inputs[0].shape[0]), floats(k, 1)], [])
        kernels = spare._binding.kernels
        program = device.load(both(n, by), spare)
        takes = spare.inline is program.inline
        assert (program._binding.kernels is kernels) is takes
        for output in program.run([a, b], []):
            y = output.numpy()
            np.testing.assert_array_equal(y, (a + b) * np.float32(by))
            np.testing.assert_array_equal(np.signbit(y), np.signbit((a + b) * np.float32(by)))
        if takes:
            with pytest.raises(ProgramTakenError):
                spare.run([a, a], [])
        spare = program


def test_a_program_of_other_steps_takes_nothing(device):
    spare = device.load(p.add_scale(4))
    launch = spare.program.steps[0]
    swapped = launch._replace(args=(launch.args[1], launch.args[0], launch.args[2]))
    for other in (
        replace(spare.program, steps=spare.program.steps[:1]),
        replace(spare.program, steps=(swapped, spare.program.steps[1])),
        replace(spare.program, modules=(Module(p.ADD.source + "// another text\n"),)),
    ):
        device.load(other, spare)
        a = floats(4)
        np.testing.assert_array_equal(spare.run([a, a], [])[0].numpy(), (a + a) * np.float32(2))


def load_built(device, program):
    """Loads a program after its kernels have been built for the device that it prefers."""
    device.load(program)
    build._background.wait()
    return device.load(program)


def test_products_too_small_for_two_units_run_in_the_callers_thread(make_device, monkeypatch):
    """By the same kernel, so to the same bits."""
    found = []
    for inline in (True, False):
        if not inline:
            monkeypatch.setattr(opencl_program, "INLINE_BYTES", -1)
        for n in (7, 64):
            program = load_built(make_device(shared=True), p.product(n))
            assert program.inline is inline
            (y,) = program.run([floats(n * n), floats(n * n, 1)], [])
            found.append(y.numpy())
    for mine, other in zip(found[:2], found[2:], strict=True):
        np.testing.assert_array_equal(mine, other)
    np.testing.assert_allclose(
        found[1], (floats(4096).reshape(64, 64) @ floats(4096, 1).reshape(64, 64)).reshape(-1), rtol=1e-4, atol=1e-4
    )
    monkeypatch.undo()
    assert not load_built(make_device(shared=True), p.product(512)).inline


def test_a_program_runs_where_its_kernels_are_while_the_better_device_builds_them(make_device, monkeypatch):
    device = make_device()
    if device.inline_queue is None:
        pytest.skip("this driver has one device for each processor")
    small = p.add_scale(4, by=np.float32(0.37))
    kernels = replace(small, modules=(Module(p.ADD.source + "// not built before\n"),))
    a = np.arange(4, dtype=np.float32)
    inline = device.load(kernels)
    expected = inline.run([a, a], [])[0].numpy()
    assert inline.inline
    monkeypatch.setattr(opencl_program, "INLINE_BYTES", 8)
    hold = threading.Event()
    build._background.add(hold.wait)
    moving = device.load(kernels)
    assert moving.inline
    np.testing.assert_array_equal(moving.run([a, a], [])[0].numpy(), expected)
    assert moving.inline
    hold.set()
    build._background.wait()
    for _ in range(2):
        np.testing.assert_array_equal(moving.run([a, a], [])[0].numpy(), expected)
        assert not moving.inline
    assert not device.load(kernels).inline


def test_much_work_waits_for_the_device_with_threads(make_device, monkeypatch):
    device = make_device()
    if device.inline_queue is None:
        pytest.skip("this driver has one device for each processor")
    kernels = replace(p.add_scale(4), modules=(Module(p.ADD.source + "// nor this one\n"),))
    assert device.load(kernels).inline
    monkeypatch.setattr(opencl_program, "INLINE_BYTES", 1)
    assert not device.load(kernels).inline


@pytest.mark.parametrize(("nbytes", "inline"), [(None, False), (1 << 18, True), (1 << 20, False)])
def test_a_library_kernel_of_little_work_runs_in_the_callers_thread(make_device, nbytes, inline):
    """As an update of a few rows of a large table, of which the recipe says how many bytes it accesses."""
    program = p.product(128)
    launches = tuple(launch._replace(nbytes=nbytes) for launch in program.steps)
    assert load_built(make_device(shared=True), replace(program, steps=launches)).inline is inline


@pytest.mark.parametrize("n", [7, 100_003])
def test_subnormal_numbers_are_zero(make_device, n):
    """As in TensorFlow; only for our kernels, not for the caller's own numbers."""
    tiny = np.float32(1e-40)
    a = np.where(np.arange(n) % 2, np.float32(1), tiny)
    for _ in range(2):  # the second device has the program from the cache
        program = make_device().load(p.add_scale(n))
        np.testing.assert_array_equal(program.run([a, a], [])[0].numpy(), np.where(a == 1, 4, 0))
        assert tiny * np.float32(2) > 0


def test_traced_runs(device):
    program = device.load(p.add_scale(5000))
    a = floats(5000)
    program.run([a, a], [])
    recorder = Recorder()
    (y,) = program.run([a, a], [], None, recorder)
    assert recorder.seen == []  # nobody waited yet
    for report in recorder.reports:
        report()
    end = recorder.now_us()
    np.testing.assert_array_equal(y.numpy(), a * 4)
    (name, queue, label, nodes, start, stop, nbytes), second = recorder.seen
    assert (name, label, nodes, nbytes) == (device.name, "add", (1,), 60_000)
    assert queue == second[1] == ("inline" if program.inline else "queue")
    assert second[2:4] == ("scale", (2,))
    assert -100 < start < stop <= second[4] + 1e-3 < second[5] < end + 100
    assert recorder.spans[:1] == [("transfer", "to CPU:0")] or device.unit.kind != "cpu"


def test_traced_and_plain_runs_take_turns(device):
    """A variable that both count: each waits for the other's queue."""
    program = device.load(p.train(70_000))
    one = np.ones(70_000, np.float32)
    cell = Cell("v", device.from_numpy(np.zeros(70_000, np.float32)))
    for k in range(12):
        program.run([one], [cell], None, Recorder() if k % 3 == 0 else None)
    np.testing.assert_array_equal(cell.tensor.numpy(), np.full(70_000, 12, np.float32))
