"""Times convolution and pooling kernels against TensorFlow in alternation, and checks the results.

python benchmarks/kernels/conv.py [--tensorflow PYTHON] [--rounds 15] [--only TEXT] [--compile]

TensorFlow runs in a process of its own, whose interpreter is given because the two rarely live in
one environment; results are checked against the host references and against TensorFlow's. Printed
are medians in ms over the rounds, the ratio of TensorFlow's median to ours, and our 1e9 flop/s.
--compile builds every float32 entry from nothing instead, in an empty cache folder.
"""

from __future__ import annotations

import argparse
import os
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
CONV_WAYS = ("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter")
MAX_WAYS = ("MaxPool", "MaxPoolGrad")
AVG_WAYS = ("AvgPool", "AvgPoolGrad")


@dataclass(frozen=True)
class Bench:
    """One op at one shape; `kernel` is (kh, kw, cout) of a filter, or a pool's (kh, kw)."""

    op: str
    image: tuple[int, int, int, int]
    kernel: tuple[int, ...]
    stride: int = 1
    padding: str = "SAME"

    @property
    def name(self) -> str:
        kernel = "x".join(map(str, self.kernel))
        image = "x".join(map(str, self.image))
        return f"{self.op:20} {image:14} {kernel:8} /{self.stride} {self.padding:5}"


def benches() -> list[Bench]:
    convs = [
        ((64, 28, 28, 1), (5, 5, 32), 1, "SAME"),
        ((64, 14, 14, 32), (5, 5, 64), 1, "SAME"),
        ((8, 56, 56, 64), (3, 3, 64), 1, "SAME"),
        ((8, 56, 56, 64), (3, 3, 128), 2, "SAME"),
        ((32, 32, 32, 3), (3, 3, 32), 1, "SAME"),
        ((32, 16, 16, 48), (3, 3, 80), 1, "VALID"),
        ((64, 28, 28, 1), (5, 5, 6), 1, "SAME"),
        ((8, 14, 14, 256), (3, 3, 256), 1, "SAME"),
        ((8, 28, 28, 128), (1, 1, 128), 1, "SAME"),
    ]
    pools = [((64, 28, 28, 32), 2), ((64, 14, 14, 64), 2), ((8, 56, 56, 64), 2)]
    made = [Bench(op, *conv) for conv in convs for op in CONV_WAYS]
    made += [Bench(op, i, (2, 2), s) for i, s in pools for op in (*MAX_WAYS, *AVG_WAYS)]
    return made + [Bench(op, (8, 56, 56, 64), (3, 3), 2) for op in MAX_WAYS]


def problem(bench: Bench) -> tuple[list[np.ndarray], np.ndarray, SimpleNamespace, float]:
    """Inputs, the host reference's result, attrs, and the floating point operations."""
    from tfnb.ops.conv_pool import conv_reference as host

    rng = np.random.default_rng(0)

    def normal(shape: Any) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float32)

    attrs = SimpleNamespace(strides=(1, bench.stride, bench.stride, 1), padding=bench.padding)
    x, sizes = normal(bench.image), np.array(bench.image, np.int32)
    if bench.op in CONV_WAYS:
        kh, kw, co = bench.kernel
        attrs.dilations = (1, 1, 1, 1)
        windows = (attrs.strides, attrs.padding, attrs.dilations)
        f = normal((kh, kw, bench.image[3], co))
        out = host.conv2d_host(x, f, *windows)
        flops = 2.0 * out.size * f.size / co
        if bench.op == "Conv2D":
            return [x, f], out, attrs, flops
        g = normal(out.shape)
        if bench.op == "Conv2DBackpropInput":
            din = host.conv2d_backprop_input_host(bench.image, f, g, *windows)
            return [sizes, f, g], din, attrs, flops
        dfilter = host.conv2d_backprop_filter_host(x, f.shape, g, *windows)
        return [x, np.array(f.shape, np.int32), g], dfilter, attrs, flops
    attrs.ksize = (1, *bench.kernel, 1)
    pooled = (attrs.ksize, attrs.strides, attrs.padding)
    forward = host.max_pool_host if bench.op in MAX_WAYS else host.avg_pool_host
    out = forward(x, *pooled)
    if not bench.op.endswith("Grad"):
        return [x], out, attrs, float(x.size)
    g = normal(out.shape)
    if bench.op == "MaxPoolGrad":
        return [x, out, g], host.max_pool_grad_host(x, out, g, *pooled), attrs, float(x.size)
    return [sizes, g], host.avg_pool_grad_host(bench.image, g, *pooled), attrs, float(x.size)


