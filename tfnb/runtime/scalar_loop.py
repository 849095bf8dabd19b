"""Loops over scalars alone become one function (white paper, section 4.4).

Where every step of a loop computes scalars on the host, condition and body are written as one Python function, so an
iteration costs what its arithmetic costs. It comes back now and then, for deadlines and cancellation. Invariant: the
values are those of the steps one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfnb.runtime.scalars import PyCode, ScalarKernel, number_of

__all__ = ["ScalarLoop"]

_ROUND = 4096  # iterations between two looks at deadlines


class ScalarLoop:
    """`before` and `body` are lists of (kernel, input registers, output registers).

    `taken` and `following` are pairs of registers, as in `linear.LoopKernel`; `entered` are the registers that have a
    value at the start.
    """

    def __init__(
        self,
        entered: Sequence[int],
        before: Sequence[tuple[ScalarKernel, Sequence[int], Sequence[int]]],
        pred: int,
        taken: Sequence[tuple[int, int]],
        body: Sequence[tuple[ScalarKernel, Sequence[int], Sequence[int]]],
        following: Sequence[tuple[int, int]],
        results: Sequence[int],
    ) -> None:
        code = PyCode()
        names = {r: code.fresh() for r in entered}
        self.entered = tuple(entered)
        head = self._write(code, before, names)
        stop = names[pred]
        inside = dict(names)
        for source, target in taken:
            inside[target] = inside[source]
        tail = self._write(code, body, inside)
        moved = [(names[target], inside[source]) for source, target in following]
        targets, sources = ", ".join(t for t, _ in moved), ", ".join(s for _, s in moved)
        given = ", ".join(names[r] for r in entered)
        out = ", ".join(names[r] for r in results)
        text = (
            f"def run(rounds, {given}):\n    while True:\n{head}"
            f"        if not {stop}: return True, ({out},)\n"
            f"        if not rounds: return False, ({given},)\n        rounds -= 1\n{tail}"
            f"        {targets} = {sources}\n"
        )
        self._run = code.build(text)

    @staticmethod
    def _write(code: PyCode, steps: Any, names: dict[int, str]) -> str:
        code.lines.clear()
        for kernel, inputs, outputs in steps:
            given = iter(inputs)
            args = [
                "" if i in kernel.constants else names[next(given)] for i in range(len(kernel.dtypes))
            ]
            names.update(zip(outputs, kernel.write(code, args), strict=False))
        return "".join(f"        {line}\n" for line in code.lines)

    def run(self, values: Sequence[Any], check: Callable[[], None] | None) -> list[np.ndarray]:
        """`values` are those of `entered`; the results as arrays."""
        numbers = [number_of(v) for v in values]
        with np.errstate(all="ignore"):
            while True:
                if check is not None:
                    check()
                done, numbers = self._run(_ROUND, *numbers)
                if done:
                    return list(numbers)
