"""Names of tasks: "/job:ps/replica:0/task:0" (white paper, section 3.1)."""

from __future__ import annotations

import re

from tfnb.caches import remembered

__all__ = ["is_task_name", "short_task_name", "task_name", "task_of"]


def task_name(job: str, index: int) -> str:
    """The full name of a job's task: for job "ps" and index 0 it is "/job:ps/replica:0/task:0"."""
    return f"/job:{job}/replica:0/task:{index}"


def is_task_name(name: object) -> bool:
    """Whether this is the full name of a task, as `task_name` makes it."""
    return (
        isinstance(name, str) and re.fullmatch(r"/job:[A-Za-z0-9_.-]{1,100}/replica:0/task:\d{1,9}", name) is not None
    )


@remembered("tasks of devices", 4096)
def task_of(device: str) -> str:
    """The full name of the task that has the device with this full name."""
    return device.rpartition("/device:")[0]


def short_task_name(task: str) -> str:
    """A short name of a task: "ps 0" for "/job:ps/replica:0/task:0". Any other text is returned unchanged."""
    matched = re.fullmatch(r"/job:([^/]+)/.*task:(\d+)", task)
    return f"{matched[1]} {matched[2]}" if matched else task