class Kernels:
    """The device, and the recipes' launches prepared for one problem at a time."""

    def __init__(self) -> None:
        import pyopencl as cl

        self.cl = cl
        device = next(d for p in cl.get_platforms() for d in p.get_devices())
        self.units = device.max_compute_units
        self.context = cl.Context([device])
        self.queue = cl.CommandQueue(self.context)
        self.programs: dict[str, Any] = {}
        print(device.platform.version, device.name, f"{self.units} units")

    def program(self, file: str) -> Any:
        if file not in self.programs:
            source = (ROOT / "kernels_cl" / file).read_text()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                program = self.cl.Program(self.context, source)
                options = ["-I", str(ROOT / "kernels_cl")]
                self.programs[file] = program.build(options, cache_dir=False)
        return self.programs[file]

    def buffer(self, array: np.ndarray) -> Any:
        flags = self.cl.mem_flags.READ_WRITE | self.cl.mem_flags.COPY_HOST_PTR
        raw = np.zeros(array.nbytes + 256, np.uint8)
        raw[: array.nbytes] = array.reshape(-1).view(np.uint8)
        return self.cl.Buffer(self.context, flags, hostbuf=raw)

    def prepare(self, bench: Bench, inputs: list[np.ndarray], out: np.ndarray, attrs: Any, kind: str = "cpu") -> Any:
        """Launches (kernel, groups, local) and the buffers of their pointers."""
        from tfnb.ir.kernelcall import I32, In, KernelSite, Out, Temp, TensorInfo
        from tfnb.ops.conv_pool import conv_recipes as recipes
        from tfnb.types import as_dtype

        made = {
            "Conv2D": recipes.conv2d_calls,
            "Conv2DBackpropInput": recipes.conv2d_backprop_input_calls,
            "Conv2DBackpropFilter": recipes.conv2d_backprop_filter_calls,
            "MaxPool": recipes.max_pool_calls,
            "MaxPoolGrad": recipes.max_pool_grad_calls,
            "AvgPool": recipes.avg_pool_calls,
            "AvgPoolGrad": recipes.avg_pool_grad_calls,
        }[bench.op]
        infos = [TensorInfo(as_dtype(a.dtype), a.shape) for a in (*inputs, out)]
        site = KernelSite(bench.op, tuple(infos[:-1]), (infos[-1],), attrs, {}, self.units, kind)
        pointers: dict[Any, Any] = {In(i): self.buffer(a) for i, a in enumerate(inputs)}
        pointers[Out(0)] = self.buffer(out)
        launches = []
        for call in made(site):
            kernel = self.cl.Kernel(self.program(call.file), call.entry)
            for i, arg in enumerate(call.args):
                if isinstance(arg, Temp) and arg not in pointers:
                    pointers[arg] = self.buffer(np.zeros(arg.nbytes, np.uint8))
                kernel.set_arg(i, np.int32(arg.value) if isinstance(arg, I32) else pointers[arg])
            launches.append((kernel, call.groups, call.local))
        return launches, pointers

    def seconds(self, launches: list[Any], repeats: int) -> float:
        start = time.perf_counter()
        for _ in range(repeats):
            for kernel, groups, local in launches:
                self.cl.enqueue_nd_range_kernel(self.queue, kernel, groups, local)
        self.queue.finish()
        return (time.perf_counter() - start) / repeats

    def result(self, pointers: dict[Any, Any], like: np.ndarray) -> np.ndarray:
        from tfnb.ir.kernelcall import Out

        got = np.empty_like(like)
        self.cl.enqueue_copy(self.queue, got, pointers[Out(0)])
        return got


