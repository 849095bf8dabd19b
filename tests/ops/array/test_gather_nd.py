"""Scattering by index tuples."""

import pytest

import tfnb as tf


@pytest.mark.parametrize("is_constant", [True, False])
def test_no_update_of_a_constant_index_is_lost(is_constant):
    with tf.Graph().as_default(), tf.Session() as sess:
        updates = tf.ones([1]) if is_constant else tf.random_uniform([1])
        scattered = tf.scatter_nd([[0, 5]], updates, [2, 2])
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[0.*5"):
            sess.run(scattered)
