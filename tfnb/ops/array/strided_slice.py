"""Indexing with Python's brackets: the strided slice (white paper, Table 1, array operations).

`StridedSlice` has begin, end and stride for each entry of the index, and bit masks that mark open ends, an ellipsis,
new axes and single indices. Invariant: `x[key]` has the shape and elements that NumPy gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from types import EllipsisType
from typing import Any, SupportsIndex, TypeAlias

import numpy as np

from tfnb.errors import DTypeError, InvalidArgumentError, ShapeError
from tfnb.ir import scalar as s
from tfnb.ir.const import constant_value
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import HostCall, Infer, LowerSite, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.scalar import Expr
from tfnb.ir.tensor import SupportsTensor, Tensor, is_tensor_like
from tfnb.ops.array.gather import GATHER_V2
from tfnb.ops.array.shape_ops import SHAPE
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.compare import SELECT
from tfnb.sizes import integer, largest, smallest
from tfnb.types import ALL, INDEX, Dimension, DType, Shape, int32, int64, unknown_shape

__all__ = [
    "API",
    "IndexKey",
    "MASKS",
    "OPS",
    "STRIDED_SLICE",
    "STRIDED_SLICE_GRAD",
    "StridedSliceAttrs",
    "assignment_key",
    "entries",
    "getitem",
    "slice_parts",
    "strided_shape",
]


@record
class StridedSliceAttrs:
    """Bit i of each mask describes entry i of the index: its begin or end is open, or it is an ellipsis, a new axis,
    or a single index whose axis is removed."""

    begin_mask: int = 0
    end_mask: int = 0
    ellipsis_mask: int = 0
    new_axis_mask: int = 0
    shrink_axis_mask: int = 0


MASKS = tuple(f.name for f in fields(StridedSliceAttrs))


@record
class _Entry:
    """The slice of one axis: `length` elements from `begin` in steps of `stride`.

    `axis` is None for a new axis; `shrink` means that the axis is removed; begin and length are None where they are
    known only when the graph runs.
    """

    axis: int | None
    begin: int | None = 0
    stride: int | None = 1
    length: int | None = 1
    shrink: bool = False


Numbers = Sequence["int | None"]

# What may stand between the brackets of a tensor: None is a new axis.
IndexPart: TypeAlias = SupportsIndex | slice | EllipsisType | Tensor | SupportsTensor | Dimension | None
IndexKey: TypeAlias = IndexPart | tuple[IndexPart, ...]


def entries(dims: Numbers, begin: Numbers, end: Numbers, strides: Numbers, attrs: StridedSliceAttrs) -> list[_Entry]:
    """Returns the entries of the index, resolved for a tensor of shape `dims`.

    Raises `InvalidArgumentError` for too many entries, a stride of 0, or a single index out of range.
    """
    count = len(begin)
    new = [i for i in range(count) if attrs.new_axis_mask >> i & 1 and not attrs.ellipsis_mask >> i & 1]
    dots = [i for i in range(count) if attrs.ellipsis_mask >> i & 1]
    if attrs.ellipsis_mask & (attrs.ellipsis_mask - 1):  # more than one bit is set
        raise InvalidArgumentError("Multiple ellipses in slice spec not allowed: an index may hold one")
    rest = len(dims) - (count - len(new) - len(dots))
    if rest < 0:
        raise ShapeError(
            f"slice index out of range: too many indices ({count - len(new) - len(dots)}) for a "
            f"tensor of rank {len(dims)}"
        )
    result: list[_Entry] = []
    axis = 0
    for i in range(count):
        if i in dots:
            result.extend(_Entry(a, length=dims[a]) for a in range(axis, axis + rest))
            axis += rest
        elif i in new:
            result.append(_Entry(None))
        else:
            result.append(_entry(axis, dims[axis], begin[i], end[i], strides[i], attrs, i))
            axis += 1
    result.extend(_Entry(a, length=dims[a]) for a in range(axis, len(dims)))
    return result


def _entry(
    axis: int,
    dim: int | None,
    begin: int | None,
    end: int | None,
    stride: int | None,
    attrs: StridedSliceAttrs,
    bit: int,
) -> _Entry:
    if stride == 0:
        raise InvalidArgumentError(f"the stride of axis {axis} must not be 0")
    if attrs.shrink_axis_mask >> bit & 1:
        if stride is not None and stride < 0:
            raise InvalidArgumentError(
                f"the stride of axis {axis}, which a single index takes away, must not be negative"
            )
        if begin is not None and dim is not None and not -dim <= begin < dim:
            raise InvalidArgumentError(
                f"slice index {begin} of dimension {axis} out of bounds: "
                f"index {begin} is out of range for axis {axis} of size {dim}"
            )
        at = begin
        if begin is not None and begin < 0:
            at = None if dim is None else begin + dim
        return _Entry(axis, at, 1, 1, True)
    open_begin, open_end = attrs.begin_mask >> bit & 1, attrs.end_mask >> bit & 1
    if stride is None or dim is None or (begin is None and not open_begin) or (end is None and not open_end):
        if open_begin and open_end and stride in (1, -1):
            return _Entry(axis, None, stride, dim)
        return _Entry(axis, None, stride, None)
    step = int(stride)
    first = _limit(begin, dim, step, 0 if step > 0 else dim - 1) if not open_begin else (0 if step > 0 else dim - 1)
    last = _limit(end, dim, step, dim if step > 0 else -1) if not open_end else (dim if step > 0 else -1)
    length = largest(0, -((first - last) // step))
    return _Entry(axis, first, step, length)


def _limit(n: int | None, dim: int, step: int, unknown: int) -> int:
    """Returns a bound of a slice as Python's `slice.indices` does: counted from the end if negative, and clamped."""
    if n is None:
        return unknown
    counted = n + dim if n < 0 else n
    low, high = (0, dim) if step > 0 else (-1, dim - 1)
    return largest(low, smallest(counted, high))


