"""`python -m benchmarks.many_tasks`: what a step costs its master, against the number of tasks that have part in it.

The master's own code (`Master._run`, its connections, its messages) calls null tasks: processes that answer each call
at once and compute nothing. A line is fitted to the measured times and followed to 1,000 tasks: the master is saturated
where the overhead of a step reaches the time that its tasks work.
"""

from __future__ import annotations

import argparse
import ast
import statistics
import subprocess
import sys
import time
from typing import Any

import numpy as np

from tfnb.session.config import ConfigProto
from tfnb.session.dask.master.master import Master, RegisteredParts
from tfnb.session.dask.master.step_replies import StepReplies
from tfnb.session.dask.task.assignment import Assignment
from tfnb.session.dask.task.step_table import step_number
from tfnb.session.dask.task.task import Task
from tfnb.session.dask.task_names import task_name
from tfnb.session.dask.transport.channel import Channel, Peer
from tfnb.session.dask.transport.wire import Kind, Message

PROCESSES = 4
WORK = (0.001, 0.01, 0.1)  # seconds that the tasks of a step work


def serve(n: int) -> None:
    """`n` null tasks in this process; prints how they are reached and ends with its input."""
    nothing = np.zeros(0, np.uint8)

    def make() -> Channel:
        def answer(head: Any, value: Any, stream: Any) -> None:
            if head.kind is Kind.CALL:  # its key says which task this is
                stream.send([Message(Kind.REPLY, head.step, head.key, nothing)])

        return Channel("127.0.0.1", answer, lambda e: None)

    channels = [make() for _ in range(n)]
    print([list(c.peer) for c in channels], flush=True)
    sys.stdin.read()


class _FixedMembership:
    """A membership in which every task is reached, always."""

    security, answer_timeout, version = None, 10.0, 0

    def __init__(self) -> None:
        self.members: dict[str, Any] = {}

    def on_lost(self, callback: Any) -> None:
        pass

    def wait_for(self, names: list[str], prefix: int, timeout: float) -> None:
        pass

    def describe_wait(self) -> str:
        return "nothing"

    def epochs(self, names: Any) -> dict[str, int]:
        return dict.fromkeys(names, 1)

    def close(self) -> None:
        pass


def measure(peers: list[Peer], steps: int) -> float:
    """Median seconds of a step of this master that has all these tasks."""
    names = [task_name("worker", i) for i in range(len(peers))]
    local_task = Task(task_name("client", 0), "127.0.0.1", ConfigProto())
    membership: Any = _FixedMembership()
    master = Master(ConfigProto(), local_task, membership, [local_task.name], local_task.name)
    local_task.meet(dict(zip(names, peers, strict=True)))
    took = []
    for i in range(steps):
        start = time.perf_counter()
        number = step_number(master.number, i + 1)
        run = local_task.begin(number)
        replies = StepReplies(names, lambda e, k=number: local_task.stop(k, e), run.poller, None)  # type: ignore[misc]
        # the handle is the task's name, which is what a null task answers with
        for name in names:
            local_task.call(run, Assignment(name, (), (), 0), name, [], None, replies.add)
        registered = RegisteredParts("", None, (), {}, (), 0)
        replies.wait(None, until_error=True)
        master._run(run, registered, replies, [], None, 0, None)
        local_task.end(number)
        took.append(time.perf_counter() - start)
    master.close()
    local_task.close()
    return statistics.median(took[steps // 5 :])


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.many_tasks", description=__doc__)
    parser.add_argument("--serve", type=int)
    parser.add_argument("--tasks", type=int, nargs="*", default=[1, 4, 16, 64, 128, 256])
    parser.add_argument("--steps", type=int, default=60)
    args = parser.parse_args()
    if args.serve:
        serve(args.serve)
        return
    each = -(-max(args.tasks) // PROCESSES)
    command = [sys.executable, "-m", "benchmarks.many_tasks", "--serve", str(each)]
    children = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(PROCESSES)
    ]
    try:
        listed = [[Peer(*p) for p in ast.literal_eval(c.stdout.readline())] for c in children if c.stdout is not None]
        peers = [p for row in zip(*listed, strict=True) for p in row]
        found = [(n, measure(peers[:n], args.steps)) for n in args.tasks]
    finally:
        for c in children:
            c.kill()
            c.wait()
    print(f"{'tasks':>6} {'messages':>9} {'ms a step':>10} {'us a task':>10}")
    for n, took in found:
        print(f"{n:6} {2 * n:9} {1e3 * took:10.2f} {1e6 * took / n:10.1f}")
    slope, base = np.polyfit([n for n, _ in found], [t for _, t in found], 1)
    print(f"model: {1e3 * base:.2f} ms + {1e6 * slope:.1f} us a task")
    print(f"{1000:6} {2000:9} {1e3 * (base + 1000 * slope):10.2f} {1e6 * (slope + base / 1000):10.1f}  (by the model)")
    for work in WORK:
        print(f"tasks that work {1e3 * work:g} ms a step: saturated from {max((work - base) / slope, 0):.0f} tasks on")


if __name__ == "__main__":
    main()
