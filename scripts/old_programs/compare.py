"""Compares the record of a program under the real TensorFlow with that under tfnb: values step by step, and times.

Invariant: a step is compared only if no random number of either library can have reached it, both were fed the same,
and TensorFlow, where values differ, has its own again when it starts from values that differ in the last bit; the rest
of a program after a training step for which that is not so is not comparable.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

__all__ = ["MOST_STEPS", "TOLERANCE", "Values", "compare_values", "difference", "reason", "time_ratio"]

MOST_STEPS = 10
TOLERANCE = 0.002
FEWEST_TIMES = 6


@dataclass(frozen=True)
class Values:
    """How many steps were compared, the greatest difference relative to an array's size, and why none or no more."""

    steps: int
    worst: float
    note: str = ""

    @property
    def agree(self) -> bool:
        """Says whether all compared steps are within the tolerance."""
        return self.worst <= TOLERANCE


def difference(there: list[Any], here: list[Any]) -> float:
    """Returns the greatest difference of two lists of arrays, each relative to its largest element."""
    if len(there) != len(here):
        return float("inf")
    worst = 0.0
    for (shape, size, numbers), (shape_here, size_here, numbers_here) in zip(there, here, strict=True):
        if shape != shape_here and [n for n in shape if n != 1] != [n for n in shape_here if n != 1]:
            return float("inf")
        scale = max((abs(x) for x in (*numbers, size)), default=0.0) or 1e-12
        for a, b in ((size, size_here), *zip(numbers, numbers_here, strict=True)):
            same = a == b or (a != a and b != b)
            worst = max(worst, 0.0 if same else abs(a - b) / scale if abs(a - b) < float("inf") else float("inf"))
    return worst


def fed_alike(there: list[Any], here: list[Any]) -> bool:
    """Says whether two runs were fed the same shapes and, up to rounding, numbers: their size and a weighted sum."""
    return len(there) == len(here) and all(
        shape == shape_here
        and all(abs(a - b) <= 1e-3 * max(sums[0], 1e-6) for a, b in zip(sums, sums_here, strict=False))
        for (shape, *sums), (shape_here, *sums_here) in zip(there, here, strict=True)
    )


def compare_values(there: dict[str, Any], here: dict[str, Any], again: Sequence[dict[str, Any]] = ()) -> Values:
    """Compares the first steps of two records that have values and can be compared.

    again: records of the same program under the same TensorFlow from initial values that differ in the last bit. The
    comparison ends at the step in which TensorFlow differs from itself by more than the tolerance.
    """
    steps, worst, note = 0, 0.0, ""
    for number, run in enumerate(there["runs"]):
        if steps == MOST_STEPS or number >= len(here["runs"]):
            break
        other = here["runs"][number]
        if run["random"]:
            note = "random numbers"
            if run["changes"]:
                break
            continue
        if not fed_alike(run["feeds"], other["feeds"]):
            note = f"step {number} is fed otherwise"
            break
        if run["values"]:
            own = max((difference(run["values"], values_of(other, number)) for other in again), default=0.0)
            if own > TOLERANCE:
                note = f"TensorFlow differs from itself by {own:.0e} in step {number}"
                break
            steps += 1
            worst = max(worst, difference(run["values"], other["values"]))
    if not steps and not note:
        note = "no session runs of its own" if not there["own"] else "no floats are fetched"
    return Values(steps, worst, note)


def values_of(record: dict[str, Any], number: int) -> list[Any]:
    """Returns the values of a record's step, none if it has not so many steps."""
    runs: list[Any] = record["runs"]
    return list(runs[number]["values"]) if number < len(runs) else []


def steady(times: list[float]) -> float:
    """Returns the median of the later half of times."""
    return median(times[len(times) // 2 :])


def time_ratio(there: dict[str, Any], here: dict[str, Any]) -> float | None:
    """Returns how many times longer the steady steps take here, by processor time, or None where there are too few.

    Runs are of one kind if they have as many fetches and the same shapes of feeds; kinds that one side has more of are
    not compared.
    """
    ours, spent, reference = dict(here["times"]), 0.0, 0.0
    for kind, times in there["times"]:
        count = len(ours.get(kind, ()))
        if min(len(times), count) >= FEWEST_TIMES and 0.9 * len(times) <= count <= 1.1 * len(times):
            reference += steady(times) * len(times)
            spent += steady(ours[kind]) * len(times)
    return spent / reference if reference else None


def reason(result: dict[str, Any]) -> str:
    """Returns one line that says why a program did not run."""
    if result["code"] is None:
        return f"ended: it only waited, or was not at its end after {8 * result['limit']} s"
    if result["timed_out"]:
        return f"not at its end after {result['limit']} s of processor time"
    text = (result["record"] or {}).get("error") or result["output"]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for number, line in reversed(list(enumerate(lines))):
        if re.match(r"[\w.]*(Error|Exception|Interrupt|Exit|Warning)\b", line):
            message = "" if re.search(r"\w:? ?\S.*\S", line.partition(":")[2]) else first_words(lines[number + 1 :])
            return f"{line} {message}".strip()[:160]
        if re.search(r"\berror: ", line):
            return line[:160]
    return f"ended with {result['code']}" + (f" after: {lines[-1][:140]}" if lines else "")


def first_words(lines: list[str]) -> str:
    """Returns the first line that has words, or nothing."""
    return next((line for line in lines if re.search(r"[A-Za-z]{3}", line)), "")
