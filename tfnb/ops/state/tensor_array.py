"""Tensor arrays: arrays whose elements are written one by one, mostly in loops (white paper, section 4.4).

The `handle` identifies the array; the scalar `flow` that each op passes to the next one orders them. The gradient of an
array is another array of the same size. Invariant: an op with a flow input runs after the op that produced the flow.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.const import constant_value
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, GradFn, GradientMissing, HostCall, Infer, NotDifferentiable, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.operation_keys import CONTEXT, loops_around
from tfnb.ir.record import record
from tfnb.ir.shapes import no_outputs, scalar_shape
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.concat import concat
from tfnb.ops.control_flow.loop_stack import handle_of
from tfnb.ops.state.tensor_array_state import TensorArrayState
from tfnb.types import ALL_AND_QUANTIZED, OLD_NAMES, DType, Shape, as_shape, bracketed, scalar, unknown_shape

__all__ = [
    "API",
    "OPS",
    "TENSOR_ARRAY",
    "TENSOR_ARRAY_CLOSE",
    "TENSOR_ARRAY_CONCAT",
    "TENSOR_ARRAY_GATHER",
    "TENSOR_ARRAY_GRAD",
    "TENSOR_ARRAY_READ",
    "TENSOR_ARRAY_SCATTER",
    "TENSOR_ARRAY_SIZE",
    "TENSOR_ARRAY_SPLIT",
    "TENSOR_ARRAY_WRITE",
]

_FLOW = np.zeros((), np.float32)


@record
class TensorArrayAttrs:
    """`element_shape`: the static shape of all elements; `dynamic_size`: a write may extend the array;
    `clear_after_read`: a read frees the element; `identical_element_shapes`: all have the shape of the first one.
    """

    element_shape: Shape | None = None
    dynamic_size: bool = False
    clear_after_read: bool = True
    identical_element_shapes: bool = False
    tensor_array_name: str = ""


@record
class GradAttrs:
    """`source`: the name of a gradient computation, which distinguishes several gradient arrays of one array."""

    source: str = ""


@record
class GatherAttrs:
    """`element_shape`: the static shape of all elements."""

    element_shape: Shape | None = None


@record
class ConcatAttrs:
    """`element_shape_except0`: the static shape of all elements without its first dimension."""

    element_shape_except0: Shape | None = None


def _state(handle: np.ndarray) -> TensorArrayState:
    state = handle.item()
    if not isinstance(state, TensorArrayState):
        raise InvalidArgumentError(f"needed the handle of a tensor array, got {type(state).__name__}")
    return state


def _of_dtype(call: HostCall, handle: np.ndarray) -> TensorArrayState:
    """The array in the handle. Raises `DTypeError` unless its elements have the op's dtype."""
    state = _state(handle)
    dtype = call.types.get("dtype", call.types.get("T"))
    if state.dtype is not dtype:
        wish = "requested" if "dtype" in call.types else "is trying to write"
        own, other = (OLD_NAMES.get(d, d.name) for d in (state.dtype, dtype))
        raise DTypeError(f"TensorArray dtype is {own} but Op {wish} dtype {other}. TensorArray {state.name}")
    return state


def _shape_of(value: Tensor) -> Shape:
    return unknown_shape if value is None else as_shape(value)


# ---- kernels -------------------------------------------------------------------------------------

_numbers = itertools.count()  # behind the names of arrays, so that messages tell those of one name apart


def _make(call: HostCall, size: np.ndarray) -> tuple[Any, ...]:
    a = call.attrs
    state = TensorArrayState(
        call.types["dtype"],
        call.tools.integer(size),
        _shape_of(a.element_shape),
        a.dynamic_size,
        a.clear_after_read,
        a.identical_element_shapes,
        f"{a.tensor_array_name or call.op.name}_{next(_numbers)}",
    )
    return handle_of(state), _FLOW


def _grad(call: HostCall, handle: np.ndarray, flow: np.ndarray) -> tuple[Any, ...]:
    return handle_of(_state(handle).gradient(call.attrs.source)), _FLOW


