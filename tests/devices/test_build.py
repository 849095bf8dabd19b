"""Building: errors that show their place, and what is kept on disk."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import device_programs as p
import numpy as np
import pytest

from tfnb.codegen.program import Launch, Module, Program, Slot
from tfnb.devices.opencl.build import ProgramLibrary, kernels_root
from tfnb.devices.opencl.device import OpenCLDevice
from tfnb.disk_cache import DiskCache, write_atomically
from tfnb.errors import KernelBuildError

pytestmark = pytest.mark.opencl
ROOT = Path(__file__).resolve().parents[2]
BROKEN = "__kernel void f(__global float *a)\n{\n    a[0] = undeclared + 1;\n}\n"


def program_of(module, entry="f"):
    return Program("p", (module,), (Launch(0, entry, (Slot("output"),)),), (), (p.vector(1),), (), (), (), 0)


def test_a_build_error_shows_the_line(make_device):
    device = make_device()
    with pytest.raises(KernelBuildError) as caught:
        device.load(program_of(Module(BROKEN)))
    error = caught.value
    assert Path(error.source_path).read_text() == BROKEN
    assert f"{error.source_path}:3: " in error.message
    assert "undeclared" in error.message
    assert "    a[0] = undeclared + 1;" in error.message
    assert "undeclared" in error.log
    a = np.ones(4, np.float32)  # the device works on
    assert device.load(p.add_scale(4)).run([a, a], [])[0].numpy().tolist() == [4] * 4


def test_an_error_in_a_macro_shows_the_line(make_device):
    source = "#define CAT(a, b) a##b\n__kernel void f(__global float *a)\n{\n    a[0] = CAT(nothing, 7);\n}\n"
    with pytest.raises(KernelBuildError, match=r"(?m)\.cl:4: .*\n    a\[0\] = CAT\(nothing, 7\);$"):
        make_device().load(program_of(Module(source)))


def test_an_error_in_an_included_file_shows_that_file(make_device, monkeypatch, tmp_path):
    from tfnb.devices.opencl import build

    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "bad.clh").write_text("// one\nfloat g(void) { return missing; }\n")
    monkeypatch.setattr(build, "kernels_root", lambda: tmp_path)
    source = '#include "lib/bad.clh"\n__kernel void f(__global float *a) { a[0] = g(); }\n'
    with pytest.raises(KernelBuildError, match=r"lib/bad.clh:2: .*missing") as caught:
        make_device().load(program_of(Module(source)))
    assert "float g(void) { return missing; }" in caught.value.message


def test_a_missing_library_file(make_device):
    with pytest.raises(KernelBuildError, match=r"math/nothing\.cl"):
        make_device().load(program_of(Module(file="math/nothing.cl")))


def test_an_entry_that_is_not_there(make_device):
    from tfnb.errors import InternalError

    with pytest.raises(InternalError, match="KERNEL_NAME"):
        make_device().load(program_of(Module("__kernel void f(__global float *a) { a[0] = 1; }"), "g"))


def test_folders_with_spaces(unit, settings, monkeypatch, tmp_path):
    from tfnb.devices.opencl import build

    folder = tmp_path / "a folder" / "lib"
    folder.mkdir(parents=True)
    (folder / "seven.clh").write_text("#define SEVEN 7\n")
    monkeypatch.setattr(build, "kernels_root", lambda: tmp_path / "a folder")
    source = '#include "lib/seven.clh"\n__kernel void f(__global float *a) { a[0] = SEVEN; }\n'
    device = OpenCLDevice("/device:CPU:0", unit, ProgramLibrary(unit, settings))
    assert device.load(program_of(Module(source))).run([], [])[0].numpy().tolist() == [7]


def test_one_text_is_built_once(make_device):
    one, other = make_device(), make_device()
    module = Module("__kernel void f(__global float *a) { a[0] = 3; }")
    assert one.library.get(module) is other.library.get(module)


def test_the_mathematical_functions_compile_without_a_warning(make_device, capfd, monkeypatch):
    monkeypatch.setenv("TFNB_QUIET", "1")
    call = "__kernel void f(__global float8 *a) { a[0] = t_digamma(a[0]); }\n"
    source = f'// {os.getpid()}: not from the driver\'s cache\n#define W 8\n#include "lib/math.clh"\n{call}'
    make_device().library.get(Module(source))
    assert capfd.readouterr().err == ""


def test_old_generated_programs_go(unit, settings, monkeypatch):
    from tfnb.devices.opencl import build

    monkeypatch.setattr(build, "_MAX_GENERATED", 3)
    library = ProgramLibrary(unit, settings)
    text = "__kernel void f(__global float *a) {{ a[0] = {}; }}"
    modules = [Module(text.format(i)) for i in range(5)]
    built = [library.get(m) for m in modules]
    assert [library.get(m) is b for m, b in zip(modules[2:], built[2:], strict=True)] == [True] * 3
    assert library.get(modules[0]) is not built[0]


def test_generated_sources_are_kept_on_request(unit, settings, tmp_path):
    library = ProgramLibrary(unit, dataclasses.replace(settings, keep_source=str(tmp_path)))
    library.get(p.ADD)
    (kept,) = tmp_path.iterdir()
    assert kept.read_text() == p.ADD.source


# ---- the cache of binaries, for drivers that have none -----------------------------------------


@pytest.fixture
def cached(unit, settings, tmp_path):
    """Makes a device as another process would, with the binary cache that PoCL does not need."""
    wanted = dataclasses.replace(settings, cache_dir=str(tmp_path))
    return lambda: OpenCLDevice("/device:CPU:0", unit, ProgramLibrary(unit, wanted, own_cache=True))


def run_once(device):
    a = np.arange(8, dtype=np.float32)
    (y,) = device.load(p.add_scale(8)).run([a, a], [])
    assert y.numpy().tolist() == (a * 4).tolist()


def test_binaries_are_kept_and_used(cached, tmp_path, monkeypatch):
    run_once(cached())
    assert list((tmp_path / "programs").glob("*.bin"))

    def never(*_):
        raise AssertionError("built from source")

    monkeypatch.setattr(ProgramLibrary, "_from_source", never)
    run_once(cached())


@pytest.mark.parametrize("damage", ["truncated", "garbage", "foreign", "empty", "no binary"])
def test_a_damaged_entry_is_rebuilt(cached, tmp_path, damage):
    run_once(cached())
    (entry,) = (tmp_path / "programs").glob("*.bin")
    data = entry.read_bytes()
    good = DiskCache(tmp_path / "programs")
    if damage == "truncated":
        entry.write_bytes(data[: len(data) // 2])
    elif damage == "garbage":
        entry.write_bytes(bytes(len(data)))
    elif damage == "empty":
        entry.write_bytes(b"")
    elif damage == "foreign":
        entry.write_bytes(b"another program's file\n" + data)
    else:
        good.put(entry.stem, b"this is no program of any driver" * 10)
    run_once(cached())
    assert len(good.get(entry.stem) or b"") > 1000


def test_a_cache_that_cannot_be_written_is_no_error(unit, settings, tmp_path):
    (tmp_path / "programs").write_text("a file where a folder should be")
    wanted = dataclasses.replace(settings, cache_dir=str(tmp_path))
    run_once(OpenCLDevice("/device:CPU:0", unit, ProgramLibrary(unit, wanted, own_cache=True)))


def test_another_include_is_another_key(unit, settings, monkeypatch, tmp_path):
    from tfnb.devices.opencl import build

    (tmp_path / "lib").mkdir()
    monkeypatch.setattr(build, "kernels_root", lambda: tmp_path)
    source = '#include "lib/n.clh"\n__kernel void f(__global float *a) { a[0] = N; }\n'
    wanted = dataclasses.replace(settings, cache_dir=str(tmp_path))
    for n in (1, 2):
        (tmp_path / "lib" / "n.clh").write_text(f"#define N {n}\n")
        device = OpenCLDevice("/device:CPU:0", unit, ProgramLibrary(unit, wanted, own_cache=True))
        assert device.load(program_of(Module(source))).run([], [])[0].numpy().tolist() == [n]


def test_atomic_writes_leave_nothing_behind(tmp_path):
    target = tmp_path / "x" / "file"
    write_atomically(target, b"one")
    write_atomically(target, b"two")
    assert target.read_bytes() == b"two"
    with pytest.raises(TypeError):
        write_atomically(target, "no bytes")  # type: ignore[arg-type]
    assert os.listdir(target.parent) == ["file"]


# ---- a process of its own ----------------------------------------------------------------------

FIRST_STEP = """
    import sys, time
    from tfnb.system import progress
    progress.SECONDS_BEFORE = progress.SECONDS_PER_DRAWING = 0.001  # the first drawing is not later than the compiler

    class Lines:  # standard error is a pipe, into which nothing is written otherwise
        def show(self, wait):
            sys.stderr.write(wait.text() + "\\n")

    progress.set_view(Lines)
    begin = time.perf_counter()
    import numpy as np
    from tfnb.codegen.program import I32, Launch, Module, Program, Slot
    from tfnb.devices.opencl import make_devices
    from tfnb.ir.kernelcall import TensorInfo
    from tfnb.settings import load_settings
    from tfnb.types import float32

    def matrix(m, n):
        return TensorInfo(float32, (m, n))

    module = Module(file="linalg/matmul.cl", defines=(("T", "float"),))
    slots = Slot("input", 0), Slot("input", 1), Slot("input", 0), Slot("output", 0)
    sizes = tuple(map(I32, (30, 20, 40, 0, 0)))
    program = Program("p", (module,), (Launch(0, "matmul_naive", slots + sizes, (20, 30, 1), (1, 1, 1)),),
                      (matrix(30, 40), matrix(40, 20)), (matrix(30, 20),), (), (), (), 0)
    device = make_devices(load_settings())[0]
    a, b = np.random.rand(30, 40).astype(np.float32), np.random.rand(40, 20).astype(np.float32)
    (y,) = device.load(program).run([a, b], [])
    np.testing.assert_allclose(y.numpy(), a @ b, rtol=1e-4)
    print(time.perf_counter() - begin)
