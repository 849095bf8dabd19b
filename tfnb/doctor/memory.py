"""The check of the memory that a process may have: of the machine, of its control group, and of its own limit.

A container's limit is in the control group, which the machine's size does not show; beyond it the kernel of the system
ends the process without a word.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from tfnb.doctor.records import Record, megabytes

try:
    import resource
except ImportError:  # not a POSIX system
    resource = None  # type: ignore[assignment]

__all__ = ["check", "limit_of_group"]

_ENOUGH = 1 << 30  # bytes: the tutorials take at most 0.7 GB
_LEAST = 384 << 20  # bytes: a first step, in which PoCL compiles, takes 270 MB


def check(fix: bool) -> Iterator[Record]:
    """Yields a record on the smallest of the limits."""
    limits = {"the machine": _of_machine(), "the control group": limit_of_group(), "ulimit -v": _of_process()}
    known = {name: nbytes for name, nbytes in limits.items() if nbytes}
    if not known:
        yield Record("memory", "warning", "the system does not say how much memory there is", "free -m")
        return
    name = min(known, key=lambda key: known[key])
    nbytes = known[name]
    text = f"{megabytes(nbytes)} by {name}"
    if nbytes >= _ENOUGH:
        yield Record("memory", "ok", text)
        return
    command = "ulimit -v unlimited" if name == "ulimit -v" else "docker run --memory=2g ... (or a larger machine)"
    if nbytes < _LEAST:
        yield Record("memory", "wrong", f"{text}; a first step needs {megabytes(_LEAST)}", command)
    else:
        yield Record("memory", "warning", f"{text}; with {megabytes(_ENOUGH)} every tutorial runs", command)


def _of_machine() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0


def _of_process() -> int:
    if resource is None:
        return 0
    limit: int = resource.getrlimit(resource.RLIMIT_AS)[0]
    return 0 if limit == resource.RLIM_INFINITY else limit


def limit_of_group(root: Path = Path("/")) -> int:
    """Returns the bytes that the control groups of this process may have, the least of all above it; 0 without a limit.

    root: of the file system that has `proc/self/cgroup` and `sys/fs/cgroup`, of version 1 or 2.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return 0
    limits = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            base, name = root / "sys/fs/cgroup", "memory.max"
        elif "memory" in controllers.split(","):
            base, name = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes"
        else:
            continue
        group = base / path.lstrip("/")
        for folder in (group, *group.parents):
            if not folder.is_relative_to(base):
                break
            limits += _number_in(folder / name)
    return min(limits, default=0)


def _number_in(path: Path) -> list[int]:
    """The limit that stands in a file, unless it is none or means none."""
    try:
        text = path.read_text().strip()
    except OSError:
        return []
    return [int(text)] if text.isdigit() and int(text) < 1 << 60 else []
