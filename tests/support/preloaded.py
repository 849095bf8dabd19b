"""Processes of the tests that begin as copies of one that has imported tfnb and Dask.

A new Python spends 1.5 s of a processor on these imports; Dask's own way to begin a worker (`spawn`) and `python -c` of
the tests' servers pay it each time. One process of `multiprocessing`'s fork server, which has no threads of tfnb and no
OpenCL platform yet, pays it once for each process of pytest. What begins so has today's environment variables, as a new
Python would, and everything of its own from there on; `users_way` is for the tests of how it goes without this.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import dask
from distributed import LocalCluster
from distributed.utils import get_mp_context

import tfnb as tf
from tfnb.v1.programs.command_line import main

__all__ = ["ServerProcess", "begins_workers", "local_cluster", "run_program", "users_way"]

_METHOD = "distributed.worker.multiprocessing-method"
_PRELOADED = ["distributed", "tfnb", "tfnb.session.dask.cluster", "tfnb.session.dask.server", "preloaded"]


def begins_workers() -> ForkServerContext:
    """Lets Dask begin its workers as copies, in all of this process from now on; returns what begins other processes."""
    dask.config.set({_METHOD: "forkserver"})
    context = get_mp_context()  # the first time Dask says what it would preload
    context.set_forkserver_preload(_PRELOADED)
    return context


def local_cluster(workers: int, **options: Any) -> LocalCluster:
    """A Dask cluster of `workers` processes with one thread each, which have the environment of this process."""
    begins_workers()
    options = {"dashboard_address": "127.0.0.1:0", "env": dict(os.environ), **options}
    return LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, **options)


@contextlib.contextmanager
def users_way() -> Iterator[None]:
    """Inside, Dask begins its workers as it does for who sets nothing."""
    with dask.config.set({_METHOD: "spawn"}):
        yield


def _as_in(environment: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)


def _serve(environment: dict[str, str], cluster: dict[str, list[str]], job: str, number: int) -> None:
    _as_in(environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    tf.train.Server(cluster, job, number).join()


class ServerProcess:
    """A process that hosts one task of a cluster: `tf.train.Server(cluster, job, number).join()`."""

    def __init__(self, cluster: dict[str, list[str]], job: str, number: int) -> None:
        self._process = begins_workers().Process(
            target=_serve, args=(dict(os.environ), cluster, job, number), daemon=True
        )
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """The exit code, or None while the process lives."""
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        """Ends it as it is; nothing if it has ended."""
        self._process.kill()

    def wait(self) -> None:
        """Returns when the process has ended."""
        self._process.join()


def run_program(program: Path) -> tuple[int, str, str]:
    """The exit code of `python -W error -m tfnb run PROGRAM` and what it printed as output and as errors.

    For programs to which it does not matter what Python has imported before them.
    """
    written = [program.with_suffix(f".{name}") for name in ("out", "err")]
    process = begins_workers().Process(target=_run, args=(dict(os.environ), program, *written))
    process.start()
    process.join(120)
    if process.exitcode is None:
        process.kill()
        process.join()
    assert process.exitcode is not None
    out, err = (path.read_text(encoding="utf-8") for path in written)
    return process.exitcode, out, err


def _run(environment: dict[str, str], program: Path, out: Path, err: Path) -> None:
    _as_in(environment)
    for stream, path in ((sys.stdout, out), (sys.stderr, err)):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(file, stream.fileno())
        os.close(file)
    warnings.simplefilter("error")
    sys.exit(main(["run", str(program)]))
