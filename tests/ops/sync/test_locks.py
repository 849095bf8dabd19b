"""Locks of graphs: who holds one, and what happens to one that is dropped."""

from __future__ import annotations

import threading

from tfnb.ir.opdef import AsyncCall, HostCall
from tfnb.ops.sync.accumulators import Mutex
from tfnb.ops.sync.waiting_list import Attempt

SECONDS = 120  # which nothing here takes, however busy the machine


def call(answers):
    return AsyncCall(HostCall(None, {}, (), None), answers.append, answers.append, lambda callback: lambda: None)


def test_one_that_is_dropped_is_given_back():
    mutex, first, second = Mutex("m"), [], []
    mutex.lock(call(first))
    mutex.lock(call(second))
    assert len(first) == 1 and not second
    first.clear()
    assert len(second) == 1


def test_one_may_be_dropped_while_its_thread_looks_at_the_line():
    """Garbage is collected at any moment, also while the line of the same lock is held."""
    mutex, first, second, third = Mutex("m"), [], [], []
    mutex.lock(call(first))

    def step(attempt):
        first.clear()  # as the collector does
        attempt.result = "seen"
        return True

    def work():
        mutex._lines.submit("MutexLock", Attempt(call(second), step))
        mutex.lock(call(third))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(SECONDS)
    assert not thread.is_alive()
    assert second == ["seen"] and len(third) == 1
