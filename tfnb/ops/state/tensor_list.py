"""Lists of tensors as values of variant tensors: what tensor arrays are in graphs of TensorFlow 1.x's control flow v2.

Host only: the list is kept by the host, its elements stay on their device. Invariant: an op never changes the list
that it gets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfnb.errors import DTypeError, InvalidArgumentError, ShapeError
from tfnb.ir.const import vector_length
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.shapes import scalar_shape
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import ZEROS_LIKE
from tfnb.ops.array.gather import UNSORTED_SEGMENT_SUM
from tfnb.ops.array.shape_ops import SHAPE
from tfnb.ops.state.handles import make_handle, resource_of
from tfnb.ops.state.tensor_list_value import TensorList
from tfnb.types import ANY, INDEX, Shape, int32, scalar, unknown_shape

__all__ = ["API", "OPS", "host_zeros", "list_of"]


@record
class StackAttrs:
    """`num_elements`: how many elements the list has, -1 if any number."""

    num_elements: int = -1


@record
class SetAttrs:
    """`resize_if_index_out_of_bounds`: an index behind the end makes the list longer."""

    resize_if_index_out_of_bounds: bool = False


def list_of(handle: TensorLike) -> TensorList:
    """The list in a variant scalar."""
    return resource_of(np.asarray(handle, object), TensorList)


def _list(call: HostCall, handle: np.ndarray) -> TensorList:
    """The list, which must hold elements of the op's dtype."""
    found = list_of(handle)
    wanted = call.types["element_dtype"]
    if found.dtype is not wanted:
        raise DTypeError(f"{call.op.type}: the list holds {found.dtype.name}, asked for {wanted.name}", call.op)
    return found


def _as_shape(sizes: Tensor) -> Shape:
    """A shape from its integers: a scalar says nothing, a size below 0 is unknown."""
    array = np.asarray(sizes)
    if array.ndim == 0:
        return unknown_shape
    vector_length(array.size, "the shape of a list's elements")
    return Shape(tuple(None if n < 0 else int(n) for n in array))


def _static(c: Infer, i: int) -> Shape:
    """What is known at construction of the shape that input i holds."""
    value = c.value(i)
    return c.as_shape(i) if value is None and c.shapes[i].ndims == 1 else _known(value)


def _known(value: Tensor) -> Shape:
    return unknown_shape if value is None else _as_shape(value)


def host_zeros(dtype: Any, shape: Sequence[int]) -> np.ndarray:
    """Zeros, of strings empty ones."""
    return np.full(shape, b"") if dtype.is_string else np.zeros(shape, dtype.np)


def _element(call: HostCall, found: TensorList, item: Any, wanted: Shape) -> Any:
    """An element as it is read: zeros where none was set, checked against the shape that the reader expects."""
    if item is None:
        shape = found.shape.merge_with(wanted)
        if not shape.is_fully_defined():
            raise InvalidArgumentError(
                f"{call.op.type}: reads an element that was not set, and its shape {shape} is not fully known", call.op
            )
        return host_zeros(found.dtype, shape.known())
    if not wanted.is_compatible_with(Shape(call.tools.shape(item))):
        raise ShapeError(f"{call.op.type}: the element has shape {call.tools.shape(item)}, asked for {wanted}", call.op)
    return item


def _elements(call: HostCall, found: TensorList, items: Sequence[Any], wanted: Shape) -> list[Any]:
    """Elements to be joined: of all that are set one shape follows for those that are not."""
    for item in items:
        if item is not None:
            wanted = wanted.merge_with(Shape(call.tools.shape(item)))
    return [_element(call, found, item, wanted) for item in items]


def _stacked(call: HostCall, found: TensorList, items: Sequence[Any], wanted: Shape) -> Any:
    if items:
        return call.tools.stack(_elements(call, found, items, wanted))
    shape = found.shape.merge_with(wanted)
    if not shape.is_fully_defined():
        raise InvalidArgumentError(
            f"{call.op.type}: no element is joined, and their shape {shape} is not fully known", call.op
        )
    return host_zeros(found.dtype, (0, *shape.known()))


# ---- kernels -------------------------------------------------------------------------------------


def _sizes(call: HostCall, value: Any) -> Shape:
    return _as_shape(call.tools.host(value))


def _empty(call: HostCall, sizes: np.ndarray, most: np.ndarray) -> tuple[Any]:
    made = TensorList(call.types["element_dtype"], _sizes(call, sizes), (), call.tools.integer(most))
    return (make_handle(made),)


