"""`python -m benchmarks.gpu`: operations and training steps on a GPU beside PyTorch on the same GPU, by turns.

An operation's result is assigned to a variable, so that nothing is fetched; a round is many steps with one wait at its
end. The floor is computed from the bandwidth and the float32 rate that PyTorch reaches on this GPU, without the number
formats of fewer bits (TF32) that it would use for convolutions by itself. Needs PyTorch with CUDA and an OpenCL driver
of the same GPU.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["main"]

ROUNDS = 5
SECONDS_OF_A_ROUND = 0.05


@dataclass(frozen=True)
class Row:
    """An operation: `ours(tf, *inputs)` and `theirs(torch, *inputs)` compute the same.

    `flops` are its multiplications and additions, `elements` those that it reads and writes at least.
    """

    name: str
    shapes: tuple[tuple[int, ...], ...]
    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    flops: float
    elements: float


def _product(m: int, n: int, k: int, ta: bool = False, tb: bool = False) -> Row:
    a, b = (k, m) if ta else (m, k), (n, k) if tb else (k, n)
    return Row(
        f"matmul {m} x {k} x {n}" + " A'" * ta + " B'" * tb,
        (a, b),
        lambda tf, x, y: tf.matmul(x, y, transpose_a=ta, transpose_b=tb),
        lambda _, x, y: (x.T if ta else x) @ (y.T if tb else y),
        2.0 * m * n * k,
        m * n + m * k + n * k,
    )


def _convolutions(n: int, size: int, ci: int, co: int, window: int) -> Iterator[Row]:
    image, filters, out = (n, size, size, ci), (window, window, ci, co), (n, size, size, co)
    flops = 2.0 * n * size * size * ci * co * window * window
    elements = n * size * size * (ci + co) + window * window * ci * co
    name = f"{n} x {size} x {size}, {ci} to {co}, {window} x {window}"
    how: dict[str, Any] = {"strides": [1, 1, 1, 1], "padding": "SAME"}
    kept: dict[str, Any] = {"padding": window // 2}

    def first(t: Any) -> Any:  # PyTorch's order of dimensions, with the memory as it lies
        return t.permute(0, 3, 1, 2)

    def filters_of(t: Any) -> Any:
        return t.permute(3, 2, 0, 1)

    yield Row(
        f"conv {name}",
        (image, filters),
        lambda tf, x, f: tf.nn.conv2d(x, f, **how),
        lambda torch, x, f: torch.nn.functional.conv2d(first(x), filters_of(f), **kept),
        flops,
        elements,
    )
    yield Row(
        f"gradient of input, {name}",
        (filters, out),
        lambda tf, f, g: tf.nn.conv2d_backprop_input(list(image), f, g, **how),
        lambda torch, f, g: torch.nn.grad.conv2d_input((n, ci, size, size), filters_of(f), first(g), **kept),
        flops,
        elements,
    )
    yield Row(
        f"gradient of filter, {name}",
        (image, out),
        lambda tf, x, g: tf.nn.conv2d_backprop_filter(x, list(filters), g, **how),
        lambda torch, x, g: torch.nn.grad.conv2d_weight(first(x), (co, ci, window, window), first(g), **kept),
        flops,
        elements,
    )


def _pooled(n: int, size: int, c: int) -> Row:
    window: dict[str, Any] = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}
    return Row(
        f"max_pool {n} x {size} x {size} x {c}",
        ((n, size, size, c),),
        lambda tf, x: tf.nn.max_pool(x, **window),
        lambda torch, x: torch.nn.functional.max_pool2d(x.permute(0, 3, 1, 2), 2),
        0.0,
        1.25 * n * size * size * c,
    )


def _rows() -> Iterator[Row]:
    for n in (256, 1024, 4096):
        yield _product(n, n, n)
    yield _product(1024, 1024, 1024, ta=True)
    yield _product(1024, 1024, 1024, tb=True)
    yield _product(64, 1024, 1024)
    yield _product(1024, 128, 65536, ta=True)
    yield from _convolutions(32, 56, 64, 64, 3)
    yield from _convolutions(128, 28, 1, 32, 5)
    yield _pooled(32, 56, 64)
    for m, n in ((64, 1000), (4096, 4096)):
        size = (m, n)
        name = f"{m} x {n}"
        yield Row(f"softmax {name}", (size,), lambda tf, x: tf.nn.softmax(x), lambda _, x: x.softmax(1), 0, 2.0 * m * n)
        yield Row(f"sum of rows {name}", (size,), lambda tf, x: tf.reduce_sum(x, 1), lambda _, x: x.sum(1), 0, m * n)
        yield Row(f"sum of columns {name}", (size,), lambda tf, x: tf.reduce_sum(x, 0), lambda _, x: x.sum(0), 0, m * n)
        yield Row(f"sum {name}", (size,), lambda tf, x: tf.reduce_sum(x), lambda _, x: x.sum(), 0, m * n)
        yield Row(
            f"x y + tanh x {name}", (size, size), lambda tf, x, y: x * y + tf.tanh(x), lambda _, x, y: x * y + x.tanh(),
            0, 3.0 * m * n,
        )  # fmt: skip
        yield Row(
            f"transpose {name}", (size,), lambda tf, x: tf.transpose(x), lambda _, x: x.T.contiguous(), 0, 2.0 * m * n
        )


Steps = tuple[Callable[[], Any], Callable[[], Any], Callable[[], np.ndarray]]


def _ours(row: Row, tf: Any, arrays: list[np.ndarray]) -> Steps:
    """Functions that enqueue a step, wait for all steps (by reading a small variable), and return the result."""
    with tf.Graph().as_default(), tf.device("/gpu:0"):
        inputs = [tf.Variable(a) for a in arrays]
        result = row.ours(tf, *(v.value() for v in inputs))
        kept, last = tf.Variable(tf.zeros(result.shape)), tf.Variable(0.0)
        step = kept.assign(result).op
        session = tf.Session()
        session.run(tf.global_variables_initializer())
        run, wait = session.make_callable(step), session.make_callable(last.value())
        return run, wait, session.make_callable(kept.value())


def _theirs(row: Row, torch: Any, arrays: list[np.ndarray]) -> Steps:
    inputs = [torch.from_numpy(a).cuda() for a in arrays]
    last: list[Any] = [None]

    def step() -> None:
        last[0] = row.theirs(torch, *inputs)

    def result() -> np.ndarray:
        array: np.ndarray = last[0].cpu().numpy()
        return array

    return step, torch.cuda.synchronize, result


def _seconds(step: Callable[[], Any], wait: Callable[[], Any], steps: int) -> float:
    wait()
    begin = time.perf_counter()
    for _ in range(steps):
        step()
    wait()
    return time.perf_counter() - begin


def _per_step(step: Callable[[], Any], wait: Callable[[], Any], steps: int) -> float:
    """The seconds of a step: of a long round less those of a short one, so that the wait does not count."""
    return max((_seconds(step, wait, 2 * steps) - _seconds(step, wait, steps)) / steps, 1e-9)


def _compare(row: Row, tf: Any, torch: Any, floor: float) -> str:
    rng = np.random.RandomState(0)
    arrays = [rng.randn(*shape).astype(np.float32) for shape in row.shapes]
    ours, theirs = _ours(row, tf, arrays), _theirs(row, torch, arrays)
    for step, wait, _ in (ours, theirs):
        step()
        wait()
    wanted = theirs[2]()
    if row.name.startswith(("conv", "gradient of input", "max_pool")):
        wanted = wanted.transpose(0, 2, 3, 1)
    elif row.name.startswith("gradient of filter"):
        wanted = wanted.transpose(2, 3, 1, 0)
    error = float(np.abs(ours[2]() - wanted).max() / np.abs(wanted).max())
    steps = max(3, min(500, int(SECONDS_OF_A_ROUND / max(_seconds(*ours[:2], 3), _seconds(*theirs[:2], 3)) * 3)))
    pairs = [(_per_step(*ours[:2], steps), _per_step(*theirs[:2], steps)) for _ in range(ROUNDS)]
    a, b = (1e6 * statistics.median(p[k] for p in pairs) for k in range(2))
    return f"{row.name:58} {a:10.1f} {b:10.1f} {b / a:7.2f}x {1e6 * floor:9.1f}  {error:.0e}"


def _training(tf: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Training steps as `benchmarks/programs.py` has them for the CPU."""
    from benchmarks.programs import PROGRAMS

    for name in ("MLP", "LeNet", "LSTM"):
        program = next((p for p in PROGRAMS if p.name.startswith(name)), None)
        if program is not None:
            with tf.Graph().as_default():
                yield program.name, program.make(tf)


