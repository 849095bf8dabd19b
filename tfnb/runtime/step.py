"""One run of a step: what starts a node, waits for it, records it, and ends the step (OSDI'16, 3.4).

The loop, in the thread that called, owns the run. Which node comes next is asked of a picker for each part
(`runtime/pickers.py`); everything else is here, once: cancellation, interrupts and deadlines, values of other devices
that come late, errors, and the end. Device kernels are enqueued, host kernels run in the loop or, if they may take long
and something else could go on or end the step, in the pool; asynchronous ones put a completion into a queue. A value
from another device that is still being computed is waited for last. Invariant: no thread but those of the pool works
for a step, and none when `run` is over.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from queue import Empty

import numpy as np

from tfnb.devices.buffers import DeviceTensor
from tfnb.errors import CancelledError, DeadlineExceededError, InternalError
from tfnb.runtime.cancel import Cancellation, raise_stopped
from tfnb.runtime.deadline import Deadline, bounded
from tfnb.runtime.deadline import current as current_deadline
from tfnb.runtime.frames import DEAD, Ready
from tfnb.runtime.kernels import StepContext
from tfnb.runtime.pickers import Outputs, Picker, make_picker, run_stages
from tfnb.runtime.plan import PlanKind
from tfnb.runtime.program import ProgramPart, StepProgram
from tfnb.runtime.rendezvous import Callback as ReceiveCallback
from tfnb.runtime.rendezvous import Received, Rendezvous, StepQueue
from tfnb.runtime.stats import WAIT, StepStats
from tfnb.runtime.values import Value, to_host, truth
from tfnb.system.interrupts import HeldInterrupts

__all__ = ["NEVER_HELD", "Step", "run_immediate"]

# Seconds that a step past its deadline, cancelled or interrupted, waits for host kernels that it cannot stop.
_GRACE = 1.0
_POLL = 2e-4  # seconds between looks at a device, when there is a deadline
_HOST, _LOOP = int(PlanKind.HOST), int(PlanKind.LOOP)
_SEND, _RECV = int(PlanKind.SEND), int(PlanKind.RECV)
_NEVER_CANCELLED = Cancellation()
NEVER_HELD = HeldInterrupts()

Completion = tuple[Picker, Ready, "Outputs | Received | None", "BaseException | None"]
"""A node has finished: its outputs, or what a Recv received; or the error."""


class Step:
    """One run of a program; `submit` gives work to the pool."""

    has_deadline = False
    held = NEVER_HELD
    _limit: Deadline | None = None
    _pending = 0  # nodes that were started and have not finished
    _receiving = 0  # Recvs among them
    _inbox: StepQueue[Completion | None]  # what has finished; None wakes the loop, which then looks why

    def __init__(
        self,
        program: StepProgram,
        submit: Callable[[Callable[[], None]], None],
        timeout: float | None,
        recorder: StepStats | None,
        rendezvous: Rendezvous | None,
        cancellation: Cancellation | None,
    ) -> None:
        self.program = program
        self.recorder = recorder
        self.cancellation = cancellation or _NEVER_CANCELLED
        self._submit = submit
        self._rendezvous = rendezvous
        self._context = StepContext(rendezvous, recorder)
        if timeout is not None:
            self.has_deadline = True
            self._limit = current_deadline() or Deadline(timeout)
        if program.waits:
            self._inbox = self._context.rendezvous.inbox()
            self._reasons: dict[Ready, Callable[[], str]] = {}  # why asynchronous kernels wait
            self._coming: deque[tuple[Picker, Ready, DeviceTensor]] = deque()  # received, and still being computed
        self._pickers = [make_picker(part, self) for part in program.parts]

    def run(self, feeds: Sequence[Value]) -> list[np.ndarray]:
        """Runs the step; the values of its fetches. Raises the first error."""
        if not self.program.starts_work:
            return self._run(feeds)  # clusters and control flow leave nothing behind, wherever they are interrupted
        # Ctrl-C is raised by `check`, and in functions of the user's.
        self.held = HeldInterrupts(self._wake if self.program.waits else None)
        with self.held:
            return self._run(feeds)

    def _run(self, feeds: Sequence[Value]) -> list[np.ndarray]:
        waits = self.program.waits
        withdraw = self.cancellation.on_cancel(self._wake) if waits else None
        try:
            if self._limit is None:
                self._loop(feeds)
            else:
                with bounded(self._limit):
                    self._loop(feeds)
            return self._fetch()
        except BaseException as e:
            self._stop(e)
            raise
        finally:
            if withdraw is not None:
                withdraw()
                self.held.wake = None  # which refers to the step
            if self.program.is_dynamic:
                for picker in self._pickers:
                    picker.close()  # the propagator refers to the step

    def _wake(self, error: BaseException | None = None) -> None:
        """Makes the loop, also one that waits, look whether it shall stop; from any thread, or the signal handler."""
        self._inbox.put(None)

    # ---- the loop --------------------------------------------------------------------------

    def _loop(self, feeds: Sequence[Value]) -> None:
        pickers = self._pickers
        for picker in pickers:
            picker.start(feeds, self)
        while True:
            finished = True
            for picker in pickers:
                picker.advance(self)
                finished = finished and picker.finished
            if finished:
                return
            can_go_on = False
            while not can_go_on or (self._pending and not self._inbox.empty()):  # handles together what came together
                picker, ready, outputs = self._next()
                can_go_on |= picker.deliver(ready, outputs)

    def start(self, picker: Picker, ready: Ready, is_last: bool) -> Outputs | None:
        """Runs or starts a node that is not in `ProgramPart.runs`; None if it finishes later.

        `is_last`: the picker knows no other node that may run now.
        """
        part, node = picker.part, ready.node
        kind = part.kinds[node]
        if kind == _RECV:
            self.receive(picker, (ready,))
            return None
        if kind == _SEND:
            self.send(part, node, ready.inputs, ready.is_dead, ready.tag)
            return ()
        try:
            if kind == _LOOP:
                return part.loops[node].run(ready.inputs, self.recorder, self.check)
            if kind == _HOST:
                if is_last and self._is_last() and not self.has_deadline:
                    return part.pooled[node].run(ready.inputs, self.recorder)
                self._submit(lambda: self._in_pool(picker, ready))
            else:
                done = self._finished(picker, ready)
                reason = part.asyncs[node].start(ready.inputs, ready.is_dead, ready.tag, self._context, done)
                if reason is not None:
                    self._reasons[ready] = reason
        except Exception as e:
            part.fail(node, e)
        self._pending += 1
        return None

    def send(self, part: ProgramPart, node: int, inputs: Sequence[Value], is_dead: bool, tag: str) -> None:
        """Runs a Send."""
        try:
            part.sends[node].send(inputs, is_dead, tag, self._context)
        except Exception as e:
            part.fail(node, e)

    def receive(self, picker: Picker, recvs: Sequence[Ready]) -> None:
        """Starts Recvs."""
        kernels, context, put, recorder = picker.part.recvs, self._context, self._inbox.put, self.recorder
        for ready in recvs:
            done: ReceiveCallback = lambda item, error, ready=ready: put((picker, ready, item, error))  # type: ignore[misc]  # noqa: E731
            if recorder is not None:
                done = self._recorded(done, picker, ready, recorder)
            tag = "" if ready.owner is None else ready.tag
            try:
                kernels[ready.node].recv(tag, context, done)
            except Exception as e:
                picker.part.fail(ready.node, e)
            self._pending += 1
            self._receiving += 1

    def _recorded(self, receive: ReceiveCallback, picker: Picker, ready: Ready, recorder: StepStats) -> ReceiveCallback:
        start = recorder.now_us()

        def done(item: Received | None, error: BaseException | None) -> None:
            name, waker = picker.part.plan.name(ready.node), recorder.thread()
            recorder.span(WAIT, name, start, detail="waits for its Send", lane="receive", woken_by=waker)
            receive(item, error)

        return done

    def _is_last(self) -> bool:
        """Does nothing but the node at hand go on? (A Recv goes on only when something else does.)"""
        if self._pending != self._receiving or self._rendezvous is not None:
            return False
        return len(self._pickers) == 1 or not any(picker.has_ready for picker in self._pickers)

    def _in_pool(self, picker: Picker, ready: Ready) -> None:
        try:
            outputs = picker.part.pooled[ready.node].run(ready.inputs, self.recorder)
            self._inbox.put((picker, ready, outputs, None))
        except BaseException as e:
            self._inbox.put((picker, ready, None, e))

    def _finished(self, picker: Picker, ready: Ready) -> Callable[..., None]:
        put = self._inbox.put

        def done(outputs: Sequence[Value] | None, error: BaseException | None = None) -> None:
            put((picker, ready, outputs, error))

        return done

    # ---- waiting ---------------------------------------------------------------------------

    def _next(self) -> tuple[Picker, Ready, Outputs]:
        """Waits until a node has finished."""
        recorder, inbox = self.recorder, self._inbox
        start = recorder.now_us() if recorder is not None else 0.0
        while True:
            if inbox.empty():
                if self._coming:
                    return self._arrived()
                self._prepare_to_wait()
            try:
                completion = inbox.get(timeout=None if self._limit is None else self._limit.left())
            except Empty:
                completion = self._expire()
            # Nodes that were stopped for the same reason may have come with errors of their own.
            if self.cancellation.error is not None or self.held.error is not None:
                raise_stopped(self.cancellation, self.held)
            if completion is None:
                continue
            self._pending -= 1
            picker, ready, outputs, error = completion
            if self._reasons:
                self._reasons.pop(ready, None)
            if error is not None:
                picker.part.fail(ready.node, error)
            found: Outputs | None
            if isinstance(outputs, Received):
                self._receiving -= 1
                if outputs.is_dead:
                    found = DEAD
                else:
                    value = outputs.value
                    if type(value) is not DeviceTensor or value.is_computed:
                        return picker, ready, self._take(picker, ready, value)
                    self._coming.append((picker, ready, value))
                    self._pending += 1  # it has not finished before its value is computed
                    self._receiving += 1
                    continue
            else:
                found = outputs
            if recorder is not None:
                recorder.span(WAIT, f"wait for {picker.part.plan.name(ready.node)}", start)
            if found is None:
                name = picker.part.plan.name(ready.node)
                picker.part.fail(ready.node, InternalError(f"{name} finished with neither outputs nor an error"))
            return picker, ready, found

    def _prepare_to_wait(self) -> None:
        """Lets others have what they may wait for, and refuses to wait for what cannot come."""
        alone = self._rendezvous is None  # nobody else sends to this step
        if self._pending == self._receiving if alone else not self._pending:
            raise InternalError(f"the parts of the step wait for each other:\n{self.explain()}")
        self._context.rendezvous.flush()

    def _arrived(self) -> tuple[Picker, Ready, Outputs]:
        """The first received value that has been computed."""
        coming = self._coming
        found = next((c for c in coming if c[2].is_computed), None)
        while found is None and self.has_deadline:
            self.check()
            time.sleep(_POLL)
            found = next((c for c in coming if c[2].is_computed), None)
        if found is None:
            found = coming[0]
            found[2].wait()
        coming.remove(found)
        picker, ready, value = found
        self._pending -= 1
        self._receiving -= 1
        return picker, ready, self._take(picker, ready, value)

    def _take(self, picker: Picker, ready: Ready, value: Value) -> Outputs:
        """The value as the receiver's kernels want it."""
        try:
            return (picker.part.recvs[ready.node].take(value, self.recorder),)
        except Exception as e:
            picker.part.fail(ready.node, e)

    def _expire(self) -> Completion | None:
        """The deadline has come: raises, unless all that the step waits for can be cancelled.

        Then it is, and what was delivered in this very moment (an element of a queue) is not lost.
        """
        try:
            self.check()
            return None
        except DeadlineExceededError as e:
            if self._pending > len(self._reasons):
                raise
            self._context.cancellation.cancel(e)
            completion = self._inbox.get()
            if completion is not None and completion[3] is not None:
                self._pending -= 1
                raise
            return completion

    def truth(self, value: Value) -> bool:
        """What a Switch sees: every iteration of a loop passes one, so a loop without kernels ends too."""
        self.check()
        return truth(value)

    def check(self) -> None:
        """Raises when the step was cancelled or interrupted, or is past its deadline."""
        raise_stopped(self.cancellation, self.held)
        if self._limit is not None and time.monotonic() > self._limit.end:
            raise self._limit.exceeded(f"\n{self.explain()}")

    def explain(self) -> str:
        """Who waits for what, and for which event of a queue or the like."""
        lines = []
        if self.program.waits:
            names = {
                ready: picker.part.plan.name(ready.node)
                for picker in self._pickers
                for ready in self._reasons
                if ready in picker
            }
            lines += [f"'{names.get(ready, '')}': {reason()}" for ready, reason in self._reasons.items()]
        for picker in self._pickers:
            if picker.finished:
                continue
            if len(self._pickers) > 1:
                lines.append(f"on {picker.part.part.name}:")
            lines.append(picker.explain())
        return "\n".join(lines)

    # ---- the end ---------------------------------------------------------------------------

    def _fetch(self) -> list[np.ndarray]:
        program = self.program
        results = [picker.results() for picker in self._pickers]
        if self.has_deadline:
            self._watch_devices()
        else:
            _await_devices(program, self.recorder)
        return [to_host(results[i][k]) for i, k in program.fetches]

    def _watch_devices(self) -> None:
        """Waits for the devices, but no longer than the deadline lets it."""
        for device in self.program.devices:
            ticket = device.fence()
            while ticket is not None and not ticket.poll():
                self.check()
                time.sleep(_POLL)

    def _stop(self, error: BaseException) -> None:
        """Wakes all that waits, and returns when nothing of the step runs any more."""
        for picker in self._pickers:
            picker.cancel()
        waits = self.program.waits
        reason = _abort(self._context.rendezvous if waits else self._rendezvous, error)
        if waits:
            self._context.cancel(reason)
            self._drain(_is_late(error, self.cancellation) or not isinstance(error, Exception))
        for picker in self._pickers:
            picker.close()
        _settle(self.program, error, self.cancellation)

    def _drain(self, hurry: bool) -> None:
        """Waits for the nodes that were started; with `hurry`, or once interrupted, not for long."""
        end = time.monotonic() + _GRACE if hurry else None
        self._pending -= len(self._coming)
        while self._pending:
            if end is None and self.held.error is not None:
                end = time.monotonic() + _GRACE
            try:
                completion = self._inbox.get(timeout=None if end is None else max(end - time.monotonic(), 0.0))
            except Empty:
                break
            self._pending -= completion is not None


