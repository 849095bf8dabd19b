"""The executor: runs the program of a step (OSDI'16, section 3.4; white paper, sections 3.1, 3.2).

Invariant: when `run` returns or raises, nothing of the step runs any more (save host kernels in the pool that outlived
a deadline or the session), and devices and variables are whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from tfnb.devices.interface import Device
from tfnb.runtime.cancel import Cancellation
from tfnb.runtime.host_threads import HostThreads
from tfnb.runtime.part import Payload, PlanPart
from tfnb.runtime.plan import Plan
from tfnb.runtime.program import StepProgram
from tfnb.runtime.rendezvous import Rendezvous
from tfnb.runtime.stats import StepStats
from tfnb.runtime.step import NEVER_HELD, Step, run_immediate
from tfnb.runtime.values import Value
from tfnb.system.interrupts import HeldInterrupts

__all__ = ["Executor", "PlanPart"]


class Executor:
    """Runs one plan, or several plans of one step that exchange values, from many threads at once.

    `payloads[i]` is the kernel of `plan.nodes[i]` (see `Payload`). `threads` run host kernels that may take long. With
    `fast_loops`, loops that fit run without the propagator.
    """

    def __init__(
        self, plan: Plan, payloads: Sequence[Payload], threads: HostThreads | None = None, fast_loops: bool = True
    ) -> None:
        self._set((PlanPart(plan, tuple(payloads)),), threads, fast_loops)

    @classmethod
    def of_parts(
        cls, parts: Iterable[PlanPart], threads: HostThreads | None = None, fast_loops: bool = True
    ) -> Executor:
        """An executor for the partitions of one step."""
        executor = cls.__new__(cls)
        executor._set(tuple(parts), threads, fast_loops)
        return executor

    def _set(self, parts: tuple[PlanPart, ...], threads: HostThreads | None, fast_loops: bool) -> None:
        self.program = StepProgram(parts, fast_loops)
        self.threads = threads or HostThreads()
        self.is_cancellable = self.program.starts_work or self.program.immediate is None
        """Is a run more than the enqueuing of clusters, so that there is something to cancel?"""

    @property
    def may_last(self) -> bool:
        """Can a run last longer than the work on its devices: does it wait for something, or has it a loop?"""
        return self.program.may_last

    @property
    def payloads(self) -> tuple[Payload, ...]:
        """The kernels of all parts."""
        return tuple(k for p in self.program.parts for k in p.part.payloads)

    @property
    def devices(self) -> tuple[Device, ...]:
        """The devices of the plans' clusters."""
        return self.program.devices

    def run(
        self,
        feeds: Sequence[Value] = (),
        *,
        timeout: float | None = None,
        recorder: StepStats | None = None,
        rendezvous: Rendezvous | None = None,
        cancellation: Cancellation | None = None,
    ) -> list[np.ndarray]:
        """Runs the step; `feeds` are the values of the plan's feeds, the result those of its fetches, on the host.

        `rendezvous` is where values go to and come from other executors; without one, only the parts exchange values.
        Raises the first error of the step with its node; `DeadlineExceededError` after `timeout` seconds, saying what
        waited for what; the error of a `cancellation`; `InvalidArgumentError` for a fetch on an untaken branch.
        """
        program = self.program
        if program.immediate is None or timeout is not None:
            return Step(program, self.threads.submit, timeout, recorder, rendezvous, cancellation).run(feeds)
        if not program.starts_work:  # clusters leave nothing behind, wherever they are interrupted
            return run_immediate(program, feeds, recorder, rendezvous, cancellation, NEVER_HELD)
        with HeldInterrupts() as held:
            return run_immediate(program, feeds, recorder, rendezvous, cancellation, held)
