"""The times of a traced step: kernels, host work, transfers, waits (white paper, section 9.2).

A step without a recorder has no overhead. A step with a recorder appends tuples, and requests the times of kernels from
the devices after its end. Invariant: all times are microseconds of one clock, which is zero when the step begins.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tfnb.ir.step_graph.graph import Node

__all__ = ["COMPILE", "HOST", "KERNEL", "LAUNCH", "SCHEDULE", "TRANSFER", "WAIT", "NodeTime", "StepStats"]

HOST = "host"  # a host kernel; also the name of the device to which host threads belong
KERNEL = "kernel"  # a launch on a device
LAUNCH = "launch"  # the host sets the arguments of the kernels of a cluster and enqueues them
COMPILE = "compile"  # a cluster is compiled for new shapes
SCHEDULE = "schedule"  # the propagator decides which nodes may run
TRANSFER = "transfer"  # a value is copied to a device or from one
WAIT = "wait"  # a thread, or an asynchronous operation, waits


class NodeTime(NamedTuple):
    """An event that lasted from `start_us` to `end_us` on `lane` (a queue of `device`, or a host thread).

    `nodes` are the ids of the graph nodes that the event computed, and `nbytes` is the number of bytes that it read and
    wrote. `detail` describes the reason of a wait, and `woken_by` names the thread that ended the wait.
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
    """Collects the times of one step. Many threads add to it, which is safe because appending to a list is atomic.

    `begin` is the time at which the step began, by `time.perf_counter`. `wall_us` is its duration in microseconds,
    after `close` was called.
    """

    def __init__(self) -> None:
        self.begin = time.perf_counter()
        self.wall_us = 0.0
        self.times: list[Any] = []  # the fields of each NodeTime as a tuple, which is created faster
        self._later: list[Callable[[], None]] = []
        self._threads: dict[int, str] = {}

    def now_us(self) -> float:
        """Microseconds since the step began."""
        return (time.perf_counter() - self.begin) * 1e6

    def thread(self) -> str:
        """The name of the calling thread, which is also the name of its lane."""
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
        """Records a kernel that ran on `queue` of `device`. `nodes` are the ids of its graph nodes."""
        self.times.append((device, label, nodes, start_us, end_us, nbytes, KERNEL, queue))

    def later(self, report: Callable[[], None]) -> None:
        """Registers a function that calls `launch` for kernels that run now. `close` calls it after the step."""
        self._later.append(report)

    def host(self, node: Node, start_us: float, nbytes: int = 0) -> None:
        """Records a host kernel of `node`, which ran from `start_us` until now on the calling thread."""
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
        """Records an event of another kind, from `start_us` until now.

        `lane` is the calling thread unless it is given.
        """
        end = self.now_us()
        lane_name = lane or self.thread()
        self.times.append((HOST, label, nodes, start_us, end, nbytes, kind, lane_name, detail, woken_by))

    def close(self) -> None:
        """Ends the step and requests the times from the devices that have not reported them yet."""
        if not self.wall_us:
            self.wall_us = self.now_us()
        reports, self._later = self._later, []
        for report in reports:
            report()

    def in_order(self, *kinds: str) -> Sequence[NodeTime]:
        """The events in the order of their start. With `kinds`, only the events of these kinds. Calls `close`."""
        self.close()
        events = (NodeTime(*t) for t in self.times)
        return sorted((t for t in events if not kinds or t.kind in kinds), key=lambda t: (t.start_us, -t.end_us))
