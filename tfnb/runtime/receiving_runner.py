"""Runs a task's part without control flow whose kernels finish at once but for Recvs (OSDI'16, section 3.3).

A step over tasks is a few kernels and messages; the events of a `Step` cost more than they do. Invariant: it does what
`Step` does for the same plan, dead values of other tasks included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfnb.devices.interface import Device
from tfnb.errors import InternalError
from tfnb.runtime.cancel import Cancellation
from tfnb.runtime.frames import DEAD
from tfnb.runtime.kernels import StepContext, reraise
from tfnb.runtime.part import PlanPart, abort, fetched
from tfnb.runtime.plan import PlanKind
from tfnb.runtime.rendezvous import Received, Rendezvous
from tfnb.runtime.values import Value, to_host
from tfnb.system.interrupts import HeldInterrupts

__all__ = ["ReceivingRunner"]

_SEND, _RECV = int(PlanKind.SEND), int(PlanKind.RECV)


class ReceivingRunner:
    """Runs one part, from many threads at once."""

    def __init__(self, part: PlanPart, devices: Sequence[Device]) -> None:
        plan = part.plan
        self.part, self.devices = part, devices
        self.kinds = plan.kinds
        self.sources = [n.inputs for n in plan.nodes]
        self.counts = [len(n.inputs) + len(n.control) for n in plan.nodes]
        self.targets: list[list[int]] = [[] for _ in plan.nodes]
        for i, node in enumerate(plan.nodes):
            for source in (*(s for s, _ in node.inputs), *node.control):
                self.targets[source].append(i)
        self.uses = [len(t) for t in self.targets]  # how many nodes read a node's outputs, or wait for it
        for source, _ in plan.fetches:
            self.uses[source] += 1
        roots = [i for i, count in enumerate(self.counts) if not count and i not in plan.feeds]
        self.roots = sorted(roots, key=lambda i: self.kinds[i] == _RECV)  # from the end: Recvs begin first

    def run(
        self, feeds: Sequence[Value], rendezvous: Rendezvous, cancellation: Cancellation | None
    ) -> list[np.ndarray]:
        """As `Executor.run`."""
        cancellation = cancellation or Cancellation()
        with HeldInterrupts() as held:
            running = _Run(self, rendezvous, cancellation, held)
            withdraw = cancellation.on_cancel(running.wake)
            try:
                return running.run(feeds)
            except BaseException as e:
                abort(rendezvous, e)
                if e is not cancellation.error:
                    for device in self.devices:
                        device.synchronize()
                raise
            finally:
                withdraw()
                held.wake = None


class _Run:
    """One run."""

    def __init__(
        self, runner: ReceivingRunner, rendezvous: Rendezvous, cancellation: Cancellation, held: HeldInterrupts
    ) -> None:
        self._r = runner
        self._held = held
        self._context = StepContext(rendezvous)
        self._cancellation = cancellation
        self._counts = runner.counts.copy()
        self._uses = runner.uses.copy()
        self._left = len(self._counts)
        self._outputs: list[Any] = [None] * self._left
        self._dead: set[int] = set()
        self._ready = runner.roots.copy()
        self._inbox = rendezvous.inbox()
        held.wake = self._interrupted

    def run(self, feeds: Sequence[Value]) -> list[np.ndarray]:
        part, ready = self._r.part, self._ready
        for node, value in zip(part.plan.feeds, part.own_feeds(feeds), strict=True):
            self._done(node, (value,))
        while True:
            while ready:
                self._start(ready.pop())
            if not self._left:
                break
            self._receive()
        values = fetched([(part, [self._outputs[node][slot] for node, slot in part.plan.fetches])])
        for device in self._r.devices:
            ticket = device.fence()
            if ticket is not None:
                ticket.wait()
        return [to_host(value) for value in values]

    def _start(self, node: int) -> None:
        if self._cancellation.error is not None:
            raise self._cancellation.error
        r, outputs = self._r, self._outputs
        kernel, kind = r.part.payloads[node], r.kinds[node]
        try:
            if kind == _RECV:
                kernel.recv("", self._context, self._hearing(node))
                return
            dead = bool(self._dead) and self._is_dead(node)
            inputs = [outputs[source][slot] for source, slot in r.sources[node]]
            if kind == _SEND:
                kernel.send(inputs, dead, "", self._context)
                inputs = []
            elif kernel is not None and not dead:
                inputs = kernel.run(inputs, None)
        except Exception as e:
            reraise(e, r.part.node(node))
        if dead:
            self._dead.add(node)
            inputs = [DEAD] * r.part.plan.nodes[node].n_outputs
        self._done(node, inputs)

    def _is_dead(self, node: int) -> bool:
        dead = self._dead
        return any(i in dead for i in self._r.part.plan.nodes[node].control) or any(
            i in dead for i, _ in self._r.sources[node]
        )

    def _done(self, node: int, outputs: Sequence[Any]) -> None:
        self._outputs[node] = outputs
        self._left -= 1
        counts = self._counts
        for target in self._r.targets[node]:
            counts[target] = count = counts[target] - 1
            if not count:
                self._ready.append(target)
        uses = self._uses
        for source, _ in self._r.sources[node]:  # a buffer is free as soon as its last reader is done
            uses[source] = count = uses[source] - 1
            if not count:
                self._outputs[source] = None

    def _hearing(self, node: int) -> Callable[[Received | None, BaseException | None], None]:
        put = self._inbox.put
        return lambda item, error: put((node, item, error))

    def wake(self, error: BaseException) -> None:
        """Called from any thread when the step is cancelled: it may be waiting."""
        self._inbox.put((-1, None, error))

    def _interrupted(self) -> None:
        """Called in the main thread by Ctrl-C."""
        self._inbox.put((-1, None, self._held.error))

    def _receive(self) -> None:
        """Waits for the next value from elsewhere."""
        self._context.rendezvous.flush()
        node, item, error = self._inbox.get()
        self._held.check()
        if self._cancellation.error is not None:
            raise self._cancellation.error
        part = self._r.part
        if item is None:
            reraise(error or InternalError("a Recv got neither a value nor an error"), part.node(node))
        if item.is_dead or (self._dead and self._is_dead(node)):
            self._dead.add(node)
            self._done(node, (DEAD,))
            return
        try:
            value = part.payloads[node].take(item.value)
        except Exception as e:
            reraise(e, part.node(node))
        self._done(node, (value,))
