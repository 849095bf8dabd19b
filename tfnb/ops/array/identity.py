"""Tensors handed on unchanged: under a name, many at once, checked to have a shape (white paper, Table 1).

Ops that TensorFlow's graphs hold beside `Identity`. Invariant: an element that comes out is the one that went in.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.errors import ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import HostCall, Infer, OpDef
from tfnb.ir.record import record
from tfnb.ir.tensor import TensorLike
from tfnb.ops.array.shape_ops import IDENTITY
from tfnb.types import (
    ALL,
    Shape,
    as_shape,
    unknown_shape,
)

__all__ = ["API", "OPS"]

IDENTITY_N = OpDef(
    "IdentityN",
    inputs="input: [T]",
    outputs="output: [T]",
    types={"T": ALL},
    doc="""The inputs, unchanged; a gradient override or a name can stand for all of them.

    input: any number of tensors of any dtypes. output: the same.""",
    infer=lambda c: c.shapes,
    host=lambda call, *xs: xs,
    expand=lambda op, *xs: tuple(IDENTITY(x) for x in xs),
    grad=lambda op, *dys: dys,
)


def _passed(name: str, doc: str) -> OpDef:
    return OpDef(
        name,
        inputs="input: T",
        outputs="output: T",
        types={"T": ALL},
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
    """`shape`: the static shape, unknown dimensions allowed."""

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


ENSURE_SHAPE = OpDef(
    "EnsureShape",
    inputs="input: T",
    outputs="output: T",
    types={"T": ALL},
    attrs=ShapeAttrs,
    doc="""The input, checked to have a shape compatible with `shape`, when built and when run.

    input: any dtype. output: the same. Errors: another shape.""",
    infer=_ensured,
    host=_host_ensure,
    alias=0,
    grad=lambda op, dy: dy,
)


def identity_n(input: Any, name: str | None = None) -> list[Any]:
    """The tensors, unchanged."""
    graph = graph_of(input)
    found = IDENTITY_N([graph.to_tensor(x) for x in input], name=name, graph=graph)
    return list(found) if isinstance(found, (list, tuple)) else [found]


def ensure_shape(x: TensorLike, shape: TensorLike, name: str | None = None) -> Any:
    """`x`, checked to have a compatible shape, when built and when run. Raises `ShapeError`."""
    return ENSURE_SHAPE(x, shape=as_shape(shape), name=name)


def guarantee_const(input: TensorLike, name: str | None = None) -> Any:
    """The input, promised never to change."""
    return GUARANTEE_CONST(input, name=name)


OPS: tuple[OpDef, ...] = (IDENTITY_N, SNAPSHOT, GUARANTEE_CONST, ENSURE_SHAPE)
API: dict[str, Any] = {
    "identity_n": identity_n,
    "ensure_shape": ensure_shape,
    "guarantee_const": guarantee_const,
}
