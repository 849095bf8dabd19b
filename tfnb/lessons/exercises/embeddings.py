"""Exercises of 14_embeddings: the nearest words, the loss of a sample, what a step of each softmax needs."""

from __future__ import annotations

import numpy as np

from tfnb.lessons.case import Case
from tfnb.lessons.graph_function import Built, GraphFunction
from tfnb.lessons.plain_function import PlainFunction

__all__ = ["EXERCISES"]


def _nearest(vectors: np.ndarray, i: np.ndarray) -> np.ndarray:
    unit = vectors.astype(np.float64) / np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    order = np.argsort(-(unit @ unit[i]))
    return order[order != i][:5].astype(np.int32)


def _vectors(rows: int, width: int, i: int, seed: int) -> tuple[np.ndarray, ...]:
    """Returns rows of very different lengths, and the number of one of them."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(rows, width)) * rng.uniform(0.1, 10, (rows, 1))
    return vectors.astype(np.float32), np.array(i, np.int32)


_NEAREST = (
    "Look at the cell that finds the nearest words: what is done with the vectors first, and what comes back first?",
    "A product of vectors of length 1 is the cosine of their angle; the nearest of all to a row is that row itself.",
    "Normalise the rows, multiply all by row i, take the six best by tf.nn.top_k, and leave out the first.",
)


def _sampled_loss(
    h: np.ndarray, weights: np.ndarray, expected: np.ndarray, labels: np.ndarray, samples: np.ndarray
) -> np.ndarray:
    corrected = h.astype(np.float64) @ weights.T - np.log(expected)
    chosen = np.column_stack([corrected[np.arange(len(labels)), labels], corrected[:, samples]])
    return (np.log(np.exp(chosen).sum(1)) - chosen[:, 0]).astype(np.float32)


def _sample(n: int, samples: int, seed: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    h, weights = rng.normal(size=(n, 4)), rng.normal(size=(30, 4))
    expected = rng.uniform(0.1, 2, 30)
    numbers = rng.permutation(30)[: n + samples].astype(np.int32)
    return (*(a.astype(np.float32) for a in (h, weights, expected)), numbers[:n], numbers[n:])


def _needed_rows_alone(built: Built) -> str:
    """Returns why all rows of the weights are used, or "": only lookups may read them."""
    weights = built.inputs[1]
    readers = {op.type for op in built.operations if any(t is weights for t in op.inputs)}
    others = sorted(t for t in readers if not t.startswith(("Gather", "ResourceGather", "Shape")))
    return f"all rows of the weights are used, by {', '.join(others)}; look up those that are needed" if others else ""


_SAMPLED = (
    "Look at which rows are needed: one for each label, and one for each sample, which all of the batch share.",
    "The scores of the labels are sums of products by elements; those of the samples are one matrix product.",
    "Put the corrected score of the label before those of the samples, along axis 1; the right class is then 0 in each "
    "row, and the loss is a cross entropy of these scores.",
)


def _work(vocabulary: int, width: int, batch: int, samples: int) -> tuple[tuple[int, int], tuple[int, int]]:
    rows = min(vocabulary, batch + samples)
    return (batch * vocabulary * width, vocabulary), (batch * (samples + 1) * width, rows)


_STEPS: list[tuple[object, ...]] = [(2633, 48, 256, 64), (40_000, 512, 128, 512), (50, 8, 40, 20)]
_WORK = (
    "Look at the table above: how many scores has a step, and how many multiplications does one of them take?",
    "A score is a product of two vectors. The sampled loss has one more score than samples, and shares the samples.",
    "Scores times width; the sampled one changes a row for each of the batch and of the samples, but never more than "
    "there are.",
)

EXERCISES: tuple[tuple[str, tuple[Case, ...]], ...] = (
    (
        "the nearest words",
        (
            Case(
                "five rows",
                GraphFunction([_vectors(12, 4, 3, 1), _vectors(20, 4, 0, 2)], _nearest),
                _NEAREST,
                points=2,
            ),
            Case("vectors of another width", GraphFunction([_vectors(9, 7, 8, 3)], _nearest), _NEAREST, hidden=True),
        ),
    ),
    (
        "the loss of a sample",
        (
            Case(
                "losses of two batches",
                GraphFunction([_sample(3, 5, 1), _sample(6, 8, 2)], _sampled_loss, _needed_rows_alone),
                _SAMPLED,
                points=3,
                success_message="tf.nn.sampled_softmax_loss also leaves out samples that are the label by accident.",
            ),
        ),
    ),
    (
        "work and rows",
        (
            Case(
                "three vocabularies",
                PlainFunction(_STEPS, _work),
                _WORK,
                points=2,
                success_message="Only the full one grows with the vocabulary.",
            ),
        ),
    ),
)
