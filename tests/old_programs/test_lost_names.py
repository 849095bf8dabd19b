"""What `tfnb run` gives back to a program's process; a process of its own each, as names of NumPy change in it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tfnb.old_programs.lost_names import give_back

ROOT = Path(__file__).resolve().parents[2]


def run(tmp_path, text):
    program = tmp_path / "program.py"
    program.write_text(text)
    command = [sys.executable, "-W", "error", "-m", "tfnb", "run", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_names_of_python_and_numpy(tmp_path):
    text = """
import collections, inspect, time
import numpy as np
print(np.zeros(2, np.float).dtype, np.int is int, np.bool(1), np.product([2, 3]), np.NaN)
print(np.reshape(np.ones(6), newshape=[2, 3]).shape, np.reshape([1, 2], -1).shape)
print(issubclass(dict, collections.Mapping), time.clock() >= 0, inspect.getargspec(lambda a, b=1: a).args)
"""
    assert run(tmp_path, text) == ["float64 True True 6 nan", "(2, 3) (2,)", "True True ['a', 'b']"]


def test_lists_of_unequal_length(tmp_path):
    text = """
import numpy as np
rows = np.array([[1, 2], [3]])
print(rows.dtype, rows[0], np.asarray([[1], [2, 3]]).shape, np.array([[1, 2], [3, 4]]).dtype)
for arguments in ({"dtype": np.float32}, {}):
    try:
        np.vstack([np.array([[1, 2], [3]], **arguments)]) if arguments else np.stack([[1, 2], [3]])
    except ValueError:
        print("refused")
"""
    assert run(tmp_path, text) == ["object [1, 2] (2,) int64", "refused", "refused"]


def test_twice_is_as_once(monkeypatch):
    for name in ("array", "asarray", "reshape"):
        monkeypatch.setattr(np, name, getattr(np, name))
    give_back()
    once = np.array
    give_back()
    assert np.array is once
    with pytest.raises(ValueError, match="inhomogeneous"):
        np.array([[1, 2], [3]], np.int32)
