"""Feeds: Python and NumPy values for any edge of the graph.

Invariant: a value that `feed_array` returns has the dtype of the tensor and a compatible shape; a wrong value raises
before any kernel runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from numbers import Number
from typing import Any

import numpy as np

from tfnb.errors import DTypeError, InvalidArgumentError, InvalidFetchError, OpError, ShapeError
from tfnb.ir.bind import to_bytes
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.sparse import SparseTensor, parts_of, value_type
from tfnb.ir.tensor import Tensor
from tfnb.session.conversions import conversion_of
from tfnb.session.tensor_handle import TensorHandle
from tfnb.types import DType, bfloat16

__all__ = ["feed_array", "feed_key", "flat_feeds", "flat_keys", "own_feed", "own_feeds"]

_NESTED = (tuple, SparseTensor, IndexedSlices)
_MEMORYLESS = (bool, int, float, complex, str, bytes, list, tuple, np.generic)  # an array of such a value is a new one


def flat_feeds(feeds: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Replaces keys that have several tensors by these tensors, and their values by the parts for the tensors.

    Such keys are tuples (for example the state of an LSTM), sparse tensors, indexed slices and objects of registered
    classes. Raises `DTypeError`, or `InvalidArgumentError` if a value does not have the structure of its key.
    """
    if not any(isinstance(k, _NESTED) or conversion_of(k) for k in feeds):
        return feeds
    flat: dict[Any, Any] = {}
    for key, value in feeds.items():
        flat.update(_parts(key, value))
    return flat


def _parts(key: object, value: object) -> dict[Any, Any]:
    if isinstance(key, (SparseTensor, IndexedSlices)):
        return _composite(key, value)
    if not isinstance(key, tuple):
        conversion = conversion_of(key)
        if conversion is None:
            return {key: value}
        if conversion.feed is None:
            raise InvalidFetchError(f"cannot feed {key!r}: no feed function is registered for {type(key).__name__}")
        return dict(conversion.feed(key, value))
    if not isinstance(value, (tuple, list)) or len(value) != len(key):
        raise InvalidArgumentError(
            f"cannot feed {type(value).__name__} {str(value)[:60]!r} for a {type(key).__name__} of {len(key)} "
            f"parts ({str(key)[:120]}); needed a tuple of as many values"
        )
    return {k: v for part, part_value in zip(key, value, strict=True) for k, v in _parts(part, part_value).items()}


def flat_keys(keys: Iterable[Any]) -> Iterator[Any]:
    """The keys that `flat_feeds` returns for feeds with these keys, in the same order."""
    for key in keys:
        if isinstance(key, tuple):
            yield from flat_keys(key)
        elif isinstance(key, (SparseTensor, IndexedSlices)):
            yield from (p for p in parts_of(key) if p is not None)
        else:
            conversion = conversion_of(key)
            if conversion is None or conversion.feed_partial is None:
                yield key
            else:
                yield from conversion.feed_partial(key)


def _composite(key: SparseTensor | IndexedSlices, value: object) -> dict[Any, Any]:
    parts = [p for p in parts_of(key) if p is not None]
    values = value if isinstance(value, (tuple, list)) else ()
    if len(parts) == 2 and len(values) == 3 and values[2] is None:
        values = values[:2]
    if len(parts) == 3 and len(values) == 2 and parts[2].op.type == "Const":
        parts = parts[:2]
    if len(values) != len(parts):
        raise DTypeError(
            f"cannot feed {type(value).__name__} {str(value)[:60]!r} for {key!r}; needed a "
            f"tf.{value_type(key).__name__}, or a tuple of {len(parts)} values in its order",
            key.op,
        )
    return dict(zip(parts, values, strict=True))


def _placeholders(graph: GraphBuilder, key: object) -> str:
    """The end of the message for a name that cannot be fed: those that can."""
    operations = graph.get_operations() if isinstance(key, str) else []
    names = [repr(op.outputs[0].name) for op in operations if op.type.startswith("Placeholder")]
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"; the placeholders of the graph are {', '.join(names[:5])}{more}" if names else ""


def feed_key(graph: GraphBuilder, key: object) -> Tensor:
    """The tensor that a key of a feed_dict denotes. Raises `InvalidFetchError`."""
    if isinstance(key, Tensor) and key.graph is graph:
        tensor = key
    else:
        try:
            tensor = graph.as_graph_element(key, allow_operation=False)
        except OpError as e:
            raise InvalidFetchError(
                f"Cannot interpret feed_dict key as Tensor: cannot feed {str(key)[:120]!r}: {e.message}"
                + _placeholders(graph, key)
            ) from None
    if not graph.is_feedable(tensor):
        raise InvalidFetchError(f"{tensor.name} may not be fed", tensor.op)
    return tensor


