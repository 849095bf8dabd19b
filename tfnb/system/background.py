"""Work that nobody waits for, done in a thread of its own that ends as soon as there is no more of it.

Invariant: tasks run one after the other in the order in which they came, and no thread is left when none waits.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from tfnb.system import threads

__all__ = ["Background"]


class Background:
    """A queue of tasks with a thread. All methods may be called from any thread.

    A process that ends waits for the task that is running, and drops those that have not begun.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._tasks: deque[Callable[[], None]] = deque()
        self._condition = threading.Condition()
        self._is_running = False

    def add(self, task: Callable[[], None]) -> None:
        """Appends a task. It must not raise. While Python is ending, it drops the task."""
        if threads.are_over():
            return
        with self._condition:
            self._tasks.append(task)
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._work, name=self._name).start()

    def wait(self) -> None:
        """Returns when no task is waiting or running."""
        with self._condition:
            self._condition.wait_for(lambda: not self._is_running)

    def after_fork(self) -> None:
        """Forgets all tasks in a forked process, which has no thread for them."""
        self._tasks.clear()
        self._condition = threading.Condition()
        self._is_running = False

    def _work(self) -> None:
        while True:
            with self._condition:
                if not self._tasks or not threading.main_thread().is_alive():
                    self._tasks.clear()
                    self._is_running = False
                    self._condition.notify_all()
                    return
                task = self._tasks.popleft()
            task()
