"""Parts of graphs as functions of arrays, in this process: what data sets map with (white paper, section 4.5).

Invariant: one is compiled once for all who ask for it, as long as it is among those that were asked for last.
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
from tfnb.system.interrupts import raise_if_overdue

__all__ = ["Functions"]

_KEPT = 256  # of graphs that may be gone: a task lives longer than the sessions on it


class Functions:
    """`functions(fetches, feeds)`: the part of a graph from the tensors `feeds` to the tensors `fetches`.

    Compiled for the devices of `context`; raises as `compile_step` does.
    """

    def __init__(self, context: Context, threads: HostThreads) -> None:
        self._context, self._threads = context, threads
        self._known: Cache[Any, Executor] = Cache("functions of steps", _KEPT)

    def __call__(self, fetches: Sequence[Any], feeds: Sequence[Any]) -> Callable[..., list[np.ndarray]]:
        key = tuple(fetches), tuple(feeds)
        found = self._known.renew(key)
        if found is None:
            step = compile_step(Request(key[0], (), key[1]), self._context)
            executor = Executor.of_parts(step.parts, self._threads, self._context.settings.fast_loops)
            found = self._known.put(key, executor)
        run = found.run

        def call(*values: np.ndarray) -> list[np.ndarray]:
            raise_if_overdue()  # a filter may let no element through, for ever
            return run(values)

        return call

    def clear(self) -> None:
        """Forgets them all."""
        self._known.clear()
