"""Exercises of 10_builder: LeNet from the keyboard, a matrix that does not fit, what a run to here needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import cast

import numpy as np

from tfnb.errors import OpError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.tensor import Tensor
from tfnb.lessons.case import RIGHT, Case, Finding, Kind
from tfnb.lessons.comparing import described, difference
from tfnb.lessons.graph_function import GraphFunction, needed_operations, raised
from tfnb.ops import API
from tfnb.session.session import Session
from tfnb.types import float32

__all__ = ["EXERCISES"]

_IMAGE = (28, 28, 1)
_PARAMETERS = 118_058  # 5·5·20 + 20, 20·5·5·48 + 48, 768·120 + 120, 120·10 + 10


def _lenet(answer: object) -> Finding:
    """Looks at the graph behind the scores of the answer, and runs it, in a session of its own, on two batches."""
    if not isinstance(answer, Tensor):
        return Finding(Kind.SHAPE, f"the answer is {described(answer)}; needed the tensor of the scores")
    needed = needed_operations([answer])
    images = [op.outputs[0] for op in needed if op.type.startswith("Placeholder")]
    pictures = [t for t in images if t.shape.ndims == 4 and tuple(t.shape.as_list()[1:]) == _IMAGE]
    if not pictures:
        constant = not images and answer.shape.ndims == 2
        kind = Kind.FORBIDDEN if constant else Kind.SHAPE
        return Finding(kind, "no placeholder for images of shape [None, 28, 28, 1] leads to the scores")
    found = _run(answer, pictures[0])
    if found.kind is not Kind.RIGHT:
        return found
    kinds = [op.type for op in needed]
    if kinds.count("Conv2D") < 2 or kinds.count("MaxPool") < 2:
        return Finding(Kind.FORBIDDEN, "two convolutions and two poolings are needed on the way to the scores")
    owners = {op.name for op in needed}
    variables = [v for v in answer.graph.get_collection("trainable_variables") if v.op.name in owners]
    count = sum(v.get_shape().num_elements() or 0 for v in variables)
    if count != _PARAMETERS:
        return Finding(Kind.VALUE, f"it has {count:,} parameters, too {'many' if count > _PARAMETERS else 'few'}")
    return RIGHT


def _run(scores: Tensor, images: Tensor) -> Finding:
    rng = np.random.default_rng(0)
    with Session(graph=cast(GraphBuilder, scores.graph)) as session:
        for k, n in enumerate((2, 3)):
            try:
                if k == 0:
                    session.run([v.initializer for v in scores.graph.get_collection("variables")])
                value = session.run(scores, {images: rng.random((n, *_IMAGE), np.float32)})
            except OpError as e:
                is_fixed = images.shape.as_list()[0] is not None
                return Finding(Kind.ONCE, f"a batch of {n}: {raised(e).text}") if is_fixed or k else raised(e)
            if value.shape != (n, 10):
                return Finding(
                    Kind.SHAPE, f"the scores of {n} images have the shape {list(value.shape)}; needed {[n, 10]}"
                )
    return RIGHT


_LENET = (
    "Look at the list of words under From nothing, and at the numbers of parameters below the canvas.",
    "The order is convolution, pooling, convolution, pooling, flatten, two dense layers; sizes are in the exercise.",
    'Press / after each node; the last dense layer has units=10, and its output, as net["dense_1"], is the answer.',
)


def _scores(rows: np.ndarray, w: np.ndarray) -> np.ndarray:
    return rows @ w.T


def _rows(n: int, classes: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(classes)
    return rng.random((n, 6), np.float32), rng.random((classes, 6), np.float32)


_SCORES = (
    "Look at what the node logits says above: which two sizes must be equal, and which are.",
    "The matrix has a row for each class; its rows must become columns. A reshape would mix up the numbers.",
    "Multiply rows by the transpose of w, as the button of the drawing does it.",
)


def _two_graphs() -> Iterable[tuple[Tensor, list[str]]]:
    """Yields tensors, and the sorted names of the operations that run for them."""
    with GraphBuilder().as_default() as graph:
        x = API["placeholder"](float32, [2], name="x")
        y = API["exp"](x, name="y")
        z = API["sin"](y, name="z")
        API["cos"](y, name="aside")
        yield API["add"](z, x, name="total"), ["total", "x", "y", "z"]
        yield z, ["x", "y", "z"]
        with graph.control_dependencies([z.op]):
            yield API["exp"](x, name="after"), ["after", "x", "y", "z"]


def _needed(answer: object) -> Finding:
    """Asks the answer which operations run for three tensors; the last one waits for another by a control edge."""
    if not callable(answer):
        return Finding(Kind.SHAPE, f"the answer is {described(answer)}; needed a function of a tensor")
    for k, (tensor, right) in enumerate(_two_graphs()):
        found = _names(answer, tensor, right)
        if found.kind is not Kind.RIGHT:
            return found if k == 0 else Finding(Kind.ONCE, f"tensor {k + 1} of 3: {found.text}")
    return RIGHT


def _names(answer: Callable[[Tensor], object], tensor: Tensor, right: list[str]) -> Finding:
    before = len(tensor.graph.get_operations())
    try:
        names = answer(tensor)
    except Exception as e:
        return raised(e)
    found = difference(names, right)
    if found.kind is Kind.RIGHT and len(tensor.graph.get_operations()) > before:
        return Finding(Kind.FORBIDDEN, "it adds operations to the graph that it is asked about")
    return found


_NEEDED = (
    "Look at the attributes of an operation: op.inputs are tensors, and each tensor has its op.",
    "Go on from each input to its own inputs, until nothing is new; op.control_inputs are operations, and count too.",
    "Keep a list of operations to visit and a set of names; visit the op of each input and each control input.",
)

EXERCISES = (
    (
        "LeNet without a mouse",
        (
            Case(
                "images, scores, layers and parameters",
                _lenet,
                _LENET,
                points=3,
                success_message="It has the layers of LeNet; select the loss and press m and t to train it.",
            ),
        ),
    ),
    (
        "a matrix that does not fit",
        (Case("the scores of all rows", GraphFunction([_rows(2, 4), _rows(3, 6)], _scores), _SCORES),),
    ),
    ("what a run to here needs", (Case("the operations behind three tensors", _needed, _NEEDED, points=2),)),
)
