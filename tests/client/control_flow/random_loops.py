"""Random programs of assignments, conditionals, loops and arrays: built as a graph, and run by Python as they stand.

`python tests/client/control_flow/random_loops.py FIRST COUNT` runs that many of them and prints what differed. With TFNB_OPTIMIZE=0
each op is a kernel of its own, so that a few kernels serve all programs. A third argument, devices:3 or tasks:2 (see
tests/support/targets.py), deals the nodes of each program out at random, and compares with one device to the bit.
"""

from __future__ import annotations

import importlib
import os
import random
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tfnb as tf

N = 3
LENGTH = 4  # of the array that loops write
# what a variable may be: int32 and float32 scalars, vectors of doubles, float32 matrices
KINDS: dict[str, Any] = {
    "i": lambda rng: np.int32(rng.randint(-5, 5)),
    "f": lambda rng: np.float32(round(rng.uniform(-1, 1), 3)),
    "v": lambda rng: np.array([round(rng.uniform(-1, 1), 3) for _ in range(2)]),
    "m": lambda rng: np.array([[round(rng.uniform(-1, 1), 3) for _ in range(2)] for _ in range(2)], np.float32),
}


def block(rng: random.Random, kinds: str, depth: int, size: int = 3) -> list[tuple[Any, ...]]:
    return [statement(rng, kinds, depth) for _ in range(rng.randint(1, size))]


def statement(rng: random.Random, kinds: str, depth: int) -> tuple[Any, ...]:
    kind = rng.choice(["set", "set", "if", "while", "array"] if depth else ["set"])
    target = rng.randrange(N)
    like = [i for i in range(N) if kinds[i] == kinds[target]]
    if kind == "set":
        if len(like) < N and rng.random() < 0.3:
            return "cast", target, rng.choice([i for i in range(N) if i not in like])
        op = rng.choice("+-*x@" if kinds[target] == "m" else "+-*x")
        return kind, target, op, rng.choice(like), rng.choice(like), rng.randint(-3, 3)
    i = rng.randrange(N)
    bound = rng.randint(-5, 5) if kinds[i] == "i" else rng.randint(-3, 3) * 0.37 + 0.0123
    if kind == "if":
        bound = bound if rng.random() < 0.8 else 10**6  # or one branch is dead for good
        return kind, i, bound, block(rng, kinds, depth - 1), block(rng, kinds, depth - 1)
    if kind == "while":
        return kind, rng.randint(0, 3), i, bound, block(rng, kinds, depth - 1), rng.choice((1, 10))
    return kind, rng.choice(like), target, block(rng, kinds, depth - 1), rng.choice(("read", "stack", "back"))


def _whole(x: Any) -> bool:
    return bool(x.dtype.kind == "i" if isinstance(x, (np.ndarray, np.generic)) else x.dtype.is_integer)


def combine(lib: Any, op: str, x: Any, y: Any, k: Any) -> Any:
    """No slope is over 1, so that rounding does not grow."""
    if _whole(x):
        return {
            "+": lambda: x + y,
            "-": lambda: x - y + k,
            "*": lambda: x * k + y,
            "x": lambda: lib.floormod(x * y, 1000) if lib is tf else x * y % 1000,
        }[op]()
    half, part = (lib.constant(c, x.dtype) if lib is tf else x.dtype.type(c) for c in (0.5, 0.15))
    return {
        "+": lambda: (x + y) * half,
        "-": lambda: (x - y) * half + k * part,
        "*": lambda: x * (k * part) + y * half,
        "x": lambda: lib.sin(x) * lib.cos(y),
        "@": lambda: lib.matmul(lib.sin(x), lib.cos(y)) * half,
    }[op]()


