"""Writes the page of TensorFlow's own tests: how many pass, by folder, and each that does not with its reason.

Invariant: every valid test of every file counts, also one that has no result here.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from reasons import MEANINGS, PASS, PRIVATE, Names, reason
from suites import SUITES, Suite

__all__ = ["Report", "page_of", "write_page"]

ROOT = Path(__file__).resolve().parents[2]
GOAL = 97.0
Rows = list[dict[str, Any]]

HEAD = """# TensorFlow's own Python tests

TensorFlow's repository has unit tests in Python. Those of 0.11 and 1.5 were run with tfnb and with a TensorFlow of
their time. A test is *valid* if it passes with the latter (0.12.1 for those of 0.11, and 1.5.0, with Python 3.6). The
tables leave out tests of private parts: names that begin with `_`, generated modules (`gen_*`), functions of modules
that are not public, and eager execution. The files are not part of this project.
"""
WHAT = """The goal of {goal:.0f} % is {reached}. Files of the folders debug, keras, eager, tools, grappler and profiler,
benchmarks and tests that need a GPU or a cluster are not among them. All others were run, except copies `...WithCApi`
that a decorator makes of other tests ({copies}): they run these with another implementation of TensorFlow's graph, and
count neither as valid nor as passed."""
HOW = """
## How to repeat it

    make tensorflow_tests TENSORFLOW_TESTS_ARGS="--folder WORK --there 0.12.1=PYTHON --there 1.5.0=PYTHON"

fetches the sources (hughperkins/tf-coriander for 0.11, jhabikal21/tensorflow for 1.5) into the folder WORK, runs what
has no result there, and writes this page. The two Pythons are 3.6, with `tensorflow==0.12.1` and `tensorflow==1.5.0`,
`numpy<1.15` and `protobuf<3.18`. tfnb runs with NumPy 1.26, since the tests use what NumPy 2 has dropped.
`tensorflow` means tfnb with the era 0.12 for the suite 0.11, and 1.5 for 1.5 ([old_programs.md](old_programs.md)).
Each file runs in a process of its own, and a test that takes longer than 40 seconds is ended.

`scripts/tensorflow_tests/child/tfnb_as_tensorflow.py` is what the tests need beside the API: `test_util` and
`googletest`, a completed `tf.test.TestCase`, the functions that TensorFlow generates for operations, and a placeholder
for each other private name that a file uses at its head, which fails when a test uses it. Cases that several files
share come from TensorFlow's source. When only the class or the text of an expected error differs, that is noted and the
test goes on, so the worst that happened counts; such a test does not count as passed.
"""
CAUSES = """
Known causes behind them: TensorFlow refuses what tfnb can do (second derivatives through loops, `NCHW` on the
CPU, constants of 2 GB); tests count or name nodes that tfnb makes in another way; means of
`mean_pairwise_squared_error` and the update of `mean_per_class_accuracy` are those of later versions; quantized
dtypes are those of their integers.
"""


@dataclass
class Report:
    """The reason for each valid test of a suite, by file."""

    suite: Suite
    valid: dict[str, dict[str, str]] = field(default_factory=dict)  # file to test to reason
    copies: int = 0  # tests there that the file here does not have: they are copies that a decorator makes
    missing: list[str] = field(default_factory=list)  # files without a result on a side

    def add(self, path: str, there: Rows, here: Rows, names: Names) -> None:
        """Adds a file's lines of both sides."""
        if not _has_end(there) or not _has_end(here):
            self.missing.append(path)
            return
        ours = {row["id"]: row for row in here if "id" in row}
        loading = ours.get("<import>")
        has_placeholders = any(row.get("placeholders") for row in here)
        found = {}
        for test in (row["id"] for row in there if row.get("status") == "pass"):
            if test not in ours and loading is None and "WithCApi" in test:
                self.copies += 1
                continue
            # A test that is missing here is one of a private class, from which the file's own class is derived.
            is_derived = test not in ours and loading is None and has_placeholders
            found[test] = PRIVATE if is_derived else reason(ours.get(test), loading, names)
        self.valid[path] = found

    def counts(self, folder: str | None = None) -> Counter[str]:
        """How many valid tests have each reason, of all files or of those of a folder."""
        files = (p for p in self.valid if folder is None or str(Path(p).parent) == folder)
        return Counter(why for p in files for why in self.valid[p].values())

    def not_passed(self) -> dict[str, dict[str, list[str]]]:
        """The tests of each file that do not pass, by reason, without those of private parts."""
        found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for path, tests in sorted(self.valid.items()):
            for test, why in sorted(tests.items()):
                if why not in (PASS, PRIVATE):
                    found[re.sub(r"_test\.py$", "", path)][why].append(test)
        return found


