"""The lessons of the builder, from a sum to a training. Each begins where a reader of the one before stands.

Invariant: a solution is judged by what it computes, never by its code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tfnb.errors import NotFoundError
from tfnb.notebook.builder.document import Document
from tfnb.notebook.builder.lessons.lesson import Goal, Lesson, Run, check
from tfnb.notebook.protocol.builder_details import LessonRequest, Lessons

__all__ = ["LESSONS", "lesson_answer", "lesson_of"]

_X = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75], [-2.0, 1.0, 0.125]], np.float32)
_SCORES = np.array([[2.0, 1.0, -1.0], [0.0, 0.5, 3.0]], np.float32)
_LABELS = np.array([0, 2], np.int32)
_RATE_STEPS = 20


def _softmax(scores: np.ndarray) -> np.ndarray:
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True)


def _dense(feeds: Mapping[str, Any], run: Run) -> np.ndarray:
    return np.asarray(feeds["x"] @ np.asarray(run("w", {})) + np.asarray(run("b", {})))


def _trains(run: Run, feeds: Mapping[str, Any]) -> bool:
    before = float(run("loss", feeds))
    for _ in range(_RATE_STEPS):
        run("train", feeds)
    return float(run("loss", feeds)) < 0.9 * before


_SUM = Lesson(
    "sum",
    "A sum",
    "a and b are there. Add them, and call the result y. Then press r on y to see its value.",
    "import tfnb as tf\n\na = tf.constant([1.0, 2.0, 3.0])\nb = tf.constant([10.0, 20.0, 30.0])\n",
    (
        Goal(
            "y",
            "Press /, type add, press Enter; connect a and b to it, and name it y.",
            shape=(3,),
            wanted=lambda feeds, run: np.array([11.0, 22.0, 33.0]),
            wrong_dtype="Add a and b as they are, without a cast.",
            wrong_shape="The sum of two vectors of 3 is a vector of 3: connect a and b themselves.",
            wrong_value="The first element is 1 + 10: use add, with one wire from a and one from b.",
        ),
    ),
)
_LINEAR = Lesson(
    "linear",
    "A linear map",
    "x has rows of 3 numbers, w is a matrix of 3 rows and 2 columns, b has 2 numbers. Compute y = x w + b.",
    "import tfnb as tf\n\nx = tf.placeholder(tf.float32, [None, 3])\n"
    "w = tf.constant([[1.0, 0.0], [0.5, -1.0], [0.0, 2.0]])\nb = tf.constant([0.1, -0.1])\n",
    (
        Goal(
            "y",
            "Add a matmul of x and w, then add b, and call the result y.",
            shape=(None, 2),
            feeds={"x": _X},
            wanted=_dense,
            wrong_dtype="x, w and b are all float32; no cast is needed.",
            wrong_shape="A row of 3 numbers times a matrix of 3x2 is a row of 2: matmul(x, w), with x first.",
            wrong_value="Look whether b is added, and whether it is matmul and not multiply.",
        ),
    ),
)
_HIDDEN = Lesson(
    "hidden",
    "A hidden layer",
    "Put a layer of 4 units with the activation relu on x, and call it h.",
    "import tfnb as tf\n\nx = tf.placeholder(tf.float32, [None, 3])\n",
    (
        Goal(
            "h",
            "Add layers.dense, connect x, and name it h.",
            shape=(None, 4),
            feeds={"x": np.concatenate([_X, -_X])},
            wanted=lambda feeds, run: np.maximum(np.asarray(run("h", feeds)), 0.0),
            wrong_dtype="A dense layer of float32 numbers gives float32.",
            wrong_shape="Set units to 4 in the form of the layer.",
            wrong_value="A value is negative, and relu lets none through: set the activation to tf.nn.relu.",
        ),
    ),
)
_SHARES = Lesson(
    "probabilities",
    "Scores become probabilities",
    "scores has 3 numbers for each example. Make probabilities p of them: positive, with the sum 1 in each row. "
    "Then find the most probable class, c, as int64.",
    "import tfnb as tf\n\nscores = tf.placeholder(tf.float32, [None, 3])\n",
    (
        Goal(
            "p",
            "Add nn.softmax of scores, and name it p.",
            shape=(None, 3),
            feeds={"scores": _SCORES},
            wanted=lambda feeds, run: _softmax(feeds["scores"]),
            wrong_dtype="Probabilities are float32, as the scores.",
            wrong_shape="softmax keeps the shape: [?, 3].",
            wrong_value="Each row must sum to 1: softmax over the last axis.",
        ),
        Goal(
            "c",
            "Add argmax of p along axis 1, and name it c.",
            dtype="int64",
            shape=(None,),
            feeds={"scores": _SCORES},
            wanted=lambda feeds, run: feeds["scores"].argmax(1),
            wrong_dtype="argmax gives int64 by itself.",
            wrong_shape="One class for each example: argmax along axis 1.",
            wrong_value="The class is the place of the largest number in a row, so axis is 1.",
        ),
    ),
)
_LOSS = Lesson(
    "loss",
    "A loss",
    "labels has the right class of each example. Compute loss, the mean cross entropy of scores and labels.",
    "import tfnb as tf\n\nscores = tf.placeholder(tf.float32, [None, 3])\nlabels = tf.placeholder(tf.int32, [None])\n",
    (
        Goal(
            "loss",
            "Add losses.sparse_softmax_cross_entropy, connect labels and scores (as logits), and name it loss.",
            shape=(),
            feeds={"scores": _SCORES, "labels": _LABELS},
            wanted=lambda feeds, run: -np.log(_softmax(feeds["scores"])[np.arange(2), feeds["labels"]]).mean(),
            wrong_dtype="The loss is float32.",
            wrong_shape="A loss is one number: take reduce_mean of the entropies of the examples.",
            wrong_value="The logits are the scores themselves, without softmax, and the mean is taken, not the sum.",
        ),
    ),
)
_TRAIN = Lesson(
    "training",
    "A training",
    "A line is to be fitted: y = w x + b. Add the mean squared error of y and t as loss, and train it.",
    "import tfnb as tf\n\nx = tf.placeholder(tf.float32, [None])\nt = tf.placeholder(tf.float32, [None])\n"
    "w = tf.Variable(0.0)\nb = tf.Variable(0.0)\ny = x * w + b\n",
    (
        Goal(
            "loss",
            "Add the mean of the squares of y - t, for instance by losses.mean_squared_error, and name it loss.",
            shape=(),
            feeds={"x": _X[0], "t": 2.0 * _X[0] + 1.0},
            wanted=lambda feeds, run: np.mean((np.asarray(run("y", feeds)) - feeds["t"]) ** 2),
            wrong_dtype="The loss is float32.",
            wrong_shape="A loss is one number: take reduce_mean of the squares.",
            wrong_value="It is the mean of (y - t) squared.",
        ),
        Goal(
            "train",
            "Select loss and take an optimizer, such as GradientDescentOptimizer with the rate 0.1; name it train.",
            feeds={"x": _X[0], "t": 2.0 * _X[0] + 1.0},
            succeeds=_trains,
            wrong_value=f"After {_RATE_STEPS} steps the loss is not smaller: minimize loss, with a rate such as 0.1.",
        ),
    ),
)

LESSONS: tuple[Lesson, ...] = (_SUM, _LINEAR, _HIDDEN, _SHARES, _LOSS, _TRAIN)


def lesson_of(name: str) -> Lesson:
    """Returns the lesson of this id. Raises `NotFoundError` if there is none."""
    for lesson in LESSONS:
        if lesson.id == name:
            return lesson
    raise NotFoundError(f"there is no lesson {name!r}; there are {[m.id for m in LESSONS]}")


def lesson_answer(document: Document, message: LessonRequest) -> Lessons:
    """Returns all lessons, or whether the document solves one. Raises `NotFoundError` for an unknown lesson."""
    answer: Lessons = {
        "type": "lesson",
        "request": message["request"],
        "lessons": [],
        "lesson": message["lesson"],
        "is_done": False,
        "hint": "",
        "kind": "",
        "node": "",
    }
    if not message["lesson"]:
        answer["lessons"] = [{"id": m.id, "title": m.title, "text": m.text, "start": m.start} for m in LESSONS]
        return answer
    verdict = check(lesson_of(message["lesson"]), document)
    answer["is_done"], answer["hint"], answer["kind"], answer["node"] = (
        verdict.is_done,
        verdict.hint,
        verdict.kind,
        verdict.node,
    )
    return answer
