"""The executable form of a step: its plans, its kernels, and tables that are derived from them before the first run.

OSDI'16, section 3.3. A part has the kinds and kernels of its nodes. If no node decides at run time which nodes run, the
part also has a static order, which includes the last reader of each value (`runtime/static_order.py`). Otherwise the
propagator uses the frames of the plan. Invariant: a program never changes, so many threads may run it at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, NoReturn, cast

from tfnb.devices.interface import Device
from tfnb.errors import InternalError
from tfnb.runtime.cluster_kernel import ClusterKernel
from tfnb.runtime.kernels import AsyncKernel, reraise
from tfnb.runtime.loops.form import ImmediateKernel, InnerLoop
from tfnb.runtime.loops.lowering import lower_loops
from tfnb.runtime.part import PlanPart
from tfnb.runtime.plan import PlanKind
from tfnb.runtime.static_order import Run, StaticOrder
from tfnb.runtime.transfer import RecvKernel, SendKernel
from tfnb.runtime.values import Value

__all__ = ["ProgramPart", "StepProgram"]


class ProgramPart:
    """One part of a step. `order` is None if some node decides at run time which nodes run.

    `runs[node]` runs a kernel that returns its outputs; it is None for all other nodes. The kernels of the other nodes
    are in `pooled` (host kernels that may run in the pool), `loops`, `asyncs`, `sends` and `recvs`, by node.
    """

    def __init__(self, part: PlanPart) -> None:
        self.part, self.plan, self.kinds = part, part.plan, part.plan.kinds
        self.pooled: dict[int, ImmediateKernel] = {}
        self.loops: dict[int, InnerLoop] = {}
        self.asyncs: dict[int, AsyncKernel] = {}
        self.sends: dict[int, SendKernel] = {}
        self.recvs: dict[int, RecvKernel] = {}
        self.runs: tuple[Run | None, ...] = tuple(self._sort(node) for node in range(len(part.plan.nodes)))
        late_nodes = (*self.pooled, *self.asyncs, *self.recvs)
        self.order = StaticOrder(part.plan, self.runs, late_nodes) if part.plan.is_static else None
        self.waits = bool(late_nodes) or self.order is None
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
        """Selects the values of this part's feeds from those of all feeds of the step."""
        values = feeds if self.part.feeds is None else [feeds[k] for k in self.part.feeds]
        if len(values) != len(self.plan.feeds):
            raise InternalError(f"{len(values)} feeds came, the plan has {len(self.plan.feeds)}")
        return values

    def fail(self, node: int, error: BaseException) -> NoReturn:
        """Raises `error` as an error of the kernel of `node`.

        Must be called inside the `except` block that caught it.
        """
        reraise(error, self.part.node(node))

    def refuse(self, node: int, outputs: Sequence[Value]) -> NoReturn:
        """Raises `InternalError` for a node that returned another number of outputs than its plan says."""
        name, n_outputs = self.plan.name(node), self.plan.nodes[node].n_outputs
        raise InternalError(f"{name} gave {len(outputs)} outputs, its plan says {n_outputs}")


class StepProgram:
    """All parts of a step in this process.

    `fetches` has for each fetch of the step, in order, the number of its part and its number among the fetches of that
    part. `devices` are the devices of the clusters. A run is over when the devices in `awaited` have finished and the
    fetches have their values.
    """

    def __init__(self, parts: Iterable[PlanPart], fast_loops: bool) -> None:
        all_parts = tuple(parts)
        for part in all_parts:
            if len(part.payloads) != len(part.plan.nodes):
                raise InternalError(f"{len(part.payloads)} payloads came for {len(part.plan.nodes)} nodes")
        clusters = (k.device for p in all_parts for k in p.payloads if isinstance(k, ClusterKernel))
        self.devices: tuple[Device, ...] = tuple(dict.fromkeys(clusters))
        self.parts = tuple(ProgramPart(_with_fast_loops(p) if fast_loops else p) for p in all_parts)
        plans = [p.plan for p in self.parts]
        self.fetches = _find_fetches(all_parts)
        self.fetches_in_order = list(self.fetches) == [(0, k) for k in range(len(self.fetches))]
        self.awaited = () if len(plans) == 1 and _is_fetched_cluster(self.parts[0]) else self.devices
        self.is_dynamic = any(p.order is None for p in self.parts)
        """Does something decide at run time which nodes run?"""
        self.immediate = self.parts[0].order if len(plans) == 1 and self.parts[0].is_immediate else None
        """The order of the only part, if a run is nothing but kernels called one after the other."""
        self.single = _find_single(self.immediate, all_parts[0]) if self.immediate is not None else None
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
    """The only kernel of a step: `run` is called with the inputs that `pick` selects from the step's feeds."""

    node: int
    run: Run
    pick: Callable[[Sequence[Any]], Sequence[Any]]


def _find_single(order: StaticOrder, part: PlanPart) -> Single | None:
    stages = order.segments[0].stages
    if len(stages) != 1 or stages[0].run is None or part.feeds is not None:
        return None
    return Single(stages[0].node, stages[0].run, stages[0].pick)


def _is_fetched_cluster(part: ProgramPart) -> bool:
    """Returns whether the part is a single cluster with a fetched output.

    If it is, the step needs no other wait for the device, because reading the fetched value waits for the cluster.
    """
    plan = part.plan
    return plan.is_single_cluster and any(node == plan.cluster for node, _ in plan.fetches)
