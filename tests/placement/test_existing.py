"""Tests of control flow and training that know nothing of devices, again with every group somewhere at random.

All of them run so: `TFNB_CPUS=3 TFNB_PLACEMENT=random:1 make test PYTEST_ARGS="tests/client tests/train"`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = ("tests/client/test_cond.py", "tests/client/test_while_loop.py", "tests/train/test_optimizers.py")
CHOSEN = "(test_cond or test_while_loop or one_version) and not over_many_iterations"


@pytest.mark.opencl
def test_control_flow_and_training_on_three_devices():
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *FILES, "-k", CHOSEN],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TFNB_CPUS": "3", "TFNB_PLACEMENT": "random:1"},
        cwd=ROOT, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-5000:]
    assert " failed" not in done.stdout and int(done.stdout.rpartition(" passed")[0].split()[-1]) > 40
