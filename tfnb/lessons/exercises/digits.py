"""Exercises of 02_mnist: a network of few parameters, the accuracy of scores, shapes that are known before a run."""

from __future__ import annotations

import numpy as np

from tfnb.errors import OpError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.tensor import Tensor
from tfnb.lessons.case import RIGHT, Case, Finding, Kind
from tfnb.lessons.comparing import described
from tfnb.lessons.graph_function import GraphFunction, needed_operations, raised
from tfnb.lessons.plain_function import PlainFunction
from tfnb.ops import API
from tfnb.session.session import Session
from tfnb.types import float32

__all__ = ["EXERCISES"]

_MOST_PARAMETERS = 20_000


def _small_network(answer: object) -> Finding:
    """Builds the network of the answer for open batches, counts its parameters, and runs it on batches of two sizes."""
    if not callable(answer):
        return Finding(Kind.SHAPE, f"the answer is {described(answer)}; needed a function of a batch of images")
    with GraphBuilder().as_default() as graph:
        images = API["placeholder"](float32, [None, 784], name="images")
        try:
            scores = answer(images)
        except Exception as e:
            return raised(e)
    if not isinstance(scores, Tensor):
        return Finding(Kind.SHAPE, f"the function returns {described(scores)}; needed a tensor of scores")
    found = _scores_of_batches(graph, images, scores)
    return found if found.kind is not Kind.RIGHT else _size_and_way(graph, images, scores)


def _scores_of_batches(graph: GraphBuilder, images: Tensor, scores: Tensor) -> Finding:
    rng = np.random.default_rng(0)
    with Session(graph=graph) as session:
        try:
            session.run([variable.initializer for variable in graph.get_collection("variables")])
        except OpError as e:
            return raised(e)
        for k, n in enumerate((4, 7)):
            try:
                value = session.run(scores, {images: rng.random((n, 784), np.float32)})
            except OpError as e:
                return raised(e) if k == 0 else Finding(Kind.ONCE, f"a batch of {n} images: {raised(e).text}")
            if value.dtype != np.float32 or value.shape != (n, 10):
                told = f"{value.dtype.name} {list(value.shape)} for {n} images; needed float32 {[n, 10]}"
                return Finding(Kind.SHAPE if k == 0 else Kind.ONCE, told)
            if not np.isfinite(value).all():
                return Finding(Kind.VALUE, "some scores are infinite or NaN")
    return RIGHT


def _size_and_way(graph: GraphBuilder, images: Tensor, scores: Tensor) -> Finding:
    needed = needed_operations([scores])
    if images.op not in needed:
        return Finding(Kind.FORBIDDEN, "the scores do not depend on the images")
    if not any(op.type == "Conv2D" for op in needed):
        return Finding(Kind.FORBIDDEN, "there is no convolution in it; a network without does not reach 98%")
    sizes = [v.get_shape().num_elements() or 0 for v in graph.get_collection("trainable_variables")]
    if sum(sizes) > _MOST_PARAMETERS:
        return Finding(Kind.VALUE, f"it has {sum(sizes):,} parameters; needed at most {_MOST_PARAMETERS:,}")
    return RIGHT


_NETWORK = (
    "Look at tf.count_parameters() of the network above: which layer has most of the parameters?",
    "A dense layer has inputs times outputs parameters: have fewer inputs (pool more, fewer filters) or fewer outputs.",
    "8 filters, pooling, 16 filters and pooling leave 784 numbers of an image; a dense layer of 10 after it is small.",
)


def _accuracy(logits: np.ndarray, labels: np.ndarray) -> np.float32:
    return np.float32(np.mean(np.argmax(logits, 1) == labels))


def _scored(n: int, classes: int, right: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns scores of which the first `right` are right, and labels."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, classes)).astype(np.float32)
    best = np.argmax(logits, 1)
    return logits, np.where(np.arange(n) < right, best, (best + 1) % classes).astype(np.int64)


_OTHERS = GraphFunction([_scored(3, 4, 0, 3), _scored(16, 4, 16, 4)], _accuracy)
_ACCURACY = (
    "Look at what tf.argmax gives along axis 1, and at its dtype.",
    "Compare the best class of each row with its label; the mean of truth values needs numbers.",
    "Cast what tf.equal gives to tf.float32, and take tf.reduce_mean of all of it.",
)


def _shapes(size: int) -> list[list[int]]:
    conv1 = size - 4
    pool1 = conv1 // 2
    conv2 = pool1 - 4
    pool2 = conv2 // 2
    return [[conv1, conv1, 32], [pool1, pool1, 32], [conv2, conv2, 64], [pool2, pool2, 64], [pool2 * pool2 * 64]]


_SHAPES = (
    'Look at the padding: with "valid" a filter stays inside the image.',
    "A filter of 5 pixels has 4 places less than the image has pixels; pooling by 2 halves, and rounds down.",
    "From size on, in turn: 4 less, the half, 4 less, the half. The last entry is the product of the one before it.",
)

EXERCISES: tuple[tuple[str, tuple[Case, ...]], ...] = (
    (
        "a small network",
        (
            Case(
                "scores, parameters and layers",
                _small_network,
                _NETWORK,
                points=3,
                success_message="Put it into the training loop above: such networks read about 98% of the test digits.",
            ),
        ),
    ),
    (
        "the accuracy of scores",
        (
            Case(
                "the share of rows that are right",
                GraphFunction([_scored(8, 10, 6, 1), _scored(5, 10, 1, 2)], _accuracy),
                _ACCURACY,
                points=2,
            ),
            Case(
                "other classes",
                GraphFunction([_scored(3, 4, 0, 3), _scored(16, 4, 16, 4)], _accuracy),
                _ACCURACY,
                hidden=True,
            ),
        ),
    ),
    (
        "shapes before the run",
        (
            Case(
                "five shapes of an image of 28 by 28 pixels, then of others",
                PlainFunction([(28,), (32,), (21,)], _shapes),
                _SHAPES,
                points=2,
                success_message="Shapes follow from sizes alone, so tfnb knows them before a step runs.",
            ),
        ),
    ),
)