# ---- what also holds for a program that needs no `Step` ------------------------------------------


def run_immediate(
    program: StepProgram,
    feeds: Sequence[Value],
    recorder: StepStats | None,
    rendezvous: Rendezvous | None,
    cancellation: Cancellation | None,
    held: HeldInterrupts,
) -> list[np.ndarray]:
    """Runs `program.immediate` without a deadline: as a `Step` would, but there is nothing to wait for."""
    order, part, single = program.immediate, program.parts[0], program.single
    assert order is not None
    try:
        if single is not None:  # one kernel needs no registers, which would be a tenth of a small step
            if cancellation is not None:
                raise_stopped(cancellation, held)
            try:
                results = order.pick_fetches([*feeds, *single.run(single.pick(feeds), recorder)])
            except Exception as e:
                part.fail(single.node, e)
        else:
            values = [*part.own_feeds(feeds), *order.blank]
            run_stages(part, order.segments[0].stages, values, recorder, cancellation or _NEVER_CANCELLED, held)
            results = order.pick_fetches(values)
        if recorder is not None or program.awaited:
            _await_devices(program, recorder)
        if program.fetches_in_order:
            return [to_host(value) for value in results]
        return [to_host(results[k]) for _, k in program.fetches]
    except BaseException as e:
        _abort(rendezvous, e)
        _settle(program, e, cancellation or _NEVER_CANCELLED)
        raise