def feed_array(tensor: Tensor, value: object) -> np.ndarray:
    """`value` as an array for `tensor`, perhaps the user's own. Raises `DTypeError` or `ShapeError` naming both."""
    dtype = tensor.dtype
    if isinstance(value, TensorHandle):
        value = value.eval()
    if type(value) is np.ndarray and value.dtype == dtype.np and not dtype.is_string:
        array = value
    else:
        array = _converted(tensor, dtype, value)
    dims = tensor.shape.sizes
    if dims is not None and dims != array.shape and not _compatible(dims, array.shape):
        raise ShapeError(
            f"Cannot feed value of shape {array.shape} for Tensor {tensor.name!r}, which has "
            f"shape {str(tensor.shape)!r}",
            tensor.op,
        )
    return array


def own_feeds(arrays: list[np.ndarray], values: Iterable[object], kept: Iterable[int]) -> None:
    """Replaces the arrays with the numbers `kept`, which were made of `values`, by some that the user does not have."""
    given = list(values)
    for k in kept:
        arrays[k] = own_feed(arrays[k], given[k])


def own_feed(array: np.ndarray, value: object) -> np.ndarray:
    """What `feed_array` has made of `value`, as an array that the user does not have, for a step that may keep it."""
    return array if isinstance(value, _MEMORYLESS) else array.copy()


def _compatible(dims: tuple[int | None, ...], shape: tuple[int, ...]) -> bool:
    return len(dims) == len(shape) and all(d is None or d == n for d, n in zip(dims, shape, strict=True))


def _converted(tensor: Tensor, dtype: DType, value: object) -> np.ndarray:
    if isinstance(value, Tensor) or hasattr(value, "__tensor__"):
        raise DTypeError(
            f"The value of a feed cannot be a tf.Tensor object: the value fed for {tensor.name} is {value!r}; "
            "feed Python numbers, strings, lists or NumPy arrays, or session.run() it first",
            tensor.op,
        )
    try:
        array = np.asarray(value, np.bool_ if value is None and dtype.is_bool else None)
        if dtype.is_string:
            return _texts(array, value)
        if dtype.np.kind == "O":  # a handle, or another object with which nothing is computed
            return array
        if array.dtype.kind == "O":
            array = _numbers(array)
        return _held(array, dtype, value)
    except (TypeError, ValueError, OverflowError) as e:
        text = e.message if isinstance(e, OpError) else str(e)
        raise DTypeError(
            f"Type of feed value {str(value)[:80]} with type {type(value)} is not compatible with Tensor type "
            f"{dtype.name} of {tensor.name}: {text}",
            tensor.op,
        ) from None


def _texts(array: np.ndarray, value: object) -> np.ndarray:
    """An object array of bytes. Raises `DTypeError` if an element is neither str nor bytes."""
    # NumPy's own string arrays drop zero bytes at the end of an element, so the Python values are read again.
    texts = np.asarray(value if array.dtype.kind in "SU" else array, object)
    if set(map(type, texts.reshape(-1).tolist())) <= {bytes}:
        return texts
    for x in texts.flat:
        if not isinstance(x, (str, bytes)):
            raise DTypeError(f"got {str(x)[:60]!r} of type {type(x).__name__}, needed str or bytes")
    return to_bytes(texts)


def _numbers(array: np.ndarray) -> np.ndarray:
    """Converts an array of Python objects to an array of numbers. Raises `DTypeError` if an object is not a number."""
    for x in array.flat:
        if not isinstance(x, (Number, np.bool_)):
            raise DTypeError(f"got {str(x)[:60]!r} of type {type(x).__name__}, needed a number")
    numbers = np.array(array.tolist())
    # No dtype of NumPy represents decimals, fractions and integers of more than 64 bits exactly.
    return numbers.astype(np.float64) if numbers.dtype.kind == "O" else numbers


def _held(array: np.ndarray, dtype: DType, value: object) -> np.ndarray:
    """Converts `array` to `dtype`. Raises `DTypeError` if a number would change.

    Floats may be rounded to floats of fewer bits, where large ones become infinite, as in NumPy.
    """
    kind = array.dtype.kind
    if kind not in "biufc" and array.dtype != bfloat16.np:  # a dtype of ml_dtypes, whose kind is none of NumPy's
        raise DTypeError(f"got {type(value).__name__} {str(value)[:60]!r}")
    with np.errstate(all="ignore"):
        if kind == "c" and not dtype.is_complex:
            if array.imag.any():
                raise DTypeError(f"got complex values such as {array.reshape(-1)[0]!r}; feed their real part, abs, ...")
            return _held(array.real, dtype, value)
        converted = array.astype(dtype.np)
        if dtype.is_floating or dtype.is_complex or kind == "b":
            return converted
        if dtype.is_bool and kind in "iu" and not isinstance(value, int):
            return converted  # any integers may be a mask, as in NumPy
        wrong = converted != array
    if wrong.any():
        raise DTypeError(
            f"{array.dtype.name} values such as {array[wrong].reshape(-1)[0]!r} are not {dtype.name} numbers; "
            "convert them first if that is meant"
        )
    return converted
