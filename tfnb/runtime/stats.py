"""When everything of a traced step ran: kernels, host work, transfers, waits (white paper, section 9.2).

A step without a recorder pays nothing for it; one with a recorder notes tuples, and asks the devices for the times of
kernels when the step is over. Invariant: all times are microseconds of one clock whose zero is the step's begin.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tfnb.ir.step_graph.graph import Node

__all__ = ["COMPILE", "HOST", "KERNEL", "LAUNCH", "SCHEDULE", "TRANSFER", "WAIT", "NodeTime", "StepStats"]

HOST = "host"  # a host kernel; also the name of the device that host threads belong to
KERNEL = "kernel"  # a launch on a device
LAUNCH = "launch"  # the host binds and enqueues the kernels of a cluster
COMPILE = "compile"  # a cluster meets new shapes
SCHEDULE = "schedule"  # the propagator
TRANSFER = "transfer"  # a value goes to a device, or comes from one
WAIT = "wait"  # a thread, or an asynchronous operation, waits


class NodeTime(NamedTuple):
    """What ran from `start_us` to `end_us` on `lane` (a queue of `device`, or a host thread).

    `nodes` are the ids of the graph nodes it computed, `nbytes` what it touched; `detail` says in words what a wait
    was for, and `woken_by` names the thread that ended it.
    """

    device: str
    label: str
    nodes: tuple[int, ...]
    start_us: float
    end_us: float
    nbytes: int = 0
    kind: str = KERNEL
    lane: str = ""
    detail: str = ""
    woken_by: str = ""


class StepStats:
    """Collects the times of one step; filled from many threads (appending is atomic).

    `begin` is the step's begin by `time.perf_counter`, `wall_us` how long it took once `close` was called.
    """

    def __init__(self) -> None:
        self.begin = time.perf_counter()
        self.wall_us = 0.0
        self.times: list[Any] = []  # tuples of the fields of NodeTime; cheaper to make than it
        self._later: list[Callable[[], None]] = []
        self._threads: dict[int, str] = {}

    def now_us(self) -> float:
        """Microseconds since the step began."""
        return (time.perf_counter() - self.begin) * 1e6

    def thread(self) -> str:
        """The name of the calling thread, as lanes have it."""
        ident = threading.get_ident()
        name = self._threads.get(ident)
        if name is None:
            name = self._threads[ident] = threading.current_thread().name
        return name

    def launch(
        self,
        device: str,
        queue: str,
        label: str,
        nodes: tuple[int, ...],
        start_us: float,
        end_us: float,
        nbytes: int,
    ) -> None:
        """A device kernel ran."""
        self.times.append((device, label, nodes, start_us, end_us, nbytes, KERNEL, queue))

    def later(self, report: Callable[[], None]) -> None:
        """`report` will call `launch` for kernels that run now; asked when the step is over."""
        self._later.append(report)

    def host(self, node: Node, start_us: float, nbytes: int = 0) -> None:
        """A host kernel of `node` ran until now."""
        end = self.now_us()
        self.times.append((HOST, node.name, (node.id,), start_us, end, nbytes, HOST, self.thread()))

    def span(
        self,
        kind: str,
        label: str,
        start_us: float,
        nbytes: int = 0,
        detail: str = "",
        nodes: tuple[int, ...] = (),
        lane: str = "",
        woken_by: str = "",
    ) -> None:
        """Something else went on until now, on the calling thread unless `lane` names another."""
        end = self.now_us()
        where = lane or self.thread()
        self.times.append((HOST, label, nodes, start_us, end, nbytes, kind, where, detail, woken_by))

    def close(self) -> None:
        """The step is over: asks the devices for what they have not told yet."""
        if not self.wall_us:
            self.wall_us = self.now_us()
        waiting, self._later = self._later, []
        for report in waiting:
            report()

    def in_order(self, *kinds: str) -> Sequence[NodeTime]:
        """What ran, by start; of the given kinds only, if any are."""
        self.close()
        found = (NodeTime(*t) for t in self.times)
        return sorted((t for t in found if not kinds or t.kind in kinds), key=lambda t: (t.start_us, -t.end_us))
