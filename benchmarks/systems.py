"""tfnb and a peer, each in a process of its own, which answer requests and take turns, so that what else the machine
does hits both.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.programs import PROGRAMS

__all__ = ["System", "in_turns", "take_turns"]


class System:
    """A system in its process. Python imports the benchmarks, and tfnb, from the folder in which it starts."""

    def __init__(self, name: str, folder: str = ".", environment: dict[str, str] | None = None) -> None:
        self._remarks = tempfile.TemporaryDirectory()
        # TensorFlow's remarks are shown only if it fails; tfnb says what it waits for.
        with (Path(self._remarks.name) / "stderr").open("w") as remarks:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.worker", name],
                cwd=folder,
                env={**os.environ, **(environment or {})},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=None if name == "tfnb" else remarks,
                text=True,
                bufsize=1,
            )

    def ask(self, line: str) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(f"a benchmark worker ended while doing {line!r}{self._last_remarks()}")
        return json.loads(answer)  # type: ignore[no-any-return]

    def _last_remarks(self) -> str:
        lines = (Path(self._remarks.name) / "stderr").read_text(errors="replace").splitlines()
        return "\n".join(["", *lines[-20:]])

    def pin(self) -> None:
        """Keeps the thread that runs the steps, but not those of the kernels, on one core.

        The cores of a machine can differ by half, which small steps show.
        """
        self.ask(f"make {PROGRAMS[0].name}")  # starts the threads of the kernels
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(self._process.pid, {min(os.sched_getaffinity(0))})

    def close(self) -> None:
        """Ends the process and waits for its end."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()
        self._remarks.cleanup()


def in_turns(systems: list[System], round_number: int, line: str) -> list[dict[str, Any]]:
    """The answers of the systems, in their order; they are asked in this order and its reverse, by turns."""
    numbered = list(enumerate(systems))
    answers = {k: system.ask(line) for k, system in (numbered if round_number % 2 == 0 else numbered[::-1])}
    return [answers[k] for k, _ in numbered]


def take_turns(ours: System, peer: System, rounds: int, steps: int, best: bool) -> tuple[float, float, float]:
    """The medians of both and the median ratio of the rounds, or with `best` the best times and their ratio."""
    which = "best" if best else "median"
    pairs = [[answer[which] for answer in in_turns([ours, peer], i, f"round {steps}")] for i in range(rounds)]
    ours_all, peer_all = zip(*pairs, strict=True)
    if best:
        return min(ours_all), min(peer_all), min(peer_all) / min(ours_all)
    return statistics.median(ours_all), statistics.median(peer_all), statistics.median(b / a for a, b in pairs)
