"""scripts/same_results.py: the same programs give the same lines, and a line that differs is found."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = str(ROOT / "scripts" / "same_results.py")

pytestmark = [pytest.mark.opencl, pytest.mark.one_process("the script makes its own sessions")]


def call(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, SCRIPT, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)


def test_equal_to_itself_and_unequal_to_a_changed_hash(tmp_path: Path) -> None:
    first, again, changed = (tmp_path / name for name in ("first", "again", "changed"))
    for out, part in ((first, "0/1"), (again, "0/2"), (again, "1/2")):
        done = call("run", out, "--count", 3, "--part", part)
        assert done.returncode == 0, done.stderr
    assert len(first.read_text().splitlines()) == 3
    done = call("compare", first, again)
    assert done.returncode == 0, done.stdout
    assert "3 and 3 programs" in done.stdout

    lines = [json.loads(line) for line in again.read_text().splitlines()]
    [line] = [line for line in lines if line["program"] == 1]
    assert ":" in line["results"][-1]
    line["results"][-1] = line["results"][-1][:-1] + "-"
    changed.write_text("".join(f"{json.dumps(line)}\n" for line in lines if line["program"] != 2))
    done = call("compare", first, changed)
    assert done.returncode == 1
    assert "program 1 (arrays" in done.stdout
    assert "is missing in the second file" in done.stdout
    assert "2 differ" in done.stdout


def test_programs_that_the_file_has_are_not_run_again(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_text('{"program": 0, "results": ["kept"]}\n')
    done = call("run", out, "--count", 1)
    assert done.returncode == 0, done.stderr
    assert out.read_text().count("\n") == 1
