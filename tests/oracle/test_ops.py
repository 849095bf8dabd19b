"""The catalogue against real TensorFlow (tf.compat.v1): values and gradients of every case, in float32 and
float64.
"""

from __future__ import annotations

import numpy as np
import pytest
from cases import op_cases

import tfnb

pytest.importorskip("tensorflow", exc_type=ImportError)
against = pytest.importorskip("against")

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
BY_OP = {name: [c for c in cases if c.oracle] for name, cases in op_cases().items()}


@pytest.mark.parametrize("name", sorted(n for n, cases in BY_OP.items() if cases))
def test_equals_tensorflow(name):
    against.check([c for case in BY_OP[name] for c in case.both_floats()])


SMALL = {
    "x + y": lambda tf, x, y: x + y,
    "x - y": lambda tf, x, y: x - y,
    "x * y": lambda tf, x, y: x * y,
    "x / y": lambda tf, x, y: x / y,
    "half": lambda tf, x, y: x * 0.5,
    "log": lambda tf, x, y: tf.log(x),
    "sqrt": lambda tf, x, y: tf.sqrt(x),
    "relu": lambda tf, x, y: tf.nn.relu(x),
    "sum": lambda tf, x, y: tf.reduce_sum(x, 1),
    "matmul": lambda tf, x, y: tf.matmul(x, y, transpose_b=True),
    "equal": lambda tf, x, y: tf.equal(x, 0.0),
}


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_subnormal_numbers_are_zero_as_in_tensorflow(name, dtype):
    least = np.finfo(dtype).tiny
    x = np.array([[least / 4, least, 1, 2 * least], [-least / 8, 0, least * 1.5, 3]], dtype)
    y = np.array([[1, least / 2, least, 0.75], [2, least, least, least / 3]], dtype)
    found = []
    for tf, session in ((tfnb, tfnb.Session), (against.tf1, against.tf1.Session)):
        graph = tf.Graph()
        with graph.as_default(), np.errstate(all="ignore"):
            a, b = tf.placeholder(dtype, [2, 4]), tf.placeholder(dtype, [2, 4])
            result = SMALL[name](tf, a, b)
            with session(graph=graph) as sess:
                found.append(sess.run(result, {a: x, b: y}))
    np.testing.assert_allclose(*found, rtol=1e-6, atol=0)
