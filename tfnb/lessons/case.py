"""What an exercise consists of: cases, each with a test, points, messages and a ladder of three hints.

The names of a case's fields are those that teachers' tools know (`points`, `hidden`, `success_message`,
`failure_message`). Invariant: a test returns a finding for every answer; only Ctrl-C and an error of this package come
through.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

__all__ = ["RIGHT", "Case", "Exercise", "Finding", "Hints", "Kind"]

Hints = tuple[str, str, str]
"""What to look at, what kind of mistake it is, and nearly the line."""


class Kind(Enum):
    """What an answer is: nothing yet, right, or wrong in one of five ways. The value is what a reader is told.

    Example:

        >>> tf.lessons.grade("1.1", 5.0).kind
        <Kind.SHAPE: 'wrong type or shape'>
    """

    EMPTY = "nothing is there yet"
    RIGHT = "right"
    SHAPE = "wrong type or shape"
    VALUE = "wrong value"
    FORBIDDEN = "right value in a forbidden way"
    ONCE = "works once, but not for another input"
    RAISES = "raises an error"


class Finding(NamedTuple):
    """What a test has found: the kind, and in words what came and what was needed, without the answer."""

    kind: Kind
    text: str = ""


RIGHT = Finding(Kind.RIGHT)


@dataclass(frozen=True)
class Case:
    """One test of an answer.

    name: what it tests, in a few words. test: returns what it finds. hints: see `Hints`. points: what it counts.
    hidden: whether the reader sees neither its name nor what it found, only whether it is right and which kind of
    mistake it is; its inputs are others than those of the cases before it. success_message and failure_message: what
    is said beside the finding.

    Example:

        >>> tf.lessons.grade("3.1", None).results[0].case.points
        2
    """

    name: str
    test: Callable[[object], Finding]
    hints: Hints
    points: int = 1
    hidden: bool = False
    success_message: str = ""
    failure_message: str = ""


@dataclass(frozen=True)
class Exercise:
    """An exercise: its number, as "3.1", the first part of which is the notebook's, its title, and its cases."""

    number: str
    title: str
    cases: tuple[Case, ...]

    @property
    def points(self) -> int:
        return sum(case.points for case in self.cases)