def _write(call: HostCall, handle: np.ndarray, index: np.ndarray, value: np.ndarray, flow: np.ndarray) -> tuple[Any]:
    _of_dtype(call, handle).write(call.tools.integer(index), value, call.tools)
    return (_FLOW,)


def _read(call: HostCall, handle: np.ndarray, index: np.ndarray, flow: np.ndarray) -> tuple[Any]:
    return (_of_dtype(call, handle).read(call.tools.integer(index), call.tools),)


def _gather(call: HostCall, handle: np.ndarray, indices: np.ndarray, flow: np.ndarray) -> tuple[Any]:
    state = _of_dtype(call, handle)
    positions = [int(i) for i in call.tools.host(indices)]
    if not positions:
        shape = state.shape.merge_with(_shape_of(call.attrs.element_shape))
        if not shape.is_fully_defined():
            raise InvalidArgumentError(
                f"{state.name}: TensorArray has size zero, but element shape {bracketed(shape.sizes)} is not fully "
                "defined. Currently only static shapes are supported when packing zero-size TensorArrays."
            )
        return (np.zeros((0, *shape.known()), state.dtype.np),)
    values = state.read_many(positions, call.tools)
    shapes = {tuple(call.tools.shape(v)) for v in values}
    if len(shapes) > 1:
        first = tuple(call.tools.shape(values[0]))
        k, other = next((k, s) for k, v in enumerate(values) if (s := tuple(call.tools.shape(v))) != first)
        raise InvalidArgumentError(
            f"TensorArray {state.name} has inconsistent shapes. Index 0 has shape: {bracketed(first)} but index {k} "
            f"has shape: {bracketed(other)}"
        )
    return (call.tools.stack(values),)


def _scatter(
    call: HostCall, handle: np.ndarray, indices: np.ndarray, value: np.ndarray, flow: np.ndarray
) -> tuple[Any]:
    state = _of_dtype(call, handle)
    positions = [int(i) for i in call.tools.host(indices)]
    shape = call.tools.shape(value)
    if not shape or len(positions) != shape[0]:
        raise InvalidArgumentError(
            f"TensorArray {state.name!r}: {len(positions)} indices for a value of shape {list(shape)}"
        )
    for i, part in zip(positions, call.tools.unstack(value), strict=True):
        state.write(i, part, call.tools)
    return (_FLOW,)


def _concat(call: HostCall, handle: np.ndarray, flow: np.ndarray) -> tuple[Any, ...]:
    state = _of_dtype(call, handle)
    values = state.read_many(range(len(state)), call.tools)
    shapes = [tuple(call.tools.shape(v)) for v in values]
    if not values:
        if not (row_shape := _shape_of(call.attrs.element_shape_except0)).is_fully_defined():
            raise InvalidArgumentError(
                f"TensorArray {state.name!r} is empty, and the shape {row_shape} of its rows is not fully known"
            )
        return np.zeros((0, *row_shape.known()), state.dtype.np), np.zeros(0, np.int64)
    if any(not s or s[1:] != shapes[0][1:] for s in shapes):
        raise InvalidArgumentError(_why_not_joined(state.name, shapes))
    return call.tools.concat(values), np.array([s[0] for s in shapes], np.int64)


def _why_not_joined(name: str, shapes: Sequence[tuple[int, ...]]) -> str:
    scalar = next((k for k, s in enumerate(shapes) if not s), None)
    if scalar is not None:
        return f"TensorArray {name}: Concat saw a scalar shape at index {scalar} but requires at least vectors."
    k = next(k for k, s in enumerate(shapes) if s[1:] != shapes[0][1:])
    return (
        f"{name}: TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) shape: "
        f"{bracketed(shapes[0][1:])} but index {k} has (excepting dimension 0) shape: {bracketed(shapes[k][1:])}"
    )


