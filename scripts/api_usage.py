"""How much of what TensorFlow 0.x and 1.x programs called is here: names weighted by files, and keywords.

The tables in tests/data were counted over public programs of the time. A name counts as soon as it exists; for names
that are callable, each keyword that programs gave and the largest number of positional arguments must bind.
"""

from __future__ import annotations

import csv
import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tfnb

DATA = Path(__file__).resolve().parents[1] / "tests" / "data"
_ABSENT = object()


@dataclass
class Report:
    """What was found: `missing` names with their weight, `unbound` calls in words."""

    total: int = 0
    present: int = 0
    missing: list[tuple[int, str]] = field(default_factory=list)
    unbound: list[str] = field(default_factory=list)

    @property
    def share(self) -> float:
        return self.present / self.total


def find(symbol: str) -> Any:
    """The object of a dotted name such as tf.nn.relu, or `_ABSENT`."""
    found: Any = tfnb
    for part in symbol.split(".")[1:]:
        found = getattr(found, part, _ABSENT)
        if found is _ABSENT:
            return _ABSENT
    return found


def rows(name: str) -> Iterator[dict[str, str]]:
    with open(DATA / name, encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file, delimiter="\t")


def unbound(symbol: str, positional: int, keywords: list[str]) -> list[str]:
    """What of a call's form the callable does not accept, in words."""
    called = find(symbol)
    if called is _ABSENT or not callable(called):
        return []
    try:
        signature = inspect.signature(called)
    except ValueError:  # a type of C without a signature
        return []
    found = []
    try:
        signature.bind_partial(*[None] * positional)
    except TypeError:
        found.append(f"{symbol}: {positional} positional arguments")
    for keyword in keywords:
        try:
            signature.bind_partial(**{keyword: None})
        except TypeError:
            found.append(f"{symbol}: {keyword}=")
    return found


def report() -> Report:
    """Both tables against the namespace."""
    result = Report()
    for row in rows("api_usage.tsv"):
        weight, symbol = int(row["files"]), row["symbol"]
        result.total += weight
        if find(symbol) is _ABSENT:
            result.missing.append((weight, symbol))
        else:
            result.present += weight
    for row in rows("api_kwargs.tsv"):
        given = row["kwargs(file count)"] or ""
        keywords = [word.partition("(")[0].strip() for word in given.split(",") if word.strip()]
        result.unbound += unbound(row["symbol"], int(row["max_positional"]), keywords)
    return result


def main() -> int:
    found = report()
    names = "  ".join(f"{symbol} ({weight})" for weight, symbol in found.missing)
    print(f"{found.share:.2%} of the uses are of names that exist; missing: {names or 'none'}")
    print(f"calls that do not bind: {'; '.join(found.unbound) or 'none'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