def _numbers(c: Infer, i: int) -> Numbers | None:
    """The entries of input i, each None if unknown; None instead of a list when even their number is unknown."""
    value = c.value(i)
    if value is not None:
        return [integer(v) for v in value]
    return c.as_shape(i).sizes


def _entries_of(c: Infer, x: Shape, first: int) -> list[_Entry] | None:
    begin, end, strides = (_numbers(c, first + k) for k in range(3))
    lists = [v for v in (begin, end, strides) if v is not None]
    if x.sizes is None or not lists:
        return None
    unknown = [None] * len(lists[0])
    return entries(x.sizes, begin or unknown, end or unknown, strides or unknown, c.attrs)


def strided_shape(c: Infer) -> Shape:
    """Returns the static shape of the slice of input 0 that inputs 1 to 3 describe."""
    parts = _entries_of(c, c.shapes[0], 1)
    if parts is None:
        return unknown_shape
    return Shape(tuple(e.length for e in parts if not e.shrink))


def _strided_values(c: Infer) -> Shape | None:
    """The dimensions in a slice of a vector of dimensions."""
    if not c.dtypes[0].is_integer or c.shapes[0].ndims != 1:
        return None
    dims = c.as_shape(0).sizes
    if dims is None:
        return None
    parts = _entries_of(c, Shape((len(dims),)), 1)
    if parts is None or len(parts) != 1 or parts[0].begin is None or parts[0].length is None:
        return None
    e, begin, stride = parts[0], parts[0].begin, parts[0].stride or 1
    selected = [dims[begin + k * stride] for k in range(parts[0].length)]
    return None if e.shrink and selected[0] is None else Shape(tuple(selected))


def slice_parts(entries: Sequence[_Entry]) -> tuple[slice, ...]:
    """Returns the NumPy index that corresponds to the entries."""
    parts = []
    for e in entries:
        if e.axis is None:
            continue
        if not e.length:
            parts.append(slice(0, 0))
            continue
        stop = e.begin + e.length * e.stride  # type: ignore[operator]
        parts.append(slice(e.begin, None if stop < 0 else stop, e.stride))
    return tuple(parts)


def _host_strided(call: HostCall, x: np.ndarray, *index: np.ndarray) -> np.ndarray:
    parts = entries(x.shape, index[0].tolist(), index[1].tolist(), index[2].tolist(), call.attrs)
    index_of_parts: Any = (*slice_parts(parts), ...)  # the dots keep an array of no axes, whatever its elements are
    return x[index_of_parts].reshape([e.length for e in parts if not e.shrink])


