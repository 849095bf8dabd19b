"""Runs one program under tfnb and under TensorFlow from the same initial values, and compares what it fetches.

The program is a function `build(tf, *arrays)` that uses nothing but its argument `tf`. The variables must have the same
names and shapes on both sides; their values are drawn here and loaded into both.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tfnb

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tensorflow = pytest.importorskip("tensorflow")
tf1 = tensorflow.compat.v1

__all__ = ["compare", "tf1"]


def values_for(shapes: dict[str, tuple[int, ...]], dtypes: dict[str, Any]) -> dict[str, np.ndarray]:
    """Small random values for variables, the same for the same names."""
    rng = np.random.default_rng(5)
    return {k: (rng.normal(size=shapes[k]) * 0.4).astype(dtypes[k]) for k in sorted(shapes)}


def variables_of(tf: Any) -> dict[str, Any]:
    """The trainable variables by name."""
    return {v.op.name: v for v in tf.trainable_variables()}


def run(
    tf: Any, build: Callable[..., Any], arrays: Sequence[np.ndarray], values: Any = None
) -> tuple[list[Any], dict[str, np.ndarray], dict[str, np.ndarray]]:
    """What `build` returns, its variables' gradients of the sum of sines, and the variables' values."""
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = [tf.placeholder(a.dtype, a.shape) for a in arrays]
        outputs = list(build(tf, *inputs))
        variables = variables_of(tf)
        total = tf.add_n([tf.reduce_sum(tf.sin(y)) for y in outputs])
        found = tf.gradients(total, list(variables.values()))
        grads = {
            k: tf.zeros_like(v) if g is None else tf.convert_to_tensor(g)
            for (k, v), g in zip(variables.items(), found, strict=True)
        }
        session.run(tf.global_variables_initializer())
        if values is None:
            shapes = {k: tuple(int(d) for d in v.shape) for k, v in variables.items()}
            values = values_for(shapes, {k: v.dtype.as_numpy_dtype for k, v in variables.items()})
        assert set(values) == set(variables)
        for k, v in variables.items():
            v.load(values[k], session)
        feeds = dict(zip(inputs, arrays, strict=True))
        got, slopes = session.run([outputs, grads], feeds)
        return got, slopes, values


def compare(build: Callable[..., Any], *arrays: Any, dtype: Any = np.float64, tolerance: float = 1e-9) -> None:
    """Equal names of variables, values and gradients on both sides."""
    cast = [np.asarray(a) for a in arrays]
    cast = [a.astype(dtype) if a.dtype.kind == "f" else a for a in cast]
    ours, slopes, values = run(tfnb, build, cast)
    theirs, wanted, _ = run(tf1, build, cast, values)
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, err_msg=f"output {i}")
    for k in wanted:
        np.testing.assert_allclose(
            slopes[k], wanted[k], rtol=10 * tolerance, atol=10 * tolerance, err_msg=f"gradient of {k}"
        )
