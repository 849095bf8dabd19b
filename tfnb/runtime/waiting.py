"""The nodes of an unfinished step that wait, and their missing inputs, for errors and deadlock reports.

This module reads the propagator's frames and never changes them. An input "has come" when its source has
fired in the iteration that delivers it, so reports need no bookkeeping while a step runs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from tfnb.runtime.frames import Frame, Iteration, Ready
from tfnb.runtime.plan import CONTROL, Plan, PlanKind


class Missing(NamedTuple):
    """An input that has not come: output `slot` of `source` (-1: a control edge)."""

    source: int
    slot: int


class Waiting(NamedTuple):
    """A node that has not fired, its frame and iteration (`tag`, see `Ready.tag`), and its missing inputs."""

    node: int
    tag: str
    missing: tuple[Missing, ...]


def list_waiting(plan: Plan, root: Frame | None, running: Collection[Ready]) -> list[Waiting]:
    """All nodes that have not fired, each with its missing inputs. Nodes of outer frames come first."""
    busy = {(r.owner, r.place) for r in running if r.owner is not None}
    report: list[Waiting] = []
    frames = [root] if root is not None else []
    for frame in frames:  # grows while it is walked
        for iteration in frame.iterations.values():
            frames.extend(iteration.children.values())
            for n, node in enumerate(frame.table.nodes):
                if iteration.counts[n]:
                    missing = _missing(plan, busy, iteration, n)
                    report.append(Waiting(node, iteration.tag(), missing))
    return report


def describe(plan: Plan, waiting: Sequence[Waiting], running: Collection[Ready], limit: int) -> str:
    """A text with one line for each running node, then one for each waiting node and its missing inputs.

    After `limit` lines, one more line counts the rest.
    """
    lines = [f"'{plan.name(r.node)}'{_where(r.tag)} is running" for r in running]
    for node, tag, missing in waiting:
        parts = [
            f"'{plan.name(source)}'" + (" (control)" if slot == CONTROL else f" output {slot}")
            for source, slot in missing
        ]
        lines.append(f"'{plan.name(node)}'{_where(tag)} waits for {', '.join(parts)}")
    if not lines:
        return "nothing runs and nothing waits"
    if len(lines) > limit:
        lines[limit:] = [f"... and {len(lines) - limit} more"]
    return "\n".join(lines)


def _where(tag: str) -> str:
    return f" in {tag}" if tag else ""


_Busy = Collection[tuple[Iteration, int]]


def _missing(plan: Plan, busy: _Busy, at: Iteration, n: int) -> tuple[Missing, ...]:
    node = plan.nodes[at.table.nodes[n]]
    data = [Missing(*edge) for edge in node.inputs]
    if node.kind == PlanKind.MERGE:
        is_decided = not at.counts[at.table.arrivals[n]]
        data = [] if is_decided else [m for m in data if _can_come(plan, at, m.source)]
    edges = [*data, *(Missing(source, CONTROL) for source in node.control)]
    return tuple(m for m in edges if not _has_come(plan, busy, at, m.source))


def _can_come(plan: Plan, at: Iteration, source: int) -> bool:
    """Returns whether `source` can send a value to a Merge of this iteration at all."""
    node = plan.nodes[source]
    if node.kind == PlanKind.ENTER and not node.is_constant:
        return at.number == 0
    return node.kind != PlanKind.NEXT_ITERATION or at.number > 0


def _has_come(plan: Plan, busy: _Busy, at: Iteration, source: int) -> bool:
    """Returns whether `source` has delivered its outputs to iteration `at`."""
    frame, n = plan.place[source]
    kind = plan.nodes[source].kind
    if kind == PlanKind.ENTER:
        return at.frame.outer is None or _has_fired(busy, at.frame.outer, n)
    if kind == PlanKind.EXIT:
        child = at.children.get(frame)
        return frame in at.closed if child is None else n in child.exited
    if kind == PlanKind.NEXT_ITERATION:
        previous = at.frame.iterations.get(at.number - 1)
        return previous is None or _has_fired(busy, previous, n)
    return _has_fired(busy, at, n)


def _has_fired(busy: _Busy, at: Iteration, n: int) -> bool:
    return not at.counts[n] and (at, n) not in busy
