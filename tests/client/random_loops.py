"""Random programs of assignments, conditionals, loops and arrays: built as a graph, and run by Python as they stand."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

import tfnb as tf

N = 3
LENGTH = 4  # of the array that loops write


def block(rng: random.Random, depth: int, size: int = 3) -> list[tuple[Any, ...]]:
    return [statement(rng, depth) for _ in range(rng.randint(1, size))]


def statement(rng: random.Random, depth: int) -> tuple[Any, ...]:
    kind = rng.choice(["set", "set", "if", "while", "array"] if depth else ["set"])
    if kind == "set":
        return kind, rng.randrange(N), rng.choice("+-*x"), rng.randrange(N), rng.randrange(N), rng.randint(-3, 3)
    if kind == "if":
        test = rng.randrange(N), rng.randint(-4, 4)
        return kind, *test, block(rng, depth - 1), block(rng, depth - 1)
    if kind == "while":
        return kind, rng.randint(0, 3), rng.randrange(N), rng.randint(-5, 5), block(rng, depth - 1), rng.choice((1, 10))
    return kind, rng.randrange(N), rng.randrange(N), block(rng, depth - 1)


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
        c = x.dtype.type(k)
        self.v[target] = {"+": x + y, "-": x - y + c, "*": x * c + y, "x": _small(x * y)}[op]

    def do_if(self, i: int, bound: int, then: Any, other: Any) -> None:
        self.run(then if self.v[i].sum() > bound else other)

    def do_while(self, rounds: int, i: int, stop: int, body: Any, _: int) -> None:
        k = 0
        while k < rounds and self.v[i].sum() != stop:
            self.run(body)
            k += 1

    def do_array(self, source: int, target: int, body: Any) -> None:
        written = []
        for _ in range(LENGTH):
            self.run(body)
            written.append(self.v[source])
        self.v[target] = written[0] - written[-1] + written[LENGTH // 2]


def _small(x: Any) -> Any:
    return x % 1000 if x.dtype.kind == "i" else np.sin(x)


class Symbolic(Eager):
    """The same as a graph."""

    def __init__(self, values: list[Any]) -> None:
        self.v = list(values)

    def do_set(self, target: int, op: str, a: int, b: int, k: int) -> None:
        x, y = self.v[a], self.v[b]
        c = tf.constant(k, x.dtype)
        small = tf.floormod(x * y, 1000) if x.dtype.is_integer else tf.sin(x * y)
        self.v[target] = {"+": x + y, "-": x - y + c, "*": x * c + y, "x": small}[op]

    def _after(self, values: Any, program: Any) -> list[Any]:
        return Symbolic(list(values)).run(program)

    def do_if(self, i: int, bound: int, then: Any, other: Any) -> None:
        before = list(self.v)
        test = _sum(self.v[i]) > bound
        self.v = tf.cond(test, lambda: self._after(before, then), lambda: self._after(before, other))

    def do_while(self, rounds: int, i: int, stop: int, body: Any, parallel: int) -> None:
        def test(k: Any, *v: Any) -> Any:
            return tf.logical_and(k < rounds, tf.not_equal(_sum(v[i]), stop))

        found = tf.while_loop(
            test, lambda k, *v: [k + 1, *self._after(v, body)], [0, *self.v], parallel_iterations=parallel
        )
        self.v = list(found[1:])

    def do_array(self, source: int, target: int, body: Any) -> None:
        ta = tf.TensorArray(self.v[0].dtype, size=LENGTH, clear_after_read=False)

        def step(k: Any, ta: Any, *v: Any) -> Any:
            v = self._after(v, body)
            return [k + 1, ta.write(k, v[source]), *v]

        _, ta, *v = tf.while_loop(lambda k, *_: k < LENGTH, step, [0, ta, *self.v])
        v[target] = ta.read(0) - ta.read(LENGTH - 1) + ta.read(LENGTH // 2)
        self.v = v


def _sum(x: Any) -> Any:
    return x if x.shape.dims == () else tf.reduce_sum(x)


def whole_numbers(seed: int) -> tuple[Any, list[Any], list[Any]]:
    """(graph, fetches, expected) of a program over integers, in a loop of one iteration: nothing is compiled for it."""
    rng = random.Random(seed)
    program = block(rng, 3, 4)
    start = [np.int32(rng.randint(-5, 5)) for _ in range(N)]
    wanted = Eager(list(start)).run(program)
    graph = tf.Graph()
    with graph.as_default():
        values = [tf.constant(x) for x in start]
        found = tf.while_loop(
            lambda k, *v: k < 1, lambda k, *v: [k + 1, *Symbolic(list(v)).run(program)], [0, *values]
        )
    return graph, list(found[1:]), wanted


def vectors(seed: int) -> tuple[Any, list[Any], list[Any], list[Any]]:
    """(graph, fetches, expected, gradients by the inputs) of a program over vectors of doubles."""
    rng = random.Random(seed)
    program = block(rng, 2)
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
