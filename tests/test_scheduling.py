"""A test that ends its process fails by name, and the others still run; the tests of some folders share a process."""

import subprocess
import sys
from pathlib import Path

CONFTEST = """
import sys

sys.path.insert(0, {folder!r})
from scheduler import ByFolder


def pytest_xdist_make_scheduler(config, log):
    return ByFolder(config)
"""
TESTS = """
import os
import pathlib
import pytest

@pytest.mark.parametrize("i", range({count}))
def test_number(i):
    if i in {ending}:
        os._exit(3)
    with open(pathlib.Path(__file__).with_suffix(".txt"), "a") as file:
        file.write(f"{{i}} {{os.getpid()}}\\n")
"""


def test_processes_that_end_and_folders_that_stay_together(tmp_path):
    (tmp_path / "conftest.py").write_text(CONFTEST.format(folder=str(Path(__file__).with_name("support"))))
    together, single = tmp_path / "tests" / "fuzz" / "test_together.py", tmp_path / "test_single.py"
    together.parent.mkdir(parents=True)
    together.write_text(TESTS.format(count=12, ending=(5,)))
    single.write_text(TESTS.format(count=100, ending=(8, 9)))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-n",
        "2",
        "-rf",
        "-p",
        "no:cacheprovider",
        f"--rootdir={tmp_path}",
        str(tmp_path),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=tmp_path)
    assert "3 failed, 109 passed" in done.stdout, done.stdout[-3000:] + done.stderr
    assert all(
        f"test_{name}.py::test_number[{i}]" in done.stdout
        for name, i in (("single", 8), ("single", 9), ("together", 5))
    )
    ran = dict(line.split() for line in together.with_suffix(".txt").read_text().splitlines())
    assert len({ran[str(i)] for i in range(5)}) == 1 and len({ran[str(i)] for i in range(6, 12)}) == 1
    assert len({line.split()[1] for line in single.with_suffix(".txt").read_text().splitlines()}) > 1
