"""Values that are sizes: integer arrays, some of whose elements are formulas, and the operations that compute them.

What a graph computes from shapes, such as the target of a reshape, is computed with formulas when a cluster is
compiled, so that the program serves other shapes too. Invariant: for each example the elements have the values that the
operation's kernel computes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir import scalar as s
from tfnb.ir.kernelcall import TensorInfo
from tfnb.ir.opdef import HostCall
from tfnb.ir.scalar import Expr, walk
from tfnb.ir.scalar.host import scalar_exprs
from tfnb.ir.step_graph.graph import Node
from tfnb.sizes import AnySize, Size, largest, smallest
from tfnb.types import DType, Shape, TensorSpec, bool_, int32

__all__ = ["as_numbers", "has_sizes", "size_array", "size_element", "symbolic_values"]


def _truncated(a: AnySize, b: AnySize) -> AnySize:
    """Returns a / b, rounded towards zero."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


_PRIMITIVES: dict[str, Callable[..., AnySize]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "floormod": lambda a, b: a % b,
    "neg": lambda a: -a,
    "max": largest,
    "min": smallest,
    # What these give depends on which number is larger, which the trace notes; the size remains a formula.
    "abs": abs,
    "sign": lambda a: int(a > 0) - int(a < 0),
    "div": _truncated,
    "truncmod": lambda a, b: a - _truncated(a, b) * b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "not": lambda a: not a,
    "where": lambda condition, a, b: a if condition else b,
}
_TOTALS: dict[str, Callable[[AnySize, AnySize], AnySize]] = {
    "Sum": lambda a, b: a + b,
    "Prod": lambda a, b: a * b,
    "Max": largest,
    "Min": smallest,
}
# Kernels that only move or compare elements, so that they take formulas too.
_MOVING = frozenset(
    (
        "BroadcastGradientArgs ConcatV2 Concat ExpandDims Fill Gather GatherV2 Identity Pack Reshape ReverseV2 Select "
        "Slice Snapshot Split SplitV Squeeze StopGradient StridedSlice Tile Unpack"
    ).split()
)


def has_sizes(array: np.ndarray) -> bool:
    """Returns whether some elements of an array of values are formulas."""
    return array.dtype == object and any(isinstance(x, Size) for x in array.flat)


def size_array(elements: Sequence[AnySize], info: TensorInfo) -> np.ndarray:
    """Returns the elements as an array of the dtype and shape, or as one of objects if some are formulas.

    `info` is the dtype and shape of the result, which has as many elements. Raises `InvalidArgumentError` for an
    element that the dtype cannot represent.
    """
    dtype = info.dtype
    if not any(isinstance(x, Size) and dtype.min <= x <= dtype.max for x in elements):
        numbers = [int(x) for x in elements]
        for number in numbers if dtype.is_integer else ():
            if not dtype.min <= number <= dtype.max:
                raise InvalidArgumentError(f"the size {number} does not fit into {dtype.name}; use out_type=tf.int64")
        return np.asarray(numbers, dtype.np).reshape(tuple(info.shape))
    array = np.empty(len(elements), object)
    array[:] = elements
    return array.reshape(tuple(info.shape))


def size_element(array: np.ndarray, idx: Sequence[Expr], dtype: DType) -> Expr:
    """Returns the element of a small array of sizes at an index tuple."""
    elements = list(array.flat)
    if len(elements) == 1:
        return s.const(elements[0], dtype)
    at = s.const(0, int32)
    for i, n in zip(idx, array.shape, strict=True):
        at = at * n + i
    element = s.const(elements[-1], dtype)
    for k in reversed(range(len(elements) - 1)):
        element = s.where(s.eq(at, k), s.const(elements[k], dtype), element)
    return element


def as_numbers(array: np.ndarray, dtype: DType) -> np.ndarray:
    """Returns an array of values as plain numbers; the trace notes the value of each formula as a condition."""
    return np.asarray(array, dtype.np) if array.dtype == object and not dtype.is_string else array


def symbolic_values(node: Node, arrays: Sequence[np.ndarray], outputs: Sequence[TensorInfo]) -> list[np.ndarray] | None:
    """Returns the outputs of a node for inputs that have formulas; None if they cannot be written as formulas."""
    opdef = node.opdef
    is_exact = all(o.dtype.is_integer or o.dtype == bool_ for o in outputs)
    if not is_exact:
        return None
    if opdef.scalar is not None and not opdef.writes:
        return _elementwise(node, arrays, outputs)
    if opdef.name in _TOTALS:
        return _total(node, arrays, outputs[0])
    if opdef.name not in _MOVING or opdef.host is None:
        return None
    specs = tuple(TensorSpec(o.dtype, Shape(o.shape)) for o in outputs)
    result = opdef.host(HostCall(node.attrs, node.types, specs, node), *arrays)
    results = result if isinstance(result, (tuple, list)) else (result,)
    return [size_array(list(np.asarray(r, object).flat), o) for r, o in zip(results, outputs, strict=True)]


def _elementwise(node: Node, arrays: Sequence[np.ndarray], outputs: Sequence[TensorInfo]) -> list[np.ndarray] | None:
    dtypes = tuple(spec.dtype for spec in node.specs)
    exprs = scalar_exprs(node.opdef, node.attrs, tuple(dtypes[0] for _ in arrays))
    results = []
    for root, info in zip(exprs, outputs, strict=True):
        if not all(e.op in _PRIMITIVES or e.op in ("const", "arg", "cast") for e in walk(root)):
            return None
        operands = [np.broadcast_to(np.asarray(a, object), tuple(info.shape)).reshape(-1) for a in arrays]
        try:
            elements = [_evaluated(root, [o[k] for o in operands]) for k in range(int(info.size))]
        except ZeroDivisionError:
            return None  # the operation's kernel says what becomes of it
        results.append(size_array(elements, info))
    return results


def _evaluated(root: Expr, operands: Sequence[Any]) -> AnySize:
    values: dict[Expr, AnySize] = {}
    for e in walk(root):
        if e.op == "const":
            values[e] = e.value
        elif e.op == "arg":
            values[e] = operands[e.value]
        elif e.op == "cast":
            values[e] = values[e.args[0]]
        else:
            values[e] = _PRIMITIVES[e.op](*(values[a] for a in e.args))
    return values[root]


def _total(node: Node, arrays: Sequence[np.ndarray], info: TensorInfo) -> list[np.ndarray] | None:
    """Returns what a reduction makes of all elements of a vector."""
    values, axis = arrays
    if values.ndim != 1 or list(np.reshape(axis, -1)) not in ([0], [-1]):
        return None
    if not values.size:
        return None
    return [size_array([functools.reduce(_TOTALS[node.opdef.name], values.tolist())], info)]
