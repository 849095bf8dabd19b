"""Exercises of 03_control_flow: a root by a loop, a gradient without NaN, a loop that fills an array."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfnb.client.gradients.backprop import gradients
from tfnb.ir.tensor import Tensor
from tfnb.lessons.case import Case
from tfnb.lessons.graph_function import Built, GraphFunction, uses

__all__ = ["EXERCISES", "slopes"]


def slopes(built: Built) -> Sequence[Tensor | None]:
    """The gradient of the one output with respect to the first input."""
    slopes: Sequence[Tensor | None] = gradients(built.outputs[0], built.inputs[0])
    return slopes


def _by_a_loop(built: Built) -> str:
    if uses(built, "Pow", "Exp", "Log"):
        return "a power, exponential or logarithm computes it; only the four basic operations are allowed"
    return "" if uses(built, "NextIteration") else "there is no tf.while_loop in it"


def _numbers(*values: float) -> list[tuple[np.ndarray, ...]]:
    return [(np.array(v),) for v in values]


def _root_slope(a: np.ndarray) -> np.ndarray:
    return np.cbrt(a) / (3 * a)


_ROOT = (
    "Look at the loop for the square root: the condition, the step, and how many rounds it makes.",
    "The cube must be near to a, so the condition compares it; Newton's step for r³ - a is another than for r² - a.",
    "The step is the weighted mean of r, which counts twice, and a divided by r², which counts once.",
)


def _terms(x: np.ndarray) -> np.ndarray:
    return np.where(x > 0, x * np.log(np.where(x > 0, x, 1)), 0).astype(np.float32)


def _slopes_of_terms(x: np.ndarray) -> np.ndarray:
    return np.where(x > 0, np.log(np.where(x > 0, x, 1)) + 1, 0).astype(np.float32)


_VECTORS = [(np.array([4, -1, 0], np.float32),), (np.array([9, 2, -5, 1], np.float32),)]
_SELECT = (
    "Look at what tf.log and its gradient are at zero and below, and remember that tf.where computes both sides.",
    "A side that is not chosen still takes part in the gradient: zero times infinity is NaN there.",
    "Use tf.where twice: once on x, so that tf.log never sees a number that is not positive, and once on the result.",
)


def _powers(x: np.ndarray, n: np.ndarray) -> np.ndarray:
    return np.cumprod(np.r_[np.float32(1), np.full(n - 1, x)], dtype=np.float32)


def _count(x: float, n: int) -> tuple[np.ndarray, ...]:
    return np.array(x, np.float32), np.array(n, np.int32)


_FIRST = GraphFunction([_count(2, 5), _count(0.5, 9)], _powers, _by_a_loop)
_OTHERS = GraphFunction([_count(3, 1), _count(-1, 4)], _powers, _by_a_loop)
_POWERS = (
    "Look at the loop of the planet: what it counts, what it carries on, and what it writes.",
    "Three loop variables: the index, the power of this round, and the TensorArray, whose size is n.",
    "In each round write the power at the index, then multiply it by x; after the loop, stack the array.",
)

EXERCISES = (
    (
        "a cube root",
        (
            Case(
                "the root of numbers from 0.001 to a billion",
                GraphFunction(_numbers(27.0, 0.001, 2.0, 1e9), np.cbrt, _by_a_loop, rtol=1e-6),
                _ROOT,
                points=2,
            ),
            Case(
                "its derivative",
                GraphFunction(_numbers(27.0, 0.001, 1e9), _root_slope, extend=slopes, rtol=1e-4, atol=1e-12),
                _ROOT,
                success_message="The gradient went back through as many rounds as each root took.",
            ),
        ),
    ),
    (
        "a gradient without NaN",
        (
            Case("the terms, and zero elsewhere", GraphFunction(_VECTORS, _terms), _SELECT),
            Case(
                "their gradient",
                GraphFunction(_VECTORS, _slopes_of_terms, extend=slopes),
                _SELECT,
                points=2,
                success_message="This is needed wherever tf.where guards a function that is not defined everywhere.",
            ),
        ),
    ),
    (
        "the first powers of a number",
        (
            Case("five powers of 2, nine of 0.5", _FIRST, _POWERS, points=2),
            Case("a single power, and others", _OTHERS, _POWERS, hidden=True),
        ),
    ),
)