def _limits(torch: Any) -> tuple[float, float]:
    """Bytes/s of a copy, read and write counted, and flop/s of a product of float32 matrices, both of PyTorch."""

    def best(step: Callable[[], Any]) -> float:
        return min(_seconds(step, torch.cuda.synchronize, 10) / 10 for _ in range(5))

    a = torch.empty(1 << 28, device="cuda")
    b, c = torch.empty_like(a), torch.randn(8192, 8192, device="cuda")
    return 2 * 4.0 * a.numel() / best(lambda: b.copy_(a)), 2 * 8192.0**3 / best(lambda: c @ c)


def main() -> None:
    import torch

    import tfnb as tf

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    bandwidth, flops = _limits(torch)
    print(f"{torch.cuda.get_device_name()}: {bandwidth / 1e12:.2f} TB/s, {flops / 1e12:.1f} float32 Tflop/s")
    print(f"{'operation':58} {'tfnb us':>10} {'torch us':>10} {'ratio':>8} {'floor us':>9}  difference")
    for row in _rows():
        try:
            print(_compare(row, tf, torch, max(row.flops / flops, 4 * row.elements / bandwidth)), flush=True)
        except Exception as e:  # one operation that fails should not hide the others
            print(f"{row.name:58} failed: {type(e).__name__}: {str(e).splitlines()[0]}", flush=True)
    for name, step in _training(tf):
        for _ in range(20):
            step()
        begin = time.perf_counter()
        for _ in range(100):
            step()
        print(f"training step of {name}: {10 * (time.perf_counter() - begin):.3f} ms", flush=True)


if __name__ == "__main__":
    main()
