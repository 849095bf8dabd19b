"""Which process of pytest-xdist runs which tests: those of some folders share one, other files go to whoever is free.

A class of our own behind xdist's interface for schedulers. xdist's `--dist loadgroup` keeps groups together too, but when a
test ends its process it hands out finished tests again, and then waits for ever (version 3.8); `worksteal` splits groups.
Invariant: each test is in `_units`, in `_pending` of one process, or over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import suppress

import pytest
from xdist.workermanage import WorkerController, parse_tx_spec_config

# Folders and files whose tests share something large, and so run in one process: a JupyterLab and a browser, a Dask
# cluster, one run of the fuzzer, a Jupyter server, the steps that execute several ops each.
TOGETHER = (
    "tests/browser/",
    "tests/session/dask/",
    "tests/fuzz/",
    "tests/notebook/server/",
    "tests/ops/test_opencl.py",
)
# A process begins a test when it knows the one after it, or that there is none.
_AHEAD = 2
# Tests of one file that a process gets at once: they share fixtures, and kernels that the process has loaded.
_PART = 40


class ByFolder:
    """xdist's `Scheduling` for a list of folders and files whose tests stay together; other files are cut into parts."""

    def __init__(self, config: pytest.Config, folders: Sequence[str] = TOGETHER) -> None:
        self._folders = folders
        self._wanted = len(parse_tx_spec_config(config))
        self._tests: list[str] = []
        self._collected: dict[WorkerController, bool] = {}
        self._pending: dict[WorkerController, deque[int]] = {}
        # The numbers of the tests that no process has; None until all processes have collected.
        self._units: deque[list[int]] | None = None

    @property
    def nodes(self) -> list[WorkerController]:
        return list(self._pending)

    @property
    def collection_is_completed(self) -> bool:
        return self._units is not None or sum(self._collected.values()) >= self._wanted

    @property
    def tests_finished(self) -> bool:
        return self._units is not None and not self._units and all(len(p) < _AHEAD for p in self._pending.values())

    @property
    def has_pending(self) -> bool:
        return bool(self._units) or any(self._pending.values())

    def add_node(self, node: WorkerController) -> None:
        self._pending[node], self._collected[node] = deque(), False

    def add_node_collection(self, node: WorkerController, collection: Sequence[str]) -> None:
        if not any(self._collected.values()) and self._units is None:
            self._tests = list(collection)
        elif list(collection) != self._tests:
            raise pytest.UsageError(f"{node.gateway.id} has collected other tests than the first process")
        self._collected[node] = True

    def schedule(self) -> None:
        if self._units is None:
            self._units = deque(self._grouped(range(len(self._tests))))
        self._feed()

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        self._pending[node].remove(item_index)
        self._feed()

    def mark_test_pending(self, item: str) -> None:
        raise NotImplementedError

    def remove_pending_tests_from_node(self, node: WorkerController, indices: Sequence[int]) -> None:
        raise NotImplementedError

    def remove_node(self, node: WorkerController) -> str | None:
        """The test that ended the process, if one did; what the process had left goes to the others, in its order."""
        left = self._pending.pop(node)
        del self._collected[node]
        if not left:
            return None
        ended = self._tests[left.popleft()]
        if left and self._units is not None:
            self._units.extendleft(reversed(self._grouped(left)))
        self._feed()
        return ended

    def _grouped(self, tests: Sequence[int]) -> list[list[int]]:
        """The numbers of the tests that stay together; folders first, so that no process begins one at the end."""
        folders: dict[str, list[int]] = {}
        files: dict[str, list[int]] = {}
        for i in tests:
            name = self._tests[i]
            folder = next((f for f in self._folders if name.startswith(f)), None)
            if folder is not None:
                folders.setdefault(folder, []).append(i)
            else:
                files.setdefault(name.partition("::")[0], []).append(i)
        parts = (file[k : k + _PART] for file in files.values() for k in range(0, len(file), _PART))
        return [*sorted(folders.values(), key=len, reverse=True), *parts]

    def _feed(self) -> None:
        """Gives tests to every process that has almost none, and lets those end for which there are none."""
        for node, pending in self._pending.items():
            if not self._collected[node] or node.shutting_down:
                continue
            while self._units and len(pending) <= _AHEAD:
                unit = self._units.popleft()
                pending.extend(unit)
                # A process that has ended, which xdist has not reported yet: `remove_node` gives its tests to others.
                with suppress(OSError):
                    node.send_runtest_some(unit)
            if not self._units and self._units is not None:
                node.shutdown()