def _await_devices(program: StepProgram, recorder: StepStats | None) -> None:
    """Waits until the devices have finished, noting it if the step is traced."""
    if recorder is not None:
        for device in program.devices:
            start = recorder.now_us()
            device.synchronize()
            recorder.span(WAIT, f"wait for {device.name.rpartition('device:')[2]}", start)
    for device in program.awaited:
        ticket = device.fence()
        if ticket is not None:
            ticket.wait()


def _abort(rendezvous: Rendezvous | None, error: BaseException) -> CancelledError:
    """Wakes everybody who waits for a value of a step that raised `error`; returns the error that they get."""
    reason = CancelledError(f"the step was stopped: {error}")
    reason.__cause__ = error
    if rendezvous is not None:
        rendezvous.abort(reason)
    return reason


def _is_late(error: BaseException, cancellation: Cancellation) -> bool:
    """Was the step cancelled, or past its deadline? Then it waits for nothing that it cannot stop."""
    return isinstance(error, DeadlineExceededError) or error is cancellation.error


def _settle(program: StepProgram, error: BaseException, cancellation: Cancellation) -> None:
    """The end of a step that raised `error`: what it has enqueued is done, unless the step is late."""
    if not _is_late(error, cancellation):
        for device in program.devices:
            device.synchronize()
