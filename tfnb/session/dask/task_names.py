"""Names of tasks: "/job:ps/replica:0/task:0" (white paper, section 3.1)."""

from __future__ import annotations

import re

from tfnb.caches import remembered

__all__ = ["short_task_name", "task_name", "task_of"]


def task_name(job: str, index: int) -> str:
    """The full name of a job's task: "/job:ps/replica:0/task:0" of "ps" and 0."""
    return f"/job:{job}/replica:0/task:{index}"


@remembered("tasks of devices", 4096)
def task_of(device: str) -> str:
    """The task of a device, by their full names."""
    return device.rpartition("/device:")[0]


def short_task_name(task: str) -> str:
    """ "ps 0" of "/job:ps/replica:0/task:0"; any other text as it is."""
    matched = re.fullmatch(r"/job:([^/]+)/.*task:(\d+)", task)
    return f"{matched[1]} {matched[2]}" if matched else task
