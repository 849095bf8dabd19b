"""The offset of each operand in the result of a concatenation, by which TensorFlow's gradients of `Concat` slice.

Invariant: the op depends on shapes only, so its value is usually known when a cluster is compiled.
"""

from __future__ import annotations

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir import scalar as s
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, LowerSite, OpDef
from tfnb.ir.scalar import Expr
from tfnb.ir.shapes import normalize_axis
from tfnb.ir.tensor import Tensor
from tfnb.sizes import integer
from tfnb.types import INDEX, Shape

__all__ = ["OPS"]


def _shapes(c: Infer) -> tuple[Shape, ...]:
    common = c.shapes[1].with_rank(1)
    for shape in c.shapes[2:]:
        common = common.merge_with(shape)
    return (common,) * (len(c.shapes) - 1)


def _host(call: HostCall, concat_dim: np.ndarray, *shapes: np.ndarray) -> tuple[np.ndarray, ...]:
    parts = shapes[0] if len(shapes) == 1 and isinstance(shapes[0], (list, tuple)) else shapes
    rank = len(parts[0])
    if not -rank <= int(concat_dim) < rank:
        raise InvalidArgumentError(f"ConcatOffset: Concat dim is out of range: {int(concat_dim)} vs. {rank}", call.op)
    axis = normalize_axis(int(concat_dim), rank)
    others = np.arange(rank) != axis
    offsets, start = [], 0
    for i, part in enumerate(parts):
        if len(part) != rank or np.any(part[others] != parts[0][others]):
            shape, first = (" ".join(map(str, p.tolist())) for p in (part, parts[0]))
            raise InvalidArgumentError(
                f"ConcatOffset: All dimensions except {axis} must match. Input {i} has shape [{shape}] and doesn't "
                f"match input 0 with shape [{first}].",
                call.op,
            )
        offset = np.zeros(rank, part.dtype)
        offset[axis] = start
        start += integer(part[axis])
        offsets.append(offset)
    return tuple(offsets)


def _lower(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    rank = site.inputs[1].shape[0]
    axis = site.load(0, ())
    axis = s.where(s.lt(axis, 0), s.add(axis, rank), axis)
    start = s.const(0, site.outputs[port].dtype)
    for i in range(port):
        start = s.add(start, site.load(1 + i, idx))
    return s.where(s.eq(idx[0], axis), start, s.const(0, site.outputs[port].dtype))


CONCAT_OFFSET: OpDef[list[Tensor]] = OpDef(
    "ConcatOffset",
    inputs="concat_dim: int32, shape: N*shape_type",
    outputs="offset: N*shape_type",
    types={"shape_type": INDEX},
    doc="""For each of N shapes, the index in the concatenation at which its tensor begins: 0 except in `concat_dim`.

    concat_dim: an int32 scalar, the axis. shape: N integer vectors of one length. offset: N vectors of that length.
    Errors: the shapes differ in another axis, or the axis is out of range.""",
    infer=_shapes,
    host=_host,
    lower=_lower,
    grad=NOT_DIFFERENTIABLE,
)

OPS: tuple[OpDef, ...] = (CONCAT_OFFSET,)
