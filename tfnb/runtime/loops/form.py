"""The form of a loop that runs without a propagator: steps over numbered registers (OSDI'16, section 3.4).

In each iteration the steps of the condition run, then, if it holds, those of the body; then each loop variable takes
its value of the next iteration. Invariant: a register is written by one step at most, and read after it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from tfnb.ir.step_graph.graph import Node
from tfnb.ir.step_graph.order import last_uses
from tfnb.runtime.loops.scalars import ScalarKernel
from tfnb.runtime.plan import PlanKind
from tfnb.runtime.stats import StepStats
from tfnb.runtime.values import Value

__all__ = ["Check", "ImmediateKernel", "InnerLoop", "LoopForm", "LoopStep", "LoopVariable"]

Check = Callable[[], None]
"""Raises when the step shall stop."""


class ImmediateKernel(Protocol):
    """A kernel that has its outputs when `run` returns."""

    def run(self, inputs: Sequence[Value], recorder: StepStats | None = None) -> Sequence[Value]: ...


class InnerLoop(Protocol):
    """A loop as one kernel. `check` raises when the step shall stop."""

    def run(
        self, inputs: Sequence[Value], recorder: StepStats | None = None, check: Check | None = None
    ) -> Sequence[Value]: ...


@dataclass(slots=True)
class LoopStep:
    """A node of the loop, or a loop inside it; `inputs` and `outputs` are registers.

    A CLUSTER or HOST node has a `kernel`, a LOOP a `loop`; SWITCH and MERGE are those of branches, and NO_OP and
    CONTROL_TRIGGER have no values. `may_be_dead`: an input can be dead. `control`: the registers that tell whether a
    control input is dead; `flag`: the one that tells it of this step (-1: nobody asks). `last`: registers whose values
    nobody needs after the step.
    """

    kind: PlanKind
    node: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    kernel: ImmediateKernel | None = None
    loop: InnerLoop | None = None
    may_be_dead: bool = False
    control: tuple[int, ...] = ()
    flag: int = -1
    last: tuple[int, ...] = ()


class LoopVariable(NamedTuple):
    """Starts as input `place` of the loop; is in `register`; `next_iteration` is the register of its next value."""

    place: int
    register: int
    next_iteration: int


@dataclass
class LoopForm:
    """`constants` are pairs (place among the loop's inputs, register) of what is the same in all iterations.

    The loop goes on while `predicate` is true; `results` are the registers of its outputs, read when it ends. `nodes`
    are the graph's nodes, by their place in the plan, for messages.
    """

    name: str
    n_registers: int
    constants: tuple[tuple[int, int], ...]
    variables: tuple[LoopVariable, ...]
    condition: tuple[LoopStep, ...]
    predicate: int
    body: tuple[LoopStep, ...]
    results: tuple[int, ...]
    nodes: Mapping[int, Node] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._note_last_uses()

    @property
    def steps(self) -> tuple[LoopStep, ...]:
        return (*self.condition, *self.body)

    @cached_property
    def scalar_types(self) -> Mapping[int, np.dtype]:
        """Register -> dtype, of the scalars that the host computes, and of loop variables that take their values."""
        found: dict[int, np.dtype] = {}
        for step in self.steps:
            if isinstance(step.kernel, ScalarKernel):
                found.update(zip(step.outputs, (s.dtype.np for s in step.kernel.node.specs), strict=False))
        for _ in self.variables:  # a variable may take its next value from another variable
            found.update({v.register: found[v.next_iteration] for v in self.variables if v.next_iteration in found})
        return found

    @cached_property
    def is_scalar(self) -> bool:
        """Does the loop compute nothing but scalars on the host?"""
        constant = {r for _, r in self.constants}
        return (
            self.has_code
            and bool(self.variables)
            and all(isinstance(step.kernel, ScalarKernel) for step in self.steps)
            and all(v.register in self.scalar_types for v in self.variables)
            and all(r in self.scalar_types or r in constant for r in self.results)
        )

    @property
    def has_code(self) -> bool:
        """Can the loop be written as Python? Not where a step may be dead: there the interpreter decides."""
        return not any(s.may_be_dead or s.kind in (PlanKind.SWITCH, PlanKind.MERGE) for s in self.steps)

    def _note_last_uses(self) -> None:
        test = ((self.predicate, *self.results), ())
        move = ([v.next_iteration for v in self.variables], [v.register for v in self.variables])
        uses = [*map(_uses, self.condition), test, *map(_uses, self.body), move]
        last = last_uses(uses, [r for _, r in self.constants] + [v.register for v in self.variables])
        del last[len(self.condition)], last[-1]  # the test's and the move's
        for step, registers in zip(self.steps, last, strict=True):
            step.last = registers


def _uses(step: LoopStep) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Registers that a step reads and writes."""
    flag = () if step.flag < 0 else (step.flag,)
    return (*step.inputs, *step.control), (*step.outputs, *flag)
