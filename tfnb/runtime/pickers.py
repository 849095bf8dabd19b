"""The two ways in which a step chooses the next node to run (OSDI'16, sections 3.3, 3.4).

`StaticPicker` follows the static order of a part in which nothing is decided at run time. `DynamicPicker` uses the
propagator. Everything else, such as running a node and ending a step, is the same for both and is in `runtime/step.py`.
Invariant: every node either runs or is dead exactly once (in a loop, once in each iteration).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn, Protocol

from tfnb.errors import InternalError, InvalidArgumentError
from tfnb.runtime.cancel import Cancellation, raise_stopped
from tfnb.runtime.cluster_kernel import ClusterKernel
from tfnb.runtime.frames import DEAD, Ready, Token
from tfnb.runtime.part import PlanPart
from tfnb.runtime.plan import CONTROL, PlanKind
from tfnb.runtime.program import ProgramPart
from tfnb.runtime.propagate import Propagator
from tfnb.runtime.static_order import Stage, StaticOrder
from tfnb.runtime.stats import SCHEDULE, StepStats
from tfnb.runtime.values import Value, index_value
from tfnb.runtime.waiting import Missing, Waiting, describe
from tfnb.system.interrupts import noted

__all__ = ["DynamicPicker", "Picker", "StaticPicker", "make_picker", "run_stages"]

_SEND, _RECV = int(PlanKind.SEND), int(PlanKind.RECV)
Outputs = Sequence[Value] | Token
"""The outputs of a node, or `DEAD`."""


class Runner(Protocol):
    """The interface of a step for the pickers.

    A picker must call `check` before each node if `has_deadline`, and whenever `cancellation` has an error or a signal
    is noted.
    """

    recorder: StepStats | None
    cancellation: Cancellation
    has_deadline: bool

    def check(self) -> None:
        """Raises if the step must stop."""

    def truth(self, value: Value) -> bool:
        """The predicate of a Switch as a bool. Raises if the step must stop."""

    def start(self, picker: Picker, ready: Ready, is_last: bool) -> Outputs | None:
        """Runs or starts a node that is not in `ProgramPart.runs`.

        Returns its outputs, or None if it finishes later.
        """

    def send(self, part: ProgramPart, node: int, inputs: Sequence[Value], is_dead: bool, tag: str) -> None:
        """Runs the Send `node` of `part`."""

    def receive(self, picker: Picker, recvs: Sequence[Ready]) -> None:
        """Starts these Recvs."""


class Picker(Protocol):
    """One run of a part: it chooses the nodes and has their values."""

    part: ProgramPart

    @property
    def finished(self) -> bool:
        """Whether every node has run."""

    def start(self, feeds: Sequence[Value], step: Runner) -> None:
        """Begins the run. `feeds` are the values of all feeds of the step."""

    def advance(self, step: Runner) -> None:
        """Runs all nodes that may run now, and all nodes that may run after them."""

    def deliver(self, ready: Ready, outputs: Outputs) -> bool:
        """Takes the outputs of a node that has finished later; returns whether `advance` should be called."""

    @property
    def has_ready(self) -> bool:
        """Whether there is a node that may run now."""

    def __contains__(self, ready: Ready) -> bool:
        """Returns whether this node has been started and has not finished."""

    def results(self) -> Sequence[Value]:
        """The values of the plan's fetches, in order. Raises `InvalidArgumentError` for a dead one."""

    def explain(self) -> str:
        """A text with the nodes that run, and the nodes that wait with their missing inputs."""

    def cancel(self) -> None:
        """Stops the run: no further node starts."""

    def close(self) -> None:
        """Drops all values."""


def make_picker(part: ProgramPart, step: Runner) -> Picker:
    """Creates the picker for a part: a `StaticPicker` if the part has a static order, otherwise a `DynamicPicker`."""
    return DynamicPicker(part, step) if part.order is None else StaticPicker(part, part.order)


