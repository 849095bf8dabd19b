"""Ops that return their inputs unchanged: under a name, several at once, or with a shape check (white paper, Table 1).

TensorFlow's graphs contain them beside `Identity`. Invariant: every output element equals the input element.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfnb.errors import ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import HostCall, Infer, OpDef
from tfnb.ir.record import record
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.shape_ops import IDENTITY
from tfnb.types import ALL_AND_QUANTIZED, Shape, as_shape, unknown_shape

__all__ = ["API", "OPS"]

IDENTITY_N: OpDef[list[Tensor]] = OpDef(
    "IdentityN",
    inputs="input: [T]",
    outputs="output: [T]",
    types={"T": ALL_AND_QUANTIZED},
    doc="""Returns the inputs unchanged, so that a gradient override or a name can refer to all of them.

    input: any number of tensors of any dtypes. output: the same tensors.""",
    infer=lambda c: c.shapes,
    host=lambda call, *xs: xs,
    expand=lambda op, *xs: tuple(IDENTITY(x) for x in xs),
    grad=lambda op, *dys: dys,
)


def _passed(name: str, doc: str) -> OpDef[Tensor]:
    return OpDef(
        name,
        inputs="input: T",
        outputs="output: T",
        types={"T": ALL_AND_QUANTIZED},
        doc=f"{doc}\n\ninput: any dtype and shape. output: the same.",
        infer=lambda c: c.shapes[0],
        host=lambda call, x: x,
        alias=0,
        grad=lambda op, dy: dy,
    )


SNAPSHOT = _passed("Snapshot", "The input's value of now; here every value is one.")
GUARANTEE_CONST = _passed("GuaranteeConst", "The input, promised never to change; the promise is not used.")


@record
class ShapeAttrs:
    """`shape`: the static shape; dimensions may be unknown."""

    shape: Shape = unknown_shape


def _ensured(c: Infer) -> Shape:
    try:
        return c.shapes[0].merge_with(c.attrs.shape)
    except ShapeError:
        raise ShapeError(f"EnsureShape: got shape {c.shapes[0]}, needed {c.attrs.shape}") from None


def _host_ensure(call: HostCall, x: np.ndarray) -> np.ndarray:
    if not call.attrs.shape.is_compatible_with(Shape(x.shape)):
        raise ShapeError(f"EnsureShape: got shape {x.shape}, needed {call.attrs.shape}", call.op)
    return x


ENSURE_SHAPE: OpDef[Tensor] = OpDef(
    "EnsureShape",
    inputs="input: T",
    outputs="output: T",
    types={"T": ALL_AND_QUANTIZED},
    attrs=ShapeAttrs,
    doc="""Returns the input after checking, at construction and at run time, that its shape is compatible with `shape`.

    input: any dtype. output: the same. Errors: the shape is not compatible.""",
    infer=_ensured,
    host=_host_ensure,
    alias=0,
    grad=lambda op, dy: dy,
)


def identity_n(input: Sequence[TensorLike], name: str | None = None) -> list[Any]:
    """Returns the tensors unchanged, as a list of the outputs of one node.

    input: a list of tensors of any dtypes and shapes.
    """
    graph = graph_of(input)
    outputs = IDENTITY_N([graph.to_tensor(x) for x in input], name=name, graph=graph)
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]


def ensure_shape(x: TensorLike, shape: TensorLike, name: str | None = None) -> Tensor:
    """Returns `x`, checked when the graph is built and at run time to have a shape that is compatible with `shape`.

    Raises `ShapeError` if it has not.
    """
    return ENSURE_SHAPE(x, shape=as_shape(shape), name=name)


def guarantee_const(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns the input, which the caller guarantees never to change."""
    return GUARANTEE_CONST(input, name=name)


OPS: tuple[OpDef, ...] = (IDENTITY_N, SNAPSHOT, GUARANTEE_CONST, ENSURE_SHAPE)
API: dict[str, Any] = {
    "identity_n": identity_n,
    "ensure_shape": ensure_shape,
    "guarantee_const": guarantee_const,
}
