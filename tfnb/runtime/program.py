"""The executable form of a step: its plans and kernels with all that is derived from them, once, before the first run.

OSDI'16, section 3.3. A part knows its nodes' kinds and kernels; where nothing decides at run time it also knows its
static order, with who reads a value last (`runtime/static_order.py`), else the plan's frames serve the propagator.
Invariant: a program never changes, so many threads may run it at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, NoReturn, cast

from tfnb.devices.interface import Device
from tfnb.errors import InternalError
from tfnb.runtime.kernels import AsyncKernel, ClusterKernel, reraise
from tfnb.runtime.loops.form import ImmediateKernel, InnerLoop
from tfnb.runtime.loops.lowering import lower_loops
from tfnb.runtime.part import PlanPart
from tfnb.runtime.plan import PlanKind
from tfnb.runtime.static_order import Run, StaticOrder
from tfnb.runtime.transfer import RecvKernel, SendKernel
from tfnb.runtime.values import Value

__all__ = ["ProgramPart", "StepProgram"]


class ProgramPart:
    """One part of a step. `order` is None where something decides at run time which nodes run.

    `runs[node]` runs a kernel that has its outputs when the call returns; it is None for all other nodes. The kernels
    of those are in `pooled` (host kernels that may run in the pool), `loops`, `asyncs`, `sends` and `recvs`.
    """

    def __init__(self, part: PlanPart) -> None:
        self.part, self.plan, self.kinds = part, part.plan, part.plan.kinds
        self.pooled: dict[int, ImmediateKernel] = {}
        self.loops: dict[int, InnerLoop] = {}
        self.asyncs: dict[int, AsyncKernel] = {}
        self.sends: dict[int, SendKernel] = {}
        self.recvs: dict[int, RecvKernel] = {}
        self.runs: tuple[Run | None, ...] = tuple(self._sort(node) for node in range(len(part.plan.nodes)))
        later = (*self.pooled, *self.asyncs, *self.recvs)
        self.order = StaticOrder(part.plan, self.runs, later) if part.plan.is_static else None
        self.waits = bool(later) or self.order is None
        """Can a run wait for something that this thread does not compute?"""
        self.is_immediate = not (self.waits or self.loops or self.sends)
        """Is a run nothing but kernels called one after the other?"""

    def _sort(self, node: int) -> Run | None:
        kind, payload = PlanKind(self.kinds[node]), self.part.payloads[node]
        if kind is PlanKind.CLUSTER or (kind is PlanKind.HOST and not getattr(payload, "expensive", False)):
            return cast(ImmediateKernel, payload).run
        if kind is PlanKind.HOST:
            self.pooled[node] = cast(ImmediateKernel, payload)
        elif kind is PlanKind.LOOP:
            self.loops[node] = cast(InnerLoop, payload)
        elif kind is PlanKind.ASYNC:
            self.asyncs[node] = cast(AsyncKernel, payload)
        elif kind is PlanKind.SEND:
            self.sends[node] = cast(SendKernel, payload)
        elif kind is PlanKind.RECV:
            self.recvs[node] = cast(RecvKernel, payload)
        return None

    def own_feeds(self, feeds: Sequence[Value]) -> Sequence[Value]:
        """The values of this part's feeds, out of those of the step's feeds."""
        own = feeds if self.part.feeds is None else [feeds[k] for k in self.part.feeds]
        if len(own) != len(self.plan.feeds):
            raise InternalError(f"{len(own)} feeds came, the plan has {len(self.plan.feeds)}")
        return own

    def fail(self, node: int, error: BaseException) -> NoReturn:
        """Raises `error` as that of a node's kernel, inside an `except` block."""
        reraise(error, self.part.node(node))

    def refuse(self, node: int, outputs: Sequence[Value]) -> NoReturn:
        """Raises what is wrong with a node that gave another number of outputs than its plan says."""
        name, wanted = self.plan.name(node), self.plan.nodes[node].n_outputs
        raise InternalError(f"{name} gave {len(outputs)} outputs, its plan says {wanted}")


class StepProgram:
    """All parts of a step in this process.

    `fetches` are (part, number among its fetches) of the step's fetches, in order. `devices` are those of the clusters;
    a run is over when those in `awaited` have finished and the fetches have their values.
    """

    def __init__(self, parts: Iterable[PlanPart], fast_loops: bool) -> None:
        given = tuple(parts)
        for part in given:
            if len(part.payloads) != len(part.plan.nodes):
                raise InternalError(f"{len(part.payloads)} payloads came for {len(part.plan.nodes)} nodes")
        clusters = (k.device for p in given for k in p.payloads if isinstance(k, ClusterKernel))
        self.devices: tuple[Device, ...] = tuple(dict.fromkeys(clusters))
        self.parts = tuple(ProgramPart(_with_fast_loops(p) if fast_loops else p) for p in given)
        plans = [p.plan for p in self.parts]
        self.fetches = _find_fetches(given)
        self.fetches_in_order = list(self.fetches) == [(0, k) for k in range(len(self.fetches))]
        self.awaited = () if len(plans) == 1 and _is_fetched_cluster(self.parts[0]) else self.devices
        self.is_dynamic = any(p.order is None for p in self.parts)
        """Does something decide at run time which nodes run?"""
        self.immediate = self.parts[0].order if len(plans) == 1 and self.parts[0].is_immediate else None
        """The order of the only part, if a run is nothing but kernels called one after the other."""
        self.single = _find_single(self.immediate, given[0]) if self.immediate is not None else None
        """The only kernel, if there is just one, which has the step's own feeds."""
        self.starts_work = any(plan.starts_work for plan in plans)
        self.waits = any(p.waits for p in self.parts)
        """Can a run wait for something that its own thread does not compute?"""
        self.may_last = self.waits or any(p.loops for p in self.parts)
        """Can a run take long without computing on a device: does it wait, or has it a loop?"""


def _with_fast_loops(part: PlanPart) -> PlanPart:
    if len(part.plan.frames) == 1:
        return part
    plan, payloads = lower_loops(part.plan, part.payloads)
    return part._replace(plan=plan, payloads=payloads)


def _find_fetches(parts: Sequence[PlanPart]) -> tuple[tuple[int, int], ...]:
    places: dict[int, tuple[int, int]] = {}
    for i, part in enumerate(parts):
        numbers = range(len(part.plan.fetches)) if part.fetches is None else part.fetches
        places.update((number, (i, k)) for k, number in enumerate(numbers))
    return tuple(places[number] for number in sorted(places))


class Single(NamedTuple):
    """A kernel that is called for a step's feeds, all of them."""

    node: int
    run: Run
    pick: Callable[[Sequence[Any]], Sequence[Any]]


def _find_single(order: StaticOrder, part: PlanPart) -> Single | None:
    stages = order.segments[0].stages
    if len(stages) != 1 or stages[0].run is None or part.feeds is not None:
        return None
    return Single(stages[0].node, stages[0].run, stages[0].pick)


def _is_fetched_cluster(part: ProgramPart) -> bool:
    """Is the part one cluster with an output that is fetched? Then to have that value is to have waited for it."""
    plan = part.plan
    return plan.is_single_cluster and any(node == plan.cluster for node, _ in plan.fetches)
