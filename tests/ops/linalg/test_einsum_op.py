"""Gradients of the op `Einsum` along axes that "..." stands for, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf

CASES = [("...ij,jk->...ik", [(3, 2, 3), (3, 2)]), ("...i,...i->...", [(1, 3), (4, 3)])]


@pytest.mark.parametrize(("equation", "shapes"), CASES)
def test_gradient_of_axes_without_letters(equation, shapes):
    rng = np.random.RandomState(0)
    arrays = [rng.rand(*s) for s in shapes]
    weights = rng.rand(*np.einsum(equation, *arrays).shape)
    inputs = [tf.constant(a) for a in arrays]
    result = tf.raw_ops.Einsum(inputs=inputs, equation=equation)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(result), np.einsum(equation, *arrays))
        grads = session.run(tf.gradients(tf.reduce_sum(result * weights), inputs))
    for k, (grad, array) in enumerate(zip(grads, arrays, strict=True)):
        for place in np.ndindex(*array.shape):
            step = np.zeros_like(array)
            step[place] = 1.0
            moved = [a + step if i == k else a for i, a in enumerate(arrays)]
            slope = (np.einsum(equation, *moved) - np.einsum(equation, *arrays)) * weights
            np.testing.assert_allclose(grad[place], slope.sum(), rtol=1e-6)


def test_what_does_not_fit_is_refused():
    x, y = tf.zeros([2, 1]), tf.zeros([4, 3])
    with pytest.raises(ValueError, match="axis 'j' of 'ij,kj->ik' has sizes 1 and 3"):
        tf.raw_ops.Einsum(inputs=[x, y], equation="ij,kj->ik")
    with pytest.raises(ValueError, match="exactly one '->'"):
        tf.raw_ops.Einsum(inputs=[x], equation="ij")
    with pytest.raises(ValueError, match="has 2 terms, got 1 inputs"):
        tf.raw_ops.Einsum(inputs=[x], equation="ij,j->i")
    with pytest.raises(ValueError, match="a letter that no input has"):
        tf.raw_ops.Einsum(inputs=[x], equation="ij->ik")
    with pytest.raises(NotImplementedError, match="no diagonals"):
        tf.gradients(tf.raw_ops.Einsum(inputs=[y[:3]], equation="ii->i"), y)
