"""The executor: runs a plan with kernels (OSDI'16, section 3.4; white paper, sections 3.1 and 4.6).

One loop, in the thread that called, owns the propagator; device kernels are enqueued, host kernels run in the loop or,
if they may take long and something else could go on or end the step, in the pool; asynchronous ones tell a queue when
they are done. Invariant: when `run` returns or raises, nothing of the step runs any more (save host kernels in the
pool that outlived a deadline), and devices and variables are whole.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, NoReturn

import numpy as np

from tfnb.devices.interface import Device
from tfnb.errors import CancelledError, DeadlineExceededError, InternalError, InvalidArgumentError
from tfnb.runtime.cancel import Cancellation
from tfnb.runtime.frames import DEAD, Ready
from tfnb.runtime.kernels import ClusterKernel, StepContext, reraise
from tfnb.runtime.linear import LoopKernel, linearize
from tfnb.runtime.plan import Plan, PlanKind
from tfnb.runtime.propagate import Propagator
from tfnb.runtime.rendezvous import Received, Rendezvous
from tfnb.runtime.stats import SCHEDULE, WAIT, StepStats
from tfnb.runtime.values import Value, index_value, to_host, truth

__all__ = ["Executor", "HostThreads"]

_GRACE = 1.0  # seconds that a step past its deadline waits for host kernels it cannot stop
_POLL = 2e-4  # seconds between looks at a device, when there is a deadline


class HostThreads:
    """The pool for expensive host kernels; its threads start when they are first needed."""

    def __init__(self, n: int = 64) -> None:
        self._n = n
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._closed = False

    def submit(self, work: Callable[[], None]) -> None:
        with self._lock:
            if self._closed:
                raise CancelledError("the session is closed")
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._n, thread_name_prefix="tfnb-host")
            self._pool.submit(work)

    def close(self) -> None:
        """Waits for what runs."""
        with self._lock:
            pool, self._pool, self._closed = self._pool, None, True
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)


class _Completion(NamedTuple):
    """A node is done, with outputs (or DEAD) or an error; without a node: look at the cancellation."""

    ready: Ready | None
    outputs: Any = None
    error: BaseException | None = None


class _Named(NamedTuple):
    """Stands for a node of the plan that has no graph node, in messages."""

    name: str
    type: str
    origin: Any = None


class Executor:
    """Runs one plan, from many threads at once.

    `payloads[i]` is the kernel of `plan.nodes[i]`: a ClusterKernel, HostKernel, AsyncKernel, SendKernel or
    RecvKernel for the kinds of those names, None for the rest. With `fast_loops`, loops that fit run without the
    propagator.
    """

    def __init__(
        self, plan: Plan, payloads: Sequence[Any], threads: HostThreads | None = None, fast_loops: bool = True
    ) -> None:
        if len(payloads) != len(plan.nodes):
            raise InternalError(f"{len(payloads)} payloads came for {len(plan.nodes)} nodes")
        found = (p.device for p in payloads if isinstance(p, ClusterKernel))
        self._devices: tuple[Device, ...] = tuple(dict.fromkeys(found))
        if fast_loops and len(plan.frames) > 1:
            plan, payloads = linearize(plan, payloads)
        self.plan = plan
        self.payloads = tuple(payloads)
        self.threads = threads or HostThreads()
        self._single = (
            _Single(plan, self.payloads[plan.cluster]) if plan.is_single_cluster else None
        )

    def run(
        self,
        feeds: Sequence[Value] = (),
        *,
        timeout: float | None = None,
        recorder: StepStats | None = None,
        rendezvous: Rendezvous | None = None,
        cancellation: Cancellation | None = None,
    ) -> list[np.ndarray]:
        """Runs the plan; `feeds` are the values of `plan.feeds`, the result those of `plan.fetches`, on the host.

        Raises the first error of the step with its node; `DeadlineExceededError` after `timeout` seconds, saying
        what waited for what; the error of a `cancellation`; `InvalidArgumentError` for a fetch on an untaken branch.
        """
        if self._single is not None and timeout is None:
            if cancellation is not None and cancellation.error is not None:
                raise cancellation.error
            return self._single.run(feeds, recorder)
        return _Step(self, timeout, recorder, rendezvous, cancellation).run(feeds)

    @property
    def devices(self) -> tuple[Device, ...]:
        """The devices of the plan's clusters."""
        return self._devices