def _site_entries(site: LowerSite, dims: Sequence[int], first: int) -> list[_Entry]:
    begin, end, strides = (site.value(first + k).tolist() for k in range(3))
    return entries(dims, begin, end, strides, site.attrs)


def _lower_strided(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    source: list[Any] = []
    position = 0
    for e in _site_entries(site, site.inputs[0].shape, 1):
        if e.shrink:
            source.append(e.begin)
            continue
        if e.axis is not None:
            source.append(s.add(s.mul(idx[position], e.stride), e.begin))  # type: ignore[arg-type]
        position += 1
    return site.load(0, source)


def _grad_strided(op: Operation, dy: Tensor) -> tuple[Tensor, None, None, None]:
    x, *index = op.inputs
    if index[0].dtype is int32 and x.shape.is_fully_defined():
        shape: Any = np.asarray(x.shape.known(), np.int32)
    else:
        shape = SHAPE(x, out_type=index[0].dtype)
    return STRIDED_SLICE_GRAD(shape, *index, dy, **_masks(op.attrs)), None, None, None


def _masks(attrs: StridedSliceAttrs) -> dict[str, Any]:
    return {name: getattr(attrs, name) for name in MASKS}


STRIDED_SLICE: OpDef[Tensor] = OpDef(
    "StridedSlice",
    inputs="input: T, begin: Index, end: Index, strides: Index",
    outputs="output: T",
    types={"T": ALL, "Index": INDEX},
    attrs=StridedSliceAttrs,
    doc="""The result of Python's `input[begin:end:stride, ...]`.

    input: any dtype. begin, end, strides: integer vectors with one number per entry of the index; negative indices
    count from the end, strides may be negative but not 0. The masks mark open ends, the ellipsis, new axes, and
    single indices, whose axes are removed. Errors: too many entries, or a single index out of range.""",
    infer=strided_shape,
    host=_host_strided,
    lower=_lower_strided,
    grad=_grad_strided,
    shape_inputs=(1, 2, 3),
    partial=_strided_values,
)


def _host_strided_grad(
    call: HostCall,
    shape: np.ndarray,
    begin: np.ndarray,
    end: np.ndarray,
    strides: np.ndarray,
    dy: np.ndarray,
) -> np.ndarray:
    dims = shape.tolist()
    parts = entries(dims, begin.tolist(), end.tolist(), strides.tolist(), call.attrs)
    out = np.zeros(dims, dy.dtype)
    expected = [e.length if e.axis is not None else 1 for e in parts if not e.shrink]
    if list(dy.shape) != expected:
        raise ShapeError(f"StridedSliceGrad: the slice has shape {expected}, the gradient {dy.shape}", call.op)
    out[slice_parts(parts)] = dy.reshape([e.length for e in parts if e.axis is not None])
    return out


def _lower_strided_grad(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    zero = s.const(0, site.outputs[0].dtype)
    if 0 in site.inputs[4].shape:
        return zero
    source: list[Any] = []
    inside: Expr | None = None
    for e in _site_entries(site, site.outputs[0].shape, 1):
        if e.axis is None:
            source.append(0)
            continue
        i, step, dim = idx[e.axis], e.stride or 1, site.outputs[0].shape[e.axis]
        offset = s.sub(i, e.begin) if step > 0 else s.sub(e.begin, i)  # type: ignore[arg-type]
        tests = []
        if e.begin != 0 or step < 0:
            tests.append(s.ge(offset, 0))
        at = s.floordiv(offset, abs(step))
        if abs(step) > 1:
            tests.append(s.eq(s.floormod(offset, abs(step)), 0))
        if e.begin != 0 or e.length * abs(step) != dim:  # type: ignore[operator]
            tests.append(s.lt(at, e.length))  # type: ignore[arg-type]
        for test in tests:
            inside = test if inside is None else s.and_(inside, test)
        if not e.shrink:
            source.append(s.minimum(s.maximum(at, 0), e.length - 1) if tests else at)  # type: ignore[operator]
    element = site.load(4, source)
    return element if inside is None else s.where(inside, element, zero)


def _grad_strided_grad(op: Operation, g: Tensor) -> tuple[None, None, None, None, Tensor]:
    return None, None, None, None, STRIDED_SLICE(g, *op.inputs[1:4], **_masks(op.attrs))


STRIDED_SLICE_GRAD: OpDef[Tensor] = OpDef(
    "StridedSliceGrad",
    inputs="shape: Index, begin: Index, end: Index, strides: Index, dy: T",
    outputs="output: T",
    types={"T": ALL, "Index": INDEX},
    attrs=StridedSliceAttrs,
    doc="""The gradient of StridedSlice: zeros of shape `shape`, with `dy` at the position of the slice.

    shape: an integer vector, the shape of the sliced tensor. begin, end, strides and the masks: those of the forward
    op. dy: the shape of the slice.""",
    infer=lambda c: c.as_shape(0),
    host=_host_strided_grad,
    lower=_lower_strided_grad,
    grad=_grad_strided_grad,
    shape_inputs=(0, 1, 2, 3),
)


@record
class _Key:
    """The inputs and masks of StridedSlice for a Python index."""

    begin: tuple[Any, ...] = ()
    end: tuple[Any, ...] = ()
    strides: tuple[Any, ...] = ()
    masks: tuple[int, ...] = (0, 0, 0, 0, 0)

    def plus(self, begin: int | Tensor, end: int | Tensor, stride: int | Tensor, **flags: bool) -> _Key:
        bit = 1 << len(self.begin)
        masks = tuple(m | bit if flags.get(n) else m for m, n in zip(self.masks, MASKS, strict=True))
        return replace(
            self,
            begin=(*self.begin, begin),
            end=(*self.end, end),
            strides=(*self.strides, stride),
            masks=masks,
        )


def _number(value: Any, what: str) -> Any:
    """One number of an index: an int, or an integer scalar tensor."""
    if isinstance(value, Dimension):
        return int(value)
    if is_tensor_like(value):
        if not isinstance(value, Tensor):
            value = graph_of((value,)).to_tensor(value)
        if not value.dtype.base_dtype.is_integer:
            raise DTypeError(f"{_refused(value.dtype.name)} {what} must be an integer, got a tensor")
        static = constant_value(value)
        return value if static is None else int(static.reshape(()))
    try:
        return value.__index__()
    except AttributeError:
        kind = "float32" if isinstance(value, float) else type(value).__name__
        needed = f"{what} must be an integer, a slice, ..., or tf.newaxis; got {value!r}"
        raise DTypeError(f"{_refused(kind)} {needed}") from None


def _refused(dtype: str) -> str:
    return (
        f"Value passed to parameter 'begin' has DataType {dtype} not in list of allowed values: int32, int64 "
        f"(DataType {dtype} for attr 'Index')."
    )


def _parse(x: Tensor, key: IndexKey) -> tuple[_Key, list[tuple[int, Any]]]:
    """The static part of an index, and (axis of its result, tensor) for each scalar tensor in it."""
    parts = key if isinstance(key, tuple) else (key,)
    result, gathers, axis, dots = _Key(), [], 0, False
    for p in parts:
        if p is Ellipsis:
            if dots:
                raise InvalidArgumentError("Multiple ellipses in slice spec not allowed: an index may hold one")
            result, dots = result.plus(0, 0, 1, ellipsis_mask=True), True
            axis = -(_result_axes(parts) - axis)
            continue
        if p is None:
            result = result.plus(0, 0, 1, new_axis_mask=True)
        elif isinstance(p, slice):
            result = _plus_slice(result, p)
        else:
            i = _number(p, "an index")
            if isinstance(i, int):
                result = result.plus(i, i + 1 if i != -1 else 0, 1, shrink_axis_mask=True, end_mask=i == -1)
                continue
            result = result.plus(0, 0, 1, begin_mask=True, end_mask=True)
            gathers.append((axis, i))
        axis += 1
    return result, gathers


def _result_axes(parts: Sequence[Any]) -> int:
    """The number of axes that all parts but the ellipsis contribute to the result of the static slice."""
    entries_of_key = [p for p in parts if p is not Ellipsis and p is not None and not isinstance(p, slice)]
    integers = sum(isinstance(_number(p, "an index"), int) for p in entries_of_key)
    return sum(p is not Ellipsis for p in parts) - integers


def _plus_slice(parsed: _Key, part: slice) -> _Key:
    begin = 0 if part.start is None else _number(part.start, "a slice's start")
    end = 0 if part.stop is None else _number(part.stop, "a slice's end")
    step = 1 if part.step is None else _number(part.step, "a slice's step")
    return parsed.plus(begin, end, step, begin_mask=part.start is None, end_mask=part.stop is None)


def _vectors(key: _Key, x: Tensor, names: Sequence[str] = ("stack",) * 3) -> list[Any]:
    """Begin, end and strides of a key, all of int64 if a number needs it or a tensor has it, else of int32."""
    vectors = key.begin, key.end, key.strides
    dtype = int64 if any(_is_long(value) for values in vectors for value in values) else int32
    return [_vector(values, x, dtype, name) for values, name in zip(vectors, names, strict=True)]


def _is_long(value: Any) -> bool:
    if is_tensor_like(value):
        return value.dtype.base_dtype is int64
    return not -(2**31) <= value < 2**31


def _vector(values: Sequence[Any], x: Tensor, dtype: DType, name: str) -> Any:
    if all(isinstance(v, int) for v in values):
        return x.graph.to_tensor(np.asarray(values, dtype.np), name=name)
    if dtype is int64:
        values = [cast_to(x.graph.to_tensor(v), int64) if is_tensor_like(v) else np.int64(v) for v in values]
    return x.graph.to_tensor(list(values), dtype, name=name)


def getitem(x: Tensor, key: IndexKey, name: str | None = None) -> Any:
    """`x[key]` with NumPy's meaning.

    The key may contain ints, slices with steps, `...` and `tf.newaxis`; ints and bounds may be scalar tensors. A scalar
    tensor as a single index becomes a Gather, so its value may change from step to step without recompilation. Errors:
    a part of another type, too many indices, or a single index out of range.
    """
    parsed, gathers = _parse(x, key)
    takes_all = parsed.masks[0] == parsed.masks[1] == (1 << len(parsed.begin)) - 1 and len(gathers) == len(parsed.begin)
    out = x.graph.to_tensor(x) if takes_all else _strided(x, parsed, name or "strided_slice")
    for axis, i in sorted(gathers, key=lambda pair: (pair[0] >= 0, -abs(pair[0]))):
        i = x.graph.to_tensor(i)
        known = None if out.shape.sizes is None else out.shape.sizes[axis]
        size = SHAPE(out, out_type=i.dtype)[axis] if known is None else i.dtype.np.type(known)
        out = GATHER_V2(out, SELECT(i < 0, i + size, i), np.int32(axis))
    return out


def _strided(x: Tensor, key: _Key, name: str) -> Tensor:
    """The slice of the static part of an index; its constants are named after it, as `strided_slice/stack`."""
    name, *names = x.graph.reserve(name, "stack", "stack_1", "stack_2")
    return STRIDED_SLICE(x, *_vectors(key, x, names), name=name, **dict(zip(MASKS, key.masks, strict=True)))


def assignment_key(x: Tensor, key: IndexKey) -> tuple[list[Any], dict[str, Any]]:
    """Returns (begin, end and strides; masks) for an assignment to `x[key]`; single indices may be tensors here too."""
    parsed = _Key()
    for p in key if isinstance(key, tuple) else (key,):
        if p is Ellipsis:
            parsed = parsed.plus(0, 0, 1, ellipsis_mask=True)
        elif p is None:
            parsed = parsed.plus(0, 0, 1, new_axis_mask=True)
        elif isinstance(p, slice):
            parsed = _plus_slice(parsed, p)
        else:
            i = _number(p, "an index")
            parsed = parsed.plus(i, i + 1, 1, shrink_axis_mask=True)
    return _vectors(parsed, x), dict(zip(MASKS, parsed.masks, strict=True))


OPS: tuple[OpDef, ...] = (STRIDED_SLICE, STRIDED_SLICE_GRAD)
API: dict[str, Any] = {"newaxis": None}
