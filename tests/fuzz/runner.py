"""Deals inputs out to worker processes, survives what kills them, and adds up what they tell."""

from __future__ import annotations

import contextlib
import multiprocessing
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from fuzz.target import make_target
from fuzz.worker import Batch, Failure, Result, input_of, work

_BATCH = 500
_HANG = 40.0  # seconds without an end: the signal inside the worker was not heard, so its process is killed
_KEPT = 3  # reproducible inputs that are saved of each kind of failure
HEAD = f"{'reader':24s} {'inputs':>8s} {'refused':>8s} {'slowest ms':>11s} {'peak MB':>8s} {'kept MB':>8s} {'failures':>9s}"


@dataclass
class Tally:
    """What the inputs of one target came to."""

    inputs: int = 0
    refused: int = 0
    slowest: tuple[float, int] = (0.0, 0)
    largest: tuple[int, int] = (0, 0)
    resident: dict[int, list[int]] = field(default_factory=dict)  # worker -> resident bytes after each batch
    failures: list[Failure] = field(default_factory=list)

    def add(self, batch: Batch, result: Result, worker: int) -> None:
        self.inputs += batch.stop - batch.start
        self.refused += result.refused
        self.slowest = max(self.slowest, result.slowest)
        self.largest = max(self.largest, result.largest)
        self.resident.setdefault(worker, []).append(result.resident)
        self.failures += result.failures

    def row(self, name: str) -> str:
        """The line of the table, whose first line is `HEAD`."""
        return (
            f"{name:24s} {self.inputs:8d} {self.refused:8d} {self.slowest[0]:11.0f} {self.largest[0] / 2**20:8.0f} "
            f"{self.leaked / 2**20:8.1f} {len(self.failures):9d}"
        )

    @property
    def leaked(self) -> int:
        """Bytes by which a worker grew between its first batch and its last one."""
        return max((sizes[-1] - sizes[0] for sizes in self.resident.values()), default=0)


class _Worker:
    """A process, and the batch that it has."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.progress: Any = context.Array("d", 2, lock=False)
        self.progress[0] = -1.0
        self.batch: Batch | None = None
        self.process = context.Process(target=work, args=(theirs, self.progress), daemon=True)
        self.process.start()
        theirs.close()

    @property
    def number(self) -> int:
        return self.process.pid or 0

    def give(self, batch: Batch) -> None:
        self.batch = batch
        self.progress[0], self.progress[1] = -1.0, time.time()
        self.connection.send(batch)

    def hangs(self) -> bool:
        return self.batch is not None and time.time() - self.progress[1] > _HANG + 60 * (self.progress[0] < 0)

    def end(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            self.connection.send(None)
        self.process.join(5)
        self.kill()

    def kill(self) -> int | None:
        """Ends the process; its exit code."""
        self.process.kill()
        self.process.join()
        self.connection.close()
        return self.process.exitcode


class Run:
    """One run of the fuzzer over some targets. `progress` is called with a line now and then, `ended` with each row."""

    def __init__(
        self,
        targets: Sequence[str],
        inputs: int,
        seed: int,
        workers: int = 2,
        progress: Callable[[str], None] = lambda _line: None,
        ended: Callable[[str], None] = lambda _row: None,
    ) -> None:
        self.tallies = {name: Tally() for name in targets}
        self._inputs, self._seed, self._progress, self._ended = inputs, seed, progress, ended
        self._left = deque(
            Batch(name, seed, at, min(at + _BATCH, inputs)) for name in targets for at in range(0, inputs, _BATCH)
        )
        self._count = workers
        self._workers: list[_Worker] = []

    def go(self) -> None:
        """Runs all of it."""
        try:
            self._workers = [_Worker() for _ in range(min(self._count, len(self._left)))]
            while self._left or any(w.batch for w in self._workers):
                for worker in self._workers:
                    if worker.batch is None and self._left:
                        worker.give(self._left.popleft())
                self._listen()
        finally:
            for worker in self._workers:
                worker.end()

    def _listen(self) -> None:
        busy = {w.connection: w for w in self._workers if w.batch is not None}
        for connection in wait(list(busy), timeout=1.0):
            worker = busy[connection]  # type: ignore[index]
            try:
                result = worker.connection.recv()
            except (EOFError, OSError):
                self._lost(worker, "the process died")
                continue
            if isinstance(result, Exception):
                raise result
            batch, worker.batch = worker.batch, None
            assert batch is not None
            self.tallies[batch.target].add(batch, result, worker.number)
            self._tell(batch.target, batch.stop % 10_000 == 0)
        for worker in busy.values():
            if worker.hangs():
                self._lost(worker, f"no end after {_HANG:.0f} s")

    def _tell(self, name: str, progress: bool) -> None:
        tally = self.tallies[name]
        if tally.inputs == self._inputs:
            self._ended(tally.row(name))
        elif progress:
            self._progress(f"{name}: {tally.inputs} of {self._inputs}")

    def _lost(self, worker: _Worker, what: str) -> None:
        """The worker died or hangs: the input that it had is to blame, and another worker goes on behind it."""
        batch, number = worker.batch, int(worker.progress[0])
        code = worker.kill()
        assert batch is not None
        if number < batch.start:
            raise RuntimeError(f"a worker ended with {code} before it read an input of {batch.target}")
        tally = self.tallies[batch.target]
        tally.inputs += number + 1 - batch.start
        tally.failures.append(Failure(batch.target, number, what, f"exit code {code}"))
        if number + 1 < batch.stop:
            self._left.appendleft(batch._replace(start=number + 1))
        self._tell(batch.target, False)
        self._workers.remove(worker)
        self._workers.append(_Worker())

    # ---- the report ------------------------------------------------------------------------

    def failed(self) -> bool:
        return any(t.failures for t in self.tallies.values())

    def kinds(self) -> list[str]:
        """A line for each kind of failure: how often, and the first input."""
        lines = []
        for name, tally in self.tallies.items():
            for kind, count in Counter(f.kind for f in tally.failures).most_common():
                first = next(f for f in tally.failures if f.kind == kind)
                last = first.details.strip().splitlines()[-1][:160]
                lines.append(f"{name}: {count} x {kind}; first is input {first.number}: {last}")
        return lines

    def save(self, out: Path) -> None:
        """Writes some inputs of each kind of failure, and what happened, into a folder."""
        with tempfile.TemporaryDirectory() as folder:
            for name, tally in self.tallies.items():
                if not tally.failures:
                    continue
                (Path(folder) / name).mkdir()
                target = make_target(name, Path(folder) / name)
                saved: Counter[str] = Counter()
                for failure in tally.failures:
                    saved[failure.kind] += 1
                    if saved[failure.kind] > _KEPT:
                        continue
                    place = out / f"{name}-{failure.number}"
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.with_suffix(".input").write_bytes(input_of(target, self._seed, name, failure.number))
                    place.with_suffix(".txt").write_text(f"{failure.kind}\n{failure.details}\n")
