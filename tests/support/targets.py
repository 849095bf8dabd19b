"""Tests on other targets: `pytest --target=devices:3` (of this machine) or `--target=tasks:2` (processes of Dask).

A session of a test that says nothing of where it runs is there then, and its nodes that ask for no device are dealt
out by a hash of their names. With `--results=FOLDER` steps are compared bit for bit: without a target the folder gets
what each step of a test's main thread returned; with one, a test fails whose steps return anything else. Kernels are
the same everywhere under TFNB_OPTIMIZE=0 only: what is fused with what depends on who is where.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import re
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.ir.builder import GraphBuilder
from tfnb.session import dask, session

DEALT = "random:1"  # the policy of placement
PASSING = re.compile(rb"\.tmp-[0-9a-f]{16}|tfnb_model_\w{8}")  # what is in names of files for a while, at random
SEED = 20151109  # of graphs that have none, where results are compared


class Tasks:
    """Dask clusters of `n` tasks in processes of their own, one for each session that is open at the same time."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._open = ExitStack()
        self._free: list[tf.train.DaskCluster] = []

    def worker(self, config: tf.ConfigProto) -> Any:
        """What runs the steps of a session: on tasks without state, as a session of one machine begins."""
        cluster = self._free.pop() if self._free else self._start()
        master = dask.connect(cluster.target, config)
        master.reset(None)
        close = master.close

        def leave() -> None:
            close()
            self._free.append(cluster)

        master.close = leave
        return master

    def _start(self) -> tf.train.DaskCluster:
        preloaded = importlib.import_module("preloaded")  # tests of one process need no Dask
        workers = self._open.enter_context(preloaded.local_cluster(self._n))
        client = self._open.enter_context(workers.get_client())
        return self._open.enter_context(tf.train.DaskCluster(client, patience=300.0, worker=self._n))

    def close(self) -> None:
        self._open.close()


class Results:
    """What the steps of one test returned, in a file of `folder` by the test's name."""

    def __init__(self, folder: str, compares: bool) -> None:
        self._folder, self.compares = Path(folder), compares
        self._sessions = self._apart = 0
        self._found: list[Any] = []
        self._own = b""

    def begin(self) -> None:
        """A test begins, with its fixtures."""
        self._sessions, self._apart, self._found, self._own = 0, 0, [], b""

    def has_folder(self, path: Path | None) -> None:
        """The test's own folder has another name in every run."""
        self._own = str(path or "").encode()

    def watch(self, worker: Any) -> None:
        """Notes what a session's worker returns to the main thread."""
        number, execute = self._sessions, worker.execute
        self._sessions += 1

        def noted(step: Any, *args: Any) -> list[np.ndarray]:
            values = execute(step, *args)
            if threading.current_thread() is threading.main_thread():
                self._found.append([number, [_told(v, self._own) for v in values]])
                self._apart += len({n.device for n in step.graph.nodes.values()}) > 1
            return values

        worker.execute = noted

    def end(self, test: str) -> tuple[int, int]:
        """The test has passed; was it as on one device?

        Gives how many steps were compared, and how many of these ran on several devices.
        """
        path = self._folder / f"{hashlib.sha256(test.encode()).hexdigest()[:24]}.json"
        found = json.loads(json.dumps(self._found))
        if not self.compares:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"test": test, "steps": found}))
        elif path.exists():
            wanted = json.loads(path.read_text())["steps"]
            differ = [(k, a, b) for k, (a, b) in enumerate(zip(found, wanted, strict=False)) if a != b]
            if differ:
                k, here, there = differ[0]
                pytest.fail(f"{len(differ)} of {len(wanted)} steps differ from one device's; step {k}: {here}, {there}")
            if len(found) != len(wanted):
                pytest.fail(f"{len(found)} steps ran, on one device {len(wanted)}")
            return len(found), self._apart
        return 0, 0


def _told(value: Any, own: bytes) -> list[Any]:
    array = np.asarray(value)
    if array.dtype == object:
        parts = [PASSING.sub(b"", x.replace(own, b"")) if isinstance(x, bytes) else x for x in array.flat]
        array = np.array(parts, object).reshape(array.shape)
    data = repr(array.tolist()).encode() if array.dtype == object else np.ascontiguousarray(array).tobytes()
    return [str(array.dtype), list(array.shape), hashlib.sha256(data).hexdigest()[:16], str(array.reshape(-1)[:3])]


class Target:
    """`text`: "devices:N", "tasks:N", or "" for one device; see above."""

    def __init__(self, text: str = "", results: str = "") -> None:
        kind, _, number = text.partition(":")
        if kind not in ("", "devices", "tasks") or bool(kind) != number.isdigit():
            raise pytest.UsageError(f"--target={text}: needed devices:N or tasks:N")
        self.is_tasks = kind == "tasks"
        self.results = Results(results, bool(kind)) if results else None
        self._tasks = Tasks(int(number)) if self.is_tasks else None
        if kind:
            os.environ.setdefault("TFNB_PLACEMENT", DEALT)
        if kind == "devices":
            os.environ["TFNB_CPUS"] = number

    def install(self) -> Callable[[], None]:
        """From now on sessions run there; gives what ends that."""
        if self._tasks is None and self.results is None:
            return lambda: None
        local, begin = session.LocalWorker, GraphBuilder.__init__

        def seeded(graph: Any) -> None:
            begin(graph)
            graph.seed = SEED

        def make(config: tf.ConfigProto) -> Any:
            asks = config.device_count or config.memory_limit  # for devices of this machine
            worker = local(config) if self._tasks is None or asks else self._tasks.worker(config)
            if self.results is not None:
                self.results.watch(worker)
            return worker

        session.LocalWorker = make
        if self.results is not None:
            GraphBuilder.__init__ = seeded

        def end() -> None:
            session.LocalWorker, GraphBuilder.__init__ = local, begin
            if self._tasks is not None:
                self._tasks.close()

        return end
