"""A test that ends its process fails by name, and the others still run."""

import subprocess
import sys
from pathlib import Path

CONFTEST = """
import importlib.util

spec = importlib.util.spec_from_file_location("scheduling", {path!r})
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
pytest_xdist_make_scheduler = module.pytest_xdist_make_scheduler
"""
TESTS = """
import os
import pytest

@pytest.mark.parametrize("i", range(40))
def test_number(i):
    if i in (15, 16):
        os._exit(3)
"""


def test_the_others_run_when_a_process_ends(tmp_path):
    path = str(Path(__file__).with_name("conftest.py"))
    (tmp_path / "conftest.py").write_text(CONFTEST.format(path=path))
    (tmp_path / "test_ending.py").write_text(TESTS)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-n",
        "2",
        "-rf",
        "-p",
        "no:cacheprovider",
        str(tmp_path),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=tmp_path)
    assert "2 failed, 38 passed" in done.stdout, done.stdout[-3000:] + done.stderr
    assert all(f"test_number[{i}]" in done.stdout for i in (15, 16))