def _split(call: HostCall, handle: np.ndarray, value: np.ndarray, lengths: np.ndarray, flow: np.ndarray) -> tuple[Any]:
    state = _of_dtype(call, handle)
    if np.ndim(host_lengths := call.tools.host(lengths)) != 1:
        raise InvalidArgumentError(
            f"Expected lengths to be a vector, received shape: {bracketed(np.shape(host_lengths))}"
        )
    sizes = [int(n) for n in host_lengths]
    shape = call.tools.shape(value)
    if not shape:
        raise InvalidArgumentError("Expected value to be at least a vector, but received shape: []")
    if sum(sizes) != shape[0] or any(n < 0 for n in sizes):
        raise InvalidArgumentError(
            f"Expected sum of lengths to be equal to values.shape[0], but sum of lengths is {sum(sizes)} and value's "
            f"shape is: {bracketed(shape)}"
        )
    if not state.dynamic and len(sizes) != len(state):
        raise InvalidArgumentError(
            f"TensorArray's size is not equal to the size of lengths ({len(state)} vs. {len(sizes)}), and the "
            "TensorArray is not marked as dynamically resizeable"
        )
    for i, part in enumerate(call.tools.split(value, sizes)):
        state.write(i, part, call.tools, learn=False)  # pieces may differ in length
    return (_FLOW,)


def _size(call: HostCall, handle: np.ndarray, flow: np.ndarray) -> tuple[Any]:
    return (np.array(len(_state(handle)), np.int32),)


def _close(call: HostCall, handle: np.ndarray) -> tuple[()]:
    _state(handle).close()
    return ()


# ---- gradients -----------------------------------------------------------------------------------


def _gradient_array(op: Operation, flow: Tensor) -> tuple[Tensor, Tensor]:
    """The handle and flow of the array that collects the gradient of the op's array, created after `flow`.

    Gradients of writes go on from the returned flow, which depends on no earlier write, those of reads from `flow`, so
    that gradients of second order lead from the read to the write. A write comes before its gradient even if the flow
    is a known zero: its elements give the shape of gradients that get no terms."""
    is_write = op.opdef in (TENSOR_ARRAY_WRITE, TENSOR_ARRAY_SCATTER, TENSOR_ARRAY_SPLIT)
    is_near = loops_around(op.extra.get(CONTEXT)) == loops_around(op.graph.scopes.control_flow)
    with op.graph.control_dependencies([op] if is_write and is_near else []):
        return TENSOR_ARRAY_GRAD(op.inputs[0], flow, source=op.graph.scopes.gradient_source or "gradients")


def _differentiable(op: Any) -> bool:
    dtype = op.types.get("dtype", op.types.get("T"))
    return bool(dtype.is_floating or dtype.is_complex)


def _grad_read(op: Operation, dy: Tensor) -> tuple[Any, ...]:
    _, index, flow = op.inputs
    handle, grad_flow = _gradient_array(op, flow)
    return None, None, TENSOR_ARRAY_WRITE(handle, index, dy, grad_flow)


def _grad_write(op: Operation, flow: Tensor) -> tuple[Any, ...]:
    if not _differentiable(op):
        return None, None, None, flow
    _, index, value, _ = op.inputs
    handle, _ = _gradient_array(op, flow)
    d_value = TENSOR_ARRAY_READ(handle, index, flow, dtype=value.dtype)
    d_value.set_shape(value.shape)
    return None, None, d_value, flow


def _grad_gather(op: Operation, dy: Tensor) -> tuple[Any, ...]:
    _, indices, flow = op.inputs
    handle, grad_flow = _gradient_array(op, flow)
    return None, None, TENSOR_ARRAY_SCATTER(handle, indices, dy, grad_flow)


def _grad_scatter(op: Operation, flow: Tensor) -> tuple[Any, ...]:
    if not _differentiable(op):
        return None, None, None, flow
    _, indices, value, _ = op.inputs
    handle, _ = _gradient_array(op, flow)
    dims = value.shape.sizes
    d_value = TENSOR_ARRAY_GATHER(
        handle, indices, flow, dtype=value.dtype, element_shape=None if dims is None else Shape(dims[1:])
    )
    d_value.set_shape(value.shape)
    return None, None, d_value, flow


