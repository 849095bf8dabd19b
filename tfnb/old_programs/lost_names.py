"""What Python and NumPy had at the time of TensorFlow 1.x and lost since: names, and arrays of lists of unequal length.

`tfnb run` gives it back to a program's process. Invariant: what Python or NumPy has today stays as it is, and other
libraries still get NumPy's error for lists of unequal length.
"""

from __future__ import annotations

import collections
import collections.abc
import functools
import inspect
import site
import sys
import sysconfig
import time
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["give_back"]

_TYPES = (bool, int, float, complex, object, str)
_RENAMED = {
    "float_": "float64",
    "complex_": "complex128",
    "unicode_": "str_",
    "string_": "bytes_",
    "NaN": "nan",
    "Inf": "inf",
    "infty": "inf",
    "product": "prod",
    "cumproduct": "cumprod",
    "alltrue": "all",
    "sometrue": "any",
    "in1d": "isin",
    "row_stack": "vstack",
    "trapz": "trapezoid",
}


def give_back() -> None:
    """Gives Python and NumPy in this process what programs of the time use and they no longer have."""
    for name in collections.abc.__all__:
        if not hasattr(collections, name):
            setattr(collections, name, getattr(collections.abc, name))
    _add(time, "clock", time.process_time)
    _add(inspect, "getargspec", _arguments)
    for kind in _TYPES:
        _add(np, kind.__name__, kind)
    _add(np, "long", int)
    for old, new in _RENAMED.items():
        if hasattr(np, new):
            _add(np, old, getattr(np, new))
    for name in ("array", "asarray"):
        setattr(np, name, _ragged(getattr(np, name)))
    np.reshape = _with_newshape(np.reshape)


def _add(module: Any, name: str, value: object) -> None:
    # NumPy warns and raises where a lost name is asked for, so its dictionary is looked at.
    if name not in vars(module):
        setattr(module, name, value)


def _arguments(function: Callable[..., Any]) -> tuple[Any, ...]:
    """Returns (args, varargs, keywords, defaults) of a function, as `inspect.getargspec` did."""
    ArgSpec = collections.namedtuple("ArgSpec", "args varargs keywords defaults")
    return ArgSpec(*inspect.getfullargspec(function)[:4])


def _with_newshape(reshape: Callable[..., Any]) -> Callable[..., Any]:
    """Returns `reshape`, whose second argument may be called `newshape`."""
    if hasattr(reshape, "given_back"):
        return reshape

    @functools.wraps(reshape)
    def reshaped(*args: Any, **kwargs: Any) -> Any:
        if "newshape" in kwargs:
            kwargs["shape"] = kwargs.pop("newshape")
        return reshape(*args, **kwargs)

    vars(reshaped)["given_back"] = True
    return reshaped


def _ragged(make: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Returns `make`, which for a program's own calls makes an array of objects of lists of unequal length."""
    if hasattr(make, "given_back"):
        return make

    @functools.wraps(make)
    def made(*args: Any, **kwargs: Any) -> np.ndarray:
        try:
            return make(*args, **kwargs)
        except ValueError as error:
            wanted = kwargs.get("dtype", args[1] if len(args) > 1 else None)
            if (
                wanted is not None
                or "inhomogeneous" not in str(error)
                or _of_a_library(sys._getframe(1).f_code.co_filename)
            ):
                raise
            return make(*args, **kwargs | {"dtype": object})

    vars(made)["given_back"] = True
    return made


@functools.cache
def _library_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    return (paths["stdlib"], paths["purelib"], paths["platlib"], *site.getsitepackages())


def _of_a_library(file: str) -> bool:
    return file.startswith(_library_folders())
