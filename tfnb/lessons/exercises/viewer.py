"""Exercises of 06_viewer: summaries of two kinds, the smoothing of a curve, the best of several runs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence

import numpy as np

from tfnb.ir.protos import proto
from tfnb.lessons.case import Case, Finding, Kind
from tfnb.lessons.graph_function import GraphFunction
from tfnb.lessons.plain_function import PlainFunction
from tfnb.summary.writer import FileWriter

__all__ = ["EXERCISES"]

_TAGS = ["hidden/weights", "train/loss"]


def _read(values: Sequence[object]) -> tuple[np.ndarray, ...] | Finding:
    """Returns what a serialized Summary has: the scalar, and the number, least and largest value of the histogram."""
    data = values[0]
    summary = proto("summary").Summary()
    try:
        summary.ParseFromString(data)
    except Exception:  # no bytes, or no message
        return Finding(Kind.SHAPE, "the tensor is no summary; needed one text, the merged summaries")
    kinds = {value.tag: value.WhichOneof("value") for value in summary.value}
    if sorted(kinds) != _TAGS:
        return Finding(Kind.VALUE, f"the tags are {', '.join(sorted(kinds)) or 'none'}; needed {', '.join(_TAGS)}")
    values_of = {value.tag: value for value in summary.value}
    scalar, histogram = values_of["train/loss"], values_of["hidden/weights"].histo
    if kinds["hidden/weights"] != "histo" or kinds["train/loss"] == "histo":
        return Finding(Kind.SHAPE, "needed a scalar of the loss and a histogram of the weights")
    return np.array(scalar.simple_value, np.float32), np.array([histogram.num, histogram.min, histogram.max])


def _summarized(losses: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, ...]:
    return losses.mean(), np.array([weights.size, weights.min(), weights.max()], np.float64)


def _step(n: int, seed: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    return rng.random(n, np.float32), rng.normal(size=(3, n)).astype(np.float32)


_SUMMARIES = (
    "Look at what is written above: which functions of tf.summary, which tags, and what is merged.",
    "Two summaries under the tags of the task: the first one of the mean of the losses, the second one of all weights.",
    "tf.summary.merge takes a list of both: a scalar of tf.reduce_mean, and a histogram.",
)


def _smoothed(values: Sequence[float], weight: float) -> list[float]:
    mean = total = 0.0
    out = []
    for value in values:
        mean = weight * mean + (1 - weight) * value
        total = weight * total + (1 - weight)
        out.append(mean / total)
    return out


_CURVES: list[tuple[object, ...]] = [([4.0, 2.0, 1.0, 3.0], 0.6), ([1.0, 5.0, 2.0], 0.9), ([3.0, 1.0], 0.0)]
_SMOOTHED = (
    "Look at the first point of a curve while you move the smoothing: it stays where it is.",
    "The mean begins at zero, which pulls the first points down; the sum of the weights so far says by how much.",
    "Carry on two numbers, the mean of the values and the same mean of ones, and divide the one by the other.",
)

_Losses = Mapping[str, Sequence[float]]


def _write(folder: str, losses: _Losses) -> str:
    """Writes a run for each name. Returns the folder."""
    for name, values in losses.items():
        with FileWriter(os.path.join(folder, name)) as writer:
            for step, value in enumerate(values):
                summary = proto("summary").Summary()
                summary.value.add(tag="train/loss", simple_value=value)
                writer.add_summary(summary, step)
    return folder


def _best(answer: object) -> Finding:
    """Lets the answer choose among the runs of two folders."""
    first = {"slow": (3.0, 2.5, 2.25), "quick": (3.0, 1.0, 2.0), "steady": (3.0, 2.0, 1.5)}
    second = {"slow": (2.0, 1.5, 0.5), "quick": (0.25, 1.0), "steady": (3.0, 2.0, 1.5)}
    with tempfile.TemporaryDirectory(prefix="tfnb-lessons-") as folder:
        right = {
            _write(os.path.join(folder, name), losses): min(losses, key=lambda run: losses[run][-1])
            for name, losses in (("a", first), ("b", second))
        }
        return PlainFunction([(path,) for path in right], lambda path: right[path])(answer)


_BEST = (
    "Look at tf.read_events: its table has a column run, and series has the values of a run and a tag.",
    "What a run has learnt is in its last point; the least value of a curve may have been an accident.",
    'For each run take the last element of series(run, "train/loss")["value"]; return the run where it is smallest.',
)

EXERCISES = (
    (
        "two summaries in one",
        (
            Case(
                "tags and values",
                GraphFunction([_step(4, 1), _step(6, 2)], _summarized, read=_read),
                _SUMMARIES,
                points=2,
            ),
        ),
    ),
    (
        "the smoothing of a curve",
        (
            Case(
                "smoothed as the viewer does it",
                PlainFunction(_CURVES, _smoothed),
                _SMOOTHED,
                points=2,
                success_message="So the curve is right from its first point on, however strong the smoothing is.",
            ),
        ),
    ),
    ("the best run", (Case("the run that ends with the smallest loss", _best, _BEST, points=2),)),
)
