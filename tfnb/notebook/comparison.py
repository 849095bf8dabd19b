"""`tf.compare`: the first node at which two runs of one graph differ, then all others, and by how much they differ.

It helps with a graph that was changed, moved to another device or dtype, or loaded from a file. Invariant: nodes are
compared in topological order, so the first difference is where to search for the cause.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.opdef import Kind
from tfnb.ir.step_graph.contexts import contexts
from tfnb.ir.step_graph.graph import Graph
from tfnb.ir.step_graph.order import topological
from tfnb.passes.prune import Request, prune
from tfnb.session.feed import feed_key
from tfnb.session.fetch import plan_fetches
from tfnb.session.session import Session

__all__ = ["Comparison", "Difference", "compare"]


@dataclass(frozen=True)
class Difference:
    """The difference between the values of one tensor: `problem` describes it in words.

    `absolute` and `relative` are the largest differences (0 where the problem is another one, as with shapes), `index`
    is the place of the largest, `a` and `b` are the two values there, and `origin` is the source line of the node.
    """

    name: str
    op: str
    problem: str
    absolute: float = 0.0
    relative: float = 0.0
    index: tuple[int, ...] = ()
    a: Any = None
    b: Any = None
    origin: str = ""

    def __str__(self) -> str:
        return f"{self.name}{f' ({self.op})' if self.op else ''}: {self.problem}"


@dataclass(frozen=True)
class Comparison:
    """`differences` are in topological order; the `compared` names were in both runs, the others in one only."""

    compared: tuple[str, ...]
    differences: tuple[Difference, ...]
    only_in_a: tuple[str, ...]
    only_in_b: tuple[str, ...]

    @property
    def first(self) -> Difference | None:
        """The first difference in topological order; None if there is none."""
        return self.differences[0] if self.differences else None

    @property
    def equal(self) -> bool:
        return not (self.differences or self.only_in_a or self.only_in_b)

    def __repr__(self) -> str:
        lines = [self._summary()]
        if self.first is not None:
            lines.append(f"first: {self.first}")
            lines += [f"    {line}" for line in self.first.origin.splitlines()]
            lines += [f"then:  {d}" for d in self.differences[1:20]]
            if len(self.differences) > 20:
                lines.append(f"... and {len(self.differences) - 20:,} more")
        for position, names in (("first", self.only_in_a), ("second", self.only_in_b)):
            if names:
                lines.append(f"only in the {position} run: {', '.join(names[:10])}{' ...' * (len(names) > 10)}")
        return "\n".join(lines)

    def _summary(self) -> str:
        n = len(self.compared)
        return f"{n:,} tensors compared, {len(self.differences):,} differ" if n else "no tensor is in both runs"

    def _repr_html_(self) -> str:
        cell = "<td style='text-align:left'>{}</td>"
        rows = "".join(
            "<tr>"
            + "".join(
                cell.format(escape(str(v)))
                for v in (
                    d.name,
                    d.op,
                    d.problem,
                    list(d.index),
                    "" if d.a is None else d.a,
                    "" if d.b is None else d.b,
                    d.origin,
                )
            )
            + "</tr>"
            for d in self.differences[:200]
        )
        titles = ("tensor", "type", "difference", "at", "first run", "second run", "source")
        head = "".join(f"<th>{h}</th>" for h in titles)
        table = f"<table class='tfnb-table'><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>" if rows else ""
        rest = "".join(f"<p>{escape(line)}</p>" for line in repr(self).splitlines() if line.startswith("only"))
        return f"<p>{escape(self._summary())}</p>{table}{rest}"


def compare(
    run_a: Session | Mapping[Any, Any],
    run_b: Session | Mapping[Any, Any],
    fetches: object = None,
    feed_dict: Mapping[Any, Any] | None = None,
    rtol: float = 1e-5,
    atol: float = 1e-8,
) -> Comparison:
    """Compares two runs by the names of their tensors.

    A run is a dictionary name -> value, or a session. In a session everything that `fetches` (names or tensors) needs
    is run with `feed_dict` and compared, except for nodes inside loops and branches. Values agree when |a - b| <= atol
    + rtol |b|; NaN agrees with NaN. Raises `InvalidArgumentError` for other arguments, and the errors of the two runs.
    """
    for run in (run_a, run_b):
        if not isinstance(run, Session | Mapping):
            raise InvalidArgumentError(f"needed a session or a dictionary of values, got {type(run).__name__}")
        if isinstance(run, Session) and fetches is None:
            raise InvalidArgumentError("to compare sessions, say what to run: fetches=...")
    a, b = (_run(run, fetches, feed_dict) for run in (run_a, run_b))
    common = [name for name in a if name in b]
    differences = (_difference(name, a[name], b[name], rtol, atol) for name in common)
    return Comparison(
        tuple(common),
        tuple(d for d in differences if d is not None),
        tuple(n for n in a if n not in b),
        tuple(n for n in b if n not in a),
    )


_Value = tuple[Any, str, str]  # value, type of the op, source line


def _run(run: Session | Mapping[Any, Any], fetches: object, feed_dict: Mapping[Any, Any] | None) -> dict[str, _Value]:
    """Returns the values of a run by name, in topological order."""
    if not isinstance(run, Session):
        return {str(getattr(k, "name", k)): (v, "", "") for k, v in run.items()}
    graph = run.graph
    plan = plan_fetches(graph, _named(fetches))
    feeds = {feed_key(graph, getattr(k, "name", k)): v for k, v in (feed_dict or {}).items()}
    pruned_graph = prune(Request(plan.tensors, plan.operations, tuple(feeds)))
    context_of = contexts(pruned_graph)
    tensors = []
    for i in _order(pruned_graph):
        node = pruned_graph.nodes[i]
        if context_of.get(i) or node.opdef.kind in (Kind.VARIABLE, Kind.PLACEHOLDER, Kind.SWITCH):
            continue  # of a Switch's outputs one has no value
        for port, spec in enumerate(node.specs):
            if not spec.ref and (spec.dtype.cl or spec.dtype.is_complex):
                tensors.append((f"{node.name}:{port}", node))
    names = [name for name, _ in tensors if _can_be_fetched(graph, name)]
    nodes = dict(tensors)
    values = run.run([*names, plan.operations], feeds)[: len(names)]
    return {n: (v, nodes[n].type, str(nodes[n].origin or "")) for n, v in zip(names, values, strict=True)}


def _order(graph: Graph) -> list[int]:
    """Returns a topological order in which a loop's results come after all that enters the loop.

    Edges that close a loop do not count, so the graph's own order puts some of what only the body reads behind.
    """
    sources: dict[int, set[int]] = {}
    entering: dict[object, set[int]] = {}
    for node in graph.nodes.values():
        sources[node.id] = {e.id for e in node.inputs if graph.nodes[e.id].opdef.kind is not Kind.NEXT_ITERATION}
        sources[node.id].update(node.control)
        if node.opdef.kind is Kind.ENTER:
            entering.setdefault(graph.frames.outside[node.id], set()).add(node.id)
    for node in graph.nodes.values():
        if node.opdef.kind is Kind.EXIT:
            sources[node.id] |= entering.get(graph.frames.inside[node.id], set())
    return topological(sources)[0]


def _can_be_fetched(graph: GraphBuilder, name: str) -> bool:
    """Returns whether the user's graph has the tensor, and not inside a loop or branch, as constants there are."""
    try:
        tensor = graph.as_graph_element(name, allow_operation=False)
    except Exception:  # a node that a pass added
        return False
    return graph.is_fetchable(tensor)


