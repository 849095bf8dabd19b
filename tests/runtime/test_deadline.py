"""The deadline of a step and the context variables of the work that it bounds."""

from __future__ import annotations

import contextvars

from tfnb.runtime.deadline import Deadline, bounded, current

setting: contextvars.ContextVar[str] = contextvars.ContextVar("setting", default="before")


def test_work_without_a_deadline_runs_in_the_context_of_the_caller() -> None:
    token = bounded(None, lambda: setting.set("after"))
    assert setting.get() == "after"
    setting.reset(token)


def test_a_deadline_ends_with_its_work() -> None:
    deadline = Deadline(60.0)
    assert bounded(deadline, current) is deadline
    assert bounded(deadline, lambda: bounded(None, current)) is None
    assert current() is None
