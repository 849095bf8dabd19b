"""A part of a step without control flow: its kernels in the order in which their inputs come (OSDI'16, section 3.3).

What a parameter server does in a step is a read and a Send; the propagator's frames, and the loop around them, cost
several times that. Invariant: it does what `Step` does for the same plan, dead values of other tasks included, and is
used only where nothing can block but a Recv.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tfnb.devices.interface import Device
from tfnb.errors import CancelledError, InternalError, InvalidArgumentError
from tfnb.ir.interrupts import HeldInterrupts
from tfnb.runtime.cancel import Cancellation
from tfnb.runtime.frames import DEAD
from tfnb.runtime.kernels import ClusterKernel, HostKernel, StepContext, reraise
from tfnb.runtime.plan import PlanKind
from tfnb.runtime.rendezvous import Received, Rendezvous
from tfnb.runtime.step import PlanPart
from tfnb.runtime.values import Value, to_host

__all__ = ["Straight"]

_RUN, _SEND, _RECV, _PASS = range(4)
_KINDS = {
    PlanKind.CLUSTER: _RUN, PlanKind.HOST: _RUN, PlanKind.SEND: _SEND, PlanKind.RECV: _RECV, PlanKind.FEED: _PASS,
    PlanKind.NO_OP: _PASS,
}  # fmt: skip


def _fits(part: PlanPart) -> bool:
    """Is there nothing but kernels that run at once, Sends and Recvs?"""
    for node, kernel in zip(part.plan.nodes, part.payloads, strict=True):
        if node.kind not in _KINDS:
            return False
        if node.kind == PlanKind.HOST and (type(kernel) is not HostKernel or kernel.expensive):
            return False
        if node.kind == PlanKind.CLUSTER and type(kernel) is not ClusterKernel:
            return False
    return len(part.plan.frames) == 1


class _Stage(NamedTuple):
    """What one node does; then nobody reads the outputs of the nodes in `free` any more."""

    node: int
    what: int
    kernel: Any
    sources: tuple[tuple[int, int], ...]
    free: tuple[int, ...]


def _nothing() -> None:
    pass


class Straight:
    """Runs one part, from many threads at once."""

    @classmethod
    def of(cls, parts: Sequence[PlanPart], devices: Sequence[Device]) -> Straight | None:
        """For these parts of a step at one task; None where they need more."""
        return cls(parts[0], devices) if len(parts) == 1 and _fits(parts[0]) else None

    def __init__(self, part: PlanPart, devices: Sequence[Device]) -> None:
        plan = part.plan
        self._part, self._devices = part, devices
        self._what = [_KINDS[n.kind] for n in plan.nodes]
        self._sources = [n.inputs for n in plan.nodes]
        self._controls = [n.control for n in plan.nodes]
        self._counts = [len(n.inputs) + len(n.control) for n in plan.nodes]
        self._targets: list[list[int]] = [[] for _ in plan.nodes]
        for i, node in enumerate(plan.nodes):
            for source in (*(s for s, _ in node.inputs), *node.control):
                self._targets[source].append(i)
        roots = [i for i, count in enumerate(self._counts) if not count and plan.nodes[i].kind != PlanKind.FEED]
        self._uses = [len(t) for t in self._targets]  # how many nodes read a node's outputs, or wait for it
        for source, _ in plan.fetches:
            self._uses[source] += 1
        self._roots = sorted(roots, key=lambda i: self._what[i] == _RECV)  # from the end: Recvs begin first
        self._order = None if _RECV in self._what else self._in_order()

    @property
    def waits(self) -> bool:
        """Is there a Recv?"""
        return self._order is None

    def _in_order(self) -> list[_Stage]:
        """All nodes but the feeds, each after what it needs: without Recvs nothing else decides."""
        plan, counts, uses = self._part.plan, self._counts.copy(), self._uses.copy()
        ready = [*plan.feeds, *self._roots]
        order: list[_Stage] = []
        while ready:
            node = ready.pop(0)
            free = []
            for source, _ in self._sources[node]:
                uses[source] -= 1
                if not uses[source]:
                    free.append(source)
            if plan.nodes[node].kind != PlanKind.FEED:
                kernel = self._part.payloads[node]
                order.append(_Stage(node, self._what[node], kernel, self._sources[node], tuple(free)))
            for target in self._targets[node]:
                counts[target] -= 1
                if not counts[target]:
                    ready.append(target)
        return order

    def run(
        self, feeds: Sequence[Value], rendezvous: Rendezvous, cancellation: Cancellation | None
    ) -> list[np.ndarray]:
        """As `Executor.run`."""
        with HeldInterrupts() as held:
            return self._run(feeds, rendezvous, cancellation or Cancellation(), held)

    def _run(
        self, feeds: Sequence[Value], rendezvous: Rendezvous, cancellation: Cancellation, held: HeldInterrupts
    ) -> list[np.ndarray]:
        running = None if self._order is not None else _Pass(self, rendezvous, cancellation, held)
        withdraw = _nothing if running is None else cancellation.on_cancel(running.wake)
        try:
            return self._at_once(feeds, rendezvous, cancellation) if running is None else running.run(feeds)
        except BaseException as e:
            reason = CancelledError(f"the step was stopped: {e}")
            reason.__cause__ = e
            rendezvous.abort(reason)
            if e is not cancellation.error:
                for device in self._devices:
                    device.synchronize()
            raise
        finally:
            withdraw()
            held.wake = None

    def _at_once(
        self, feeds: Sequence[Value], rendezvous: Rendezvous, cancellation: Cancellation
    ) -> list[np.ndarray]:
        """Without Recvs there is nothing to wait for, and no value is dead."""
        part, context = self._part, StepContext(rendezvous, cancellation)
        outputs: list[Any] = [None] * len(self._counts)
        if part.plan.feeds:
            mine = range(len(feeds)) if part.feeds is None else part.feeds
            for node, k in zip(part.plan.feeds, mine, strict=True):
                outputs[node] = (feeds[k],)
        for node, what, kernel, sources, free in self._order or ():
            if cancellation.error is not None:
                raise cancellation.error
            values = [outputs[source][slot] for source, slot in sources]
            try:
                if what == _RUN:
                    values = kernel.run(values, None)
                elif what == _SEND:
                    kernel.send(values, False, "", context)
                    values = []
            except Exception as e:
                reraise(e, kernel.node)
            outputs[node] = values
            for source in free:
                outputs[source] = None
        return self._fetched(outputs)

    def _fetched(self, outputs: Sequence[Any]) -> list[np.ndarray]:
        """The values of the fetches, on the host, when all devices are done."""
        part = self._part
        fetches = part.plan.fetches
        places = range(len(fetches)) if part.fetches is None else part.fetches
        found: dict[int, Value] = {}
        for place, (node, slot) in zip(places, fetches, strict=True):
            value = outputs[node][slot]
            if value is DEAD:
                what = f"output {slot} of '{part.plan.name(node)}'"
                blamed = getattr(part.payloads[node], "node", None)
                raise InvalidArgumentError(f"{what} has no value: it is on a branch that was not taken", blamed)
            found[place] = value
        for device in self._devices:
            ticket = device.fence()
            if ticket is not None:
                ticket.wait()
        return [to_host(found[k]) for k in range(len(found))]


class _Pass:
    """One run."""

    def __init__(
        self, straight: Straight, rendezvous: Rendezvous, cancellation: Cancellation, held: HeldInterrupts
    ) -> None:
        self._s = straight
        self._held = held
        self._context = StepContext(rendezvous, cancellation)
        self._cancellation = cancellation
        self._counts = straight._counts.copy()
        self._uses = straight._uses.copy()
        self._left = len(self._counts)
        self._outputs: list[Any] = [None] * self._left
        self._dead: set[int] = set()
        self._ready = straight._roots.copy()
        self._inbox = rendezvous.inbox()
        held.wake = self._interrupted

    def run(self, feeds: Sequence[Value]) -> list[np.ndarray]:
        part, ready = self._s._part, self._ready
        mine = range(len(feeds)) if part.feeds is None else part.feeds
        for node, k in zip(part.plan.feeds, mine, strict=True):
            self._done(node, (feeds[k],))
        while True:
            while ready:
                self._start(ready.pop())
            if not self._left:
                return self._s._fetched(self._outputs)
            self._receive()

    def _start(self, node: int) -> None:
        if self._cancellation.error is not None:
            raise self._cancellation.error
        s, outputs = self._s, self._outputs
        kernel, what = s._part.payloads[node], s._what[node]
        try:
            if what == _RECV:
                kernel.recv("", self._context, self._hearing(node))
                return
            dead = bool(self._dead) and self._is_dead(node)
            inputs = [outputs[source][slot] for source, slot in s._sources[node]]
            if what == _SEND:
                kernel.send(inputs, dead, "", self._context)
                inputs = []
            elif what == _RUN and not dead:
                inputs = kernel.run(inputs, None)
        except Exception as e:
            reraise(e, kernel.node)
        if dead:
            self._dead.add(node)
            inputs = [DEAD] * s._part.plan.nodes[node].n_outputs
        self._done(node, inputs)

    def _is_dead(self, node: int) -> bool:
        s, dead = self._s, self._dead
        return any(i in dead for i in s._controls[node]) or any(i in dead for i, _ in s._sources[node])

    def _done(self, node: int, outputs: Sequence[Any]) -> None:
        self._outputs[node] = outputs
        self._left -= 1
        counts = self._counts
        for target in self._s._targets[node]:
            counts[target] = count = counts[target] - 1
            if not count:
                self._ready.append(target)
        uses = self._uses
        for source, _ in self._s._sources[node]:  # a buffer is free as soon as its last reader is done
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
        kernel = self._s._part.payloads[node]
        if item is None:
            reraise(error or InternalError("a Recv got neither a value nor an error"), kernel.node)
        if item.is_dead or (self._dead and self._is_dead(node)):
            self._dead.add(node)
            self._done(node, (DEAD,))
            return
        try:
            value = kernel.take(item.value)
        except Exception as e:
            reraise(e, kernel.node)
        self._done(node, (value,))