def _has_end(rows: Rows) -> bool:
    return any("end" in row for row in rows)


def _public(counts: Counter[str]) -> int:
    return counts.total() - counts[PRIVATE]


def _share(counts: Counter[str]) -> str:
    public = _public(counts)
    return f"{100 * counts[PASS] / public:.1f}" if public else "-"


def _table(head: str, rows: list[list[Any]]) -> list[str]:
    columns = head.split("|")
    lines = [f"| {' | '.join(c.strip() for c in columns)} |", "|" + "---|" * len(columns)]
    return lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]


def page_of(reports: list[Report], commit: str, when: str) -> str:
    """Returns the text of the page."""
    whole = [report.counts() for report in reports]
    rows = [
        [r.suite.name, len(r.valid), c.total(), c[PRIVATE], _public(c), c[PASS], _share(c)]
        for r, c in zip(reports, whole, strict=True)
    ]
    lines = [HEAD, *_table("suite | files | valid | private parts | valid without them | pass | %", rows), ""]
    is_reached = all(_public(c) and 100 * c[PASS] / _public(c) >= GOAL for c in whole)
    copies = " and ".join(f"{r.copies} of {r.suite.name}" for r in reports)
    lines.append(WHAT.format(goal=GOAL, reached="reached in both" if is_reached else "not reached", copies=copies))
    for report in reports:
        if report.missing:
            lines += ["", f"Without a result in {report.suite.name}: {', '.join(report.missing)}."]
    lines += ["", f"**Which code.** Every file was run on {when} at commit {commit}.", HOW, "## By folder", ""]
    folders = sorted({str(Path(path).parent) for report in reports for path in report.valid})
    rows = []
    for folder in folders:
        row = [folder]
        for report in reports:
            files = sum(str(Path(path).parent) == folder for path in report.valid)
            counts = report.counts(folder)
            row += [str(files), str(_public(counts)), str(counts[PASS]), _share(counts)] if files else [""] * 4
        rows.append(row)
    head = " | ".join(f"{r.suite.name}: files | valid | pass | %" for r in reports)
    lines += [*_table(f"folder | {head}", rows), "", "## Why the rest does not pass", ""]
    rows = [[why, meaning, *(counts[why] for counts in whole)] for why, meaning in MEANINGS.items()]
    lines += [*_table(f"reason | meaning | {' | '.join(r.suite.name for r in reports)}", rows), CAUSES]
    for report in reports:
        lines += [f"### Tests of {report.suite.name}", ""]
        for path, reasons in report.not_passed().items():
            each = "; ".join(f"{why}: {', '.join(tests)}" for why, tests in sorted(reasons.items()))
            lines.append(f"- **{path}**: {each}")
        lines.append("")
    return "\n".join(lines)


def write_page(runner: Any, page: Path) -> str:
    """Writes the page from the results in the runner's folder; returns the shares in one line."""
    from run import read_rows

    reports = []
    for suite in SUITES:
        report, names = Report(suite), runner.public_names(suite)
        for path in suite.files(runner.tree(suite)):
            there, here = (read_rows(runner.results(suite, side, path)) for side in ("there", "here"))
            report.add(path, there, here, names)
        reports.append(report)
    commit = subprocess.run(
        ("git", "-C", ROOT, "rev-parse", "--short=8", "HEAD"), check=True, capture_output=True, text=True
    ).stdout.strip()
    page.write_text(page_of(reports, commit, datetime.now(UTC).date().isoformat()), encoding="utf-8")
    return "; ".join(f"{r.suite.name}: {_share(r.counts())} % of {_public(r.counts())}" for r in reports)
