"""Loops written as one Python function: steps become its statements, registers its variables (OSDI'16, section 3.4).

Counters and conditions are plain numbers there, made into arrays only for kernels that read them; a value is let go of
after its last reader. A loop of scalars is written by the same code and looks at deadlines only now and then, so an
iteration costs what its arithmetic costs. Invariant: the values are those of the steps one by one, and an error names
the node whose step raised it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tfnb.ir.step_graph.order import last_uses
from tfnb.runtime.kernels import reraise
from tfnb.runtime.loops.form import Check, ImmediateKernel, InnerLoop, LoopForm, LoopStep
from tfnb.runtime.loops.scalars import PyCode, ScalarKernel, number_of
from tfnb.runtime.values import Value, truth

__all__ = ["LoopFunction", "write_loop"]

LoopFunction = Callable[[Sequence[Value], "Check | None"], list[Value]]
_ROUND = 4096  # iterations of a loop of scalars between two looks at deadlines and cancellations


def write_loop(form: LoopForm) -> LoopFunction:
    """The loop as a function of its inputs and of what raises when the step shall stop; `form.has_code` must hold."""
    return _Writer(form).function()


class _Statement(NamedTuple):
    """`reads` and `writes` are names of values, which hold memory; numbers are not among them."""

    text: str
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


class _Writer:
    """A register's value has a name in `values`, its number one in `numbers`, or both."""

    def __init__(self, form: LoopForm) -> None:
        self.form = form
        self.code = PyCode()
        self.code.names.update(truth=truth, number_of=number_of, array=np.array, blamed=self._blamed)
        self.values: dict[int, str] = {}
        self.numbers: dict[int, str] = {}
        self.constants: set[str] = set()  # names of values that every iteration reads
        self.variables: list[str] = []  # names of loop variables that are values
        self.counters: dict[int, str] = {}  # register -> name, of loop variables that are numbers
        self.head: list[str] = []
        self.statements: list[_Statement] = []

    def _blamed(self, error: Exception, node: int) -> None:
        if node < 0:  # of a value that a device was still computing, or of `check`
            raise error
        reraise(error, self.form.nodes.get(node))

    def function(self) -> LoopFunction:
        form = self.form
        self._enter()
        for step in form.condition:
            self._step(step)
        self._leave()
        for step in form.body:
            self._step(step)
        self._move()
        lines = _with_frees(self.statements, {*self.constants, *self.variables})
        if form.is_scalar:
            lines = [f"for _ in range({_ROUND}):", *_indented(lines)]
        loop = ["while True:", *_indented(["at = -1", "if check is not None: check()", *lines])]
        if form.is_scalar:
            loop = ["with np.errstate(all='ignore'):", *_indented(loop)]
        body = [*self.head, "try:", *_indented(loop), "except Exception as e:", "    blamed(e, at)"]
        text = "\n".join(["def run(inputs, check):", *_indented(body), ""])
        found: LoopFunction = self.code.build(text)
        return found

    # what comes in

    def _enter(self) -> None:
        """Constants and loop variables; those that scalar kernels make and read are numbers from the start."""
        form = self.form
        for place, r in form.constants:
            self.values[r] = f"r{r}"
            self.constants.add(self.values[r])
            self.head.append(f"{self.values[r]} = inputs[{place}]")
        read = {r for s in form.steps if isinstance(s.kernel, ScalarKernel) for r in s.inputs}
        for v in form.variables:
            if v.register in form.scalar_types and (form.is_scalar or v.register in read):
                self.numbers[v.register] = self.counters[v.register] = self.code.fresh()
                self.head.append(f"{self.numbers[v.register]} = number_of(inputs[{v.place}])")
            else:
                self.values[v.register] = f"r{v.register}"
                self.variables.append(self.values[v.register])
                self.head.append(f"{self.values[v.register]} = inputs[{v.place}]")

    # statements

    def _add(self, text: str, reads: Iterable[str] = (), writes: Iterable[str] = ()) -> None:
        self.statements.append(_Statement(text, tuple(reads), tuple(writes)))

    def _step(self, step: LoopStep) -> None:
        if isinstance(step.kernel, ScalarKernel):
            self._scalar(step, step.kernel)
        elif step.kernel is not None:
            self._call(step, step.kernel, "None")
        elif step.loop is not None:
            self._call(step, step.loop, "None, check")

    def _scalar(self, step: LoopStep, kernel: ScalarKernel) -> None:
        given = [self._number(r) for r in step.inputs]
        if not self.form.is_scalar:
            self._add(f"at = {step.node}")
        if kernel.quiet or self.form.is_scalar:
            self.code.lines.clear()
            rest = iter(given)
            args = ["" if i in kernel.constants else next(rest) for i in range(len(kernel.dtypes))]
            made = kernel.write(self.code, args)
            for line in self.code.lines:
                self._add(line)
        else:
            made = [self.code.fresh() for _ in step.outputs]
            self._add(f"{', '.join(made)}, = {self.code.constant(kernel.numbers)}({', '.join(given)})")
        self.numbers.update(zip(step.outputs, made, strict=False))

    def _call(self, step: LoopStep, kernel: ImmediateKernel | InnerLoop, more: str) -> None:
        given = [self._value(r) for r in step.inputs]
        run = self.code.constant(kernel.run)
        made = [f"r{r}" for r in step.outputs]
        self._add(f"at = {step.node}")
        text = f"{run}([{', '.join(given)}], {more})"
        self._add(f"{', '.join(made)}, = {text}" if made else text, given, made)
        self.values.update(zip(step.outputs, made, strict=True))

    def _number(self, r: int) -> str:
        """The name of a register's number, taken out of its value where there is none yet."""
        if r not in self.numbers:
            name, value = self.code.fresh(), self.values[r]
            if value in self.constants:
                self.head.append(f"{name} = number_of({value})")
            else:
                self._add(f"{name} = number_of({value})", (value,))
            self.numbers[r] = name
        return self.numbers[r]

    def _value(self, r: int) -> str:
        """The name of a register's value, made of its number where there is none yet."""
        if r not in self.values:
            name = f"a{r}"
            self._add(f"{name} = {self._array(r)}", (), (name,))
            self.values[r] = name
        return self.values[r]

    def _array(self, r: int) -> str:
        return f"array({self.numbers[r]}, {self.code.constant(self.form.scalar_types[r])})"

    # the ends of the condition and of the body

    def _leave(self) -> None:
        form = self.form
        test = self.numbers.get(form.predicate)
        held = []
        if test is None:
            held.append(self.values[form.predicate])
            test = f"truth({held[0]})"
        results = []
        if not form.is_scalar:
            self._add("at = -1")
        for r in form.results:
            if r in self.values:
                results.append(self.values[r])
                held.append(self.values[r])
            else:
                results.append(self._array(r))
        self._add(f"if not {test}: return [{', '.join(results)}]", held)

    def _move(self) -> None:
        """Loop variables take their values of the next iteration; nothing else keeps those."""
        targets, sources, held = [], [], []
        for v in self.form.variables:
            if v.register in self.counters:
                sources.append(self._number(v.next_iteration))
                targets.append(self.counters[v.register])
            else:
                sources.append(self._value(v.next_iteration))
                held.append(sources[-1])
                targets.append(f"r{v.register}")
        if targets:
            comma = "," if len(targets) > 1 else ""
            self._add(f"{', '.join(targets)}{comma} = {', '.join(sources)}{comma}", held, self.variables)


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _with_frees(statements: Sequence[_Statement], live: set[str]) -> list[str]:
    """The statements' texts, and after the last reader of a value one that lets go of it.

    `live` are the names whose values the next iteration reads.
    """
    lines: list[str] = []
    for s, last in zip(statements, last_uses([(s.reads, s.writes) for s in statements], live), strict=True):
        lines.append(s.text)
        if last:
            lines.append(f"{' = '.join(last)} = None")
    return lines
