"""Every method of every linear operator against TensorFlow's, and the gradient of a product."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from operator_programs import OPERATORS, floats

import tfnb

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tensorflow = pytest.importorskip("tensorflow")
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]


def _results(tf, name):
    with tf.Graph().as_default(), tf.Session() as session:
        operator = OPERATORS[name](tf)
        values = tf.constant(floats(2, 3, 4).astype(operator.dtype.as_numpy_dtype))
        product, solution = operator.matmul(values), operator.solve(values)
        weights = floats(2, 3, 4, seed=9).astype(operator.dtype.as_numpy_dtype)
        slopes = tf.gradients([product, solution], values, [weights, weights])
        fetches = {
            "dense": operator.to_dense(),
            "product": product,
            "adjoint": operator.matmul(values, adjoint=True),
            "solution": solution,
            "adjoint's": operator.solve(values, adjoint=True),
            "determinant": operator.determinant(),
            "logarithm": operator.log_abs_determinant(),
            "trace": operator.trace(),
            "diagonal": operator.diag_part(),
            "sizes": operator.shape_tensor(),
            "batch": operator.batch_shape_tensor(),
            **{f"slope {k}": s for k, s in enumerate(slopes) if s is not None},
        }
        return session.run(fetches)


@pytest.mark.parametrize("name", OPERATORS)
def test_equals_tensorflow(name):
    mine, theirs = _results(tfnb, name), _results(tensorflow.compat.v1, name)
    assert set(mine) == set(theirs)
    for key, value in mine.items():
        assert value.dtype == theirs[key].dtype, key
        np.testing.assert_allclose(value, theirs[key], rtol=1e-8, atol=1e-8, err_msg=key)