def _reserve(call: HostCall, sizes: np.ndarray, count: np.ndarray) -> tuple[Any]:
    n = call.tools.integer(count)
    if n < 0:
        raise InvalidArgumentError(f"TensorListReserve: num_elements must not be negative, got {n}", call.op)
    return (make_handle(TensorList(call.types["element_dtype"], _sizes(call, sizes), [None] * n)),)


def _push(call: HostCall, handle: np.ndarray, item: np.ndarray) -> tuple[Any]:
    found = _list(call, handle)
    found.check(call.tools.shape(item), call.op.type)
    return (make_handle(found.pushed(item)),)


def _pop(call: HostCall, handle: np.ndarray, sizes: np.ndarray) -> tuple[Any, Any]:
    rest, item = _list(call, handle).popped()
    return make_handle(rest), _element(call, rest, item, _sizes(call, sizes))


def _stack(call: HostCall, handle: np.ndarray, sizes: np.ndarray) -> tuple[Any]:
    found, wanted = _list(call, handle), call.attrs.num_elements
    if wanted not in (-1, len(found)):
        raise InvalidArgumentError(f"TensorListStack: the list has {len(found)} elements, asked for {wanted}", call.op)
    return (_stacked(call, found, found.items, _sizes(call, sizes)),)


def _from_tensor(call: HostCall, tensor: np.ndarray, sizes: np.ndarray) -> tuple[Any]:
    if not call.tools.shape(tensor):
        raise ShapeError("TensorListFromTensor: the tensor must have at least one dimension", call.op)
    shape = _sizes(call, sizes).merge_with(Shape(tuple(call.tools.shape(tensor))[1:]))
    return (make_handle(TensorList(call.types["element_dtype"], shape, call.tools.unstack(tensor))),)


def _element_shape(call: HostCall, handle: np.ndarray) -> np.ndarray:
    dims, dtype = list_of(handle).shape.dims, call.types["shape_type"].np
    return np.asarray(-1 if dims is None else [-1 if n is None else n for n in dims], dtype)


def _get(call: HostCall, handle: np.ndarray, index: np.ndarray, sizes: np.ndarray) -> tuple[Any]:
    found = _list(call, handle)
    at = found.place(call.tools.integer(index), call.op.type)
    return (_element(call, found, found.items[at], _sizes(call, sizes)),)


def _set(call: HostCall, handle: np.ndarray, index: np.ndarray, item: np.ndarray) -> tuple[Any]:
    found, at = _list(call, handle), call.tools.integer(index)
    found.check(call.tools.shape(item), call.op.type)
    if call.attrs.resize_if_index_out_of_bounds and at >= len(found):
        found = found.with_items([*found.items, *[None] * (at + 1 - len(found))])
    return (make_handle(found.replaced(found.place(at, call.op.type), item)),)


def _resize(call: HostCall, handle: np.ndarray, size: np.ndarray) -> tuple[Any]:
    found, n = list_of(handle), call.tools.integer(size)
    if n < 0:
        raise InvalidArgumentError(f"TensorListResize: the size must not be negative, got {n}", call.op)
    return (make_handle(found.with_items((found.items + [None] * max(0, n - len(found)))[:n])),)


def _gather(call: HostCall, handle: np.ndarray, indices: np.ndarray, sizes: np.ndarray) -> tuple[Any]:
    found = _list(call, handle)
    items = [found.items[found.place(int(i), call.op.type)] for i in call.tools.host(indices)]
    return (_stacked(call, found, items, _sizes(call, sizes)),)


def _spread(call: HostCall, found: TensorList, tensor: np.ndarray, indices: np.ndarray) -> tuple[Any]:
    """The rows of `tensor` at their places; the list grows as is needed."""
    wanted, rows = [int(i) for i in call.tools.host(indices)], call.tools.unstack(tensor)
    if len(wanted) != len(rows) or any(i < 0 for i in wanted):
        raise InvalidArgumentError(f"{call.op.type}: {len(rows)} rows for the indices {wanted[:20]}", call.op)
    items = found.items + [None] * max(0, max(wanted, default=-1) + 1 - len(found))
    for i, row in zip(wanted, rows, strict=True):
        found.check(call.tools.shape(row), call.op.type)
        items[i] = row
    return (make_handle(found.with_items(items)),)


