"""The benchmark of a master with many tasks runs; it uses what is inside of the master."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.opencl


def test_it_says_where_the_master_saturates():
    command = [sys.executable, "-m", "benchmarks.many_tasks", "--tasks", "1", "4", "8", "--steps", "10"]
    root = Path(__file__).resolve().parents[4]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [row[:2] for row in rows[1:4]] == [["1", "2"], ["4", "8"], ["8", "16"]]
    assert done.stdout.count("saturated from") == 3