"""


def run_process(code, **env):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("POCL_", "TFNB_"))} | env
    command = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)


def test_library_kernels_compile_once_per_machine(tmp_path):
    first = run_process(FIRST_STEP, TFNB_CACHE_DIR=str(tmp_path))
    assert first.returncode == 0, first.stderr
    assert "compiling linalg/matmul.cl · 0 of 1 kernel · " in first.stderr
    assert re.search(r"^tfnb: compiled · 1 kernel · [\d.]+ s$", first.stderr, re.MULTILINE)
    stored = len(list((tmp_path / "programs").iterdir()))
    second = run_process(FIRST_STEP, TFNB_CACHE_DIR=str(tmp_path))
    assert second.returncode == 0, second.stderr
    assert len(list((tmp_path / "programs").iterdir())) == stored > 0


@pytest.mark.parametrize("drivers", ["pthread", "basic"])
def test_with_one_of_pocls_drivers(tmp_path, drivers):
    done = run_process(FIRST_STEP, TFNB_CACHE_DIR=str(tmp_path), TFNB_QUIET="1", POCL_DEVICES=drivers)
    assert (done.returncode, done.stderr) == (0, "")


def test_quiet(tmp_path):
    done = run_process(FIRST_STEP, TFNB_CACHE_DIR=str(tmp_path), TFNB_QUIET="1")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_sources_are_found():
    assert (kernels_root() / "linalg" / "matmul.cl").is_file()


def test_what_one_device_of_a_processor_has_compiled_the_other_does_not_compile_again(make_device, unit, monkeypatch):
    """A program of few elements runs in the caller's thread, and the same program of many elements does not."""
    from tfnb.devices.opencl import program as opencl_program

    if not unit.is_pocl or unit.inline is None:
        pytest.skip("only PoCL has two devices for one processor")
    device = make_device(shared=True)
    factor = 1.0 + os.getpid() / 2**22  # a kernel that no process has compiled
    source = "__kernel void f(__global float *a) {{ for (int i = 0; i < 5; ++i) a[i] = exp(i * {:.8f}f); }}"
    module = Module(source.format(factor))
    program = Program("p", (module,), (Launch(0, "f", (Slot("output"),)),), (), (p.vector(5),), (), (), (), 0)
    inline = device.load(program)
    (first,) = inline.run([], [])
    monkeypatch.setattr(opencl_program, "INLINE_BYTES", -1)
    threaded = device.load(program)
    assert inline.inline and not threaded.inline
    folder, library = device.library._folder, device.library
    one, other = (folder.libraries(library.get(module, k).key) for k in (True, False))
    assert len(one) == len(other) == 1 and one != other  # before the first launch on the other device
    assert Path(one[0]).read_bytes() == Path(other[0]).read_bytes()
    (second,) = threaded.run([], [])
    np.testing.assert_array_equal(first.numpy(), second.numpy())
    np.testing.assert_allclose(first.numpy(), np.exp(factor * np.arange(5)), rtol=1e-6)


def test_a_build_that_fails_in_the_background_leaves_the_next_one_alone(unit, settings, monkeypatch):
    from tfnb.devices.opencl.build import _background

    made, build = ProgramLibrary(unit, settings), ProgramLibrary._build
    bad, good = Module(p.ADD.source + "// fails\n"), Module(p.ADD.source + "// does not fail\n")

    def fails_once(self, module, inline):
        if module is bad:
            raise OSError("the disk is gone")
        return build(self, module, inline)

    monkeypatch.setattr(ProgramLibrary, "_build", fails_once)
    made.build_soon([bad, good], False)
    _background.wait()
    assert made.has([good], False) and not made.has([bad], False)
    with pytest.raises(OSError, match="the disk is gone"):
        made.get(bad)
