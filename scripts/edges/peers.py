"""Libraries in processes of their own, and the memory through which blocks of numbers reach them.

Invariant: a block's place is not written again before all libraries have answered for it; there are two, so that the
libraries compute one block while the other one is compared.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import IO, cast

import numpy as np
from measure import Format
from patterns import BLOCK

__all__ = ["Peer", "Places"]

HERE = Path(__file__).resolve().parent
PART = 8 * BLOCK  # bytes of an operand or a result
OPERANDS = 2


class Places:
    """A file in memory with two places for blocks: the operands and, for each library, its result."""

    def __init__(self, libraries: int) -> None:
        folder = "/dev/shm" if Path("/dev/shm").is_dir() else None
        self.file = tempfile.NamedTemporaryFile(dir=folder)  # noqa: SIM115  # it lives as long as this object
        self.size = PART * (OPERANDS + libraries)
        self.file.truncate(2 * self.size)
        self.memory = np.memmap(self.file.name, np.uint8, "r+")

    def put(self, place: int, operands: list[np.ndarray]) -> list[int]:
        """Writes the operands of a block; returns where they are."""
        found = [place * self.size + k * PART for k in range(len(operands))]
        for at, bits in zip(found, operands, strict=True):
            self.memory[at : at + bits.nbytes] = bits.view(np.uint8)
        return found

    def close(self) -> None:
        """Removes the file."""
        del self.memory
        self.file.close()


class Peer:
    """A library in a process of its own; `number` counts the libraries."""

    def __init__(self, library: str, python: str, places: Places, number: int) -> None:
        self.places, self.offset = places, PART * (OPERANDS + number)
        self.process = subprocess.Popen(
            [python, str(HERE / "child.py"), library, places.file.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=HERE.parents[1],
        )

    def ask(self, name: str, form: Format, place: int, operands: list[int], n: int) -> None:
        """Makes the library compute a function of the `n` numbers at each of these places."""
        send = cast(IO[bytes], self.process.stdin)
        request = {"function": name, "dtype": form.name, "n": n, "operands": operands}
        send.write(json.dumps(request | {"result": place * self.places.size + self.offset}).encode() + b"\n")
        send.flush()

    def answer(self, form: Format, place: int, n: int) -> np.ndarray | str:
        """Returns the result's bits, or bools, or why there is no result."""
        line = cast(IO[bytes], self.process.stdout).readline()
        if not line:
            return "the process ended"
        head = json.loads(line)
        if "error" in head:
            return str(head["error"])
        kind = np.dtype(np.bool_ if head["size"] == 1 else form.word)
        at = place * self.places.size + self.offset
        return self.places.memory[at : at + n * kind.itemsize].view(kind)

    def close(self) -> None:
        """Ends the process."""
        cast(IO[bytes], self.process.stdin).close()
        self.process.wait()
