"""Random programs that read and assign variables in branches, loops and arrays, beside the values of `random_loops`.

Each statement that touches a variable runs under control dependencies on those before it, so that a program has one
meaning, which Python gives: `python tests/client/control_flow/random_state.py FIRST COUNT [devices:3]` compares that many.
"""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np
import random_loops
from random_loops import KINDS, LENGTH, Eager, N, Symbolic, combine, same

VARIABLES = 2  # variable k is of the kind of value k


def block(rng: random.Random, kinds: str, depth: int, size: int = 3) -> list[tuple[Any, ...]]:
    return [statement(rng, kinds, depth) for _ in range(rng.randint(1, size))]


def statement(rng: random.Random, kinds: str, depth: int) -> tuple[Any, ...]:
    simple = ["load", "store", "store"]
    kind = rng.choice([*simple, *simple, "set", "if", "while", "array"] if depth else [*simple, "set"])
    j = rng.randrange(VARIABLES)
    like = [i for i in range(N) if kinds[i] == kinds[j]]
    op, k = rng.choice("+-*x"), rng.randint(-3, 3)
    if kind == "load":
        return kind, rng.choice(like), op, rng.choice(like), j, k
    if kind == "store":
        return (
            kind,
            j,
            rng.choice(("assign", "assign_add", "assign_sub", "own")),
            op,
            rng.choice(like),
            rng.choice(like),
            k,
        )
    if kind in ("set", "array"):
        made = random_loops.statement(rng, kinds, 0)
        while kind == "array" and made[0] != "set":
            made = random_loops.statement(rng, kinds, 0)
        return made if kind == "set" else (kind, made[3], made[1], block(rng, kinds, depth - 1), "stack")
    i, bound = rng.randrange(N), rng.randint(-3, 3) + 0.25
    if kind == "if":
        return (
            kind,
            rng.random() < 0.5,
            j if rng.random() < 0.5 else i,
            bound,
            *(block(rng, kinds, depth - 1) for _ in "ab"),
        )
    return "loop", rng.randint(1, 3), j, bound, block(rng, kinds, depth - 1), rng.choice((1, 10))


class EagerState(Eager):
    """What a program means."""

    def __init__(self, values: list[Any], state: list[Any]) -> None:
        super().__init__(values)
        self.state = [np.asarray(x) for x in state]

    def do_load(self, target: int, op: str, a: int, j: int, k: int) -> None:
        x = self.v[a]
        self.v[target] = np.asarray(combine(np, op, x, self.state[j], x.dtype.type(k)))

    def do_store(self, j: int, how: str, op: str, a: int, b: int, k: int) -> None:
        x, old = self.v[a], self.state[j]
        new = np.asarray(combine(np, op, x, old if how == "own" else self.v[b], x.dtype.type(k)))
        self.state[j] = np.asarray({"assign_add": old + new, "assign_sub": old - new}.get(how, new))

    def do_if(self, of_state: bool, i: int, bound: float, then: Any, other: Any) -> None:
        x = (self.state if of_state and i < VARIABLES else self.v)[i]
        self.run(then if x > bound else other)

    def do_loop(self, rounds: int, j: int, bound: float, body: Any, _: int) -> None:
        k = 0
        while k < rounds and self.state[j] < bound:
            self.run(body)
            k += 1


