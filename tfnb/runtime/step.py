"""One run of a step: starting its nodes, waiting for them, recording them, and ending the step (OSDI'16, section 3.4).

A loop in the thread that called `run` controls the run. A picker for each part says which node is next
(`runtime/pickers.py`). This module does everything else: cancellation, interrupts, deadlines, late values from other
devices, errors, and the end of the step. Device kernels are enqueued. Host kernels run in the loop, or in the pool if
they may take long and something else could continue or end the step meanwhile. Asynchronous kernels put a completion
into a queue. A value from another device that is still being computed is waited for last. Invariant: besides the
calling thread only threads of the pool work for a step, and none does after `run` has returned.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from queue import Empty

import numpy as np

from tfnb.devices.buffers import DeviceTensor
from tfnb.errors import CancelledError, DeadlineExceededError, InternalError, OpError
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
from tfnb.system.interrupts import LONGEST_WAIT, HeldInterrupts, is_from_handler, noted, seconds_until_due

__all__ = ["Step", "run_immediate"]

# The seconds for which a late, cancelled or interrupted step waits for host kernels that it cannot stop.
_GRACE = 1.0
_POLL = 2e-4  # seconds between two checks of a device, when there is a deadline
_HOST, _LOOP = int(PlanKind.HOST), int(PlanKind.LOOP)
_SEND, _RECV = int(PlanKind.SEND), int(PlanKind.RECV)
_NEVER_CANCELLED = Cancellation()

Completion = tuple[Picker, Ready, "Outputs | Received | None", "BaseException | None"]
"""A node has finished: its outputs, or what a Recv received; or the error."""


class Step:
    """One run of a program. `submit` passes work to the pool; `timeout` is in seconds."""

    has_deadline = False
    held: HeldInterrupts | None = None
    _limit: Deadline | None = None
    _pending = 0  # nodes that were started and have not finished
    _receiving = 0  # Recvs among them
    _inbox: StepQueue[Completion | None]  # completions; None wakes the loop, which then checks whether to stop

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
        """Runs the step and returns the values of its fetches. Raises the first error of the step."""
        if not self.program.starts_work:
            return self._run(feeds)  # Ctrl-C may come anywhere: clusters and control flow leave no work behind
        # Handlers of signals are called by `check` and in functions of the user's.
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
                bounded(self._limit, lambda: self._loop(feeds))
            return self._fetch()
        except BaseException as e:
            self._stop(e)
            raise
        finally:
            if withdraw is not None:
                withdraw()
                if self.held is not None:
                    self.held.wake = None  # the function refers to the step
            if self.program.is_dynamic:
                for picker in self._pickers:
                    picker.close()  # the propagator refers to the step

    def _wake(self, error: BaseException | None = None) -> None:
        """Makes the loop check whether it must stop, even while it waits.

        May be called from any thread and from a signal handler.
        """
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
            while not can_go_on or (self._pending and not self._inbox.empty()):  # handles all that have come
                can_go_on |= self._deliver_next()

    def _deliver_next(self) -> bool:
        """Waits until a node has finished; returns whether its picker knows nodes that may run now.

        The outputs are variables of this method only, so that no traceback of a later error keeps them.
        """
        picker, ready, outputs = self._next()
        return picker.deliver(ready, outputs)

    def start(self, picker: Picker, ready: Ready, is_last: bool) -> Outputs | None:
        """Runs or starts a node that is not in `ProgramPart.runs`. Returns its outputs, or None if it finishes later.

        `is_last` means that the picker has no other node that may run now.
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
        """Runs the Send `node` of `part`."""
        try:
            part.sends[node].send(inputs, is_dead, tag, self._context)
        except Exception as e:
            part.fail(node, e)

    def receive(self, picker: Picker, recvs: Sequence[Ready]) -> None:
        """Starts these Recvs. Their completions arrive in the inbox."""
        kernels, context, recorder = picker.part.recvs, self._context, self.recorder
        for ready in recvs:
            done: ReceiveCallback = self._finished(picker, ready)
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
        """Returns whether nothing else can continue while the current node runs.

        A Recv that waits does not count, because it continues only after another node has sent its value.
        """
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

        def done(outputs: Sequence[Value] | Received | None, error: BaseException | None = None) -> None:
            put((picker, ready, outputs, error))

        return done

    # ---- waiting ---------------------------------------------------------------------------

    def _next(self) -> tuple[Picker, Ready, Outputs]:
        """Waits until a node has finished, and returns its picker, the node and its outputs."""
        recorder, inbox = self.recorder, self._inbox
        start = recorder.now_us() if recorder is not None else 0.0
        while True:
            if inbox.empty():
                if self._coming:
                    return self._arrived()
                self._prepare_to_wait()
            try:
                completion = inbox.get(timeout=self._wait_limit())
            except Empty:
                completion = self._expire()
            if completion is not None:
                self._pending -= 1
            # Nodes that were stopped for the same reason may report errors of their own.
            if self.cancellation.error is not None or noted:
                raise_stopped(self.cancellation)
            if completion is None:
                continue
            picker, ready, outputs, error = completion
            if self._reasons:
                self._reasons.pop(ready, None)
            if error is not None:
                picker.part.fail(ready.node, error)
            result: Outputs | None
            if isinstance(outputs, Received):
                self._receiving -= 1
                if outputs.is_dead:
                    result = DEAD
                else:
                    value = outputs.value
                    if type(value) is not DeviceTensor or value.is_computed:
                        return picker, ready, self._take(picker, ready, value)
                    self._coming.append((picker, ready, value))
                    self._pending += 1  # the Recv finishes only when its value is computed
                    self._receiving += 1
                    continue
            else:
                result = outputs
            if recorder is not None:
                recorder.span(WAIT, f"wait for {picker.part.plan.name(ready.node)}", start)
            if result is None:
                name = picker.part.plan.name(ready.node)
                picker.part.fail(ready.node, InternalError(f"{name} finished with neither outputs nor an error"))
            return picker, ready, result

    def _wait_limit(self) -> float | None:
        """The seconds until the deadline, or until the handler of a signal that came must be called; None: no limit.

        The main thread never waits for long, because a signal that comes while it is about to wait does not wake it.
        """
        left = None if self._limit is None else self._limit.left()
        if self.held is None or not self.held.is_holding:
            return left
        due = seconds_until_due() if noted else None
        return min([LONGEST_WAIT, *(seconds for seconds in (left, due) if seconds is not None)])

    def _prepare_to_wait(self) -> None:
        """Sends collected values, for which other tasks may wait. Raises if nothing can end the wait."""
        is_alone = self._rendezvous is None  # no other executor sends values to this step
        if self._pending == self._receiving if is_alone else not self._pending:
            raise InternalError(f"the parts of the step wait for each other:\n{self.explain()}")
        self._context.rendezvous.flush()

    def _arrived(self) -> tuple[Picker, Ready, Outputs]:
        """Waits until one of the received values is computed, and returns it as `_next` does."""
        coming = self._coming
        arrival = next((c for c in coming if c[2].is_computed), None)
        while arrival is None and self.has_deadline:
            self.check()
            time.sleep(_POLL)
            arrival = next((c for c in coming if c[2].is_computed), None)
        if arrival is None:
            arrival = coming[0]
            arrival[2].wait()
        coming.remove(arrival)
        picker, ready, value = arrival
        self._pending -= 1
        self._receiving -= 1
        return picker, ready, self._take(picker, ready, value)

    def _take(self, picker: Picker, ready: Ready, value: Value) -> Outputs:
        """Converts a received value for the kernels of the receiver; returns it as the outputs of the Recv."""
        try:
            return (picker.part.recvs[ready.node].take(value, self.recorder),)
        except Exception as e:
            picker.part.fail(ready.node, e)

    def _expire(self) -> Completion | None:
        """Handles the deadline: raises `DeadlineExceededError` if a pending node cannot be cancelled.

        Otherwise cancels all pending nodes. If one of them has finished at the same moment, returns its completion, so
        that its outputs, such as an element of a queue, are not lost; otherwise raises as well.
        """
        try:
            self.check()
            return None
        except DeadlineExceededError as e:
            if self._pending > len(self._reasons) or is_from_handler(e):
                raise
            self._context.cancellation.cancel(e)
            completion = self._inbox.get()
            if completion is not None and completion[3] is not None:
                self._pending -= 1
                raise
            return completion

    def truth(self, value: Value) -> bool:
        """The predicate of a Switch as a bool. Raises as `check`.

        Every iteration of a loop evaluates a Switch, so even a loop without kernels can be stopped.
        """
        self.check()
        return truth(value)

    def check(self) -> None:
        """Raises if the step was cancelled or interrupted, or is past its deadline."""
        raise_stopped(self.cancellation)
        if self._limit is not None and time.monotonic() > self._limit.end:
            raise self._limit.exceeded(f"\n{self.explain()}")

    def explain(self) -> str:
        """A text with one line for each node that runs or waits, and the event or the inputs for which it waits."""
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
        """Waits for the devices, at most until the deadline."""
        for device in self.program.devices:
            ticket = device.fence()
            while ticket is not None and not ticket.poll():
                self.check()
                time.sleep(_POLL)

    def _stop(self, error: BaseException) -> None:
        """Wakes all nodes that wait. Returns when nothing of the step runs any more."""
        for picker in self._pickers:
            picker.cancel()
        waits = self.program.waits
        reason = _abort(self._context.rendezvous if waits else self._rendezvous, error)
        if waits:
            self._context.cancel(reason)
            is_own = isinstance(error, OpError) and not is_from_handler(error)
            self._drain(not is_own or _is_late(error, self.cancellation))
        for picker in self._pickers:
            picker.close()
        _settle(self.program, error, self.cancellation)

    def _drain(self, hurry: bool) -> None:
        """Waits for the nodes that were started.

        With `hurry`, or after a signal, waits `_GRACE` seconds at most.
        """
        end = time.monotonic() + _GRACE if hurry else None
        self._pending -= len(self._coming)
        while self._pending:
            if end is None and noted and self.held is not None and self.held.is_holding:
                end = time.monotonic() + _GRACE
            left = LONGEST_WAIT if end is None else max(end - time.monotonic(), 0.0)
            try:
                completion = self._inbox.get(timeout=left)
            except Empty:
                if end is None:
                    continue
                break
            self._pending -= completion is not None


