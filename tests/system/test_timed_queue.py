"""Queues whose reader may stop waiting."""

import threading
import time
from queue import Empty

import pytest

from tfnb.system.timed_queue import TimedQueue


def test_items_come_in_their_order_and_an_empty_queue_says_so():
    queue = TimedQueue()
    assert queue.empty()
    for i in range(3):
        queue.put(i)
    assert not queue.empty()
    assert [queue.get(), queue.get(timeout=0.0), queue.get(timeout=1.0)] == [0, 1, 2]
    began = time.monotonic()
    with pytest.raises(Empty):
        queue.get(timeout=0.05)
    assert time.monotonic() - began >= 0.05


def test_no_short_wait_lasts_for_ever():
    """`queue.SimpleQueue` hangs here within seconds, where several threads compete for a core."""

    def wait_shortly():
        for timeout in (1e-9, 1e-7, 1e-6, 5e-6) * 5:
            queue = TimedQueue()
            for _ in range(1000):
                with pytest.raises(Empty):
                    queue.get(timeout=timeout)

    threads = [threading.Thread(target=wait_shortly, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def test_no_item_of_many_threads_is_lost():
    queue, per_thread = TimedQueue(), 5000

    def fill(first):
        for i in range(first, first + per_thread):
            queue.put(i)

    threads = [threading.Thread(target=fill, args=(k * per_thread,)) for k in range(4)]
    for thread in threads:
        thread.start()
    seen = []
    while len(seen) < 4 * per_thread:
        try:
            seen.append(queue.get(timeout=None if len(seen) % 3 else 1e-4))
        except Empty:
            assert any(t.is_alive() for t in threads) or not queue.empty()
    for thread in threads:
        thread.join()
    assert sorted(seen) == list(range(4 * per_thread)) and queue.empty()
