"""`tf.lessons.check` and what it uses: find the exercise, grade the answer, count the try, show the next hint.

Invariant: an answer that is still None changes no file, so a notebook that runs as it stands leaves nothing behind.
"""

from __future__ import annotations

import os
import sys

from tfnb.errors import InvalidArgumentError, UnknownNameError
from tfnb.lessons.case import Exercise, Kind
from tfnb.lessons.catalogue import EXERCISES
from tfnb.lessons.progress_file import Record, read, update
from tfnb.lessons.report import Report, graded

__all__ = ["Progress", "check", "grade", "progress"]

# What could not be written to a file, by folder and number: hints go on there too, until the process ends.
_unsaved: dict[tuple[str, str], Record] = {}


def check(number: str, answer: object = None) -> None:
    """Checks the `answer` to the exercise `number`, as "3.1", and prints what is right, what is wrong, and a hint.

    What an answer is, a function of tensors for the most part, stands in the notebook beside the exercise; None is no
    answer yet. A mistake has one of five kinds: wrong type or shape, wrong value (with about how far it is off), the
    right value in a way that is not allowed (a constant or NumPy where the graph is meant to compute), right once but
    not for another input, or an error. With each check that fails, the next of three hints is shown. The answer itself
    is never printed. The number of tries and the points are kept in the file `tfnb-lessons.json` of the working folder.
    Raises `InvalidArgumentError` for a number that is no text, and `UnknownNameError` if there is no such exercise.

    Example:

        >>> tf.lessons.check("3.1", None)
        Exercise 3.1, a cube root: nothing is there yet.
    """
    exercise = _exercise(number)
    report = graded(exercise, answer)
    if report.kind is Kind.EMPTY:
        _say(report.text())
        return
    folder, failed = os.getcwd(), None if report.failed is None else report.failed.case.name
    record, note = update(folder, exercise.number, report.points, failed)
    before = _unsaved.pop((folder, exercise.number), None)
    if record is None:
        record = (before or Record()).after(report.points, failed)
        _unsaved[folder, exercise.number] = record
    _say("\n".join(filter(None, (report.text(record.failures), note))))


def grade(number: str, answer: object) -> Report:
    """Returns what `check` would find for the `answer` to the exercise `number`; nothing is printed or kept.

    For programs that grade many answers. Raises what `check` raises.

    Example:

        >>> tf.lessons.grade("2.2", 0.5).points
        0
    """
    return graded(_exercise(number), answer)


class Progress:
    """The progress of a reader, as a table: what was tried, and the points of each exercise.

    `rows` has a tuple for each exercise: its number, its title, the points so far, the points there are, the tries.

    Example:

        >>> tf.lessons.progress().rows[0]
        ('1.1', 'the misprint of Figure 1', 0, 3, 0)
    """

    def __init__(self, records: dict[str, Record], note: str = "") -> None:
        tried = {number: records.get(number, Record()) for number in EXERCISES}
        self.rows = [
            (number, exercise.title, min(tried[number].points, exercise.points), exercise.points, tried[number].tries)
            for number, exercise in EXERCISES.items()
        ]
        self.note = note

    @property
    def points(self) -> int:
        """The sum of all points so far."""
        return sum(row[2] for row in self.rows)

    @property
    def most(self) -> int:
        """The sum of the points of all exercises."""
        return sum(row[3] for row in self.rows)

    def __repr__(self) -> str:
        width = max(len(row[1]) for row in self.rows)
        lines = [f"{'':5} {'exercise':{width}}  points  tries"]
        lines += [f"{n:5} {title:{width}}  {got} of {of}{tries or '-':>7}" for n, title, got, of, tries in self.rows]
        lines.append(f"{self.points} of {self.most} points")
        return "\n".join([*lines, self.note] if self.note else lines)


def progress() -> Progress:
    """Returns the progress of the reader in the working folder, a table that a notebook displays.

    It is read from the file `tfnb-lessons.json`; a file that cannot be read is moved aside, and the table says so.

    Example:

        >>> tf.lessons.progress().points
        0
    """
    folder = os.getcwd()
    records, note = read(folder)
    records |= {number: record for (place, number), record in _unsaved.items() if place == folder}
    return Progress(records, note)


def _exercise(number: str) -> Exercise:
    if not isinstance(number, str):
        raise InvalidArgumentError(f'the exercise is {number!r}; needed its number as a text, as "3.1"')
    if number not in EXERCISES:
        notebooks = sorted({int(n.partition(".")[0]) for n in EXERCISES})
        raise UnknownNameError(
            f"there is no exercise {number!r}; needed NOTEBOOK.EXERCISE, of the notebooks {notebooks[0]} to "
            f'{notebooks[-1]} and exercises 1 to 3, as "3.1"'
        )
    return EXERCISES[number]


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
