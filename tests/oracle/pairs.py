"""Compares functions of the public namespace with TensorFlow's: values, gradients, second gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from building import backprop
from evaluate import evaluate

from tfnb import ops
from tfnb.ir.builder import GraphBuilder
from tfnb.ops.array.placeholder import PLACEHOLDER
from tfnb.types import Shape, as_dtype

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tensorflow = pytest.importorskip("tensorflow")
tf1 = tensorflow.compat.v1

__all__ = ["compare", "ours", "tf1"]


class _Place:
    """The public functions of operations at a place and below it."""

    def __init__(self, place: str) -> None:
        self._place = place

    def __getattr__(self, name: str) -> Any:
        return ops.API.get(self._place + name) or _Place(f"{self._place}{name}.")


ours: Any = _Place("")


def _theirs(call: Callable[..., Any], arrays: Sequence[np.ndarray], order: int) -> list[Any]:
    with tf1.Graph().as_default(), tf1.Session() as session:
        inputs = [tf1.placeholder(a.dtype, a.shape) for a in arrays]
        ys = _listed(call(tf1, *inputs))
        xs = [x for x in inputs if x.dtype.is_floating]
        levels = [ys]
        for _ in range(order):
            total = [tf1.reduce_sum(tf1.sin(y)) for y in levels[-1] if y is not None]
            found = tf1.gradients(total, xs)
            levels.append([None if g is None else tf1.convert_to_tensor(g) for g in found])
        flat = [t for level in levels for t in level]
        values = iter(session.run([t for t in flat if t is not None], dict(zip(inputs, arrays, strict=True))))
        return [None if t is None else next(values) for t in flat]


def _mine(call: Callable[..., Any], arrays: Sequence[np.ndarray], order: int, known: bool) -> list[Any]:
    graph = GraphBuilder()
    with graph.as_default():
        inputs = [
            PLACEHOLDER(
                dtype=as_dtype(a.dtype),
                shape=Shape(a.shape if known else (None,) * a.ndim),
                graph=graph,
            )
            for a in arrays
        ]
        xs = [x for x in inputs if x.dtype.is_floating]
        levels = [_listed(call(ours, *inputs))]
        for _ in range(order):
            total = [ours.reduce_sum(ours.sin(y)) for y in levels[-1] if y is not None]
            found = backprop(total, [ours.ones_like(t) for t in total], xs)
            levels.append([None if g is None else graph.to_tensor(g) for g in found])
        flat = [t for level in levels for t in level]
        return list(evaluate(flat, dict(zip(inputs, arrays, strict=True))))


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def compare(
    call: Callable[..., Any],
    *arrays: Any,
    order: int = 2,
    theirs: Callable[..., Any] | None = None,
    rtol: float = 2e-5,
    wide: float = 1e-8,
) -> None:
    """`call(tf, *tensors)` on both sides with gradients up to `order`; both floats, shapes known and not."""
    given = [np.asarray(a) for a in arrays]
    for dtype, tolerance in ((np.float64, wide), (np.float32, rtol)):
        cast = [a.astype(dtype) if a.dtype.kind == "f" else a for a in given]
        expected = _theirs(theirs or call, cast, order)
        for known in (True, False):
            for i, (got, want) in enumerate(zip(_mine(call, cast, order, known), expected, strict=True)):
                if want is None or got is None:
                    rest = got if want is None else want
                    assert rest is None or not np.any(rest), f"result {i} is None on one side"
                    continue
                assert got.shape == want.shape and got.dtype == want.dtype
                np.testing.assert_allclose(
                    got,
                    want,
                    rtol=10 * tolerance,
                    atol=10 * tolerance,
                    err_msg=f"result {i}, {dtype.__name__}",
                )
