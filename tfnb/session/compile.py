"""Compiling a step: one readable function from the user's graph to a plan with its kernels (white paper, section 3).

prune -> inline -> expand -> fold -> cse -> simplify -> place -> cluster -> plan. `observe` sees the graph after every
stage. Invariant: a compiled step holds nothing of a run; all runs and threads share it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tfnb.codegen.compile import compile_cluster
from tfnb.devices.interface import Device
from tfnb.errors import OpError
from tfnb.ir.graph import Graph
from tfnb.ir.verify import verify
from tfnb.passes.cluster import Clustered, cluster
from tfnb.passes.cse import cse
from tfnb.passes.deref import deref
from tfnb.passes.expand import expand
from tfnb.passes.fold import fold
from tfnb.passes.inline import inline
from tfnb.passes.prune import Request, prune
from tfnb.passes.ref_switch import open_ref_switches
from tfnb.passes.simplify import drop_no_ops, simplify
from tfnb.placement.place import check_devices, place
from tfnb.runtime.plan import Plan
from tfnb.runtime.resources import ResourceManager
from tfnb.session.planning import Planner
from tfnb.settings import Settings

__all__ = ["CompiledStep", "Context", "compile_step"]

Observe = Callable[[str, Any], None]


@dataclass(frozen=True, eq=False)
class Context:
    """What a session gives to compile its steps: devices (the default first), state, options."""

    devices: dict[str, Device]
    resources: ResourceManager
    settings: Settings
    soft_placement: bool = False
    optimize: bool = True


@dataclass(frozen=True, eq=False)
class CompiledStep:
    """`payloads[i]` is the kernel of plan node i (None where the propagator needs none)."""

    plan: Plan
    payloads: tuple[Any, ...]
    graph: Graph
    clustered: Clustered


def compile_step(
    request: Request, context: Context, observe: Observe | None = None, rewrite: Callable[[Graph], Graph] | None = None
) -> CompiledStep:
    """Raises `OpError`s that name the node to blame; nothing is compiled for the device before the first run.

    `rewrite` changes the pruned graph: how a step is taken in parts.
    """
    seen = _Observer(observe, context.settings.verify)
    g = seen("prune", prune(request))
    if rewrite is not None:
        g = seen("parts", rewrite(g))
    g = seen("inline", inline(g))
    check_devices(g, list(context.devices), context.soft_placement)
    g = seen("expand", expand(deref(open_ref_switches(drop_no_ops(g)))))
    if context.optimize:
        for name, run in (("fold", fold), ("simplify", simplify), ("cse", cse), ("fold", fold), ("simplify", simplify)):
            g = seen(name, run(g))
    g = seen("place", place(g, list(context.devices), context.soft_placement))
    clustered = cluster(g)
    if observe is not None:
        observe("cluster", clustered)
    plan, payloads = Planner(clustered, context.devices, context.resources, _compiler(context)).build()
    return CompiledStep(plan, payloads, g, clustered)


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
