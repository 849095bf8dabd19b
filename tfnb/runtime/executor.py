"""The executor: runs the plans of a step with their kernels (OSDI'16, section 3.4; white paper, sections 3.1, 3.2).

A plan whose nodes all finish at once runs in a static order; any other, and several plans that exchange values, run as
a `Step`, as do plans with a deadline and those whose times are recorded. Invariant: when `run` returns or raises,
nothing of the step runs any more (save host kernels in the pool that outlived a deadline or the session), and devices
and variables are whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tfnb.devices.interface import Device
from tfnb.errors import InternalError
from tfnb.runtime.cancel import Cancellation
from tfnb.runtime.host_threads import HostThreads
from tfnb.runtime.kernels import ClusterKernel
from tfnb.runtime.loops.lowering import lower_loops
from tfnb.runtime.part import PlanPart
from tfnb.runtime.plan import Plan, PlanKind
from tfnb.runtime.receiving_runner import ReceivingRunner
from tfnb.runtime.rendezvous import Rendezvous
from tfnb.runtime.static_runner import StaticRunner
from tfnb.runtime.stats import StepStats
from tfnb.runtime.step import Step
from tfnb.runtime.values import Value

__all__ = ["Executor", "PlanPart"]


class Executor:
    """Runs one plan, or several plans of one step that exchange values, from many threads at once.

    `payloads[i]` is the kernel of `plan.nodes[i]`: a ClusterKernel, HostKernel, AsyncKernel, SendKernel or
    RecvKernel for the kinds of those names, None for the rest. With `fast_loops`, loops that fit run without the
    propagator.
    """

    def __init__(
        self, plan: Plan, payloads: Sequence[Any], threads: HostThreads | None = None, fast_loops: bool = True
    ) -> None:
        self._set((PlanPart(plan, tuple(payloads)),), threads, fast_loops)

    @classmethod
    def of_parts(
        cls, parts: Iterable[PlanPart], threads: HostThreads | None = None, fast_loops: bool = True
    ) -> Executor:
        """For the partitions of one step."""
        made = cls.__new__(cls)
        made._set(tuple(parts), threads, fast_loops)
        return made

    def _set(self, parts: tuple[PlanPart, ...], threads: HostThreads | None, fast_loops: bool) -> None:
        for part in parts:
            if len(part.payloads) != len(part.plan.nodes):
                raise InternalError(f"{len(part.payloads)} payloads came for {len(part.plan.nodes)} nodes")
        found = (k.device for p in parts for k in p.payloads if isinstance(k, ClusterKernel))
        self._devices: tuple[Device, ...] = tuple(dict.fromkeys(found))
        if fast_loops:
            parts = tuple(_with_fast_loops(p) for p in parts)
        self.parts = parts
        self.threads = threads or HostThreads()
        self._static = StaticRunner.of(parts, self._devices)
        self._receiving = _receiving_runner(parts, self._devices)
        self.waits = self._static is None or self._static.may_last
        """Can a run without a timeout or a recorder wait for another task?"""

    @property
    def payloads(self) -> tuple[Any, ...]:
        """The kernels of all parts."""
        return tuple(k for p in self.parts for k in p.payloads)

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

        `rendezvous` is where values go to and come from other executors; without one, only the parts meet. Raises the
        first error of the step with its node; `DeadlineExceededError` after `timeout` seconds, saying what waited for
        what; the error of a `cancellation`; `InvalidArgumentError` for a fetch on an untaken branch.
        """
        static = self._static
        if static is not None and timeout is None and (recorder is None or static.can_record):
            return static.run(feeds, recorder, rendezvous, cancellation)
        if self._receiving is not None and rendezvous is not None and timeout is None and recorder is None:
            return self._receiving.run(feeds, rendezvous, cancellation)
        return Step(self.parts, self._devices, self.threads.submit, timeout, recorder, rendezvous, cancellation).run(
            feeds
        )

    @property
    def devices(self) -> tuple[Device, ...]:
        """The devices of the plans' clusters."""
        return self._devices


_WITH_RECVS = (PlanKind.CLUSTER, PlanKind.HOST, PlanKind.SEND, PlanKind.RECV, PlanKind.FEED, PlanKind.NO_OP)


def _receiving_runner(parts: Sequence[PlanPart], devices: Sequence[Device]) -> ReceivingRunner | None:
    """For one part without control flow in which nothing waits but Recvs."""
    if len(parts) != 1 or not parts[0].plan.is_static or PlanKind.RECV not in parts[0].plan.kinds:
        return None
    if any(node.kind not in _WITH_RECVS for node in parts[0].plan.nodes):
        return None
    if any(getattr(kernel, "expensive", False) for kernel in parts[0].payloads):
        return None
    return ReceivingRunner(parts[0], devices)


def _with_fast_loops(part: PlanPart) -> PlanPart:
    if len(part.plan.frames) == 1:
        return part
    plan, payloads = lower_loops(part.plan, part.payloads)
    return part._replace(plan=plan, payloads=payloads)
