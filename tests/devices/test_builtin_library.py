"""The small library of built-in functions: made once per machine, the same code with it, and all functions are found.

PoCL reads a library once in a process, so each case is a process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tfnb.devices.opencl import pocl
from tfnb.devices.opencl.platforms import Unit

pytestmark = pytest.mark.opencl

ROOT = Path(__file__).resolve().parents[2]
BEGIN = """
import hashlib, os
import numpy as np, pyopencl as cl
from tfnb.codegen.program import Module
from tfnb.devices.opencl import builtin_library, pocl
from tfnb.devices.opencl.build import ProgramLibrary
from tfnb.devices.opencl.platforms import units
from tfnb.settings import load_settings

settings = load_settings()
unit = units(settings)[0]
library = ProgramLibrary(unit, settings)
queue = cl.CommandQueue(unit.context, unit.device)


def result_of(program, name="k", context=unit.context, queue=queue):
    x = np.arange(16, dtype=np.float32) / 8
    buffer = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=x)
    kernel = cl.Kernel(program, name)
    kernel.set_arg(0, buffer)
    cl.enqueue_nd_range_kernel(queue, kernel, (1,), (1,))
    cl.enqueue_copy(queue, x, buffer)
    return x


def is_small():
    return library._builtins._file_name is not None and unit.device.int_ptr in builtin_library._have_read
"""
MATHS = """
source = "__kernel void k(__global float *x) { x[0] = exp(x[1]) + pow(x[2], x[3]) + erf(x[4]) + tanh(x[5]); }"
built = library.get(Module(source))
print("values", result_of(built.program)[0].tobytes().hex())
files = sorted((pocl.used_folder()._folder / pocl.used_folder()._programs[built.key]).rglob("*.so"))
print("code", [hashlib.sha256(f.read_bytes()).hexdigest() for f in files])
print("small", is_small())
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def run(cache: Path, program: str, **env: str) -> list[str]:
    """The lines that a new process prints."""
    there = {**os.environ, "TFNB_CACHE_DIR": str(cache), "TFNB_QUIET": "1", "PYTHONPATH": str(ROOT), **env}
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + program], env=there, text=True, capture_output=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def whole(cache: Path, unit: Unit) -> list[str]:
    """What the process prints that makes the library, and reads PoCL's own."""
    if not unit.twins or not pocl.has_known_header(unit.device):
        pytest.skip("another PoCL, or its devices are chosen by the user")
    return run(cache, MATHS)


def test_a_later_process_reads_the_small_library_and_compiles_to_the_same_code(whole: list[str], cache: Path) -> None:
    assert whole[-1] == "small False"
    for path in (cache / "kernels").iterdir():
        if path.stat().st_size < 1 << 20:
            path.unlink()  # the kernel's code, so that it is compiled again, and not the library
    small = run(cache, MATHS)
    assert small[-1] == "small True"
    assert small[:-1] == whole[:-1]


@pytest.mark.usefixtures("whole")
def test_functions_that_it_lacks_are_found_in_the_whole_library(cache: Path) -> None:
    program = """
source = "__kernel void k(__global float4 *x) { x[0].x = dot(x[1], x[2]) + atomic_inc((volatile __global int *)(x + 3)); }"
small = library.get(Module("__kernel void k(__global float *x) { x[0] = exp(x[0]); }"))
print(result_of(small.program)[0], is_small())
for inline in (False, True):
    found = library.get(Module(source), inline)
    print(result_of(found.program, queue=cl.CommandQueue(unit.context, unit.device_of(inline)))[0])
says = "__kernel void k(__global float *x) { printf(\\"in a kernel\\\\n\\"); x[0] = 7.0f; }"
print(result_of(library.get(Module(says)).program)[0])
"""
    lines = run(cache, program)
    dot = sum(a / 8 * b / 8 for a, b in zip(range(4, 8), range(8, 12), strict=True))
    bits = int.from_bytes(memoryview(bytearray(b"\x00\x00\xc0\x3f")), "little")  # of 1.5, the element 12
    expected = dot + bits
    assert lines[0] == "1.0 True"
    assert [float(x) for x in lines[1:3]] == pytest.approx([expected] * 2)
    assert "in a kernel" in lines and lines[-1] == "7.0"


@pytest.mark.usefixtures("whole")
def test_other_code_of_the_process_has_the_whole_library(cache: Path) -> None:
    """The devices that it finds first are the twins of ours."""
    program = """
print(result_of(library.get(Module("__kernel void k(__global float *x) { x[0] = exp(x[0]); }")).program)[0], is_small())
device = next(d for d in unit.platform.get_devices() if d.name == unit.device.name)
context = cl.Context([device])
source = "__kernel void k(__global float4 *x) { x[0] = normalize(x[1]); }"
theirs = cl.Program(context, source).build(cache_dir=False)
print(result_of(theirs, context=context, queue=cl.CommandQueue(context, device))[3], device == unit.device)
"""
    assert run(cache, program) == ["1.0 True", f"{7 / (4**2 + 5**2 + 6**2 + 7**2) ** 0.5:.7f} False"]


@pytest.mark.usefixtures("whole")
def test_without_twins_or_room_pocl_reads_its_own(cache: Path, whole: list[str]) -> None:
    chosen = run(cache, MATHS + "print(len(unit.twins))", POCL_DEVICES="pthread basic")
    assert chosen[0] == whole[0] and chosen[-2:] == ["small False", "0"]
    full = run(
        cache,
        """
from pathlib import Path
def symlink_to(self, target):
    raise OSError(28, "no space left on device")
Path.symlink_to = symlink_to
source = "__kernel void k(__global float *x) { x[0] = exp(x[1] + 1.0f); }"
print(result_of(library.get(Module(source)).program)[0], is_small())
""",
    )
    assert full == [f"{2.718281828**1.125:.6f} False"]


@pytest.mark.usefixtures("whole")
def test_an_error_in_a_source_is_that_of_the_source(cache: Path) -> None:
    program = """
from tfnb.errors import KernelBuildError
for source in ("__kernel void k(__global float *x) { x[0] = no_such(x[1]); }", "__kernel void k() { int x = ; }"):
    try:
        library.get(Module(source))
    except KernelBuildError as e:
        print("error", str(e).splitlines()[1].split(": ", 1)[1])
"""
    lines = run(cache, program)
    assert "no_such" in lines[0] and "expected expression" in lines[1]


def test_without_a_library_that_can_be_made_all_works(unit: Unit, tmp_path: Path) -> None:
    if not unit.twins:
        pytest.skip("this driver has no library to read first")
    lines = run(tmp_path, "builtin_library.builtins.calls = lambda: 'this is no C'\n" + MATHS)
    assert lines[0].startswith("values ") and lines[-1] == "small False"
