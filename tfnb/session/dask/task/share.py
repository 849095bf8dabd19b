"""What a master and a task have agreed on: who the master is, and which part of its steps the task has (OSDI'16,
section 3.3).

Invariant: a feed, a fetch and the times of a step have the same keys on both sides.
"""

from __future__ import annotations

from typing import NamedTuple

from tfnb.runtime.executor import Executor
from tfnb.session.dask.task.reading import Reading
from tfnb.session.dask.transport.channel import Peer

__all__ = ["FEED", "FETCH", "TIMES", "MasterHere", "Registered", "Share"]

FEED, FETCH, TIMES = "feed ", "fetch ", "times "


class Share(NamedTuple):
    """What one task has of a step: the numbers of the feeds that it reads, and of the fetches that it makes."""

    task: str
    feeds: tuple[int, ...]
    fetches: tuple[int, ...]
    n_feeds: int  # of the whole step


class MasterHere(NamedTuple):
    """A master that watches this task: its own task, and how that is reached.

    `floor`: of its steps up to this number only those that run are not over.
    """

    name: str
    peer: Peer
    floor: int = 0


class Registered(NamedTuple):
    """A task's parts of a step."""

    executor: Executor
    share: Share
    reading: Reading | None
