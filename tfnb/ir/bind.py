"""Binding a call to a signature: flat inputs, type variables, attributes.

The user's graph and the edit of a pass both use it, so there is one place for the rules of conversion and type
inference. Invariant: after binding every type variable has one dtype and every input is a tensor.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np

from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.opdef import Arg, OpDef
from tfnb.ir.tensor import Tensor, TensorLike, is_tensor_like
from tfnb.types import Dimension, DType, as_dtype

__all__ = ["Bound", "bind", "flatten", "to_bytes", "to_numpy"]

_DEFAULTS: dict[type, Any] = {}  # of each attrs class the object without arguments, which all its nodes can share
_NAMES: dict[type, frozenset[str]] = {}  # the attributes of each attrs class
ToTensor = Callable[[Any, "DType | None", bool, str], Tensor]


@dataclass(eq=False, slots=True)
class Bound:
    """A call that fits its signature: `types` maps type variables to dtypes (lists for "[T]", ints for "N*")."""

    inputs: tuple[Tensor, ...]
    types: dict[str, Any]
    attrs: Any


def to_numpy(value: object, dtype: DType | None = None) -> np.ndarray:
    """Returns a Python or NumPy value as an array of `dtype`, by TensorFlow's rules.

    Without `dtype`, Python floats become float32, ints become int32 (int64 if they need it), and NumPy arrays and what
    converts itself into one keep their dtype. Raises `DTypeError` when a Python value does not fit `dtype` (a float for
    an integer tensor), and `InvalidArgumentError` for nested lists of different lengths.
    """
    if isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "__array__"):
        array = np.asarray(value)
        if array.dtype.kind == "O":
            array = _objects(array, dtype)
        if array.dtype.kind in "SU":
            array = to_bytes(array)
        array_dtype = as_dtype(array.dtype)
        return array if dtype is None or array_dtype is dtype else _convert(array, array_dtype, dtype, value)
    try:
        array = np.asarray(value)
    except UnicodeDecodeError:  # NumPy joins texts and bytes as ASCII
        array = np.asarray(value, object)
    except ValueError as e:
        raise InvalidArgumentError(
            f"Argument must be a dense tensor: cannot make a tensor of the ragged value {str(value)[:80]}: {e}"
        ) from None
    if array.dtype.kind in "SU":  # NumPy's own texts lose the zero bytes at their end
        objects = np.asarray(value, object)
        array = objects if _all_text(objects) else array
    if array.dtype.kind in "SU" or (array.dtype.kind == "O" and _all_text(array)):
        array, array_dtype = to_bytes(array), as_dtype("string")
    elif array.dtype.kind == "O":
        array = _objects(array, dtype)
        array_dtype = as_dtype(array.dtype)
    elif array.dtype == np.float64:
        array, array_dtype = array.astype(np.float32) if dtype is None else array, as_dtype("float32")
    elif array.dtype == np.int64:
        fits_int32 = array.size == 0 or (array.min() >= -(2**31) and array.max() < 2**31)
        array, array_dtype = (array.astype(np.int32), as_dtype("int32")) if fits_int32 else (array, as_dtype("int64"))
        if array.size == 0 and dtype is None and isinstance(value, (list, tuple)):
            array, array_dtype = array.astype(np.float32), as_dtype("float32")
    else:
        array_dtype = as_dtype(array.dtype)
    if dtype is None or (array_dtype is dtype and array.dtype == dtype.np):
        return array
    return _convert(array, array_dtype, dtype, value)


def flatten(value: TensorLike) -> Iterator[Any]:
    """The leaves of nested lists and tuples."""
    if isinstance(value, (list, tuple)):
        for v in value:
            yield from flatten(v)
    else:
        yield value


def to_bytes(array: np.ndarray) -> np.ndarray:
    """Returns an array of texts as TensorFlow's strings: an object array of bytes in UTF-8."""
    encoded = np.empty(array.shape, object)
    for i, x in np.ndenumerate(array):
        encoded[i] = x.encode() if isinstance(x, str) else bytes(x) if isinstance(x, np.bytes_) else x
    return encoded


def _all_text(array: np.ndarray) -> bool:
    return all(isinstance(x, (str, bytes)) for x in array.flat)


def _objects(array: np.ndarray, dtype: DType | None) -> np.ndarray:
    """Converts an array of Python objects: texts to bytes, and numbers to `dtype`.

    Raises `DTypeError` for other objects, and for numbers without a dtype.
    """
    if _all_text(array):
        return to_bytes(array)
    if any(isinstance(x, Dimension) for x in array.flat):  # as in tf.range(x.shape[0]), or among the paddings of tf.pad
        numbers = [int(x) if isinstance(x, Dimension) else x for x in array.flat]
        return to_numpy(np.asarray(numbers).reshape(array.shape).tolist(), dtype)
    if dtype is None or dtype.np.kind == "O" or not all(isinstance(x, (Number, np.bool_)) for x in array.flat):
        expected = f"Expected {dtype.name}: " if dtype else ""
        if any(isinstance(x, list | tuple | np.ndarray) for x in array.flat):
            raise DTypeError(
                f"{expected}Argument must be a dense tensor: cannot make a tensor of the ragged value "
                f"{array.tolist()!r:.80}: setting an array element with a sequence"
            )
        raise DTypeError(f"{expected}cannot make a tensor of objects: {str(array)[:80]!r}")
    try:
        return array.astype(dtype.np)
    except OverflowError as e:
        raise DTypeError(f"cannot make a tensor of {dtype.name} of {str(array)[:80]!r}: {e}") from None


