"""The executor: runs the plans of a step with their kernels (OSDI'16, section 3.4; white paper, sections 3.1, 3.2).

A plan that is one cluster runs at once, a task's part without control flow by the order of its kernels; any other, and
several plans that exchange values, run as a `Step`. Invariant: when `run` returns or raises, nothing of the step runs
any more (save host kernels in the pool that outlived a deadline or the session), and devices and variables are whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tfnb.devices.interface import Device
from tfnb.errors import InternalError
from tfnb.runtime.cancel import Cancellation
from tfnb.runtime.host_threads import HostThreads
from tfnb.runtime.kernels import ClusterKernel, reraise
from tfnb.runtime.loops.lowering import lower_loops
from tfnb.runtime.plan import Plan
from tfnb.runtime.rendezvous import Rendezvous
from tfnb.runtime.stats import StepStats
from tfnb.runtime.step import PlanPart, Step, recorded_wait
from tfnb.runtime.straight import Straight
from tfnb.runtime.values import Value, to_host

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
        plan = parts[0].plan
        single = len(parts) == 1 and plan.is_single_cluster and parts[0].feeds is None
        self._single = _Single(plan, parts[0].payloads[plan.cluster]) if single else None
        self._straight = Straight.of(parts, self._devices)
        self.waits = self._single is None and (self._straight is None or self._straight.waits)
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
        if self._single is not None and timeout is None:
            if cancellation is not None and cancellation.error is not None:
                raise cancellation.error
            return self._single.run(feeds, recorder)
        if self._straight is not None and rendezvous is not None and timeout is None and recorder is None:
            return self._straight.run(feeds, rendezvous, cancellation)
        return Step(self.parts, self._devices, self.threads.submit, timeout, recorder, rendezvous, cancellation).run(
            feeds
        )

    @property
    def devices(self) -> tuple[Device, ...]:
        """The devices of the plans' clusters."""
        return self._devices


def _with_fast_loops(part: PlanPart) -> PlanPart:
    if len(part.plan.frames) == 1:
        return part
    plan, payloads = lower_loops(part.plan, part.payloads)
    return part._replace(plan=plan, payloads=payloads)


class _Single:
    """A plan that is one cluster: feed, launch, fetch, without a propagator."""

    def __init__(self, plan: Plan, kernel: ClusterKernel) -> None:
        self._kernel = kernel
        place = {node: i for i, node in enumerate(plan.feeds)}
        order = [place[node] for node, _ in plan.nodes[plan.cluster].inputs]
        self._order = None if order == list(range(len(place))) else order
        # (is an output, place among outputs or feeds) of each fetch
        self._fetches = [
            (n == plan.cluster, slot if n == plan.cluster else place[n]) for n, slot in plan.fetches
        ]

    def run(self, feeds: Sequence[Value], recorder: StepStats | None) -> list[np.ndarray]:
        kernel = self._kernel
        inputs = feeds if self._order is None else [feeds[i] for i in self._order]
        try:
            outputs = kernel.run(inputs, recorder)
            if recorder is not None:
                recorded_wait(kernel.device, recorder)
            if not outputs:
                kernel.device.synchronize()
            return [to_host(outputs[i] if made else feeds[i]) for made, i in self._fetches]
        except KeyboardInterrupt:
            kernel.device.synchronize()
            raise
        except Exception as e:
            reraise(e, kernel.node)
