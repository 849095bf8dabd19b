"""What a master and a task have agreed on: which feeds and fetches of a step are the task's (OSDI'16, section 3.3).

Invariant: a feed, a fetch and the times of a step have the same keys on both sides.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["FEED", "FETCH", "TIMES", "Assignment"]

# Keys in the step's rendezvous begin so. A number follows FEED and FETCH, a task's name follows TIMES.
FEED, FETCH, TIMES = "feed ", "fetch ", "times "


class Assignment(NamedTuple):
    """The numbers of the feeds that the parts of one task read, and of the fetches that they compute.

    `n_feeds` counts the feeds of the whole step. On the wire this is a list of the four fields.
    """

    task: str
    feeds: tuple[int, ...]
    fetches: tuple[int, ...]
    n_feeds: int
