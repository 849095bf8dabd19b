"""Constants: the `Const` op, and what of a tensor's value is known while the graph is built.

Shape functions need values (the axis of a reduction, the target of a reshape); this module finds them through
pure ops by running their host kernels. Invariant: a found value is exactly what a step would compute.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tfnb.errors import ShapeError
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, Kind, OpDef
from tfnb.ir.scalar_host import host_kernel
from tfnb.types import ALL, Shape, unknown_shape

__all__ = ["CONST", "MAX_RANK", "ConstAttrs", "constant_shape", "constant_value"]

MAX_RANK = 254  # dimensions of a shape, as in TensorFlow
_DEPTH = 24  # nodes that are looked through for a value
_MAX_FOLD = 4096  # elements: shapes and axes are small; larger values wait for the step's own folding


@dataclass(frozen=True, eq=False)
class ConstAttrs:
    """`value`: the NumPy array, not to be changed."""

    value: np.ndarray


CONST = OpDef(
    "Const",
    outputs="output: dtype",
    types={"dtype": ALL},
    attrs=ConstAttrs,
    doc="A constant tensor.",
    infer=lambda c: Shape(c.attrs.value.shape),
    host=lambda call: call.attrs.value,
    grad=NOT_DIFFERENTIABLE,
    kind=Kind.CONST,
)


def foldable(opdef: OpDef) -> bool:
    """May a node of this kind be replaced by its value when its inputs are known?"""
    return opdef.kind is Kind.COMPUTE and not opdef.stateful and not opdef.writes


def constant_value(tensor: Any, depth: int = _DEPTH) -> np.ndarray | None:
    """The value of a tensor if constants alone determine it and it is small, else None.

    A tensor whose input shapes are fully known gives `tf.shape(x)` too.
    """
    return _value(tensor, depth, {})


def _value(tensor: Any, depth: int, memo: dict[Any, Any]) -> np.ndarray | None:
    """As `constant_value`; each tensor is looked at once, for many paths may lead to it."""
    if tensor not in memo:
        memo[tensor] = _find_value(tensor, depth, memo)
    return memo[tensor]  # type: ignore[no-any-return]


def _find_value(tensor: Any, depth: int, memo: dict[Any, Any]) -> np.ndarray | None:
    op = tensor.op
    if op.opdef.kind is Kind.CONST:
        return op.attrs.value
    if depth == 0 or not foldable(op.opdef) or tensor.spec.ref:
        return None
    size = tensor.shape.num_elements()
    if size is not None and size > _MAX_FOLD:
        return None
    if op.opdef.partial is not None:
        shape = constant_shape(tensor, depth)
        if shape.is_fully_defined() and tensor.dtype.is_integer and tensor.shape.ndims in (0, 1):
            return np.asarray(shape.known(), tensor.dtype.np).reshape((-1,) if tensor.shape.ndims else ())
    kernel = host_kernel(op.opdef)
    if kernel is None or not op.inputs:
        return None
    values = []
    for x in op.inputs:
        v = _value(x, depth - 1, memo)
        if v is None or v.size > _MAX_FOLD:
            return None
        values.append(v)
    result = kernel(HostCall(op.attrs, op.types, op.specs, op), *values)
    if isinstance(result, (tuple, list)):
        result = result[tensor.index]
    return np.asarray(result)


def constant_shape(tensor: Any, depth: int = _DEPTH) -> Shape:
    """The value of an integer vector read as a shape; -1 and what is not known are unknown dimensions."""
    op = tensor.op
    if op.opdef.partial is not None and depth > 0:
        found = op.opdef.partial(infer_context(op.opdef, op.inputs, op.attrs, op.types, depth - 1))
        if found is not None:
            return found
        if tensor.shape.ndims == 1 and tensor.shape.is_fully_defined():
            return Shape((None,) * tensor.shape.known()[0])
        return unknown_shape
    value = constant_value(tensor, depth)
    if value is not None and value.ndim == 1:
        if value.size > MAX_RANK and depth < _DEPTH:  # numbers that another vector is computed of: they may be no shape
            return unknown_shape
        if value.size > MAX_RANK:
            raise ShapeError(f"{tensor.name} gives a shape of {value.size} dimensions; at most {MAX_RANK} are served")
        return Shape(tuple(None if v < 0 else int(v) for v in value))
    if tensor.shape.ndims == 1 and tensor.shape.is_fully_defined():
        return Shape((None,) * tensor.shape.known()[0])
    return unknown_shape


def infer_context(opdef: OpDef, inputs: Any, attrs: Any, types: Any, depth: int = _DEPTH) -> Infer:
    """The view of a node's inputs that its shape function gets."""
    memo: dict[int, Any] = {}

    def value(i: int) -> np.ndarray | None:
        if i not in memo:
            memo[i] = constant_value(inputs[i], depth)
        return memo[i]

    return Infer(
        opdef.name,
        tuple(t.shape for t in inputs),
        tuple(t.dtype for t in inputs),
        attrs,
        types,
        value,
        lambda i: constant_shape(inputs[i], depth),
    )
