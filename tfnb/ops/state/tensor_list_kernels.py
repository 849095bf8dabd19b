"""The host kernels of operations on lists of tensors (`tensor_list` defines the operations).

The host keeps the list; its elements stay on their devices. Invariant: a kernel never changes the list that it is
given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfnb.errors import DTypeError, InvalidArgumentError, ShapeError
from tfnb.ir.const import vector_length
from tfnb.ir.opdef import HostCall
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.state.handles import make_handle, resource_of
from tfnb.ops.state.tensor_list_value import TensorList
from tfnb.types import DType, Shape, unknown_shape

__all__ = ["host_zeros", "list_of", "shape_of_sizes"]


def list_of(handle: TensorLike) -> TensorList:
    """Returns the list that a variant scalar holds."""
    return resource_of(np.asarray(handle, object), TensorList)


def _list(call: HostCall, handle: np.ndarray) -> TensorList:
    """The list that a variant scalar holds. Raises `DTypeError` unless its elements have the op's `element_dtype`."""
    tensor_list = list_of(handle)
    dtype = call.types["element_dtype"]
    if tensor_list.dtype is not dtype:
        raise DTypeError(f"{call.op.type}: the list holds {tensor_list.dtype.name}, asked for {dtype.name}", call.op)
    return tensor_list


def shape_of_sizes(sizes: Tensor) -> Shape:
    """Returns the shape that integers describe.

    A scalar means an unknown rank, a negative size an unknown dimension.
    """
    array = np.asarray(sizes)
    if array.ndim == 0:
        return unknown_shape
    vector_length(array.size, "the shape of a list's elements")
    return Shape(tuple(None if n < 0 else int(n) for n in array))


def host_zeros(dtype: DType, shape: Sequence[int]) -> np.ndarray:
    """Returns an array of zeros, or of empty strings, of a dtype and shape."""
    return np.full(shape, b"") if dtype.is_string else np.zeros(shape, dtype.np)


def _element(call: HostCall, tensor_list: TensorList, item: object, wanted: Shape) -> object:
    """The value of an element that is read: zeros if it was never set.

    Raises `ShapeError` unless its shape is compatible with `wanted`, and `InvalidArgumentError` if the shape of an
    element that was never set is unknown.
    """
    if item is None:
        shape = tensor_list.shape.merge_with(wanted)
        if not shape.is_fully_defined():
            raise InvalidArgumentError(
                f"{call.op.type}: reads an element that was not set, and its shape {shape} is not fully known", call.op
            )
        return host_zeros(tensor_list.dtype, shape.known())
    if not wanted.is_compatible_with(Shape(call.tools.shape(item))):
        raise ShapeError(f"{call.op.type}: the element has shape {call.tools.shape(item)}, asked for {wanted}", call.op)
    return item


def _elements(call: HostCall, tensor_list: TensorList, items: Sequence[Any], wanted: Shape) -> list[Any]:
    """The values of elements that are joined; those that were never set take the shape of the others."""
    for item in items:
        if item is not None:
            wanted = wanted.merge_with(Shape(call.tools.shape(item)))
    return [_element(call, tensor_list, item, wanted) for item in items]


def _stacked(call: HostCall, tensor_list: TensorList, items: Sequence[Any], wanted: Shape) -> Any:
    if items:
        return call.tools.stack(_elements(call, tensor_list, items, wanted))
    shape = tensor_list.shape.merge_with(wanted)
    if not shape.is_fully_defined():
        raise InvalidArgumentError(
            f"{call.op.type}: no element is joined, and their shape {shape} is not fully known", call.op
        )
    return host_zeros(tensor_list.dtype, (0, *shape.known()))


def _sizes(call: HostCall, value: np.ndarray) -> Shape:
    return shape_of_sizes(call.tools.host(value))


def empty(call: HostCall, sizes: np.ndarray, most: np.ndarray) -> tuple[Any]:
    """Returns an empty list with at most `most` elements (-1: no limit) of the shape that `sizes` describe."""
    tensor_list = TensorList(call.types["element_dtype"], _sizes(call, sizes), (), call.tools.integer(most))
    return (make_handle(tensor_list),)


