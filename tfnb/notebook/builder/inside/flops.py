"""Counts the floating-point operations of a graph's operations, for one example.

A multiplication and an addition count as one each, so a term of a matrix product is two. Invariant: the shapes are
those of the built graph; a dimension that is open, as that of the batch is, counts as one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor

__all__ = ["flops_of"]


def flops_of(operations: Iterable[Operation], results: Iterable[Operation]) -> int:
    """Returns the floating-point operations with which `operations` compute `results`, for one example.

    Initial values of variables are left out. It is -1 if the rank of a tensor that counts is not known.
    """
    made, total = set(operations), 0
    for op in _needed(made, results):
        count = _flops(op)
        if count < 0:
            return -1
        total += count
    return total


def _needed(made: set[Operation], results: Iterable[Operation]) -> list[Operation]:
    """The operations of `made` that the results need."""
    reached: dict[Operation, None] = {}
    todo = [op for op in results if op in made]
    while todo:
        op = todo.pop()
        if op not in reached:
            reached[op] = None
            todo += [t.op for t in op.inputs if t.op in made]
            todo += [o for o in op.control_inputs if o in made]
    return list(reached)


def _flops(op: Operation) -> int:
    count = _COUNTS.get(op.type)
    try:
        if count is not None:
            return count(op)
        if op.opdef.reduce is not None:
            return _elements(op.inputs[0]) if _is_float(op.inputs[0]) else 0
        if op.opdef.scalar is not None and op.outputs and _is_float(op.outputs[0]) and op.type not in _MOVES:
            return _elements(op.outputs[0])
    except _UnknownRankError:
        return -1
    return 0


class _UnknownRankError(Exception):
    """A shape of unknown rank has no size."""


def _dims(tensor: Tensor) -> list[int]:
    dims = tensor.get_shape().sizes
    if dims is None:
        raise _UnknownRankError
    return [1 if d is None else int(d) for d in dims]


def _elements(tensor: Tensor) -> int:
    return math.prod(_dims(tensor))


def _is_float(tensor: Tensor) -> bool:
    return tensor.dtype.base_dtype.is_floating or tensor.dtype.base_dtype.is_complex


def _product(op: Operation) -> int:
    is_transposed = getattr(op.attrs, "transpose_a", False) or getattr(op.attrs, "adj_x", False)
    return 2 * _elements(op.outputs[0]) * _dims(op.inputs[0])[-2 if is_transposed else -1]


def _convolution(op: Operation) -> int:
    return 2 * _elements(op.outputs[0]) * math.prod(_dims(op.inputs[1])[:-1])


def _depthwise(op: Operation) -> int:
    return 2 * _elements(op.outputs[0]) * math.prod(_dims(op.inputs[1])[:2])


def _to_input(op: Operation) -> int:
    """The gradient of a convolution for its input: each number of the convolution's output meets a filter."""
    return 2 * _elements(op.inputs[2]) * math.prod(_dims(op.inputs[1])[:-1])


def _to_filter(op: Operation) -> int:
    return 2 * _elements(op.inputs[2]) * math.prod(_dims(op.outputs[0])[:-1])


def _pooling(op: Operation) -> int:
    return _elements(op.outputs[0]) * math.prod(int(n) for n in op.attrs.ksize)


def _softmax(op: Operation) -> int:
    return 5 * _elements(op.inputs[0])  # the maximum, a difference, an exponential, the sum and a quotient


def _sum_of_all(op: Operation) -> int:
    return (len(op.inputs) - 1) * _elements(op.outputs[0])


_MOVES = frozenset(("Identity", "Cast", "Select", "ZerosLike", "OnesLike", "StopGradient", "CheckNumerics"))
_COUNTS: Mapping[str, Callable[[Operation], int]] = {
    "MatMul": _product,
    "BatchMatMul": _product,
    "Conv2D": _convolution,
    "Conv3D": _convolution,
    "DepthwiseConv2dNative": _depthwise,
    "Conv2DBackpropInput": _to_input,
    "Conv2DBackpropFilter": _to_filter,
    "MaxPool": _pooling,
    "AvgPool": _pooling,
    "Softmax": _softmax,
    "LogSoftmax": _softmax,
    "SoftmaxCrossEntropyWithLogits": _softmax,
    "SparseSoftmaxCrossEntropyWithLogits": _softmax,
    "BiasAdd": lambda op: _elements(op.outputs[0]),
    "AddN": _sum_of_all,
}