def _convert(array: np.ndarray, value_dtype: DType, dtype: DType, value: object) -> np.ndarray:
    is_python = not isinstance(value, (np.ndarray, np.generic))
    is_misfit = value_dtype.is_string != dtype.is_string
    is_misfit |= value_dtype.is_complex and not dtype.is_complex
    is_misfit |= (
        is_python and array.size > 0 and value_dtype.is_floating and not (dtype.is_floating or dtype.is_complex)
    )
    is_misfit |= is_python and dtype.is_bool and not value_dtype.is_bool
    if is_misfit and array.size:
        raise DTypeError(
            f"expected {dtype.name}, got {str(value)[:80]!r} of type {type(value).__name__} ({value_dtype.name}); "
            "use tf.cast to convert a tensor"
        )
    with np.errstate(all="ignore"):
        return array.astype(dtype.np)


def bind(opdef: OpDef, values: Sequence[Any], attrs: dict[str, Any], to_tensor: ToTensor) -> Bound:
    """Fits `values` and `attrs` to the op's signature.

    `to_tensor(value, dtype or None, ref, name of the input)` makes a tensor of a value. Raises `DTypeError` or
    `InvalidArgumentError`.
    """
    types: dict[str, Any] = {}
    if attrs:
        attrs = dict(attrs)
        for variable in opdef.types:
            if variable in attrs:
                requested = attrs.pop(variable)
                is_list = isinstance(requested, (list, tuple))
                types[variable] = [as_dtype(t) for t in requested] if is_list else as_dtype(requested)
        for a in opdef.output_args:  # an attribute gives the number of outputs, as that of Split
            if a.number is not None and a.number in attrs:
                types[a.number] = int(attrs[a.number])
    args = opdef.input_args
    if len(values) != len(args):
        raise InvalidArgumentError(
            f"{opdef.name} takes {len(args)} inputs ({opdef.inputs or 'none'}), got {len(values)}"
        )
    given, names = list(values), opdef.input_names
    if not opdef.is_plain:
        args, given, names = _flat(opdef, values, types)
    tensors = _bind_each(opdef, args, given, names, types, to_tensor)
    if not opdef.is_plain:
        for a in opdef.input_args:
            if a.type_list:
                types[a.type] = tuple(t.dtype for t, b in zip(tensors, args, strict=True) if a is b)
    _check_types(opdef, types)
    return Bound(tuple(tensors), types, _make_attrs(opdef, attrs))


def _flat(
    opdef: OpDef, values: Sequence[Any], types: dict[str, Any]
) -> tuple[tuple[Arg, ...], list[Any], tuple[str, ...]]:
    """Returns for all inputs, where some are lists, their arguments, values and names, such as `values_0`; notes how
    long the lists are.
    """
    flat: list[tuple[Arg, Any, str]] = []
    for a, v in zip(opdef.input_args, values, strict=True):
        is_list = a.number is not None or a.type_list
        if is_list and not isinstance(v, (list, tuple)):
            raise InvalidArgumentError(f"{opdef.name}: {a.name} must be a list of tensors, got {type(v).__name__}")
        flat += [(a, x, f"{a.name}_{k}") for k, x in enumerate(v)] if is_list else [(a, v, a.name)]
        if a.number is not None:
            n = types.setdefault(a.number, len(v))
            if n != len(v):
                raise InvalidArgumentError(f"{opdef.name}: {a.name} has {len(v)} tensors, expected {n}")
    return tuple(a for a, _, _ in flat), [v for _, v, _ in flat], tuple(n for _, _, n in flat)


def _bind_each(
    opdef: OpDef,
    args: Sequence[Arg],
    given: list[Any],
    names: Sequence[str],
    types: dict[str, Any],
    to_tensor: ToTensor,
) -> list[Tensor]:
    for k, v in enumerate(given):  # tensors first: they fix the type variables
        if is_tensor_like(v):
            a = args[k]
            if a.type in opdef.types and not a.type_list:
                if not hasattr(v, "dtype"):  # an object of a class that the program has registered
                    given[k] = v = to_tensor(v, None, False, names[k])
                types.setdefault(a.type, v.dtype.base_dtype)
    tensors = []
    for a, v, name in zip(args, given, names, strict=True):
        dtype = a.dtype or types.get(a.type)
        if type(v) is Tensor and v.dtype is dtype and not a.ref:
            tensors.append(to_tensor(v, dtype, False, name))
        else:
            tensors.append(_bind_one(opdef, a, v, name, types, to_tensor))
    return tensors


