"""The launches of a program: one call into C for all of them, except in the first run and in traced runs.

`first_run.py` has the first run; a traced run uses a queue that measures times. Invariant: either all launches and
changes of cells of a run happen or none, even if Ctrl-C arrives meanwhile.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain, islice, starmap
from typing import Any

import pyopencl as cl

from tfnb.codegen.program import VariableUse
from tfnb.devices.buffers import Cell
from tfnb.devices.interface import Recorder
from tfnb.devices.opencl.binding import Binding, Report
from tfnb.devices.opencl.clock import RunEvent, SeenEvent
from tfnb.devices.opencl.first_run import first_run
from tfnb.devices.opencl.program_device import ProgramDevice

__all__ = ["Launcher"]

_enqueue = cl.enqueue_nd_range_kernel
_QUEUED, _START, _END = (getattr(cl.profiling_info, n) for n in ("QUEUED", "START", "END"))


class Launcher:
    """Launches the kernels of `binding`, those of one program on `device`; the caller holds the device's lock.

    `variables` are those of the program.
    `changes` are the arguments of the `setattr` calls that set the new memory of cells.
    """

    def __init__(self, device: ProgramDevice, binding: Binding, variables: Sequence[VariableUse], inline: bool) -> None:
        self._device = device
        self._binding = binding
        self._variables = variables
        self._inline = inline
        self._calls = binding.calls
        self._traced_calls: list[Any] | None = None
        self._has_run = binding.have_launched(range(len(self._calls)))

    def follow(self, variables: Sequence[VariableUse]) -> None:
        """Continues with the program to which the binding was bound again."""
        self._variables = variables
        self._calls = self._binding.calls
        self._traced_calls = None
        resized = self._binding.resized if self._has_run else range(len(self._calls))
        self._has_run = self._binding.have_launched(resized)

    def run(
        self, cells: Sequence[Cell], changes: list[Any], recorder: Recorder | None
    ) -> tuple[RunEvent | None, BaseException | None]:
        """Launches all kernels, which use the variables in `cells`. Returns the event of the last launch (None if there
        is none), and an interrupt that came meanwhile."""
        if recorder is not None:
            return self._traced(cells, changes, recorder)
        if not self._has_run:
            events, interrupt = self._first(self._calls, cells, changes, None)
            return events[-1] if events else None, interrupt
        calls: Iterable[Any] = starmap(_enqueue, self._calls)
        if changes:
            calls = chain(calls, starmap(setattr, changes))
        results, interrupt = _all_of(calls, len(changes))
        return results[0] if self._calls else None, interrupt

    def _first(
        self, calls: Sequence[Any], cells: Sequence[Cell], changes: list[Any], recorder: Recorder | None
    ) -> tuple[list[Any], BaseException | None]:
        written = [cell for cell, use in zip(cells, self._variables, strict=True) if use.writes]
        results = first_run(self._device, self._binding.launches(), calls, written, changes, recorder)
        self._has_run = True
        return results

    def _traced(
        self, cells: Sequence[Cell], changes: list[Any], recorder: Recorder
    ) -> tuple[RunEvent | None, BaseException | None]:
        """Launches on a queue that measures times, which the recorder reads later."""
        if self._traced_calls is None:
            queue = self._device.profiling_queue(self._inline)
            self._traced_calls = [(queue, *call[1:]) for call in self._calls]
        calls = self._traced_calls
        start = recorder.now_us()
        events: Sequence[Any]
        if self._has_run:
            operations = chain(starmap(_enqueue, calls), starmap(setattr, changes))
            results, interrupt = _all_of(operations, len(calls) + len(changes))
            events = list(islice(results, len(calls)))
        else:
            events, interrupt = self._first(calls, cells, changes, recorder)
        if not events:
            return None, interrupt
        run_event = SeenEvent(events[-1])
        if self._inline:  # it is done already, in this thread
            run_event.wait()
        reports = self._binding.reports()
        recorder.later(partial(self._report, recorder, events, run_event, start, recorder.now_us(), reports))
        return run_event, interrupt

    def _report(
        self,
        recorder: Recorder,
        events: Sequence[Any],
        done: SeenEvent,
        before: float,
        after: float,
        reports: Sequence[Report],
    ) -> None:
        """Passes the times of a run's launches, which were enqueued between `before` and `after`, to the recorder."""
        done.wait()
        times = [(1e-3 * e.get_profiling_info(_START), 1e-3 * e.get_profiling_info(_END)) for e in events]
        first, last = (1e-3 * e.get_profiling_info(_QUEUED) for e in (events[0], events[-1]))
        begin, latest_zero = 1e6 * recorder.begin, 1e6 * done.seen - times[-1][1]  # the last launch ended earlier
        zero = self._device.clocks[self._inline].zero(begin + before, first, last, begin + after, latest_zero) - begin
        name, queue = self._device.name, "inline" if self._inline else "queue"
        launch = recorder.launch
        for first_of, last_of, label, nodes, nbytes in reports:
            launch(name, queue, label, nodes, zero + times[first_of][0], zero + times[last_of][1], nbytes)


def _all_of(calls: Iterable[Any], after: int = 0) -> tuple[deque[Any], BaseException | None]:
    """Performs all calls. Returns the results of the last `after + 1` of them, and an interrupt that came meanwhile.

    The calls are C functions that a loop in C performs, so Python raises an interrupt at the end of the loop or, if one
    of the functions checks for signals, between two calls. The iterator then continues with the next call.
    """
    results: deque[Any] = deque(maxlen=after + 1)
    interrupt = None
    while True:
        try:
            results.extend(calls)
            return results, interrupt
        except KeyboardInterrupt as e:
            interrupt = e
