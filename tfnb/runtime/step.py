"""One run of a step: a loop asks the schedules of its plans what may run (OSDI'16, 3.4; white paper, 3.2.2, 4.6).

The loop, in the thread that called, owns all schedules; device kernels are enqueued, host kernels run in the loop or,
if they may take long and something else could go on or end the step, in the pool; asynchronous ones tell a queue when
they are done. A value from another device that is still being computed is waited for last. Invariant: no thread but
those of the pool works for a step, and none when `run` is over.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from queue import Empty
from typing import Any, NamedTuple, NoReturn

import numpy as np

from tfnb.devices.buffers import DeviceTensor
from tfnb.devices.interface import Device
from tfnb.errors import DeadlineExceededError, InternalError
from tfnb.runtime.cancel import Cancellation
from tfnb.runtime.deadline import Deadline, bounded
from tfnb.runtime.deadline import current as current_deadline
from tfnb.runtime.frames import DEAD, Ready, Token
from tfnb.runtime.kernels import HostKernel, StepContext, reraise
from tfnb.runtime.part import PlanPart, abort, fetched, recorded_wait
from tfnb.runtime.plan import PlanKind
from tfnb.runtime.propagate import Propagator
from tfnb.runtime.rendezvous import Received, Rendezvous
from tfnb.runtime.static_schedule import StaticSchedule
from tfnb.runtime.stats import SCHEDULE, WAIT, StepStats
from tfnb.runtime.values import Value, index_value, to_host, truth
from tfnb.system.interrupts import HeldInterrupts

__all__ = ["Step"]

# Seconds that a step past its deadline, cancelled or interrupted, waits for host kernels that it cannot stop.
_GRACE = 1.0
_POLL = 2e-4  # seconds between looks at a device, when there is a deadline
_CLUSTER, _HOST, _LOOP = int(PlanKind.CLUSTER), int(PlanKind.HOST), int(PlanKind.LOOP)
_SEND, _RECV = int(PlanKind.SEND), int(PlanKind.RECV)


class _Completion(NamedTuple):
    """A node is done, with outputs (or DEAD) or an error; without a node: look at the cancellation."""

    part: _Running | None
    ready: Ready | None
    outputs: Any = None
    error: BaseException | None = None


class _Running:
    """A part of the step that runs: its schedule, and the nodes that may run now."""

    def __init__(self, part: PlanPart, truth: Callable[[Value], bool], recorder: StepStats | None) -> None:
        self.part = part
        self.plan = part.plan
        self.kinds = part.plan.kinds
        self.payloads = part.payloads
        static = part.plan.is_static
        self.schedule: StaticSchedule | Propagator
        self.schedule = StaticSchedule(part.plan) if static else Propagator(part.plan, truth, index_value)
        self.ready: deque[Ready] = deque()
        self._recorder = recorder
        self.deliver = self.schedule.done if recorder is None else self._recorded_done

    def start(self, feeds: Sequence[Value]) -> None:
        self.ready.extend(self.schedule.start(self.part.own_feeds(feeds)))

    def _recorded_done(self, ready: Ready, outputs: Sequence[Value] | Token) -> list[Ready]:
        """The schedule's `done`, noting how long it takes."""
        recorder = self._recorder
        assert recorder is not None
        start = recorder.now_us()
        found = self.schedule.done(ready, outputs)
        recorder.span(SCHEDULE, "propagator", start, detail=f"after {self.plan.name(ready.node)}")
        return found

    def fail(self, ready: Ready, error: BaseException) -> NoReturn:
        reraise(error, self.part.node(ready.node))


