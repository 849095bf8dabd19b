"""The form of a loop that runs without a propagator: steps over numbered registers (OSDI'16, section 3.4).

In each iteration the steps of the condition run. If the condition is true, the steps of the body run next, and then
each loop variable takes its value for the next iteration. Invariant: at most one step writes a register, and a register
is read only after it was written.
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
    """A loop as one kernel. `check` raises if the step must stop."""

    def run(
        self, inputs: Sequence[Value], recorder: StepStats | None = None, check: Check | None = None
    ) -> Sequence[Value]: ...


@dataclass(slots=True)
class LoopStep:
    """A node of the loop, or a loop inside it. `inputs` and `outputs` are registers.

    A CLUSTER or HOST node has a `kernel`, and a LOOP has a `loop`. SWITCH and MERGE belong to branches. NO_OP and
    CONTROL_TRIGGER have no values. `may_be_dead` says whether an input can be dead. `control` are the registers that
    say whether a control input is dead. `flag` is the register that says whether this step is dead, or -1 if no step
    reads it. `last` are the registers whose values are not needed after the step.
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
    """A variable of a loop. Its first value is input `place` of the loop.

    `register` has its value, and `next_iteration` is the register of its value for the next iteration.
    """

    place: int
    register: int
    next_iteration: int


@dataclass
class LoopForm:
    """A loop as steps over registers.

    `constants` are pairs (number of a loop input, register) for the inputs that are the same in all iterations. The
    loop continues while the register `predicate` is true. `results` are the registers of its outputs, which are read
    when the loop ends. `nodes` are the graph nodes by their index in the plan; messages name them.
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
        """All steps: those of the condition, then those of the body."""
        return (*self.condition, *self.body)

    @cached_property
    def scalar_types(self) -> Mapping[int, np.dtype]:
        """The dtypes of scalars that the host computes, and of loop variables with such values, by register."""
        dtypes: dict[int, np.dtype] = {}
        for step in self.steps:
            if isinstance(step.kernel, ScalarKernel):
                dtypes.update(zip(step.outputs, (s.dtype.np for s in step.kernel.node.specs), strict=False))
        for _ in self.variables:  # a variable may take its next value from another variable
            dtypes.update({v.register: dtypes[v.next_iteration] for v in self.variables if v.next_iteration in dtypes})
        return dtypes

    @cached_property
    def is_scalar(self) -> bool:
        """Whether the loop computes only scalars, all of them on the host."""
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
        """Whether the loop can be written as a Python function.

        A loop with a step that may be dead cannot, because only the interpreter handles dead values.
        """
        return not any(s.may_be_dead or s.kind in (PlanKind.SWITCH, PlanKind.MERGE) for s in self.steps)

    def _note_last_uses(self) -> None:
        test = ((self.predicate, *self.results), ())
        move = ([v.next_iteration for v in self.variables], [v.register for v in self.variables])
        uses = [*map(_uses, self.condition), test, *map(_uses, self.body), move]
        freed_registers = last_uses(uses, [r for _, r in self.constants] + [v.register for v in self.variables])
        del freed_registers[len(self.condition)], freed_registers[-1]  # those of the test and of the move
        for step, registers in zip(self.steps, freed_registers, strict=True):
            step.last = registers


def _uses(step: LoopStep) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The registers that a step reads, and those that it writes."""
    flag = () if step.flag < 0 else (step.flag,)
    return (*step.inputs, *step.control), (*step.outputs, *flag)
