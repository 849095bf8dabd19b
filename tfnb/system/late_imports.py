"""Imports in the `__del__` of the last objects, which may compile a step, save a checkpoint or open a session.

Python empties `sys.modules` before it destroys these objects, and removes the function `open`, so that every `import`
fails, also of what was imported long before: in NumPy's and pyopencl's C code, in codecs, in functions. `keep` lets the
modules of libraries stay. Invariant: no module of the user's stays, whose objects would then be destroyed only
after those of tfnb.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Sequence
from types import ModuleType

__all__ = ["keep"]

# What tfnb and its dependencies consist of, besides the standard library.
_LIBRARIES = {
    *("tfnb", "numpy", "scipy", "ml_dtypes", "pyopencl", "pytools", "platformdirs", "siphash24", "typing_extensions"),
    *("google", "tensorboard", "crc32c", "attr", "attrs", "PIL", "re2", "absl", "psutil", "cython_runtime"),
}
_SEARCH = ("argv", "path", "meta_path", "path_hooks", "path_importer_cache")  # what Python removes from `sys`


class _NoSecondCopy:
    """The finder that refuses modules that were loaded and do not stay: a second copy of one may crash."""

    def __init__(self, names: set[str]) -> None:
        self._names = names

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if name in self._names:
            raise ImportError(f"Python is ending and has dropped the module {name!r}", name=name)


class _Keeper:
    """An entry of `builtins`, which Python drops when `sys.modules` is empty and before it collects garbage."""

    def __init__(self) -> None:
        self._modules = {name: m for name, m in sys.modules.items() if m is not None and _is_of_library(name)}
        dropped = _NoSecondCopy(set(sys.modules) - set(self._modules))
        self._search = {name: getattr(sys, name, None) for name in _SEARCH}
        self._search["meta_path"] = [dropped, *sys.meta_path]
        self._own_sys, self._own_builtins, self._open = sys, builtins, open

    def __del__(self) -> None:
        if not self._own_sys.modules:  # else somebody else has removed the entry
            self._own_sys.modules.update(self._modules)
            vars(self._own_sys).update(self._search)
            self._own_builtins.open = self._open  # which is not among the first builtins, to which Python goes back


def keep() -> None:
    """Lets modules of libraries be importable until the last object is destroyed."""
    vars(builtins)["_tfnb_keeper"] = _Keeper()


def _is_of_library(name: str) -> bool:
    top = name.partition(".")[0]
    is_known = top in _LIBRARIES or top in sys.stdlib_module_names or top.startswith("_cython")
    return is_known and top not in ("__main__", "__mp_main__")
