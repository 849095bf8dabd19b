"""Loops written as one Python function: steps become its statements, registers its variables (OSDI'16, section 3.4).

Counters and conditions are plain numbers there, made into arrays only for kernels that read them; a value is let go of
after its last reader. Loops with branches inside stay lists of steps. Invariant: the values are those of the steps one
by one, and an error names the node whose step raised it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tfnb.runtime.kernels import reraise
from tfnb.runtime.loop_steps import CALL, COPY, LOOP, TRIGGER, LoopStep
from tfnb.runtime.scalars import PyCode, ScalarKernel, number_of
from tfnb.runtime.values import Value, truth

__all__ = ["write_loop"]

Run = Callable[[Sequence[Value], "Callable[[], None] | None"], list[Value]]
_PLAIN = (CALL, COPY, TRIGGER, LOOP)


def write_loop(loop: Any) -> Run | None:
    """A `linear.LoopKernel` as a function of its inputs and of what raises when the step shall stop.

    None where a node of the loop can be dead, or a value enters it in two places.
    """
    steps = (*loop.before, *loop.body)
    entered = [r for _, r in (*loop.constants, *loop.begin)]
    if any(s.risky or s.code not in _PLAIN for s in steps) or len(set(entered)) != len(entered):
        return None
    return _Writer(loop).function()


class _Statement(NamedTuple):
    """`reads` and `writes` are names of values, which hold memory; numbers are not among them."""

    text: str
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


class _Writer:
    """A register's value has a name in `values`, its number one in `numbers`, or both."""

    def __init__(self, loop: Any) -> None:
        self.loop = loop
        self.code = PyCode()
        self.code.names.update(truth=truth, number_of=number_of, array=np.array, blamed=self._blamed)
        self.values: dict[int, str] = {}
        self.numbers: dict[int, str] = {}
        self.dtypes: dict[int, Any] = {}  # of registers with numbers
        self.lasting: set[str] = set()  # constants' values, which every iteration reads
        self.turning: list[str] = []  # loop variables' values
        self.counting: dict[int, str] = {}  # loop variables that are numbers
        self.head: list[str] = []
        self.statements: list[_Statement] = []

    def _blamed(self, error: Exception, node: int) -> None:
        if node < 0:  # of a value that a device was still computing
            raise error
        reraise(error, self.loop.nodes.get(node) or self.loop.node)

    def function(self) -> Run:
        loop = self.loop
        self._enter()
        for step in loop.before:
            self._step(step)
        self._leave()
        for source, target in loop.taken:
            self._alias(source, target)
        for step in loop.body:
            self._step(step)
        self._move()
        body = "".join(f"            {line}\n" for line in _with_frees(self.statements, {*self.lasting, *self.turning}))
        head = "".join(f"    {line}\n" for line in self.head)
        text = (
            f"def run(inputs, check):\n{head}    while True:\n        if check is not None: check()\n"
            f"        try:\n            at = -1\n{body}"
            f"        except Exception as e:\n            blamed(e, at)\n"
        )
        found: Run = self.code.build(text)
        return found

    # what comes in

    def _enter(self) -> None:
        """Constants and loop variables; those that scalar kernels make and read are numbers from the start."""
        loop = self.loop
        for k, r in loop.constants:
            self.values[r] = self._named(r)
            self.lasting.add(self.values[r])
            self.head.append(f"{self.values[r]} = inputs[{k}]")
        made = self._dtypes_of_scalars()
        read = {r for s in (*loop.before, *loop.body) if _is_scalar(s) for r in s.inputs}
        following = {m: source for source, m in loop.following}
        doors: dict[int, list[int]] = {}
        for source, target in loop.taken:
            doors.setdefault(source, []).append(target)
        for k, m in loop.begin:
            dtype = made.get(following[m])
            if dtype is not None and any(r in read for r in (m, *doors.get(m, ()))):
                self.numbers[m] = self.counting[m] = self.code.fresh()
                self.dtypes[m] = dtype
                self.head.append(f"{self.numbers[m]} = number_of(inputs[{k}])")
            else:
                self.values[m] = self._named(m)
                self.turning.append(self.values[m])
                self.head.append(f"{self.values[m]} = inputs[{k}]")

    def _dtypes_of_scalars(self) -> dict[int, Any]:
        """By register, the dtypes of what scalar kernels make."""
        found: dict[int, Any] = {}
        for step in (*self.loop.before, *self.loop.body):
            if _is_scalar(step):
                specs = step.run.__self__.node.specs
                found.update(zip(step.outputs, (s.dtype.np for s in specs), strict=False))
        return found

    @staticmethod
    def _named(register: int) -> str:
        return f"r{register}"

    # statements

    def _add(self, text: str, reads: Iterable[str] = (), writes: Iterable[str] = ()) -> None:
        self.statements.append(_Statement(text, tuple(reads), tuple(writes)))

    def _step(self, step: LoopStep) -> None:
        if step.code == COPY:
            for source, target in zip(step.inputs, step.outputs, strict=False):
                self._alias(source, target)
        elif _is_scalar(step):
            self._scalar(step)
        elif step.code != TRIGGER:
            self._call(step)

    def _alias(self, source: int, target: int) -> None:
        for names in (self.values, self.numbers, self.dtypes):
            if source in names:
                names[target] = names[source]
            else:
                names.pop(target, None)

    def _scalar(self, step: LoopStep) -> None:
        kernel: ScalarKernel = step.run.__self__
        given = [self._number(r) for r in step.inputs]
        self._add(f"at = {step.node}")
        if kernel.quiet:
            self.code.lines.clear()
            rest = iter(given)
            args = ["" if i in kernel.constants else next(rest) for i in range(len(kernel.dtypes))]
            made = kernel.write(self.code, args)
            for line in self.code.lines:
                self._add(line)
        else:
            made = [self.code.fresh() for _ in step.outputs]
            self._add(f"{', '.join(made)}, = {self.code.constant(kernel.numbers)}({', '.join(given)})")
        for r, name, spec in zip(step.outputs, made, kernel.node.specs, strict=False):
            self.values.pop(r, None)
            self.numbers[r], self.dtypes[r] = name, spec.dtype.np

    def _call(self, step: LoopStep) -> None:
        given = [self._value(r) for r in step.inputs]
        run = self.code.constant(step.run)
        more = "None, check" if step.code == LOOP else "None"
        made = [self._named(r) for r in step.outputs]
        self._add(f"at = {step.node}")
        text = f"{run}([{', '.join(given)}], {more})"
        self._add(f"{', '.join(made)}, = {text}" if made else text, given, made)
        for r, name in zip(step.outputs, made, strict=True):
            self.numbers.pop(r, None)
            self.values[r] = name

    def _number(self, r: int) -> str:
        """The name of a register's number, taken out of its value where there is none yet."""
        if r not in self.numbers:
            name, value = self.code.fresh(), self.values[r]
            if value in self.lasting:
                self.head.append(f"{name} = number_of({value})")
            else:
                self._add(f"{name} = number_of({value})", (value,))
            self.numbers[r] = name
        return self.numbers[r]

    def _value(self, r: int) -> str:
        """The name of a register's value, made of its number where there is none yet."""
        if r not in self.values:
            name = f"a{r}"
            dtype = self.code.constant(self.dtypes[r])
            self._add(f"{name} = array({self.numbers[r]}, {dtype})", (), (name,))
            self.values[r] = name
        return self.values[r]

    # the ends of the condition and of the body

    def _leave(self) -> None:
        loop = self.loop
        pred = self.numbers.get(loop.pred)
        test, held = pred, list[str]()
        if test is None:
            held.append(self.values[loop.pred])
            test = f"truth({held[0]})"
        results = []
        self._add("at = -1")
        for r in loop.results:
            if r in self.values:
                results.append(self.values[r])
                held.append(self.values[r])
            else:
                results.append(f"array({self.numbers[r]}, {self.code.constant(self.dtypes[r])})")
        self._add(f"if not {test}: return [{', '.join(results)}]", held)

    def _move(self) -> None:
        """Loop variables take their values of the next iteration; nothing else keeps those."""
        loop = self.loop
        targets, sources, held = [], [], []
        for source, m in loop.following:
            if m in self.counting:
                sources.append(self._number(source))
                targets.append(self.counting[m])
            else:
                sources.append(self._value(source))
                held.append(sources[-1])
                targets.append(self._named(m))
        if targets:
            self._add(f"{', '.join(targets)}, = {', '.join(sources)},", held, self.turning)


def _is_scalar(step: LoopStep) -> bool:
    return step.code == CALL and isinstance(getattr(step.run, "__self__", None), ScalarKernel)


def _with_frees(statements: Sequence[_Statement], lasting: set[str]) -> list[str]:
    """The statements' texts, and after the last reader of a value one that lets go of it.

    `lasting` are the names whose values the next iteration reads.
    """
    live = set(lasting)
    lines: list[str] = []
    for s in reversed(statements):
        touched = dict.fromkeys((*s.reads, *s.writes))
        gone = [name for name in touched if name not in live]
        if gone:
            lines.append(f"{' = '.join(gone)} = None")
        lines.append(s.text)
        live.difference_update(s.writes)
        live.update(s.reads)
    return lines[::-1]
