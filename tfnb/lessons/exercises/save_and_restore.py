"""Exercises of 05_save_and_restore: half a model, the parameters of a checkpoint, which checkpoints are kept."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfnb.client.variables.scope import get_variable
from tfnb.ir.builder import GraphBuilder
from tfnb.lessons.case import RIGHT, Case, Finding, Kind
from tfnb.lessons.comparing import described
from tfnb.lessons.graph_function import raised
from tfnb.lessons.plain_function import PlainFunction
from tfnb.session.session import Session
from tfnb.train.saving.saver import Saver

__all__ = ["EXERCISES"]


def _save(path: str, values: dict[str, np.ndarray]) -> str:
    """Writes a checkpoint of these values. Returns its path."""
    with GraphBuilder().as_default() as graph:
        variables = [get_variable(name, initializer=value) for name, value in values.items()]
        saver = Saver(variables, max_to_keep=None)
        with Session(graph=graph) as session:
            session.run([variable.initializer for variable in variables])
            return str(saver.save(session, path))


def _trained(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    shapes = {"hidden/kernel": (6, 4), "hidden/bias": (4,), "scores/kernel": (4, 3)}
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def _half(answer: object) -> Finding:
    """Lets the answer restore the first layer out of the latest of two checkpoints, then out of the older one."""
    if not callable(answer):
        return Finding(Kind.SHAPE, f"the answer is {described(answer)}; needed a function")
    with tempfile.TemporaryDirectory(prefix="tfnb-lessons-") as folder:
        old, new = (_save(os.path.join(folder, f"model-{10 * k}"), _trained(k)) for k in (1, 2))
        for k, path in ((2, new), (1, old)):
            found = _restored(answer, path, _trained(k))
            if found.kind is not Kind.RIGHT:
                return found if k == 2 else Finding(Kind.ONCE, f"an older checkpoint of the folder: {found.text}")
    return RIGHT


def _restored(answer: Callable[..., object], path: str, trained: dict[str, np.ndarray]) -> Finding:
    fresh = np.full((4, 3), 0.5, np.float32)
    with GraphBuilder().as_default() as graph:
        weights = get_variable("features/weights", initializer=np.zeros((6, 4), np.float32))
        offsets = get_variable("features/offsets", initializer=np.zeros(4, np.float32))
        scores = get_variable("scores/kernel", initializer=fresh)
        with Session(graph=graph) as session:
            session.run([v.initializer for v in (weights, offsets, scores)])
            try:
                answer(session, path, weights, offsets)
                values = session.run([weights, offsets, scores])
            except Exception as e:
                return raised(e)
    right = [trained["hidden/kernel"], trained["hidden/bias"], fresh]
    names = ("features/weights", "features/offsets", "scores/kernel")
    wrong = [n for n, a, b in zip(names, values, right, strict=True) if a.shape != b.shape or not np.array_equal(a, b)]
    if wrong:
        needed = "its first value, as it was not to be restored" if wrong == ["scores/kernel"] else "the checkpoint's"
        return Finding(Kind.VALUE, f"{', '.join(wrong)}: the value is not the one needed, {needed}")
    if not any(op.type.startswith("Restore") for op in graph.get_operations()):
        return Finding(Kind.FORBIDDEN, "the values went through NumPy; a Saver restores them inside the graph")
    return RIGHT


_HALF = (
    "Look at the section on a part of a model: what does a Saver take when the names differ?",
    "A Saver can take a dictionary, from the name in the checkpoint to the variable of this graph.",
    'Two entries: "hidden/kernel" belongs to weights, "hidden/bias" to offsets. Then restore the given path.',
)

_SLOTS = ("Adam", "beta1_power", "beta2_power", "global_step")


def _counted(answer: object) -> Finding:
    """Lets the answer count the parameters of two checkpoints with slots of Adam in them."""
    sizes = ({"a/kernel": (5, 4), "a/bias": (4,)}, {"b/kernel": (7, 2), "b/bias": (2,), "c/kernel": (2, 3)})
    with tempfile.TemporaryDirectory(prefix="tfnb-lessons-") as folder:
        right = {}
        for k, shapes in enumerate(sizes):
            values = {
                f"{n}{slot}": np.ones(s, np.float32) for n, s in shapes.items() for slot in ("", "/Adam", "/Adam_1")
            }
            values |= {n: np.float32(0.9) for n in ("beta1_power", "beta2_power")} | {"global_step": np.int64(7)}
            path = _save(os.path.join(folder, f"model-{k}"), values)
            right[path] = sum(v.size for n, v in values.items() if not any(slot in n for slot in _SLOTS))
        return PlainFunction([(path,) for path in right], lambda path: right[path])(answer)


_COUNTED = (
    "Look at what tf.train.list_variables gives for a path: names and shapes, without any graph.",
    "The optimizer's own variables and the number of the step are in the checkpoint too, and are no parameters.",
    "Leave out the names with Adam, power or global_step in them, and add up the products of the other shapes.",
)


def _kept(saves: Sequence[tuple[int, float]], max_to_keep: int, keep_best: int) -> list[int]:
    latest = [step for step, _ in saves][-max_to_keep:]
    best = [step for step, _ in sorted(saves, key=lambda save: -save[1])[:keep_best]]
    return sorted({*latest, *best})


_SAVES: list[tuple[Any, ...]] = [
    ([(100, 0.71), (200, 0.93), (300, 0.88), (400, 0.91), (500, 0.90)], 2, 1),
    ([(100, 0.71), (200, 0.80), (300, 0.95), (400, 0.99)], 2, 1),
    ([(10, 0.5), (20, 0.9), (30, 0.8), (40, 0.1), (50, 0.2), (60, 0.3)], 1, 2),
    ([(10, 0.5), (20, 0.4)], 3, 1),
]
_KEPT = (
    "Look at the two numbers that the Saver above is given, and at the list of what it kept.",
    "Two sets are kept: the latest ones, and the best ones. A checkpoint may be in both, and counts once.",
    "Take the last max_to_keep steps, and the keep_best steps with the largest accuracy; sort what is in either.",
)

EXERCISES = (
    (
        "half a model",
        (
            Case(
                "the first layer, and nothing else",
                _half,
                _HALF,
                points=3,
                success_message="The same mapping moves parts between any two models whose shapes fit.",
            ),
        ),
    ),
    ("the parameters of a checkpoint", (Case("two checkpoints", _counted, _COUNTED, points=2),)),
    (
        "what is kept",
        (Case("the steps whose checkpoints are there at the end", PlainFunction(_SAVES, _kept), _KEPT, points=2),),
    ),
)
