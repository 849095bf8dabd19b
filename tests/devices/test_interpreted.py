"""Kernels that are interpreted until they are compiled: the same bits, and a compiled kernel in their place soon."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.opencl

PROGRAMS = Path(__file__).with_name("interpreted_programs.py")
PREPARE = "from tfnb.devices.opencl.compiling_process import compile_interpreter; compile_interpreter()"


def run(cache: Path, *command: str, **variables: str) -> str:
    environment = {**os.environ, "TFNB_CACHE_DIR": str(cache), "TFNB_QUIET": "1", "TFNB_INTERPRET": "1", **variables}
    done = subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that has nothing but the interpreter, until a test compiles something."""
    folder = tmp_path_factory.mktemp("cache")
    run(folder, "-c", PREPARE)
    return folder


def results(cache: Path, file: Path, name: str, interpret: str) -> tuple[int, list[np.ndarray]]:
    """How often a program had interpreted kernels, and the values."""
    n = int(run(cache, str(PROGRAMS), str(file), name, TFNB_INTERPRET=interpret))
    with np.load(file) as arrays:
        return n, [arrays[k] for k in arrays.files]


@pytest.mark.parametrize("name", ["elementwise_values", "whole_values", "random_values", "training"])
def test_the_bits_are_those_of_compiled_kernels(cache: Path, tmp_path: Path, name: str) -> None:
    n, interpreted = results(cache, tmp_path / "interpreted.npz", name, "1")
    none, compiled = results(tmp_path / "cache", tmp_path / "compiled.npz", name, "0")
    assert none == 0 < n
    assert len(interpreted) == len(compiled)
    for k, (a, b) in enumerate(zip(interpreted, compiled, strict=True)):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert a.tobytes() == b.tobytes(), (k, a, b)


def test_compiled_kernels_take_over(cache: Path, tmp_path: Path) -> None:
    n, _ = results(cache, tmp_path / "values.npz", "taken_over", "1")
    assert n > 20
    again, _ = results(cache, tmp_path / "values.npz", "elementwise_values", "1")
    assert again > 0  # which has not run so often that its kernels were compiled
