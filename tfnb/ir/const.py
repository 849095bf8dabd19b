"""Constants: the `Const` op, and the values of tensors that are known while the graph is built.

Shape functions need values (the axis of a reduction, the target of a reshape); this module finds them through
pure ops by running their host kernels. Invariant: a value that is found is exactly the one that a step computes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfnb.errors import OpError, ShapeError
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, Kind, OpDef
from tfnb.ir.record import Attrs
from tfnb.ir.scalar.host import host_kernel
from tfnb.ir.tensor import Tensor
from tfnb.types import ALL, QUANTIZED, Shape, unknown_shape

__all__ = ["CONST", "MAX_RANK", "ConstAttrs", "constant_shape", "constant_value", "vector_length"]

MAX_RANK = 254  # the most dimensions of a shape, as in TensorFlow
_MAX_FOLD = 4096  # elements: shapes and axes are small; larger values wait for the step's own folding
# The most elements of a value that a shape function gets. A file can name a constant of any size in a few bytes, and
# shape functions make Python lists of the values that they get.
_MAX_STATIC = 1 << 16
_DEPTH = 24  # the most ops between a constant and the value that is computed from it


@dataclass(frozen=True, eq=False)
class ConstAttrs:
    """The attributes of a Const; the NumPy array `value` must not be changed."""

    value: np.ndarray


CONST: OpDef[Tensor] = OpDef(
    "Const",
    outputs="output: dtype",
    types={"dtype": (*ALL, *QUANTIZED)},
    attrs=ConstAttrs,
    doc="A constant tensor.",
    infer=lambda c: Shape(c.attrs.value.shape),
    host=lambda call: call.attrs.value,
    grad=NOT_DIFFERENTIABLE,
    kind=Kind.CONST,
)


def foldable(opdef: OpDef) -> bool:
    """Returns whether a node of this op may be replaced by its value when its inputs are known."""
    return opdef.kind is Kind.COMPUTE and not opdef.stateful and not opdef.writes


def varies(opdef: OpDef, inputs: Sequence[Tensor]) -> bool:
    """Returns whether a node of this op has no constant value whatever becomes known of the shapes of its inputs.

    A search asks this first, or else each one would visit what lies above the node again.
    """
    if opdef.kind is Kind.CONST:
        return False
    if not inputs or not foldable(opdef):
        return True
    return opdef.partial is None and any(t.op.varies for t in inputs)


def constant_value(tensor: Tensor, depth: int = _DEPTH) -> np.ndarray | None:
    """Returns the value of a tensor if constants alone determine it and it is small, else None.

    The value of `tf.shape(x)` is known if the static shape of `x` is fully known.
    """
    return _Search().value(tensor, depth)


def constant_shape(tensor: Tensor, depth: int = _DEPTH) -> Shape:
    """Returns the shape that an integer vector describes; elements that are -1 or not known are unknown dimensions.

    Raises `ShapeError` for a vector of more than `MAX_RANK` elements.
    """
    return _Search().shape(tensor, depth)


def vector_length(length: int, name: str) -> int:
    """Returns `length`, the length of a vector that is read as a shape. Raises `ShapeError` if it exceeds `MAX_RANK`.

    Callers check this before they make a `Shape`, whose tuple would have as many elements as the vector.
    """
    if length > MAX_RANK:
        raise ShapeError(f"{name} gives a shape of {length} dimensions; at most {MAX_RANK} are served")
    return length


class _Search:
    """One search for values and shapes. It visits each tensor once, since many paths may lead to a tensor.

    With `holds`, only constants for which it returns True are known.
    """

    __slots__ = ("_holds", "_shapes", "_values")

    def __init__(self, holds: Callable[[Tensor], bool] | None = None) -> None:
        self._holds = holds
        self._values: dict[Any, np.ndarray | None] = {}
        self._shapes: dict[Any, Shape] = {}

    def value(self, tensor: Tensor, depth: int) -> np.ndarray | None:
        """Returns the same as `constant_value`."""
        if tensor.op.opdef.kind is Kind.CONST:
            return tensor.op.attrs.value if self._holds is None or self._holds(tensor) else None
        if tensor not in self._values:
            self._values[tensor] = self._find_value(tensor, depth)
        return self._values[tensor]

    def shape(self, tensor: Tensor, depth: int) -> Shape:
        """Returns the same as `constant_shape`."""
        length = tensor.shape.num_elements() if tensor.shape.ndims == 1 else None
        if length is not None:
            vector_length(length, tensor.name)
        if tensor not in self._shapes:
            self._shapes[tensor] = self._find_shape(tensor, length, depth)
        shape = self._shapes[tensor]
        vector_length(shape.ndims or 0, tensor.name)
        return shape

    def shape_or_unknown(self, tensor: Tensor, depth: int) -> Shape:
        """Returns the same as `constant_shape`, but an unknown shape for a vector that is too long for a shape."""
        try:
            return self.shape(tensor, depth)
        except ShapeError:
            return unknown_shape

    def _find_value(self, tensor: Tensor, depth: int) -> np.ndarray | None:
        op = tensor.op
        if op.varies or depth == 0 or not foldable(op.opdef) or tensor.spec.ref:
            return None
        size = tensor.shape.num_elements()
        if size is not None and size > _MAX_FOLD:
            return None
        if op.opdef.partial is not None:
            shape = self.shape_or_unknown(tensor, depth)
            if shape.is_fully_defined() and tensor.dtype.is_integer and tensor.shape.ndims in (0, 1):
                return np.asarray(shape.known(), tensor.dtype.np).reshape((-1,) if tensor.shape.ndims else ())
        kernel = host_kernel(op.opdef)
        if kernel is None or not op.inputs:
            return None
        values = []
        for x in op.inputs:
            v = self.value(x, depth - 1)
            if v is None or v.size > _MAX_FOLD:
                return None
            values.append(v)
        try:
            result = kernel(HostCall(op.attrs, op.types, op.specs, op), *values)
        except OpError:  # a step raises it, unless a check that runs before this operation raises another error
            return None
        if isinstance(result, (tuple, list)):
            result = result[tensor.index]
        return np.asarray(result)

    def _find_shape(self, tensor: Tensor, length: int | None, depth: int) -> Shape:
        op = tensor.op
        if op.opdef.partial is not None and depth > 0:
            inputs = op.inputs
            shape = op.opdef.partial(
                Infer(
                    op.opdef.name,
                    tuple(t.shape for t in inputs),
                    tuple(t.dtype for t in inputs),
                    op.attrs,
                    op.types,
                    lambda i: _small(self.value(inputs[i], depth - 1)),
                    lambda i: self.shape_or_unknown(inputs[i], depth - 1),
                )
            )
            if shape is not None:
                return shape
        else:
            value = self.value(tensor, depth)
            if value is not None and value.ndim == 1:
                vector_length(value.size, tensor.name)
                return Shape(tuple(None if v < 0 else int(v) for v in value))
        return unknown_shape if length is None else Shape((None,) * length)


def _small(value: np.ndarray | None) -> np.ndarray | None:
    """Returns the value if it is small enough for a shape function, else None, which stands for an unknown value."""
    return None if value is None or value.size > _MAX_STATIC else value


def infer_context(
    opdef: OpDef,
    inputs: Sequence[Tensor],
    attrs: Attrs,
    types: Mapping[str, Any],
    holds: Callable[[Tensor], bool] | None = None,
) -> Infer:
    """Returns the argument of a node's shape function; with `holds`, it knows only constants that this is true of."""
    search = _Search(holds)
    specs = [t.op.specs[t.index] for t in inputs]
    return Infer(
        opdef.name,
        tuple([s.shape for s in specs]),
        tuple([s.dtype for s in specs]),
        attrs,
        types,
        lambda i: _small(search.value(inputs[i], _DEPTH)),
        lambda i: search.shape(inputs[i], _DEPTH),
    )
