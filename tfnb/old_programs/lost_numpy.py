"""What NumPy had at the time of TensorFlow 1.x and lost since: names, methods of arrays, texts of bytes, ragged arrays.

Invariant: what NumPy has today stays as it is, and other libraries still get its error for lists of unequal length.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import inspect
import math
import site
import sys
import sysconfig
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np

from tfnb.ir.tensor import array_of_tensors

__all__ = ["add_missing", "give_back_numpy"]

_TYPES = (bool, int, float, complex, object, str)
# The name of the time, and what NumPy calls the same thing today.
_RENAMED = {
    "AxisError": "exceptions.AxisError",
    "ComplexWarning": "exceptions.ComplexWarning",
    "Inf": "inf",
    "Infinity": "inf",
    "NAN": "nan",
    "NaN": "nan",
    "PINF": "inf",
    "RankWarning": "exceptions.RankWarning",
    "VisibleDeprecationWarning": "exceptions.VisibleDeprecationWarning",
    "alltrue": "all",
    "bool8": "bool_",
    "bytes0": "bytes_",
    "cfloat": "complex128",
    "chararray": "char.chararray",
    "complex_": "complex128",
    "cumproduct": "cumprod",
    "float_": "float64",
    "in1d": "isin",
    "infty": "inf",
    "int0": "intp",
    "longcomplex": "clongdouble",
    "longfloat": "longdouble",
    "mat": "asmatrix",
    "object0": "object_",
    "product": "prod",
    "round_": "round",
    "row_stack": "vstack",
    "singlecomplex": "complex64",
    "sometrue": "any",
    "str0": "str_",
    "string_": "bytes_",
    "trapz": "trapezoid",
    "typeDict": "sctypeDict",
    "uint0": "uintp",
    "unicode_": "str_",
    "void0": "void",
}


class _Casts(dict[Any, Callable[[Any], np.ndarray]]):
    """What `np.cast` was: `np.cast[dtype]` makes arrays of that dtype."""

    def __missing__(self, dtype: Any) -> Callable[[Any], np.ndarray]:
        return lambda value: np.asarray(value).astype(dtype)


def give_back_numpy() -> None:
    """Gives NumPy in this process what programs of the time use and it no longer has."""
    for kind in _TYPES:
        add_missing(np, kind.__name__, kind)
    add_missing(np, "long", int)
    add_missing(np, "unicode", str)
    add_missing(np, "math", math)
    add_missing(np, "NINF", -np.inf)
    add_missing(np, "PZERO", 0.0)
    add_missing(np, "NZERO", -0.0)
    for old, new in _RENAMED.items():
        try:
            add_missing(np, old, attrgetter(new)(np))
        except AttributeError:  # NumPy 1 has the old name
            continue
    add_missing(np, "cast", _Casts())
    add_missing(np, "asscalar", lambda a: np.asarray(a).item())
    add_missing(np, "msort", lambda a: np.sort(a, axis=0))
    add_missing(np, "alen", lambda a: len(np.atleast_1d(a)))
    add_missing(np, "asfarray", _float_array)
    for name, value in list(vars(np).items()):
        if _is_of_lib(value):
            add_missing(np.lib, name, value)
    for name in ("array", "asarray"):
        setattr(np, name, _of_the_time(getattr(np, name)))
    if "newshape" not in inspect.signature(np.reshape).parameters:  # NumPy 2.1 calls it `shape`
        np.reshape = _with_newshape(np.reshape)
    np.fromstring = _of_bytes(np.fromstring)
    np.meshgrid = _with_a_list(np.meshgrid)
    kinds: tuple[Any, ...] = (np.ndarray, np.generic)
    for kind in kinds:
        for name, method in {"tostring": kind.tobytes, "ptp": _peak_to_peak, "newbyteorder": _other_bytes}.items():
            _add_method(kind, name, method)
    _add_method(np.ndarray, "itemset", _set_item)


def add_missing(module: Any, name: str, value: object) -> None:
    """Gives a module a name that it does not have."""
    # NumPy warns and raises where a lost name is asked for, so its dictionary is looked at.
    if name not in vars(module):
        setattr(module, name, value)


def _is_of_lib(value: object) -> bool:
    """Says whether a function of NumPy is defined in `numpy.lib`, which also had its name."""
    function = getattr(value, "__wrapped__", value)
    return str(getattr(function, "__globals__", {}).get("__name__")).startswith("numpy.lib.")


def _add_method(kind: type, name: str, method: Callable[..., Any]) -> None:
    """Gives a type that is written in C a method that it does not have."""
    if hasattr(kind, name):
        return
    [methods] = gc.get_referents(kind.__dict__)
    methods[name] = method
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


def _float_array(a: Any, dtype: Any = np.float64) -> np.ndarray:
    return np.asarray(a, dtype if np.issubdtype(dtype, np.inexact) else np.float64)


def _peak_to_peak(self: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Returns the greatest element minus the smallest one, along an axis."""
    most, least = self.max(axis, keepdims=keepdims), self.min(axis, keepdims=keepdims)
    return np.subtract(most, least) if out is None else np.subtract(most, least, out=out)


