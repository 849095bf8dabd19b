"""Probes: the values of some outputs, taken in the very steps of a training, now and then.

A step that is probed fetches more, so it takes longer than others. Invariant: what probes cost, that time and the time
to describe and send the values, is at most 3 % of the time that has passed; only the first probed step after a change
of the probes, which compiles a new step, is not counted.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from tfnb.ir.tensor import Tensor
from tfnb.notebook.builder.runs.values import run_value
from tfnb.notebook.protocol.builder_details import Probed

__all__ = ["Probe", "Probes"]

SHARE = 0.03
LEAST_SECONDS = 0.1  # between two probed steps
Probe = tuple[str, int]  # a node, and the number of one of its outputs


class Probes:
    """The probes of one document. `wanted` may be set from any thread, while a training runs."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._wanted: tuple[Probe, ...] = ()
        self._known: dict[Probe, Tensor] = {}
        self._last: tuple[Probe, ...] = ()  # those of the last probed step
        self._next, self._plain = 0.0, 0.0

    @property
    def wanted(self) -> tuple[Probe, ...]:
        """What is probed; the next step takes it."""
        return self._wanted

    @wanted.setter
    def wanted(self, probes: Sequence[Probe]) -> None:
        with self._lock:
            self._wanted, self._next = tuple(dict.fromkeys((str(n), int(k)) for n, k in probes)), 0.0

    def begin(self, known: dict[Probe, Tensor]) -> None:
        """Begins a training: `known` are the tensors of its graph."""
        with self._lock:
            self._known, self._last, self._next, self._plain = known, (), 0.0, 0.0

    def due(self) -> list[tuple[Probe, Tensor]]:
        """Returns what the present step has to fetch too; mostly nothing."""
        with self._lock:
            if not self._wanted or self._clock() < self._next:
                return []
            return [(p, self._known[p]) for p in self._wanted if p in self._known]

    def step(
        self,
        number: int,
        run: Callable[[list[Tensor]], tuple[Any, list[Any]]],
        report: Callable[[Probed], None],
    ) -> Any:
        """Runs a step, in which `run` fetches the tensors that it is given, and reports the values that are due."""
        due, begin = self.due(), self._clock()
        result, arrays = run([tensor for _, tensor in due])
        if not due:
            took = self._clock() - begin
            self._plain = 0.8 * self._plain + 0.2 * took if self._plain else took
            return result
        for ((node, output), tensor), array in zip(due, arrays, strict=True):
            value = run_value(tensor.name, array)
            report({"type": "probed", "node": node, "output": output, "step": number, "value": value, "error": ""})
        names = tuple(probe for probe, _ in due)
        now = self._clock()
        with self._lock:
            cost = max(0.0, now - begin - self._plain) if names == self._last else 0.0
            self._last, self._next = names, now + max(LEAST_SECONDS, cost / SHARE)
        return result
