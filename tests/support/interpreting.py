"""Which tests run new kernels by the interpreter, as users do, and which compile them.

Most of the time of the tests goes into kernels that a few tests need and run once or twice. Tests of the folders below are
about other things than kernels, so there kernels are interpreted; those that run often are compiled, as for users. The
kernels themselves are tested compiled, by the tests of operations and of code generation. TFNB_INTERPRET=0 or 1 says it for
all tests.
"""

from __future__ import annotations

import os
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
INTERPRETED = (
    *("browser/", "client/", "datasets/", "documents/", "lessons/", "notebook/", "placement/", "programs/"),
    *("session/dask/", "summary/", "train/", "v1/", "test_examples.py"),
)


class Interpreting:
    """Says to this process, and to the processes that its tests start, whether kernels are interpreted."""

    def __init__(self) -> None:
        self._is_told = "TFNB_INTERPRET" in os.environ
        self._interprets: bool | None = None
        self._was = None

    def begin(self, path: Path) -> None:
        """Notes that a test of the file at `path` begins."""
        if self._is_told:
            return
        interprets = path.relative_to(TESTS).as_posix().startswith(INTERPRETED)
        if interprets is self._interprets:
            return
        from tfnb.devices.opencl.build import ProgramLibrary
        from tfnb.devices.opencl.compiling_process import compile_interpreter

        if self._was is None:
            self._was = ProgramLibrary.interprets
        os.environ["TFNB_INTERPRET"] = str(int(interprets))
        ProgramLibrary.interprets = self._was if interprets else property(lambda library: False)
        if interprets and self._interprets is None:
            compile_interpreter()
        self._interprets = interprets