def reserve(call: HostCall, sizes: np.ndarray, count: np.ndarray) -> tuple[Any]:
    """Returns a list of `count` elements that are not set. Raises `InvalidArgumentError` for a negative count."""
    n = call.tools.integer(count)
    if n < 0:
        raise InvalidArgumentError(f"TensorListReserve: num_elements must not be negative, got {n}", call.op)
    return (make_handle(TensorList(call.types["element_dtype"], _sizes(call, sizes), [None] * n)),)


def push(call: HostCall, handle: np.ndarray, item: np.ndarray) -> tuple[Any]:
    """Returns the list with `item` added at the end.

    Raises `InvalidArgumentError` when the list is full, and `ShapeError` when the shape does not match its elements.
    """
    tensor_list = _list(call, handle)
    tensor_list.check(call.tools.shape(item), call.op.type)
    return (make_handle(tensor_list.pushed(item)),)


def pop(call: HostCall, handle: np.ndarray, sizes: np.ndarray) -> tuple[Any, Any]:
    """Returns the list without its last element, and that element."""
    rest, item = _list(call, handle).popped()
    return make_handle(rest), _element(call, rest, item, _sizes(call, sizes))


def stack(call: HostCall, handle: np.ndarray, sizes: np.ndarray) -> tuple[Any]:
    """Returns the elements stacked along a new first dimension; elements that were never set are zeros."""
    tensor_list, count = _list(call, handle), call.attrs.num_elements
    if count not in (-1, len(tensor_list)):
        raise InvalidArgumentError(
            f"TensorListStack: the list has {len(tensor_list)} elements, asked for {count}", call.op
        )
    return (_stacked(call, tensor_list, tensor_list.items, _sizes(call, sizes)),)


def from_tensor(call: HostCall, tensor: np.ndarray, sizes: np.ndarray) -> tuple[Any]:
    """Returns the list of the rows of `tensor`. Raises `ShapeError` for a scalar."""
    if not call.tools.shape(tensor):
        raise ShapeError("TensorListFromTensor: the tensor must have at least one dimension", call.op)
    shape = _sizes(call, sizes).merge_with(Shape(tuple(call.tools.shape(tensor))[1:]))
    return (make_handle(TensorList(call.types["element_dtype"], shape, call.tools.unstack(tensor))),)


def element_shape(call: HostCall, handle: np.ndarray) -> np.ndarray:
    """Returns the static shape of the elements as integers.

    An unknown dimension is -1; an unknown rank gives the scalar -1.
    """
    dims, dtype = list_of(handle).shape.sizes, call.types["shape_type"].np
    return np.asarray(-1 if dims is None else [-1 if n is None else n for n in dims], dtype)


def get_item(call: HostCall, handle: np.ndarray, index: np.ndarray, sizes: np.ndarray) -> tuple[Any]:
    """Returns the element at `index`, or zeros if it was never set. Raises an error for an index out of range."""
    tensor_list = _list(call, handle)
    at = tensor_list.place(call.tools.integer(index), call.op.type)
    return (_element(call, tensor_list, tensor_list.items[at], _sizes(call, sizes)),)


def set_item(call: HostCall, handle: np.ndarray, index: np.ndarray, item: np.ndarray) -> tuple[Any]:
    """Returns the list with `item` at `index`, lengthened first if the op permits it."""
    tensor_list, at = _list(call, handle), call.tools.integer(index)
    tensor_list.check(call.tools.shape(item), call.op.type)
    if call.attrs.resize_if_index_out_of_bounds and at >= len(tensor_list):
        tensor_list = tensor_list.with_items([*tensor_list.items, *[None] * (at + 1 - len(tensor_list))])
    return (make_handle(tensor_list.replaced(tensor_list.place(at, call.op.type), item)),)


def resize(call: HostCall, handle: np.ndarray, size: np.ndarray) -> tuple[Any]:
    """Returns the list with `size` elements: cut at the end, or extended by elements that are not set."""
    tensor_list, n = list_of(handle), call.tools.integer(size)
    if n < 0:
        raise InvalidArgumentError(f"TensorListResize: the size must not be negative, got {n}", call.op)
    return (make_handle(tensor_list.with_items((tensor_list.items + [None] * max(0, n - len(tensor_list)))[:n])),)


