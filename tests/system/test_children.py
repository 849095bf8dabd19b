"""Processes of tfnb's own: they run no file of the user's folder, and end with their parent."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tfnb.system import children

# Starts a child that compiles nothing, and waits until it has ended with its input.
PARENT = """
import sys
from tfnb.system.children import start_child
child = start_child(*sys.argv[1:])
child.stdin.close()
print(child.wait(60))
"""


SINCE_3_11 = pytest.mark.skipif(sys.version_info < (3, 11), reason="Python does not know the variable")


@pytest.mark.parametrize("safe", [{}, pytest.param({"PYTHONSAFEPATH": "1"}, marks=SINCE_3_11)])
def test_no_file_beside_the_notebook_is_run(tmp_path: Path, safe: dict[str, str]) -> None:
    for name in ("select", "json", "struct", "runpy", "numpy", "pyopencl", "tfnb"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    command = PARENT if safe else f"import sys; sys.path.remove('')\n{PARENT}"
    environment = {**os.environ, "PYTHONPATH": children._ROOT, **safe}
    done = subprocess.run(
        [sys.executable, "-c", command, "tfnb.devices.opencl.compiling_process"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout == "0\n"
    assert not (tmp_path / "ran").exists()


def test_a_system_that_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    for executable in ("", "/nowhere/python"):
        monkeypatch.setattr(sys, "executable", executable)
        assert children.start_child("tfnb", ["--version"]) is None


def test_a_child_that_has_ended_is_forgotten() -> None:
    first = children.start_child("tfnb", ["--version"])
    assert first is not None and first.wait(60) == 0
    second = children.start_child("tfnb", ["--version"])
    assert second is not None and first.stdin is not None and first.stdin.closed
    assert (os.getpid(), first) not in children._children
    second.wait(60)
