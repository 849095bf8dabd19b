"""Writes the page of the collection: what runs there and here, whether values agree, times, a reason for each failure.

Invariant: every program of the table has a line, and the counts at the top are those of the lines.
"""

from __future__ import annotations

import json
import re
from itertools import groupby
from pathlib import Path
from typing import Any

from compare import TOLERANCE, compare_values, reason, time_ratio
from table import Program

__all__ = ["lines", "write_page"]

REASONS = Path(__file__).resolve().parent / "reasons.json"
SLOW = 3.0
HEAD = """# A collection of public programs

Programs of TensorFlow 0.x and 1.x, chosen by `scripts/old_programs/choose.py` from the texts of public repositories
before any was run, and run as they are: `make programs` fetches, runs and compares them and writes this page. Numbers
of epochs are made small, data is made up, folders are listed in the order of names, and a program that is not at its
end after 8 seconds of TensorFlow's processor time (12 for the first ones) is ended after as many session runs in both.

- **there**: the TensorFlow that runs it. A program that none runs (its data, its arguments or a library is missing)
  counts for nothing; "why" says what 1.15.5 said.
- **values**: greatest difference in the first ten comparable steps, relative to the largest element of an array. A step
  is comparable if no random numbers reach it; both start with the same values of variables. Where values differ,
  TensorFlow runs twice more from initial values that differ in the last bit, and a step in which it differs from itself
  by more than 0.2 % ends the comparison: a race of the program's own, or a rounding error that grows.
- **time**: processor time of a steady step here, divided by that there.
"""

Record = dict[str, Any]
Result = tuple[Program, Record | None, Record | None, list[Record] | None]


def cell(text: str) -> str:
    """Returns a text that a cell of a table holds, without this machine's folders and without colours."""
    text = re.sub(r"\x1b\[[\d;]*m", "", text)
    text = re.sub(r"(?:/[\w.+@-]+)+/(?=site-packages/|copies/|lib/python)", "", text)
    return text.replace("|", "/").replace("<", "&lt;").replace("\\n", " ")


def line(
    program: Program, there: Record | None, here: Record | None, again: list[Record] | None = None
) -> dict[str, Any]:
    """Returns what the page says of a program."""
    found: dict[str, Any] = {"program": program, "there": "", "here": "", "values": "", "time": "", "why": ""}
    if there is None:
        return found | {"why": "not run yet"}
    if there["code"] != 0:
        return found | {"there": "no", "why": reason(there)}
    found["there"] = there["version"]
    if here is None:
        return found | {"why": "not run here yet"}
    found |= {"commit": here["commit"], "when": here["when"]}
    if here["code"] != 0:
        return found | {"here": "no", "why": reason(here)}
    found["here"] = "yes"
    if there["record"] and here["record"]:
        values = compare_values(there["record"], here["record"], [r["record"] for r in again or () if r["record"]])
        ratio = time_ratio(there["record"], here["record"])
        found |= {"ratio": ratio, "time": f"{ratio:.1f}" if ratio is not None else "", "steps": values.steps}
        found["agree"] = values.agree
        found["values"] = f"{values.worst:.1e} in {values.steps}" if values.steps else f"- ({values.note})"
    return found


def lines(results: list[Result]) -> list[dict[str, Any]]:
    """Returns what the page says of each program, with the reasons that were found by hand."""
    known = json.loads(REASONS.read_text(encoding="utf-8")) if REASONS.exists() else {}
    found = [line(*result) for result in results]
    for entry in found:
        by_hand = known.get(f"{entry['program'].repository}/{entry['program'].path}")
        fails = entry["here"] == "no" or entry.get("agree") is False or (entry.get("ratio") or 0) > SLOW
        if by_hand and fails:
            entry["why"] = by_hand
    return found


def summary(found: list[dict[str, Any]]) -> list[str]:
    """Returns the counts of the lines."""
    there = [e for e in found if e["there"] not in ("", "no")]
    tried = [e for e in there if e["here"]]
    here = [e for e in tried if e["here"] == "yes"]
    compared = [e for e in here if e.get("steps")]
    slow = f"take more than {SLOW:.0f} times as long"
    timed = [e for e in here if e.get("ratio") is not None]
    contrib = [e for e in tried if e["program"].contrib]
    share = 100 * len(here) / max(len(tried), 1)
    return [
        f"- {len(found)} programs of {len({e['program'].repository for e in found})} repositories, "
        f"{sum(e['program'].contrib for e in found)} with contrib; {sum(bool(e['there']) for e in found)} were tried",
        f"- {len(there)} run there (of {len({e['program'].repository for e in there})} repositories, "
        f"{sum(e['program'].contrib for e in there)} with contrib); {len(tried)} of them were run here",
        f"- {len(here)} of {len(tried)} run here, {share:.1f} %; with contrib "
        f"{sum(e['here'] == 'yes' for e in contrib)} of {len(contrib)}",
        f"- {sum(e['agree'] for e in compared)} of {len(compared)} comparable ones agree within {100 * TOLERANCE} %",
        f"- {sum(e['ratio'] > SLOW for e in timed)} of {len(timed)} with steady steps {slow}",
        *days(tried),
    ]


def days(tried: list[dict[str, Any]]) -> list[str]:
    """Returns how many programs were run here on each day, and the last commit of it that ran any."""
    found = []
    for day, of_day in groupby(sorted(tried, key=lambda e: str(e["when"])), lambda e: str(e["when"])[:10]):
        runs = list(of_day)
        found.append(f"- {len(runs)} of these were last run here on {day}, at commits up to {runs[-1]['commit']}")
    return found


def write_page(results: list[Result], page: Path) -> str:
    """Writes the page and returns its counts."""
    found = lines(results)
    counts = "\n".join(summary(found))
    rows = [
        "| repository | program | contrib | there | here | values | time | why |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for e in found:
        p = e["program"]
        row = (
            p.repository,
            p.path,
            "yes" if p.contrib else "",
            e["there"],
            e["here"],
            e["values"],
            e["time"],
            e["why"],
        )
        rows.append("| " + " | ".join(cell(str(part)) for part in row) + " |")
    page.write_text("\n".join((HEAD, counts, "", *rows)) + "\n", encoding="utf-8")
    return counts
