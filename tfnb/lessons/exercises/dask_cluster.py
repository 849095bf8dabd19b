"""Exercises of 09_dask_cluster: the steps that a dead worker costs, a gradient of two halves, what servers send."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfnb.lessons.case import Case
from tfnb.lessons.graph_function import Built, GraphFunction, uses
from tfnb.lessons.plain_function import PlainFunction

__all__ = ["EXERCISES"]


def _lost(died_in: int, save_every: int) -> list[int]:
    return list(range((died_in - 1) // save_every * save_every + 1, died_in + 1))


_LOST = (
    "Look at which steps the training above made twice, and at save_checkpoint_steps.",
    "The step in which the worker dies is not finished, so nothing of it is saved, even if a save would follow it.",
    "From the last multiple of save_every that is smaller than died_in: the steps after it, up to and with died_in.",
)


def _gradient(x: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
    return 2 * x.T @ (x @ w - y) / np.float32(len(x))


def _examples(n: int, seed: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    return rng.random((n, 3), np.float32), rng.random(n, np.float32), rng.random(3, np.float32)


def _in_halves(built: Built) -> str:
    if uses(built, "Split", "SplitV", "StridedSlice", "Slice", "Unpack"):
        return ""
    return "the batch is not divided: no node takes a part of it"


_HALVES = (
    "Look at what the servers do with the gradients of the two replicas above.",
    "Each half has a loss of its own, a mean over its examples; of the two gradients the mean is needed, not the sum.",
    "tf.split x and y into 2 parts, tf.gradients of each part's loss with respect to w, then half of tf.add_n.",
)


def _traffic(sizes: Sequence[int], servers: int, workers: int) -> list[int]:
    return [workers * sum(sizes[k::servers]) for k in range(servers)]


_LAYERS: list[tuple[object, ...]] = [
    ([401408, 512, 5120, 40], 2, 2),
    ([4000, 300, 20], 2, 5),
    ([10, 20, 30, 40, 50], 3, 1),
]
_TRAFFIC = (
    "Look at the list of variables above: which server has which of them?",
    "The variables are dealt out in turn, whatever their size; each worker gets all of them in each step.",
    "Server k has the sizes at k, k + servers, k + 2 servers and so on; their sum goes to each of the workers.",
)

EXERCISES = (
    (
        "which steps are lost",
        (
            Case(
                "a worker that dies in step 60, and others",
                PlainFunction([(60, 25), (50, 25), (7, 10), (201, 100)], _lost),
                _LOST,
                points=2,
                success_message="Saving more often makes fewer steps twice, and costs time in each step that saves.",
            ),
        ),
    ),
    (
        "a gradient of two halves",
        (
            Case(
                "the gradient of the whole batch",
                GraphFunction([_examples(4, 1), _examples(6, 2)], _gradient, _in_halves),
                _HALVES,
                points=2,
            ),
        ),
    ),
    (
        "what servers send",
        (
            Case(
                "bytes that each server sends in a step",
                PlainFunction(_LAYERS, _traffic),
                _TRAFFIC,
                points=2,
                success_message="The server with the first layer sends nearly all, so one divides large variables.",
            ),
        ),
    ),
)