def tensorflow_worker() -> None:
    """Answers (op, inputs, attrs) with its result, then each number of repeats with seconds."""
    import tensorflow as tf

    pipe = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    run: Any = None
    while True:
        try:
            request = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        if isinstance(request, int):
            start = time.perf_counter()
            for _ in range(request):
                result = run()
            result.numpy()
            answer: Any = (time.perf_counter() - start) / request
        else:
            op, inputs, attrs = request
            tensors = [tf.constant(a) for a in inputs]
            attrs = {k: v if isinstance(v, str) else list(v) for k, v in attrs.items()}

            def body(*tensors: Any, op: str = op, attrs: Any = attrs) -> Any:
                return getattr(tf.raw_ops, op)(**dict(zip(NAMES[op], tensors, strict=True)), **attrs)

            compiled = tf.function(body)

            def run(compiled: Any = compiled, tensors: Any = tensors) -> Any:
                return compiled(*tensors)

            answer = run().numpy()
        pickle.dump(answer, pipe)
        pipe.flush()


NAMES = {
    "Conv2D": ("input", "filter"),
    "Conv2DBackpropInput": ("input_sizes", "filter", "out_backprop"),
    "Conv2DBackpropFilter": ("input", "filter_sizes", "out_backprop"),
    "MaxPool": ("input",),
    "MaxPoolGrad": ("orig_input", "orig_output", "grad"),
    "AvgPool": ("value",),
    "AvgPoolGrad": ("orig_input_shape", "grad"),
}


class Peer:
    """TensorFlow in its own process."""

    def __init__(self, interpreter: str) -> None:
        command = [interpreter, str(Path(__file__).resolve()), "--tensorflow-worker"]
        pipe, null = subprocess.PIPE, subprocess.DEVNULL
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=null)

    def ask(self, request: Any) -> Any:
        pickle.dump(request, self.process.stdin)
        self.process.stdin.flush()
        return pickle.load(self.process.stdout)

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def measure(kernels: Kernels, bench: Bench, rounds: int, peer: Peer | None) -> str:
    inputs, want, attrs, flops = problem(bench)
    launches, pointers = kernels.prepare(bench, inputs, want, attrs)
    once = min(kernels.seconds(launches, 1) for _ in range(3))
    scale = np.abs(want).max()
    assert np.abs(kernels.result(pointers, want) - want).max() <= 3e-5 * scale, bench.name
    if peer:
        theirs = peer.ask((bench.op, inputs, vars(attrs)))
        assert np.abs(theirs - want).max() <= 3e-5 * scale, bench.name
    repeats = max(1, int(0.02 / once))
    ours, tf = [], []
    for _ in range(rounds):
        ours.append(kernels.seconds(launches, repeats))
        if peer:
            tf.append(peer.ask(repeats))
    mine = statistics.median(ours)
    line = f"{bench.name} ours {mine * 1e3:7.3f} (best {min(ours) * 1e3:7.3f})"
    if tf:
        median = statistics.median(tf)
        line += f"  tf {median * 1e3:7.3f} (best {min(tf) * 1e3:7.3f})  ratio {median / mine:5.2f}"
    return line + f"  {flops / mine * 1e-9:6.1f} GF"


def compile_all() -> None:
    """Builds every float32 entry from nothing: each op tuned and naive, on tiny images."""
    kernels = Kernels()
    total = 0.0
    for op in (*CONV_WAYS, *MAX_WAYS, *AVG_WAYS):
        bench = Bench(op, (1, 4, 4, 16), (2, 2, 8) if op in CONV_WAYS else (2, 2))
        inputs, want, attrs, _ = problem(bench)
        for kind in ("cpu", "gpu"):
            start = time.perf_counter()
            launches, _ = kernels.prepare(bench, inputs, want, attrs, kind)
            kernels.seconds(launches, 1)
            took = time.perf_counter() - start
            total += took
            names = " ".join(kernel.function_name for kernel, _, _ in launches)
            print(f"{took:6.2f} s  {names}")
    print(f"{total:6.2f} s  in all")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tensorflow", help="interpreter that has TensorFlow")
    parser.add_argument("--tensorflow-worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="", help="only benchmarks whose line holds this text")
    parser.add_argument("--compile", action="store_true", help="time a cold build instead")
    options = parser.parse_args()
    if options.tensorflow_worker:
        tensorflow_worker()
        return
    if options.compile:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["POCL_CACHE_DIR"] = folder
            compile_all()
        return
    peer = Peer(options.tensorflow) if options.tensorflow else None
    kernels = Kernels()
    for bench in benches():
        if options.only in bench.name:
            print(measure(kernels, bench, options.rounds, peer), flush=True)
    if peer:
        peer.close()


if __name__ == "__main__":
    main()
