"""Third-party libraries that only a few host kernels need, imported when the first of these kernels runs.

This keeps `import tfnb` fast: a program that decodes no image never loads Pillow. Invariant: every library named here
is a dependency of the package, so a failed import means an incomplete installation.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from tfnb.errors import UnimplementedError

__all__ = ["library"]

_imported: dict[str, ModuleType] = {}


def library(name: str, package: str, what: str) -> ModuleType:
    """Returns the imported module `name`.

    When it is missing, raises `UnimplementedError` with the package to install. What was imported is kept, since an
    object that is destroyed at the end of the process finds no module any more.
    """
    module = _imported.get(name)
    if module is not None:
        return module
    try:
        return _imported.setdefault(name, import_module(name))
    except ImportError as e:
        raise UnimplementedError(f"{what} needs the package {package}: pip install {package} ({e})") from e
