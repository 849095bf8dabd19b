"""The propagator: a state machine that decides which nodes of a plan may run.

It implements OSDI'16 section 3.4 and white paper 4.4. Tokens have a tag (frame, iteration). Dead tokens flow
down the branches that are not taken. Loops consist of Enter, Merge, Switch, NextIteration and Exit. The events
`start` and `done` return the nodes that may run next. The propagator uses no threads, locks, clocks or devices,
and serves one caller at a time. Invariant: in every iteration every node of its frame fires exactly once, live or
dead. An iteration is freed when all its nodes have fired, the iteration before it was freed, and all Enters of its
frame have arrived.
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

    `truth` converts the predicate of a Switch to a bool, and `index_value` creates the value_index of a
    Merge; all other values are opaque. The caller runs the nodes that `start` and each `done` return, until
    `finished`. If `truth` raises, `start` or `done` raises its error, and `failed_node` is the Switch.
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
        self._work: list[tuple[Iteration, int]] = []  # nodes that have all inputs and have not fired
        self._root: Frame | None = None
        self._cancelled = False
        self.finished = False
        self.failed_node = -1

    # ---- events ----------------------------------------------------------------------------

    def start(self, feeds: Sequence[Any] = ()) -> list[Ready]:
        """Begins the step with a value for each FEED node of the plan; returns the nodes that may run."""
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
        """Takes the outputs of a node that has run, in order, or `DEAD`; returns the nodes that may run now.

        Raises `InternalError` for a node that is not running and for a wrong number of outputs.
        """
        try:
            self._running.remove(ready)
        except KeyError:
            raise InternalError(f"{self.plan.name(ready.node)}: done without running") from None
        if self._cancelled:
            return []
        iteration, n = ready.owner, ready.place
        assert iteration is not None  # `_drain` created it
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
        """Stops the run: from now on `done` returns no nodes, and a loop in progress stops."""
        self._cancelled = True

    def close(self) -> None:
        """Drops all values and the function `truth` of a step that is over.

        This breaks the reference cycles of frames and iterations, and of `truth`, which may refer to this propagator.
        """
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
        """Returns whether the node was returned to run and is not done."""
        return ready in self._running

    @property
    def running(self) -> int:
        """The number of nodes that were returned to run and are not done."""
        return len(self._running)

    def results(self) -> list[Any]:
        """The values of the plan's fetches, `DEAD` for a fetch on a branch that was not taken.

        Raises `InternalError` if the step has not finished.
        """
        if not self.finished:
            raise InternalError("the step has not finished:\n" + self.explain())
        return list(self._results)

    # ---- the loop --------------------------------------------------------------------------

    def _drain(self) -> list[Ready]:
        """Fires all nodes that need no kernel; returns the nodes with kernels that may run now."""
        work, running = self._work, self._running
        ready: list[Ready] = []
        while work:
            iteration, n = work.pop()
            table = iteration.table
            begin, end = table.spans[n]
            kind = table.kinds[n]
            inputs = iteration.inputs[begin:end]
            # Removed from the iteration, so that a buffer is free as soon as its last reader is done.
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
        """Delivers outputs within the iteration and counts the node as fired."""
        self._deliver(iteration.table, n, outputs, is_dead, iteration)
        iteration.left -= 1
        if not iteration.left:
            self._retire(iteration.frame)

    def _deliver(self, table: FrameTable, n: int, outputs: Sequence[Any], is_dead: bool, to: Iteration) -> None:
        """Delivers the outputs of node `n` of `table` along its out-edges, which end in iteration `to`."""
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
        """Implements the rule of a Merge when one of its inputs arrives.

        The first live input decides the Merge. The Merge is dead if all inputs that can arrive in this
        iteration are dead. In iteration 0 of a loop these are the inputs from Enters, in later iterations
        those from NextIterations. Inputs that arrive after the decision are ignored. Control inputs delay a
        Merge, but never make it dead.
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
        """Fires a LOOP_COND, a NO_OP, or any dead node: the inputs become the outputs."""
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
            is_true = self._truth(predicate)
        except Exception:
            self.failed_node = at.table.nodes[n]
            raise
        self._complete(at, n, (DEAD, value) if is_true else (value, DEAD), False)

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
            next_iteration = frame.iterations[at.number + 1]
            self._deliver(at.table, n, (value,), is_dead, next_iteration)
        else:
            # A dead value starts no iteration; it is delivered only if a live value starts one.
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
        """Starts the next iteration if a live value waits for it and the limit of parallel iterations allows it."""
        if not frame.wants_next or len(frame.iterations) >= frame.table.parallel_iterations:
            return
        frame.newest += 1
        iteration = frame.iterations[frame.newest] = Iteration(frame, frame.newest)
        next_values, frame.held, frame.wants_next = frame.held, [], False
        for n, value in next_values:
            self._deliver(frame.table, n, (value,), value is DEAD, iteration)
        assert frame.outer is not None
        for n, value in frame.invariants:
            self._deliver(frame.outer.table, n, (value,), value is DEAD, iteration)

    def _retire(self, frame: Frame) -> None:
        """Frees the finished iterations of a frame, oldest first, and ends the frame after the last one."""
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
        """Ends a frame after its last iteration.

        Exits through which no value has left the loop are dead. This is known only now.
        """
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
        """All nodes that have not fired, each with its missing inputs. Nodes of outer frames come first."""
        return list_waiting(self.plan, self._root, self._running)

    def explain(self, limit: int = 20) -> str:
        """A text for errors and deadlock reports: running nodes, then waiting nodes with their missing inputs."""
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
