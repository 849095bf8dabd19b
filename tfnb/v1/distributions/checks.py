"""Checks of parameters and of values, which a step makes when a distribution has `validate_args`.

Invariant: a check never raises while the graph is built; a tensor from `after` is computed only where its checks hold.
The first words of each message are TensorFlow's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfnb.client.graph.default_graph import control_dependencies
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.shape_ops import IDENTITY
from tfnb.ops.logging.print_assert import assert_that
from tfnb.ops.math.compare import EQUAL
from tfnb.ops.math.reduce_functions import reduce_all, reduce_sum
from tfnb.ops.math.unary import FLOOR

__all__ = ["after", "checked_counts", "positive", "require", "require_positive", "within_one"]


def require(holds: Tensor, message: str, *shown: Tensor) -> Operation:
    """Returns an operation that fails with `message` unless all of `holds`, and shows the tensors `shown`."""
    data: list[Any] = [message]
    for tensor in shown:
        data += [f"({tensor.name}) =", tensor]
    return assert_that(reduce_all(holds), data)


def require_positive(tensor: Tensor, message: str = "a parameter must be positive.") -> Operation:
    """Returns an operation that fails unless all elements of `tensor` are positive."""
    return require(tensor > 0.0, f"{message} Condition x > 0 did not hold element-wise: x", tensor)


def after(checks: Sequence[Operation], *tensors: Tensor) -> list[Any]:
    """Returns the `tensors`, which a step gets only if it makes the `checks` and they hold."""
    if not checks:
        return list(tensors)
    with control_dependencies(checks):
        return [IDENTITY(tensor) for tensor in tensors]


def positive(tensor: Tensor, validate_args: bool) -> Tensor:
    """Returns `tensor`. With `validate_args` the step fails if an element is not positive."""
    return after([require_positive(tensor)] if validate_args else [], tensor)[0]


def within_one(probs: Tensor, *others: Tensor) -> list[Any]:
    """Returns the tensors, which a step gets only if all `probs` are from 0 to 1."""
    low = require(
        probs >= 0.0, "probs has components less than 0. Condition x >= 0 did not hold element-wise: x", probs
    )
    high = require(probs <= 1.0, "probs has components greater than 1. Condition x <= y did not hold: x", probs)
    return after([low, high], probs, *others)


def checked_counts(counts: Tensor, total: Tensor, sums: str, validate_args: bool) -> Tensor:
    """Returns `counts`. With `validate_args` the step fails unless they are integers >= 0 that sum to `total`.

    sums: the message when they do not sum to it.
    """
    if not validate_args:
        return counts
    checks = [
        require(counts >= 0.0, "counts must be non-negative. Condition x >= 0 did not hold element-wise: x", counts),
        require(EQUAL(counts, FLOOR(counts)), "counts cannot contain fractional components.", counts),
        require(EQUAL(reduce_sum(counts, -1), total), sums, counts, total),
    ]
    return after(checks, counts)[0]
