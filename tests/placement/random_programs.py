"""Random programs with all that a partition must cut: several outputs, control edges, state, branches, nested loops.

They are built by the public API alone, so that scripts/same_results.py can run them against an older tfnb too.
"""

from __future__ import annotations

import random
from typing import Any

import tfnb as tf

SHAPE = [4]


class Build:
    """Whole numbers, so that results are equal to the bit whatever is fused with what."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.last: Any = None  # of what touches state: it stays in order

    def graph(self) -> tuple[tf.Graph, list[Any], Any]:
        """(graph, fetches, initializer)."""
        rng = self.rng
        with tf.Graph().as_default() as graph:
            self.state = [tf.Variable([k, 2, -k, 1], name=f"v{k}", dtype=tf.int32) for k in range(2)]
            start = tf.placeholder_with_default(tf.constant([1, -2, 3, 5]), SHAPE)
            found = self.values([start, tf.constant([2, 0, -1, 4])], rng.randint(4, 9), 2)
            ends = [rng.choice(found) for _ in range(3)]  # one may be fetched twice
            return (
                graph,
                [*ends, found[-1], *([self.last] if self.last is not None else [])],
                tf.group(*(v.initializer for v in self.state)),
            )

    def values(self, known: list[Any], n: int, depth: int, state: bool = True) -> list[Any]:
        found = list(known)
        kinds = ["sum", "sum", "split", "wait", *(["branch", "loop", "loop"] if depth else [])]
        for _ in range(n):
            kind = self.rng.choice([*kinds, *(["write", "write"] if state else [])])
            found.extend(getattr(self, kind)(found, depth))
        return found

    def sum(self, known: list[Any], _: int) -> list[Any]:
        x, y = self.rng.choice(known), self.rng.choice(known)
        return [tf.floormod(x * self.rng.randint(-3, 3) + y, 1009)]

    def split(self, known: list[Any], _: int) -> list[Any]:
        a, b = tf.split(self.rng.choice(known), 2)
        return [tf.concat(self.rng.choice([[a, b], [b, a], [a, a], [b, a + b]]), 0)]

    def wait(self, known: list[Any], _: int) -> list[Any]:
        with tf.control_dependencies([self.rng.choice(known), self.rng.choice(known)]):
            return [tf.identity(self.rng.choice(known)), tf.constant([7, 7, 7, self.rng.randint(0, 9)]) + 0]

    def write(self, known: list[Any], _: int) -> list[Any]:
        before = [] if self.last is None else [self.last]
        v = self.rng.choice(self.state)
        with tf.control_dependencies(before):
            written = tf.assign_add(v, self.rng.choice(known))
        with tf.control_dependencies([written]):
            self.last = tf.identity(self.rng.choice(self.state).read_value())
        return [self.last]

    def branch(self, known: list[Any], depth: int) -> list[Any]:
        test = tf.reduce_sum(self.rng.choice(known)) > self.rng.choice([-3, 0, 3, 10**6])
        before = self.rng.sample(known, min(len(known), 2))
        made = [self.rng.randrange(10**6) for _ in range(2)]

        def side(k: int) -> Any:
            return lambda: Build(made[k]).values(list(before), 3, depth - 1, state=False)[-1]

        return [tf.cond(test, side(0), side(1))]

    def loop(self, known: list[Any], depth: int) -> list[Any]:
        outside = self.rng.sample(known, min(len(known), 2))  # what does not change
        made, rounds = self.rng.randrange(10**6), self.rng.randint(0, 4)

        def body(i: Any, x: Any, y: Any) -> list[Any]:
            found = Build(made).values([x, y, *outside], 3, depth - 1, state=False)
            return [i + 1, found[-1], found[-2] + i]

        start = [tf.constant(0), self.rng.choice(known), self.rng.choice(known)]
        return list(
            tf.while_loop(lambda i, *_: i < rounds, body, start, parallel_iterations=self.rng.choice([1, 10]))[1:]
        )