def gather(call: HostCall, handle: np.ndarray, indices: np.ndarray, sizes: np.ndarray) -> tuple[Any]:
    """Returns the elements at `indices`, stacked along a new first dimension."""
    tensor_list = _list(call, handle)
    items = [tensor_list.items[tensor_list.place(int(i), call.op.type)] for i in call.tools.host(indices)]
    return (_stacked(call, tensor_list, items, _sizes(call, sizes)),)


def _spread(call: HostCall, tensor_list: TensorList, tensor: np.ndarray, indices: np.ndarray) -> tuple[Any]:
    """The list with row i of `tensor` at `indices[i]`; it is lengthened if an index is beyond its end."""
    positions, rows = [int(i) for i in call.tools.host(indices)], call.tools.unstack(tensor)
    if len(positions) != len(rows) or any(i < 0 for i in positions):
        raise InvalidArgumentError(f"{call.op.type}: {len(rows)} rows for the indices {positions[:20]}", call.op)
    items = tensor_list.items + [None] * max(0, max(positions, default=-1) + 1 - len(tensor_list))
    for i, row in zip(positions, rows, strict=True):
        tensor_list.check(call.tools.shape(row), call.op.type)
        items[i] = row
    return (make_handle(tensor_list.with_items(items)),)


def scatter(
    call: HostCall, tensor: np.ndarray, indices: np.ndarray, sizes: np.ndarray, count: np.ndarray | None = None
) -> tuple[Any]:
    """Returns a list that has row i of `tensor` at `indices[i]`, with `count` elements if that is given."""
    n = -1 if count is None else call.tools.integer(count)
    tensor_list = TensorList(call.types["element_dtype"], _sizes(call, sizes), [None] * max(0, n))
    largest = max((int(i) for i in call.tools.host(indices)), default=-1)
    if 0 <= n <= largest:
        raise InvalidArgumentError(f"TensorListScatterV2: the index {largest} is not in a list of {n}", call.op)
    return _spread(call, tensor_list, tensor, indices)


def concat(call: HostCall, handle: np.ndarray, sizes: np.ndarray, leading: np.ndarray) -> tuple[Any, Any]:
    """Joins the elements along their first dimension, and returns the result and their lengths (int64).

    leading: the lengths of elements that were never set, which are zeros.
    """
    tensor_list, requested_shape = _list(call, handle), _sizes(call, sizes)
    lengths = [int(n) for n in call.tools.host(leading)]
    shape = tensor_list.shape.merge_with(requested_shape)
    tail = None if shape.sizes is None else shape.sizes[1:]
    parts = []
    for k, item in enumerate(tensor_list.items):
        if item is None:
            known = Shape((lengths[k] if k < len(lengths) else None, *(tail or ())))
            item = _element(call, tensor_list, None, known)
        if not call.tools.shape(item):
            raise ShapeError("TensorListConcatV2: the elements must have at least one dimension", call.op)
        parts.append(item)
    rows = np.array([call.tools.shape(p)[0] for p in parts], np.int64)
    if not parts:
        if tail is None or None in tail:
            raise InvalidArgumentError("TensorListConcatV2: an empty list of elements of unknown shape", call.op)
        return host_zeros(tensor_list.dtype, (0, *(n for n in tail if n is not None))), rows
    return call.tools.concat(parts), rows


def split(call: HostCall, tensor: np.ndarray, sizes: np.ndarray, lengths: np.ndarray) -> tuple[Any]:
    """Returns the list of the parts of `tensor` along its first dimension, which have the given lengths."""
    counts, shape = [int(n) for n in call.tools.host(lengths)], tuple(call.tools.shape(tensor))
    if not shape or any(n < 0 for n in counts) or sum(counts) != shape[0]:
        raise InvalidArgumentError(f"TensorListSplit: the lengths {counts[:20]} do not divide shape {shape}", call.op)
    tensor_list = TensorList(call.types["element_dtype"], _sizes(call, sizes))
    parts = call.tools.split(tensor, counts)
    for part in parts:
        tensor_list.check(call.tools.shape(part), call.op.type)
    return (make_handle(tensor_list.with_items(parts)),)


def scatter_into(call: HostCall, handle: np.ndarray, tensor: np.ndarray, indices: np.ndarray) -> tuple[Any]:
    """Returns the list with row i of `tensor` at `indices[i]`; an index beyond the end lengthens it."""
    return _spread(call, _list(call, handle), tensor, indices)