class Eager:
    """What a program means: NumPy and Python's own `if` and `while`."""

    def __init__(self, values: list[Any]) -> None:
        self.v = [np.asarray(x) for x in values]

    def run(self, program: Any) -> list[Any]:
        with np.errstate(all="ignore"):
            for s in program:
                getattr(self, "do_" + s[0])(*s[1:])
        return self.v

    def do_set(self, target: int, op: str, a: int, b: int, k: int) -> None:
        x, y = self.v[a], self.v[b]
        self.v[target] = np.asarray(combine(np, op, x, y, x.dtype.type(k)))

    def do_cast(self, target: int, source: int) -> None:
        x, old = self.v[source], self.v[target]
        if _whole(old):
            self.v[target] = np.asarray(np.floor(x.sum() * x.dtype.type(2)).astype(np.int32))
            return
        number = (x % 7).astype(old.dtype) if _whole(x) else x.sum().astype(old.dtype)
        self.v[target] = np.zeros_like(old) + number * old.dtype.type(0.25)

    def do_if(self, i: int, bound: float, then: Any, other: Any) -> None:
        self.run(then if self.v[i].sum() > bound else other)

    def do_while(self, rounds: int, i: int, stop: float, body: Any, _: int) -> None:
        k = 0
        while k < rounds and (self.v[i].sum() != stop if _whole(self.v[i]) else self.v[i].sum() < stop + 1):
            self.run(body)
            k += 1

    def do_array(self, source: int, target: int, body: Any, how: str) -> None:
        written = []
        for _ in range(LENGTH):
            self.run(body)
            written.append(self.v[source])
        if how == "back":
            written.reverse()
        if how == "stack":
            total = np.sum(np.stack(written), 0, dtype=written[0].dtype)
            self.v[target] = np.asarray(total if _whole(total) else total * total.dtype.type(0.25))
        else:
            self.v[target] = np.asarray(written[0] - written[-1] + written[LENGTH // 2])


class Symbolic(Eager):
    """The same as a graph."""

    def __init__(self, values: list[Any]) -> None:
        self.v = list(values)

    def do_set(self, target: int, op: str, a: int, b: int, k: int) -> None:
        x, y = self.v[a], self.v[b]
        self.v[target] = combine(tf, op, x, y, tf.constant(k, x.dtype))

    def do_cast(self, target: int, source: int) -> None:
        x, old = self.v[source], self.v[target]
        if _whole(old):
            self.v[target] = tf.cast(tf.floor(_sum(x) * 2), tf.int32)
            return
        number = tf.cast(tf.floormod(x, 7) if _whole(x) else _sum(x), old.dtype)
        self.v[target] = tf.zeros_like(old) + number * 0.25

    def _after(self, values: Any, program: Any) -> list[Any]:
        return Symbolic(list(values)).run(program)

    def do_if(self, i: int, bound: float, then: Any, other: Any) -> None:
        before = list(self.v)
        test = _sum(self.v[i]) > bound
        self.v = list(tf.cond(test, lambda: self._after(before, then), lambda: self._after(before, other)))

    def do_while(self, rounds: int, i: int, stop: float, body: Any, parallel: int) -> None:
        def test(k: Any, *v: Any) -> Any:
            end = tf.not_equal(v[i], stop) if _whole(v[i]) else _sum(v[i]) < stop + 1
            return tf.logical_and(k < rounds, end)

        found = tf.while_loop(
            test, lambda k, *v: [k + 1, *self._after(v, body)], [0, *self.v], parallel_iterations=parallel
        )
        self.v = list(found[1:])

    def do_array(self, source: int, target: int, body: Any, how: str) -> None:
        ta = tf.TensorArray(self.v[source].dtype, size=LENGTH, clear_after_read=False)

        def step(k: Any, ta: Any, *v: Any) -> Any:
            v = self._after(v, body)
            return [k + 1, ta.write(LENGTH - 1 - k if how == "back" else k, v[source]), *v]

        _, ta, *v = tf.while_loop(lambda k, *_: k < LENGTH, step, [0, ta, *self.v])
        if how == "stack":
            total = tf.reduce_sum(ta.stack(), 0)
            v[target] = total if _whole(total) else total * 0.25
        else:
            v[target] = ta.read(0) - ta.read(LENGTH - 1) + ta.read(LENGTH // 2)
        v[target].set_shape(self.v[target].shape)
        self.v = v


def _sum(x: Any) -> Any:
    return x if x.shape.ndims == 0 else tf.reduce_sum(x)


def kinds_of(seed: int) -> str:
    """Half of the programs are over integers, most others over scalars; every twentieth over all kinds."""
    rng = random.Random(-seed)
    return "iii" if seed % 2 else "".join(rng.choice("ifvm" if seed % 20 == 10 else "if") for _ in range(N))


def mixed(seed: int, kinds: str) -> tuple[Any, list[Any], list[Any]]:
    """(graph, fetches, expected) of a program nested to depth 3, in a loop of one iteration.

    Nothing is compiled for scalars there.
    """
    rng = random.Random(seed)
    program = block(rng, kinds, 3, 4)
    start = [KINDS[k](rng) for k in kinds]
    wanted = Eager(list(start)).run(program)
    graph = tf.Graph()
    with graph.as_default():
        values = [tf.constant(x) for x in start]
        found = tf.while_loop(lambda k, *v: k < 1, lambda k, *v: [k + 1, *Symbolic(list(v)).run(program)], [0, *values])
    return graph, list(found[1:]), wanted


def vectors(seed: int) -> tuple[Any, list[Any], list[Any], list[Any]]:
    """(graph, fetches, expected, gradients by the inputs) of a program over vectors of doubles."""
    rng = random.Random(seed)
    program = block(rng, "vvv", 2)
    start = [np.round(np.random.default_rng(seed + i).uniform(-1, 1, 2), 3) for i in range(N)]
    wanted = Eager(list(start)).run(program)
    graph = tf.Graph()
    with graph.as_default():
        inputs = [tf.constant(x) for x in start]
        found = Symbolic(list(inputs)).run(program)
        ends = [tf.reduce_sum(x) for x in found]
        grads = [tf.zeros_like(x) if g is None else g for x, g in zip(inputs, tf.gradients(ends, inputs), strict=True)]
    return graph, [*found, *grads], wanted, [program, start]


def slope(program: Any, start: list[Any], i: int, k: int, step: float = 1e-6) -> float:
    """The numerical derivative of the sum of all results by element k of input i."""
    ends = []
    for sign in (1, -1):
        moved = [np.array(x) for x in start]
        moved[i][k] += sign * step
        ends.append(sum(float(x.sum()) for x in Eager(moved).run(program)))
    return (ends[0] - ends[1]) / (2 * step)


def same(found: list[Any], wanted: list[Any]) -> bool:
    """Integers exactly, floats but for rounding: of float32, where values of that may have been cast to others."""
    doubles = all(b.dtype == np.float64 for b in wanted)
    for a, b in zip(found, wanted, strict=True):
        a = np.asarray(a)
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        tolerance = 0 if _whole(b) else 1e-9 if doubles else 2e-4
        if not np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True):
            return False
    return True


def gradients_hold(seed: int) -> bool:
    """Values and gradients of a program over vectors; a step over a branch's boundary is tried smaller."""
    graph, fetches, wanted, (program, start) = vectors(seed)
    with tf.Session(graph=graph) as session:
        found = session.run(fetches)

    def near(grad: float, i: int, k: int) -> bool:
        slopes = (slope(program, start, i, k, step) for step in (1e-6, 1e-7, 1e-5))
        return any(abs(grad - s) <= 1e-4 * max(1.0, abs(s)) for s in slopes)

    return same(found[:N], wanted) and all(near(float(found[N + i][k]), i, k) for i in range(N) for k in range(2))


def dealt_as_one(seed: int) -> bool:
    """Does a program whose nodes are dealt out give to the bit what one device gives, and what it should?"""
    with_gradients = seed % 20 == 0
    graph, fetches, wanted = vectors(seed)[:3] if with_gradients else mixed(seed, kinds_of(seed))
    options = tf.GraphOptions(placement=f"random:{seed}")
    found = []
    for config in (tf.ConfigProto(graph_options=options), tf.ConfigProto(device_count={"CPU": 1})):
        with tf.Session(graph=graph, config=config) as session:
            found.append([np.asarray(x) for x in session.run(fetches)])
    equal = all(a.dtype == b.dtype and a.tobytes() == b.tobytes() for a, b in zip(*found, strict=True))
    return equal and same(found[0][:N], wanted)


def holds(seed: int, where: str) -> bool:
    """Does the program of that seed give what it should? Of every twentieth the gradients too."""
    if where:
        return dealt_as_one(seed)
    if seed % 20 == 0:
        return gradients_hold(seed)
    graph, fetches, wanted = mixed(seed, kinds_of(seed))
    with tf.Session(graph=graph) as session:
        return same(session.run(fetches), wanted)


def try_all(fine: Callable[[int, str], bool], general: int, first: int, count: int, where: str = "") -> None:
    """Tells which of the programs `first`, `first` + 1, ... differ; every `general`-th runs by the general executor."""
    warnings.simplefilter("ignore")
    differ, begin = [], time.monotonic()
    sys.path.insert(0, str(Path(__file__).parents[2] / "support"))
    end = importlib.import_module("targets").Target(where).install()
    for n, seed in enumerate(range(first, first + count), 1):
        os.environ["TFNB_FAST_LOOPS"] = "0" if seed % general == 1 else "1"
        if not fine(seed, where):
            differ.append(seed)
        if n % 100 == 0 or n == count:
            sys.stdout.write(f"{n} programs in {time.monotonic() - begin:.0f} s, different: {differ}\n")
            sys.stdout.flush()
    end()


if __name__ == "__main__":
    try_all(holds, 5, int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