def _scatter(
    call: HostCall, tensor: np.ndarray, indices: np.ndarray, sizes: np.ndarray, count: np.ndarray | None = None
) -> tuple[Any]:
    n = -1 if count is None else call.tools.integer(count)
    made = TensorList(call.types["element_dtype"], _sizes(call, sizes), [None] * max(0, n))
    largest = max((int(i) for i in call.tools.host(indices)), default=-1)
    if 0 <= n <= largest:
        raise InvalidArgumentError(f"TensorListScatterV2: the index {largest} is not in a list of {n}", call.op)
    return _spread(call, made, tensor, indices)


def _concat(call: HostCall, handle: np.ndarray, sizes: np.ndarray, leading: np.ndarray) -> tuple[Any, Any]:
    """Elements without a value have the rows that `leading` says."""
    found, wanted = _list(call, handle), _sizes(call, sizes)
    lengths = [int(n) for n in call.tools.host(leading)]
    shape = found.shape.merge_with(wanted)
    tail = None if shape.dims is None else shape.dims[1:]
    parts = []
    for k, item in enumerate(found.items):
        if item is None:
            known = Shape((lengths[k] if k < len(lengths) else None, *(tail or ())))
            item = _element(call, found, None, known)
        if not call.tools.shape(item):
            raise ShapeError("TensorListConcatV2: the elements must have at least one dimension", call.op)
        parts.append(item)
    rows = np.array([call.tools.shape(p)[0] for p in parts], np.int64)
    if not parts:
        if tail is None or None in tail:
            raise InvalidArgumentError("TensorListConcatV2: an empty list of elements of unknown shape", call.op)
        return host_zeros(found.dtype, (0, *(n for n in tail if n is not None))), rows
    return call.tools.concat(parts), rows


def _split(call: HostCall, tensor: np.ndarray, sizes: np.ndarray, lengths: np.ndarray) -> tuple[Any]:
    counts, shape = [int(n) for n in call.tools.host(lengths)], tuple(call.tools.shape(tensor))
    if not shape or any(n < 0 for n in counts) or sum(counts) != shape[0]:
        raise InvalidArgumentError(f"TensorListSplit: the lengths {counts[:20]} do not divide shape {shape}", call.op)
    made = TensorList(call.types["element_dtype"], _sizes(call, sizes))
    parts = call.tools.split(tensor, counts)
    for part in parts:
        made.check(call.tools.shape(part), call.op.type)
    return (make_handle(made.with_items(parts)),)


# ---- gradients -----------------------------------------------------------------------------------


def _size(t: Tensor) -> Any:
    return SHAPE(t, out_type=int32)


def _like(op: Any, handle: Any) -> Any:
    """An empty list of the kind that `handle` is, as the gradient of one that nothing else read."""
    dtype = op.types["element_dtype"]
    return EMPTY(ELEMENT_SHAPE(handle, shape_type=int32), -1, element_dtype=dtype)


def _blank(op: Operation, handle: Tensor) -> Any:
    """A list of as many elements, all zeros."""
    shape = ELEMENT_SHAPE(handle, shape_type=int32)
    return RESERVE(shape, LENGTH(handle), element_dtype=op.types["element_dtype"])


def _grad_push(op: Operation, dlist: Tensor) -> tuple[Any, Any]:
    rest, item = POP(dlist, _size(op.inputs[1]), element_dtype=op.types["element_dtype"])
    return rest, item


def _grad_pop(op: Operation, dlist: Tensor, ditem: Tensor) -> tuple[Any, None]:
    return PUSH(_like(op, op.outputs[0]) if dlist is None else dlist, ditem), None


def _grad_stack(op: Operation, dy: Tensor) -> tuple[Any, None]:
    return FROM_TENSOR(dy, _size(dy)[1:]), None


def _grad_from_tensor(op: Operation, dlist: Tensor) -> tuple[Any, None]:
    return STACK(dlist, _size(op.inputs[0])[1:], element_dtype=op.types["element_dtype"]), None


def _grad_get(op: Operation, ditem: Tensor) -> tuple[Any, None, None]:
    return SET(_blank(op, op.inputs[0]), op.inputs[1], ditem), None, None


def _grad_set(op: Operation, dlist: Tensor) -> tuple[Any, None, Any]:
    _, index, item = op.inputs
    ditem = GET(dlist, index, _size(item), element_dtype=op.types["element_dtype"])
    return SET(dlist, index, ZEROS_LIKE(item)), None, ditem


def _grad_resize(op: Operation, dlist: Tensor) -> tuple[Any, None]:
    return RESIZE(dlist, LENGTH(op.inputs[0])), None