def _other_bytes(self: Any, new_order: str = "S") -> Any:
    """Returns the same bytes, read in another order."""
    return self.view(self.dtype.newbyteorder(new_order))


def _set_item(self: np.ndarray, *args: Any) -> None:
    """Sets one element: `(value)` of an array of one, `(index, value)`, where an integer counts all elements."""
    *place, value = args
    if place and not isinstance(place[0], tuple):
        self.flat[place[0]] = value
    elif not place and self.size != 1:
        raise ValueError("can only convert an array of size 1 to a Python scalar")
    else:
        self[place[0] if place else ...] = value


def _wraps(make: Callable[..., Any], made: Callable[..., Any]) -> Callable[..., Any]:
    """Returns `made` with the name of `make`, or `make` if it already is such a function."""
    if hasattr(make, "given_back"):
        return make
    functools.update_wrapper(made, make)
    vars(made)["given_back"] = True
    return made


def _with_newshape(reshape: Callable[..., Any]) -> Callable[..., Any]:
    """Returns `reshape`, whose second argument may be called `newshape`."""

    def reshaped(*args: Any, **kwargs: Any) -> Any:
        if "newshape" in kwargs:
            kwargs["shape"] = kwargs.pop("newshape")
        return reshape(*args, **kwargs)

    return _wraps(reshape, reshaped)


def _with_a_list(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns `function` with a list instead of the tuple that it returns from NumPy 2 on."""
    return _wraps(function, lambda *args, **kwargs: list(function(*args, **kwargs)))


def _of_bytes(fromstring: Callable[..., Any]) -> Callable[..., Any]:
    """Returns `fromstring`, which also makes an array of the bytes of numbers, as it does without a separator."""

    def made(string: Any, dtype: Any = float, count: int = -1, *, sep: str = "", **kwargs: Any) -> np.ndarray:
        if sep or kwargs:
            return fromstring(string, dtype, count, sep=sep, **kwargs)
        return np.frombuffer(string.encode("latin-1") if isinstance(string, str) else string, dtype, count).copy()

    return _wraps(fromstring, made)


def _of_the_time(make: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Returns `make`, with the meanings of the time in a program's own calls.

    Of lists of unequal length and of lists of tensors it makes an array of objects, and with `copy=False` it copies
    where it must.
    """

    def made(*args: Any, **kwargs: Any) -> np.ndarray:
        try:
            return make(*args, **kwargs)
        except ValueError as error:
            objects = array_of_tensors(args[0]) if args else None
            if objects is not None and not _of_a_library(sys._getframe(1).f_code.co_filename):
                return objects
            wanted = kwargs.get("dtype", args[1] if len(args) > 1 else None)
            changed: dict[str, Any] = {}
            if wanted is None and "inhomogeneous" in str(error):
                changed = {"dtype": object}
            elif kwargs.get("copy", True) is False and "avoid copy" in str(error):
                changed = {"copy": None}
            if not changed or _of_a_library(sys._getframe(1).f_code.co_filename):
                raise
        return made(*args, **kwargs | changed)

    return _wraps(make, made)


@functools.cache
def _library_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    return (paths["stdlib"], paths["purelib"], paths["platlib"], *site.getsitepackages())


def _of_a_library(file: str) -> bool:
    return file.startswith(_library_folders())
