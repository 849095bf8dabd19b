"""Updates of the wrong shape are refused by the whole scatter_nd family: where shapes are known when the op is made,
else when it runs, by the host and by the device.
"""

from __future__ import annotations

import numpy as np
import pytest
from building import build
from cases import Case
from evaluate import evaluate

import tfnb as tf
from tfnb.errors import InvalidArgumentError

# indices, updates, the tensor: updates of a wrong count, rank, width, or order of dimensions
WRONG = {
    "one for all": ((3, 1), (1,), (4,)),
    "a scalar": ((3, 1), (), (4,)),
    "too many": ((3, 1), (4,), (4,)),
    "a column": ((3, 1), (3, 1), (4,)),
    "a row for each": ((2, 1), (3,), (4, 3)),
    "one column": ((2, 1), (2, 1), (4, 3)),
    "turned": ((2, 3, 1), (3, 2), (4,)),
    "turned slices": ((2, 1), (2, 3, 2), (4, 2, 3)),
    "long indices": ((2, 2), (2,), (4,)),
    "no indices": ((0, 1), (5,), (4,)),
}
COPIES = [f"TensorScatter{name}" for name in ("Update", "Add", "Sub", "Max", "Min")]
COPIES.append("ScatterNdNonAliasingAdd")
VARIABLES = [f"ScatterNd{name}" for name in ("Update", "Add", "Sub", "Max", "Min")]


def _arrays(wrong):
    indices, updates, shape = WRONG[wrong]
    return np.zeros(indices, np.int32), np.ones(updates, np.float32), shape


@pytest.mark.parametrize("knowledge", ["shapes", "ranks", "nothing"])
@pytest.mark.parametrize("wrong", WRONG)
def test_host(wrong, knowledge):
    indices, updates, shape = _arrays(wrong)
    cases = [Case("ScatterNd", (indices, updates, np.array(shape, np.int32)))]
    cases += [Case(op, (np.zeros(shape, np.float32), indices, updates)) for op in COPIES]
    for case in cases:
        with pytest.raises(InvalidArgumentError):
            built = build(case, knowledge)
            evaluate(built.outputs, built.feeds())


def _unknown(array):
    return tf.placeholder(tf.as_dtype(array.dtype), None)


def _ranked(array):
    return tf.placeholder(tf.as_dtype(array.dtype), [None] * max(array.ndim - 1, 0) + [*array.shape[-1:]])


@pytest.mark.parametrize("knows", [_unknown, _ranked])
@pytest.mark.parametrize("wrong", WRONG)
def test_step(wrong, knows):
    indices, updates, shape = _arrays(wrong)
    with tf.Graph().as_default(), tf.Session() as session:
        at, new = knows(indices), knows(updates)
        base, ref = tf.zeros(shape), tf.Variable(tf.zeros(shape))
        session.run(ref.initializer)
        fed = {at: indices, new: updates}
        makers = [lambda: tf.scatter_nd(at, new, list(shape))]
        makers += [lambda op=op: tf.ops.CATALOG[op](base, at, new) for op in COPIES]
        makers += [lambda op=op: tf.ops.CATALOG[op](ref.op.outputs[0], at, new) for op in VARIABLES]
        for make in makers:
            with pytest.raises(InvalidArgumentError):
                session.run(make(), fed)
        assert not session.run(ref).any()
