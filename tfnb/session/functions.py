"""Parts of graphs as functions of arrays in this process, which data sets apply to elements (white paper, section 4.5).

Invariant: a function is compiled once for all callers, unless so many others were requested since that it was dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfnb.caches import Cache
from tfnb.passes.prune import Request
from tfnb.runtime.executor import Executor
from tfnb.runtime.host_threads import HostThreads
from tfnb.session.compile import Context, compile_step
from tfnb.system.interrupts import holding_interrupts, raise_if_overdue

__all__ = ["Functions"]

_KEPT = 256  # limited, because functions may keep graphs alive: a task lives longer than its sessions


class Functions:
    """The compiled functions of a session or task.

    `functions(fetches, feeds)` returns the part of a graph from the tensors `feeds` to the tensors `fetches` as a
    function of arrays, which returns a list of arrays. It is compiled for the devices of `context`. The call raises the
    errors of `compile_step`.
    """

    def __init__(self, context: Context, threads: HostThreads) -> None:
        self._context, self._threads = context, threads
        self._known: Cache[Any, Executor] = Cache("functions of steps", _KEPT)

    def __call__(self, fetches: Sequence[Any], feeds: Sequence[Any]) -> Callable[..., list[np.ndarray]]:
        key = tuple(fetches), tuple(feeds)
        executor = self._known.renew(key)
        if executor is None:
            with self._known.timed():
                step = compile_step(Request(key[0], (), key[1]), self._context)
            new_executor = Executor.of_parts(step.parts, self._threads, self._context.settings.fast_loops)
            executor = self._known.put(key, new_executor)
        run = executor.run

        def call(*values: np.ndarray) -> list[np.ndarray]:
            raise_if_overdue()  # a filter may drop all elements for ever
            with holding_interrupts():  # the iterator is locked
                return run(values)

        return call

    def clear(self) -> None:
        """Removes all functions."""
        self._known.clear()
