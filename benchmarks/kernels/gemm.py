"""Times the matrix product's kernels against NumPy (OpenBLAS) and TensorFlow, and checks results.

python benchmarks/kernels/gemm.py [--tensorflow PYTHON] [--one-core] [--double] [--rounds 15]
    [--shape M,N,K,a,b]

The peers run in alternation with the kernels; TensorFlow in a process of its own, whose interpreter
is given because the two rarely live in one environment. Reported is the best of all rounds.
--one-core compares processor time on one core, which other processes disturb little.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

SHAPES = [
    (128, 128, 128, 0, 0),
    (256, 256, 256, 0, 0),
    (512, 512, 512, 0, 0),
    (1024, 1024, 1024, 0, 0),
    (2048, 2048, 2048, 0, 0),
    (100, 100, 784, 0, 0),
    (784, 100, 100, 1, 0),
    (100, 10, 100, 0, 0),
    (100, 10, 100, 1, 0),
    (100, 100, 10, 0, 1),
    (64, 1024, 3136, 0, 0),
    (3136, 1024, 64, 1, 0),
    (64, 3136, 1024, 0, 1),
    (20, 800, 200, 0, 0),
    (333, 257, 511, 0, 0),
    (1, 1000, 1000, 0, 0),
    (1000, 1, 1000, 0, 0),
    (10, 10, 20000, 1, 0),
]

# Reads lines "M N K ta tb repeats", answers with seconds per product.
TENSORFLOW = """
import sys, time
import numpy as np, tensorflow as tf
dtype, one_core = sys.argv[1], sys.argv[2] == "1"
if one_core:
    tf.config.threading.set_intra_op_parallelism_threads(1)
clock = time.thread_time if one_core else time.perf_counter
cache = {}
for line in sys.stdin:
    m, n, k, ta, tb, repeats = key = tuple(map(int, line.split()))
    if key not in cache:
        a, b = np.ones((k, m) if ta else (m, k), dtype), np.ones((n, k) if tb else (k, n), dtype)
        cache[key] = tf.constant(a), tf.constant(b)
    a, b = cache[key]
    start = clock()
    for _ in range(repeats):
        c = tf.raw_ops.MatMul(a=a, b=b, transpose_a=bool(ta), transpose_b=bool(tb))
    c.numpy()
    print((clock() - start) / repeats, flush=True)
"""


class Kernels:
    """The recipe's launches, prepared for one shape at a time."""

    def __init__(self, dtype: str, one_core: bool) -> None:
        import pyopencl as cl

        self.cl = cl
        self.dtype = dtype
        self.clock = time.thread_time if one_core else time.perf_counter
        device = next(d for p in cl.get_platforms() for d in p.get_devices())
        self.units = device.max_compute_units
        self.context = cl.Context([device])
        self.queue = cl.CommandQueue(self.context)
        self.source = (ROOT / "kernels_cl/linalg/matmul.cl").read_text()
        self.programs: dict[Any, Any] = {}
        print(device.platform.version, device.name, f"{self.units} units")

    def _kernel(self, call: Any) -> Any:
        if call.defines not in self.programs:
            options = ["-I", str(ROOT / "kernels_cl"), *(f"-D{k}={v}" for k, v in call.defines)]
            self.programs[call.defines] = self.cl.Program(self.context, self.source).build(options)
        return self.cl.Kernel(self.programs[call.defines], call.entry)

    def _buffer(self, array: np.ndarray) -> Any:
        flags = self.cl.mem_flags.READ_WRITE | self.cl.mem_flags.COPY_HOST_PTR
        raw = np.zeros(array.nbytes + 256, np.uint8)
        raw[: array.nbytes] = array.reshape(-1).view(np.uint8)
        return self.cl.Buffer(self.context, flags, hostbuf=raw)

    def prepare(self, a: np.ndarray, b: np.ndarray, c: np.ndarray, ta: int, tb: int) -> Prepared:
        from tfnb.ir.kernelcall import I32, In, KernelSite, Out, Temp, TensorInfo
        from tfnb.ops.linalg.matmul_recipes import matmul_calls
        from tfnb.types import as_dtype

        infos = [TensorInfo(as_dtype(x.dtype), x.shape) for x in (a, b, c)]
        attrs = SimpleNamespace(transpose_a=bool(ta), transpose_b=bool(tb))
        site = KernelSite("MatMul", tuple(infos[:2]), (infos[2],), attrs, {}, self.units, "cpu")
        pointers: dict[Any, Any] = {
            In(0): self._buffer(a),
            In(1): self._buffer(b),
            Out(0): self._buffer(c),
        }
        launches = []
        for call in matmul_calls(site):
            kernel = self._kernel(call)
            for i, arg in enumerate(call.args):
                if isinstance(arg, I32):
                    kernel.set_arg(i, np.int32(arg.value))
                elif isinstance(arg, Temp):
                    temp = pointers.get("temp") or self._buffer(np.zeros(arg.nbytes, np.uint8))
                    pointers["temp"] = temp
                    kernel.set_arg(i, temp)
                else:
                    kernel.set_arg(i, pointers[arg])
            launches.append((kernel, call.groups, call.local))
        return Prepared(self, launches, pointers)


