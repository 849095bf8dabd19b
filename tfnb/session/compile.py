"""Compiling a step: one readable function from the user's graph to a plan with its kernels (white paper, section 3).

prune -> inline -> expand -> fold -> cse -> simplify -> place -> partition -> cluster -> plan. `observe` sees the graph
after every stage. Invariant: a compiled step holds nothing of a run; all runs and threads share it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tfnb.codegen.compile import compile_cluster
from tfnb.devices.interface import Device
from tfnb.errors import OpError
from tfnb.ir.graph import Graph
from tfnb.ir.verify import verify
from tfnb.passes.cluster import Clustered, Grouping, cluster, grouping
from tfnb.passes.cse import cse
from tfnb.passes.deref import deref
from tfnb.passes.expand import expand
from tfnb.passes.fold import fold
from tfnb.passes.inline import inline
from tfnb.passes.prune import Request, prune
from tfnb.passes.ref_enter import open_ref_enters
from tfnb.passes.ref_switch import open_ref_switches
from tfnb.passes.simplify import drop_no_ops, simplify
from tfnb.placement.partition import Partition, localize, partition
from tfnb.placement.place import Placement, check_devices, place
from tfnb.placement.schedule import delay_recvs
from tfnb.placement.simulate import simulate
from tfnb.runtime.executor import PlanPart
from tfnb.runtime.resources import ResourceManager
from tfnb.session.placing import Placing
from tfnb.session.planning import Planner
from tfnb.settings import Settings

__all__ = ["CompiledStep", "Context", "compile_step", "plan_part"]

Observe = Callable[[str, Any], None]


@dataclass(frozen=True, eq=False)
class Context:
    """What a session gives to compile its steps: devices (the default first), state, options.

    `truncate`: float32 tensors go between devices as their upper 16 bits; `delay`: they are received when they are
    needed, not when they are there.
    """

    devices: dict[str, Device]
    resources: ResourceManager
    settings: Settings
    placing: Placing
    optimize: bool = True
    truncate: bool = False
    delay: bool = False


@dataclass(frozen=True, eq=False)
class CompiledStep:
    """`parts[k]` is the plan, with its kernels, of partition k; `clustered[k]` its graph, by clusters.

    `graph` is the whole step's, placed; `placement` says why its nodes are where they are. The partitions
    `elsewhere` are for other tasks, which plan them themselves; `grouping` is what they must know of the whole.
    """

    parts: tuple[PlanPart, ...]
    graph: Graph
    clustered: tuple[Clustered, ...]
    placement: Placement
    elsewhere: tuple[Partition, ...] = ()
    grouping: Grouping | None = None

    @property
    def is_single_cluster(self) -> bool:
        """Does it run without a propagator?"""
        if len(self.parts) != 1 or self.elsewhere:
            return False
        return self.parts[0].plan.is_single_cluster and self.parts[0].feeds is None


def compile_step(
    request: Request, context: Context, observe: Observe | None = None, rewrite: Callable[[Graph], Graph] | None = None
) -> CompiledStep:
    """Raises `OpError`s that name the node to blame; nothing is compiled for the device before the first run.

    `rewrite` changes the pruned graph: how a step is taken in parts.
    """
    seen = _Observer(observe, context.settings.verify)
    rules = context.placing.rules(_user_graph(request))
    g = seen("prune", prune(request))
    if rewrite is not None:
        g = seen("parts", rewrite(g))
    g = seen("inline", inline(g))
    check_devices(g, rules)
    g = seen("expand", expand(deref(open_ref_enters(open_ref_switches(drop_no_ops(g))))))
    if context.optimize:
        for name, run in (("fold", fold), ("simplify", simplify), ("cse", cse), ("fold", fold), ("simplify", simplify)):
            g = seen(name, run(g))
    placement = place(g, rules)
    context.placing.keep(placement)
    g = seen("place", placement.graph)
    parts, known = _partition(g, context, seen)
    here = [p for p in parts if p.device in context.devices or not p.device]
    elsewhere = tuple(p for p in parts if p not in here)
    clustered = tuple(cluster(p.graph, known) for p in here)
    if observe is not None:
        for c in clustered:
            observe("cluster", c)
    plans = tuple(_plan(p, c, g, context) for p, c in zip(here, clustered, strict=True))
    return CompiledStep(plans, g, clustered, placement, elsewhere, known or (grouping(g) if elsewhere else None))


def plan_part(part: Partition, known: Grouping, context: Context) -> PlanPart:
    """The plan of a partition that another task's master made."""
    clustered = cluster(part.graph, known)
    plan, payloads = Planner(clustered, context.devices, context.resources, _compiler(context)).build()
    return PlanPart(plan, payloads, part.feeds, part.fetches, part.device)


def _user_graph(request: Request) -> Any:
    some = (*request.fetches, *request.targets)
    return some[0].graph if some else None


def _partition(g: Graph, context: Context, seen: _Observer) -> tuple[Sequence[Partition], Grouping | None]:
    """The step's partitions, and what must be known of the whole to find their clusters."""
    devices = dict.fromkeys(n.device for n in g.nodes.values())
    if len(devices) <= 1:
        every = tuple(range(len(g.feeds))), tuple(range(len(g.fetches)))
        return [Partition(next(iter(devices), ""), g, *every)], None
    g = localize(g)
    parts: Sequence[Partition] = partition(g, context.truncate)
    known = grouping(g)
    if context.delay:
        costs = context.placing.costs
        played = simulate(g, {i: n.device for i, n in g.nodes.items()}, costs)
        parts = delay_recvs(parts, played, known.level, known.context, costs)
    for p in parts:
        seen("partition", p.graph)
    return parts, known


def _plan(part: Partition, clustered: Clustered, whole: Graph, context: Context) -> PlanPart:
    plan, payloads = Planner(clustered, context.devices, context.resources, _compiler(context)).build()
    feeds = None if part.graph.feeds == whole.feeds else part.feeds
    fetches = None if part.graph.fetches == whole.fetches else part.fetches
    return PlanPart(plan, payloads, feeds, fetches, part.device)


def _compiler(context: Context) -> Callable[..., Any]:
    def compile_program(c: Any, inputs: Any, values: Any, variables: Any, facts: Any) -> Any:
        return compile_cluster(c, inputs, values, variables, facts, context.settings)

    return compile_program


class _Observer:
    def __init__(self, observe: Observe | None, check: bool) -> None:
        self._observe = observe
        self._check = check

    def __call__(self, stage: str, graph: Graph) -> Graph:
        if self._check:
            try:
                verify(graph)
            except OpError as e:
                e.args = (f"after the pass {stage!r}: {e.message}",)
                raise
        if self._observe is not None:
            self._observe(stage, graph)
        return graph