class SymbolicState(Symbolic):
    """The same as a graph of `random_loops.tf`, which may be TensorFlow."""

    def __init__(self, values: list[Any], state: list[Any]) -> None:
        super().__init__(values)
        self.state = state
        self.before: list[Any] = []  # operations that the next one on a variable waits for

    @property
    def tf(self) -> Any:
        return random_loops.tf

    def do_load(self, target: int, op: str, a: int, j: int, k: int) -> None:
        with self.tf.control_dependencies(self.before):
            x = self.v[a]
            self.v[target] = combine(self.tf, op, x, self.state[j], self.tf.constant(k, x.dtype))
            self.before = [self.v[target].op]

    def do_store(self, j: int, how: str, op: str, a: int, b: int, k: int) -> None:
        with self.tf.control_dependencies(self.before):
            x, variable = self.v[a], self.state[j]
            new = combine(self.tf, op, x, variable if how == "own" else self.v[b], self.tf.constant(k, x.dtype))
            made = getattr(self.tf, "assign" if how == "own" else how)(variable, new)
            self.before = [made.op]

    def _after(self, values: Any, program: Any) -> list[Any]:
        inner = SymbolicState(list(values), self.state)
        found = inner.run(program)
        with self.tf.control_dependencies(inner.before):
            return [self.tf.identity(x) for x in found]

    def _then(self) -> None:
        self.before = [x.op for x in self.v]

    def do_if(self, of_state: bool, i: int, bound: float, then: Any, other: Any) -> None:
        values = list(self.v)
        with self.tf.control_dependencies(self.before):
            x = self.state[i] if of_state and i < VARIABLES else self.v[i]
            test = self.tf.cast(x, self.tf.float64) > self.tf.constant(bound, self.tf.float64)
            self.v = list(self.tf.cond(test, lambda: self._after(values, then), lambda: self._after(values, other)))
        self._then()

    def _loop(self, test: Any, values: list[Any], body: Any, parallel: int) -> list[Any]:
        with self.tf.control_dependencies(self.before):
            start = [self.tf.identity(x) if isinstance(x, self.tf.Tensor) else x for x in values]
            found = self.tf.while_loop(test, body, [self.tf.constant(0), *start], parallel_iterations=parallel)
        return list(found[1:])

    def _iterate(self, k: Any, v: Any, body: Any) -> tuple[Any, list[Any]]:
        found = self._after(v, body)
        with self.tf.control_dependencies([x.op for x in found]):
            return k + 1, found

    def do_loop(self, rounds: int, j: int, bound: float, body: Any, parallel: int) -> None:
        def test(k: Any, *_: Any) -> Any:
            small = self.tf.cast(self.state[j], self.tf.float64) < self.tf.constant(bound, self.tf.float64)
            return self.tf.logical_and(k < rounds, small)

        def step(k: Any, *v: Any) -> Any:
            following, found = self._iterate(k, v, body)
            return [following, *found]

        self.v = self._loop(test, self.v, step, parallel)
        self._then()

    def do_array(self, source: int, target: int, body: Any, how: str) -> None:
        def step(k: Any, ta: Any, *v: Any) -> Any:
            following, found = self._iterate(k, v, body)
            return [following, ta.write(k, found[source]), *found]

        ta = self.tf.TensorArray(self.v[source].dtype, size=LENGTH)
        ta, *v = self._loop(lambda k, *_: k < LENGTH, [ta, *self.v], step, 10)
        total = self.tf.reduce_sum(ta.stack(), 0)
        v[target] = total if v[target].dtype.is_integer else total * 0.25
        v[target].set_shape([])
        self.v = v
        self._then()


def program(seed: int) -> tuple[Any, list[Any], list[Any]]:
    """(statements, values, what the variables begin as) of scalars, nested to depth 3."""
    rng = random.Random(seed)
    kinds = "iii" if seed % 2 else "iff"[:: rng.choice((1, -1))]
    made = block(rng, kinds, 3, 4)
    return made, [KINDS[k](rng) for k in kinds], [KINDS[kinds[j]](rng) for j in range(VARIABLES)]


def expected(seed: int) -> list[Any]:
    statements, values, state = program(seed)
    eager = EagerState(values, state)
    return [*eager.run(statements), *eager.state]


def computed(seed: int, config: Any = None, **options: Any) -> list[Any]:
    """The values and variables after the program as a graph; `options` are those of tf.Variable."""
    tf = random_loops.tf
    statements, values, state = program(seed)
    with tf.Graph().as_default() as graph:
        variables = [tf.Variable(x, **options) for x in state]
        symbolic = SymbolicState([tf.constant(x) for x in values], variables)
        found = symbolic.run(statements)
        with tf.control_dependencies([*symbolic.before, *(x.op for x in found)]):
            ends = [*(tf.identity(x) for x in found), *(v.read_value() for v in variables)]
        init = tf.global_variables_initializer()
    with tf.Session(graph=graph, config=config) as session:
        session.run(init)
        return list(session.run(ends))


def holds(seed: int, where: str) -> bool:
    """Does the program of that seed give what it should?"""
    options = random_loops.tf.GraphOptions(placement=f"random:{seed}")
    config = random_loops.tf.ConfigProto(graph_options=options) if where else None
    return same(computed(seed, config), expected(seed))


if __name__ == "__main__":
    random_loops.try_all(holds, 3, int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