def _grad_concat(op: Operation, dy: Tensor, _: Tensor) -> tuple[Any, ...]:
    _, flow = op.inputs
    handle, grad_flow = _gradient_array(op, flow)
    return None, TENSOR_ARRAY_SPLIT(handle, dy, op.outputs[1], grad_flow)


def _grad_split(op: Operation, flow: Tensor) -> tuple[Any, ...]:
    if not _differentiable(op):
        return None, None, None, flow
    value = op.inputs[1]
    handle, _ = _gradient_array(op, flow)
    dims = value.shape.sizes
    lengths = constant_value(op.inputs[2])
    if _may_grow(op.inputs[0]) and lengths is not None and lengths.size:
        parts = [TENSOR_ARRAY_READ(handle, i, flow, dtype=value.dtype) for i in range(lengths.size)]
        d_value = concat(parts, 0) if len(parts) > 1 else parts[0]
    else:
        d_value, _ = TENSOR_ARRAY_CONCAT(
            handle, flow, dtype=value.dtype, element_shape_except0=None if dims is None else Shape(dims[1:])
        )
    d_value.set_shape(value.shape)
    return None, d_value, None, flow


def _may_grow(handle: Tensor) -> bool:
    """Returns whether the array may grow, which it finds by following the handle through Enter and Switch."""
    maker = handle.op
    while maker.inputs:
        maker = maker.inputs[0].op
    return maker.opdef is not TENSOR_ARRAY or maker.attrs.dynamic_size


# ---- shapes --------------------------------------------------------------------------------------


def _two_scalars(c: Infer) -> tuple[Shape, Shape]:
    return scalar, scalar


def _gathered(c: Infer) -> Shape:
    element = _shape_of(c.attrs.element_shape)
    if element.sizes is None:
        return unknown_shape
    n = c.shapes[1].sizes
    return Shape((None if n is None else n[0], *element.sizes))


def _concatenated(c: Infer) -> tuple[Shape, Shape]:
    element = _shape_of(c.attrs.element_shape_except0)
    shape = unknown_shape if element.sizes is None else Shape((None, *element.sizes))
    return shape, Shape((None,))


def _op(
    name: str,
    inputs: str,
    outputs: str,
    doc: str,
    infer: Callable[[Infer], Any],
    host: Callable[..., Any],
    grad: GradFn | NotDifferentiable | GradientMissing | None,
    types: Mapping[str, tuple[DType, ...]] | None = None,
    attrs: Any = None,
) -> OpDef:
    keywords = {} if attrs is None else {"attrs": attrs}
    return OpDef(
        name,
        inputs,
        outputs,
        doc,
        types=types or {},
        infer=infer,
        host=host,
        grad=grad,
        stateful=True,
        raw=True,
        **keywords,
    )


