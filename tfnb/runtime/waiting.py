"""Who waits for what: the state of an unfinished step, for errors and deadlock reports.

Reads the propagator's frames and never changes them. An input "has come" when its source has fired
in the iteration that delivers it, so reports need no bookkeeping while a step runs.
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
    """A node that has not fired, in which frame and iteration (`tag`), and what it still lacks."""

    node: int
    tag: str
    missing: tuple[Missing, ...]


def list_waiting(plan: Plan, root: Frame | None, running: Collection[Ready]) -> list[Waiting]:
    """Every node that has not fired, outer frames first, with the inputs it still lacks."""
    busy = {(r.owner, r.place) for r in running if r.owner is not None}
    report: list[Waiting] = []
    frames = [root] if root is not None else []
    for frame in frames:  # grows while it is walked
        for iteration in frame.iterations.values():
            frames.extend(iteration.children.values())
            for n, node in enumerate(frame.table.nodes):
                if iteration.counts[n]:
                    lacking = _missing(plan, busy, iteration, n)
                    report.append(Waiting(node, iteration.tag(), lacking))
    return report


def describe(plan: Plan, waiting: Sequence[Waiting], running: Collection[Ready], limit: int) -> str:
    """One line per node: what runs, then what waits for which inputs; `limit` lines at most."""
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
        decided = not at.counts[at.table.arrivals[n]]
        data = [] if decided else [m for m in data if _can_come(plan, at, m.source)]
    lacking = [*data, *(Missing(source, CONTROL) for source in node.control)]
    return tuple(m for m in lacking if not _has_come(plan, busy, at, m.source))


def _can_come(plan: Plan, at: Iteration, source: int) -> bool:
    """Whether a Merge of this iteration can get a value from `source` at all."""
    node = plan.nodes[source]
    if node.kind == PlanKind.ENTER and not node.is_constant:
        return at.number == 0
    return node.kind != PlanKind.NEXT_ITERATION or at.number > 0


def _has_come(plan: Plan, busy: _Busy, at: Iteration, source: int) -> bool:
    """Whether `source` has delivered its outputs into iteration `at`."""
    frame, n = plan.place[source]
    kind = plan.nodes[source].kind
    if kind == PlanKind.ENTER:
        return at.frame.outer is None or _has_fired(busy, at.frame.outer, n)
    if kind == PlanKind.EXIT:
        child = at.children.get(frame)
        return frame in at.closed if child is None else n in child.exited
    if kind == PlanKind.NEXT_ITERATION:
        before = at.frame.iterations.get(at.number - 1)
        return before is None or _has_fired(busy, before, n)
    return _has_fired(busy, at, n)


def _has_fired(busy: _Busy, at: Iteration, n: int) -> bool:
    return not at.counts[n] and (at, n) not in busy
