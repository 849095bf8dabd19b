"""Feeds: Python and NumPy values for any edge of the graph.

Invariant: a value that gets past `feed_array` has the tensor's dtype and a compatible shape; nothing has run before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from tfnb.errors import DTypeError, InvalidArgumentError, InvalidFetchError, OpError, ShapeError
from tfnb.ir.bind import to_bytes
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.sparse import SparseTensor, parts_of, value_type
from tfnb.ir.tensor import Tensor
from tfnb.types import DType

__all__ = ["feed_array", "feed_key", "flat_feeds", "flat_keys"]


_NESTED = (tuple, SparseTensor, IndexedSlices)


def flat_feeds(feeds: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """`feeds` with each tuple (a state of an LSTM), sparse tensor or indexed slices as the tensors it is made of.

    Raises `DTypeError` or, when a value has not the structure of its key, `InvalidArgumentError`.
    """
    if not any(isinstance(k, _NESTED) for k in feeds):
        return feeds
    flat: dict[Any, Any] = {}
    for key, value in feeds.items():
        flat.update(_parts(key, value))
    return flat


def _parts(key: Any, value: Any) -> dict[Any, Any]:
    if isinstance(key, (SparseTensor, IndexedSlices)):
        return _composite(key, value)
    if not isinstance(key, tuple):
        return {key: value}
    if not isinstance(value, (tuple, list)) or len(value) != len(key):
        raise InvalidArgumentError(
            f"cannot feed {type(value).__name__} {str(value)[:60]!r} for a {type(key).__name__} of {len(key)} "
            f"parts ({str(key)[:120]}); needed a tuple of as many values"
        )
    return {k: v for part, given in zip(key, value, strict=True) for k, v in _parts(part, given).items()}


def flat_keys(keys: Iterable[Any]) -> Iterator[Any]:
    """The keys of `flat_feeds`."""
    for key in keys:
        if isinstance(key, tuple):
            yield from flat_keys(key)
        elif isinstance(key, (SparseTensor, IndexedSlices)):
            yield from (p for p in parts_of(key) if p is not None)
        else:
            yield key


def _composite(key: SparseTensor | IndexedSlices, value: Any) -> dict[Any, Any]:
    parts = [p for p in parts_of(key) if p is not None]
    given = value if isinstance(value, (tuple, list)) else ()
    if len(parts) == 2 and len(given) == 3 and given[2] is None:
        given = given[:2]
    if len(given) != len(parts):
        raise DTypeError(
            f"cannot feed {type(value).__name__} {str(value)[:60]!r} for {key!r}; needed a "
            f"tf.{value_type(key).__name__}, or a tuple of {len(parts)} values in its order",
            key.op,
        )
    return dict(zip(parts, given, strict=True))


def feed_key(graph: GraphBuilder, key: Any) -> Tensor:
    """The tensor that a key of a feed_dict means. Raises `InvalidFetchError`."""
    if isinstance(key, Tensor) and key.graph is graph:
        tensor = key
    else:
        try:
            tensor = graph.as_graph_element(key, allow_operation=False)
        except OpError as e:
            raise InvalidFetchError(f"cannot feed {str(key)[:120]!r}: {e.message}") from None
    if not graph.is_feedable(tensor):
        raise InvalidFetchError(f"{tensor.name} may not be fed", tensor.op)
    return tensor


def feed_array(tensor: Tensor, value: Any) -> np.ndarray:
    """`value` as an array for `tensor`. Raises `DTypeError` or `ShapeError` naming both."""
    dtype = tensor.dtype
    if type(value) is np.ndarray and value.dtype == dtype.np:
        array = value
    else:
        array = _converted(tensor, dtype, value)
    dims = tensor.shape.dims
    if dims is not None and dims != array.shape and not _compatible(dims, array.shape):
        raise ShapeError(
            f"cannot feed a value of shape {array.shape} for the tensor {tensor.name}, which has shape {tensor.shape}",
            tensor.op,
        )
    return array


def _compatible(dims: tuple[int | None, ...], shape: tuple[int, ...]) -> bool:
    return len(dims) == len(shape) and all(d is None or d == n for d, n in zip(dims, shape, strict=True))


def _converted(tensor: Tensor, dtype: DType, value: Any) -> np.ndarray:
    if isinstance(value, Tensor) or hasattr(value, "__tensor__"):
        raise InvalidArgumentError(
            f"the value fed for {tensor.name} is itself a graph element ({value!r}); "
            "feed Python numbers, strings, lists or NumPy arrays, or session.run() it first",
            tensor.op,
        )
    try:
        array = np.asarray(value)
        if dtype.is_string:
            # from the value: NumPy's own texts lose the zero bytes at their end
            return to_bytes(np.asarray(value, object) if array.dtype.kind in "SU" else array)
        if array.dtype.kind in "SUO" and array.dtype != dtype.np:
            raise DTypeError(f"got {type(value).__name__} {str(value)[:60]!r}")
        if array.dtype.kind in "fc" and not (dtype.is_floating or dtype.is_complex):
            return _whole(array, dtype, value)
        with np.errstate(all="ignore"):
            return np.asarray(array, dtype.np)
    except (TypeError, ValueError, OverflowError) as e:
        text = e.message if isinstance(e, OpError) else str(e)
        raise DTypeError(f"cannot feed {tensor.name}, which is {dtype.name}: {text}", tensor.op) from None


def _whole(array: np.ndarray, dtype: DType, value: Any) -> np.ndarray:
    """Floats for an integer tensor: allowed only when nothing is lost."""
    with np.errstate(all="ignore"):
        converted = array.astype(dtype.np)
    if array.dtype.kind == "c" or not np.array_equal(converted, array):
        raise DTypeError(f"got {array.dtype.name} values such as {array.reshape(-1)[0]!r}, needed {dtype.name}")
    return converted
