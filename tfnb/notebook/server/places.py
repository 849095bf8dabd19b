"""Paths that a browser sends become files inside the folder that the server serves, or an error.

Invariant: what is given back exists, is a regular file or a folder, and lies below the root after all links have been
followed. What is outside and what is not there are told in the same words.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable

from tfnb.errors import NotFoundError

__all__ = ["inside_only", "place_of"]


def place_of(root: str, path: str, hidden: bool = False) -> str:
    """The absolute path of `path`, which is told from `root` with slashes. Raises `NotFoundError`.

    hidden: whether names that begin with a dot may be asked for.
    """
    parts = [part for part in path.split("/") if part]
    missing = NotFoundError(f"there is no {path[:200]!r} in the served folder")
    for part in parts:
        strange = part in (".", "..") or os.path.basename(part) != part or os.path.splitdrive(part)[0]
        if strange or "\0" in part or (part.startswith(".") and not hidden):
            raise missing
    base = os.path.realpath(root)
    try:
        found = os.path.realpath(os.path.join(base, *parts), strict=True)
        mode = os.stat(found).st_mode
    except (OSError, ValueError):
        raise missing from None
    if not _below(base, found, hidden) or not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise missing
    return found


def inside_only(root: str, hidden: bool = False) -> Callable[[str], bool]:
    """A test of files met on the way through a folder: is it a regular file below `root`, links followed?"""
    base = os.path.realpath(root)

    def admits(path: str) -> bool:
        try:
            found = os.path.realpath(path, strict=True)
            return _below(base, found, hidden) and stat.S_ISREG(os.stat(found).st_mode)
        except OSError:
            return False

    return admits


def _below(base: str, found: str, hidden: bool) -> bool:
    try:
        if os.path.commonpath([base, found]) != base:
            return False
    except ValueError:  # on other drives
        return False
    inner = os.path.relpath(found, base).split(os.sep)
    return hidden or not any(part.startswith(".") and part != "." for part in inner)
