"""What the check of one answer has found, and its text: a line for each case, then the first mistake and its hint.

Invariant: of a hidden case the text has only whether it is right, the kind of the mistake and the hint.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from textwrap import wrap

from tfnb.lessons.case import Case, Exercise, Finding, Kind

__all__ = ["CaseResult", "Report", "graded"]

_WIDTH = 88  # letters of a line


@dataclass(frozen=True)
class CaseResult:
    """What the test of one case has found. `kind` is its kind, `text` what came and what was needed.

    Example:

        >>> tf.lessons.grade("1.1", 5.0).results[0].text
        'the answer is a float; needed a function of tensors'
    """

    case: Case
    kind: Kind
    text: str = ""

    @property
    def points(self) -> int:
        """The points that the case gives: all or none."""
        return self.case.points if self.kind is Kind.RIGHT else 0


@dataclass(frozen=True)
class Report:
    """The results of all cases of an exercise for one answer.

    Example:

        >>> report = tf.lessons.grade("1.1", 5.0)
        >>> report.points, report.kind.value
        (0, 'wrong type or shape')
    """

    exercise: Exercise
    results: tuple[CaseResult, ...]

    @property
    def points(self) -> int:
        """The sum of the points of all cases that are right."""
        return sum(result.points for result in self.results)

    @property
    def kind(self) -> Kind:
        """The kind of the first mistake, or `Kind.RIGHT`."""
        return next((r.kind for r in self.results if r.kind is not Kind.RIGHT), Kind.RIGHT)

    @property
    def failed(self) -> CaseResult | None:
        """The first case that is not right; None if all are."""
        return next((r for r in self.results if r.kind is not Kind.RIGHT), None)

    def text(self, failures: Mapping[str, int] | None = None) -> str:
        """Returns the text for the reader.

        `failures` has, by the name of a case, how often it has failed, this time included: the first time the first
        hint is shown, then the next one, up to the last.
        """
        exercise = self.exercise
        head = f"Exercise {exercise.number}, {exercise.title}"
        if self.kind is Kind.EMPTY:
            return f"{head}: nothing is there yet."
        if self.failed is None:
            lines = [f"{head}: right, {self.points} of {exercise.points} points."]
            return _wrapped([*lines, *(f"  {r.case.success_message}" for r in self.results if r.case.success_message)])
        lines = [f"{head}: not yet, {self.points} of {exercise.points} points."]
        for result in self.results:
            name = "a hidden case, with other inputs" if result.case.hidden else result.case.name
            lines.append(f"  {'right' if result.kind is Kind.RIGHT else 'wrong'}: {name}")
        return _wrapped([*lines, *_mistake(self.failed, (failures or {}).get(self.failed.case.name, 1))])

    def __repr__(self) -> str:
        return self.text()


def _mistake(failed: CaseResult, times: int) -> list[str]:
    """Returns the lines on the first mistake, with the hint for a case that has failed so many times."""
    case, hints = failed.case, failed.case.hints
    told = f": {failed.text}" if failed.text and not case.hidden else ""
    rung = min(max(times, 1), len(hints))
    lines = [f"  {failed.kind.value.capitalize()}{told}."]
    if case.failure_message:
        lines.append(f"  {case.failure_message}")
    more = " Check again for the next one." if rung < len(hints) else ""
    return [*lines, f"  Hint {rung} of {len(hints)}: {hints[rung - 1]}{more}"]


def _wrapped(lines: Iterable[str]) -> str:
    """Returns the lines as a text that breaks between words, as a notebook would not."""
    return "\n".join(part for line in lines for part in wrap(line, _WIDTH, subsequent_indent="    "))


def graded(exercise: Exercise, answer: object) -> Report:
    """Returns what the cases of an exercise find for an answer.

    A hidden case has other inputs than the cases before it: if those are right, its mistake is that the answer does not
    hold for another input.
    """
    if answer is None:
        return Report(exercise, tuple(CaseResult(case, Kind.EMPTY) for case in exercise.cases))
    results: list[CaseResult] = []
    for case in exercise.cases:
        found: Finding = case.test(answer)
        kind = found.kind
        before = all(r.kind is Kind.RIGHT for r in results)
        if case.hidden and results and before and kind in (Kind.VALUE, Kind.RAISES, Kind.SHAPE):
            kind = Kind.ONCE
        results.append(CaseResult(case, kind, found.text))
    return Report(exercise, tuple(results))