class Prepared:
    """Bound launches of one product; keeps its buffers alive."""

    def __init__(self, owner: Kernels, launches: list[Any], pointers: dict[Any, Any]) -> None:
        self.owner = owner
        self.launches = launches
        self.pointers = pointers

    def run(self, repeats: int) -> None:
        cl, queue = self.owner.cl, self.owner.queue
        for _ in range(repeats):
            for kernel, groups, local in self.launches:
                cl.enqueue_nd_range_kernel(queue, kernel, groups, local)
        queue.finish()

    def result(self, c: np.ndarray) -> np.ndarray:
        from tfnb.ir.kernelcall import Out

        self.owner.cl.enqueue_copy(self.owner.queue, c, self.pointers[Out(0)])
        return c

    @property
    def cut(self) -> str:
        return " + ".join("x".join(map(str, groups)) for _, groups, _ in self.launches)


def seconds(run: Callable[[int], object], repeats: int, clock: Callable[[], float]) -> float:
    start = clock()
    run(repeats)
    return (clock() - start) / repeats


def measure(kernels: Kernels, shape: tuple[int, ...], rounds: int, peer: Any) -> str:
    m, n, k, ta, tb = shape
    rng = np.random.default_rng(0)
    a = rng.standard_normal((k, m) if ta else (m, k)).astype(kernels.dtype)
    b = rng.standard_normal((n, k) if tb else (k, n)).astype(kernels.dtype)
    c = np.empty((m, n), a.dtype)
    product = kernels.prepare(a, b, c, ta, tb)
    x, y = a.T if ta else a, b.T if tb else b
    product.run(1)
    error = np.abs(product.result(c) - x.astype("d") @ y.astype("d")).max() / k**0.5
    assert error < (3e-5 if kernels.dtype == "float32" else 1e-13), error
    repeats = max(1, int(5e7 / (2 * m * n * k)))

    def with_numpy(times: int) -> None:
        for _ in range(times):
            np.matmul(x, y, out=c)

    def with_tensorflow() -> float:
        peer.stdin.write(f"{m} {n} {k} {ta} {tb} {repeats}\n")
        peer.stdin.flush()
        return float(peer.stdout.readline())

    times: dict[str, list[float]] = {"ours": [], "numpy": [], "tf": []}
    for _ in range(rounds):
        times["ours"].append(seconds(product.run, repeats, kernels.clock))
        times["numpy"].append(seconds(with_numpy, repeats, kernels.clock))
        if peer:
            times["tf"].append(with_tensorflow())
    best = {name: min(t) for name, t in times.items() if t}
    line = f"{m:5}{n:5}{k:6} {'T' if ta else '.'}{'T' if tb else '.'} {product.cut:14}"
    line += f" {best['ours'] * 1e6:9.1f} us"
    for name, t in best.items():
        line += f"  {name} {2e-9 * m * n * k / t:6.1f}"
    peers = [t for name, t in best.items() if name != "ours"]
    return line + f"  of the best peer {min(peers) / best['ours']:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tensorflow", help="interpreter that has TensorFlow")
    parser.add_argument("--double", action="store_true")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--shape", action="append", help="M,N,K,ta,tb; may be repeated")
    parser.add_argument("--one-core", action="store_true")
    options = parser.parse_args()
    if options.one_core and os.environ.get("POCL_DEVICES") != "basic":
        # PoCL's device in the caller's thread, and one thread of OpenBLAS: both are read at start.
        os.environ |= {"POCL_DEVICES": "basic", "OPENBLAS_NUM_THREADS": "1"}
        os.execv(sys.executable, [sys.executable, *sys.argv])
    dtype = "float64" if options.double else "float32"
    peer = None
    if options.tensorflow:
        command = [options.tensorflow, "-c", TENSORFLOW, dtype, str(int(options.one_core))]
        pipe, null = subprocess.PIPE, subprocess.DEVNULL
        peer = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=null, text=True)
    shapes = [tuple(map(int, s.split(","))) for s in options.shape or ()] or SHAPES
    kernels = Kernels(dtype, options.one_core)
    for shape in shapes:
        print(measure(kernels, shape, options.rounds, peer), flush=True)
    if peer:
        peer.stdin.close()
        peer.wait()


if __name__ == "__main__":
    main()
