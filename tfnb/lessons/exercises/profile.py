"""Exercises of 07_profile: a step that is twice as fast, kernels and gaps of a step, an operation without Python."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from tfnb.errors import OpError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.tensor import Tensor
from tfnb.lessons.case import Case
from tfnb.lessons.exercises.control_flow import slopes
from tfnb.lessons.graph_function import Built, GraphFunction, raised
from tfnb.lessons.plain_function import PlainFunction
from tfnb.ops import API
from tfnb.ops.linalg.matmul import matmul
from tfnb.ops.math.reduce_functions import reduce_mean
from tfnb.session.config import ConfigProto
from tfnb.session.session import Session
from tfnb.types import float32

__all__ = ["EXERCISES"]

_ROUNDS = 9
_NEEDED = 2.0  # times as fast


def _slow(h: Tensor) -> Tensor:
    """The step that the exercise begins with, as it stands in the notebook."""
    wide = API["tile"](h, [16, 8])
    similarity: Tensor = reduce_mean(matmul(wide, wide, transpose_b=True))
    return similarity


def _times_as_fast(built: Built) -> float:
    """Runs the answer's graph and that of `_slow` in turn. Returns the quotient of the processor times.

    That is the time of all threads of this process, whatever else the machine does meanwhile; so both run on the CPU.
    """
    h = np.random.default_rng(0).random((64, 32), np.float32)
    with GraphBuilder().as_default() as graph:
        x = API["placeholder"](float32, [None, None])
        slow = _slow(x)
    took: list[tuple[float, float]] = []
    config = ConfigProto(device_count={"GPU": 0})
    with Session(graph=graph, config=config) as before, Session(graph=built.graph, config=config) as after:
        after.run([variable.initializer for variable in built.graph.get_collection("variables")])
        for _ in range(_ROUNDS + 2):
            begin = time.process_time()
            before.run(slow, {x: h})
            between = time.process_time()
            after.run(built.outputs[0], {built.inputs[0]: h})
            took.append((between - begin, time.process_time() - between))
    slows, fasts = zip(*took[2:], strict=True)  # the first ones compile
    return min(slows) / min(fasts)


def _faster(built: Built) -> str:
    try:
        times = _times_as_fast(built)
    except OpError as e:
        return f"it cannot be measured on other rows: {raised(e).text}"
    return (
        ""
        if times >= _NEEDED
        else f"it takes {1 / times:.0%} of the processor time of the given step; needed 50% at most"
    )


def _similarity(h: np.ndarray) -> np.ndarray:
    wide = np.tile(h.astype(np.float64), (16, 8))
    return np.float32(np.square(wide.mean(0)).sum())


def _rows(n: int, width: int, seed: int) -> tuple[np.ndarray, ...]:
    return (np.random.default_rng(seed).random((n, width), np.float32),)


_FASTER = (
    "Look at how large the product is, and at what is left of it after tf.reduce_mean.",
    "The mean of all products of two rows is the product of the mean row with itself; and tiles only repeat numbers.",
    "Take the mean row of h, sum up its squares; side by side it was repeated eight times, which is a factor.",
)


def _account(kernels: Sequence[tuple[float, float]], wall: float) -> tuple[float, float]:
    busy = last = 0.0
    for begin, end in sorted(kernels):
        busy += max(0.0, end - max(begin, last))
        last = max(last, end)
    return busy, wall - busy


_STEPS: list[tuple[object, ...]] = [
    ([(0.0, 10.0), (15.0, 20.0), (18.0, 30.0)], 40.0),
    ([(5.0, 9.0), (1.0, 3.0)], 10.0),
    ([(0.0, 100.0), (10.0, 20.0), (90.0, 110.0)], 115.0),
]
_ACCOUNT = (
    "Look at the lanes: kernels of two lanes may run at the same time, and that time counts once.",
    "Go through the kernels by their begin, and remember how far the time is accounted for.",
    "Of each kernel count only what lies behind the latest end so far; the gaps are the rest of the step.",
)


def _softplus(x: np.ndarray) -> np.ndarray:
    return np.logaddexp(0, x.astype(np.float64)).astype(np.float32)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return (1 / (1 + np.exp(-x.astype(np.float64)))).astype(np.float32)


_POINTS = [(np.array([-2, 0, 1], np.float32),), (np.array([-80, 100, 50, 3], np.float32),)]
_WITHOUT_PYTHON = (
    "Look for an operation of tf.nn that computes it, or at tf.log, tf.exp and tf.maximum.",
    "The exponential of a large number is infinite; that of a negative number is not.",
    "One function of tf.nn does it. By hand: the larger of x and 0, plus the logarithm of 1 plus exp of minus |x|.",
)

EXERCISES = (
    (
        "a step twice as fast",
        (
            Case(
                "the same number in half the time",
                GraphFunction([_rows(32, 16, 1), _rows(8, 24, 2)], _similarity, _faster),
                _FASTER,
                points=3,
                success_message="The work does not grow with the square of the rows any more.",
            ),
        ),
    ),
    (
        "kernels and gaps",
        (Case("three steps with kernels on two lanes", PlainFunction(_STEPS, _account), _ACCOUNT, points=2),),
    ),
    (
        "an operation without Python",
        (
            Case(
                "log(1 + exp(x)), also of large numbers", GraphFunction(_POINTS, _softplus), _WITHOUT_PYTHON, points=2
            ),
            Case(
                "its gradient",
                GraphFunction(_POINTS, _sigmoid, extend=slopes),
                _WITHOUT_PYTHON,
                success_message="It is fused with what stands around it, and has a gradient.",
            ),
        ),
    ),
)
