"""The executor: runs the program of a step (OSDI'16, section 3.4; white paper, sections 3.1, 3.2).

Invariant: when `run` returns or raises, nothing of the step runs any more, and devices and variables are in a
consistent state. The only exceptions are host kernels in the pool that have outlived a deadline or the session.

Whatever a function of the user's raises, `SystemExit` included, becomes an error of the step, as in TensorFlow,
whichever thread the function runs in.
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
from tfnb.runtime.step import Step, run_immediate
from tfnb.runtime.values import Value
from tfnb.system import process_end
from tfnb.system.interrupts import HeldInterrupts

__all__ = ["Executor", "PlanPart"]


class Executor:
    """Runs one plan, or several plans of one step that exchange values. Several threads may call `run` at once.

    `payloads[i]` is the kernel of `plan.nodes[i]` (see `Payload`). `threads` run host kernels that may take long. With
    `fast_loops`, loops of a suitable form run without the propagator.
    """

    def __init__(
        self, plan: Plan, payloads: Sequence[Payload], threads: HostThreads | None = None, fast_loops: bool = True
    ) -> None:
        self._set((PlanPart(plan, tuple(payloads)),), threads, fast_loops)

    @classmethod
    def of_parts(
        cls, parts: Iterable[PlanPart], threads: HostThreads | None = None, fast_loops: bool = True
    ) -> Executor:
        """Creates an executor for the partitions of one step."""
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
        """Whether a run can last longer than the work on its devices, because it waits for something or has a loop."""
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
        """Runs the step with the values of the plan's feeds; returns the values of its fetches as arrays on the host.

        Through `rendezvous` the step exchanges values with other executors; without one, only its parts exchange
        values. `recorder` collects the times of the step. Raises the first error of the step, which names its node;
        `DeadlineExceededError` after `timeout` seconds, with a list of the nodes that waited; the error of a
        `cancellation`; `InvalidArgumentError` for a fetch on a branch that was not taken.
        """
        program = self.program
        if process_end.has_begun:
            process_end.hold()
        try:
            if program.immediate is None or timeout is not None:
                return Step(program, self.threads.submit, timeout, recorder, rendezvous, cancellation).run(feeds)
            if not program.starts_work:  # Ctrl-C may come anywhere, because clusters leave no work behind
                return run_immediate(program, feeds, recorder, rendezvous, cancellation)
            with HeldInterrupts():
                return run_immediate(program, feeds, recorder, rendezvous, cancellation)
        finally:
            if process_end.has_begun:
                process_end.hold()


process_end.register_step_code(Executor.run.__code__)