# ---- functions that also serve a program without a `Step` ----------------------------------------


def run_immediate(
    program: StepProgram,
    feeds: Sequence[Value],
    recorder: StepStats | None,
    rendezvous: Rendezvous | None,
    cancellation: Cancellation | None,
) -> list[np.ndarray]:
    """Runs `program.immediate` without a deadline. It does what a `Step` does, but never has to wait for a node."""
    order, part, single = program.immediate, program.parts[0], program.single
    assert order is not None
    try:
        if single is not None:  # one kernel needs no registers; they would take a tenth of the time of a small step
            if cancellation is not None:
                raise_stopped(cancellation)
            try:
                results = order.pick_fetches([*feeds, *single.run(single.pick(feeds), recorder)])
            except Exception as e:
                part.fail(single.node, e)
        else:
            values = [*part.own_feeds(feeds), *order.blank]
            run_stages(part, order.segments[0].stages, values, recorder, cancellation or _NEVER_CANCELLED)
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
    """Waits until the devices have finished, and records the wait if the step is traced."""
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
    """Wakes all that wait for a value of a step that raised `error`; returns the error that they receive."""
    reason = error if isinstance(error, CancelledError) else CancelledError(f"the step was stopped: {error}")
    if reason is not error:
        reason.__cause__ = error
    if rendezvous is not None:
        rendezvous.abort(reason)
    return reason


def _is_late(error: BaseException, cancellation: Cancellation) -> bool:
    """Returns whether the step was cancelled or is past its deadline, so that it must not wait for its devices."""
    return isinstance(error, DeadlineExceededError) or error is cancellation.error


def _settle(program: StepProgram, error: BaseException, cancellation: Cancellation) -> None:
    """Ends a step that raised `error`: waits for the work that it has enqueued, unless the step is late."""
    if not _is_late(error, cancellation):
        for device in program.devices:
            device.synchronize()
