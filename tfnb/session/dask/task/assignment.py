"""The feeds and fetches of a step that belong to one task, as its master and the task know them (OSDI'16, 3.3).

Invariant: a feed, a fetch and the times of a step have the same keys on both sides.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["FEED", "FETCH", "TIMES", "Assignment"]

# Prefixes of keys in the step's rendezvous. A number follows FEED and FETCH, and the name of a task follows TIMES.
FEED, FETCH, TIMES = "feed ", "fetch ", "times "


class Assignment(NamedTuple):
    """The numbers of the feeds that the parts of one task read, and of the fetches that they compute.

    `n_feeds` counts the feeds of the whole step. On the wire this is a list of the four fields.
    """

    task: str
    feeds: tuple[int, ...]
    fetches: tuple[int, ...]
    n_feeds: int