TENSOR_ARRAY: OpDef[tuple[Tensor, Tensor]] = _op(
    "TensorArrayV3",
    "size: int32",
    "handle: resource, flow: float32",
    """Creates a tensor array of `size` elements of `dtype`, for one step.

    size: a scalar. handle, flow: scalars. Errors: size is negative.""",
    _two_scalars,
    _make,
    NOT_DIFFERENTIABLE,
    {"dtype": ALL_AND_QUANTIZED},
    TensorArrayAttrs,
)
TENSOR_ARRAY_GRAD: OpDef[tuple[Tensor, Tensor]] = _op(
    "TensorArrayGradV3",
    "handle: resource, flow_in: float32",
    "grad_handle: resource, flow_out: float32",
    """The array that collects the gradients of the elements of another array; one array per `source`.

    Elements that were never written read as zeros, and several writes to one element are added. All are scalars.""",
    _two_scalars,
    _grad,
    NOT_DIFFERENTIABLE,
    None,
    GradAttrs,
)
TENSOR_ARRAY_WRITE: OpDef[Tensor] = _op(
    "TensorArrayWriteV3",
    "handle: resource, index: int32, value: T, flow_in: float32",
    "flow_out: float32",
    """Writes `value` as element `index`.

    index: a scalar. value: the array's dtype. Errors: the index is out of range, the shape does not match the array, or
    the element was written before.""",
    scalar_shape,
    _write,
    _grad_write,
    {"T": ALL_AND_QUANTIZED},
)
TENSOR_ARRAY_READ: OpDef[Tensor] = _op(
    "TensorArrayReadV3",
    "handle: resource, index: int32, flow_in: float32",
    "value: dtype",
    """Reads element `index`.

    index: a scalar. value: the array's dtype, the element's shape. Errors: the index is out of range, an earlier read
    has cleared the element, or it was never written (but reads as zeros if the shape of elements is fully known).""",
    lambda c: unknown_shape,
    _read,
    _grad_read,
    {"dtype": ALL_AND_QUANTIZED},
)
TENSOR_ARRAY_GATHER: OpDef[Tensor] = _op(
    "TensorArrayGatherV3",
    "handle: resource, indices: int32, flow_in: float32",
    "value: dtype",
    """The elements `indices`, stacked along a new first axis.

    indices: shape (n,). value: shape (n, ...). Errors: those of a read, or the elements have different shapes.""",
    _gathered,
    _gather,
    _grad_gather,
    {"dtype": ALL_AND_QUANTIZED},
    GatherAttrs,
)
TENSOR_ARRAY_SCATTER: OpDef[Tensor] = _op(
    "TensorArrayScatterV3",
    "handle: resource, indices: int32, value: T, flow_in: float32",
    "flow_out: float32",
    """Writes the slices of `value` along its first axis as the elements `indices`.

    indices: shape (n,). value: shape (n, ...). Errors: those of a write, or another number of indices.""",
    scalar_shape,
    _scatter,
    _grad_scatter,
    {"T": ALL_AND_QUANTIZED},
)
TENSOR_ARRAY_CONCAT: OpDef[tuple[Tensor, Tensor]] = _op(
    "TensorArrayConcatV3",
    "handle: resource, flow_in: float32",
    "value: dtype, lengths: int64",
    """All elements, concatenated along their first axis, and the number of rows of each.

    value: shape (sum of lengths, ...). lengths: shape (size,). Errors: the elements differ in other dimensions.""",
    _concatenated,
    _concat,
    _grad_concat,
    {"dtype": ALL_AND_QUANTIZED},
    ConcatAttrs,
)
TENSOR_ARRAY_SPLIT: OpDef[Tensor] = _op(
    "TensorArraySplitV3",
    "handle: resource, value: T, lengths: int64, flow_in: float32",
    "flow_out: float32",
    """Splits `value` along its first axis into pieces of `lengths` rows and writes them as elements 0, 1, ...

    lengths: shape (n,). value: shape (sum of lengths, ...). Errors: those of a write, or lengths with another sum.""",
    scalar_shape,
    _split,
    _grad_split,
    {"T": ALL_AND_QUANTIZED},
)
TENSOR_ARRAY_SIZE: OpDef[Tensor] = _op(
    "TensorArraySizeV3",
    "handle: resource, flow_in: float32",
    "size: int32",
    "The number of elements of the array.\n\nsize: a scalar.",
    scalar_shape,
    _size,
    NOT_DIFFERENTIABLE,
)
TENSOR_ARRAY_CLOSE: OpDef[Operation] = _op(
    "TensorArrayCloseV3",
    "handle: resource",
    "",
    "Frees the array's elements; it cannot be used afterwards.",
    no_outputs,
    _close,
    NOT_DIFFERENTIABLE,
)

OPS: tuple[OpDef, ...] = (
    TENSOR_ARRAY,
    TENSOR_ARRAY_GRAD,
    TENSOR_ARRAY_WRITE,
    TENSOR_ARRAY_READ,
    TENSOR_ARRAY_GATHER,
    TENSOR_ARRAY_SCATTER,
    TENSOR_ARRAY_CONCAT,
    TENSOR_ARRAY_SPLIT,
    TENSOR_ARRAY_SIZE,
    TENSOR_ARRAY_CLOSE,
)
API: dict[str, Any] = {}
