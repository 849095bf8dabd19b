"""The process that reads inputs: one after the other, with time and memory of each looked at."""

from __future__ import annotations

import contextlib
import signal
import tempfile
import time
import traceback
import warnings
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from fuzz.memory import PeakMemory, limit_address_space
from fuzz.target import Target, make_target
from tfnb.errors import OpError

SECONDS = 2.0  # of processor time that one input may take
PEAK_TIMES, PEAK_MORE = 4, 64 << 20  # peak memory may grow by 4 times the input and 64 MB
_LONGEST = 4.0  # seconds of processor time until an input is interrupted
_ADDRESS_SPACE = 6 << 30
_MUTATED = 1 << 13  # bytes: larger seeds are read, but mutants of them would only make the run slow


class Batch(NamedTuple):
    """Inputs number `start` to `stop` - 1 of a target."""

    target: str
    seed: int
    start: int
    stop: int


class Failure(NamedTuple):
    """An input that the reader did not take as it should. `kind` groups failures of one cause."""

    target: str
    number: int
    kind: str
    details: str


class Result(NamedTuple):
    """What a batch came to."""

    refused: int
    slowest: tuple[float, int]  # milliseconds of processor time, input
    largest: tuple[int, int]  # bytes of growth of the peak, input
    resident: int  # bytes that the process has at the end
    failures: list[Failure]


class _Interrupted(BaseException):
    """The input took too long. No reader may swallow this, so it is no `Exception`."""


def _interrupt(_signal: int, _frame: Any) -> None:
    raise _Interrupted


def input_of(target: Target, batch_seed: int, name: str, number: int) -> bytes:
    """The input of that number: first the seeds as they are, then mutants of them."""
    fixed = [*target.seeds, *target.hostile]
    if number < len(fixed):
        return fixed[number]
    rng = Random(f"{batch_seed} {name} {number}")
    small = [s for s in target.hostile if len(s) <= _MUTATED]
    seed = rng.choice(small) if small and rng.random() < 0.15 else rng.choice(target.seeds)
    return rng.choice(target.mutations)(seed, rng)


class Reading:
    """Reads inputs of targets and judges what came of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._targets: dict[str, Target] = {}
        self._memory = PeakMemory()

    def target(self, name: str) -> Target:
        if name not in self._targets:
            folder = self._folder / name
            folder.mkdir()
            self._targets[name] = made = make_target(name, folder)
            for seed in made.seeds:  # what is imported or made at first use is no growth
                with contextlib.suppress(OpError):  # an option that the target draws may not fit
                    made.read(seed)
        return self._targets[name]

    def read(self, name: str, number: int, data: bytes) -> tuple[bool, float, int, Failure | None]:
        """Was it refused, milliseconds of processor time, growth of the peak in bytes, what was wrong."""
        target = self._targets[name]
        refused, kind, details = False, "", ""
        self._memory.begin()
        begin = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, _LONGEST)
        try:
            target.read(data)
        except OpError:
            refused = True
        except _Interrupted:
            kind, details = "too slow", traceback.format_exc()
        except BaseException as e:
            kind, details = _place(e), traceback.format_exc()
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        milliseconds = (time.process_time() - begin) * 1000
        growth = self._memory.growth()
        if not kind and milliseconds > SECONDS * 1000:
            kind, details = "too slow", f"{milliseconds:.0f} ms of processor time"
        if not kind and growth > PEAK_TIMES * len(data) + PEAK_MORE:
            allowed = PEAK_TIMES * (len(data) + target.product(data)) + PEAK_MORE
            if growth > allowed:
                kind = "too much memory"
                details = f"peak +{growth >> 20} MB, allowed +{allowed >> 20} MB for {len(data)} bytes"
        return refused, milliseconds, growth, Failure(name, number, kind, details) if kind else None

    def batch(self, batch: Batch, progress: Any) -> Result:
        target = self.target(batch.target)
        refusals, failures = 0, []
        slowest, largest = (0.0, 0), (0, 0)
        for number in range(batch.start, batch.stop):
            data = input_of(target, batch.seed, batch.target, number)
            progress[0], progress[1] = number, time.time()
            refused, milliseconds, growth, failure = self.read(batch.target, number, data)
            refusals += refused
            slowest, largest = max(slowest, (milliseconds, number)), max(largest, (growth, number))
            if failure is not None:
                failures.append(failure)
        return Result(refusals, slowest, largest, self._memory.resident(), failures)


def _place(error: BaseException) -> str:
    """The class of an error that is not ours, and where in tfnb it came through last."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "tfnb" in Path(f.filename).parts]
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{where}"


def work(connection: Connection, progress: Any) -> None:
    """Answers batches until there is none left. `progress`: number of the input that is being read, and since when."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGPROF, _interrupt)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    limit_address_space(_ADDRESS_SPACE)
    with tempfile.TemporaryDirectory(prefix="tfnb-fuzz-", ignore_cleanup_errors=True) as folder:
        reading = Reading(Path(folder))
        while (batch := connection.recv()) is not None:
            try:
                connection.send(reading.batch(batch, progress))
            except Exception as e:  # of the fuzzer itself
                connection.send(RuntimeError(f"{batch}: {e!r}\n{traceback.format_exc()}"))
