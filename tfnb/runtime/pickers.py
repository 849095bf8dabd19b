"""The two ways in which a step finds the next node to run, and nothing else of a step (OSDI'16, sections 3.3, 3.4).

`StaticPicker` follows the static order of a part in which nothing is decided at run time; `DynamicPicker` asks the
propagator. What a node does, and all that may end a step, is the same for both and is in `runtime/step.py`.
Invariant: every node runs or is dead exactly once (in a loop: once in each iteration).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn, Protocol

from tfnb.errors import InternalError, InvalidArgumentError
from tfnb.runtime.cancel import Cancellation, raise_stopped
from tfnb.runtime.frames import DEAD, Ready, Token
from tfnb.runtime.part import PlanPart
from tfnb.runtime.plan import CONTROL, PlanKind
from tfnb.runtime.program import ProgramPart
from tfnb.runtime.propagate import Propagator
from tfnb.runtime.static_order import Stage, StaticOrder
from tfnb.runtime.stats import SCHEDULE, StepStats
from tfnb.runtime.values import Value, index_value
from tfnb.runtime.waiting import Missing, Waiting, describe
from tfnb.system.interrupts import HeldInterrupts

__all__ = ["DynamicPicker", "Picker", "StaticPicker", "make_picker", "run_stages"]

_SEND, _RECV = int(PlanKind.SEND), int(PlanKind.RECV)
Outputs = Sequence[Value] | Token
"""The outputs of a node, or `DEAD`."""


class Runner(Protocol):
    """The step, as the pickers see it. `check` has to be called before each node if `has_deadline`, and when one of
    `cancellation` and `held` has an error."""

    recorder: StepStats | None
    cancellation: Cancellation
    held: HeldInterrupts
    has_deadline: bool

    def check(self) -> None:
        """Raises when the step shall stop."""

    def truth(self, value: Value) -> bool:
        """What a Switch sees in its predicate. Raises when the step shall stop."""

    def start(self, picker: Picker, ready: Ready, is_last: bool) -> Outputs | None:
        """Runs or starts a node that is not in `ProgramPart.runs`; None if it finishes later."""

    def send(self, part: ProgramPart, node: int, inputs: Sequence[Value], is_dead: bool, tag: str) -> None:
        """Runs a Send."""

    def receive(self, picker: Picker, recvs: Sequence[Ready]) -> None:
        """Starts Recvs."""


class Picker(Protocol):
    """One run of a part."""

    part: ProgramPart

    @property
    def finished(self) -> bool:
        """Has every node run?"""

    def start(self, feeds: Sequence[Value], step: Runner) -> None:
        """Begins the run; `feeds` are those of the step."""

    def advance(self, step: Runner) -> None:
        """Runs all nodes that may run now, and those that may run because of them."""

    def deliver(self, ready: Ready, outputs: Outputs) -> bool:
        """A node that finished later has these outputs; returns whether `advance` should be called."""

    @property
    def has_ready(self) -> bool:
        """Is there a node that may run now?"""

    def __contains__(self, ready: Ready) -> bool:
        """Has this node been started, and not finished?"""

    def results(self) -> Sequence[Value]:
        """The fetches of the plan, in its order. Raises `InvalidArgumentError` for one that is dead."""

    def explain(self) -> str:
        """Who waits for what."""

    def cancel(self) -> None:
        """Lets no further node run."""

    def close(self) -> None:
        """Drops all values."""


def make_picker(part: ProgramPart, step: Runner) -> Picker:
    return DynamicPicker(part, step) if part.order is None else StaticPicker(part, part.order)


def _live(part: PlanPart, results: Sequence[Value | Token]) -> list[Value]:
    values: list[Value] = []
    for (node, slot), value in zip(part.plan.fetches, results, strict=True):
        if isinstance(value, Token):
            raise InvalidArgumentError(
                f"output {slot} of '{part.plan.name(node)}' has no value: it is on a branch that was not taken",
                part.node(node),
            )
        values.append(value)
    return values


def run_stages(
    part: ProgramPart,
    stages: Sequence[Stage],
    values: list[Any],
    recorder: StepStats | None,
    cancellation: Cancellation,
    held: HeldInterrupts,
    other: Callable[[int], None] | None = None,
    all_other: bool = False,
) -> None:
    """Runs nodes one after the other; `values` are those of the registers.

    `other` runs the nodes whose stage has no `run`; with `all_other`, all nodes.
    """
    for node, run, pick, begin, end, free in stages:
        if cancellation.error is not None or held.error is not None:
            raise_stopped(cancellation, held)
        if run is None or all_other:
            assert other is not None
            other(node)
        else:
            try:
                outputs = run(pick(values), recorder)
            except Exception as e:
                part.fail(node, e)
            if len(outputs) != end - begin:
                part.refuse(node, outputs)
            values[begin:end] = outputs
        for register in free:
            values[register] = None


class StaticPicker:
    """Runs the segments of a static order."""

    def __init__(self, part: ProgramPart, order: StaticOrder) -> None:
        self.part, self._order = part, order
        self._values: list[Any] = []  # of the registers
        self._has_dead = False  # has a dead value come?
        self._dead: set[int] = set()  # the nodes behind dead values
        self._ready = [0]  # segments, in the order in which they may run; those that have run stay
        self._n_run = 0
        self._last = -1  # the last node of the segment that runs
        self._pending = list(order.pending)  # by segment: what it waits for and is not there
        self._running: set[Ready] = set()  # nodes that were started and finish later

    @property
    def finished(self) -> bool:
        return self._n_run == len(self._order.segments) and not self._running

    def start(self, feeds: Sequence[Value], step: Runner) -> None:
        self._values = [*self.part.own_feeds(feeds), *self._order.blank]
        recvs = self._order.first_recvs
        if recvs:
            self._running.update(recvs)
            step.receive(self, recvs)

    def advance(self, step: Runner) -> None:
        values, segments = self._values, self._order.segments
        careful = step.has_deadline or self._has_dead
        other = partial(self._run_other, step)
        while self._n_run < len(self._ready):
            segment = segments[self._ready[self._n_run]]
            for register in segment.free:
                values[register] = None
            if segment.stages:
                self._last = segment.stages[-1].node
                run_stages(
                    self.part, segment.stages, values, step.recorder, step.cancellation, step.held, other, careful
                )
            self._n_run += 1
            if segment.opens:
                self._open(segment.opens)

    def _run_other(self, step: Runner, node: int) -> None:
        """Runs a node that may be dead, or late, or needs more than a call of its kernel."""
        part, is_dead = self.part, node in self._dead
        kind, run = part.kinds[node], part.runs[node]
        inputs = self._order.inputs[node](self._values)
        if step.has_deadline:
            step.check()
        if kind == _SEND:
            step.send(part, node, inputs, is_dead, "")
            return
        if is_dead and kind != _RECV:  # all behind it is known to be dead already
            begin, end = self._order.ranges[node]
            self._values[begin:end] = [DEAD] * (end - begin)
            self._open(self._order.opens.get(node, ()))
            return
        ready = Ready(node, tuple(inputs), is_dead)
        self._running.add(ready)
        found: Outputs | None
        if run is not None:
            try:
                found = run(inputs, step.recorder)
            except Exception as e:
                part.fail(node, e)
        else:
            found = step.start(self, ready, node == self._last and self._n_run + 1 == len(self._ready))
        if found is not None:
            self.deliver(ready, found)

    def deliver(self, ready: Ready, outputs: Outputs) -> bool:
        node = ready.node
        begin, end = self._order.ranges[node]
        if isinstance(outputs, Token):
            self._has_dead = True
            self._dead |= self._order.behind(node)
            outputs = [DEAD] * (end - begin)  # type: ignore[list-item]  # a register may say that its value is dead
        elif len(outputs) != end - begin:
            self.part.refuse(node, outputs)
        try:
            self._running.remove(ready)
        except KeyError:
            raise InternalError(f"{self.part.plan.name(node)}: done without running") from None
        self._values[begin:end] = outputs
        self._open(self._order.opens.get(node, ()))
        return self._n_run < len(self._ready) or not self._running

    def _open(self, segments: Sequence[int]) -> None:
        """One of what these segments wait for is there."""
        pending = self._pending
        for i in segments:
            pending[i] = count = pending[i] - 1
            if not count:
                self._ready.append(i)

    @property
    def has_ready(self) -> bool:
        return self._n_run < len(self._ready)

    def __contains__(self, ready: Ready) -> bool:
        return ready in self._running

    def results(self) -> Sequence[Value]:
        found = self._order.pick_fetches(self._values)
        return _live(self.part.part, found) if self._has_dead else found

    def waiting(self) -> list[Waiting]:
        """Every node that has not run, with the inputs it still lacks."""
        plan, done = self.part.plan, set(self._ready[: self._n_run])
        running = {ready.node for ready in self._running}
        fired = {n for n, i in enumerate(self._order.segment_of) if i in done and n not in running}
        fired.update(plan.feeds)
        found = []
        for n, node in enumerate(plan.nodes):
            edges = [*(Missing(*edge) for edge in node.inputs), *(Missing(source, CONTROL) for source in node.control)]
            missing = tuple(m for m in edges if m.source not in fired)
            if n not in fired and missing:
                found.append(Waiting(n, "", missing))
        return found

    def explain(self) -> str:
        return describe(self.part.plan, self.waiting(), self._running, 20)

    def cancel(self) -> None:
        self._ready.clear()

    def close(self) -> None:
        self._values.clear()


class DynamicPicker:
    """Runs the nodes that the propagator names."""

    def __init__(self, part: ProgramPart, step: Runner) -> None:
        self.part = part
        self._propagator = Propagator(part.plan, step.truth, index_value)
        self._ready: deque[Ready] = deque()
        self._recorder = step.recorder
        self._done = self._propagator.done if self._recorder is None else self._recorded_done

    @property
    def finished(self) -> bool:
        return self._propagator.finished

    def start(self, feeds: Sequence[Value], step: Runner) -> None:
        try:
            self._ready.extend(self._propagator.start(self.part.own_feeds(feeds)))
        except Exception as e:
            self._blame(e)

    def advance(self, step: Runner) -> None:
        ready, runs, done = self._ready, self.part.runs, self._done
        recorder, cancellation, held, limited = step.recorder, step.cancellation, step.held, step.has_deadline
        outputs: Outputs | None
        while ready:
            if cancellation.error is not None or held.error is not None or limited:
                step.check()
            item = ready.popleft()
            run = runs[item.node]
            if run is not None:
                try:
                    outputs = run(item.inputs, recorder)
                except Exception as e:
                    self.part.fail(item.node, e)
            else:
                outputs = step.start(self, item, not ready)
                if outputs is None:
                    continue
            try:
                ready.extend(done(item, outputs))
            except Exception as e:
                self._blame(e)

    def deliver(self, ready: Ready, outputs: Outputs) -> bool:
        try:
            self._ready.extend(self._done(ready, outputs))
        except Exception as e:
            self._blame(e)
        return bool(self._ready) or self.finished

    def _recorded_done(self, ready: Ready, outputs: Outputs) -> list[Ready]:
        """The propagator's `done`, noting how long it takes."""
        recorder = self._recorder
        assert recorder is not None
        start = recorder.now_us()
        found = self._propagator.done(ready, outputs)
        recorder.span(SCHEDULE, "propagator", start, detail=f"after {self.part.plan.name(ready.node)}")
        return found

    def _blame(self, error: Exception) -> NoReturn:
        """Raises an error of the propagator, inside an `except` block; it names the Switch that could not decide."""
        if self._propagator.failed_node >= 0:
            self.part.fail(self._propagator.failed_node, error)
        raise error

    @property
    def has_ready(self) -> bool:
        return bool(self._ready)

    def __contains__(self, ready: Ready) -> bool:
        return ready in self._propagator

    def results(self) -> Sequence[Value]:
        return _live(self.part.part, self._propagator.results())

    def explain(self) -> str:
        return self._propagator.explain()

    def cancel(self) -> None:
        self._propagator.cancel()

    def close(self) -> None:
        self._propagator.close()
