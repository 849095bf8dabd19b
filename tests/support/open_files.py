"""The files that this process has open in a folder."""

from __future__ import annotations

import os
from pathlib import Path


def open_files_under(folder: Path) -> list[str]:
    """Return the paths below ``folder`` for which this process has an open descriptor.

    A count of all descriptors would also count those that other threads of the process open meanwhile.
    """
    found = []
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            target = os.readlink(descriptor)
        except FileNotFoundError:  # the descriptor was closed after the folder was listed
            continue
        if Path(target).is_relative_to(folder):
            found.append(target)
    return found
