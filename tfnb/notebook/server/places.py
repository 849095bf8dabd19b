"""Turns a path from a browser into a file inside the folder that the server serves, or raises an error.

Invariant: the result exists, is a regular file or a folder, and lies below the root after all links are followed. The
error does not reveal whether a path outside of the root exists.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable

from tfnb.errors import NotFoundError

__all__ = ["inside_only", "place_of"]


def place_of(root: str, path: str, hidden: bool = False) -> str:
    """Returns the absolute path of `path`, which is relative to `root` and has slashes. Raises `NotFoundError`.

    hidden: whether names that begin with a dot are allowed.
    """
    parts = [part for part in path.split("/") if part]
    not_found = NotFoundError(f"there is no {path[:200]!r} in the served folder")
    for part in parts:
        is_unsafe = part in (".", "..") or os.path.basename(part) != part or os.path.splitdrive(part)[0]
        if is_unsafe or "\0" in part or (part.startswith(".") and not hidden):
            raise not_found
    base = os.path.realpath(root)
    try:
        resolved = os.path.realpath(os.path.join(base, *parts), strict=True)
        mode = os.stat(resolved).st_mode
    except (OSError, ValueError):
        raise not_found from None
    if not _below(base, resolved, hidden) or not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise not_found
    return resolved


def inside_only(root: str, hidden: bool = False) -> Callable[[str], bool]:
    """Returns a predicate for paths: whether a path is a regular file below `root`, after following links."""
    base = os.path.realpath(root)

    def admits(path: str) -> bool:
        try:
            resolved = os.path.realpath(path, strict=True)
            return _below(base, resolved, hidden) and stat.S_ISREG(os.stat(resolved).st_mode)
        except OSError:
            return False

    return admits


def _below(base: str, path: str, hidden: bool) -> bool:
    try:
        if os.path.commonpath([base, path]) != base:
            return False
    except ValueError:  # the paths are on different drives
        return False
    inner = os.path.relpath(path, base).split(os.sep)
    return hidden or not any(part.startswith(".") and part != "." for part in inner)
