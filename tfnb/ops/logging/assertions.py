"""Assertions about tensors: relations, signs, ranks, types.

Conditions that follow from static shapes or constant values are checked when the graph is built. The others become an
Assert op, which a step runs through `tf.control_dependencies`. Invariant: an assertion that is known to fail raises
when the graph is built.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfnb.errors import DTypeError, InvalidArgumentError, ShapeError
from tfnb.ir.const import constant_value
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import GraphLike, Tensor, TensorLike
from tfnb.ops.array.shape_ops import RANK, RESHAPE
from tfnb.ops.control_flow.switch_merge import NO_OP
from tfnb.ops.logging.print_assert import assert_that
from tfnb.ops.math.compare import EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, NOT_EQUAL
from tfnb.ops.math.reduce import ALL_OF
from tfnb.ops.math.reduce_sum import all_axes
from tfnb.ops.nn.losses import scope
from tfnb.types import DTypeLike, as_dtype, int32

__all__ = ["API", "OPS", "assert_less", "assert_non_negative"]

_KNOWN = frozenset({"Const", "Rank", "Shape", "Size"})
_JOINING = frozenset({"Cast", "Concat", "ConcatV2", "Equal", "Fill", "NotEqual", "Pack", "Range"})


def _require(
    condition: Tensor, texts: Sequence[Any], data: Sequence[Any] | None, summarize: int | None, graph: GraphLike
) -> Any:
    """An Assert that all elements of a bool tensor are true; raises at once if constants show that one is not.

    What takes a computation to know is an error of the step, as in TensorFlow.
    """
    static = constant_value(condition)
    holds = None if static is None else bool(np.all(static))
    if holds is False and all(_is_plain(t) for t in texts if isinstance(t, Tensor)):
        shown = [constant_value(t) if hasattr(t, "op") else t for t in texts]
        raise InvalidArgumentError(" ".join(str(t) for t in shown if t is not None))
    if holds:
        return NO_OP(graph=graph)
    return assert_that(ALL_OF(condition, all_axes(condition)), list(texts) if data is None else data, summarize)


def _is_plain(t: Tensor) -> bool:
    """Says whether the value of `t` is a constant, the size of something, or made of such by joining and casting."""
    return t.op.type in _KNOWN or (t.op.type in _JOINING and all(_is_plain(x) for x in t.op.inputs))


def _relation(op: OpDef, function: str, sign: str) -> Callable[..., Any]:
    def check(
        x: TensorLike,
        y: TensorLike,
        data: Sequence[Any] | None = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Any:
        with scope(name, function, x, y, data):
            graph = graph_of((x, y))
            a = (
                graph.to_tensor(x)
                if hasattr(x, "dtype") or not hasattr(y, "dtype")
                else graph.to_tensor(x, as_dtype(y.dtype))
            )
            b = graph.to_tensor(y, a.dtype)
            first = f"{message or ''} Condition x {sign} y did not hold element-wise:".strip()
            return _require(
                op(a, b),
                [first, f"x ({a.name}) =", a, f"y ({b.name}) =", b],
                data,
                summarize,
                graph,
            )

    check.__name__ = check.__qualname__ = function
    check.__doc__ = f"""An operation that fails unless x {sign} y for all elements, with broadcasting.

    data: a list of tensors to show in the error (by default x and y), with `summarize` elements of each. message: the
    first words of the error. Raises `InvalidArgumentError` at once when constants show that the condition fails."""
    return check


def _sign(op: OpDef, function: str, sign: str) -> Callable[..., Any]:
    def check(
        x: TensorLike,
        data: Sequence[Any] | None = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Any:
        with scope(name, function, x, data):
            a = graph_of((x,)).to_tensor(x)
            first = f"{message or ''} Condition x {sign} 0 did not hold element-wise:".strip()
            zero = np.zeros((), a.dtype.np)
            return _require(op(a, zero), [first, f"x ({a.name}) =", a], data, summarize, a.graph)

    check.__name__ = check.__qualname__ = function
    check.__doc__ = f"""An operation that fails unless x {sign} 0 for all elements; arguments as in `assert_equal`."""
    return check


def _rank(function: str, sign: str, op: OpDef, holds: Callable[[int, int], bool]) -> Callable[..., Any]:
    def check(
        x: Tensor,
        rank: TensorLike,
        data: Sequence[Any] | None = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Any:
        with scope(name, function, x, rank):
            a = graph_of((x, rank)).to_tensor(x)
            expected = a.graph.to_tensor(rank)
            if expected.shape.ndims not in (None, 0):
                raise ShapeError(f"Rank must be a scalar, got shape {expected.shape}", expected.op)
            assert_type(expected, int32)
            static = constant_value(expected)
            if static is not None and a.shape.ndims is not None:
                if not holds(a.shape.ndims, int(static)):
                    raise ShapeError(
                        f"{message or ''} Tensor {a.name} must have rank {sign}{static}. "
                        f"Received rank {a.shape.ndims}, shape {a.shape}".strip()
                    )
                return NO_OP(graph=a.graph)
            first = f"{message or ''} Tensor {a.name} must have rank {sign}".strip()
            received = [first, expected, "Received rank", RANK(a)]
            checks = []
            if expected.shape.ndims is None:
                checks = [_require(EQUAL(RANK(expected), np.int32(0)), ["Rank must be a scalar"], None, 1, a.graph)]
            with a.graph.control_dependencies(checks):
                return _require(op(RANK(a), expected), received, data, summarize, a.graph)

    check.__name__ = check.__qualname__ = function
    check.__doc__ = f"""An operation that fails unless the rank of x is {sign or "equal to "}`rank`.

    Raises `ShapeError` at once when the rank is known and the condition fails."""
    return check


def assert_type(
    tensor: TensorLike, tf_type: DTypeLike, message: str | None = None, name: str | None = None
) -> Operation:
    """Raises `DTypeError` at once unless the tensor has that dtype; otherwise returns an operation without effect."""
    t = graph_of((tensor,)).to_tensor(tensor)
    expected = as_dtype(tf_type)
    if t.dtype is not expected:
        raise DTypeError(f"{message or ''} {t.name} must be of type {expected}, it is {t.dtype.name}".strip(), t.op)
    return NO_OP(name=name, graph=t.graph)


def assert_integer(x: TensorLike, message: str | None = None, name: str | None = None) -> Operation:
    """Raises `DTypeError` at once unless x has an integer dtype; otherwise returns an operation without effect."""
    t = graph_of((x,)).to_tensor(x)
    if not t.dtype.is_integer:
        raise DTypeError(f"{message or ''} Expected an integer type, {t.name} is {t.dtype.name}".strip(), t.op)
    return NO_OP(name=name, graph=t.graph)


def is_numeric_tensor(tensor: TensorLike) -> bool:
    """Returns whether `tensor` is a tensor of a number type (integer, float or complex)."""
    dtype = getattr(tensor, "dtype", None)
    return (
        hasattr(tensor, "graph") and dtype is not None and (dtype.is_integer or dtype.is_floating or dtype.is_complex)
    )


def _ordered(x: TensorLike, op: OpDef, name: str) -> Tensor:
    with scope(None, name, x):
        t = graph_of((x,)).to_tensor(x)
        flat = RESHAPE(t, np.asarray([-1], np.int32))
        return ALL_OF(op(flat[1:], flat[:-1]), np.int32(0))


def is_non_decreasing(x: TensorLike, name: str | None = None) -> Any:
    """Returns whether each element of x is at least as large as the previous one, as a scalar bool tensor.

    x: a real number type, any shape; the elements are taken in row-major order.
    """
    return _ordered(x, GREATER_EQUAL, name or "is_non_decreasing")


def is_strictly_increasing(x: TensorLike, name: str | None = None) -> Any:
    """Returns whether each element of x is larger than the previous one, as a scalar bool tensor.

    x: a real number type, any shape; the elements are taken in row-major order.
    """
    return _ordered(x, GREATER, name or "is_strictly_increasing")


assert_less = _relation(LESS, "assert_less", "<")
assert_non_negative = _sign(GREATER_EQUAL, "assert_non_negative", ">=")
_CHECKS: dict[str, Any] = {
    "assert_equal": _relation(EQUAL, "assert_equal", "=="),
    "assert_none_equal": _relation(NOT_EQUAL, "assert_none_equal", "!="),
    "assert_less": assert_less,
    "assert_less_equal": _relation(LESS_EQUAL, "assert_less_equal", "<="),
    "assert_greater": _relation(GREATER, "assert_greater", ">"),
    "assert_greater_equal": _relation(GREATER_EQUAL, "assert_greater_equal", ">="),
    "assert_positive": _sign(GREATER, "assert_positive", ">"),
    "assert_negative": _sign(LESS, "assert_negative", "<"),
    "assert_non_negative": assert_non_negative,
    "assert_non_positive": _sign(LESS_EQUAL, "assert_non_positive", "<="),
    "assert_rank": _rank("assert_rank", "", EQUAL, lambda a, b: a == b),
    "assert_rank_at_least": _rank("assert_rank_at_least", "at least ", GREATER_EQUAL, lambda a, b: a >= b),
    "assert_type": assert_type,
    "assert_integer": assert_integer,
    "is_numeric_tensor": is_numeric_tensor,
    "is_non_decreasing": is_non_decreasing,
    "is_strictly_increasing": is_strictly_increasing,
}

OPS: tuple[OpDef, ...] = ()
API: dict[str, Any] = _CHECKS | {f"debugging.{name}": f for name, f in _CHECKS.items()}