def _grad_gather(op: Operation, dy: Tensor) -> tuple[Any, None, None]:
    """An element that was taken twice gets both parts, so parts are summed, not set."""
    parts = UNSORTED_SEGMENT_SUM(dy, op.inputs[1], LENGTH(op.inputs[0]))
    return FROM_TENSOR(parts, _size(dy)[1:]), None, None


def _grad_scatter(op: Operation, dlist: Tensor) -> tuple[Any, ...]:
    tensor, indices = op.inputs[:2]
    found = GATHER(dlist, indices, _size(tensor)[1:], element_dtype=op.types["element_dtype"])
    return (found, *(None,) * (len(op.inputs) - 1))


def _grad_scatter_into(op: Operation, dlist: Tensor) -> tuple[Any, Any, None]:
    _, tensor, indices = op.inputs
    dtensor = GATHER(dlist, indices, _size(tensor)[1:], element_dtype=op.types["element_dtype"])
    return SCATTER_INTO(dlist, ZEROS_LIKE(tensor), indices), dtensor, None


def _grad_concat(op: Operation, dy: Tensor, _: Tensor) -> tuple[Any, None, None]:
    return SPLIT(dy, ELEMENT_SHAPE(op.inputs[0], shape_type=int32), op.outputs[1]), None, None


def _grad_split(op: Operation, dlist: Tensor) -> tuple[Any, None, None]:
    dtype, (tensor, sizes, lengths) = op.types["element_dtype"], op.inputs
    found = CONCAT(dlist, sizes, lengths, element_dtype=dtype)[0]
    found.set_shape(tensor.shape)
    return found, None, None


# ---- definitions ---------------------------------------------------------------------------------


def _op(
    name: str,
    inputs: str,
    outputs: str,
    doc: str,
    infer: Any,
    host: Callable[..., Any],
    grad: Any,
    attrs: Any = None,
    shape_type: str = "",
    dtype: bool = True,
) -> OpDef:
    types: dict[str, Any] = {"element_dtype": ANY} if dtype else {}
    if shape_type:
        types[shape_type] = INDEX
    more: dict[str, Any] = {} if attrs is None else {"attrs": attrs}
    if shape_type == "Tshape":
        more["defaults"] = {"Tshape": int32}
    text = f"{doc}\n\nHost only. A list is a variant scalar; `element_shape` holds -1 for a size that is not known."
    return OpDef(
        name,
        inputs,
        outputs,
        text,
        types=types,
        infer=infer,
        host=host,
        grad=grad,
        stateful=True,
        raw=True,
        **more,
    )


EMPTY = _op(
    "EmptyTensorList",
    "element_shape: shape_type, max_num_elements: int32",
    "handle: variant",
    "A list without elements, which may get `max_num_elements` (-1: any number).",
    scalar_shape,
    _empty,
    NOT_DIFFERENTIABLE,
    shape_type="shape_type",
)
RESERVE = _op(
    "TensorListReserve",
    "element_shape: shape_type, num_elements: int32",
    "handle: variant",
    "A list of `num_elements` elements that are not set. Errors: a negative number.",
    scalar_shape,
    _reserve,
    NOT_DIFFERENTIABLE,
    shape_type="shape_type",
)
PUSH = _op(
    "TensorListPushBack",
    "input_handle: variant, tensor: element_dtype",
    "output_handle: variant",
    "The list with `tensor` behind its last element. Errors: the list is full, or the shape does not fit.",
    scalar_shape,
    _push,
    _grad_push,
)
POP = _op(
    "TensorListPopBack",
    "input_handle: variant, element_shape: int32",
    "output_handle: variant, tensor: element_dtype",
    "The list without its last element, and that element. Errors: the list is empty.",
    lambda c: (scalar, _static(c, 1)),
    _pop,
    _grad_pop,
)


def _stack_shape(c: Infer) -> Shape:
    count = c.attrs.num_elements
    rest = _static(c, 1).dims
    return unknown_shape if rest is None else Shape((None if count < 0 else count, *rest))


def _gather_shape(c: Infer) -> Shape:
    rest, indices = _static(c, 2).dims, c.shapes[1].dims
    return unknown_shape if rest is None or indices is None else Shape((*indices, *rest))


