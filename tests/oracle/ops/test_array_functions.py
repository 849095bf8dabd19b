"""Functions on arrays against tf.compat.v1, run in sessions: values, dtypes, gradients."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tfnb

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tensorflow = pytest.importorskip("tensorflow")
tf1 = tensorflow.compat.v1

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

X = np.random.default_rng(1).uniform(0.5, 2, (3, 4)).astype(np.float32)
Z = np.random.default_rng(2).uniform(-2, 2, (2, 3, 4)).astype(np.float32)
N = np.array([3, 1, 0, 3, 2], np.int32)

# name -> expression of (tf, x (3, 4) positive, z (2, 3, 4), n five integers)
EXPRESSIONS = {
    "eye": lambda tf, x, z, n: [tf.eye(2), tf.eye(2, 3, dtype=tf.int32), tf.eye(2, batch_shape=[3])],
    "trace": lambda tf, x, z, n: [tf.trace(x), tf.trace(z)],
    "scalar_mul": lambda tf, x, z, n: tf.scalar_mul(2.5, x),
    "log_sigmoid": lambda tf, x, z, n: tf.log_sigmoid(z),
    "batch_gather": lambda tf, x, z, n: [tf.batch_gather(z, [[0, 2], [1, 1]]), tf.batch_gather(x, [[0], [3], [1]])],
    "confusion": lambda tf, x, z, n: [
        tf.confusion_matrix(n, n[::-1]),
        tf.confusion_matrix([0, 1], [1, 1], num_classes=3, weights=[0.5, 2.0], dtype=tf.float32),
    ],
    "repeat": lambda tf, x, z, n: [tf.repeat(x, 2), tf.repeat(x, [1, 0, 2], axis=0), tf.repeat(z, 2, axis=-1)],
    "where": lambda tf, x, z, n: [tf.where_v2(z > 0, x, 0.0), tf.where_v2(n > 1)],
    "lbeta": lambda tf, x, z, n: tf.lbeta(x),
    "moments": lambda tf, x, z, n: [
        tf.math.reduce_variance(z, 1),
        tf.math.reduce_std(z),
        tf.math.reduce_euclidean_norm(z, [0, 2], keepdims=True),
    ],
    "polynomial": lambda tf, x, z, n: [tf.math.polyval([1.0, 2.0, 3.0], x), tf.math.reciprocal_no_nan(x)],
    "blocks": lambda tf, x, z, n: [
        tf.space_to_depth(tf.reshape(x, [1, 2, 2, 3]), 2),
        tf.batch_to_space(tf.reshape(z, [4, 1, 2, 3]), [[0, 0], [1, 0]], 2),
        tf.space_to_batch(tf.reshape(z, [1, 4, 2, 3]), [[0, 0], [0, 0]], 2),
    ],
    "sort": lambda tf, x, z, n: [
        tf.sort(z, axis=1),
        tf.sort(x, direction="DESCENDING"),
        tf.argsort(n),
        tf.argsort(z, 0, "DESCENDING"),
    ],
    "counts": lambda tf, x, z, n: [
        tf.bincount(n),
        tf.bincount(n, minlength=6, weights=[1.0, 2.0, 3.0, 4.0, 5.0]),
        tf.bincount(n, maxlength=2),
        tf.histogram_fixed_width(z, [-1.0, 1.0], 4),
        tf.histogram_fixed_width_bins(z, [-1.0, 1.0], 4),
    ],
    "sets": lambda tf, x, z, n: [*tf.unique_with_counts(n), *tf.setdiff1d(n, [1, 3])],
    "search": lambda tf, x, z, n: [
        tf.searchsorted([1.0, 2.0, 2.0, 5.0], [2.0, 0.0, 9.0]),
        tf.searchsorted([1, 2, 2, 5], [2, 0], side="right"),
    ],
    "shapes": lambda tf, x, z, n: [
        tf.broadcast_dynamic_shape(tf.shape(x), tf.shape(z)),
        *tf.shape_n([x, z]),
        tf.unravel_index(n, [2, 2]),
    ],
    "passed": lambda tf, x, z, n: [*tf.identity_n([x, n]), tf.ensure_shape(x, [None, 4]), tf.parallel_stack([n, n])],
    "sequence": lambda tf, x, z, n: [
        tf.reverse_sequence(x, [2, 4, 0], seq_axis=1),
        tf.roll(z, [1, -1], [0, 2]),
        tf.matrix_transpose(z),
        tf.matrix_set_diag(x, [7.0, 8.0, 9.0]),
        tf.matrix_band_part(z, 1, 0),
        tf.cross(x[:, :3], x[:, 1:]),
    ],
    "special": lambda tf, x, z, n: [
        tf.igamma(x, x + 1.0),
        tf.igammac(x, x),
        tf.betainc(x, x, x / 4.0),
        tf.math.xlogy(x, x),
        tf.math.erfinv(x / 4),
    ],
    "bits": lambda tf, x, z, n: [
        tf.bitwise.bitwise_and(n, 2),
        tf.bitwise.left_shift(n, [1, 2, 3, 4, 5]),
        tf.bitwise.invert(n),
        tf.bitcast(x, tf.int32),
        tf.bitcast(n, tf.uint8),
    ],
    "math": lambda tf, x, z, n: [tf.math.log_softmax(x), tf.math.reduce_max(z, 0), tf.math.segment_sum(x, [0, 0, 1])],
    "scatter": lambda tf, x, z, n: [
        tf.tensor_scatter_nd_update(x, [[0, 1], [2, 2]], [9.0, 8.0]),
        tf.tensor_scatter_nd_add(x, [[0], [0]], x[:2]),
    ],
}


def _flat(made: Any) -> list[Any]:
    return list(made) if isinstance(made, (list, tuple)) else [made]


def _run(tf: Any, expression: Any) -> list[Any]:
    """The values, then the gradients of the sine of the float ones."""
    with tf.Graph().as_default(), tf.Session() as session:
        x, z, n = (tf.constant(v) for v in (X, Z, N))
        made = [tf.convert_to_tensor(t) for t in _flat(expression(tf, x, z, n))]
        floats = [tf.reduce_sum(tf.sin(t)) for t in made if t.dtype == tf.float32]
        slopes = tf.gradients(floats, [x, z]) if floats else []
        slopes = [tf.convert_to_tensor(g) for g in slopes if g is not None]
        return session.run([made, slopes])


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_equals_tensorflow(name):
    ours, theirs = _run(tfnb, EXPRESSIONS[name]), _run(tf1, EXPRESSIONS[name])
    for mine, wanted in zip(ours, theirs, strict=True):
        assert len(mine) == len(wanted)
        for k, (got, want) in enumerate(zip(mine, wanted, strict=True)):
            got, want = np.asarray(got), np.asarray(want)
            assert got.shape == want.shape and got.dtype == want.dtype, k
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=2e-6, err_msg=str(k))
