"""Chains that a second process compiles: the same bits before and after, no step that waits, and an end of the process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.opencl

# A small training program whose cluster has a chain; `run(n)` runs it n times and returns the bits of its results.
PROGRAM = """
import os, sys, time
import numpy as np
import tfnb as tf
from tfnb.devices.opencl import program as programs
from tfnb.devices.opencl.second_compiler import second_compiler
from tfnb.settings import load_settings

made = []
init = programs.OpenCLProgram.__init__
def noted(self, *arguments, **named):
    init(self, *arguments, **named)
    made.append(self)
programs.OpenCLProgram.__init__ = noted

x = tf.placeholder(tf.float32, [None, 20])
w, b = tf.Variable(tf.ones([20, 10]) * 0.1), tf.Variable(tf.zeros([10]))
y = tf.nn.tanh(tf.matmul(x, w) + b)
loss = tf.reduce_mean(tf.square(tf.nn.softmax(y) - 0.3))
train = tf.train.AdamOptimizer(0.01).minimize(loss)
session = tf.Session()
rng = np.random.RandomState(0)
batches = [rng.rand(n, 20).astype("f") for n in (8, 8, 5, 8, 3)]

def fresh():
    session.run(tf.global_variables_initializer())

def run(n):
    results = []
    for k in range(n):
        results.append(session.run([loss, train, w], {x: batches[k % len(batches)]})[::2])
    return b"".join(a.tobytes() for pair in results for a in pair)

def chained():
    return [p for p in made if p._chains]

def wait(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        run(50)
    return condition()

def compiler():
    return second_compiler(load_settings().cache_path)._process
"""


def run(cache: Path, text: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "TFNB_CACHE_DIR": str(cache), "TFNB_QUIET": "1", **environment}
    command = [sys.executable, "-c", PROGRAM + text]
    return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=150, check=True)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that one process has used: it had a chain compiled, and gave the same bits before and after."""
    folder = tmp_path_factory.mktemp("cache")
    text = """
fresh()
before = run(40)
assert chained() and all(p._is_apart for p in chained()), chained()
assert compiler() is None  # the program has not run often
assert wait(lambda: not all(p._is_apart for p in chained()))
fresh()
assert run(40) == before
print(compiler().pid)
"""
    pid = int(run(folder, text).stdout)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    return folder


def test_a_later_process_needs_no_second_one(cache: Path) -> None:
    text = """
fresh()
before = run(40)
assert wait(lambda: not all(p._is_apart for p in chained()))
assert compiler() is None
fresh()
assert run(40) == before
print(before.hex())
"""
    one, two = (run(cache, text).stdout for _ in range(2))
    assert one == two


def test_it_works_without_a_second_process(tmp_path: Path) -> None:
    """One that cannot be started, and one that is killed again and again."""
    text = """
sys.executable = "/nowhere/python"
fresh()
before = run(600)
assert all(p._is_apart for p in chained())
sys.executable = real
import signal
for _ in range(5):
    if compiler() is not None:
        os.kill(compiler().pid, signal.SIGKILL)
    run(128)
fresh()
assert run(600) == before
"""
    run(tmp_path, f"real = sys.executable\n{text}")


def test_an_interrupt_of_the_group_does_not_reach_it(tmp_path: Path) -> None:
    text = """
fresh()
run(300)
first = compiler().pid
try:
    print(first, flush=True)
    while True:
        run(10)
except KeyboardInterrupt:
    assert compiler().pid == first and compiler().poll() is None
    print("interrupted", flush=True)
"""
    variables = {**os.environ, "TFNB_CACHE_DIR": str(tmp_path), "TFNB_QUIET": "1"}
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM + text], env=variables, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert program.stdout is not None
    pid = int(program.stdout.readline())
    os.killpg(program.pid, signal.SIGINT)
    assert program.stdout.readline() == "interrupted\n"
    assert program.wait(60) == 0
    program.stdout.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_it_ends_with_a_process_that_is_killed(tmp_path: Path) -> None:
    text = """
fresh()
run(300)
print(compiler().pid, flush=True)
while True:
    run(10)
"""
    variables = {**os.environ, "TFNB_CACHE_DIR": str(tmp_path), "TFNB_QUIET": "1"}
    program = subprocess.Popen([sys.executable, "-c", PROGRAM + text], env=variables, stdout=subprocess.PIPE, text=True)
    assert program.stdout is not None
    pid = int(program.stdout.readline())
    program.kill()
    program.wait()
    program.stdout.close()
    end = time.monotonic() + 30
    while time.monotonic() < end and Path(f"/proc/{pid}").exists() and _state(pid) != "Z":
        time.sleep(0.05)
    assert not Path(f"/proc/{pid}").exists() or _state(pid) == "Z"


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
    except OSError:
        return "Z"


def test_a_request_is_not_repeated_for_ever(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where the cache cannot be written, no kernel comes of it."""
    from tfnb.devices.opencl import second_compiler
    from tfnb.devices.opencl.second_compiler import Request, SecondCompiler

    class Process:
        stdin = BytesIO()

        def poll(self) -> None:
            return None

    monkeypatch.setattr(second_compiler, "_PATIENCE", 0.0)
    monkeypatch.setattr(second_compiler, "start_child", lambda module, environment: Process())
    compiler = SecondCompiler(tmp_path)
    for _ in range(10):
        for key in ("one", "two"):
            compiler.ask(key, Request("unit", True, "text", [(key, "p")], True), lambda key: False)
    assert Process.stdin.getvalue().count(b"\n") == 2 * 3


@pytest.mark.parametrize("line", [b"\xff\n", b"[]\n", b"{}\n", b'{"unit": 1}\n', b"\n", b"7", b"7\n7\n"])
def test_a_request_that_is_none_is_left_out(line: bytes) -> None:
    command = [sys.executable, "-m", "tfnb.devices.opencl.compiling_process"]
    done = subprocess.run(command, input=line, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_chain_selects_its_parts(device) -> None:
    """A program by hand: each selection of parts gives what the kernels of the parts give."""
    import device_programs as p

    from tfnb.codegen.program import F32, I32, Launch, Module, Part, Program, Slot

    text = (
        "__kernel void chain(int parts, __global float *a, float x, __global float *b, float y)"
        "{ if (parts & 1) a[0] += x; if (parts & 2) b[0] = a[0] * y; }"
    )
    add = Module("__kernel void add(__global float *a, float x) { a[0] += x; }")
    multiply = Module("__kernel void multiply(__global float *b, float y) { b[0] = b[0] * y; }")
    whole = Module(text, parts=(Part(add, "add", 2), Part(multiply, "multiply", 2)))
    out = p.sized(Slot("output"), 1)
    for parts, expected in ((1, 3.0), (2, 5.0), (3, 15.0)):
        args = (I32(parts), out if parts & 1 else Slot("none"), F32(3.0), out if parts & 2 else Slot("none"), F32(5.0))
        fill = Module(f"__kernel void fill(__global float *a) {{ a[0] = {1.0 if parts == 2 else 0.0}f; }}")
        program = Program(
            "chain",
            (whole, fill),
            (Launch(1, "fill", (out,)), Launch(0, "chain", args)),
            (),
            (p.vector(1),),
            (),
            (),
            (),
            0,
        )
        loaded = device.load(program)
        assert loaded._is_apart
        (result,) = loaded.run([], [])
        assert np.asarray(result.numpy()).tolist() == [expected]
