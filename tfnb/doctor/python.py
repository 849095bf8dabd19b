"""The check of Python: its version against the one that the package asks for, and how tfnb is installed in it."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from tfnb.doctor.records import Record, pip_install
from tfnb.release import VERSION

__all__ = ["check"]

_FOLDER = Path(__file__).resolve().parents[2]  # what `import tfnb` was found in: site-packages, or a checkout


def check(fix: bool) -> Iterator[Record]:
    """Yields a record on the version of Python, and one on the metadata of tfnb in it."""
    try:
        told = metadata.metadata("tfnb")
    except metadata.PackageNotFoundError:
        yield Record("python", "ok", f"Python {platform.python_version()}")
        yield Record(
            "python",
            "warning",
            f"tfnb is not installed in this Python, it was found in {_FOLDER}; so its requirements are not known",
            _install_command(),
        )
        return
    needed = told["Requires-Python"] or ""
    oldest = tuple(map(int, re.findall(r"\d+", needed)))
    if sys.version_info[: len(oldest)] < oldest:
        yield Record(
            "python",
            "wrong",
            f"Python {platform.python_version()} is too old; needed {needed}",
            "python3 -m venv NEW && NEW/bin/python -m pip install tfnb, with a newer python3",
        )
    else:
        yield Record("python", "ok", f"Python {platform.python_version()} in {sys.prefix}, needed {needed}")
    if told["Version"] == VERSION:
        yield Record("python", "ok", f"tfnb {VERSION} in {_FOLDER}")
    else:
        yield Record(
            "python",
            "warning",
            f"tfnb is {VERSION} in {_FOLDER}, but was installed as {told['Version']}: requirements may have changed",
            _install_command(),
        )


def _install_command() -> str:
    return pip_install("--editable", str(_FOLDER)) if (_FOLDER / "pyproject.toml").exists() else pip_install("tfnb")
