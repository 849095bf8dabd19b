"""tf.matmul of stacks of matrices whose leading dimensions differ, which TensorFlow broadcasts from 1.14 on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfnb as tf


@pytest.mark.parametrize(
    ("first", "second", "flags"),
    [
        ((3, 4, 5), (5, 2), {}),
        ((3, 4, 5), (2, 5), {"transpose_b": True}),
        ((3, 5, 4), (5, 2), {"transpose_a": True}),
        ((4, 5), (3, 5, 2), {}),
        ((3, 4, 5), (1, 5, 2), {}),
        ((3, 1, 4, 5), (2, 5, 2), {}),
    ],
)
@pytest.mark.parametrize("is_static", [True, False])
def test_leading_dimensions_broadcast(first: Any, second: Any, flags: Any, is_static: bool, rng: Any) -> None:
    a, b = rng.standard_normal(first).astype("f"), rng.standard_normal(second).astype("f")
    x, y = (
        tf.placeholder(tf.float32, v.shape if is_static else [1 if n == 1 else None for n in v.shape]) for v in (a, b)
    )
    product = tf.matmul(x, y, **flags)
    dx, dy = tf.gradients(tf.reduce_sum(product**2), [x, y])
    left = np.swapaxes(a, -1, -2) if "transpose_a" in flags else a
    right = np.swapaxes(b, -1, -2) if "transpose_b" in flags else b
    with tf.Session() as sess:
        got, da, db = sess.run([product, dx, dy], {x: a, y: b})
        np.testing.assert_allclose(got, np.matmul(left, right), rtol=1e-4, atol=1e-5)
        for given, slope in ((a, da), (b, db)):  # the product is linear in each factor, so a step of 1 is exact
            step = rng.standard_normal(given.shape).astype("f")
            moved = {x: a + step if given is a else a, y: b + step if given is b else b}
            change = sess.run(product, moved) - got
            np.testing.assert_allclose((slope * step).sum(), 2 * (got * change).sum(), rtol=1e-3, atol=1e-2)
            assert slope.shape == given.shape


def test_equal_stacks_are_one_kind_of_product() -> None:
    x = tf.placeholder(tf.float32, [None, 3, 4])
    assert tf.matmul(x, tf.placeholder(tf.float32, [None, 4, 5])).op.type == "BatchMatMul"
    product = tf.matmul(x, tf.placeholder(tf.float32, [4, 5]))
    assert product.op.type == "BatchMatMulV2" and product.shape.as_list() == [None, 3, 5]
    with pytest.raises(ValueError, match="Dimensions must be equal, but are 4 and 3"):
        tf.matmul(x, tf.zeros([3, 5]))
