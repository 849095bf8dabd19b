"""Signals at any moment of any kind of step: each handler is called once, may do what it likes, and nothing hangs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.rounds import rounds

pytestmark = [pytest.mark.opencl, pytest.mark.one_process("the program makes its own sessions")]

ROOT = Path(__file__).resolve().parents[2]
N = rounds(120, 10_000)
PARTS = rounds(1, 8)  # programs one after the other, each with another seed


@pytest.mark.parametrize("seed", range(PARTS))
def test_signals_at_every_moment(seed):
    found = subprocess.run(
        [sys.executable, "-m", "tests.strangers.signal_program", str(N // PARTS), str(seed)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "TFNB_QUIET": "1"},
        timeout=rounds(600, 7200),
        check=False,
    )
    assert found.returncode == 0, found.stderr[-6000:]
    assert sum(json.loads(found.stdout).values()) == N // PARTS