def _named(fetches: object) -> list[Any]:
    """Fetches by name, since names mean the same in both graphs."""
    fetch_list = fetches if isinstance(fetches, list | tuple) else [fetches]
    return [getattr(f, "name", f) for f in fetch_list]


def _difference(name: str, left: _Value, right: _Value, rtol: float, atol: float) -> Difference | None:
    """Returns how two values of one name differ; values of other operations differ even where they are equal."""
    found = _difference_of_values(name, left, right, rtol, atol)
    if not left[1] or not right[1] or left[1] == right[1]:
        return found
    by = f"computed by {left[1]} in the first run, by {right[1]} in the second"
    if found is None:
        return Difference(name, left[1], f"{by}; the values agree", origin=left[2] or right[2])
    return replace(found, problem=f"{by}; {found.problem}")


def _difference_of_values(name: str, left: _Value, right: _Value, rtol: float, atol: float) -> Difference | None:
    a, b = np.asarray(left[0]), np.asarray(right[0])
    op, origin = left[1] or right[1], left[2] or right[2]
    if a.shape != b.shape:
        return Difference(name, op, f"shapes {list(a.shape)} and {list(b.shape)}", origin=origin)
    if a.dtype.kind not in "biufc" or b.dtype.kind not in "biufc":
        a, b = (v if v.dtype.kind in "OSU" else v.astype(np.float64) for v in (a, b))
    if a.dtype.kind in "OSU" or b.dtype.kind in "OSU":
        n = int((a != b).sum())
        return Difference(name, op, f"{n:,} of {a.size:,} elements differ", origin=origin) if n else None
    with np.errstate(all="ignore"):
        close = np.isclose(a, b, rtol, atol, equal_nan=True)
        if close.all():
            return None
        wide = np.complex128 if "c" in (a.dtype.kind, b.dtype.kind) else np.float64
        gap = np.where(close, 0.0, np.abs(a.astype(wide) - b.astype(wide)))
        gap = np.where(np.isnan(gap), np.inf, gap)
        at = np.unravel_index(int(gap.argmax()), a.shape)
        scale = float(np.abs(b[at]))
        relative = float(gap[at]) / scale if scale else float("inf")
    n = int((~close).sum())
    problem = f"{n:,} of {a.size:,} elements differ, by {float(gap[at]):.3g} at most ({relative:.3g} relative)"
    index = tuple(int(k) for k in at)
    return Difference(name, op, problem, float(gap[at]), relative, index, a[at].item(), b[at].item(), origin)