STACK = _op(
    "TensorListStack",
    "input_handle: variant, element_shape: int32",
    "tensor: element_dtype",
    "All elements along a new first axis; zeros for those that are not set. Errors: their shapes differ.",
    _stack_shape,
    _stack,
    _grad_stack,
    attrs=StackAttrs,
)
FROM_TENSOR = _op(
    "TensorListFromTensor",
    "tensor: element_dtype, element_shape: shape_type",
    "output_handle: variant",
    "The list of the parts of `tensor` along its first axis. Errors: a scalar, or `element_shape` does not fit.",
    scalar_shape,
    _from_tensor,
    _grad_from_tensor,
    shape_type="shape_type",
)
ELEMENT_SHAPE = OpDef(
    "TensorListElementShape",
    "input_handle: variant",
    "element_shape: shape_type",
    "What is known of the elements' shape: sizes, -1 for one that is not known; -1 alone for an unknown rank.",
    types={"shape_type": INDEX},
    infer=lambda c: unknown_shape,
    host=_element_shape,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)
LENGTH = OpDef(
    "TensorListLength",
    "input_handle: variant",
    "length: int32",
    "How many elements the list has: a scalar.",
    infer=scalar_shape,
    host=lambda call, handle: np.asarray(len(list_of(handle)), np.int32),
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)
GET = _op(
    "TensorListGetItem",
    "input_handle: variant, index: int32, element_shape: Tshape",
    "item: element_dtype",
    "The element of number `index`; zeros if it is not set. Errors: no such element.",
    lambda c: _static(c, 2),
    _get,
    _grad_get,
    shape_type="Tshape",
)
SET = _op(
    "TensorListSetItem",
    "input_handle: variant, index: int32, item: element_dtype",
    "output_handle: variant",
    "The list with `item` as its element of number `index`. Errors: no such place, or the shape does not fit.",
    scalar_shape,
    _set,
    _grad_set,
    attrs=SetAttrs,
)
RESIZE = _op(
    "TensorListResize",
    "input_handle: variant, size: int32",
    "output_handle: variant",
    "The list cut to `size` elements, or lengthened by elements that are not set.",
    scalar_shape,
    _resize,
    _grad_resize,
    dtype=False,
)
GATHER = _op(
    "TensorListGather",
    "input_handle: variant, indices: int32, element_shape: int32",
    "values: element_dtype",
    "The elements of the numbers `indices` along a new first axis. Errors: no such element.",
    _gather_shape,
    _gather,
    _grad_gather,
)
SCATTER = _op(
    "TensorListScatterV2",
    "tensor: element_dtype, indices: int32, element_shape: shape_type, num_elements: int32",
    "output_handle: variant",
    "A list of `num_elements` (-1: as many as are needed) with row i of `tensor` at `indices[i]`.",
    scalar_shape,
    _scatter,
    _grad_scatter,
    shape_type="shape_type",
)
SCATTER_V1 = _op(
    "TensorListScatter",
    "tensor: element_dtype, indices: int32, element_shape: shape_type",
    "output_handle: variant",
    "A list with row i of `tensor` at `indices[i]`.",
    scalar_shape,
    _scatter,
    _grad_scatter,
    shape_type="shape_type",
)
SCATTER_INTO = _op(
    "TensorListScatterIntoExistingList",
    "input_handle: variant, tensor: element_dtype, indices: int32",
    "output_handle: variant",
    "The list with row i of `tensor` at `indices[i]`; it grows as is needed.",
    scalar_shape,
    lambda call, handle, tensor, indices: _spread(call, _list(call, handle), tensor, indices),
    _grad_scatter_into,
)
CONCAT = _op(
    "TensorListConcatV2",
    "input_handle: variant, element_shape: shape_type, leading_dims: int64",
    "tensor: element_dtype, lengths: int64",
    "All elements joined along their first axis, and how long each is there. `leading_dims` are the lengths of those"
    " that are not set.",
    lambda c: (unknown_shape, Shape((None,))),
    _concat,
    _grad_concat,
    shape_type="shape_type",
)
SPLIT = _op(
    "TensorListSplit",
    "tensor: element_dtype, element_shape: shape_type, lengths: int64",
    "output_handle: variant",
    "The list of pieces of `tensor` of these lengths along its first axis. Errors: they are not all of it.",
    scalar_shape,
    _split,
    _grad_split,
    shape_type="shape_type",
)

OPS: tuple[OpDef, ...] = (
    EMPTY,
    RESERVE,
    PUSH,
    POP,
    STACK,
    FROM_TENSOR,
    ELEMENT_SHAPE,
    LENGTH,
    GET,
    SET,
    RESIZE,
    GATHER,
    SCATTER,
    SCATTER_V1,
    SCATTER_INTO,
    CONCAT,
    SPLIT,
)
API: dict[str, Any] = {}