def _live(part: PlanPart, results: Sequence[Value | Token]) -> list[Value]:
    """The values of the part's fetches. Raises `InvalidArgumentError` if one is dead.

    A variable that is fetched is an output of the last cluster that uses it, but has its value without that cluster.
    """
    values: list[Value] = []
    for (node, slot), value in zip(part.plan.fetches, results, strict=True):
        if isinstance(value, Token):
            kernel = part.payloads[node]
            kept = kernel.stored(slot) if isinstance(kernel, ClusterKernel) else None
            if kept is not None:
                values.append(kept)
                continue
            raise InvalidArgumentError(
                f"The tensor returned for {part.plan.name(node)}:{slot} was not valid (Retval[0] does not have value): "
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
    other: Callable[[int], None] | None = None,
    all_other: bool = False,
) -> None:
    """Runs nodes one after the other. `values` are the values of the registers, which this function changes.

    `other` runs the nodes whose stage has no `run`. With `all_other`, it runs all nodes.
    """
    for node, run, pick, begin, end, free in stages:
        if cancellation.error is not None or noted:
            raise_stopped(cancellation)
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
        self._has_dead = False  # whether a dead value has come
        self._dead: set[int] = set()  # the nodes that are dead because of it
        self._ready = [0]  # segments in the order in which they may run; those that have run stay in the list
        self._n_run = 0
        self._last = -1  # the last node of the segment that runs
        self._pending = list(order.pending)  # by segment: the number of nodes and segments for which it still waits
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
                run_stages(self.part, segment.stages, values, step.recorder, step.cancellation, other, careful)
            self._n_run += 1
            if segment.opens:
                self._open(segment.opens)

    def _run_other(self, step: Runner, node: int) -> None:
        """Runs a node that may be dead, that has a deadline, or that needs more than a call of its kernel."""
        part, is_dead = self.part, node in self._dead
        kind, run = part.kinds[node], part.runs[node]
        inputs = self._order.inputs[node](self._values)
        if step.has_deadline:
            step.check()
        if kind == _SEND:
            step.send(part, node, inputs, is_dead, "")
            return
        if is_dead and kind != _RECV:  # the nodes that depend on it are in `_dead` already
            begin, end = self._order.ranges[node]
            self._values[begin:end] = [DEAD] * (end - begin)
            self._open(self._order.opens.get(node, ()))
            return
        ready = Ready(node, tuple(inputs), is_dead)
        self._running.add(ready)
        outputs: Outputs | None
        if run is not None:
            try:
                outputs = run(inputs, step.recorder)
            except Exception as e:
                part.fail(node, e)
        else:
            outputs = step.start(self, ready, node == self._last and self._n_run + 1 == len(self._ready))
        if outputs is not None:
            self.deliver(ready, outputs)

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
        """Counts for each of these segments one event for which it has waited."""
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
        values = self._order.pick_fetches(self._values)
        return _live(self.part.part, values) if self._has_dead else values

    def waiting(self) -> list[Waiting]:
        """All nodes that have not run, each with its missing inputs."""
        plan, done = self.part.plan, set(self._ready[: self._n_run])
        running = {ready.node for ready in self._running}
        fired = {n for n, i in enumerate(self._order.segment_of) if i in done and n not in running}
        fired.update(plan.feeds)
        report = []
        for n, node in enumerate(plan.nodes):
            edges = [*(Missing(*edge) for edge in node.inputs), *(Missing(source, CONTROL) for source in node.control)]
            missing = tuple(m for m in edges if m.source not in fired)
            if n not in fired and missing:
                report.append(Waiting(n, "", missing))
        return report

    def explain(self) -> str:
        return describe(self.part.plan, self.waiting(), self._running, 20)

    def cancel(self) -> None:
        self._ready.clear()

    def close(self) -> None:
        self._values.clear()


class DynamicPicker:
    """Runs the nodes that the propagator returns."""

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
        recorder, cancellation, has_deadline = step.recorder, step.cancellation, step.has_deadline
        outputs: Outputs | None
        while ready:
            if cancellation.error is not None or noted or has_deadline:
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
        """Calls the propagator's `done` and records its duration."""
        recorder = self._recorder
        assert recorder is not None
        start = recorder.now_us()
        next_nodes = self._propagator.done(ready, outputs)
        recorder.span(SCHEDULE, "propagator", start, detail=f"after {self.part.plan.name(ready.node)}")
        return next_nodes

    def _blame(self, error: Exception) -> NoReturn:
        """Raises an error of the propagator. If the predicate of a Switch has failed, the error names the Switch.

        Must be called inside the `except` block that caught the error.
        """
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