class _Single:
    """A plan that is one cluster: feed, launch, fetch, without a propagator."""

    def __init__(self, plan: Plan, kernel: ClusterKernel) -> None:
        self._kernel = kernel
        place = {node: i for i, node in enumerate(plan.feeds)}
        order = [place[node] for node, _ in plan.nodes[plan.cluster].inputs]
        self._order = None if order == list(range(len(place))) else order
        # (is an output, place among outputs or feeds) of each fetch
        self._fetches = [
            (n == plan.cluster, slot if n == plan.cluster else place[n]) for n, slot in plan.fetches
        ]

    def run(self, feeds: Sequence[Value], recorder: StepStats | None) -> list[np.ndarray]:
        kernel = self._kernel
        inputs = feeds if self._order is None else [feeds[i] for i in self._order]
        try:
            outputs = kernel.run(inputs, recorder)
            if recorder is not None:
                _recorded_wait(kernel.device, recorder)
            if not outputs:
                kernel.device.synchronize()
            return [outputs[i].numpy() if made else to_host(feeds[i]) for made, i in self._fetches]
        except KeyboardInterrupt:
            kernel.device.synchronize()
            raise
        except Exception as e:
            reraise(e, kernel.node)


def _recorded_wait(device: Device, recorder: StepStats) -> None:
    """Waits for a device, and notes for how long."""
    start = recorder.now_us()
    device.synchronize()
    recorder.span(WAIT, f"wait for {device.name.rpartition('device:')[2]}", start)


