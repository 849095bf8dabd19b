"""The generated text of typical kernels, kept in golden/: a refactoring shows an empty diff.

`python tests/codegen/test_golden.py` writes the files anew; read the difference before committing it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
GOLDEN = HERE / "golden"


def _adam(tf):
    w, m, v = (tf.Variable(np.zeros((30, 40), np.float32)) for _ in range(3))
    b1, b2 = tf.Variable(0.9), tf.Variable(0.999)
    g = tf.placeholder(tf.float32, [30, 40])
    m_new = m.assign(0.9 * m + 0.1 * g)
    v_new = v.assign(0.999 * v + 0.001 * g * g)
    rate = 0.01 * tf.sqrt(1.0 - b2) / (1.0 - b1)
    return [g], [w.assign_sub(rate * m_new / (tf.sqrt(v_new) + 1e-8))]


def _product_update(tf):
    x, dy = tf.placeholder(tf.float32, [64, 200]), tf.placeholder(tf.float32, [64, 100])
    w = tf.Variable(np.zeros((200, 100), np.float32))
    return [x, dy], [w.assign_sub(0.1 * tf.matmul(x, dy, transpose_a=True))]


def _simple(build, *shapes, dtype="float32"):
    def make(tf):
        feeds = [tf.placeholder(dtype, s) for s in shapes]
        made = build(tf, *feeds)
        return feeds, made if isinstance(made, list) else [made]

    return make


GRAPHS = {
    "chain": _simple(lambda tf, a: tf.tanh(a * 1.1 + 0.1), (1000,)),
    "bias": _simple(lambda tf, a, b: tf.nn.relu(a + b), (50, 40), (40,)),
    "softmax": _simple(lambda tf, a: tf.nn.softmax(a), (50, 40)),
    "cross_entropy": _simple(
        lambda tf, a, b: tf.nn.softmax_cross_entropy_with_logits(logits=a, labels=b), (50, 10), (50, 10)
    ),
    "big_sum": _simple(lambda tf, a: tf.reduce_sum(a * a), (1 << 20,)),
    "column_sums": _simple(lambda tf, a: tf.reduce_sum(a, 0), (5000, 40)),
    "wide_column_sums": _simple(lambda tf, a: tf.reduce_mean(a, 0), (300, 4000)),
    "argmax": _simple(lambda tf, a: tf.argmax(a, 1), (50, 40)),
    "transpose": _simple(lambda tf, a: tf.transpose(a) * 2.0, (50, 40)),
    "concat": _simple(lambda tf, a, b: tf.concat([a, b], 1), (50, 40), (50, 24)),
    "gather": _simple(lambda tf, a: tf.gather(a, np.array([3, 1, 2], np.int32)), (5, 40)),
    "uniform": _simple(lambda tf, a: a + tf.random_uniform([1000], seed=3), (1000,)),
    "booleans": _simple(lambda tf, a, b: tf.logical_and(a > b, tf.is_finite(a)), (50, 40), (50, 40)),
    "double": _simple(lambda tf, a: tf.exp(a) / 3.0, (1000,), dtype="float64"),
    "half": _simple(lambda tf, a, b: a * b, (50, 40), (40,), dtype="float16"),
    "adam": _adam,
    "product_update": _product_update,
    "scalar": _simple(lambda tf, a: tf.exp(a) + 1.0, ()),
}


def generated(name):
    from runner import compile_graph, needed

    import tfnb as tf

    with tf.Graph().as_default() as graph:
        feeds, fetches = GRAPHS[name](tf)
    arrays = {p: np.zeros(p.shape.as_list(), p.dtype.np) for p in feeds}
    used = needed(fetches, (), feeds)
    state = {op: np.zeros(op.outputs[0].shape.as_list(), np.float32) for op in used if op.type.startswith("Variable")}
    program = compile_graph(graph, arrays, fetches, state)
    steps = [
        f"// {s.entry} {[a.value for a in s.args if hasattr(a, 'value')]} x {s.groups[0]}"
        for s in program.steps
        if hasattr(s, "entry")
    ]
    return "\n".join([*steps, "", program.modules[0].source])


@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_text_is_as_kept(name):
    assert generated(name) == (GOLDEN / f"{name}.cl").read_text()


@pytest.mark.parametrize("name", ["softmax", "adam", "big_sum"])
def test_text_is_the_same_every_time(name):
    assert generated(name) == generated(name)


if __name__ == "__main__":
    sys.path[:0] = [str(HERE), str(HERE.parents[1])]
    for key in GRAPHS:
        (GOLDEN / f"{key}.cl").write_text(generated(key))
