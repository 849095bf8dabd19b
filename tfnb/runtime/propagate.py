"""The executor's brain: a pure state machine that decides which nodes may run.

Implements OSDI'16 section 3.4 and white paper 4.4: tokens carry a tag (frame, iteration), dead ones
flow down the untaken branches, loops are Enter, Merge, Switch, NextIteration and Exit. Events in
(`start`, `done`), nodes that may run out. No threads, locks, clock, devices: one caller at a time.
Invariant: in every iteration every node of its frame fires exactly once, live or dead; an iteration
with none left, whose predecessor is gone and whose frame got all its Enters, is freed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tfnb.errors import InternalError
from tfnb.runtime.frames import DEAD, EMPTY, Frame, Iteration, Ready, Token
from tfnb.runtime.plan import LAST_EXTERNAL, ROOT, FrameTable, Plan, PlanKind
from tfnb.runtime.waiting import Waiting, describe, list_waiting

__all__ = ["DEAD", "Propagator", "Ready", "Waiting"]

_LAST_EXTERNAL = int(LAST_EXTERNAL)
_SEND = int(PlanKind.SEND)


class Propagator:
    """One run of a plan.

    `truth` reads a Switch's predicate, `index_value` makes a Merge's value_index; all other values
    are opaque. Use: hand what `start` and each `done` return to kernels, until `finished`. When
    `truth` raises, its error comes out of `start` or `done` and `failed_node` is that Switch.
    """

    def __init__(
        self,
        plan: Plan,
        truth: Callable[[Any], bool] = bool,
        index_value: Callable[[int], Any] = int,
    ) -> None:
        self.plan = plan
        self._truth = truth
        self._index_value = index_value
        self._results: list[Any] = [EMPTY] * len(plan.fetches)
        self._running: set[Ready] = set()
        self._work: list[tuple[Iteration, int]] = []  # nodes that have all inputs, not yet fired
        self._root: Frame | None = None
        self._cancelled = False
        self.finished = False
        self.failed_node = -1

    # ---- events ----------------------------------------------------------------------------

    def start(self, feeds: Sequence[Any] = ()) -> list[Ready]:
        """Begin the step with a value per FEED node of the plan; returns what may run."""
        if self._root is not None:
            raise InternalError("a propagator runs one step: start was called twice")
        if len(feeds) != len(self.plan.feeds):
            raise InternalError(f"{len(feeds)} feeds came, the plan has {len(self.plan.feeds)}")
        table = self.plan.frames[ROOT]
        self._root = Frame(table, None)
        iteration = self._root.iterations[0]
        self._work.extend((iteration, n) for n in reversed(table.roots))
        for node, value in zip(self.plan.feeds, feeds, strict=True):
            self._complete(iteration, self.plan.place[node][1], (value,), False)
        if not iteration.left:  # a plan without nodes
            self._retire(self._root)
        return self._drain()

    def done(self, ready: Ready, outputs: Sequence[Any] | Token) -> list[Ready]:
        """A node has run and gave these outputs, all in order, or `DEAD`; returns what may run."""
        try:
            self._running.remove(ready)
        except KeyError:
            raise InternalError(f"{self.plan.name(ready.node)}: done without running") from None
        if self._cancelled:
            return []
        iteration, n = ready.owner, ready.place
        assert iteration is not None  # it was handed out here
        n_outputs = iteration.table.n_outputs[n]
        if outputs is DEAD:
            self._complete(iteration, n, (DEAD,) * n_outputs, True)
        elif len(outputs) == n_outputs:  # type: ignore[arg-type]
            self._complete(iteration, n, outputs, False)  # type: ignore[arg-type]
        else:
            raise InternalError(
                f"{self.plan.name(ready.node)} gave {len(outputs)} outputs, "  # type: ignore[arg-type]
                f"its plan says {n_outputs}"
            )
        return self._drain() if self._work or not self._running else []

    def cancel(self) -> None:
        """Schedule nothing any more: `done` only takes note, a loop in progress stops."""
        self._cancelled = True

    def close(self) -> None:
        """Drop all values of a step that is over, and what it calls: frames and iterations are a cycle, and whoever
        decides what is true may hold this."""
        frames = [self._root] if self._root is not None else []
        for frame in frames:  # grows while it is walked
            for iteration in frame.iterations.values():
                frames.extend(iteration.children.values())
                iteration.children.clear()
                iteration.inputs.clear()
            frame.iterations.clear()
        self._cancelled = True
        self._work.clear()
        self._running.clear()
        self._results.clear()
        self._truth = bool

    def __contains__(self, ready: Ready) -> bool:
        """Was the node handed out, and is not done?"""
        return ready in self._running

    @property
    def running(self) -> int:
        """How many nodes were handed out and are not done."""
        return len(self._running)

    def results(self) -> list[Any]:
        """Value per fetch of the plan, `DEAD` for one on an untaken branch. Only when finished."""
        if not self.finished:
            raise InternalError("the step has not finished:\n" + self.explain())
        return list(self._results)

    # ---- the loop --------------------------------------------------------------------------

    def _drain(self) -> list[Ready]:
        """Fire what needs no kernel until only nodes that do are left."""
        work, running = self._work, self._running
        ready: list[Ready] = []
        while work:
            iteration, n = work.pop()
            table = iteration.table
            begin, end = table.spans[n]
            kind = table.kinds[n]
            inputs = iteration.inputs[begin:end]
            # Not kept in the iteration: a buffer is free as soon as its last reader is done.
            iteration.inputs[begin:end] = [EMPTY] * (end - begin)
            is_dead = n in iteration.dead
            if kind <= _LAST_EXTERNAL and (not is_dead or kind >= _SEND):
                item = Ready(table.nodes[n], tuple(inputs), is_dead, iteration, n)
                running.add(item)
                ready.append(item)
            elif self._cancelled:
                work.clear()
            else:
                _FIRE[kind](self, iteration, n, inputs, is_dead)
        if not (ready or running or self.finished or self._cancelled):
            raise InternalError("the step is stuck:\n" + self.explain())
        return ready

    def _complete(self, iteration: Iteration, n: int, outputs: Sequence[Any], is_dead: bool) -> None:
        """Deliver within the iteration and take note that the node has fired."""
        self._deliver(iteration.table, n, outputs, is_dead, iteration)
        iteration.left -= 1
        if not iteration.left:
            self._retire(iteration.frame)

    def _deliver(self, table: FrameTable, n: int, outputs: Sequence[Any], is_dead: bool, to: Iteration) -> None:
        """Put the outputs of node `n` of `table` on its out-edges, which end in iteration `to`."""
        counts = to.counts
        for slot, target, position in table.data_out[n]:
            value = to.inputs[position] = outputs[slot]
            if value is DEAD:
                to.dead.add(target)
            counts[target] = count = counts[target] - 1
            if not count:
                self._work.append((to, target))
        for target in table.control_out[n]:
            if is_dead:
                to.dead.add(target)
            counts[target] = count = counts[target] - 1
            if not count:
                self._work.append((to, target))
        for slot, target, position in table.merge_out[n]:
            self._arrive_at_merge(to, target, position, outputs[slot])
        for slot, position in table.fetch_out[n]:
            self._results[position] = outputs[slot]

    def _arrive_at_merge(self, to: Iteration, merge: int, position: int, value: object) -> None:
        """The merge rule, here and nowhere else.

        The first live input decides; the Merge is dead when all inputs that this iteration can have
        are: in iteration 0 of a loop those from Enters, later those from NextIterations. What comes
        after the decision is ignored. Control inputs delay a Merge, but never make it dead.
        """
        table, counts = to.table, to.counts
        arrivals = table.arrivals[merge]
        if not counts[arrivals]:
            return
        if value is DEAD:
            counts[arrivals] -= 1
            if counts[arrivals]:
                return
            to.inputs[table.spans[merge][0]] = DEAD
        else:
            counts[arrivals] = 0
            to.inputs[table.spans[merge][0]] = (value, position)
        counts[merge] -= 1
        if not counts[merge]:
            self._work.append((to, merge))

    # ---- nodes that need no kernel ---------------------------------------------------------

    def _fire_as_it_is(self, at: Iteration, n: int, inputs: list[Any], is_dead: bool) -> None:
        """LOOP_COND, NO_OP, and whatever is dead."""
        if is_dead:
            inputs = [DEAD] * at.table.n_outputs[n]
        self._complete(at, n, inputs, is_dead)

    def _fire_trigger(self, at: Iteration, n: int, inputs: list[Any], is_dead: bool) -> None:
        self._complete(at, n, (), False)

    def _fire_switch(self, at: Iteration, n: int, inputs: list[Any], is_dead: bool) -> None:
        if is_dead:
            self._complete(at, n, (DEAD, DEAD), True)
            return
        value, predicate = inputs
        try:
            taken = self._truth(predicate)
        except Exception:
            self.failed_node = at.table.nodes[n]
            raise
        self._complete(at, n, (DEAD, value) if taken else (value, DEAD), False)

    def _fire_merge(self, at: Iteration, n: int, inputs: list[Any], is_dead: bool) -> None:
        choice = inputs[0]
        if choice is DEAD:
            self._complete(at, n, (DEAD, DEAD), True)
            return
        value, position = choice
        index = self._index_value(position) if at.table.index_used[n] else None
        self._complete(at, n, (value, index), False)

    def _fire_enter(self, at: Iteration, n: int, inputs: list[Any], is_dead: bool) -> None:
        table = at.table
        child = table.child[n]
        frame = at.children.get(child)
        if frame is None:
            frame = at.children[child] = Frame(self.plan.frames[child], at)
        value = DEAD if is_dead else inputs[0]
        if table.is_constant[n]:
            frame.invariants.append((n, value))
            for iteration in frame.iterations.values():
                self._deliver(table, n, (value,), is_dead, iteration)
        else:
            self._deliver(table, n, (value,), is_dead, frame.iterations[0])
        frame.enters_left -= 1
        if not frame.enters_left:
            self._retire(frame)
        at.left -= 1
        if not at.left:
            self._retire(at.frame)

    def _fire_next_iteration(self, at: Iteration, n: int, inputs: list[Any], is_dead: bool) -> None:
        frame = at.frame
        value = DEAD if is_dead else inputs[0]
        if at.number < frame.newest:
            following = frame.iterations[at.number + 1]
            self._deliver(at.table, n, (value,), is_dead, following)
        else:
            # A dead one starts nothing; it counts only if a live one starts the iteration.
            frame.held.append((n, value))
            if not is_dead:
                frame.wants_next = True
                self._start_iteration(frame)
        at.left -= 1
        if not at.left:
            self._retire(frame)

    def _fire_exit(self, at: Iteration, n: int, inputs: list[Any], is_dead: bool) -> None:
        frame = at.frame
        if not is_dead:
            if n in frame.exited:
                name = self.plan.name(at.table.nodes[n])
                raise InternalError(
                    f"Exit '{name}' let a value out of frame '{at.table.name}' twice, the second "
                    f"time in iteration {at.number}: no Switch of the loop's condition guards it"
                )
            frame.exited.add(n)
            assert frame.outer is not None
            self._deliver(at.table, n, inputs, False, frame.outer)
        at.left -= 1
        if not at.left:
            self._retire(frame)

    # ---- frames and iterations -------------------------------------------------------------

    def _start_iteration(self, frame: Frame) -> None:
        """Start the next iteration if a live value wants it and the limit leaves room."""
        if not frame.wants_next or len(frame.iterations) >= frame.table.parallel_iterations:
            return
        frame.newest += 1
        new = frame.iterations[frame.newest] = Iteration(frame, frame.newest)
        held, frame.held, frame.wants_next = frame.held, [], False
        for n, value in held:
            self._deliver(frame.table, n, (value,), value is DEAD, new)
        assert frame.outer is not None
        for n, value in frame.invariants:
            self._deliver(frame.outer.table, n, (value,), value is DEAD, new)

    def _retire(self, frame: Frame) -> None:
        """Free the frame's finished iterations, oldest first, and the frame after its last."""
        iterations = frame.iterations
        while iterations and not frame.enters_left:
            oldest = next(iter(iterations))
            if iterations[oldest].left:
                return
            del iterations[oldest]
            self._start_iteration(frame)
        if not iterations and not frame.enters_left:
            self._end_frame(frame)

    def _end_frame(self, frame: Frame) -> None:
        """The last iteration is over: only now is an Exit that let nothing out known to be dead."""
        outer = frame.outer
        if outer is None:
            self.finished = True
            return
        for n in frame.table.exits:
            if n not in frame.exited:
                self._deliver(frame.table, n, (DEAD,), True, outer)
        del outer.children[frame.table.index]
        outer.closed.add(frame.table.index)
        outer.left -= 1
        if not outer.left:
            self._retire(outer.frame)

    # ---- what waits for what ---------------------------------------------------------------

    def waiting(self) -> list[Waiting]:
        """Every node that has not fired, outer frames first, with the inputs it still lacks."""
        return list_waiting(self.plan, self._root, self._running)

    def explain(self, limit: int = 20) -> str:
        """For errors and deadlock reports: what runs, then what waits for which inputs."""
        return describe(self.plan, self.waiting(), self._running, limit)


_FIRE: Final = tuple(
    {
        PlanKind.MERGE: Propagator._fire_merge,
        PlanKind.SWITCH: Propagator._fire_switch,
        PlanKind.ENTER: Propagator._fire_enter,
        PlanKind.EXIT: Propagator._fire_exit,
        PlanKind.NEXT_ITERATION: Propagator._fire_next_iteration,
        PlanKind.CONTROL_TRIGGER: Propagator._fire_trigger,
    }.get(kind, Propagator._fire_as_it_is)
    for kind in PlanKind
)
