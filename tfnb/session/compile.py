"""Compiling a step: from the user's graph to plans with their kernels (white paper, section 3).

`STAGES` lists all stages in order. `observe` is called with the result of each stage: a graph (from "partition" on, one
for each device), its clusters, the plan. Invariant: a compiled step has no state of a run; all runs and threads share
it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tfnb.caches import Cache
from tfnb.codegen.compile import compile_cluster
from tfnb.codegen.modules import KernelTable, kernels_of_machine
from tfnb.devices.interface import Device
from tfnb.errors import OpError
from tfnb.ir.operation import Operation
from tfnb.ir.step_graph.graph import Graph
from tfnb.ir.step_graph.verify import verify
from tfnb.ir.tensor import GraphLike, Tensor
from tfnb.passes.cluster import Clustered, Grouping, cluster, grouping
from tfnb.passes.cse import cse
from tfnb.passes.deref import deref
from tfnb.passes.expand import expand
from tfnb.passes.fold import fold
from tfnb.passes.inline import inline
from tfnb.passes.prune import Request, prune
from tfnb.passes.ref_enter import open_ref_enters
from tfnb.passes.ref_switch import open_ref_switches
from tfnb.passes.repeated_rows import sum_repeated_rows
from tfnb.passes.simplify import drop_no_ops, simplify
from tfnb.placement.partition import Partition, localize, partition
from tfnb.placement.place import Placement, Rules, check_devices, place
from tfnb.placement.schedule import delay_recvs
from tfnb.placement.simulate import simulate
from tfnb.runtime.cluster_kernel import ClusterKernel
from tfnb.runtime.executor import PlanPart
from tfnb.runtime.lending import kept_feeds, shared_fetches
from tfnb.runtime.resources import ResourceManager
from tfnb.session.placing import Placing
from tfnb.session.planning import Planner
from tfnb.settings import Settings
from tfnb.system.collector import collector_paused
from tfnb.system.progress import compiling

__all__ = ["STAGES", "CompiledStep", "Context", "Stage", "compile_step", "plan_part"]

Observe = Callable[[str, Any], None]


@dataclass(frozen=True, eq=False)
class Context:
    """What the compilation of a session's steps needs: devices (the default first), state and options.

    With `truncate`, float32 tensors are sent between devices as their upper 16 bits. With `delay`, a tensor is received
    when it is needed and not as soon as it is available.
    """

    devices: dict[str, Device]
    resources: ResourceManager
    settings: Settings
    placing: Placing
    optimize: bool = True
    truncate: bool = False
    delay: bool = False

    @property
    def kernels(self) -> KernelTable:
        """The generated kernels of all steps."""
        return kernels_of_machine(self.settings.cache_path)


@dataclass(frozen=True, eq=False)
class CompiledStep:
    """A step that is ready to run. `parts[k]` is the plan of partition k with its kernels, `clustered[k]` its clustered
    graph.

    `graph` is the placed graph of the whole step, and `placement` has the reasons of the placement. `elsewhere` are the
    partitions of other tasks, which plan them with `grouping`, the grouping of the whole step. `kept_feeds` are the
    numbers of the feeds that may be used after a run, and so must not be arrays of the user's; `shared_fetches` are
    those of the fetches whose arrays somebody else may have.
    """

    parts: tuple[PlanPart, ...]
    graph: Graph
    clustered: tuple[Clustered, ...]
    placement: Placement
    elsewhere: tuple[Partition, ...] = ()
    grouping: Grouping | None = None
    kept_feeds: tuple[int, ...] = ()
    shared_fetches: tuple[int, ...] = ()

    def caches(self) -> tuple[Cache[Any, Any], ...]:
        """The caches of the programs of its clusters, with their counters."""
        kernels = (kernel for part in self.parts for kernel in part.payloads)
        return tuple(cache for kernel in kernels if isinstance(kernel, ClusterKernel) for cache in kernel.caches)


@dataclass(eq=False)
class _Work:
    """The state of a compilation, which the stages change. `rewrite` changes the pruned graph; partial runs use it."""

    request: Request
    context: Context
    rewrite: Callable[[Graph], Graph] | None
    rules: Rules
    graph: Graph = field(default_factory=lambda: Graph({}))
    placement: Placement | None = None
    partitions: Sequence[Partition] = ()  # of the devices of this process, once the step is partitioned
    elsewhere: tuple[Partition, ...] = ()
    grouping: Grouping | None = None
    clustered: tuple[Clustered, ...] = ()
    parts: tuple[PlanPart, ...] = ()

    @property
    def has_several_devices(self) -> bool:
        """Whether the nodes of the graph are on more than one device."""
        return len({n.device for n in self.graph.nodes.values()}) > 1


class Stage(NamedTuple):
    """A stage of compilation. `run(work)` changes `work` and yields the results for observers; it yields nothing if the
    stage had nothing to do.

    A stage that `optimizes` is left out if optimization is turned off.
    """

    name: str
    run: Callable[[_Work], Iterable[Any]]
    optimizes: bool = False


def compile_step(
    request: Request, context: Context, observe: Observe | None = None, rewrite: Callable[[Graph], Graph] | None = None
) -> CompiledStep:
    """The compiled step of a request. Device programs are compiled later, when the shapes of a run are known.

    `rewrite` changes the pruned graph; partial runs use it. Raises `OpError`s that name the node that caused them.
    """
    work = _Work(request, context, rewrite, context.placing.rules(_user_graph(request)))
    with compiling("a step") as progress, collector_paused():
        for number, stage in enumerate(STAGES, 1):
            if context.optimize or not stage.optimizes:
                size = f" of {len(work.graph.nodes):,} nodes" if work.graph.nodes else ""
                progress.text = f"a step{size}: {stage.name}, stage {number} of {len(STAGES)}"
                for result in stage.run(work):
                    if context.settings.verify and isinstance(result, Graph):
                        _verify(stage.name, result)
                    if observe is not None:
                        observe(stage.name, result)
    assert work.placement is not None
    return CompiledStep(
        work.parts,
        work.graph,
        work.clustered,
        work.placement,
        work.elsewhere,
        work.grouping,
        kept_feeds(work.parts) if work.graph.feeds else (),
        tuple(k for k in shared_fetches(work.parts) if work.graph.spec(work.graph.fetches[k]).shape.ndims != 0),
    )


def plan_part(part: Partition, known: Grouping, context: Context) -> PlanPart:
    """The plan of a partition that the master of another task has sent, with `known`, the grouping of its nodes."""
    return _plan_part(part, cluster(part.graph, known), context)


# ---- the stages ----------------------------------------------------------------------------------


def _rewrites(name: str, change: Callable[[Graph], Graph], optimizes: bool = False) -> Stage:
    """A stage that is a pass: a function from graph to graph."""

    def run(work: _Work) -> Iterator[Graph]:
        work.graph = change(work.graph)
        yield work.graph

    return Stage(name, run, optimizes)


def _prune(work: _Work) -> Iterator[Graph]:
    work.graph = prune(work.request)
    yield work.graph


def _take_in_parts(work: _Work) -> Iterator[Graph]:
    if work.rewrite is not None:
        work.graph = work.rewrite(work.graph)
        yield work.graph


def _check_devices(work: _Work) -> Iterator[Graph]:
    """Checks that all requested devices exist.

    It runs before folding, so that the error does not depend on optimization.
    """
    check_devices(work.graph, work.rules)
    return iter(())


def _place(work: _Work) -> Iterator[Graph]:
    work.placement = place(work.graph, work.rules)
    work.context.placing.keep(work.placement)
    work.graph = work.placement.graph
    yield work.graph


def _partition(work: _Work) -> Iterator[Graph]:
    """Splits the graph into one graph for each device, including devices of other tasks.

    A step on one device keeps its graph.
    """
    g, context = work.graph, work.context
    if not work.has_several_devices:
        numbers = tuple(range(len(g.feeds))), tuple(range(len(g.fetches)))
        device = next((n.device for n in g.nodes.values()), "")
        partitions: Sequence[Partition] = [Partition(device, g, *numbers)]
    else:
        g = localize(g)
        partitions = partition(g, context.truncate)
        work.grouping = groups = grouping(g)
        if context.delay:
            costs = context.placing.costs
            simulated = simulate(g, {i: n.device for i, n in g.nodes.items()}, costs)
            partitions = delay_recvs(partitions, simulated, groups.level, groups.context, costs)
        yield from (p.graph for p in partitions)
    work.partitions = [p for p in partitions if p.device in context.devices or not p.device]
    work.elsewhere = tuple(p for p in partitions if p not in work.partitions)
    if work.elsewhere and work.grouping is None:
        work.grouping = grouping(work.graph)


def _cluster(work: _Work) -> Iterator[Clustered]:
    work.clustered = tuple(cluster(p.graph, work.grouping) for p in work.partitions)
    yield from work.clustered


def _plan(work: _Work) -> Iterator[Any]:
    step_graph = work.graph
    parts = []
    for p, clustered in zip(work.partitions, work.clustered, strict=True):
        part = _plan_part(p, clustered, work.context)
        feeds = None if p.graph.feeds == step_graph.feeds else p.feeds
        fetches = None if p.graph.fetches == step_graph.fetches else p.fetches
        parts.append(part._replace(feeds=feeds, fetches=fetches))
        yield part.plan
    work.parts = tuple(parts)


STAGES: tuple[Stage, ...] = (
    Stage("prune", _prune),
    Stage("take in parts", _take_in_parts),
    _rewrites("inline", inline),
    Stage("check devices", _check_devices),
    _rewrites("drop no-ops", drop_no_ops),
    _rewrites("open ref switches", open_ref_switches),
    _rewrites("open ref enters", open_ref_enters),
    _rewrites("deref", deref),
    _rewrites("expand", expand),
    _rewrites("sum repeated rows", sum_repeated_rows, optimizes=True),
    _rewrites("fold", fold, optimizes=True),
    _rewrites("simplify", simplify, optimizes=True),
    _rewrites("cse", cse, optimizes=True),
    _rewrites("fold", fold, optimizes=True),  # merging equal nodes may have made inputs constant
    _rewrites("simplify", simplify, optimizes=True),
    Stage("place", _place),
    Stage("partition", _partition),
    Stage("cluster", _cluster),
    Stage("plan", _plan),
)


def _plan_part(part: Partition, clustered: Clustered, context: Context) -> PlanPart:
    compile_program = functools.partial(compile_cluster, settings=context.settings, kernels=context.kernels)
    plan, payloads = Planner(clustered, context.devices, context.resources, compile_program).build()
    return PlanPart(plan, payloads, part.feeds, part.fetches, part.device)


def _user_graph(request: Request) -> GraphLike | None:
    elements: tuple[Tensor | Operation, ...] = (*request.fetches, *request.targets)
    return elements[0].graph if elements else None


def _verify(stage: str, graph: Graph) -> None:
    try:
        verify(graph)
    except OpError as e:
        e.args = (f"after the pass {stage!r}: {e.message}",)
        raise
