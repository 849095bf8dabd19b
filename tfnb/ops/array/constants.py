"""Constant tensors and sequences (white paper, Table 1; OSDI'16, section 3.1).

`Const` itself belongs to the graph builder (`tfnb.ir.const`); this module has the functions that create constants,
and ops such as `Fill` and `Range`, whose results depend on a few scalars. Invariant: what is known while the graph is
built costs nothing at run time.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tfnb.errors import DTypeError, InvalidArgumentError, ShapeError
from tfnb.ir import scalar as s
from tfnb.ir.bind import to_numpy
from tfnb.ir.const import CONST, constant_value
from tfnb.ir.default import get_default_graph, graph_of
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, LowerSite, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.scalar import Expr
from tfnb.ir.shapes import unchanged, with_rank
from tfnb.ir.tensor import Tensor, TensorLike, is_tensor_like
from tfnb.ops.array.shape_ops import RESHAPE, shape_of
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.reduce_sum import SUM, all_axes
from tfnb.sizes import largest
from tfnb.types import (
    ALL,
    ALL_AND_QUANTIZED,
    INDEX,
    DType,
    DTypeLike,
    Shape,
    as_dtype,
    as_shape,
    float32,
    float64,
    int32,
    int64,
    sizes_array,
)

__all__ = [
    "API",
    "FILL",
    "LIN_SPACE",
    "ONES_LIKE",
    "OPS",
    "RANGE",
    "ZEROS_LIKE",
    "constant",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]

_SMALL = 1000  # elements; larger fills are computed by the step instead of being stored in the graph


def _filled(c: Infer) -> Shape:
    dims = c.value(0)
    if dims is not None and (dims < 0).any():
        raise ShapeError(f"{c.op_name}: dimensions must be >= 0, got {dims.tolist()}")
    with_rank(c, 0, 1, "dims must be a vector")
    if c.op_name == "Fill":
        with_rank(c, 1, 0, "value must be a scalar")
    return c.as_shape(0)


def _grad_fill(op: Operation, dy: Tensor) -> tuple[None, Tensor]:
    return None, SUM(dy, all_axes(dy))


FILL: OpDef[Tensor] = OpDef(
    "Fill",
    inputs="dims: index_type, value: T",
    outputs="output: T",
    types={"index_type": INDEX, "T": ALL_AND_QUANTIZED},
    defaults={"index_type": int32},
    doc="""A tensor in which every element has the same value.

    dims: an integer vector, the shape. value: a scalar of any dtype. output: dtype of value, shape dims.
    Errors: a negative dimension.""",
    infer=_filled,
    host=lambda call, dims, value: np.full(tuple(dims.tolist()), value.reshape(()), value.dtype),
    lower=lambda site, idx, port: site.load(1, ()),
    grad=_grad_fill,
    shape_inputs=(0,),
    api="fill",
)


def _zero_of(dtype: DType) -> bytes | int:
    return b"" if dtype.is_string else 0


ZEROS_LIKE: OpDef[Tensor] = OpDef(
    "ZerosLike",
    inputs="x: T",
    outputs="y: T",
    types={"T": ALL},
    doc="""Zeros (False, empty strings) with the dtype and shape of another tensor.""",
    infer=unchanged,
    host=lambda call, x: np.full(x.shape, _zero_of(call.outputs[0].dtype), x.dtype),
    lower=lambda site, idx, port: s.const(0, site.outputs[0].dtype),
    grad=NOT_DIFFERENTIABLE,
    shape_only=True,
)

ONES_LIKE: OpDef[Tensor] = OpDef(
    "OnesLike",
    inputs="x: T",
    outputs="y: T",
    types={"T": tuple(d for d in ALL if not d.is_string)},
    doc="""Ones (True) with the dtype and shape of another tensor.""",
    infer=unchanged,
    host=lambda call, x: np.ones(x.shape, x.dtype),
    lower=lambda site, idx, port: s.const(1, site.outputs[0].dtype),
    grad=NOT_DIFFERENTIABLE,
    shape_only=True,
)


def range_size(start: TensorLike, limit: TensorLike, delta: TensorLike) -> int:
    """Returns the number of elements of `Range`.

    Raises `InvalidArgumentError` when delta is 0 or leads away from limit, or when a number is not finite.
    """
    first, last, step = (v.item() for v in map(np.asarray, (start, limit, delta)))
    if any(isinstance(v, float) and not math.isfinite(v) for v in (first, last, step)):
        raise InvalidArgumentError(f"Range: from {first} to {last} by {step} is no finite range")
    if step == 0:
        raise InvalidArgumentError("Range: delta must not be 0")
    if (step > 0) != (last > first) and last != first:
        raise InvalidArgumentError(f"Range: start {first} and limit {last} do not fit the step {step}")
    if not isinstance(step, float):
        return largest(0, -((first - last) // step))
    count = (last - first) / step
    if not math.isfinite(count):
        raise InvalidArgumentError(f"Range: from {first} to {last} by {step} are more numbers than can be counted")
    return max(0, math.ceil(count))


def _range_shape(c: Infer) -> Shape:
    for i, what in enumerate(("start", "limit", "delta")):
        with_rank(c, i, 0, f"{what} must be a scalar")
    values = [c.value(i) for i in range(3)]
    if any(v is None for v in values):
        return Shape((None,))
    return Shape((range_size(*values),))


def _host_range(call: HostCall, start: np.ndarray, limit: np.ndarray, delta: np.ndarray) -> np.ndarray:
    n = range_size(start, limit, delta)
    return (start + np.arange(n).astype(start.dtype) * delta).astype(start.dtype)


def _lower_range(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    dtype = site.outputs[0].dtype
    start, delta = (s.const(site.value(i).item(), dtype) for i in (0, 2))
    return s.add(s.mul(s.cast(idx[0], dtype), delta), start)


RANGE: OpDef[Tensor] = OpDef(
    "Range",
    inputs="start: Tidx, limit: Tidx, delta: Tidx",
    outputs="output: Tidx",
    types={"Tidx": (int32, int64, float32, float64)},
    defaults={"Tidx": int32},
    doc="""The sequence start, start + delta, start + 2 delta, ... up to limit, which is excluded.

    start, limit, delta: scalars of the same dtype. output: a vector of that dtype and of size ceil((limit - start) /
    delta). Errors: delta is 0 or leads away from limit, or a number is not finite.""",
    infer=_range_shape,
    host=_host_range,
    lower=_lower_range,
    grad=NOT_DIFFERENTIABLE,
    shape_inputs=(0, 1, 2),
)


def _space_shape(c: Infer) -> Shape:
    num = c.value(2)
    if num is None:
        return Shape((None,))
    if num < 1:
        raise InvalidArgumentError(f"LinSpace: num must be at least 1, got {int(num)}")
    return Shape((int(num),))


def _host_space(call: HostCall, start: np.ndarray, stop: np.ndarray, num: np.ndarray) -> np.ndarray:
    n = int(num)
    step = (stop - start) / max(n - 1, 1)
    return (start + step * np.arange(n).astype(start.dtype)).astype(start.dtype)


def _lower_space(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    dtype = site.outputs[0].dtype
    start, stop = site.load(0, ()), site.load(1, ())
    step = s.div(s.sub(stop, start), s.const(max(int(site.value(2)) - 1, 1), dtype))
    return s.add(start, s.mul(step, s.cast(idx[0], dtype)))


LIN_SPACE: OpDef[Tensor] = OpDef(
    "LinSpace",
    inputs="start: T, stop: T, num: Tidx",
    outputs="output: T",
    types={"T": (float32, float64), "Tidx": INDEX},
    defaults={"Tidx": int32},
    doc="""`num` evenly spaced numbers from start to stop, both included.

    start, stop: float scalars. num: an integer scalar >= 1. output: a vector of size num; it holds only start when
    num is 1. Errors: num < 1.""",
    infer=_space_shape,
    host=_host_space,
    lower=_lower_space,
    grad=NOT_DIFFERENTIABLE,
    shape_inputs=(2,),
    api="linspace lin_space",
)


def constant(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    shape: TensorLike | None = None,
    name: str = "Const",
    verify_shape: bool = False,
) -> Any:
    """Returns a constant tensor with the given Python or NumPy value.

    dtype: by default float32 for Python floats, int32 for ints, and the dtype of a NumPy array. shape: if given, the
    elements fill this shape in row-major order; when there are too few, the last one is repeated. verify_shape: the
    value must have exactly this shape. Errors: there are more elements than the shape holds, or the value does not fit
    the dtype.
    """
    target_dtype = None if dtype is None else as_dtype(dtype)
    array = to_numpy(value, target_dtype)
    if shape is not None:
        array = _laid_out(array, as_shape(shape).known(), verify_shape)
    return get_default_graph().constant(array, name or "Const", target_dtype)


def _laid_out(array: np.ndarray, dims: tuple[int, ...], verify: bool) -> np.ndarray:
    if array.shape == dims:
        return array
    count = int(np.prod(dims, dtype=np.int64))
    too_many = array.size > max(count, 1)  # one number may fill a shape without elements
    if verify or too_many or (array.size == 0 and count):
        if too_many:
            raise ShapeError(f"Too many elements provided. Needed at most {count}, but received {array.size}")
        raise ShapeError(f"constant: a value of shape {array.shape} was given for the shape {dims}")
    elements = np.empty(count, array.dtype)
    elements[: array.size] = array.reshape(-1)
    elements[array.size :] = array.reshape(-1)[-1:] if array.size else 0
    return elements.reshape(dims)


def convert_to_tensor(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    preferred_dtype: DTypeLike | None = None,
    dtype_hint: DTypeLike | None = None,
) -> Any:
    """Converts `value` to a tensor: a tensor is returned unchanged, a variable is read, else a constant is created.

    dtype: the required dtype. preferred_dtype, or dtype_hint: the dtype to use if the value can be converted to it.
    Raises an error when the value has another dtype than the required one.
    """
    target_dtype = None if dtype is None else as_dtype(dtype)
    preferred_dtype = dtype_hint if preferred_dtype is None else preferred_dtype
    if target_dtype is None and preferred_dtype is not None and not is_tensor_like(value):
        try:
            return convert_to_tensor(value, preferred_dtype, name)
        except (TypeError, ValueError):
            pass
    graph = graph_of((value,))
    if name is not None and not is_tensor_like(value) and not isinstance(value, (list, tuple, Shape)):
        return graph.constant(to_numpy(value, target_dtype), name)
    t = (
        graph.to_tensor(value, target_dtype, name=name)
        if isinstance(value, Shape)
        else graph.to_tensor(value, target_dtype)
    )
    if target_dtype is not None and t.dtype is not target_dtype:
        raise DTypeError(f"the tensor {t.name} is {t.dtype.name}, needed {target_dtype.name}; use tf.cast")
    return t


def _full(shape: TensorLike, fill: Any, dtype: DTypeLike, name: str) -> Any:
    target_dtype = as_dtype(dtype)
    fill = np.asarray({0: _zero_of(target_dtype), 1: 1}[fill], target_dtype.np)
    static_dims = _static_dims(shape)
    if static_dims is not None and np.prod(static_dims, dtype=np.int64) <= _SMALL:
        graph = graph_of((shape,))
        return graph.constant(np.full(static_dims, fill, target_dtype.np), name)
    if static_dims is not None:
        return FILL(sizes_array(static_dims), fill, name=name)
    dims = graph_of((shape,)).to_tensor(shape)
    if dims.shape.ndims == 0:
        dims = RESHAPE(dims, np.asarray([1], np.int32))
    return FILL(dims, fill, name=name)


def _static_dims(shape: TensorLike) -> tuple[int, ...] | None:
    """The dimensions if `shape` is known while the graph is built; None when it is a tensor."""
    if is_tensor_like(shape):
        value = constant_value(graph_of((shape,)).to_tensor(shape))
        return None if value is None else tuple(int(d) for d in value.reshape(-1))
    if isinstance(shape, (list, tuple)) and any(is_tensor_like(d) for d in shape):
        return None
    if isinstance(shape, np.ndarray):
        return tuple(int(d) for d in shape.reshape(-1))
    return as_shape(shape).known()


def zeros(shape: TensorLike, dtype: DTypeLike = float32, name: str | None = None) -> Any:
    """Returns a tensor of zeros of the given `dtype`: False for bool, "" for strings.

    shape: integers, a Shape or an integer tensor.
    """
    return _full(shape, 0, dtype, name or "zeros")


def ones(shape: TensorLike, dtype: DTypeLike = float32, name: str | None = None) -> Any:
    """Returns a tensor of ones of the given `dtype`: True for bool.

    shape: integers, a Shape or an integer tensor.
    """
    return _full(shape, 1, dtype, name or "ones")


def _like(tensor: TensorLike, dtype: DTypeLike | None, name: str | None, fill: int, optimize: bool) -> Any:
    x = graph_of((tensor,)).to_tensor(tensor)
    target_dtype = x.dtype if dtype is None or dtype is False else as_dtype(dtype)  # programs give `optimize` second
    op, default = ((ZEROS_LIKE, "zeros_like"), (ONES_LIKE, "ones_like"))[fill]
    if optimize and x.shape.is_fully_defined():
        with x.graph.as_default():
            return _full(x.shape, fill, target_dtype, name or default)
    if target_dtype is x.dtype:
        return op(x, name=name or default)
    value = np.asarray(_zero_of(target_dtype) if fill == 0 else 1, target_dtype.np)
    return FILL(shape_of(x), value, name=name or default)


def zeros_like(
    tensor: TensorLike, dtype: DTypeLike | None = None, name: str | None = None, optimize: bool = True
) -> Any:
    """Returns zeros with the shape of `tensor`, and with `dtype` or by default the dtype of `tensor`.

    optimize: when the shape is fully known, the result is a constant or a Fill of that shape, which does not depend on
    `tensor`.
    """
    return _like(tensor, dtype, name, 0, optimize)


def ones_like(
    tensor: TensorLike, dtype: DTypeLike | None = None, name: str | None = None, optimize: bool = True
) -> Any:
    """Returns ones with the shape of `tensor`, and with `dtype` or by default the dtype of `tensor`.

    optimize: when the shape is fully known, the result is a constant or a Fill of that shape, which does not depend on
    `tensor`.
    """
    return _like(tensor, dtype, name, 1, optimize)


def range_(
    start: Any, limit: Any = None, delta: Any = 1, dtype: DTypeLike | None = None, name: str = "range"
) -> Tensor:
    """Returns the sequence start, start + delta, ... up to limit, which is excluded; `range(n)` counts from 0 to n - 1.

    The scalars may have different dtypes. The result has `dtype`, or by default the widest of int32, int64, float32
    and float64 among them. Errors: delta is 0 or leads away from limit, or a number is not finite.
    """
    if limit is None:
        start, limit = 0, start
    parts = (start, limit, delta)
    graph = graph_of(parts)
    if dtype is None:
        dtypes = [v.dtype.base_dtype if is_tensor_like(v) else as_dtype(to_numpy(v).dtype) for v in parts]
        target_dtype = max(dtypes, key=(int32, int64, float32, float64).index)
    else:
        target_dtype = as_dtype(dtype)
    with graph.name_scope(name or "range") as scope:
        alike = [
            cast_to(graph.to_tensor(v), target_dtype)
            if is_tensor_like(v)
            else graph.to_tensor(v, target_dtype, name=input_name)
            for v, input_name in zip(parts, RANGE.input_names, strict=True)
        ]
        return RANGE(*alike, name=scope)


OPS: tuple[OpDef, ...] = (CONST, FILL, ZEROS_LIKE, ONES_LIKE, RANGE, LIN_SPACE)
API: dict[str, Any] = {
    "constant": constant,
    "convert_to_tensor": convert_to_tensor,
    "zeros": zeros,
    "ones": ones,
    "zeros_like": zeros_like,
    "ones_like": ones_like,
    "range": range_,
}
