"""What a lesson asks for, and whether a document has it.

A lesson has goals, each a name that the document has to define, with its dtype, its shape and its value for some feeds.
How it is computed is free. Invariant: the first goal that is missed gives the hint, and of an error, a missing node, a
wrong dtype, shape or value, that which comes first in this order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from tfnb.client.variables.variable import Variable
from tfnb.errors import OpError
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.notebook.builder.building import plain_message
from tfnb.notebook.builder.document import Document
from tfnb.notebook.builder.drawing import tensor_of
from tfnb.notebook.builder.runs.sessions import BuilderSession

__all__ = ["Goal", "Lesson", "Verdict", "check"]

Kind = Literal["", "error", "missing", "dtype", "shape", "value"]
Run = Callable[[str, Mapping[str, Any]], Any]
"""Runs a name of the document with feeds by name, and returns its value."""


@dataclass(frozen=True)
class Goal:
    """One node of a lesson: `name`, what it has to be, and hints where it is something else.

    `shape` has None where any size is right. `wanted(feeds, run)` is the value for `feeds`; it may run other
    names of the document. For an operation, as one that trains, `succeeds(run, feeds)` says whether it does
    what it should.
    """

    name: str
    missing: str
    dtype: str = "float32"
    shape: tuple[int | None, ...] | None = None
    feeds: Mapping[str, Any] = field(default_factory=dict)
    wanted: Callable[[Mapping[str, Any], Run], Any] | None = None
    succeeds: Callable[[Run, Mapping[str, Any]], bool] | None = None
    wrong_dtype: str = ""
    wrong_shape: str = ""
    wrong_value: str = ""
    tolerance: float = 1e-4


@dataclass(frozen=True)
class Lesson:
    """A lesson: the source with which it begins, what to build, and the goals."""

    id: str
    title: str
    text: str
    start: str
    goals: tuple[Goal, ...]


@dataclass(frozen=True)
class Verdict:
    """`kind` is "" if the lesson is done; else `hint` says what to do next, and `node` where."""

    kind: Kind
    hint: str
    node: str = ""

    @property
    def is_done(self) -> bool:
        return not self.kind


def check(lesson: Lesson, document: Document) -> Verdict:
    """Returns whether the document solves the lesson, and if not, a hint."""
    for goal in lesson.goals:
        verdict = _check(goal, document)
        if not verdict.is_done:
            return verdict
    return Verdict("", f"{lesson.title}: done.")


def _check(goal: Goal, document: Document) -> Verdict:
    built, program = document.built, document.program
    statement = next((s for s in reversed(program.statements) if goal.name in s.names), None)
    broken = _broken(document, statement.index if statement is not None else len(program.statements))
    if broken is not None:
        return broken
    if statement is None:
        return Verdict("missing", goal.missing)
    node, value = statement.id, built.names.get(goal.name)
    if goal.succeeds is not None:
        return _check_operation(goal, document, node, value)
    tensor = tensor_of(value)
    if tensor is None:
        return Verdict("missing", f"{goal.name} is no tensor. {goal.missing}", node)
    dtype = tensor.dtype.base_dtype.name
    if dtype != goal.dtype:
        return Verdict("dtype", f"{goal.name} is {dtype}, needed {goal.dtype}. {goal.wrong_dtype}".strip(), node)
    dims = tensor.get_shape().sizes
    if goal.shape is not None and not _fits(dims, goal.shape):
        came, needed = _text(dims), _text(goal.shape)
        return Verdict("shape", f"{goal.name} has the shape {came}, needed {needed}. {goal.wrong_shape}".strip(), node)
    if goal.wanted is None:
        return Verdict("", "")
    return _check_value(goal, document, node)


def _broken(document: Document, until: int) -> Verdict | None:
    """The first statement up to a number that has an error or lacks an input."""
    for statement in document.program.statements[: until + 1]:
        outcome = document.built.outcomes[statement.index]
        if outcome.state == "incomplete":
            return Verdict("error", f"{statement.id} still needs {' and '.join(outcome.missing)}.", statement.id)
        if outcome.state == "failed" and outcome.error is not None:
            return Verdict("error", f"{statement.id} does not work yet: {plain_message(outcome.error)}", statement.id)
    return None


def _check_value(goal: Goal, document: Document, node: str) -> Verdict:
    assert goal.wanted is not None
    with _Running(document) as run:
        try:
            came = np.asarray(run(goal.name, goal.feeds))
            needed = np.asarray(goal.wanted(goal.feeds, run))
        except (OpError, KeyError) as error:
            return Verdict("error", f"{goal.name} cannot be run: {plain_message(error)}", node)
    if came.shape != needed.shape:
        text = f"{goal.name} came as {list(came.shape)}, needed {list(needed.shape)}. {goal.wrong_shape}"
        return Verdict("shape", text.strip(), node)
    if not np.allclose(came, needed, rtol=goal.tolerance, atol=goal.tolerance, equal_nan=False):
        at = np.unravel_index(int(np.argmax(np.abs(np.nan_to_num(came - needed, nan=np.inf)))), came.shape)
        place = f" at {[int(k) for k in at]}" if came.shape else ""
        text = f"{goal.name} is {came[at]:.4g}{place}, needed {needed[at]:.4g}. {goal.wrong_value}"
        return Verdict("value", text.strip(), node)
    return Verdict("", "")


def _check_operation(goal: Goal, document: Document, node: str, value: object) -> Verdict:
    assert goal.succeeds is not None
    if not isinstance(value, Operation):
        return Verdict("missing", f"{goal.name} is no operation. {goal.missing}", node)
    with _Running(document) as run:
        try:
            succeeds = goal.succeeds(run, goal.feeds)
        except (OpError, KeyError) as error:
            return Verdict("error", f"{goal.name} cannot be run: {plain_message(error)}", node)
    return Verdict("", "") if succeeds else Verdict("value", goal.wrong_value, node)


class _Running:
    """Runs names of a document in a session of its own, so that the user's variables stay as they are."""

    def __init__(self, document: Document) -> None:
        self._graph, self._names = document.hand_out(), document.built.names
        self._sessions = BuilderSession()

    def __enter__(self) -> Run:
        session = self._sessions.session(self._graph)

        def run(name: str, feeds: Mapping[str, Any]) -> Any:
            value = self._names[name]
            fetch = value.value() if isinstance(value, Variable) else value
            feed = {self._names[n]: v for n, v in feeds.items() if isinstance(self._names.get(n), Tensor)}
            return self._sessions.run(session, fetch, feed)

        return run

    def __exit__(self, *_: object) -> None:
        self._sessions.close()


def _fits(dims: Sequence[int | None] | None, shape: tuple[int | None, ...]) -> bool:
    if dims is None:
        return True  # the value decides
    return len(dims) == len(shape) and all(d is None or n is None or d == n for d, n in zip(dims, shape, strict=True))


def _text(dims: Sequence[int | None] | None) -> str:
    return "of any rank" if dims is None else f"[{', '.join('?' if d is None else str(d) for d in dims)}]"
