"""Which tests run new kernels by the interpreter, as users do, and which compile them.

Most of the time of the tests goes into kernels that a few tests need and run once or twice. Tests of the folders below are
about other things than kernels, so there kernels are interpreted; those that run often are compiled, as for users. The
kernels themselves are tested compiled, by the tests of operations and of code generation. TFNB_INTERPRET=0 or 1 says it for
all tests but those marked `compiled`, which count what is compiled or called.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
INTERPRETED = (
    *("browser/", "client/", "datasets/", "documents/", "lessons/", "notebook/", "placement/", "programs/"),
    *("session/dask/", "summary/", "train/", "v1/", "test_examples.py"),
)


class Interpreting:
    """Says to this process, and to the processes that its tests start, whether kernels are interpreted."""

    def __init__(self) -> None:
        self._told = os.environ.get("TFNB_INTERPRET")
        self._interprets: bool | None = None
        self._was: property | None = None
        self._has_compiled = False

    def begin(self, item: pytest.Item) -> None:
        """Notes that a test begins."""
        path = item.path  # tests of the tests lie elsewhere
        interprets = path.is_relative_to(TESTS) and path.relative_to(TESTS).as_posix().startswith(INTERPRETED)
        if self._told is not None:
            interprets = self._told == "1"
        interprets = interprets and item.get_closest_marker("compiled") is None
        if interprets is self._interprets:
            return
        from tfnb.devices.opencl.build import ProgramLibrary
        from tfnb.devices.opencl.compiling_process import compile_interpreter

        if self._was is None:
            self._was = ProgramLibrary.interprets
        os.environ["TFNB_INTERPRET"] = str(int(interprets))
        ProgramLibrary.interprets = self._was if interprets else property(lambda library: False)
        if interprets and not self._has_compiled:
            compile_interpreter()
            self._has_compiled = True
        self._interprets = interprets
