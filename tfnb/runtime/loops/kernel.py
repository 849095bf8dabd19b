"""A loop as one kernel, which interprets the form of the loop or runs a Python function that was generated from it.

The function is generated when the loop first runs without a recorder. With a recorder the form is interpreted, so that
each step has its own times, except in a loop of scalars, whose steps are too short to record. Invariant: values and
errors of both ways equal those of the propagator.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from tfnb.runtime.frames import DEAD
from tfnb.runtime.kernels import reraise
from tfnb.runtime.loops.codegen import LoopFunction, write_loop
from tfnb.runtime.loops.form import Check, LoopForm, LoopStep
from tfnb.runtime.plan import PlanKind
from tfnb.runtime.stats import StepStats
from tfnb.runtime.values import Value, index_value, truth

__all__ = ["LoopKernel"]

_SWITCH, _MERGE = PlanKind.SWITCH, PlanKind.MERGE


class LoopKernel:
    """Runs a loop. Its inputs are the inputs of the loop's Enters, and its outputs are the outputs of its Exits."""

    node = None  # errors of a loop name the node inside the loop instead
    expensive = False

    def __init__(self, form: LoopForm) -> None:
        self.form = form

    @cached_property
    def function(self) -> LoopFunction | None:
        """The loop as a Python function, or None if it must be interpreted."""
        return write_loop(self.form) if self.form.has_code else None

    def run(
        self, inputs: Sequence[Value], recorder: StepStats | None = None, check: Check | None = None
    ) -> list[Value]:
        """Runs all iterations and returns the outputs. `check` raises if the step must stop."""
        if recorder is None or self.form.is_scalar:
            function = self.function
            if function is not None:
                return function(inputs, check)
        return _interpret(self.form, inputs, recorder, check)


def _interpret(form: LoopForm, inputs: Sequence[Value], recorder: StepStats | None, check: Check | None) -> list[Value]:
    values: list[Any] = [None] * form.n_registers
    for place, r in form.constants:
        values[r] = inputs[place]
    for variable in form.variables:
        values[variable.register] = inputs[variable.place]
    while True:
        if check is not None:
            check()
        _run_steps(form, form.condition, values, recorder, check)
        if not truth(values[form.predicate]):
            return [values[r] for r in form.results]
        _run_steps(form, form.body, values, recorder, check)
        next_values = [values[v.next_iteration] for v in form.variables]
        for variable, value in zip(form.variables, next_values, strict=True):
            values[variable.register] = value


def _run_steps(
    form: LoopForm, steps: Sequence[LoopStep], values: list[Any], recorder: StepStats | None, check: Check | None
) -> None:
    """Runs the steps of one iteration. `values` are the values of the registers, which this function changes.

    A register is DEAD if its step was dead, and None if it has no value.
    """
    step = None
    try:
        for step in steps:
            inputs = [values[r] for r in step.inputs]
            if step.flag >= 0:
                values[step.flag] = None
            if step.may_be_dead and step.kind is not _MERGE and _is_dead(step, inputs, values):
                _kill(step, values)
            elif step.kernel is not None:
                for r, value in zip(step.outputs, step.kernel.run(inputs, recorder), strict=False):
                    values[r] = value
            elif step.loop is not None:
                for r, value in zip(step.outputs, step.loop.run(inputs, recorder, check), strict=False):
                    values[r] = value
            elif step.kind is _SWITCH:
                _switch(step, inputs, values)
            elif step.kind is _MERGE:
                _merge(step, inputs, values)
            for r in step.last:
                values[r] = None
    except Exception as e:
        assert step is not None
        reraise(e, form.nodes.get(step.node))


def _is_dead(step: LoopStep, inputs: list[Any], values: list[Any]) -> bool:
    return any(v is DEAD for v in inputs) or any(values[r] is DEAD for r in step.control)


def _kill(step: LoopStep, values: list[Any]) -> None:
    for r in step.outputs:
        values[r] = DEAD
    if step.flag >= 0:
        values[step.flag] = DEAD


def _switch(step: LoopStep, inputs: list[Any], values: list[Any]) -> None:
    value, predicate = inputs
    is_true = truth(predicate)
    when_false, when_true = step.outputs
    values[when_false], values[when_true] = (DEAD, value) if is_true else (value, DEAD)


def _merge(step: LoopStep, inputs: list[Any], values: list[Any]) -> None:
    for k, value in enumerate(inputs):
        if value is not DEAD:
            values[step.outputs[0]] = value
            values[step.outputs[1]] = index_value(k)
            return
    _kill(step, values)
