"""Kernels that finish later: queue operations, locks, and other operations that wait for an event of another step.

White paper, section 4.6; OSDI'16, section 3.3. A kernel registers a continuation and returns, so no thread is blocked
while it waits. Invariant: each start is answered exactly once, with outputs or an error; after a cancellation the
answer follows soon.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from tfnb.ir.opdef import AsyncCall
from tfnb.runtime.kernels import Done, HostKernel, StepContext
from tfnb.runtime.stats import WAIT, StepStats
from tfnb.runtime.values import Value, nbytes_of

__all__ = ["AsyncOpKernel"]


class _Answer:
    """The answer to one start of a kernel. Only the first answer counts; later ones are dropped."""

    def __init__(self, kernel: AsyncOpKernel, step: StepContext, done: Done) -> None:
        self._kernel = kernel
        self._recorder = step.recorder
        self._start = step.recorder.now_us() if step.recorder is not None else 0.0
        self._caller = threading.get_ident()
        self._started = False  # whether `start` has returned
        self._reason = ""
        self._done = done
        self._lock = threading.Lock()

    def outputs(self, result: object) -> None:
        """Answers with the outputs of the node, to which the kernel converts `result`."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            outputs = self._kernel.finish(result)
        except Exception as e:
            self._done(None, e)
            return
        if self._recorder is not None:
            self._record(self._recorder, sum(nbytes_of(v) for v in outputs))
        self._done(outputs, None)

    def _record(self, recorder: StepStats, size: int) -> None:
        node = self._kernel.node
        if not self._started and threading.get_ident() == self._caller:
            recorder.host(node, self._start, size)
        else:
            waker = recorder.thread()
            recorder.span(WAIT, node.name, self._start, size, self._reason, (node.id,), "asynchronous", waker)

    def waits(self, reason: Callable[[], str] | None) -> None:
        """Notes that `start` has returned, and `reason`, which describes what the operation waits for."""
        self._started = True
        if reason is not None:
            self._reason = reason()

    def error(self, error: BaseException) -> None:
        """Answers with an error."""
        if self._lock.acquire(blocking=False):
            self._done(None, error)


class AsyncOpKernel(HostKernel):
    """Runs the `start` function of an op of kind ASYNC."""

    def start(
        self, inputs: Sequence[Value], is_dead: bool, tag: str, step: StepContext, done: Done
    ) -> Callable[[], str] | None:
        """Starts the operation; see `AsyncKernel`."""
        answer = _Answer(self, step, done)
        start = self.node.opdef.start
        assert start is not None  # an op of kind ASYNC has one
        call = AsyncCall(self.call, answer.outputs, answer.error, step.cancellation.on_cancel)
        reason: Callable[[], str] | None = start(call, *self.arrays(inputs))
        if step.recorder is not None:
            answer.waits(reason)
        return reason
