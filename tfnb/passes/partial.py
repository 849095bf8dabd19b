"""Partial runs: a graph that takes feeds and returns fetches while it runs (`Session.partial_run`).

A fed edge becomes an asynchronous node that waits for its value, and a fetch becomes a node that returns its value.
Invariant: every node runs once, however many calls of `partial_run` the step takes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty
from typing import Any

import numpy as np

from tfnb.ir.opdef import LOCAL, NOT_DIFFERENTIABLE, AsyncCall, HostCall, Kind, OpDef
from tfnb.ir.step_graph.edit import EditNode, GraphEdit
from tfnb.ir.step_graph.graph import Edge, Graph
from tfnb.ir.tensor import Tensor
from tfnb.ops.sync.waiting_list import Attempt, Lines
from tfnb.system.interrupts import LONGEST_WAIT, HeldInterrupts
from tfnb.system.timed_queue import TimedQueue
from tfnb.types import ANY, Shape, unknown_shape

__all__ = ["Exchange", "fed_parts", "feeds_behind", "in_parts"]

_FEED = "Feed"


class Exchange:
    """The values that go into and come out of one running step, by the number of the feed or fetch."""

    def __init__(self) -> None:
        self._lines: dict[int, Lines] = {}
        self._fed: dict[int, np.ndarray] = {}
        self._lock = threading.Lock()
        self._wake_queues: list[TimedQueue[None]] = []  # one for each thread that waits
        self._fetched: dict[int, Any] = {}
        self._error: BaseException | None = None

    def _line(self, key: int) -> Lines:
        with self._lock:
            return self._lines.setdefault(key, Lines(_FEED))

    def feed(self, key: int, value: np.ndarray) -> None:
        line = self._line(key)
        with line.lock:
            self._fed[key] = value
        line.poke()

    def receive(self, call: AsyncCall, key: int) -> Callable[[], str]:
        """Finishes `call` with the value of a feed once that value is given."""

        def step(attempt: Attempt) -> bool:
            if key not in self._fed:
                return False
            attempt.result = (self._fed[key],)
            return True

        self._line(key).submit(_FEED, Attempt(call, step))
        return lambda: "waits to be fed by partial_run"

    def hand_out(self, key: int, value: np.ndarray | None) -> None:
        self._fetched[key] = value
        self._wake_all()

    def fail(self, error: BaseException) -> None:
        self._error = error
        self._wake_all()

    def _wake_all(self) -> None:
        for wake_queue in list(self._wake_queues):
            wake_queue.put(None)

    def take(self, key: int) -> Any:
        """Waits for the value of a fetch and returns it, once. Raises the error of the step."""
        wake_queue: TimedQueue[None] = TimedQueue()
        with HeldInterrupts(lambda: wake_queue.put(None)) as held:
            self._wake_queues.append(wake_queue)
            try:
                while key not in self._fetched:
                    if self._error is not None:
                        raise self._error
                    held.check()  # the step runs in another thread
                    with suppress(Empty):
                        wake_queue.get(timeout=LONGEST_WAIT)
                return self._fetched.pop(key)
            finally:
                self._wake_queues.remove(wake_queue)


@dataclass(frozen=True, eq=False)
class PartAttrs:
    """Attributes: `key` is the number of the feed or fetch, `exchange` the object through which its value passes."""

    key: int = 0
    shape: Shape = unknown_shape
    exchange: Exchange | None = field(default=None, repr=False, metadata=LOCAL)


def _receive(call: AsyncCall) -> Callable[[], str]:
    attrs: PartAttrs = call.host.attrs
    assert attrs.exchange is not None
    return attrs.exchange.receive(call, attrs.key)


def _hand_out(call: HostCall[PartAttrs], *value: np.ndarray) -> tuple[()]:
    assert call.attrs.exchange is not None
    call.attrs.exchange.hand_out(call.attrs.key, value[0] if value else None)
    return ()


_PART_FEED: OpDef[Tensor] = OpDef(
    "_PartFeed",
    "",
    "value: dtype",
    "A value that is fed to a running step.",
    types={"dtype": ANY},
    attrs=PartAttrs,
    infer=lambda c: c.attrs.shape,
    start=_receive,
    kind=Kind.ASYNC,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)
_PART_FETCH: OpDef[EditNode] = OpDef(
    "_PartFetch",
    "value: T",
    "",
    "Hands a value out of a running step.",
    types={"T": ANY},
    attrs=PartAttrs,
    host=_hand_out,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)
_PART_DONE: OpDef[EditNode] = OpDef(
    "_PartDone",
    "",
    "",
    "Tells that an operation of a running step has run.",
    attrs=PartAttrs,
    host=_hand_out,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)


def in_parts(graph: Graph, exchange: Exchange) -> Graph:
    """Returns the graph whose feeds and fetches pass through `exchange`.

    Feeds are numbered in their order; fetches are numbered in their order, followed by targets."""
    edit = GraphEdit(graph)
    table: dict[Edge, Edge] = {}
    for k, e in enumerate(graph.feeds):
        edit.at(edit.nodes[e.id])
        spec = graph.spec(e)
        t = _PART_FEED(dtype=spec.dtype, key=k, shape=spec.shape, exchange=exchange, graph=edit)
        table[e] = Edge(t.op.id, 0)
    edit.redirect_all(table)
    targets = []
    for k, e in enumerate(edit.fetches):
        edit.at(edit.nodes[e.id])
        targets.append(_PART_FETCH(edit.tensor(e), key=k, exchange=exchange, graph=edit).id)
    for k, i in enumerate(edit.targets, len(edit.fetches)):
        edit.at(edit.nodes[i])
        done_node = _PART_DONE(key=k, exchange=exchange, graph=edit)
        done_node.control = (i,)
        targets.append(done_node.id)
    edit.fetches, edit.feeds, edit.targets = [], [], targets
    return edit.freeze()


def fed_parts(graph: Graph) -> dict[int, frozenset[int]]:
    """Returns the partial feeds that each node needs, by node id; empty for a graph without partial feeds.

    Nodes that need different feeds must not form one cluster."""
    if not any(n.opdef is _PART_FEED for n in graph.nodes.values()):
        return {}
    feeds: dict[int, frozenset[int]] = {}
    for i in graph.order:
        node = graph.nodes[i]
        own_feeds = [frozenset([i])] if node.opdef is _PART_FEED else []
        feeds_of_inputs = [feeds[j] for j in (*(e.id for e in node.inputs), *node.control) if j in feeds]
        feeds[i] = frozenset().union(*own_feeds, *feeds_of_inputs)
    return feeds


def feeds_behind(graph: Graph) -> list[set[int]]:
    """Returns for each fetch, and then for each target, the numbers of the feeds that it needs."""
    numbers = {e.id: k for k, e in enumerate(graph.feeds)}
    feeds = []
    for root in (*(e.id for e in graph.fetches), *graph.targets):
        seen: set[int] = set()
        stack = [root]
        while stack:
            i = stack.pop()
            if i not in seen:
                seen.add(i)
                node = graph.nodes[i]
                stack += [*(e.id for e in node.inputs), *node.control]
        feeds.append({numbers[i] for i in seen if i in numbers})
    return feeds
