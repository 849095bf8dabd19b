"""Runs a plan whose nodes all finish at once, in an order found when the step was built (OSDI'16, section 3.3).

Nothing has to be scheduled where nothing branches and nothing waits: a step of one cluster, a task's part that reads
and sends, kernels of the host between clusters. Invariant: it does what `Step` does for the same plan, which runs all
others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tfnb.devices.interface import Device
from tfnb.ir.step_graph.order import last_uses
from tfnb.runtime.cancel import Cancellation
from tfnb.runtime.kernels import ClusterKernel, StepContext, reraise
from tfnb.runtime.part import PlanPart, abort, recorded_wait
from tfnb.runtime.plan import PlanKind
from tfnb.runtime.rendezvous import Rendezvous
from tfnb.runtime.stats import StepStats
from tfnb.runtime.values import Value, to_host
from tfnb.system.interrupts import HeldInterrupts

__all__ = ["ClusterRunner", "StaticRunner"]

_SEND, _LOOP = PlanKind.SEND, PlanKind.LOOP
_IMMEDIATE = (PlanKind.CLUSTER, PlanKind.HOST, _LOOP, _SEND, PlanKind.FEED, PlanKind.NO_OP)


class _Stage(NamedTuple):
    """What one node with a kernel does; then nobody reads the outputs of the nodes in `free` any more."""

    node: int
    kind: PlanKind
    kernel: Any
    sources: tuple[tuple[int, int], ...]
    free: tuple[int, ...]


class StaticRunner:
    """Runs one part, from many threads at once."""

    can_record = False

    @classmethod
    def of(cls, parts: Sequence[PlanPart], devices: Sequence[Device]) -> StaticRunner | ClusterRunner | None:
        """For the parts of a step; None where they need more."""
        if len(parts) != 1 or any(node.kind not in _IMMEDIATE for node in parts[0].plan.nodes):
            return None
        if any(getattr(kernel, "expensive", False) for kernel in parts[0].payloads):  # one that the pool runs
            return None
        if parts[0].plan.is_single_cluster and parts[0].feeds is None:
            return ClusterRunner(parts[0])
        return cls(parts[0], devices)

    def __init__(self, part: PlanPart, devices: Sequence[Device]) -> None:
        plan = part.plan
        self._part, self._devices = part, devices
        self.may_last = PlanKind.LOOP in plan.kinds
        """Is there a loop, of which nobody knows when it ends?"""
        uses = [([source for source, _ in plan.nodes[n].inputs], [n]) for n in plan.order]
        free = last_uses(uses, [source for source, _ in plan.fetches])
        self._stages = [
            _Stage(n, plan.nodes[n].kind, part.payloads[n], plan.nodes[n].inputs, gone)
            for n, gone in zip(plan.order, free, strict=True)
            if part.payloads[n] is not None
        ]
        places = range(len(plan.fetches)) if part.fetches is None else part.fetches
        self._fetches = [source for _, source in sorted(zip(places, plan.fetches, strict=True))]

    def run(
        self,
        feeds: Sequence[Value],
        recorder: StepStats | None,
        rendezvous: Rendezvous | None,
        cancellation: Cancellation | None,
    ) -> list[np.ndarray]:
        """As `Executor.run`."""
        cancellation = cancellation or Cancellation()
        try:
            if not self._part.plan.starts_work:
                return self._run(feeds, rendezvous, cancellation)
            with HeldInterrupts() as held:
                return self._run(feeds, rendezvous, cancellation, held)
        except BaseException as e:
            if rendezvous is not None:
                abort(rendezvous, e)
            if e is not cancellation.error:
                for device in self._devices:
                    device.synchronize()
            raise

    def _run(
        self,
        feeds: Sequence[Value],
        rendezvous: Rendezvous | None,
        cancellation: Cancellation,
        held: HeldInterrupts | None = None,
    ) -> list[np.ndarray]:
        def check() -> None:
            if cancellation.error is not None:
                raise cancellation.error
            if held is not None:
                held.check()

        part, context = self._part, StepContext(rendezvous)
        outputs: list[Any] = [None] * len(part.plan.nodes)
        for node, value in zip(part.plan.feeds, part.own_feeds(feeds), strict=True):
            outputs[node] = (value,)
        for node, kind, kernel, sources, free in self._stages:
            if cancellation.error is not None or held is not None and held.error is not None:
                check()
            values = [outputs[source][slot] for source, slot in sources]
            try:
                if kind is _SEND:
                    kernel.send(values, False, "", context)
                elif kind is _LOOP:
                    outputs[node] = kernel.run(values, None, check)
                else:
                    outputs[node] = kernel.run(values, None)
            except Exception as e:
                reraise(e, part.node(node))
            for source in free:
                outputs[source] = None
        for device in self._devices:
            ticket = device.fence()
            if ticket is not None:
                ticket.wait()
        return [to_host(outputs[node][slot]) for node, slot in self._fetches]


class ClusterRunner:
    """Runs a plan that is one cluster: feed, launch, fetch."""

    can_record = True
    may_last = False

    def __init__(self, part: PlanPart) -> None:
        plan = part.plan
        self._kernel: ClusterKernel = part.payloads[plan.cluster]
        place = {node: i for i, node in enumerate(plan.feeds)}
        order = [place[node] for node, _ in plan.nodes[plan.cluster].inputs]
        self._order = None if order == list(range(len(place))) else order
        # (is an output, place among outputs or feeds) of each fetch
        self._fetches = [(n == plan.cluster, slot if n == plan.cluster else place[n]) for n, slot in plan.fetches]

    def run(
        self,
        feeds: Sequence[Value],
        recorder: StepStats | None,
        rendezvous: Rendezvous | None,
        cancellation: Cancellation | None,
    ) -> list[np.ndarray]:
        """As `Executor.run`. Nobody else takes part, so nothing is to be told to a rendezvous."""
        if cancellation is not None and cancellation.error is not None:
            raise cancellation.error
        kernel = self._kernel
        inputs = feeds if self._order is None else [feeds[i] for i in self._order]
        try:
            outputs = kernel.run(inputs, recorder)
            if recorder is not None:
                recorded_wait(kernel.device, recorder)
            if not outputs:
                kernel.device.synchronize()
            return [to_host(outputs[i] if is_output else feeds[i]) for is_output, i in self._fetches]
        except KeyboardInterrupt:
            kernel.device.synchronize()
            raise
        except Exception as e:
            reraise(e, kernel.node)
