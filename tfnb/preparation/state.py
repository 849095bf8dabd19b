"""Whether a cache is prepared, and the start of a preparation beside this process.

Invariant: this module imports no part of the engine, so a notebook can look at each start.
"""

from __future__ import annotations

from pathlib import Path

from tfnb.disk_cache import DiskCache
from tfnb.release import VERSION
from tfnb.settings import load_settings
from tfnb.system.children import start_child

__all__ = ["MARK", "is_prepared", "start"]

MARK = f"prepared-{VERSION}"


def is_prepared(cache: Path) -> bool:
    """Returns whether the kernels of typical models were compiled into this cache."""
    return DiskCache(cache).has_mark(MARK)


def start() -> None:
    """Starts the preparation in a second process, which ends with this one, unless it is done or not wanted."""
    settings = load_settings()
    if settings.prepare and not is_prepared(settings.cache_path):
        start_child("tfnb", ["prepare", "--for-parent"])
