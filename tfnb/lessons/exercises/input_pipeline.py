"""Exercises of 04_input_pipeline: the stage that bounds the speed, a chain of data sets, the bytes of a record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from tfnb.client.dataset.dataset import Dataset
from tfnb.errors import OpError, OutOfRangeError
from tfnb.ir.builder import GraphBuilder
from tfnb.lessons.case import RIGHT, Case, Finding, Kind
from tfnb.lessons.comparing import described, difference
from tfnb.lessons.graph_function import GraphFunction, raised
from tfnb.lessons.plain_function import PlainFunction
from tfnb.session.session import Session
from tfnb.types import int64

__all__ = ["EXERCISES"]


def _bottleneck(stages: Mapping[str, tuple[float, int]]) -> str:
    return max(stages, key=lambda name: stages[name][0] / stages[name][1])


_STAGES: list[tuple[object, ...]] = [
    ({"read": (3.0, 1), "decode": (12.0, 6), "train": (5.0, 1)},),
    ({"read": (8.0, 1), "decode": (12.0, 4), "train": (5.0, 1)},),
    ({"read": (8.0, 4), "decode": (21.0, 2), "shuffle": (0.5, 1), "train": (10.0, 1)},),
]
_BOTTLENECK = (
    "Look at both numbers of a stage: the milliseconds for one batch, and how many batches it works on at a time.",
    "The stage with the longest time need not be the one that all wait for, if it works on several batches at once.",
    "For each stage, divide the time by the number of batches at a time; return the name with the largest result.",
)

_MOST_BATCHES = 100
_BATCHES = (
    "Look at the methods of a data set: filter, map and batch each give a new one.",
    "Their order matters: choose single numbers before they are squared and put into batches.",
    "filter with x % 2 compared to zero, then map to the square, then batch by 4 with drop_remainder=True.",
)


class _Numbers:
    """The numbers below n as a data set, which knows whether anybody has read it."""

    def __init__(self, n: int) -> None:
        self.n, self.read = n, 0

    def generate(self) -> Iterator[np.int64]:
        for k in range(self.n):
            self.read += 1
            yield np.int64(k)


def _batches(answer: object) -> Finding:
    """Builds the chain of the answer on numbers below 21 and below 50, and reads all of it."""
    if not callable(answer):
        return Finding(Kind.SHAPE, f"the answer is {described(answer)}; needed a function of a data set")
    for k, n in enumerate((21, 50)):
        numbers = _Numbers(n)
        found = _chain(answer, numbers)
        if found.kind is Kind.RIGHT and not numbers.read:
            return Finding(Kind.FORBIDDEN, "the batches are right, but the given data set was not read")
        if found.kind is not Kind.RIGHT:
            return found if k == 0 else Finding(Kind.ONCE, f"the numbers below {n}: {found.text}")
    return RIGHT


def _chain(answer: Callable[[Dataset], Any], numbers: _Numbers) -> Finding:
    with GraphBuilder().as_default() as graph:
        try:
            chain = answer(Dataset.from_generator(numbers.generate, int64, []))
            if not isinstance(chain, Dataset):
                return Finding(Kind.SHAPE, f"the function returns {described(chain)}; needed a data set")
            element = chain.make_one_shot_iterator().get_next()
        except Exception as e:
            return raised(e)
    got: list[Any] = []
    with Session(graph=graph) as session:
        try:
            while len(got) < _MOST_BATCHES:
                got.append(session.run(element))
        except OutOfRangeError:
            pass
        except OpError as e:
            return raised(e)
    squares = [k * k for k in range(0, numbers.n, 2)]
    right = [squares[i : i + 4] for i in range(0, len(squares) - 3, 4)]
    if any(not isinstance(batch, np.ndarray) or batch.shape != (4,) for batch in got):
        shapes = sorted({str(list(np.shape(batch))) for batch in got})
        return Finding(Kind.SHAPE, f"the elements have the shapes {', '.join(shapes)}; needed batches of shape [4]")
    return difference([batch.tolist() for batch in got], right)


def _record(*numbers: int) -> tuple[np.ndarray, ...]:
    return (np.array(bytes(numbers), object),)


def _decoded(record: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    numbers = np.frombuffer(record.item(), np.uint8)
    return numbers[:-1].astype(np.float32) / np.float32(255), np.array(numbers[-1], np.int32)


_RECORD = (
    "Look at decode above: which bytes it takes for the pixels, which for the label, and the dtypes it returns.",
    "Here the label is the last byte, however many there are; a negative index counts from the end.",
    "Pixels are all numbers but the last, cast to float32 and divided by 255; the last, cast to int32, is the label.",
)

EXERCISES = (
    (
        "the bottleneck",
        (
            Case(
                "the stage for which the others wait",
                PlainFunction(_STAGES, _bottleneck),
                _BOTTLENECK,
                points=2,
                success_message="Making any other stage faster would not make the training faster.",
            ),
        ),
    ),
    ("a chain of data sets", (Case("batches of four squares", _batches, _BATCHES, points=3),)),
    (
        "a record with its label at the end",
        (
            Case(
                "pixels and label",
                GraphFunction([_record(0, 51, 255, 102, 7), _record(10, 20, 30, 3)], _decoded),
                _RECORD,
                points=2,
            ),
        ),
    ),
)
