"""The command `tfnb prepare`: compiles the interpreter and the kernels of typical models, so that the cache has them.

Invariant: at any time at most one process on a machine prepares one cache; a mark in the cache says that it is done.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tfnb.devices.opencl.compiling_process import compile_interpreter
from tfnb.disk_cache import DiskCache
from tfnb.ir.builder import GraphBuilder
from tfnb.preparation.models import MODELS
from tfnb.preparation.state import MARK, is_prepared
from tfnb.session.session import Session
from tfnb.settings import load_settings

__all__ = ["main", "train"]

_SIZES = (8, 300)  # examples of a batch: small steps run in the caller's thread, larger ones on all cores
_POLITENESS = 19  # of the process, as of the command `nice`: it shall take no time from what the user runs


def main(arguments: Sequence[str]) -> int:
    """Runs `tfnb prepare` with these arguments, of which the first is "prepare"; returns the exit status."""
    parser = argparse.ArgumentParser(prog="tfnb prepare", description=__doc__)
    parser.add_argument("--again", action="store_true", help="also where the cache says that it is done")
    parser.add_argument("--for-parent", action="store_true", help="in silence, giving way, until standard input ends")
    options = parser.parse_args(arguments[1:])
    if options.for_parent:
        os.nice(_POLITENESS)
        threading.Thread(target=_end_with_input, name="tfnb-end-of-input", daemon=True).start()
    cache = load_settings().cache_path
    if is_prepared(cache) and not options.again:
        sys.stdout.write(f"the kernels of typical models are in {cache} already; --again compiles them again\n")
        return 0
    with _alone(cache) as is_alone:
        if not is_alone:
            sys.stdout.write(f"another process is preparing {cache}\n")
            return 0
        start = time.monotonic()
        compile_interpreter()
        os.environ["TFNB_INTERPRET"] = "0"  # the models' kernels shall be compiled
        for number, text in enumerate(MODELS, 1):
            train(text)
            sys.stdout.write(f"{number} of {len(MODELS)} models, {time.monotonic() - start:.0f} s\n")
            sys.stdout.flush()
        DiskCache(cache).mark(MARK)
    return 0


def train(text: str) -> None:
    """Trains a model of `models.py` for some steps, with small and with large batches, and evaluates it."""
    with GraphBuilder().as_default(), Session() as session:
        names: dict[str, object] = {}
        exec(compile(text, "<a typical model>", "exec"), names)
        x, labels, loss, step, evaluation = (names[n] for n in ("x", "labels", "loss", "train", "evaluation"))
        initialize = session.graph.get_collection("variables")
        session.run([variable.initializer for variable in initialize])
        rng = np.random.RandomState(0)
        for n in _SIZES:
            feeds = {x: rng.rand(n, *map(int, x.shape[1:])).astype(np.float32), labels: rng.randint(0, 10, n)}  # type: ignore[attr-defined]
            session.run([loss, step], feeds)
            session.run(step, feeds)
            session.run([loss, evaluation], feeds)
            session.run(evaluation, feeds)


@contextmanager
def _alone(cache: Path) -> Iterator[bool]:
    """A context whose value says that no other process is in it for the same cache."""
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / "preparing", "ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True


def _end_with_input() -> None:
    """Ends the process when its parent has ended, which keeps a pipe to it open until then."""
    sys.stdin.buffer.read()
    os._exit(0)