class _Step:
    """One run of a plan that needs the propagator."""

    def __init__(
        self, executor: Executor, timeout: float | None, recorder: StepStats | None,
        rendezvous: Rendezvous | None, cancellation: Cancellation | None,
    ) -> None:  # fmt: skip
        self._executor = executor
        self._plan = executor.plan
        self._payloads = executor.payloads
        self._timeout = timeout
        self._deadline = None if timeout is None else time.monotonic() + timeout
        self._context = StepContext(rendezvous, Cancellation(), recorder)
        self._outer = cancellation
        self._done: SimpleQueue[_Completion] = SimpleQueue()
        bounded = timeout is not None or cancellation is not None
        self._propagator = Propagator(self._plan, self._truth if bounded else truth, index_value)
        self._reasons: dict[Ready, Callable[[], str]] = {}  # why asynchronous kernels wait
        self._deliver = self._propagator.done if recorder is None else self._recorded_done
        self._pending = 0  # kernels that were started and have not told that they are done

    def run(self, feeds: Sequence[Value]) -> list[np.ndarray]:
        withdraw = self._listen()
        try:
            self._loop(feeds)
            return self._fetch()
        except BaseException as e:
            self._stop(e)
            raise
        finally:
            withdraw()
            self._propagator.close()

    def _listen(self) -> Callable[[], None]:
        if self._outer is None:
            return lambda: None
        return self._outer.on_cancel(lambda _: self._done.put(_Completion(None)))

    # ---- the loop --------------------------------------------------------------------------

    def _loop(self, feeds: Sequence[Value]) -> None:
        propagator, deliver = self._propagator, self._deliver
        try:
            ready = deque(propagator.start(feeds))
            while True:
                while ready:
                    self._check()
                    node = ready.popleft()
                    outputs = self._start(node, not ready)
                    if outputs is not None:
                        ready.extend(deliver(node, outputs))
                if propagator.finished:
                    return
                completion = self._next()
                if completion.ready is not None:
                    if completion.error is not None:
                        self._fail(completion.ready, completion.error)
                    ready.extend(deliver(completion.ready, completion.outputs))
        except Exception as e:
            if propagator.failed_node >= 0:
                reraise(e, self._node(propagator.failed_node))
            raise

    def _start(self, ready: Ready, is_last: bool) -> Any:
        """Runs or starts a node; its outputs when they are there already."""
        kernel, context = self._payloads[ready.node], self._context
        kind = self._plan.nodes[ready.node].kind
        try:
            if kind == PlanKind.CLUSTER:
                return kernel.run(ready.inputs, context.recorder)
            if kind == PlanKind.HOST:
                if type(kernel) is LoopKernel:
                    return kernel.run(ready.inputs, context.recorder, self._check)
                if not kernel.expensive or (is_last and not self._pending and self._deadline is None):
                    return kernel.run(ready.inputs, context.recorder)
                self._executor.threads.submit(lambda: self._in_pool(ready, kernel))
            elif kind == PlanKind.SEND:
                kernel.send(ready.inputs, ready.is_dead, ready.tag, context)
                return ()
            elif kind == PlanKind.RECV:
                kernel.recv(ready.tag, context, self._received(ready))
            else:
                done = self._finished(ready)
                reason = kernel.start(ready.inputs, ready.is_dead, ready.tag, context, done)
                if reason is not None:
                    self._reasons[ready] = reason
        except Exception as e:
            self._fail(ready, e)
        self._pending += 1
        return None

    def _in_pool(self, ready: Ready, kernel: Any) -> None:
        try:
            self._done.put(_Completion(ready, kernel.run(ready.inputs, self._context.recorder)))
        except BaseException as e:
            self._done.put(_Completion(ready, None, e))

    def _received(self, ready: Ready) -> Callable[[Received | None, BaseException | None], None]:
        recorder = self._context.recorder
        start = recorder.now_us() if recorder is not None else 0.0

        def done(item: Received | None, error: BaseException | None) -> None:
            if recorder is not None:
                name, waker = self._plan.name(ready.node), recorder.thread()
                recorder.span(WAIT, name, start, detail="waits for its Send", lane="receive", woken_by=waker)
            outputs = None if item is None else DEAD if item.is_dead else (item.value,)
            self._done.put(_Completion(ready, outputs, error))

        return done

    def _finished(self, ready: Ready) -> Callable[..., None]:
        def done(outputs: Sequence[Value] | None, error: BaseException | None = None) -> None:
            self._done.put(_Completion(ready, outputs, error))

        return done

    def _recorded_done(self, ready: Ready, outputs: Any) -> Any:
        """The propagator's `done`, noting how long it takes."""
        recorder = self._context.recorder
        assert recorder is not None
        start = recorder.now_us()
        found = self._propagator.done(ready, outputs)
        recorder.span(SCHEDULE, "propagator", start, detail=f"after {self._plan.name(ready.node)}")
        return found

    def _next(self) -> _Completion:
        """Waits for a completion."""
        recorder = self._context.recorder
        if recorder is None:
            return self._await()
        start = recorder.now_us()
        completion = self._await()
        if completion.ready is not None:
            recorder.span(WAIT, f"wait for {self._plan.name(completion.ready.node)}", start)
        return completion

    def _await(self) -> _Completion:
        while True:
            if self._outer is not None and self._outer.error is not None:
                raise self._outer.error
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
            return _Completion(None)
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
        if self._outer is not None and self._outer.error is not None:
            raise self._outer.error
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise DeadlineExceededError(
                f"the step was not done within {self._timeout} s\n{self.explain()}"
            )

    def explain(self) -> str:
        """Who waits for what, and for which event of a queue or the like."""
        reasons = [
            f"'{self._plan.name(ready.node)}': {reason()}"
            for ready, reason in self._reasons.items()
        ]
        return "\n".join([*reasons, self._propagator.explain()])

    def _node(self, index: int) -> Any:
        node = getattr(self._payloads[index], "node", None)
        return node or _Named(self._plan.name(index), self._plan.nodes[index].kind.name)

    def _fail(self, ready: Ready, error: BaseException) -> NoReturn:
        reraise(error, self._node(ready.node))

    # ---- the end ---------------------------------------------------------------------------

    def _fetch(self) -> list[np.ndarray]:
        results = self._propagator.results()
        for (node, slot), value in zip(self._plan.fetches, results, strict=True):
            if value is DEAD:
                raise InvalidArgumentError(
                    f"output {slot} of '{self._plan.name(node)}' has no value: it is on a branch that was not taken",
                    self._node(node),
                )
        self._await_devices()
        return [to_host(v) for v in results]

    def _await_devices(self) -> None:
        for device in self._executor.devices:
            if self._context.recorder is not None and self._deadline is None:
                _recorded_wait(device, self._context.recorder)
            ticket = device.fence()
            if ticket is None:
                continue
            while self._deadline is not None and not ticket.poll():
                self._check()
                time.sleep(_POLL)
            ticket.wait()

    def _stop(self, error: BaseException) -> None:
        """Wakes all that waits, and returns when nothing of the step runs any more."""
        self._propagator.cancel()
        late = isinstance(error, DeadlineExceededError)
        reason = CancelledError(f"the step was stopped: {error}")
        reason.__cause__ = error
        self._context.rendezvous.abort(reason)
        self._context.cancellation.cancel(reason)
        end = time.monotonic() + _GRACE if late else None
        while self._pending:
            try:
                left = None if end is None else max(end - time.monotonic(), 0.0)
                completion = self._done.get(timeout=left)
            except Empty:
                break
            self._pending -= completion.ready is not None
        if not late:
            for device in self._executor.devices:
                device.synchronize()
