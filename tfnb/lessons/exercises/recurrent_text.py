"""Exercises of 13_recurrent_text: a step of a GRU, truncated backpropagation, what is left of the past."""

from __future__ import annotations

import numpy as np

from tfnb.client.gradients.backprop import gradients
from tfnb.ir.tensor import Tensor
from tfnb.lessons.case import Case
from tfnb.lessons.exercises.first_graph import by_gradients
from tfnb.lessons.graph_function import Built, GraphFunction

__all__ = ["EXERCISES"]

_WINDOW = 4


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _gru(x: np.ndarray, h: np.ndarray, w: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    r, u = np.split(_sigmoid(np.concatenate([x, h], 1) @ w), 2, axis=1)
    return u * h + (1 - u) * np.tanh(x @ a + (r * h) @ b)


def _cell(n: int, k: int, m: int, seed: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    shapes = [(n, k), (n, m), (k + m, 2 * m), (k, m), (m, m)]
    return tuple(rng.uniform(-1, 1, shape).astype(np.float32) for shape in shapes)


_GRU = (
    "Look at the formulas above one by one, and at the shapes: what is multiplied by a matrix, what by elements?",
    "The gates come first: one product of both vectors side by side, cut into halves along the last axis.",
    "tf.concat of x and h along axis 1, times w, through tf.sigmoid, and tf.split in two gives r and u; three products "
    "with * remain.",
)


def _states(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    h, states = np.float64(0), []
    for number in x.astype(np.float64):
        h = np.tanh(float(w) * h + number)
        states.append(h)
    return np.array(states)


def _loss(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    return np.float32(np.square(_states(x, w)).sum())


def _truncated_slopes(x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The gradients of the loss with respect to x and w, where none passes from a window to the one before it."""
    states = _states(x, w)
    of_x, of_w, of_h = np.zeros(len(x)), 0.0, 0.0
    for t in reversed(range(len(x))):
        if (t + 1) % _WINDOW == 0:
            of_h = 0.0
        of_x[t] = (of_h + 2 * states[t]) * (1 - states[t] ** 2)
        of_w += of_x[t] * (states[t - 1] if t else 0.0)
        of_h = of_x[t] * float(w)
    return of_x.astype(np.float32), np.float32(of_w)


def _both_slopes(built: Built) -> list[Tensor | None]:
    return list(gradients(built.outputs[0], list(built.inputs)))


def _sequence(length: int, w: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    return np.random.default_rng(seed).uniform(-1, 1, length).astype(np.float32), np.float32(w)


_SEQUENCES = [_sequence(12, 0.9, 1), _sequence(12, -1.5, 2)]
_TRUNCATED = (
    "Look at what leads from one window to the next: it is a single tensor.",
    "The state must keep its value there and lose its gradient, each time a window of four is full.",
    "Before the step, when t is a multiple of four, put h through tf.stop_gradient.",
)


def _left(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    slopes = 1 - np.square(_states(x, w))
    left = [slopes[t] * np.prod(float(w) * slopes[t + 1 :]) for t in range(len(x))]
    return np.array(left, np.float32)


_LEFT = (
    "Look at `reach` above: what does tf.gradients take, and what does it return?",
    "Build the states by a loop of Python, and keep only the last one; x is one tensor, so one gradient is enough.",
    "After the loop, return the first element of what tf.gradients gives for the last h and for x.",
)

EXERCISES: tuple[tuple[str, tuple[Case, ...]], ...] = (
    (
        "a step of a GRU",
        (
            Case(
                "the new state of a batch",
                GraphFunction([_cell(2, 3, 4, 1), _cell(5, 3, 4, 2)], _gru),
                _GRU,
                points=2,
                success_message="A GRU keeps and writes with one gate: what it does not keep is what it writes.",
            ),
            Case("other sizes", GraphFunction([_cell(3, 5, 2, 3)], _gru), _GRU, hidden=True),
        ),
    ),
    (
        "truncated backpropagation",
        (
            Case("the loss is as before", GraphFunction(_SEQUENCES, _loss), _TRUNCATED),
            Case(
                "its gradients end at the windows",
                GraphFunction(_SEQUENCES, _truncated_slopes, extend=_both_slopes),
                _TRUNCATED,
                points=2,
                success_message="A step now costs as much as its window, however long the text before it is.",
                failure_message="A gradient that is right for the whole sequence is not what is asked for.",
            ),
            Case(
                "other lengths",
                GraphFunction([_sequence(18, 1.1, 3)], _truncated_slopes, extend=_both_slopes),
                _TRUNCATED,
                hidden=True,
            ),
        ),
    ),
    (
        "what is left of the past",
        (
            Case(
                "the derivatives of the last state",
                GraphFunction([_sequence(6, 0.8, 4), _sequence(6, -1.2, 5)], _left, by_gradients),
                _LEFT,
                points=2,
                success_message="Each step multiplies by w and by a slope below 1, so little is left of early ones. "
                "The cell of an LSTM is multiplied by its forget gate only, which may stay near 1.",
            ),
            Case("a longer one", GraphFunction([_sequence(25, 1.3, 6)], _left, by_gradients), _LEFT, hidden=True),
        ),
    ),
)
