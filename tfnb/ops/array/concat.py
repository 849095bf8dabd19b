"""Joining tensors along an axis, and splitting them (white paper, Table 1, array operations).

Invariant: joining and splitting are each other's gradient. `concat` and `split` recognise the argument order of
TensorFlow 0.x by the types of the arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfnb.dimension import Dimension, size_of
from tfnb.errors import DTypeError, InvalidArgumentError, ShapeError
from tfnb.ir import scalar as s
from tfnb.ir.bind import flatten, to_numpy
from tfnb.ir.const import constant_value
from tfnb.ir.default import get_default_graph, graph_of
from tfnb.ir.kernelcall import KernelSite
from tfnb.ir.opdef import GRADIENT_MISSING, HostCall, Infer, LowerSite, OpDef
from tfnb.ir.record import record
from tfnb.ir.scalar import Expr
from tfnb.ir.shapes import normalize_axis
from tfnb.ir.tensor import Tensor, TensorLike, is_tensor_like
from tfnb.ops.array.identity import ShapeAttrs
from tfnb.ops.array.pack import PACK, UNPACK
from tfnb.ops.array.parts_recipes import join_calls, split_calls
from tfnb.ops.array.shape_ops import EXPAND_DIMS, IDENTITY, SHAPE
from tfnb.ops.math.cast import cast_to
from tfnb.sizes import integer
from tfnb.types import ALL, ALL_AND_QUANTIZED, INDEX, Shape, bracketed, int32, int64, unknown_shape

__all__ = ["API", "CONCAT", "CONCAT_V2", "OPS", "SPLIT", "SPLIT_V", "concat", "stack"]


def _by_offset(choices: Sequence[Expr], starts: Sequence[int], at: Expr) -> Expr:
    """The element of `choices` whose interval [starts[k], starts[k + 1]) contains `at`, as an expression."""
    if len(choices) == 1:
        return choices[0]
    half = len(choices) // 2
    return s.where(
        s.lt(at, starts[half]),
        _by_offset(choices[:half], starts[:half], at),
        _by_offset(choices[half:], starts[half:], at),
    )


def _clamped(i: Expr, size: int) -> Expr:
    return s.minimum(s.maximum(i, 0), max(size - 1, 0))


def _mismatch(op: str, parts: Sequence[Shape], rest: Shape, part: Shape, axis: int) -> str:
    """The text about a part that differs from those before it in more than `axis`; TensorFlow names one side of it."""
    found = part.as_list()
    for side in (slice(None, axis), slice(axis + 1, None)):
        a, b = rest.as_list()[side], found[side]
        wrong = [i for i, (x, y) in enumerate(zip(a, b, strict=True)) if None not in (x, y) and x != y]
        if wrong:
            break
    given = ", ".join(map(bracketed, parts))
    return (
        f"{op}: Dimension {wrong[0]} in both shapes must be equal, but are {a[wrong[0]]} and {b[wrong[0]]}. Shapes are "
        f"{bracketed(a)} and {bracketed(b)}. Dimensions of inputs should match: {given} differ in more than axis {axis}"
    )


def _joined(c: Infer, parts: Sequence[Shape], axis: np.ndarray | None) -> Shape:
    rank = next((len(p.sizes) for p in parts if p.sizes is not None), None)
    if rank is None:
        return unknown_shape
    if rank == 0:
        raise ShapeError(
            f"{c.op_name}: Can't concatenate scalars (use tf.stack instead). Expected concatenating dimensions in the "
            "range [0, 0)"
        )
    for i, p in enumerate(parts):
        if p.ndims not in (None, rank):
            raise ShapeError(
                f"{c.op_name}: Shapes must be equal rank. Ranks of all input tensors should match: one has {rank} "
                f"dimensions, but shape[{i}] = {bracketed(p.sizes)}"
            )
    if axis is None:
        return Shape((None,) * rank)
    if axis.shape:
        raise ShapeError(
            f"{c.op_name}: Shape must be rank 0: the axis tensor should be a scalar integer, got shape {axis.shape}"
        )
    a = normalize_axis(int(axis.reshape(())), rank, f"{c.op_name}: axis")
    rest = Shape((None,) * rank)
    total: int | None = 0
    for p in parts:
        dims = (None,) * rank if p.sizes is None else p.sizes
        size = dims[a] if len(dims) == rank else None
        total = None if total is None or size is None else total + size
        try:
            rest = rest.merge_with(Shape((*dims[:a], None, *dims[a + 1 :])))
        except ShapeError:
            raise ShapeError(_mismatch(c.op_name, parts, rest, p, a)) from None
    others = rest.as_list()
    return Shape((*others[:a], total, *others[a + 1 :]))


def _joined_values(c: Infer, parts: Sequence[int]) -> Shape | None:
    """The known dimensions of joined vectors, when the inputs are themselves shapes."""
    if not c.dtypes[parts[0]].is_integer or any(c.shapes[i].ndims != 1 for i in parts):
        return None
    joined: tuple[int | None, ...] = ()
    for i in parts:
        dims = c.as_shape(i).sizes
        if dims is None:
            return None
        joined += dims
    return Shape(joined)


def _host_join(call: HostCall, axis: np.ndarray, parts: Sequence[np.ndarray]) -> np.ndarray:
    try:
        return np.concatenate(parts, normalize_axis(int(axis.reshape(())), parts[0].ndim))
    except ValueError as e:
        what = "Dimensions of inputs" if len({p.ndim for p in parts}) == 1 else "Ranks of all input tensors"
        raise InvalidArgumentError(f"Concat: {what} should match: {e}", call.op) from None


def _axis_of(site: KernelSite, i: int) -> int:
    """Returns the axis that is the value of input `i`."""
    return normalize_axis(int(site.values[i].reshape(())), len(site.outputs[0].shape))


def _lower_concat(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    axis = normalize_axis(int(site.value(0).reshape(())), len(idx))
    filled = [(i, info.shape) for i, info in enumerate(site.inputs) if i > 0 and info.size]
    starts, choices, start = [], [], 0
    for i, shape in filled:
        place = _clamped(s.sub(idx[axis], start), shape[axis])
        choices.append(site.load(i, (*idx[:axis], place, *idx[axis + 1 :])))
        starts.append(start)
        start += shape[axis]
    return _by_offset(choices, starts, idx[axis]) if choices else s.const(0, site.outputs[0].dtype)


def _split_like(dy: Tensor, parts: Sequence[Any], axis: Tensor) -> list[Any]:
    """Splits `dy` along `axis` into pieces of the same sizes as `parts`."""
    if len(parts) == 1:
        return [dy]
    static = constant_value(axis)
    if static is None:
        known_axis = None
    else:
        rank = next((p.shape.ndims for p in parts if p.shape.ndims is not None), None)
        known_axis = None if rank is None else normalize_axis(int(static.reshape(())), rank)
    if known_axis is not None:
        sizes = [p.shape.sizes[known_axis] if p.shape.sizes is not None else None for p in parts]
        if None not in sizes:
            return SPLIT_V(dy, np.asarray(sizes, np.int32), np.int32(known_axis), num_split=len(parts))
    at = cast_to(axis, int32) if known_axis is None else np.int32(known_axis)
    counts = [SHAPE(p, out_type=int32)[axis if known_axis is None else known_axis] for p in parts]
    return SPLIT_V(dy, PACK(counts), at, num_split=len(parts))


CONCAT: OpDef[Tensor] = OpDef(
    "Concat",
    inputs="concat_dim: int32, values: N*T",
    outputs="output: T",
    types={"T": ALL_AND_QUANTIZED},
    doc="""Joins tensors along one axis.

    concat_dim: an int32 scalar, the axis. values: tensors of the same dtype and rank >= 1, equal in all other
    dimensions. output: that dtype; its size along the axis is the sum of the inputs' sizes. Errors: the shapes do
    not match.""",
    infer=lambda c: _joined(c, c.shapes[1:], c.value(0)),
    host=lambda call, axis, *parts: _host_join(call, axis, parts),
    lower=_lower_concat,
    opencl=lambda site: join_calls(site, _axis_of(site, 0), 1),
    grad=lambda op, dy: (None, *_split_like(dy, op.inputs[1:], op.inputs[0])),
    shape_inputs=(0,),
    partial=lambda c: _joined_values(c, range(1, len(c.shapes))),
)

CONCAT_V2: OpDef[Tensor] = OpDef(
    "ConcatV2",
    inputs="values: N*T, axis: Tidx",
    outputs="output: T",
    types={"T": ALL_AND_QUANTIZED, "Tidx": INDEX},
    defaults={"Tidx": int32},
    doc="""Joins tensors along one axis, as `Concat`; here the axis is the last input, and may be negative.

    values: tensors of the same dtype and rank >= 1, equal in all dimensions but the axis. axis: an integer scalar;
    a negative one counts from the end. output: the inputs' dtype; its size along the axis is the sum of their sizes.
    Errors: the shapes do not match.""",
    infer=lambda c: _joined(c, c.shapes[:-1], c.value(len(c.shapes) - 1)),
    host=lambda call, *inputs: _host_join(call, inputs[-1], inputs[:-1]),
    expand=lambda op, *inputs: CONCAT(_as_int32(inputs[-1]), list(inputs[:-1])),
    grad=lambda op, dy: (*_split_like(dy, op.inputs[:-1], op.inputs[-1]), None),
    partial=lambda c: _joined_values(c, range(len(c.shapes) - 1)),
)


def _as_int32(axis: Tensor) -> Any:
    value = constant_value(axis)
    return cast_to(axis, int32) if value is None else value.astype(np.int32)


@record
class SplitAttrs:
    """`num_split`: the number of pieces."""

    num_split: int

    def __post_init__(self) -> None:
        if self.num_split < 1:
            raise InvalidArgumentError(f"num_split must be at least 1, got {self.num_split}")


def _split_shapes(c: Infer) -> tuple[Shape, ...]:
    axis, x, n = c.value(0), c.shapes[1], c.attrs.num_split
    if x.sizes is None or axis is None:
        return (unknown_shape if x.sizes is None else Shape((None,) * len(x.sizes)),) * n
    a = normalize_axis(int(axis.reshape(())), len(x.sizes), "Split: split_dim")
    size = x.sizes[a]
    if size is not None and size % n:
        raise ShapeError(
            f"Split: Dimension size must be evenly divisible by {n} but is {size}: Number of ways to split should "
            f"evenly divide the split dimension, here dimension {a} of the shape {x}"
        )
    return (Shape((*x.sizes[:a], None if size is None else size // n, *x.sizes[a + 1 :])),) * n


def _host_split(call: HostCall, axis: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, ...]:
    try:
        return tuple(np.split(value, call.attrs.num_split, normalize_axis(int(axis.reshape(())), value.ndim)))
    except ValueError as e:
        raise InvalidArgumentError(f"Split: {e}", call.op) from None


def _lower_split(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    a = normalize_axis(int(site.value(0).reshape(())), len(idx))
    start = port * site.outputs[port].shape[a]
    return site.load(1, (*idx[:a], s.add(idx[a], start), *idx[a + 1 :]))


SPLIT: OpDef[list[Tensor]] = OpDef(
    "Split",
    inputs="split_dim: int32, value: T",
    outputs="output: num_split*T",
    types={"T": ALL_AND_QUANTIZED},
    attrs=SplitAttrs,
    doc="""Splits a tensor along one axis into `num_split` pieces of equal size.

    split_dim: an int32 scalar, the axis. value: any dtype; its size along the axis is a multiple of num_split.
    Errors: the size is not such a multiple, or the axis is out of range.""",
    infer=_split_shapes,
    host=_host_split,
    lower=_lower_split,
    opencl=lambda site: split_calls(site, _axis_of(site, 0), 1),
    grad=lambda op, *dys: (None, CONCAT(op.inputs[0], list(dys))),
    shape_inputs=(0,),
)


def _sizes(total: int | None, sizes: np.ndarray) -> list[int | None]:
    """The sizes of the pieces. One of `sizes` may be -1 and becomes the part of `total` that the others leave."""
    if (sizes < -1).any():
        raise InvalidArgumentError(f"SplitV: a size of {sizes.tolist()} is negative")
    rest = [integer(n) for n in sizes if n >= 0]
    if len(rest) < len(sizes) - 1:
        raise InvalidArgumentError(f"SplitV: more than one of the sizes {sizes.tolist()} is -1")
    left = None if total is None else total - sum(rest)
    if left is not None and (left < 0 or (left > 0 and len(rest) == len(sizes))):
        raise ShapeError(f"SplitV: the sizes {sizes.tolist()} do not add up to {total}")
    return [left if n < 0 else integer(n) for n in sizes]


def _splitv_shapes(c: Infer) -> tuple[Shape, ...]:
    x, sizes, axis, n = c.shapes[0], c.value(1), c.value(2), c.attrs.num_split
    if x.sizes is None or axis is None:
        return (unknown_shape if x.sizes is None else Shape((None,) * len(x.sizes)),) * n
    a = normalize_axis(int(axis.reshape(())), len(x.sizes), "SplitV: split_dim")
    parts: Sequence[int | None] = (None,) * n if sizes is None else _sizes(x.sizes[a], sizes)
    return tuple(Shape((*x.sizes[:a], p, *x.sizes[a + 1 :])) for p in parts)


def _host_splitv(call: HostCall, x: np.ndarray, sizes: np.ndarray, axis: np.ndarray) -> tuple[np.ndarray, ...]:
    a = normalize_axis(int(axis.reshape(())), x.ndim)
    parts = _sizes(x.shape[a], sizes)
    return tuple(np.split(x, np.cumsum(parts)[:-1].astype(int), a))  # type: ignore[arg-type]


def _lower_splitv(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    a = normalize_axis(int(site.value(2).reshape(())), len(idx))
    start = sum(out.shape[a] for out in site.outputs[:port])
    return site.load(0, (*idx[:a], s.add(idx[a], start), *idx[a + 1 :]))


SPLIT_V: OpDef[list[Tensor]] = OpDef(
    "SplitV",
    inputs="value: T, size_splits: Tlen, split_dim: int32",
    outputs="output: num_split*T",
    types={"T": ALL, "Tlen": INDEX},
    defaults={"Tlen": int64},
    attrs=SplitAttrs,
    doc="""Splits a tensor along one axis into pieces of given sizes.

    value: any dtype. size_splits: an integer vector of num_split sizes whose sum is the size of the axis; one of them
    may be -1 and takes the rest. split_dim: an int32 scalar, the axis. Errors: the sizes have another sum, or the
    axis is out of range.""",
    infer=_splitv_shapes,
    host=_host_splitv,
    lower=_lower_splitv,
    opencl=lambda site: split_calls(site, _axis_of(site, 2), 0),
    grad=lambda op, *dys: (CONCAT(op.inputs[2], list(dys)), None, None),
    shape_inputs=(1, 2),
)


def concat(
    values: TensorLike | None = None, axis: Any = None, name: str = "concat", concat_dim: TensorLike | None = None
) -> Tensor:
    """Joins tensors along an axis: `concat(values, axis)`, or in the order of 0.x `concat(concat_dim, values)`.

    values: a list of tensors of the same dtype and rank, equal in all other dimensions. axis: an integer or a
    scalar tensor of integers; a negative one counts from the end. Raises an error when the list or the axis is missing,
    or the shapes do not match.
    """
    if concat_dim is not None:
        axis = concat_dim
    if isinstance(axis, (list, tuple)) and not isinstance(values, (list, tuple)):
        values, axis = axis, values
    if not isinstance(values, (list, tuple)):
        values = [values]
    if axis is None or not len(values):
        raise InvalidArgumentError("concat takes a list of tensors and an axis")
    if len(values) == 1:
        at = graph_of((values, axis)).to_tensor(axis, None if is_tensor_like(axis) else int32)
        if not at.dtype.is_integer:
            raise DTypeError(f"concat: the axis is an integer, got {at.dtype.name}")
        at.shape.with_rank(0)
        return IDENTITY(values[0], name=name)
    if isinstance(axis, (list, tuple)):
        raise ShapeError(f"concat: Shape must be rank 0: the axis is a scalar, got {axis!r}")
    if not is_tensor_like(axis) and int(axis) >= 0:
        return CONCAT(axis, values, name=name)
    return CONCAT_V2(values, axis, name=name)


def stack(values: Any, axis: int = 0, name: str = "stack") -> Any:
    """Stacks tensors of one shape along a new axis: N tensors of rank n become one tensor of rank n + 1.

    Errors: the shapes differ, or the axis is out of range.
    """
    if is_tensor_like(values) and axis == 0:
        return graph_of((values,)).to_tensor(values)
    parts = values if isinstance(values, np.ndarray) else list(values)
    if axis == 0 and not any(hasattr(v, "value") or is_tensor_like(v) for v in flatten(parts)):
        try:
            return get_default_graph().constant(to_numpy(parts), name)
        except (TypeError, ValueError):  # PACK says which part is of another kind
            pass
    return PACK(list(parts), axis=axis, name=name)


def pack(values: TensorLike, axis: int = 0, name: str = "pack") -> Any:
    """`tf.stack` under its name of TensorFlow 0.x."""
    return stack(values, axis, name)


def unstack(value: TensorLike, num: int | Dimension | None = None, axis: int = 0, name: str = "unstack") -> list[Any]:
    """Splits a tensor along an axis into a list of tensors whose rank is lower by one.

    num: the number of tensors; by default the static size along the axis. Errors: that size is unknown, or is not num.
    """
    x = graph_of((value,)).to_tensor(value)
    num = size_of(num)
    if num is None:
        dims = x.shape.sizes
        if dims is not None and not -len(dims) <= axis < len(dims):
            raise InvalidArgumentError(f"unstack: axis = {axis} not in [{-len(dims)}, {len(dims)})")
        num = None if dims is None else dims[axis]
    if num is None:
        raise InvalidArgumentError(
            f"Cannot infer num from shape {x.shape}: unstack needs num, since the size of axis {axis} is unknown"
        )
    return UNPACK(x, num=num, axis=axis, name=name)


def unpack(value: TensorLike, num: int | None = None, axis: int = 0, name: str = "unpack") -> list[Any]:
    """`tf.unstack` under its name of TensorFlow 0.x."""
    return unstack(value, num, axis, name)


def split(
    value: TensorLike | None = None,
    num_or_size_splits: TensorLike | None = None,
    axis: int = 0,
    num: int | None = None,
    name: str = "split",
    split_dim: Any = None,
    num_split: int | None = None,
) -> list[Any]:
    """Splits a tensor into pieces: `split(value, num_or_size_splits, axis)`, or as 0.x `split(split_dim, num_split,
    value)`.

    num_or_size_splits: a number of equal pieces, or a vector of their sizes, of which one may be -1. num: the number
    of pieces, needed when that vector has an unknown length. Errors: the sizes do not match the size along the axis.
    """
    if isinstance(value, (int, np.integer)) and not isinstance(axis, (int, np.integer)):
        value, axis = axis, value
    axis = axis if split_dim is None else split_dim
    splits = num_or_size_splits if num_split is None else num_split
    if isinstance(splits, (int, np.integer, Dimension)):
        return SPLIT(axis, value, num_split=int(splits), name=name)
    sizes = graph_of((value, splits)).to_tensor(splits)
    pieces = num if num is not None else (sizes.shape.sizes or (None,))[0]
    if pieces is None:
        raise InvalidArgumentError(f"Cannot infer num from shape {sizes.shape}: split needs num")
    return SPLIT_V(value, sizes, axis, num_split=pieces, name=name)


def _joined_rows(c: Infer) -> Shape:
    rows = c.shapes[0]
    for x in c.shapes[1:]:
        rows = rows.merge_with(x)
    if rows.sizes is not None and (not rows.sizes or rows.sizes[0] not in (1, None)):
        raise ShapeError(f"ParallelConcat: each input must be one row, got shape {rows}")
    joined = unknown_shape if rows.sizes is None else Shape((len(c.shapes), *rows.sizes[1:]))
    return joined.merge_with(c.attrs.shape)


PARALLEL_CONCAT: OpDef[Tensor] = OpDef(
    "ParallelConcat",
    inputs="values: N*T",
    outputs="output: T",
    types={"T": ALL},
    attrs=ShapeAttrs,
    doc="""Joins N tensors with one row each into one tensor: output[i] = values[i][0].

    values: tensors of the same dtype and shape (1, ...). output: shape (N, ...). Errors: the shapes differ.""",
    infer=_joined_rows,
    host=lambda call, *xs: np.concatenate(xs, 0),
    expand=lambda op, *xs: CONCAT(np.int32(0), list(xs)),
    grad=GRADIENT_MISSING,
)


def parallel_stack(values: Sequence[TensorLike], name: str = "parallel_stack") -> Tensor:
    """Stacks N tensors along a new first dimension.

    values: a list of tensors of one dtype and the same, fully known shape. The result has shape (N,) + that shape.
    """
    graph = graph_of(values)
    with graph.as_default(), graph.name_scope(name):
        tensors = [graph.to_tensor(v) for v in values]
        shape = Shape((len(tensors), *tensors[0].shape.known()))
        return PARALLEL_CONCAT([EXPAND_DIMS(v, np.int32(0)) for v in tensors], shape=shape)


OPS: tuple[OpDef, ...] = (CONCAT, CONCAT_V2, SPLIT, SPLIT_V, PARALLEL_CONCAT)
API: dict[str, Any] = {
    "concat": concat,
    "concat_v2": concat,
    "stack": stack,
    "pack": pack,
    "unstack": unstack,
    "unpack": unpack,
    "split": split,
    "parallel_stack": parallel_stack,
}
