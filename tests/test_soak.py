"""The short soak: steps, sessions, threads and views leave no memory, file descriptors or threads behind."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.opencl
@pytest.mark.one_process("the script makes its own sessions")
def test_what_comes_and_goes_leaves_nothing_behind():
    command = [sys.executable, str(ROOT / "scripts" / "soak.py"), "--short"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("\n") > 6
