"""First values of variables come from library kernels, with the same bits as from generated code."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.codegen import compile as compiling
from tfnb.codegen.program import Program

pytestmark = pytest.mark.opencl


def _variables() -> list[tf.Variable]:
    shapes = ((), (1,), (17,), (3, 5, 7), (0, 4), (300, 70))
    makers = (
        lambda s: tf.random_uniform(s, -0.3, 0.7, seed=1),
        lambda s: tf.random_uniform(s, seed=2),
        lambda s: tf.random_normal(s, 0.1, 0.5, seed=3),
        lambda s: tf.random_normal(s, 0.0, 2.0, seed=4),
        lambda s: tf.truncated_normal(s, -0.2, 0.3, seed=5),
        lambda s: tf.truncated_normal(s, stddev=0.3, seed=6),
        lambda s: tf.zeros(s, tf.int64),
        lambda s: tf.fill(s, 1.5),
        lambda s: tf.fill(s, True),
        lambda s: tf.zeros(s) + 0.1,
        lambda s: 3.0 * (tf.fill(s, 0.1) + tf.zeros(s)),
        lambda s: tf.constant(np.arange(int(np.prod(s))).reshape(s), tf.float64),
        lambda s: tf.constant(np.arange(int(np.prod(s))).reshape(s), tf.float16),
    )
    return [tf.Variable(make(s), name=f"v{k}") for k, make in enumerate(makers) for s in shapes]


def _values() -> list[np.ndarray]:
    with tf.Graph().as_default(), tf.Session() as sess:
        variables = _variables()
        sess.run(tf.global_variables_initializer())
        return sess.run(variables)


def test_the_bits_are_those_of_generated_code(monkeypatch: pytest.MonkeyPatch) -> None:
    programs: list[Program | None] = []
    original = compiling.initial_program
    monkeypatch.setattr(compiling, "initial_program", lambda *args: programs.append(original(*args)) or programs[-1])
    ours = _values()
    assert any(p is not None and len(p.steps) == 65 for p in programs)  # all but the empty ones
    assert all(m.file for p in programs if p is not None for m in p.modules)
    monkeypatch.setattr(compiling, "initial_program", lambda *args: None)
    theirs = _values()
    for a, b in zip(ours, theirs, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def test_other_clusters_are_generated() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(tf.random_normal([3], seed=1) * tf.random_normal([3], seed=2))
        w = tf.Variable(tf.ones([2, 2]) * 3.0)
        sess.run(tf.global_variables_initializer())
        sess.run(tf.assign(w, w + tf.transpose(w)))
        assert sess.run(w).tolist() == [[6, 6], [6, 6]] and sess.run(v).shape == (3,)
