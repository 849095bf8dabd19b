"""Ops that late versions of TensorFlow 1.x write into graphs in place of older ones.

tfnb's own functions add the older ops; these occur in imported graphs. Invariant: each means the same as the older op,
plus broadcasting where its documentation says so.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir import scalar as s
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.shapes import broadcast, broadcast_shapes
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import ZEROS_LIKE
from tfnb.ops.array.shape_ops import SHAPE, constant_lookup
from tfnb.ops.math.binary import ADD
from tfnb.ops.math.reduce_sum import unbroadcast
from tfnb.types import ALL, ALL_AND_QUANTIZED, INDEX, DTypeLike, Shape, ShapeLike, as_dtype, as_shape, int32

__all__ = ["API", "OPS"]

ADD_V2: OpDef[Tensor] = dataclasses.replace(ADD, name="AddV2", api="")


def _grad_select(op: Operation, dy: Tensor) -> Any:
    condition, t, e = op.inputs
    zeros = ZEROS_LIKE(dy)
    first, second = SELECT_V2(condition, dy, zeros), SELECT_V2(condition, zeros, dy)
    return None, unbroadcast(t, op.y, first, None)[0], unbroadcast(e, op.y, second, None)[0]


SELECT_V2: OpDef[Tensor] = OpDef(
    "SelectV2",
    inputs="condition: bool, t: T, e: T",
    outputs="output: T",
    types={"T": ALL},
    doc="""Selects elements of `t` where the condition is true and of `e` where it is false; all three broadcast.

    condition: bool. t, e: the same dtype. output: that dtype, the common broadcast shape. Errors: the shapes do not
    broadcast.""",
    infer=broadcast,
    scalar=lambda attrs, c, t, e: s.where(c, t, e),
    grad=_grad_select,
)


def _all_shapes(call: HostCall, *inputs: np.ndarray) -> tuple[np.ndarray, ...]:
    kind = call.outputs[0].dtype.np
    return tuple(np.asarray(x.shape, kind) for x in inputs)


SHAPE_N: OpDef[list[Tensor]] = OpDef(
    "ShapeN",
    inputs="input: N*T",
    outputs="output: N*out_type",
    types={"T": ALL_AND_QUANTIZED, "out_type": INDEX},
    doc="""The shapes of N tensors as integer vectors.

    input: N tensors of the same dtype. output: for each tensor a vector of its dimensions, int32 or int64 (`out_type`),
    of shape (its rank,).""",
    infer=lambda c: tuple(Shape((x.ndims,)) for x in c.shapes),
    host=_all_shapes,
    expand=lambda op, *inputs: [SHAPE(x, out_type=op.types["out_type"]) for x in inputs],
    grad=NOT_DIFFERENTIABLE,
    defaults={"out_type": int32},
)


def _wider(a: np.ndarray, b: np.ndarray) -> tuple[int, ...]:
    n = max(a.size, b.size)
    pairs = zip([1] * (n - a.size) + a.tolist(), [1] * (n - b.size) + b.tolist(), strict=True)
    sizes = [(y if x == 1 else x, x == y or 1 in (x, y)) for x, y in pairs]
    if not all(fits for _, fits in sizes):
        raise InvalidArgumentError(f"BroadcastArgs: shapes {a.tolist()} and {b.tolist()} cannot be broadcast together")
    return tuple(size for size, _ in sizes)


def _wider_size(c: Infer) -> Shape:
    a, b = (c.shapes[i].with_rank(1).sizes for i in (0, 1))
    sizes = [None if d is None else d[0] for d in (a, b)]
    return Shape((None if None in sizes else max(sizes),))  # type: ignore[type-var]


BROADCAST_ARGS: OpDef[Tensor] = OpDef(
    "BroadcastArgs",
    inputs="s0: T, s1: T",
    outputs="r0: T",
    types={"T": INDEX},
    defaults={"T": int32},
    doc="""The shape to which two shapes broadcast.

    s0, s1: shapes, as integer vectors of the same type. r0: such a vector. Errors: the shapes do not broadcast.""",
    infer=_wider_size,
    partial=lambda c: broadcast_shapes(c.as_shape(0), c.as_shape(1)),
    host=lambda call, a, b: np.asarray(_wider(a, b), a.dtype),
    lower=lambda site, idx, port: constant_lookup(_wider(site.value(0), site.value(1)), idx[0], site.outputs[0].dtype),
    grad=NOT_DIFFERENTIABLE,
    shape_inputs=(0, 1),
)


def broadcast_static_shape(shape_x: ShapeLike, shape_y: ShapeLike) -> Shape:
    """Returns the static shape to which two static shapes broadcast. Raises `ShapeError` when they do not."""
    return broadcast_shapes(as_shape(shape_x), as_shape(shape_y))


def broadcast_dynamic_shape(shape_x: TensorLike, shape_y: TensorLike) -> Tensor:
    """Returns the shape to which two shapes broadcast; all three are integer vectors of one dtype.

    Errors: the shapes do not broadcast together.
    """
    graph = graph_of((shape_x, shape_y))
    x, y = graph.to_tensor(shape_x), graph.to_tensor(shape_y)
    return BROADCAST_ARGS(x, y)


def shape_n(input: Sequence[TensorLike], out_type: DTypeLike = int32, name: str | None = None) -> list[Any]:
    """Returns the shapes of several tensors of one dtype, as a list of integer vectors.

    out_type: the dtype of the vectors, int32 or int64.
    """
    return list(SHAPE_N(list(input), out_type=as_dtype(out_type), name=name))


OPS: tuple[OpDef, ...] = (ADD_V2, BROADCAST_ARGS, SELECT_V2, SHAPE_N)
API: dict[str, Any] = {
    "broadcast_static_shape": broadcast_static_shape,
    "broadcast_dynamic_shape": broadcast_dynamic_shape,
    "shape_n": shape_n,
}
