"""The stages through which the compiler takes a request, down to the OpenCL of each cluster; and parameters by scope.

Invariant: the view has no side effects: it runs no step and changes no state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from html import escape
from typing import Any

from tfnb.codegen.modules import text_of
from tfnb.codegen.program import Copy, Launch, Module
from tfnb.errors import DTypeError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.default import get_default_graph
from tfnb.ir.step_graph.graph import Graph, Node
from tfnb.notebook.graph import GraphModel, graph_model
from tfnb.notebook.graph.clusters import clusters_table
from tfnb.notebook.graph.widget import LiveGraph
from tfnb.passes.cluster import Clustered
from tfnb.passes.prune import Request
from tfnb.runtime.cluster_kernel import ClusterKernel
from tfnb.session.compile import compile_step
from tfnb.session.feed import feed_key
from tfnb.session.fetch import plan_fetches
from tfnb.session.session import Session

__all__ = ["ClusterText", "Parameters", "PassView", "count_parameters", "show_passes"]

_MOST = 400  # the largest number of nodes that are listed for a stage


@dataclass(frozen=True)
class ClusterText:
    """A cluster: its device, its nodes, its generated OpenCL (empty until the step has run once), the kernels that it
    launches, and which nodes were not fused and why.
    """

    name: str
    device: str
    nodes: tuple[str, ...]
    sources: tuple[str, ...]
    launches: tuple[str, ...]
    why_not: tuple[str, ...]

    def notes(self) -> list[tuple[str, str]]:
        """Returns the texts for the card of a node in the cluster: its launches, and the generated code."""
        rows = [("launches", "\n".join(self.launches)), ("not fused", "\n".join(self.why_not))]
        return [row for row in rows if row[1]] + [("generated OpenCL", source) for source in self.sources]


@dataclass(frozen=True)
class PassView:
    """`stages` are (name, graph after the stage); `clusters` are those of the last one, `clustered` its graph per
    partition.

    For a step on several devices the last stages are one per device, as "partition CPU:1".
    """

    stages: tuple[tuple[str, Graph], ...]
    clusters: tuple[ClusterText, ...]
    singles: tuple[str, ...]
    clustered: tuple[Clustered, ...] = ()

    def __repr__(self) -> str:
        lines = []
        previous_size = None
        for name, g in self.stages:
            size = len(g.nodes)
            change = "" if previous_size in (None, size) or _device_of(name) else f" ({size - previous_size:+,})"
            lines.append(f"{name:15} {size:6,} nodes{change}")
            previous_size = size
        for c in self.clusters:
            lines.append(f"cluster {c.name} on {c.device}: {len(c.nodes):,} nodes, {len(c.launches):,} launches")
            lines += [f"    {launch}" for launch in c.launches]
        if self.singles:
            lines.append(f"on the host: {', '.join(self.singles[:20])}{' ...' * (len(self.singles) > 20)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return self._live.html() + self._listing()

    @cached_property
    def _live(self) -> LiveGraph:
        """Returns the live view of the stages in their order. The last one, the clusters with their OpenCL, is shown
        first.
        """
        graphs: list[tuple[str, Callable[[], GraphModel]]]
        graphs = [(name, partial(graph_model, g)) for name, g in self.stages]
        notes = {(c.device, c.name): c.notes() for c in self.clusters}
        graphs.append(("clusters", lambda: graph_model(clusters_table(self.clustered, notes))))
        return LiveGraph(graphs, {}, len(graphs) - 1)

    def _listing(self) -> str:
        parts = []
        previous_size = None
        for name, g in self.stages:
            size = len(g.nodes)
            change = "" if previous_size in (None, size) or _device_of(name) else f", {size - previous_size:+,}"
            listing = [_line(g, g.nodes[i]) for i in g.order[:_MOST]]
            if size > _MOST:
                listing.append(f"... and {size - _MOST:,} more")
            parts.append(_fold(f"{name}: {size:,} nodes{change}", "\n".join(listing)))
            previous_size = size
        for c in self.clusters:
            lines = [*(f"launches {launch}" for launch in c.launches), *c.why_not, *c.nodes[:_MOST]]
            inner = _fold(f"{len(c.nodes):,} nodes, {len(c.launches):,} launches", "\n".join(lines))
            if not c.launches:
                inner += "<p>It is compiled for the shapes of its inputs when it first runs: look again then.</p>"
            inner += "".join(_fold("generated OpenCL", s) for s in c.sources)
            parts.append(
                f"<details><summary>cluster {escape(c.name)} on {escape(c.device)}</summary>"
                f"<div style='margin-left:1.2em'>{inner}</div></details>"
            )
        if self.singles:
            parts.append(_fold(f"{len(self.singles):,} nodes on the host", "\n".join(self.singles)))
        inner = f"<div style='margin-left:1.2em'>{''.join(parts)}</div>"
        return f"<details class='tfnb-passes'><summary>The same as text</summary>{inner}</details>"


def _fold(title: str, text: str) -> str:
    style = "max-height:30em;overflow:auto;font-size:12px"
    return f"<details><summary>{escape(title)}</summary><pre style='{style}'>{escape(text)}</pre></details>"


def _stage_name(name: str, g: Graph) -> str:
    if name != "partition":
        return name
    return f"{name} {next(iter(g.nodes.values())).device.rpartition('device:')[2]}"


def _device_of(name: str) -> str:
    """Returns the device of a stage that is one partition, from the name of the stage."""
    return name.partition(" ")[2]


def _line(g: Graph, node: Node) -> str:
    inputs = ", ".join(g.nodes[e.id].name + (f":{e.port}" if e.port else "") for e in node.inputs)
    specs = ", ".join(f"{s.dtype.name}{s.shape}" for s in node.specs)
    control_text = f" after {', '.join(g.nodes[c].name for c in node.control)}" if node.control else ""
    return f"{node.name} = {node.type}({inputs}) -> {specs}{control_text}"


def show_passes(session: Session, fetches: object, feeds: Sequence[Any] = ()) -> PassView:
    """Returns the stages through which a request goes: pruned, optimised, placed, and in clusters with their OpenCL.

    `fetches` are as in `session.run`; `feeds` are the tensors that are fed (the keys of a feed_dict). Nothing is run,
    so the OpenCL of a cluster is empty until the same request has been run. Raises `DTypeError` if `session` is not a
    session, and the errors of `session.run` when it compiles.
    """
    if not isinstance(session, Session):
        raise DTypeError(f"needed a tf.Session, got {type(session).__name__}")
    plan = plan_fetches(session.graph, fetches)
    feed_keys = tuple(feed_key(session.graph, f) for f in feeds)
    stages: list[tuple[str, Any]] = []
    compiled = compile_step(
        Request(plan.tensors, plan.operations, feed_keys),
        session.compile_context,
        lambda name, g: stages.append((name, g)),
    )
    payloads = [k for part in session.compiled(plan, feed_keys).parts for k in part.payloads]
    kernels = {(k.cluster.device, k.cluster.name): k for k in payloads if isinstance(k, ClusterKernel)}
    clusters = []
    for g, c in [(part.graph, c) for part in compiled.clustered for c in part.clusters]:
        kernel = kernels.get((c.device, c.name))
        programs = kernel.programs() if kernel is not None else []
        modules = [m for p in programs[-1:] for m in p.modules]
        steps = [s for p in programs[-1:] for s in p.steps]
        clusters.append(
            ClusterText(
                c.name,
                c.device,
                tuple(_line(g, n) for n in c.nodes if n.id in g.nodes),
                tuple(_texts(steps, modules)),
                tuple(_launch(s, modules) for s in steps),
                tuple(str(w) for p in programs[-1:] for w in p.info),
            )
        )
    single_lines = tuple(_line(part.graph, part.graph.nodes[i]) for part in compiled.clustered for i in part.singles)
    graphs = tuple((_stage_name(name, g), g) for name, g in stages if isinstance(g, Graph))
    return PassView(graphs, tuple(clusters), single_lines, compiled.clustered)


def _texts(steps: Sequence[Launch | Copy], modules: Sequence[Module]) -> Iterator[str]:
    """Yields the generated texts of the kernels that are launched, by modules."""
    entries: dict[int, set[str]] = {}
    for step in steps:
        if isinstance(step, Launch):
            entries.setdefault(step.module, set()).add(step.entry)
    for number, module in enumerate(modules):
        if module.source and number in entries:
            yield text_of(module.source, entries[number])


def _launch(step: Launch | Copy, modules: Sequence[Module]) -> str:
    if isinstance(step, Copy):
        return f"copy of {step.nbytes:,} bytes"
    groups = "x".join(str(n) for n in step.groups)
    file_name = modules[step.module].file or "generated"
    return f"{step.entry} ({file_name}) for {step.label or step.entry}, {groups} groups"


# ---- parameters ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameters:
    """`scopes`: (scope or variable, depth, number of parameters), the whole graph first; -1 for an unknown shape."""

    scopes: tuple[tuple[str, int, int], ...]

    @property
    def total(self) -> int:
        return self.scopes[0][2]

    def __repr__(self) -> str:
        return "\n".join(f"{n:12,}  {'  ' * depth}{name}" for name, depth, n in self.scopes)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td style='text-align:left;padding-left:{1 + depth}em'>{escape(name)}</td><td>{n:,}</td></tr>"
            for name, depth, n in self.scopes
        )
        return (
            "<table class='tfnb-table'><thead><tr><th style='text-align:left'>scope</th><th>parameters</th></tr>"
            f"</thead><tbody>{rows}</tbody></table>"
        )


def count_parameters(graph: GraphBuilder | None = None, collection: str = "trainable_variables") -> Parameters:
    """Returns the number of parameters of the variables of a collection, by name scope and variable.

    `graph`: the default graph if it is None.
    """
    graph = graph if graph is not None else get_default_graph()
    counts: dict[tuple[str, ...], int] = {(): 0}
    for v in graph.get_collection(collection):
        dims: Any = v.shape.sizes if v.shape.sizes is not None else (None,)
        size = -1 if any(d is None for d in dims) else math.prod(dims)
        path = tuple(str(v.op.name).split("/"))
        for k in range(len(path) + 1):
            previous = counts.get(path[:k], 0)
            counts[path[:k]] = -1 if -1 in (previous, size) else previous + size
    order = sorted(counts)
    return Parameters(tuple((p[-1] if p else "all", len(p), counts[p]) for p in order))