class Step:
    """One run of plans, each driven by its schedule; `submit` gives work to the pool."""

    def __init__(
        self,
        parts: Sequence[PlanPart],
        devices: Sequence[Device],
        submit: Callable[[Callable[[], None]], None],
        timeout: float | None,
        recorder: StepStats | None,
        rendezvous: Rendezvous | None,
        cancellation: Cancellation | None,
    ) -> None:
        self._devices = devices
        self._submit = submit
        self._limit = None if timeout is None else current_deadline() or Deadline(timeout)
        self._deadline = None if timeout is None or self._limit is None else self._limit.end
        self._context = StepContext(rendezvous, recorder=recorder)
        self._is_alone = rendezvous is None  # nobody else sends to it
        self._outer = cancellation
        self._stopped: BaseException | None = None  # why the step shall end: it was cancelled, or interrupted
        self._held = HeldInterrupts(self._interrupted)
        self._done = self._context.rendezvous.inbox()
        self._parts = [_Running(p, self._truth, recorder) for p in parts]
        self._reasons: dict[Ready, Callable[[], str]] = {}  # why asynchronous kernels wait
        self._pending = 0  # kernels that were started and have not told that they are done
        self._receiving = 0  # Recvs among them
        self._coming: deque[tuple[_Running, Ready, DeviceTensor]] = deque()  # received, and still being computed

    def run(self, feeds: Sequence[Value]) -> list[np.ndarray]:
        if not any(part.plan.starts_work for part in self._parts):
            return self._run(feeds)  # clusters and control flow leave nothing behind, wherever they are interrupted
        with self._held:  # Ctrl-C is raised by `_check` and `_await`, and in functions of the user's
            return self._run(feeds)

    def _run(self, feeds: Sequence[Value]) -> list[np.ndarray]:
        withdraw = None if self._outer is None else self._outer.on_cancel(self._end)
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
            for part in self._parts:
                part.schedule.close()
            self._held.wake = None  # which refers to the step

    def _end(self, error: BaseException) -> None:
        """Makes the loop raise `error` as soon as it can, also when it waits; from any thread."""
        self._stopped = error
        self._done.put(_Completion(None, None))

    def _interrupted(self) -> None:
        assert self._held.error is not None
        self._end(self._held.error)

    # ---- the loop --------------------------------------------------------------------------

    def _loop(self, feeds: Sequence[Value]) -> None:
        parts = self._parts
        try:
            for part in parts:
                part.start(feeds)
            while True:
                for part in parts:
                    self._run_ready(part)
                for part in parts:
                    if not part.schedule.finished:
                        break
                else:
                    return
                where, ready, outputs, error = self._next()
                if where is None or ready is None:
                    continue
                if error is not None:
                    where.fail(ready, error)
                where.ready.extend(where.deliver(ready, outputs))
        except Exception as e:
            for part in parts:
                if part.schedule.failed_node >= 0:
                    reraise(e, part.part.node(part.schedule.failed_node))
            raise

    def _run_ready(self, part: _Running) -> None:
        ready, deliver = part.ready, part.deliver
        while ready:
            self._check()
            node = ready.popleft()
            outputs = self._start(part, node, not ready)
            if outputs is not None:
                ready.extend(deliver(node, outputs))

    def _start(self, part: _Running, ready: Ready, is_last: bool) -> Any:
        """Runs or starts a node; its outputs when they are there already."""
        kernel, context = part.payloads[ready.node], self._context
        kind = part.kinds[ready.node]
        try:
            if kind == _CLUSTER:
                return kernel.run(ready.inputs, context.recorder)
            if kind == _LOOP:
                return kernel.run(ready.inputs, context.recorder, self._check)
            if kind == _HOST:
                if not kernel.expensive or (is_last and self._is_last() and self._deadline is None):
                    return kernel.run(ready.inputs, context.recorder)
                self._submit(lambda: self._in_pool(part, ready, kernel))
            elif kind == _SEND:
                kernel.send(ready.inputs, ready.is_dead, ready.tag, context)
                return ()
            elif kind == _RECV:
                kernel.recv(ready.tag, context, self._received(part, ready))
                self._receiving += 1
            else:
                done = self._finished(part, ready)
                reason = kernel.start(ready.inputs, ready.is_dead, ready.tag, context, done)
                if reason is not None:
                    self._reasons[ready] = reason
        except Exception as e:
            part.fail(ready, e)
        self._pending += 1
        return None

    def _is_last(self) -> bool:
        """Does nothing but the node at hand go on? (A Recv goes on only when something else does.)"""
        return self._pending == self._receiving and self._is_alone and not any(p.ready for p in self._parts)

    def _in_pool(self, part: _Running, ready: Ready, kernel: HostKernel) -> None:
        try:
            self._done.put(_Completion(part, ready, kernel.run(ready.inputs, self._context.recorder)))
        except BaseException as e:
            self._done.put(_Completion(part, ready, None, e))

    def _received(self, part: _Running, ready: Ready) -> Callable[[Received | None, BaseException | None], None]:
        recorder = self._context.recorder
        start = recorder.now_us() if recorder is not None else 0.0

        def done(item: Received | None, error: BaseException | None) -> None:
            if recorder is not None:
                name, waker = part.plan.name(ready.node), recorder.thread()
                recorder.span(WAIT, name, start, detail="waits for its Send", lane="receive", woken_by=waker)
            outputs = None if item is None else DEAD if item.is_dead else (item.value,)
            self._done.put(_Completion(part, ready, outputs, error))

        return done

    def _finished(self, part: _Running, ready: Ready) -> Callable[..., None]:
        def done(outputs: Sequence[Value] | None, error: BaseException | None = None) -> None:
            self._done.put(_Completion(part, ready, outputs, error))

        return done

    # ---- waiting ---------------------------------------------------------------------------

    def _next(self) -> _Completion:
        """Waits for a completion."""
        recorder = self._context.recorder
        start = recorder.now_us() if recorder is not None else 0.0
        while True:
            found = self._await() if not self._coming else self._arrived()
            part, ready = found.part, found.ready
            if ready is None or part is None:
                return found
            if part.kinds[ready.node] != _RECV:
                break
            self._receiving -= 1
            if found.error is not None or found.outputs is DEAD:
                break
            value = found.outputs[0]
            if _is_computed(value):
                return _Completion(part, ready, (self._take(part, ready, value),))
            self._coming.append((part, ready, value))
            self._pending += 1  # it is not done before its value is
            self._receiving += 1
        if recorder is not None:
            recorder.span(WAIT, f"wait for {part.plan.name(ready.node)}", start)
        return found

    def _arrived(self) -> _Completion:
        """Another completion if there is one, else the first value that has been computed."""
        if not self._done.empty():
            return self._await()
        coming = self._coming
        found = next((c for c in coming if _is_computed(c[2])), None)
        while found is None and self._deadline is not None:
            self._check()
            time.sleep(_POLL)
            found = next((c for c in coming if _is_computed(c[2])), None)
        if found is None:
            found = coming[0]
            found[2].wait()
        coming.remove(found)
        self._pending -= 1
        return _Completion(found[0], found[1], (found[2],))

    def _take(self, part: _Running, ready: Ready, value: Value) -> Value:
        try:
            return part.payloads[ready.node].take(value, self._context.recorder)
        except Exception as e:
            part.fail(ready, e)

    def _await(self) -> _Completion:
        if self._stopped is not None:
            raise self._stopped
        if self._is_alone and self._pending == self._receiving and self._done.empty():
            raise InternalError(f"the parts of the step wait for each other:\n{self.explain()}")
        self._context.rendezvous.flush()
        left = None if self._deadline is None else self._deadline - time.monotonic()
        try:
            completion = self._done.get(timeout=left if left is None else max(left, 0.0))
        except Empty:
            completion = self._expire()
        if completion.ready is not None:
            self._pending -= 1
            self._reasons.pop(completion.ready, None)
        return completion

    def _expire(self) -> _Completion:
        """The deadline has come: raises, unless all that the step waits for can be cancelled.

        Then it is, and what was delivered in this very moment (an element of a queue) is not lost.
        """
        try:
            self._check()
            return _Completion(None, None)
        except DeadlineExceededError as e:
            if self._pending > len(self._reasons):
                raise
            self._context.cancellation.cancel(e)
            completion = self._done.get()
            if completion.error is not None:
                self._pending -= 1
                raise
            return completion

    def _truth(self, value: Value) -> bool:
        """What a Switch sees: every turn of a loop passes one, so a loop without kernels ends too."""
        self._check()
        return truth(value)

    def _check(self) -> None:
        if self._stopped is not None:
            raise self._stopped
        if self._deadline is not None and time.monotonic() > self._deadline:
            assert self._limit is not None
            raise self._limit.exceeded(f"\n{self.explain()}")

    def explain(self) -> str:
        """Who waits for what, and for which event of a queue or the like."""
        names = {
            ready: part.plan.name(ready.node)
            for part in self._parts
            for ready in self._reasons
            if ready in part.schedule
        }
        lines = [f"'{names.get(ready, '')}': {reason()}" for ready, reason in self._reasons.items()]
        for part in self._parts:
            if part.schedule.finished:
                continue
            if len(self._parts) > 1:
                lines.append(f"on {part.part.name}:")
            lines.append(part.schedule.explain())
        return "\n".join(lines)

    # ---- the end ---------------------------------------------------------------------------

    def _fetch(self) -> list[np.ndarray]:
        values = fetched((part.part, part.schedule.results()) for part in self._parts)
        self._await_devices()
        return [to_host(value) for value in values]

    def _await_devices(self) -> None:
        for device in self._devices:
            if self._context.recorder is not None and self._deadline is None:
                recorded_wait(device, self._context.recorder)
            ticket = device.fence()
            if ticket is None:
                continue
            while self._deadline is not None and not ticket.poll():
                self._check()
                time.sleep(_POLL)
            ticket.wait()

    def _stop(self, error: BaseException) -> None:
        """Wakes all that waits, and returns when nothing of the step runs any more."""
        for part in self._parts:
            part.schedule.cancel()
        interrupted = not isinstance(error, Exception)
        cancelled = error is self._stopped and not interrupted
        late = isinstance(error, DeadlineExceededError) or cancelled
        self._context.cancel(abort(self._context.rendezvous, error))
        end = time.monotonic() + _GRACE if late or interrupted else None
        self._pending -= len(self._coming)
        while self._pending:
            if end is None and self._held.error is not None:
                end = time.monotonic() + _GRACE
            try:
                left = None if end is None else max(end - time.monotonic(), 0.0)
                completion = self._done.get(timeout=left)
            except Empty:
                break
            self._pending -= completion.ready is not None
        if not late:
            for device in self._devices:
                device.synchronize()


def _is_computed(value: Value) -> bool:
    return type(value) is not DeviceTensor or value.is_computed
