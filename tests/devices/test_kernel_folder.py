"""The cache of compiled kernels: damaged, full, forbidden, shared and left behind, each in processes of their own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.opencl

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import sys, tfnb as tf
from tfnb.devices.opencl import pocl
x = tf.placeholder(tf.float32, [None])
y = x * 3.0 + 1.0
with tf.Session() as s:
    print("got", s.run(y, {x: [1.0, 2.0]}), len(pocl.used_folder()._sealed), flush=True)
"""


def start(cache: Path, program: str = PROGRAM, **env: str) -> subprocess.Popen[str]:
    there = {**os.environ, "TFNB_CACHE_DIR": str(cache), "TFNB_QUIET": "1", "PYTHONPATH": str(ROOT), **env}
    return subprocess.Popen(
        [sys.executable, "-c", program], env=there, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def run(cache: Path, program: str = PROGRAM, **env: str) -> tuple[str, str]:
    process = start(cache, program, **env)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out, err


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cache = tmp_path_factory.mktemp("warm")
    out, err = run(cache)
    assert "got [4. 7.]" in out and not err
    assert list((cache / "kernels").iterdir())
    return cache


def test_the_folder_of_a_process_goes_with_it(warm: Path) -> None:
    assert not list((warm / "processes").iterdir())


def test_it_goes_without_any_module_of_python(warm: Path) -> None:
    """When it is removed, modules are empty; of which modules the classes' methods need something differs by version."""
    emptied = """
import os, pathlib, shutil, sys
class Last:
    def __del__(self, path=pathlib.PurePath, modules=(os, pathlib, shutil)):
        for name in [n for n, f in vars(path).items() if callable(f) and n != "__new__"]:
            setattr(path, name, None)
        for module in modules:
            vars(module).clear()
sys._last = Last()  # it goes after all modules, and before what tfnb leaves in sys
"""
    out, err = run(warm, emptied + PROGRAM)
    assert "got" in out and not err
    assert not list((warm / "processes").iterdir())


@pytest.mark.parametrize("home", ["/dev/null/nobody", "/proc/self/nobody"])
def test_a_home_that_cannot_be_written(home: str, tmp_path: Path) -> None:
    """Libraries below keep files there, too."""
    out, err = run(tmp_path / "cache", HOME=home, XDG_CACHE_HOME="", XDG_CONFIG_HOME="")
    assert "got [4. 7.]" in out and not err


def test_compiled_kernels_are_used_again(warm: Path) -> None:
    before = {p: p.stat().st_mtime_ns for p in (warm / "kernels").iterdir()}
    watched = """
from tfnb.devices.opencl.kernel_folder import KernelFolder
restore = KernelFolder._restore
KernelFolder._restore = lambda self, key: print("restored", restore(self, key)) or self.was_restored(key)
"""
    out, _ = run(warm, watched + PROGRAM)
    assert "restored True" in out and "restored False" not in out
    assert before == {p: p.stat().st_mtime_ns for p in (warm / "kernels").iterdir()}


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "no archive"])
def test_damaged_archives_are_compiled_again(warm: Path, tmp_path: Path, damage: str) -> None:
    cache = Path(shutil.copytree(warm, tmp_path / "cache"))
    for path in (cache / "kernels").iterdir():
        data = bytearray(path.read_bytes())
        if damage == "flipped":
            data[len(data) // 2] ^= 0xFF
        path.write_bytes({"empty": b"", "cut": data[: len(data) // 2], "no archive": b"x" * 4096}.get(damage, data))
    out, err = run(cache)
    assert "got [4. 7.]" in out and not err
    assert "got [4. 7.]" in run(cache)[0]


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in place of a folder")
    out, err = run(tmp_path / "file" / "cache")
    assert "got [4. 7.]" in out
    assert err.count("RuntimeWarning") == 1 and "set TFNB_CACHE_DIR" in err


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="needs a second place for temporary files")
def test_a_disk_that_fills_up(tmp_path: Path) -> None:
    """What has no room goes to the next place, at the start and in the middle of a process."""
    at_first = """
import tfnb.devices.opencl.kernel_folder as k
real = k._free
k._free = lambda folder: 0 if str(folder).startswith(FULL[0]) else real(folder)
"""
    at_start = f"FULL = [{str(tmp_path)!r}]{at_first}{PROGRAM}"
    out, err = run(tmp_path / "a", at_start)
    assert "got [4. 7.]" in out and err.count("RuntimeWarning") == 1 and "are free" in err
    later = f"""FULL = ['nowhere']{at_first}{PROGRAM}
    FULL[0] = {str(tmp_path)!r}
    print("then", s.run(x * 5.0, {{x: [1.0]}}), s.run(y, {{x: [1.0, 2.0]}}))
"""
    out, err = run(tmp_path / "b", later)
    assert "then [5.] [4. 7.]" in out and err.count("RuntimeWarning") == 1
    nowhere = f"""FULL = ['nowhere']{at_first}{PROGRAM}
    FULL[0] = "/"
    try:
        s.run(x * 5.0, {{x: [1.0]}})
    except tf.errors.ResourceExhaustedError as e:
        print("refused", "TFNB_CACHE_DIR" in str(e))
    print("then", s.run(y, {{x: [1.0, 2.0]}}))
"""
    out, _ = run(tmp_path / "c", nowhere)
    assert "refused True" in out and "then [4. 7.]" in out


def test_a_limit_on_the_size_of_files(tmp_path: Path) -> None:
    """LLVM aborted the process; where nothing can be written at all, Python found no folder for temporary files."""
    program = f"""
import resource, sys
{PROGRAM.splitlines()[1]}
def limit(nbytes):
    resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
x = tf.placeholder(tf.float32, [None])
def step():
    with tf.Session() as s:
        return s.run(x * 2.0, {{x: [1.0]}})
for nbytes in (0, 65_536):
    limit(nbytes)
    try:
        step()
    except tf.errors.ResourceExhaustedError as e:
        print("refused", "RLIMIT_FSIZE" in str(e) and f"{{nbytes:,}}" in str(e))
limit(300_000)
print("then", step())
"""
    out, err = run(tmp_path, program)
    assert out.splitlines() == ["refused True", "refused True", "then [2.]"], err


def test_processes_share_a_cache_and_clean_up_after_the_killed(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    killed = start(cache, PROGRAM + "    import time; time.sleep(100)\n")
    assert killed.stdout is not None
    killed.stdout.readline()
    several = [start(cache) for _ in range(2)]
    for process in several:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0 and "got [4. 7.]" in out, err
    (left,) = (cache / "processes").iterdir()  # of the one that lives
    mine = cache / "processes" / "tfnb-notes"
    mine.mkdir()
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    run(cache)
    assert not left.exists() and mine.exists()


SESSIONS = """
import tfnb as tf
from tfnb.devices.opencl.kernel_folder import KernelFolder
seals, seal = [], KernelFolder.seal
KernelFolder.seal = lambda self, key: (seals.append(key), seal(self, key))[1]
x = tf.placeholder(tf.float32, [None])
y = x * 3.0 + 1.0
for values in ([1.0], [2.0], [3.0, 4.0]):
    seals.clear()
    with tf.Session() as s:
        s.run(y, {x: values})
    print("sealed", len(seals), flush=True)
"""


def test_a_program_that_ran_in_an_earlier_session_is_not_looked_for_again(tmp_path):
    out, _ = run(tmp_path, SESSIONS)
    first, same, other = (int(line.split()[1]) for line in out.splitlines() if line.startswith("sealed"))
    assert first > 0
    assert same == 0
    assert other > 0  # another shape


BESIDE = """
import pyopencl as cl, tfnb as tf
from tfnb.devices.opencl import pocl
from tfnb.devices.opencl.platforms import units
from tfnb.settings import load_settings
unit = units(load_settings())[0]
x = tf.placeholder(tf.float32, [None])
with tf.Session() as s:
    s.run(x * 3.0, {x: [1.0]})
    folder = pocl.used_folder()
    before = len(folder._sealed)
    cl.Program(unit.context, "__kernel void f(__global float *a) { a[0] = 1; }").build(cache_dir=False)
    s.run(tf.exp(x), {x: [1.0]})
    print("kept", len(folder._sealed) - before)
"""


def test_a_program_that_was_built_by_other_code_does_not_hide_the_next_one(tmp_path):
    out, _ = run(tmp_path, BESIDE)
    assert "kept 1" in out
