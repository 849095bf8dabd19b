"""The check of Python: its version against the one that the package asks for, and how tfnb is installed in it."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterator
from importlib import metadata

from tfnb.doctor.records import Record
from tfnb.doctor.requirements import FOLDER, install_again
from tfnb.release import VERSION

__all__ = ["check"]


def check(fix: bool) -> Iterator[Record]:
    """Yields a record on the version of Python, and one on the metadata of tfnb in it."""
    try:
        told = metadata.metadata("tfnb")
    except metadata.PackageNotFoundError:
        yield Record("python", "ok", f"Python {platform.python_version()}")
        yield Record(
            "python",
            "warning",
            f"tfnb is not installed in this Python, it was found in {FOLDER}; so its requirements are not known",
            install_again(),
        )
        return
    needed = told["Requires-Python"] or ""
    oldest = tuple(map(int, re.findall(r"\d+", needed)))
    if sys.version_info[: len(oldest)] < oldest:
        yield Record(
            "python",
            "wrong",
            f"Python {platform.python_version()} is too old; needed {needed}",
            "python3.12 -m venv NEW, and install tfnb there",
        )
    else:
        yield Record("python", "ok", f"Python {platform.python_version()} in {sys.prefix}, needed {needed}")
    if told["Version"] == VERSION:
        yield Record("python", "ok", f"tfnb {VERSION} in {FOLDER}")
    else:
        yield Record(
            "python",
            "warning",
            f"tfnb is {VERSION} in {FOLDER}, but was installed as {told['Version']}: requirements may have changed",
            install_again(),
        )
