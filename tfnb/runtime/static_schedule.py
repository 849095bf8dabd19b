"""The schedule of a plan in which nothing is decided at run time: no branches, no loops (OSDI'16, section 3.3).

Which nodes run is known when the plan is built; in which order, only the values that come from elsewhere decide. It
takes the same events as the `Propagator`, without frames and iterations. Invariant: every node fires exactly once, live
or dead; dead are those that a dead value from another device reaches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfnb.errors import InternalError
from tfnb.runtime.frames import DEAD, EMPTY, Ready, Token
from tfnb.runtime.plan import CONTROL, LAST_EXTERNAL, ROOT, Plan, PlanKind
from tfnb.runtime.waiting import Missing, Waiting, describe

__all__ = ["StaticSchedule"]

_LAST_EXTERNAL = int(LAST_EXTERNAL)
_SEND = int(PlanKind.SEND)


class StaticSchedule:
    """One run of a plan that `is_static`. Use: as the `Propagator`."""

    failed_node = -1  # nothing is computed here that could fail

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._table = table = plan.frames[ROOT]  # which holds all nodes, under their own numbers
        self._counts = list(table.first_counts)
        self._inputs: list[Any] = [EMPTY] * table.n_slots
        self._results: list[Any] = [EMPTY] * len(plan.fetches)
        self._dead: set[int] = set()  # nodes that have got a dead input
        self._left = len(table.nodes)
        self._running: set[Ready] = set()
        self._work: list[int] = []  # nodes that have all inputs, not yet fired
        self._cancelled = False
        self.finished = False

    # ---- events ----------------------------------------------------------------------------

    def start(self, feeds: Sequence[Any] = ()) -> list[Ready]:
        """Begin the step with a value per FEED node of the plan; returns what may run."""
        if len(feeds) != len(self.plan.feeds):
            raise InternalError(f"{len(feeds)} feeds came, the plan has {len(self.plan.feeds)}")
        self._work.extend(self._table.roots)
        for node, value in zip(self.plan.feeds, feeds, strict=True):
            self._complete(node, (value,), False)
        return self._drain()

    def done(self, ready: Ready, outputs: Sequence[Any] | Token) -> list[Ready]:
        """A node has run and gave these outputs, all in order, or `DEAD`; returns what may run."""
        try:
            self._running.remove(ready)
        except KeyError:
            raise InternalError(f"{self.plan.name(ready.node)}: done without running") from None
        if self._cancelled:
            return []
        node = ready.node
        n_outputs = self._table.n_outputs[node]
        if outputs is DEAD:
            self._complete(node, (DEAD,) * n_outputs, True)
        elif len(outputs) == n_outputs:  # type: ignore[arg-type]
            self._complete(node, outputs, False)  # type: ignore[arg-type]
        else:
            name, came = self.plan.name(node), len(outputs)  # type: ignore[arg-type]
            raise InternalError(f"{name} gave {came} outputs, its plan says {n_outputs}")
        return self._drain()

    def cancel(self) -> None:
        """Schedule nothing any more: `done` only takes note."""
        self._cancelled = True

    def close(self) -> None:
        """Drop all values of a step that is over."""
        self._cancelled = True
        self._running.clear()
        self._inputs.clear()
        self._results.clear()

    def __contains__(self, ready: Ready) -> bool:
        """Was the node handed out, and is not done?"""
        return ready in self._running

    def results(self) -> list[Any]:
        """Value per fetch of the plan, `DEAD` for one that has none. Only when finished."""
        if not self.finished:
            raise InternalError("the step has not finished:\n" + self.explain())
        return list(self._results)

    # ---- firing ----------------------------------------------------------------------------

    def _drain(self) -> list[Ready]:
        """Fire what needs no kernel until only nodes that do are left."""
        ready: list[Ready] = []
        if self._work:
            table, dead, values = self._table, self._dead, self._inputs
            for n in self._work:  # grows while it is walked
                begin, end = table.spans[n]
                inputs = tuple(values[begin:end])
                values[begin:end] = [EMPTY] * (end - begin)  # a buffer is free as soon as its last reader is done
                kind, is_dead = table.kinds[n], n in dead
                if kind <= _LAST_EXTERNAL and (not is_dead or kind >= _SEND):
                    ready.append(Ready(n, inputs, is_dead))
                else:
                    self._complete(n, (DEAD,) * table.n_outputs[n], is_dead)
            self._work.clear()
            self._running.update(ready)
        self.finished = not self._left
        if not (ready or self._running or self.finished):
            raise InternalError("the step is stuck:\n" + self.explain())
        return ready

    def _complete(self, n: int, outputs: Sequence[Any], is_dead: bool) -> None:
        """Put the outputs on the out-edges, and take note that the node has fired."""
        table, counts = self._table, self._counts
        for slot, target, position in table.data_out[n]:
            value = self._inputs[position] = outputs[slot]
            if value is DEAD:
                self._dead.add(target)
            counts[target] = count = counts[target] - 1
            if not count:
                self._work.append(target)
        for target in table.control_out[n]:
            if is_dead:
                self._dead.add(target)
            counts[target] = count = counts[target] - 1
            if not count:
                self._work.append(target)
        for slot, position in table.fetch_out[n]:
            self._results[position] = outputs[slot]
        self._left -= 1

    # ---- what waits for what ---------------------------------------------------------------

    def waiting(self) -> list[Waiting]:
        """Every node that has not fired, with the inputs it still lacks."""
        return [Waiting(n, "", self._missing(n)) for n, count in enumerate(self._counts) if count > 0]

    def _missing(self, n: int) -> tuple[Missing, ...]:
        node = self.plan.nodes[n]
        busy = {r.node for r in self._running}
        edges = [*(Missing(*edge) for edge in node.inputs), *(Missing(source, CONTROL) for source in node.control)]
        return tuple(m for m in edges if self._counts[m.source] > 0 or m.source in busy)

    def explain(self, limit: int = 20) -> str:
        """For errors and deadlock reports: what runs, then what waits for which inputs."""
        return describe(self.plan, self.waiting(), self._running, limit)
