"""Stacking tensors along a new axis, and unstacking along an axis (white paper, Table 1, array operations).

Invariant: `Pack` and `Unpack` are each other's inverse and gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir import scalar as s
from tfnb.ir.opdef import HostCall, Infer, LowerSite, OpDef
from tfnb.ir.record import record
from tfnb.ir.scalar import Expr
from tfnb.ir.shapes import normalize_axis, unlike
from tfnb.ir.tensor import GraphLike, Tensor, is_tensor_like
from tfnb.ops.array.parts_recipes import join_calls, split_calls
from tfnb.sizes import integer
from tfnb.types import ALL, ANY, DType, Shape, unknown_shape

__all__ = ["OPS", "PACK", "UNPACK", "pack_nested"]


def _pick(choices: Sequence[Expr], at: Expr) -> Expr:
    """`choices[at]` as an expression: a balanced tree of conditions."""
    if len(choices) == 1:
        return choices[0]
    half = len(choices) // 2
    return s.where(s.lt(at, half), _pick(choices[:half], at), _pick(choices[half:], s.sub(at, half)))


@record
class PackAttrs:
    """`axis`: the position of the new dimension."""

    axis: int = 0


def _packed(c: Infer) -> Shape:
    shape = unknown_shape
    for x in c.shapes:
        try:
            shape = shape.merge_with(x)
        except ShapeError:
            raise ShapeError(f"Pack: {unlike(shape, x)}: shapes {', '.join(map(str, c.shapes))} differ") from None
    if shape.sizes is None:
        return unknown_shape
    rank = len(shape.sizes) + 1
    if not -rank <= c.attrs.axis < rank:
        raise InvalidArgumentError(f"Pack: axis = {c.attrs.axis} not in [{-rank}, {rank})")
    a = normalize_axis(c.attrs.axis, rank)
    return Shape((*shape.sizes[:a], len(c.shapes), *shape.sizes[a:]))


def _packed_values(c: Infer) -> Shape | None:
    """The dimensions in a vector that is packed from scalars."""
    ranks = {x.ndims for x in c.shapes}  # those of unknown rank are scalars, too, if one is: all have one shape
    if not c.dtypes[0].is_integer or 0 not in ranks or not ranks <= {0, None}:
        return None
    values = [c.value(i) for i in range(len(c.shapes))]
    return Shape(tuple(None if v is None or v < 0 else integer(v) for v in values))


def _host_pack(call: HostCall, *parts: np.ndarray) -> np.ndarray:
    if any(p.shape != parts[0].shape for p in parts):
        raise InvalidArgumentError(f"Pack: shapes {[p.shape for p in parts]} differ", call.op)
    return np.stack(parts, call.attrs.axis)


def _lower_pack(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    a = normalize_axis(site.attrs.axis, len(idx))
    rest = (*idx[:a], *idx[a + 1 :])
    return _pick([site.load(i, rest) for i in range(len(site.inputs))], idx[a])


PACK: OpDef[Tensor] = OpDef(
    "Pack",
    inputs="values: N*T",
    outputs="output: T",
    types={"T": ANY},
    attrs=PackAttrs,
    doc="""Stacks tensors of rank n along a new axis into one of rank n + 1.

    values: at least one tensor; all have the same dtype and shape. axis: in [-n-1, n]. output: size N along the new
    axis. Errors: the shapes differ, or the axis is out of range.""",
    infer=_packed,
    host=_host_pack,
    lower=_lower_pack,
    opencl=lambda site: join_calls(site, normalize_axis(site.attrs.axis, len(site.outputs[0].shape)), 0),
    grad=lambda op, dy: tuple(UNPACK(dy, num=len(op.inputs), axis=op.attrs.axis)),
    partial=_packed_values,
)


@record
class UnpackAttrs:
    """`num`: the number of outputs; `axis`: the dimension that is removed."""

    num: int
    axis: int = 0


def _unpacked(c: Infer) -> tuple[Shape, ...]:
    x, num = c.shapes[0], c.attrs.num
    if x.sizes is None:
        return (unknown_shape,) * num
    a = normalize_axis(c.attrs.axis, len(x.sizes), "Unpack: axis")
    if x.sizes[a] not in (None, num):
        raise ShapeError(f"Unpack: dimension {a} of shape {x} is not {num}")
    return (Shape((*x.sizes[:a], *x.sizes[a + 1 :])),) * num


def _host_unpack(call: HostCall, value: np.ndarray) -> tuple[np.ndarray, ...]:
    a, num = normalize_axis(call.attrs.axis, value.ndim), call.attrs.num
    if value.shape[a] != num:
        raise InvalidArgumentError(f"Unpack: dimension {a} of shape {value.shape} is not {num}", call.op)
    return tuple(np.take(value, i, a) for i in range(num))


def _lower_unpack(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    a = normalize_axis(site.attrs.axis, len(site.inputs[0].shape))
    return site.load(0, (*idx[:a], port, *idx[a:]))


UNPACK: OpDef[list[Tensor]] = OpDef(
    "Unpack",
    inputs="value: T",
    outputs="output: num*T",
    types={"T": ALL},
    attrs=UnpackAttrs,
    doc="""Splits a tensor of rank n along one axis into `num` tensors of rank n - 1.

    value: any dtype, size `num` along `axis`. Errors: the size is another one, or the axis is out of range.""",
    infer=_unpacked,
    host=_host_unpack,
    lower=_lower_unpack,
    opencl=lambda site: split_calls(site, normalize_axis(site.attrs.axis, len(site.inputs[0].shape)), 0),
    grad=lambda op, *dys: PACK(list(dys), axis=op.attrs.axis),
)


def pack_nested(value: Sequence[Any], dtype: DType | None, graph: GraphLike, name: str | None = None) -> Tensor:
    """Returns a tensor from nested lists that contain tensors: the lists of each level are stacked.

    The constants of its parts are named after it, as in TensorFlow: `packed/0`.
    """
    if dtype is None:
        dtype = next((leaf.dtype for leaf in _tensors(value)), None)
    with graph.name_scope(name or "packed") as scope:
        parts = [
            pack_nested(v, dtype, graph, str(i))
            if isinstance(v, (list, tuple))
            else graph.to_tensor(v, dtype, name=str(i))
            for i, v in enumerate(value)
        ]
        return PACK(parts, name=scope)


def _tensors(value: Sequence[Any]) -> Any:
    for v in value:
        if isinstance(v, (list, tuple)):
            yield from _tensors(v)
        elif is_tensor_like(v):
            yield v


OPS: tuple[OpDef, ...] = (PACK, UNPACK)
