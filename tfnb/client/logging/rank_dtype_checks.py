"""Checks of ranks, dtypes and closeness that later 1.x programs make (`tf.debugging`).

Invariant: what the graph knows is checked at once, the rest by an operation that fails in a step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tfnb.client.graph.default_graph import control_dependencies
from tfnb.client.variables.variable import group
from tfnb.errors import DTypeError, ShapeError
from tfnb.ir.const import constant_value
from tfnb.ir.default import graph_of
from tfnb.ir.operation import Operation
from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import stack
from tfnb.ops.array.constants import convert_to_tensor
from tfnb.ops.array.shape_ops import rank as rank_op
from tfnb.ops.array.shape_ops import shape
from tfnb.ops.control_flow.switch_merge import NO_OP
from tfnb.ops.logging.print_assert import assert_that
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import EQUAL
from tfnb.ops.math.reduce_functions import reduce_all, reduce_any
from tfnb.ops.math.unary import absolute as absolute_op
from tfnb.types import DType, DTypeLike, as_dtype, float32, int32

__all__ = [
    "assert_near",
    "assert_proper_iterable",
    "assert_rank_in",
    "assert_same_float_dtype",
    "assert_scalar",
    "assert_shapes",
]


def assert_near(
    x: TensorLike,
    y: TensorLike,
    rtol: TensorLike | None = None,
    atol: TensorLike | None = None,
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Any:
    """An operation that fails unless |x - y| <= atol + rtol * |y| for all elements.

    x, y: floating tensors of shapes that broadcast. rtol, atol: scalars, 10 times the distance between 1 and the next
    number of the dtype by default.
    """
    graph = graph_of((x, y))
    with graph.as_default(), graph.name_scope(name or "assert_near"):
        a = graph.to_tensor(x)
        b = cast(y, a.dtype)
        smallest = 10 * float(np.finfo(a.dtype.np).eps)
        relative, absolute = (smallest if tolerance is None else tolerance for tolerance in (rtol, atol))
        allowed = cast(absolute, a.dtype) + cast(relative, a.dtype) * absolute_op(b)
        given = [f"{message or ''} {a.name} and {b.name} are not near".strip(), a, b] if data is None else data
        return assert_that(reduce_all(absolute_op(a - b) <= allowed), list(given), summarize or 3)


def assert_rank_in(
    x: TensorLike,
    ranks: Sequence[TensorLike],
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Any:
    """An operation that fails unless the rank of the tensor x is one of `ranks`, int32 scalars.

    Raises `ShapeError` at once when all ranks are known and it is another one, or when one of `ranks` is no scalar;
    `DTypeError` when one is not int32.
    """
    graph = graph_of((x,))
    with graph.as_default(), graph.name_scope(name or "assert_rank_in"):
        a = graph.to_tensor(x)
        allowed = [_rank_of(rank, message) for rank in ranks]
        shown = tuple(rank.name if isinstance(rank, Tensor) else rank for rank in allowed)
        text = f"{message or ''} Tensor {a.name} must have rank in {shown}".strip()
        if a.shape.ndims is not None and all(isinstance(rank, int) for rank in allowed):
            if a.shape.ndims not in allowed:
                raise ShapeError(f"{text}. Received rank {a.shape.ndims}, shape {a.shape}")
            return NO_OP(name=None)
        scalars = [
            assert_that(EQUAL(rank_op(rank), 0), [f"{message or ''} Rank must be a scalar: {rank.name}".strip(), rank])
            for rank in allowed
            if isinstance(rank, Tensor) and rank.shape.ndims is None
        ]
        with control_dependencies(scalars):
            rank = rank_op(a)
            is_one = reduce_any(EQUAL(rank, stack([convert_to_tensor(one, int32) for one in allowed])))
            return assert_that(is_one, [text, rank] if data is None else list(data), summarize or 3)


def _rank_of(rank: TensorLike, message: str | None) -> Any:
    """Returns a rank as an integer, or as a tensor if its value is not known."""
    tensor = convert_to_tensor(rank)
    if tensor.dtype.base_dtype is not int32:
        raise DTypeError(
            f"{message or ''} {tensor.name} must be of type <dtype: 'int32'>, it is {tensor.dtype.name}: "
            "ranks are integers".strip()
        )
    if tensor.shape.ndims not in (None, 0):
        raise ShapeError(f"{message or ''} Rank must be a scalar, got shape {tensor.shape}".strip())
    value = constant_value(tensor)
    return tensor if value is None else int(value)


def assert_scalar(tensor: TensorLike, name: str | None = None, message: str | None = None) -> Tensor:
    """Returns `tensor` as a tensor. Raises `ShapeError` unless it is known to be a scalar."""
    graph = graph_of((tensor,))
    with graph.as_default(), graph.name_scope(name or "assert_scalar"):
        t: Tensor = graph.to_tensor(tensor)
    if t.shape.ndims != 0:
        raise ShapeError(f"{message or ''} Expected scalar shape for {t.name}, saw shape: {t.shape}".strip())
    return t


def assert_same_float_dtype(tensors: Sequence[Any] | None = None, dtype: DTypeLike | None = None) -> DType:
    """Returns the dtype that all `tensors` have, `dtype` if it is given, and float32 without either.

    Raises `DTypeError` when two differ, or when the dtype is not a floating one.
    """
    expected = None if dtype is None else as_dtype(dtype)
    for tensor in tensors or ():
        if tensor is None:
            continue
        expected = expected or tensor.dtype.base_dtype
        if tensor.dtype.base_dtype != expected:
            raise DTypeError(f"{tensor.name} must be of type {expected}, it is {tensor.dtype.name}")
    expected = expected or float32
    if not expected.is_floating:
        raise DTypeError(f"Expected floating point type, got {expected.name}")
    return expected


def assert_proper_iterable(values: object) -> None:
    """Raises `DTypeError` unless `values` can be iterated over and is no tensor, array or text."""
    if isinstance(values, (Tensor, SparseTensor, np.ndarray, str, bytes)):
        raise DTypeError(f'Expected argument to be a "proper" iterable. Found: {type(values).__name__}')
    if not isinstance(values, Iterable):
        raise DTypeError(f"Expected argument to be iterable. Found: {type(values).__name__}")


def assert_shapes(
    shapes: Mapping[Tensor, Sequence[Any]] | Sequence[tuple[Tensor, Sequence[Any]]],
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that fails unless each tensor has its shape, a list of sizes, names and None.

    shapes: from a tensor to its shape, or a list of pairs of them; a name stands for the same size wherever it is used.
    Raises `ShapeError` at once when the static shapes contradict each other.
    """
    names: dict[str, Any] = {}
    checks = []
    pairs = list(shapes.items() if isinstance(shapes, Mapping) else shapes)
    graph = graph_of([tensor for tensor, _ in pairs])
    with graph.as_default(), graph.name_scope(name or "assert_shapes"):
        for tensor, wanted in pairs:
            checks.append(assert_rank_in(tensor, [len(wanted)], data, summarize, message))
            sizes = tensor.shape.as_list() if tensor.shape.ndims is not None else [None] * len(wanted)
            for axis, (size, expected) in enumerate(zip(sizes, wanted, strict=True)):
                if expected is None or expected == "*":
                    continue
                known = names.setdefault(expected, size) if isinstance(expected, str) else expected
                if known is None:
                    names[expected] = size
                elif size is not None and int(known) != size:
                    text = f"{message or ''} {tensor.name} has size {size} on axis {axis}, not {known}"
                    raise ShapeError(text.strip())
                elif size is None:
                    given = [f"{message or ''} {tensor.name} must have size {known} on axis {axis}".strip()]
                    checks.append(assert_that(EQUAL(shape(tensor)[axis], int(known)), data or given, summarize))
        return group(*checks)
