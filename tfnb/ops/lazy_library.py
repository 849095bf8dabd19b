"""Third-party libraries that only a few host kernels need, imported when the first of them runs.

`import tfnb` stays light: a program that decodes no image never loads Pillow. Invariant: every library named here is
a dependency of the package, so a failed import is an installation that lacks it.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from tfnb.errors import UnimplementedError

__all__ = ["library"]


def library(name: str, package: str, what: str) -> ModuleType:
    """The module `name`. Raises `UnimplementedError` naming the package to install when it is missing."""
    try:
        return import_module(name)
    except ImportError as e:
        raise UnimplementedError(f"{what} needs the package {package}: pip install {package} ({e})") from e