def _cast_mend(got: DType, wanted: DType) -> str:
    return f"; tf.cast(..., tf.{wanted.name}) converts it" if _castable(got, wanted) else ""


def _cast_either(got: DType, wanted: DType, variable: str) -> str:
    """Returns advice on which of two inputs of one type to cast: integers to floats, else the later input."""
    other = f", the type {variable} of its other inputs"
    if not _castable(got, wanted):
        return other
    if got.is_floating and not wanted.is_floating:
        return f"{other}; cast those with tf.cast(..., tf.{got.name})"
    return f"{other}; cast it with tf.cast(..., tf.{wanted.name})"


def _castable(got: DType, wanted: DType) -> bool:
    return not (got.is_string or wanted.is_string)


def _bind_one(opdef: OpDef, a: Arg, value: object, name: str, types: dict[str, Any], to_tensor: ToTensor) -> Tensor:
    dtype = None if a.type_list else a.dtype or types.get(a.type)
    if dtype is None and not is_tensor_like(value) and len(opdef.types.get(a.type, ())) == 1:
        dtype = opdef.types[a.type][0]
    if isinstance(value, (np.ndarray, np.generic)) and dtype is None and a.type in opdef.types and not a.type_list:
        value = _as_allowed(opdef, a.type, value)
    try:
        t = to_tensor(value, dtype or _forced_dtype(opdef, a, value), a.ref, name)
    except DTypeError as e:
        raise DTypeError(f"{opdef.name}, input {a.name}: {e.message}", e.op) from None
    if dtype is not None and t.dtype is not dtype:
        raise DTypeError(
            f"{opdef.name}: input {a.name} is {t.dtype.name} ({t.name}), needed {dtype.name}"
            + (_cast_mend(t.dtype, dtype) if a.dtype is not None else _cast_either(t.dtype, dtype, a.type)),
            t.op,
        )
    if a.ref and not t.spec.ref:
        raise DTypeError(f"{opdef.name}: input {a.name} must be a variable, got the tensor {t.name}", t.op)
    if not a.type_list and a.type in opdef.types:
        types.setdefault(a.type, t.dtype)
    return t


def _forced_dtype(opdef: OpDef, a: Arg, value: object) -> DType | None:
    """Returns the first dtype that is allowed, for Python numbers whose own is not; None for all others."""
    allowed = opdef.types.get(a.type, ())
    is_python = isinstance(value, (int, float, list, tuple)) and not any(is_tensor_like(v) for v in flatten(value))
    if a.type_list or not allowed or not is_python:
        return None
    return None if as_dtype(to_numpy(value).dtype) in allowed else allowed[0]


def _as_allowed(opdef: OpDef, variable: str, value: np.ndarray | np.generic) -> np.ndarray | np.generic:
    """Returns the value as the default of the type variable, also if its own dtype is allowed; as it is if there is no
    default. Integers that the default cannot hold stay what they are if that is allowed.
    """
    allowed, default = opdef.types[variable], opdef.defaults.get(variable)
    if default is None and not value.size and as_dtype(value.dtype) not in allowed:
        default = allowed[0]  # NumPy makes an empty list float64
    if default is None or value.dtype.kind not in ("biufc" if default.is_complex else "biuf"):
        return value
    converted = value.astype(default.np)
    if default.is_integer and (converted != value).any() and as_dtype(value.dtype) in allowed:
        return value
    return converted


def _check_types(opdef: OpDef, types: dict[str, Any]) -> None:
    for var, allowed_dtypes in opdef.types.items():
        dtypes = types.get(var)
        if dtypes is None:
            raise DTypeError(f"{opdef.name}: the type {var} is not given by an input; pass {var}=...")
        for d in dtypes if isinstance(dtypes, (list, tuple)) else (dtypes,):
            if d not in allowed_dtypes:
                names = ", ".join(x.name for x in allowed_dtypes)
                given = f" of {', '.join(t.name for t in types.values() if isinstance(t, DType))}"
                raise DTypeError(
                    f"{opdef.name}{given}: {var} cannot be {d.name}, DataType {d.name} for attr '{var}' is not in "
                    f"list of allowed values: it takes {names}"
                )


def _make_attrs(opdef: OpDef, attrs: dict[str, Any]) -> Any:
    if not attrs and opdef.attrs in _DEFAULTS:
        return _DEFAULTS[opdef.attrs]
    names = _NAMES.get(opdef.attrs)
    if names is None:
        names = _NAMES[opdef.attrs] = frozenset(f.name for f in dataclasses.fields(opdef.attrs))
    unknown = sorted(attrs.keys() - names)
    if unknown:
        raise InvalidArgumentError(f"{opdef.name} has no attribute {unknown}; it has {sorted(names)}")
    try:
        made = opdef.attrs(**attrs)
    except TypeError as e:
        raise InvalidArgumentError(f"{opdef.name}: {e}") from None
    if not attrs:
        _DEFAULTS[opdef.attrs] = made
    return made
