"""Who waits for what: the state of an unfinished step, for errors and deadlock reports.

Reads the propagator's frames and never changes them. An input "has come" when its source has fired
in the iteration that delivers it, so reports need no bookkeeping while a step runs.
"""

from __future__ import annotations

from collections.abc import Collection
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


#REPORT
    # ---- what waits for what ---------------------------------------------------------------

    def waiting(self) -> list[Waiting]:
        """Every node that has not fired, outer frames first, with the inputs it still lacks."""
        report: list[Waiting] = []
        frames = [self._root] if self._root is not None else []
        for frame in frames:  # grows while it is walked
            for iteration in frame.iterations.values():
                frames.extend(iteration.children.values())
                for n, node in enumerate(frame.table.nodes):
                    if iteration.counts[n]:
                        lacking = self._missing(iteration, n)
                        report.append(Waiting(node, _tag(iteration), lacking))
        return report

    def explain(self, limit: int = 20) -> str:
        """For errors and deadlock reports: what runs, then what waits for which inputs."""
        name = self.plan.name
        lines = [f"{name(r.node)}{_where(r.tag)} is running" for r in self._running]
        for node, tag, missing in self.waiting():
            parts = [
                f"'{name(m.source)}'" + (f" output {m.slot}" if m.slot >= 0 else " (control)")
                for m in missing
            ]
            lines.append(f"{name(node)}{_where(tag)} waits for {', '.join(parts)}")
        if not lines:
            return "nothing runs and nothing waits"
        if len(lines) > limit:
            lines[limit:] = [f"... and {len(lines) - limit} more"]
        return "\n".join(lines)

    def _missing(self, at: _Iteration, n: int) -> tuple[Missing, ...]:
        node = self.plan.nodes[at.table.nodes[n]]
        data = [Missing(*edge) for edge in node.inputs]
        if node.kind == PlanKind.MERGE:
            if not at.counts[at.table.arrivals[n]]:
                data = []  # decided, it waits for control inputs only
            else:
                data = [m for m in data if self._can_come(m.source, at)]
        lacking = [*data, *(Missing(source, -1) for source in node.control)]
        return tuple(m for m in lacking if not self._has_come(m.source, at))

    def _can_come(self, source: int, at: _Iteration) -> bool:
        """Whether a Merge of this iteration can get a value from `source` at all."""
        node = self.plan.nodes[source]
        if node.kind == PlanKind.ENTER and not node.is_constant:
            return at.number == 0
        return node.kind != PlanKind.NEXT_ITERATION or at.number > 0

    def _has_come(self, source: int, at: _Iteration) -> bool:
        """Whether `source` has delivered its outputs into iteration `at`."""
        place, n = self.plan.place[source]
        kind = self.plan.nodes[source].kind
        if kind == PlanKind.ENTER:
            return at.frame.outer is not None and self._has_fired(at.frame.outer, n)
        if kind == PlanKind.EXIT:
            child = at.children.get(place)
            return place in at.closed if child is None else n in child.exited
        if kind == PlanKind.NEXT_ITERATION:
            before = at.frame.iterations.get(at.number - 1)
            return before is None or self._has_fired(before, n)
        return self._has_fired(at, n)

    def _has_fired(self, at: _Iteration, n: int) -> bool:
        if at.counts[n]:
            return False
        return all(r._iteration is not at or r._local != n for r in self._running)


def _where(tag: str) -> str:
    return f" in {tag}" if tag else ""
