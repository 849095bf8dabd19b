"""Tests of control flow and training that know nothing of devices, again on several devices and on tasks of Dask.

All of them run so, and compare each step with one device's: `make spread`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = (
    "tests/client/control_flow/test_cond.py",
    "tests/client/control_flow/test_while_loop.py",
    "tests/train/optimizers/test_update_rules.py",
)
CHOSEN = "(test_cond or test_while_loop or one_version) and not over_many_iterations"


@pytest.mark.opencl
@pytest.mark.parametrize("target", ["devices:3", "tasks:2"])
def test_control_flow_and_training(target):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--target={target}", *FILES, "-k", CHOSEN],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    assert " failed" not in done.stdout and int(done.stdout.rpartition(" passed")[0].split()[-1]) > 40
