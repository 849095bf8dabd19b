"""Exercises of 01_first_graph: the misprint of Figure 1, a gradient of the graph's, a variable that keeps a sum."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.errors import OpError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.tensor import Tensor
from tfnb.lessons.case import RIGHT, Case, Finding, Kind
from tfnb.lessons.comparing import described, difference
from tfnb.lessons.graph_function import Built, GraphFunction, raised
from tfnb.session.session import Session

__all__ = ["EXERCISES", "by_gradients"]


def _figure(batch: int, pixels: int, hidden: int, classes: int, seed: int) -> tuple[np.ndarray, ...]:
    """Returns a batch and the parameters of both layers; the biases are large enough to be noticed."""
    rng = np.random.default_rng(seed)
    shapes = [(batch, pixels), (pixels, hidden), (hidden,), (hidden, classes), (classes,)]
    return tuple(rng.uniform(-1, 1, shape).astype(np.float32) for shape in shapes)


def _layers(x: np.ndarray, w_1: np.ndarray, b_1: np.ndarray, w_2: np.ndarray, b_2: np.ndarray) -> Any:
    return np.maximum(x @ w_1 + b_1, 0) @ w_2 + b_2


_MISPRINT = (
    "Look at the four parameters W_1, b_1, W_2 and b_2, and at which line reads each of them.",
    "A layer has a matrix and a bias of its own; one parameter is read twice, and another one never.",
    "The line of layer_1 ends with the bias of the other layer.",
)


def _slope(x: np.ndarray) -> np.ndarray:
    return (3 * x**2 * np.sin(x) + x**3 * np.cos(x)).astype(np.float32)


def by_gradients(built: Built) -> str:
    """Returns why `tf.gradients` has not computed what was built, or ""."""
    if any(op.name.startswith("gradients") for op in built.operations):
        return ""
    return "no node of tf.gradients is in it; the formula of the derivative is not asked for"


_POINTS = [(np.array(x, np.float32),) for x in ([0.5, 1, 2], [-3, 0, 0.25, 4])]
_SLOPE = (
    "Look at what tf.gradients takes: what is differentiated, and with respect to what. It returns a list.",
    "Build f from x first. Then ask for its derivative with respect to x, and return the element of the list.",
    "Two lines: f is x**3 times tf.sin(x); then the first element of what tf.gradients gives for f and x.",
)

_COUNTER = (
    "Look at the section on variables: what keeps a number from one run to the next?",
    "Two things change in each run: the number of the run, and the sum. Each is a variable.",
    "Add 1 to the number of the run with tf.assign_add; add its square, by a second one, to the sum; return that.",
)
_RUNS = 6


def _sums(answer: object) -> Finding:
    """Runs what the answer returns several times in one session: 1, 1 + 4, 1 + 4 + 9, ..."""
    if not callable(answer):
        return Finding(Kind.SHAPE, f"the answer is {described(answer)}; needed a function without parameters")
    with GraphBuilder().as_default() as graph:
        try:
            sums = answer()
        except Exception as e:
            return raised(e)
    if not isinstance(sums, Tensor):
        return Finding(Kind.SHAPE, f"the function returns {described(sums)}; needed a tensor")
    variables = graph.get_collection("variables")
    values = []
    with Session(graph=graph) as session:
        try:
            session.run([variable.initializer for variable in variables])
            values = [session.run(sums) for _ in range(_RUNS)]
        except OpError as e:
            return raised(e)
    if np.shape(values[0]) != ():
        return Finding(Kind.SHAPE, f"the shape is {list(np.shape(values[0]))}; needed a scalar")
    right = np.cumsum(np.arange(1, _RUNS + 1) ** 2).tolist()
    wrong = [k for k, (a, b) in enumerate(zip(values, right, strict=True), 1) if difference(a.item(), b) != RIGHT]
    if wrong and wrong[0] > 1 and variables:
        return Finding(Kind.ONCE, f"run {wrong[0]} is the first that gives another number than needed")
    if 1 not in wrong and not variables:
        return Finding(Kind.FORBIDDEN, "there is no variable, so every run gives the same")
    return Finding(Kind.VALUE, f"run {wrong[0]} gives another number than needed") if wrong else RIGHT


EXERCISES = (
    (
        "the misprint of Figure 1",
        (
            Case(
                "the scores of both layers",
                GraphFunction([_figure(2, 5, 3, 3, 1), _figure(2, 5, 3, 3, 2)], _layers),
                _MISPRINT,
                points=2,
                success_message="Layer 1 adds its own bias now. As printed, b_1 would never have learnt anything.",
            ),
            Case(
                "layers of different sizes",
                GraphFunction([_figure(2, 5, 4, 3, 3), _figure(7, 6, 8, 2, 4)], _layers),
                _MISPRINT,
                hidden=True,
            ),
        ),
    ),
    (
        "a derivative by the graph",
        (
            Case(
                "the derivative of x³ sin x",
                GraphFunction(_POINTS, _slope, by_gradients),
                _SLOPE,
                points=2,
                success_message="The graph has differentiated itself; the result can be differentiated again.",
            ),
        ),
    ),
    (
        "a sum of squares that stays",
        (
            Case(
                "the first six runs",
                _sums,
                _COUNTER,
                points=2,
                success_message="Both variables live in the session: another session begins at zero.",
            ),
        ),
    ),
)
