"""What NumPy had at the time of TensorFlow 1.x and lost since: names, methods of arrays, what functions take.

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
from types import GeneratorType, ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

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

# The dtypes that `np.sctypes` listed by their kind.
_KINDS = {
    "int": "int8 int16 int32 int64",
    "uint": "uint8 uint16 uint32 uint64",
    "float": "float16 float32 float64 longdouble",
    "complex": "complex64 complex128 clongdouble",
    "others": "bool object bytes str void",
}


class _Casts(dict[Any, Callable[[Any], np.ndarray]]):
    """What `np.cast` was: `np.cast[dtype]` makes arrays of that dtype."""

    def __missing__(self, dtype: npt.DTypeLike) -> Callable[[Any], np.ndarray]:
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
    kinds_of_numbers = {kind: [np.dtype(name).type for name in names.split()] for kind, names in _KINDS.items()}
    add_missing(np, "sctypes", kinds_of_numbers)
    add_missing(np, "nbytes", {k: np.dtype(k).itemsize for kinds in kinds_of_numbers.values() for k in kinds})
    add_missing(np, "obj2sctype", lambda rep, default=None: np.dtype(rep).type)
    add_missing(np, "issubsctype", np.issubdtype)
    add_missing(np, "find_common_type", lambda arrays, scalars: np.result_type(*arrays, *scalars))
    add_missing(np, "disp", lambda mesg, device=None, linefeed=True: print(mesg, end="\n" * linefeed, file=device))
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
    if repr(np.float64(1.0)) != "1.0":  # NumPy 2 names the type where a list of numbers is printed
        np.set_printoptions(legacy="1.25")
    arrays: tuple[Any, ...] = (np.ndarray, np.generic)
    for kind in arrays:
        for name, method in {"tostring": kind.tobytes, "ptp": _peak_to_peak, "newbyteorder": _other_bytes}.items():
            _add_method(kind, name, method)
    _add_method(np.ndarray, "itemset", _set_item)
    for name in ("__float__", "__int__", "__complex__"):
        _change_method(np.ndarray, name, _of_one_element)
    _change_method(np.ndarray, "__bool__", _empty_is_false)
    for name in ("vstack", "row_stack", "hstack", "dstack", "column_stack", "stack"):
        setattr(np, name, _of_iterators(getattr(np, name)))
    np.sum = _of_generators(np.sum)
    for name in ("histogram", "histogram2d", "histogramdd"):
        setattr(np, name, _with_normed(getattr(np, name)))
    for place, name in ((np, "save"), (np, "savez"), (np, "savez_compressed"), (np.random, "permutation")):
        setattr(place, name, _of_ragged_lists(getattr(place, name)))


def add_missing(module: ModuleType | type, name: str, value: object) -> None:
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


def _change_method(kind: type, name: str, change: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replaces a method of a type that is written in C, which Python forbids by a flag of such types."""
    method = getattr(kind, name)
    flags = ctypes.c_ulong.from_address(id(kind) + _FLAGS_OFFSET)
    if hasattr(method, "given_back") or flags.value != kind.__flags__:  # another Python has the flags elsewhere
        return
    changed = _wraps(method, change(method))
    flags.value &= ~_IMMUTABLE
    try:
        setattr(kind, name, changed)
    finally:
        flags.value |= _IMMUTABLE


# Where CPython keeps the flags of a type (behind 21 pointers), and the flag of a type that cannot be changed.
_FLAGS_OFFSET, _IMMUTABLE = 21 * ctypes.sizeof(ctypes.c_void_p), 1 << 8


def _of_one_element(convert: Callable[[np.ndarray], Any]) -> Callable[[np.ndarray], Any]:
    """Returns `convert`, which makes a number of an array of one element, of whatever rank; NumPy 2.4 refuses that."""

    def converted(self: np.ndarray) -> Any:
        if self.ndim and self.size != 1:
            raise TypeError("only size-1 arrays can be converted to Python scalars")
        return convert(self.reshape(()) if self.ndim else self)

    return converted


def _float_array(a: ArrayLike, dtype: npt.DTypeLike = np.float64) -> np.ndarray:
    return np.asarray(a, dtype if np.issubdtype(dtype, np.inexact) else np.float64)


def _peak_to_peak(self: np.ndarray | np.generic, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
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

    def made(string: Any, dtype: npt.DTypeLike = float, count: int = -1, *, sep: str = "", **kwargs: Any) -> np.ndarray:
        if sep or kwargs:
            return fromstring(string, dtype, count, sep=sep, **kwargs)
        return np.frombuffer(string.encode("latin-1") if isinstance(string, str) else string, dtype, count).copy()

    return _wraps(fromstring, made)


def _is_ragged(error: ValueError) -> bool:
    return "inhomogeneous" in str(error)


def _empty_is_false(truth: Callable[[np.ndarray], bool]) -> Callable[[np.ndarray], bool]:
    """Returns `truth`, which is False of an array without elements; NumPy 2.2 refuses that."""
    return lambda self: bool(self.size) and truth(self)


def _of_iterators(stack: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that stacks arrays, which may also come from an iterator or the values of a dict."""

    def stacked(arrays: object, *args: Any, **kwargs: Any) -> Any:
        if not hasattr(arrays, "__getitem__") and hasattr(arrays, "__iter__"):
            arrays = list(arrays)
        return stack(arrays, *args, **kwargs)

    return _wraps(stack, stacked)


def _of_generators(add: Callable[..., Any]) -> Callable[..., Any]:
    """Returns `np.sum`, which of a generator is Python's sum."""

    def total(a: object, *args: object, **kwargs: Any) -> Any:
        return sum(a) if isinstance(a, GeneratorType) else add(a, *args, **kwargs)

    return _wraps(add, total)


def _with_normed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns `function`, where `normed` is an earlier name of `density`."""

    def called(*args: Any, **kwargs: Any) -> Any:
        if "normed" in kwargs:
            kwargs["density"] = bool(kwargs.pop("normed"))
        return function(*args, **kwargs)

    return _wraps(function, called)


def _of_ragged_lists(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns `function`, which takes lists of lists of unequal length as arrays of objects."""

    def as_array(value: object) -> Any:
        if not isinstance(value, (list, tuple)):
            return value
        try:
            return np.asarray(value)
        except ValueError as error:
            if not _is_ragged(error):
                raise
        return np.asarray(value, object)

    def called(*args: Any, **kwargs: Any) -> Any:
        return function(*map(as_array, args), **{name: as_array(value) for name, value in kwargs.items()})

    return _wraps(function, called)


def _of_the_time(make: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Returns `make`, with the meanings of the time in a program's own calls.

    Of lists of unequal length and of lists of tensors it makes an array of objects, and with `copy=False` it copies
    where it must.
    """

    def made(*args: Any, **kwargs: Any) -> np.ndarray:
        try:
            return make(*args, **kwargs)
        except OverflowError:  # an integer that the dtype does not hold was wrapped around
            if _of_a_library(sys._getframe(1).f_code.co_filename):
                raise
            wanted = kwargs.pop("dtype", args[1] if len(args) > 1 else None)
            if wanted is None or np.dtype(wanted).kind not in "iu":
                raise
            return make(args[0], np.int64, *args[2:], **kwargs).astype(wanted)
        except ValueError as error:
            objects = array_of_tensors(args[0]) if args else None
            if objects is not None and not _of_a_library(sys._getframe(1).f_code.co_filename):
                return objects
            wanted = kwargs.get("dtype", args[1] if len(args) > 1 else None)
            changed: dict[str, Any] = {}
            if wanted is None and _is_ragged(error):
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
