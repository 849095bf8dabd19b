"""pyopencl's module of functions that set the arguments of kernels, also where the user's home cannot be written.

pyopencl keeps the code of these functions in a folder below the home, and cannot be imported where there is none. It is
then told to make them anew in each process.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import pyopencl as cl

__all__ = ["invoker"]


def _imported() -> Any:
    hook = sys.unraisablehook
    sys.unraisablehook = lambda _: None  # a cache that is half made complains once more when it goes
    try:
        return import_module("pyopencl.invoker")
    except Exception:  # of the system or of the database in the folder
        cl._PYOPENCL_NO_CACHE = True
    finally:
        sys.unraisablehook = hook
    return import_module("pyopencl.invoker")


invoker = _imported()
