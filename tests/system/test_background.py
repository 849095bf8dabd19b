"""Tasks of the background run one after the other, and their thread ends with them."""

import os
import threading

import pytest

from tfnb.system.background import Background


def threads_of(name):
    return [t for t in threading.enumerate() if t.name == name]


def test_tasks_run_in_order_and_no_thread_is_left():
    work, done = Background("tfnb-test-order"), []
    for i in range(100):
        work.add(lambda i=i: done.append(i))
    work.wait()
    assert done == list(range(100))
    for thread in threads_of("tfnb-test-order"):
        thread.join(5)
    assert not threads_of("tfnb-test-order")


def test_many_threads_add_tasks_and_one_at_a_time_runs():
    work, running, most, done = Background("tfnb-test-many"), [], [], []

    def task():
        running.append(1)
        most.append(len(running))
        done.append(1)
        running.pop()

    def add():
        for _ in range(200):
            work.add(task)

    adders = [threading.Thread(target=add) for _ in range(16)]
    for thread in adders:
        thread.start()
    for thread in adders:
        thread.join()
    work.wait()
    assert len(done) == 3200
    assert max(most) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_begins_without_tasks():
    work, hold = Background("tfnb-test-fork"), threading.Event()
    work.add(hold.wait)
    work.add(hold.wait)
    child = os.fork()
    if not child:
        work.after_fork()
        done = []
        work.add(lambda: done.append(1))
        work.wait()
        os._exit(len(done))
    hold.set()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    work.wait()
